"""Files and frames of ratings: what is read, and what is said about files that are wrong."""

import gzip
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from nanwise.data.ratings import Scale, from_csr, from_frame, read_ratings
from nanwise.errors import DataError

ROWS = [("1", "10", "4", "100"), ("2", "10", "3.5", "101"), ("1", "20", "0.5", "102")]


def write(tmp_path, text, name="r.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def cells(ratings):
    """{(user, item): rating}."""
    frame = ratings.to_frame()
    return {(u, i): r for u, i, r in zip(frame.user, frame.item, frame.rating, strict=True)}


EXPECTED = {(1, 10): 4.0, (2, 10): 3.5, (1, 20): 0.5}


@pytest.mark.parametrize("sep", ["::", ",", "\t", ";", "|", " ", "||"])
@pytest.mark.parametrize("header", ["", "userId,movieId,rating,timestamp"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_delimiters_headers_and_line_ends(tmp_path, sep, header, end):
    lines = ([header.replace(",", sep)] if header else []) + [sep.join(row) for row in ROWS]
    path = write(tmp_path, end.join(lines) + end)
    ratings = read_ratings(path, sep=sep if sep == "||" else None)
    assert cells(ratings) == EXPECTED
    assert ratings.users.tolist() == [1, 2]
    assert ratings.users.dtype == ratings.items.dtype == np.int64
    assert ratings.time.tolist() == [100, 102, 101]
    assert (ratings.matrix.data.dtype, ratings.matrix.indices.dtype) == (np.float32, np.int32)
    assert ratings.scale == Scale(0.5, 4.0, 0.5, (0.5, 3.5, 4.0))
    assert ratings.facts == {
        "source": str(path),
        "rows_read": 3,
        "rows_dropped": 0,
        "duplicates": 0,
        "duplicates_rule": "last",
    }


@pytest.mark.parametrize(
    "header",
    ["user,item,rating", "User_ID,Item-Id,Rating", "userId,movieId,rating", "uid,isbn,score"],
)
def test_names_are_recognised_in_any_order(tmp_path, header):
    u, i, r = header.split(",")
    path = write(tmp_path, f"{r},other,{u},{i}\n4,x,1,10\n3.5,y,2,10\n0.5,z,1,20\n")
    assert cells(read_ratings(path)) == EXPECTED


def test_recbole_header(tmp_path):
    path = write(tmp_path, "user_id:token\titem_id:token\trating:float\n1\t10\t4\n")
    assert cells(read_ratings(path)) == {(1, 10): 4.0}


@pytest.mark.parametrize(
    "columns",
    [
        {"user": "who", "item": "what", "rating": "how"},
        {"user": 1, "item": 0, "rating": 3, "time": None},
        ("who", "what", "how"),
        (1, 0, 3),
    ],
)
def test_columns_that_are_given(tmp_path, columns):
    path = write(tmp_path, "what,who,when,how\n10,1,9,4\n10,2,9,3.5\n20,1,9,0.5\n")
    ratings = read_ratings(path, columns)
    assert cells(ratings) == EXPECTED
    assert ratings.time is None


@pytest.mark.parametrize("form", ["gzip", "parquet", "bom", "utf-16", "no end"])
def test_forms_of_files(tmp_path, form):
    text = "user,item,rating,time\n" + "".join(",".join(row) + "\n" for row in ROWS)
    options = {}
    if form == "gzip":
        path = write(tmp_path, gzip.compress(text.encode()))
    elif form == "parquet":
        path = tmp_path / "r"
        pd.DataFrame(ROWS, columns=["user", "item", "rating", "time"]).astype(
            {"user": int, "item": int, "rating": float, "time": int}
        ).to_parquet(path)
    elif form == "no end":
        path = write(tmp_path, text.rstrip("\n"))
    else:
        options = {"encoding": "utf-16"} if form == "utf-16" else {}
        path = write(tmp_path, text.encode("utf-16" if form == "utf-16" else "utf-8-sig"))
    ratings = read_ratings(path, **options)
    assert cells(ratings) == EXPECTED
    assert ratings.time.tolist() == [100, 102, 101]


AWKWARD = ['a, "quoted"', "Müller\u2028", "日本 语", "007", "7", "1.0", "NA", "nan", "x\ny", '5" x']


@pytest.mark.parametrize("chunk_rows", [1, 10**6])
def test_ids_with_commas_quotes_line_breaks_and_unicode(tmp_path, chunk_rows):
    frame = pd.DataFrame(
        [(u, i, (k * j) % 5 + 1) for k, u in enumerate(AWKWARD) for j, i in enumerate(AWKWARD)]
        * 40,
        columns=["user", "item", "rating"],
    )
    frame.to_csv(tmp_path / "r.csv", index=False)
    ratings = read_ratings(tmp_path / "r.csv", chunk_rows=chunk_rows)
    assert ratings.users.tolist() == ratings.items.tolist() == [x.strip() for x in AWKWARD]
    assert len(ratings) == 100
    assert ratings.facts["duplicates"] == 3900
    for k, user in enumerate(AWKWARD):
        assert ratings.user_index(user.strip()) == k


def test_a_quote_inside_a_cell_is_a_letter(tmp_path):
    text = '1,5" pipe,4\n2,"a\nb, ""c""",3\n' * 500
    for chunk_rows in (1, 10**6):
        ratings = read_ratings(write(tmp_path, text), chunk_rows=chunk_rows)
        assert cells(ratings) == {(1, '5" pipe'): 4.0, (2, 'a\nb, "c"'): 3.0}


def test_ids_are_numbers_only_if_all_are_written_so(tmp_path):
    many = "".join(f"{k},{k % 7},{k % 5}\n" for k in range(3000))
    whole = read_ratings(write(tmp_path, many + '"3000","1"," 2 "\n'), chunk_rows=1)
    assert whole.users.dtype == np.int64
    assert whole.users.tolist() == list(range(3001))
    odd = read_ratings(write(tmp_path, many + "03000,1,2\n3000,1,2\n"), chunk_rows=1)
    assert odd.users[-2:].tolist() == ["03000", "3000"]
    assert odd.users[:3].tolist() == ["0", "1", "2"]
    assert odd.items.dtype == np.int64
    for text in ("-0", "+1", "1.0", "1e3", "12345678901234567890"):
        mixed = read_ratings(write(tmp_path, f"1,2,3\n{text},2,3\n"))
        assert mixed.users.tolist() == ["1", text]


def test_chunks_do_not_matter(tmp_path):
    rng = np.random.default_rng(0)
    rows = [(rng.integers(300), f"i{rng.integers(50)}", rng.integers(1, 6)) for _ in range(5000)]
    path = write(tmp_path, "".join(f"{u}::{i}::{r}\n" for u, i, r in rows))
    whole, pieces = read_ratings(path), read_ratings(path, chunk_rows=1)
    assert whole.users.tolist() == pieces.users.tolist()
    assert whole.items.tolist() == pieces.items.tolist()
    assert (whole.matrix != pieces.matrix).nnz == 0
    assert whole.facts == pieces.facts


def test_duplicates_are_resolved_by_the_stated_rule(tmp_path):
    timed = "1,1,5,30\n1,1,2,10\n2,1,4,5\n1,1,3,30\n"
    expected = {"last": 3, "first": 2, "mean": 10 / 3}
    for rule, value in expected.items():
        ratings = read_ratings(write(tmp_path, timed), duplicates=rule)
        assert cells(ratings) == {(1, 1): pytest.approx(value), (2, 1): 4}
        assert ratings.time.tolist() == [10 if rule == "first" else 30, 5]
        assert (ratings.facts["duplicates"], ratings.facts["duplicates_rule"]) == (2, rule)
        assert ratings.facts["rows_read"] == 4
    # without times the order of rows decides
    for rule, value in {"last": 3, "first": 5}.items():
        ratings = read_ratings(write(tmp_path, timed), (0, 1, 2), duplicates=rule)
        assert cells(ratings)[1, 1] == value
    with pytest.raises(DataError, match="2 rows repeat a pair of user and item, first user 1 and"):
        read_ratings(write(tmp_path, timed), duplicates="error")
    with pytest.raises(ValueError, match="duplicates must be one of"):
        read_ratings(write(tmp_path, timed), duplicates="sum")


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("good", "the rating 'good' is not a number"),
        ("True", "the rating 'True' is not a number"),
        ("", "the rating is missing"),
        ("NA", "the rating is missing"),
        ("inf", "the rating is infinite"),
        ("-1e999", "the rating is infinite"),
        ("1e39", "the rating is infinite, or nearly so"),
    ],
)
@pytest.mark.parametrize("chunk_rows", [1, 10**6])
def test_bad_ratings_are_named_by_their_line(tmp_path, cell, message, chunk_rows):
    good = "".join(f'{k},"a\nb",3\n' for k in range(700))
    path = write(tmp_path, f"user,item,rating\n\n{good}\n7,b,{cell}\n8,c,4\n")
    with pytest.raises(DataError) as caught:
        read_ratings(path, chunk_rows=chunk_rows)
    # header, blank line, 700 rows of two lines, blank line
    assert f"{path}, line 1404: {message}" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("\n  \n", "is empty"),
        ("user,item,rating\n", "holds no ratings"),
        ("user,item,rating", "holds no ratings"),
        ("user,item\n1,2\n", "expected three columns or more"),
        ("user,item,when\n1,2,3\n", "cannot tell which column is the rating"),
        ("1,2,good\n1,3,4\n", "line 1: expected a header with user, item and rating"),
        ("1,2,3\n1,2,3,4\n", "line 2: expected 3 cells, got more"),
        ("1,2,3,4\nA, B,2,3,4\n", "line 2: expected 4 cells, got more"),
        ("u::v::3\n1::2\n", "line 2: the rating is missing"),
        ("1,2,3\n,5,3\n", "line 2: the user is missing"),
        ("1,2,3\n4,,3\n", "line 2: the item is missing"),
        ("user,item,rating,time\n1,2,3,\n", "line 2: expected a time"),
        ("user,item,rating,time\n1,2,3,soon\n", "line 2: expected a time"),
        ('1,2,3\n4,"2,3\n', "in or after line 2: EOF inside string"),
        ("1,2,3\r1,2,3\r", "line ends of old Macintoshs"),
        (b"1,2,3\n\xe4,2,3\n", "byte 0xe4 at offset 6"),
        (b"\x00\x01\x02", "zero byte at offset 0"),
    ],
)
def test_files_that_are_wrong(tmp_path, text, message):
    with pytest.raises(DataError, match=message):
        read_ratings(write(tmp_path, text))


