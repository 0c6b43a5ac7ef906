"""Long tables, outcomes, and the PhysioNet Challenge 2012 in its official layout."""

import io
import tarfile

import numpy as np
import pandas as pd
import pytest

from nanwise.data.series import load_physionet2012, physionet, read_series, with_outcomes
from nanwise.errors import DataError

NAN = np.nan


def long(*lines):
    return pd.DataFrame(lines, columns=["id", "time", "variable", "value"])


LINES = long(
    ("b", 2.5, "hr", 70.0),
    ("a", 3.0, "hr", 81.0),
    ("a", 0.0, "hr", 80.0),
    ("a", 0.0, "bp", 120.0),
    ("b", 2.5, "hr", 71.0),
)


def test_every_time_is_a_step_sorted_and_the_last_line_counts():
    data = read_series(LINES)
    assert data.variables == ["bp", "hr"]
    assert data.ids.tolist() == ["b", "a"]
    np.testing.assert_array_equal(data.X[0], [[NAN, 71]])
    np.testing.assert_array_equal(data.X[1], [[120, 80], [NAN, 81]])
    assert [t.tolist() for t in data.times] == [[2.5], [0.0, 3.0]]
    assert data.notes == [
        "1 values have another one for the same id, time and variable: the last line counts"
    ]


def test_steps_of_equal_width_end_with_the_last_value_or_all_at_once():
    data = read_series(LINES, step=1.0)
    assert data.lengths.tolist() == [3, 4]
    np.testing.assert_array_equal(data.X[1], [[120, 80], [NAN, NAN], [NAN, NAN], [NAN, 81]])
    data = read_series(LINES, step=1.0, end=3.0)
    assert data.X.shape == (2, 3, 2)
    assert data.X[0, 2, 1] == 71
    assert "1 lines at or after time 3 were left out" in data.notes


def test_within_a_step_the_latest_value_counts_whatever_the_order_of_lines():
    data = read_series(long(("a", 0.9, "hr", 1.0), ("a", 0.1, "hr", 2.0)), step=1.0)
    assert data.X[0].tolist() == [[1.0]]


def test_dates_are_hours_from_the_first_line_of_a_sequence():
    data = read_series(
        long(
            ("a", "2024-05-31 23:00", "hr", 1.0),
            ("a", "2024-06-01 00:30", "hr", 2.0),
            ("b", "2023-01-01", "hr", 3.0),
        )
    )
    assert [t.tolist() for t in data.times] == [[0, 1.5], [0]]


def test_gaps_make_steps_and_broken_lines_are_counted():
    data = read_series(
        long(
            ("a", 0, "hr", None),
            ("a", 1, "hr", 5.0),
            (None, 1, "hr", 5.0),
            ("a", 2, None, 5.0),
        )
    )
    np.testing.assert_array_equal(data.X[0], [[NAN], [5]])
    assert data.notes == ["2 lines without id, time or variable were left out"]


def test_variables_of_a_model_in_its_order(tmp_path):
    LINES.to_csv(tmp_path / "long.csv", index=False)
    data = read_series(tmp_path / "long.csv", variables=["hr", "spo2"])
    np.testing.assert_array_equal(data.X[1], [[80, NAN], [81, NAN]])
    assert "1 lines of other variables were not used" in data.notes


def test_lines_that_are_not_used_make_no_steps():
    frame = long(
        ("a", 0.0, "hr", 80.0),
        ("a", 1.0, "bp", 120.0),
        ("a", 2.0, "hr", 81.0),
        ("b", 3.0, "bp", 110.0),
        ("b", 4.0, "bp", 111.0),
    )
    data = read_series(frame, variables=["hr"])
    assert [x.tolist() for x in data.X[:1]] == [[[80.0], [81.0]]]
    assert data.X[1].shape == (1, 1)
    assert np.isnan(data.X[1]).all()  # a sequence without any of them keeps its place


def test_an_empty_cell_behind_the_last_value_does_not_lengthen_a_sequence():
    frame = long(("a", 0.0, "hr", 80.0), ("a", 7.0, "hr", None), ("b", 2.0, "hr", None))
    data = read_series(frame, step=1.0)
    assert data.lengths.tolist() == [1, 1]


def test_steps_are_not_shifted_by_rounding():
    times = [0.1, 0.2, 0.3, 0.6, 0.7]
    frame = long(*(("a", time, "hr", 10 * time) for time in times))
    found = read_series(frame, step=0.1, end=1.1).X[0, :, 0]
    assert len(found) == 11
    assert np.flatnonzero(~np.isnan(found)).tolist() == [1, 2, 3, 6, 7]