def test_no_file_and_wrong_arguments(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        read_ratings(tmp_path / "no.csv")
    with pytest.raises(DataError, match="is a folder"):
        read_ratings(tmp_path)
    path = write(tmp_path, "user,item,rating\n1,2,3\n")
    with pytest.raises(DataError, match="no column is called 'who'; there are 'user', 'item'"):
        read_ratings(path, ("who", "item", "rating"))
    with pytest.raises(DataError, match="there is no column 3; columns are 0 to 2"):
        read_ratings(path, (0, 1, 3))
    for wrong in ({"user": 0}, ("user", "item"), "user", {"user": 0, "item": 1, "stars": 2}):
        with pytest.raises(ValueError, match="columns must"):
            read_ratings(path, wrong)
    with pytest.raises(ValueError, match="chunk_rows must be at least 1"):
        read_ratings(path, chunk_rows=0)
    with pytest.raises(DataError, match="no encoding is called 'klingon'"):
        read_ratings(path, encoding="klingon")


def test_damaged_archives(tmp_path):
    packed = gzip.compress(b"1,2,3\n" * 10**5)
    with pytest.raises(DataError, match="gzip file is damaged or cut off"):
        read_ratings(write(tmp_path, packed[:-20]))
    with pytest.raises(DataError, match="damaged Parquet"):
        read_ratings(write(tmp_path, b"PAR1 nothing PAR1"))


def test_rows_without_everything_can_be_dropped(tmp_path):
    path = write(tmp_path, "1,2,3\n,2,3\n9,2,\n1,,4\n1,8,?\n2,2,5\n")
    ratings = read_ratings(path, missing="drop")
    assert cells(ratings) == {(1, 2): 3, (2, 2): 5}
    assert (ratings.facts["rows_read"], ratings.facts["rows_dropped"]) == (6, 4)
    assert ratings.users.tolist() == [1, 2]
    with pytest.raises(DataError, match="holds no ratings: 1 rows lack"):
        from_frame({"user": [1], "item": [1], "rating": [np.nan]}, missing="drop")
    with pytest.raises(ValueError, match="missing must be 'error' or 'drop'"):
        read_ratings(path, missing="keep")


def test_a_given_scale_is_kept_to(tmp_path):
    path = write(tmp_path, "1,2,3\n1,3,4.5\n")
    assert read_ratings(path, scale=(1, 5, 0.5)).scale.levels == tuple(np.arange(1, 5.5, 0.5))
    assert read_ratings(path, scale=(1, 5)).scale == Scale(1, 5, 1.5, (3.0, 4.5))
    for scale in ((1, 4), (1, 5, 1), (3.5, 9)):
        with pytest.raises(DataError, match=r"line [12]: the rating is not on the scale .*, got"):
            read_ratings(path, scale=scale)
    for wrong in ((1,), (5, 1), (1, 5, 0.7), (1, 5, -1), (1, np.inf)):
        with pytest.raises(ValueError, match=r"scale must be|the step must divide"):
            read_ratings(path, scale=wrong)


def test_decimal_commas_and_dates(tmp_path):
    path = write(tmp_path, "user;item;rating;date\n1;2;3,5;2024-05-31\n1;3;4;2023-01-01\n")
    ratings = read_ratings(path)
    assert cells(ratings) == {(1, 2): 3.5, (1, 3): 4}
    assert ratings.time.astype("datetime64[D]").astype(str).tolist() == ["2024-05-31", "2023-01-01"]


def test_times_of_two_kinds_are_refused(tmp_path):
    number = "".join(f"{k},2,3,{k}\n" for k in range(2000))
    date = "".join(f"{k},2,3,2024-01-01\n" for k in range(2000))
    path = write(tmp_path, f"user,item,rating,time\n{number}{date}")
    with pytest.raises(
        DataError, match=r"expected a time|numbers in some rows and dates in others"
    ):
        read_ratings(path, chunk_rows=1)


def test_a_single_rating(tmp_path):
    ratings = read_ratings(write(tmp_path, "7,8,3\n"))
    assert len(ratings) == 1
    assert ratings.scale == Scale(3.0, 3.0, None, (3.0,))


FRAME = pd.DataFrame(
    {
        "movieId": ["a,b", "ü", "a,b"],
        "userId": [3, 1, 1],
        "rating": [0, 2.5, 5],
        "timestamp": pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-03"]),
    }
)


@pytest.mark.parametrize("kind", ["pandas", "polars", "lazy", "mapping", "category"])
def test_frames(kind):
    frame = FRAME
    if kind in ("polars", "lazy"):
        frame = pl.DataFrame({name: FRAME[name].to_list() for name in FRAME})
        frame = frame.lazy() if kind == "lazy" else frame
    elif kind == "mapping":
        frame = {name: FRAME[name] for name in FRAME}
    elif kind == "category":
        frame = FRAME.astype({"movieId": "category"})
    ratings = from_frame(frame)
    assert cells(ratings) == {(3, "a,b"): 0.0, (1, "ü"): 2.5, (1, "a,b"): 5.0}
    assert ratings.matrix.nnz == 3  # the 0 is a rating
    assert ratings.time.dtype.kind == "M"
    assert ratings.users.dtype == np.int64


def test_frames_keep_the_type_of_ids():
    frame = {"user": ["1", "2"], "item": [1.5, 2.5], "rating": [1, 2]}
    ratings = from_frame(frame)
    assert ratings.users.tolist() == ["1", "2"]
    assert ratings.items.tolist() == [1.5, 2.5]
    mixed = from_frame(
        {"user": np.array([1, "1", ("a", 2)], object), "item": [1] * 3, "rating": [1] * 3}
    )
    assert mixed.users.tolist() == [1, "1", ("a", 2)]
    assert mixed.user_index(("a", 2)) == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rating": [1, "bad"]}, "the frame, row 1: the rating 'bad' is not a number"),
        ({"rating": [True, False]}, "row 0: the rating 'True' is not a number"),
        ({"rating": [1, None]}, "row 1: the rating is missing"),
        ({"rating": [np.inf, 1]}, "row 0: the rating is infinite"),
        ({"user": [None, 1]}, "row 0: the user is missing"),
        ({"time": ["2020-01-01", None]}, "row 1: expected a time"),
        ({"user": [], "item": [], "rating": []}, "the frame holds no ratings"),
    ],
)
def test_frames_that_are_wrong(change, message):
    with pytest.raises(DataError, match=message):
        from_frame({"user": [1, 2], "item": [1, 2], "rating": [1, 2], **change})