@pytest.mark.parametrize(
    ("frame", "options", "words"),
    [
        (long(("a", 1.7e9, "hr", 1.0)), {"step": 1}, "1,700,000,001 steps"),
        (long(("a", 0, "hr", "high")), {}, "row 0 .* has 'high'"),
        (long(("a", 0, "hr", np.inf)), {}, "must hold numbers"),
        (long(("a", "noon", "hr", 1.0)), {}, "has 'noon'"),
        (long(("a", -1.0, "hr", 1.0)), {"step": 1}, r"row 0 \(counted from 0\) has -1"),
        (LINES, {"step": 0}, "step must be a number above 0"),
        (LINES, {"end": 3}, "end needs step"),
        (LINES, {"step": "1"}, "step must be a number above 0, got '1'"),
        (LINES, {"variables": ["hr", "hr"]}, "must be different"),
        (LINES, {"variables": "hr"}, r"list of names, as in \['hr'\]"),
        (long(("a", "0", "hr", 1.0), ("a", "noon", "hr", 1.0)), {}, "row 1 .* has 'noon'"),
        (LINES, {"columns": ["id", "time"]}, "must name four columns"),
        (LINES.rename(columns={"value": "x"}), {}, "no column 'value'"),
        (long((None, 1, "hr", 1.0)), {}, "no line has an id"),
    ],
)
def test_tables_that_are_no_series_are_refused(frame, options, words):
    with pytest.raises(DataError, match=words):
        read_series(frame, **options)


@pytest.mark.parametrize("kind", [str, object])
def test_times_that_are_numbers_are_never_years(kind):
    frame = long(("a", 2001, "hr", 2.0), ("a", 2000, "hr", 1.0)).astype({"time": kind})
    data = read_series(frame)
    assert data.times[0].tolist() == [2000, 2001]
    np.testing.assert_array_equal(data.X[0], [[1.0], [2.0]])


def test_dates_of_several_clocks_are_compared():
    frame = long(
        ("a", "2024-03-01T12:00:00+00:00", "hr", 2.0), ("a", "2024-03-01T12:00:00+02:00", "hr", 1.0)
    )
    data = read_series(frame)
    assert data.times[0].tolist() == [0, 2]
    np.testing.assert_array_equal(data.X[0], [[1.0], [2.0]])


def test_an_id_is_one_sequence_whether_number_or_text():
    data = read_series(long((1, 0, "hr", 1.0), ("b", 0, "hr", 5.0), ("1", 1, "hr", 2.0)))
    assert data.ids.tolist() == [1, "b"]
    np.testing.assert_array_equal(data.X[0], [[1.0], [2.0]])


def test_names_of_variables_may_be_numbers():
    data = read_series(long(("a", 0, 7, 1.0), ("a", 0, 8, 2.0)), variables=[8, 7])
    assert data.variables == ["8", "7"]
    np.testing.assert_array_equal(data.X[0], [[2.0, 1.0]])


def test_numbers_as_ids_are_found_also_where_a_gap_made_them_floats():
    data = read_series(long((1, 0, "hr", 1.0), (2, 0, "hr", 2.0)))
    frame = pd.DataFrame({"id": [2.0, NAN, 1.0], "y": [5.0, 6.0, 7.0]})
    assert with_outcomes(data, frame).y.tolist() == [7, 5]


def test_outcomes_find_their_sequences(tmp_path):
    (tmp_path / "outcomes.csv").write_text("id,died\na,1\nc,0\n")
    data = with_outcomes(read_series(LINES), tmp_path / "outcomes.csv")
    assert data.ids.tolist() == ["a"]
    assert data.y.tolist() == [1]
    assert data.notes[1:] == [
        "1 sequences without an outcome were left out",
        "1 outcomes have no sequence",
    ]


@pytest.mark.parametrize(
    ("frame", "options", "words"),
    [
        ({"id": ["a"], "x": [1], "y": [2]}, {}, "must have one column beside 'id'"),
        ({"id": ["a", "a"], "y": [1, 2]}, {}, "more than one line for 'a'"),
        ({"id": ["q"], "y": [1]}, {}, "no id of the series"),
        ({"id": ["a"], "y": [1]}, {"column": "z"}, "no column 'z'"),
        ({"id": ["a"], "y": [1]}, {"column": "id"}, "holds the ids"),
        ({}, {}, "the table of outcomes has no columns"),
    ],
)
def test_outcomes_that_do_not_fit_are_refused(frame, options, words):
    with pytest.raises(DataError, match=words):
        with_outcomes(read_series(LINES), pd.DataFrame(frame), **options)


# -- PhysioNet -------------------------------------------------------------------------------------

HEAD = "Time,Parameter,Value\n00:00,RecordID,{0}\n00:00,Age,50\n00:00,Gender,-1\n"
RECORDS = {
    7: HEAD.format(7) + "00:00,Height,-1\n00:00,ICUType,3\n00:00,Weight,80\n00:09,HR,70\n"
    "00:10,HR,71\n00:10,,5\n00:19,HR,72\n02:00,Weight,81\n02:00,MechVent,1\n48:00,pH,735\n",
    5: HEAD.format(5) + "00:00,Height,170\n00:00,ICUType,1\n00:00,Weight,-1\n01:00,Temp,-17.8\n"
    "01:00,Odd,1\n",
}


def write_sets(folder, records=RECORDS, outcomes=(5, 7)):
    home = folder / "physionet2012"
    home.mkdir(parents=True, exist_ok=True)
    with tarfile.open(home / "set-a.tar.gz", "w:gz") as archive:
        for number, text in records.items():
            info = tarfile.TarInfo(f"set-a/{number}.txt")
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text.encode()))
    lines = "".join(f"{k},6,1,5,-1,{int(k == 7)}\n" for k in outcomes)
    head = "RecordID,SAPS-I,SOFA,Length_of_stay,Survival,In-hospital_death\n"
    (home / "Outcomes-a.txt").write_text(head + lines)
    return home


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("NANWISE_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return write_sets(tmp_path / "data")


def test_physionet_in_ten_minute_steps(home):
    data = load_physionet2012("a")
    assert data.X.shape == (2, 288, 35)
    assert data.ids.tolist() == [5, 7]
    assert data.y.tolist() == [0, 1]
    heart, acid = data.variables.index("HR"), data.variables.index("pH")
    assert data.X[1, :3, heart].tolist()[:2] == [70, 72]
    assert data.X[1, 287, acid] == 735
    assert int((~np.isnan(data.X)).sum()) == 3
    np.testing.assert_array_equal(data.statics, [[50, NAN, 170, 1, NAN], [50, NAN, NAN, 3, 80]])
    assert data.notes == [
        "1 lines without the name of a parameter were left out",
        "1 values below 0 are missing",
        "1 values of parameters that are not among the official ones were left out",
        "4 values of statics that cannot be (-1 for not known, most of them) are missing",
    ]
    assert load_physionet2012("a", steps=48).X[1, 0, heart] == 72


def test_the_first_known_weight_counts(tmp_path, home):
    later = RECORDS[5] + "03:00,Weight,0\n05:00,Weight,64\n06:00,Weight,70\n"
    write_sets(tmp_path / "data", {**RECORDS, 5: later})
    data = load_physionet2012("a")
    assert data.statics[0, data.static_names.index("Weight")] == 64


def test_physionet_lines_need_not_be_sorted(tmp_path, home):
    first, last = "00:10,HR,71\n", "00:19,HR,72\n"
    swapped = RECORDS[7].replace(last, "").replace(first, last + first)
    write_sets(tmp_path / "data", {**RECORDS, 7: swapped})
    data = load_physionet2012("a")
    assert data.X[1, 1, data.variables.index("HR")] == 72


def test_physionet_is_parsed_once_and_anew_when_files_change(home, tmp_path, monkeypatch):
    first = load_physionet2012("a")
    kept = list((tmp_path / "cache/nanwise/physionet2012").iterdir())
    assert [file.suffix for file in kept] == [".safetensors"]
    parse = physionet._parse
    monkeypatch.setattr(physionet, "_parse", None)
    np.testing.assert_array_equal(load_physionet2012("a").X, first.X)
    monkeypatch.setattr(physionet, "_parse", parse)
    kept[0].write_bytes(kept[0].read_bytes()[:50])
    np.testing.assert_array_equal(load_physionet2012("a").X, first.X)
    write_sets(tmp_path / "data", RECORDS | {9: HEAD.format(9)}, (5, 7, 9))
    assert len(load_physionet2012("a")) == 3
    assert len(list(kept[0].parent.iterdir())) == 2


def test_a_cache_that_cannot_be_written_is_no_obstacle(home, tmp_path):
    (tmp_path / "cache").write_text("a file, not a folder")
    with pytest.warns(UserWarning, match="cannot be kept"):
        assert len(load_physionet2012("a")) == 2


def test_physionet_files_that_cannot_be_used_are_named(home, tmp_path):
    with pytest.raises(DataError, match="split must be one of a, b, c"):
        load_physionet2012("d")
    with pytest.raises(DataError, match="steps must be between 1 and 2880"):
        load_physionet2012("a", steps=0)
    with pytest.raises(DataError, match=r"set-b\.tar\.gz"):
        load_physionet2012("b")
    write_sets(tmp_path / "data", outcomes=(5,))
    with pytest.raises(DataError, match="record 7 is in one of them only"):
        load_physionet2012("a")
    write_sets(tmp_path / "data", RECORDS | {7: HEAD.format(7) + "12,HR,5\n"})
    with pytest.raises(DataError, match=r"7\.txt, line 5: expected hh:mm"):
        load_physionet2012("a")
    write_sets(tmp_path / "data", RECORDS | {7: HEAD.format(7) + "-1:00,HR,5\n"})
    with pytest.raises(DataError, match="got '-1:00,HR,5'"):
        load_physionet2012("a")
    home = write_sets(tmp_path / "data")
    (home / "set-a.tar.gz").write_bytes((home / "set-a.tar.gz").read_bytes()[:100])
    with pytest.raises(DataError, match="damaged"):
        load_physionet2012("a")
    (home / "Outcomes-a.txt").write_text("id,y\n1,2\n")
    with pytest.raises(DataError, match="not a table of outcomes"):
        load_physionet2012("a")


def test_names_in_files_are_taken_to_the_letter(tmp_path):
    """001 and 1 are two sequences, and NA is what a laboratory calls sodium."""
    long, outcomes = tmp_path / "long.csv", tmp_path / "outcomes.csv"
    long.write_text("id,time,variable,value\n001,0,NA,140\n001,0,K,4\n1,0,K,5\nB7,0,K,NA\n,0,K,1\n")
    outcomes.write_text("id,died\n001,1\n1,0\n2,1\n")
    data = read_series(long)
    assert data.ids.tolist() == ["001", "1", "B7"]
    assert data.variables == ["K", "NA"]
    np.testing.assert_array_equal(data.X[0], [[4.0, 140.0]])
    assert np.isnan(data.X[2]).all()  # of values NA is a gap
    assert data.notes == ["1 lines without id, time or variable were left out"]
    found = with_outcomes(data, outcomes)
    assert found.ids.tolist() == ["001", "1"]
    assert found.y.tolist() == [1, 0]


def test_whole_numbers_as_ids_are_the_same_with_a_point(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text("id,time,variable,value\n7.0,0,x,1\n8.0,0,x,2\n")
    found = with_outcomes(read_series(path), pd.DataFrame({"id": [7, 8], "y": [0, 1]}))
    assert found.y.tolist() == [0, 1]


def test_dates_far_away_keep_their_place():
    times = ["2024-01-02", "9999-12-31", "2024-01-01"]
    frame = pd.DataFrame({"id": "a", "time": times, "variable": "x", "value": [2.0, 3.0, 1.0]})
    data = read_series(frame)
    np.testing.assert_array_equal(data.X[0][:, 0], [1.0, 2.0, 3.0])
    assert data.times[0][:2].tolist() == [0.0, 24.0]


@pytest.mark.parametrize(
    ("times", "step"),
    [([1.7e18, 1.7e18 + 1], 0.1), ([1.7e9, 1.7e9 + 7200], 3600.0)],
    ids=["beyond whole numbers", "seconds since 1970"],
)
def test_times_that_count_from_elsewhere_are_refused(times, step):
    frame = pd.DataFrame({"id": "a", "time": times, "variable": "x", "value": 1.0})
    with pytest.raises(DataError, match="subtract the time at which the sequences begin"):
        read_series(frame, step=step)


def test_too_many_steps_in_all_are_refused(monkeypatch):
    from nanwise.data.series import long

    monkeypatch.setattr(long, "MOST_IN_ALL", 30)
    frame = pd.DataFrame({"id": [1, 2, 3], "time": 10.0, "variable": "x", "value": 1.0})
    with pytest.raises(DataError, match="33 steps in all"):
        read_series(frame, step=1)


def test_a_time_below_0_is_named_with_its_own_row():
    lines = [("p", 2.0, "HR", 80), ("p", -0.5, "HR", 70), ("q", -0.8, "HR", 75)]
    frame = pd.DataFrame(lines, columns=["id", "time", "variable", "value"])
    with pytest.raises(DataError, match=r"row 2 \(counted from 0\) has -0.8"):
        read_series(frame, step=1.0)


def test_a_step_that_is_far_too_small_is_refused():
    lines = [("p", 0.0, "HR", 80), ("p", 6.0, "HR", 70)]
    frame = pd.DataFrame(lines, columns=["id", "time", "variable", "value"])
    with pytest.raises(DataError, match="600,001 steps, more than 100,000"):
        read_series(frame, step=1e-5)
    assert len(read_series(frame, step=1e-5, end=0.5).X[0]) == 50_000