def test_parquet_errors_name_the_row(tmp_path):
    frame = pd.DataFrame({"user": range(50), "item": range(50), "rating": [1.0] * 49 + [np.nan]})
    frame.to_parquet(tmp_path / "r.parquet")
    with pytest.raises(DataError, match="row 49: the rating is missing"):
        read_ratings(tmp_path / "r.parquet", chunk_rows=7)


def test_from_csr():
    # a 0 is stored, so observed
    matrix = sparse.csr_matrix(([1, 3, 0, 2.5], [0, 2, 1, 2], [0, 2, 4]), shape=(2, 3))
    ratings = from_csr(matrix, users=["x", "y"])
    assert cells(ratings) == {("x", 0): 1, ("x", 2): 3, ("y", 1): 0, ("y", 2): 2.5}
    assert isinstance(ratings.matrix, sparse.csr_array)
    for other in (matrix.tocsc(), matrix.tocoo(), sparse.coo_array(matrix)):
        assert cells(from_csr(other, users=["x", "y"])) == cells(ratings)
    timed = from_csr(ratings.matrix, time=[1, 2, 3, 4])
    assert timed.time.tolist() == [1, 2, 3, 4]


def test_from_csr_does_not_change_what_it_is_given():
    matrix = sparse.csr_matrix(([1.0, 2.0], [1, 0], [0, 2]), shape=(1, 2))
    ratings = from_csr(matrix)
    ratings.matrix.data[:] = 9
    assert matrix.data.tolist() == [1.0, 2.0]
    assert matrix.indices.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: from_csr(np.eye(3)), "expected a sparse matrix"),
        (lambda: from_csr(sparse.csr_array((2, 3))), "no ratings"),
        (
            lambda: from_csr(sparse.coo_array(([1, 1], ([0, 0], [1, 1])), shape=(2, 2))),
            "stores some cell more than once",
        ),
        (
            lambda: from_csr(sparse.csr_array(([1.0, 1], [1, 1], [0, 2, 2]), shape=(2, 2))),
            "stores some cell more than once",
        ),
        (
            lambda: from_csr(sparse.csr_array(([1.0, np.nan], [1, 1], [0, 1, 2]), shape=(2, 2))),
            "row 1, column 1 is nan",
        ),
        (lambda: from_csr(sparse.eye_array(3).tocsr(), users=[1, 2]), "2 ids of users were given"),
        (lambda: from_csr(sparse.eye_array(2).tocsr(), items=[1, 1]), "not all different"),
        (lambda: from_csr(sparse.eye_array(2).tocsc(), time=[1, 1]), "times can only be aligned"),
        (lambda: from_csr(sparse.eye_array(2).tocsr(), time=[1]), "1 times were given for 2"),
    ],
)
def test_matrices_that_are_wrong(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.slow
def test_memory_is_bounded_by_the_chunks_not_by_the_file(tmp_path):
    """A file of 200 megabytes, most of it text that is not needed."""
    path = tmp_path / "r.csv"
    with open(path, "w") as file:
        file.write("user,item,review,rating\n")
        for start in range(0, 500_000, 1000):
            file.writelines(
                f'u{k % 999},{k % 1007},"{"so, so " * 56}",{k % 5}\n'
                for k in range(start, start + 1000)
            )
    code = (
        "import resource, sys, pandas; from nanwise.data.ratings import read_ratings; "
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024; "
        "before = peak(); "
        "ratings = read_ratings(sys.argv[1], chunk_rows=20_000); "
        "print(ratings.facts['rows_read'], peak() - before)"
    )
    run = [sys.executable, "-c", code, str(path)]
    out = subprocess.run(run, capture_output=True, text=True, check=True).stdout.split()
    assert path.stat().st_size > 195e6
    assert out[0] == "500000"
    assert float(out[1]) < 100  # megabytes
