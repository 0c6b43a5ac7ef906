"""Counts of cells: forms, bad input, files, the published preparation."""

import gzip
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import io, sparse

from nanwise import AutoImpute
from nanwise.data.cells import CellPrep, as_counts, hide_seen, load_cells, read_cells, write_cells
from nanwise.data.cells.prepare import MAD, QUANTILES
from nanwise.errors import DataError, GapWarning, MissingExtra


class Ann:
    """What is asked of an AnnData."""

    def __init__(self, X, cells, genes):
        self.X, self.obs_names, self.var_names = X, pd.Index(cells), pd.Index(genes)

    def __getitem__(self, key):
        at = self.var_names.get_indexer(key[1])
        return Ann(self.X[:, at], self.obs_names, self.var_names[at])

    def copy(self):
        return Ann(self.X.copy(), self.obs_names, self.var_names)


@pytest.fixture
def counts():
    rng = np.random.default_rng(0)
    return rng.poisson(rng.gamma(1.0, 6.0, 300), (25, 300)).astype(float)


def names(shape):
    return [f"c{k}" for k in range(shape[0])], [f"g{k}" for k in range(shape[1])]


def test_all_forms_hold_the_same_counts(counts):
    cells, genes = names(counts.shape)
    forms = [
        counts,
        sparse.coo_array(counts),
        sparse.csc_matrix(counts),
        pd.DataFrame(counts, cells, genes),
        Ann(sparse.csr_matrix(counts), cells, genes),
    ]
    found = [as_counts(form) for form in forms]
    for one in found:
        matrix = one.matrix.toarray() if sparse.issparse(one.matrix) else one.matrix
        np.testing.assert_array_equal(matrix, counts)
    assert list(found[3].genes) == list(found[4].genes) == genes
    assert found[0].seen_share == pytest.approx(np.mean(counts > 0))


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_count_that_is_none_is_named(counts, value, form):
    counts[3, 7] = value
    with pytest.raises(DataError, match="gene 'gene7' in cell 'cell3'"):
        as_counts(form(counts))


def test_masked_and_complex_counts_are_refused(counts):
    with pytest.raises(DataError, match="is nan"):
        as_counts(np.ma.masked_array(counts, counts == counts.max()))
    for form in (np.asarray, sparse.csr_array):
        with pytest.raises(DataError, match="real numbers, got complex128"):
            as_counts(form(counts + 0j))


def test_names_that_come_twice_are_refused(counts):
    cells, genes = names(counts.shape)
    with pytest.raises(DataError, match="1 gene names occur more than once: 'g0'"):
        as_counts(pd.DataFrame(counts, cells, ["g0", *genes[:-1]]))
    with pytest.raises(DataError, match="1 cell names occur more than once: 'c0'"):
        as_counts(pd.DataFrame(counts, ["c0", *cells[:-1]], genes))


@pytest.mark.parametrize("wrong", [np.ones(3), np.ones((0, 3)), np.array([["a", "b"]])])
def test_what_is_no_matrix_of_counts_is_refused(wrong):
    with pytest.raises(DataError, match="counts must"):
        as_counts(wrong)


def test_preparation_does_what_is_published(counts):
    counts[:, 5] = 0
    counts[:3, 6], counts[3:, 6] = 9, 0  # above 2 in 3 cells, not in more
    prep = CellPrep(genes=20).fit(counts)
    passed = (counts > 2).sum(axis=0) > 3
    np.testing.assert_array_equal(prep.passed_, passed)
    assert not passed[[5, 6]].any()
    library = counts[:, passed].sum(axis=1)
    scaled = counts / library[:, None] * np.median(library)
    mean, dispersion = (
        scaled.mean(axis=0),
        scaled.var(axis=0, ddof=1) / scaled.mean(axis=0).clip(1e-9),
    )
    frame = pd.DataFrame({"mean": mean, "dispersion": dispersion})[passed]
    ends = [-np.inf, *frame["mean"].quantile(QUANTILES), np.inf]
    groups = frame.groupby(pd.cut(frame["mean"], ends), observed=True)["dispersion"]
    off = (frame["dispersion"] - groups.transform("median")).abs()
    spread = groups.transform(lambda x: MAD * (x - x.median()).abs().median())
    score = (off / spread).where(spread > 0, 0.0)
    np.testing.assert_allclose(prep.score_[passed], score)
    np.testing.assert_allclose(prep.score_[prep.places_], np.sort(score)[::-1][:20])
    np.testing.assert_allclose(
        prep.transform(counts), np.log2(scaled[:, prep.places_] + 1), rtol=1e-6
    )


def test_preparation_of_sparse_counts_and_names(counts):
    cells, genes = names(counts.shape)
    dense, thin = CellPrep(genes=20).fit(counts), CellPrep(genes=20).fit(sparse.csr_array(counts))
    np.testing.assert_array_equal(dense.places_, thin.places_)
    np.testing.assert_allclose(dense.transform(counts), thin.transform(sparse.csr_array(counts)))
    frame = CellPrep(genes=20).fit_transform(pd.DataFrame(counts, cells, genes))
    assert list(frame.columns) == [genes[k] for k in dense.places_]
    ann = CellPrep(genes=20).fit_transform(Ann(counts, cells, genes))
    assert list(ann.var_names) == list(frame.columns)
    np.testing.assert_array_equal(ann.X, frame.to_numpy())


def test_values_go_back_to_counts_of_other_cells_too(counts):
    prep = CellPrep(genes=20).fit(counts)
    new = 3 * counts[:4]
    back = prep.inverse_transform(prep.transform(new), new)
    np.testing.assert_allclose(back, new[:, prep.places_], rtol=1e-4, atol=1e-4)
    with pytest.raises(DataError, match="shape"):
        prep.inverse_transform(prep.transform(new), counts)


def test_values_of_cells_in_another_order_do_not_go_back(counts):
    frame = pd.DataFrame(counts).rename("cell{}".format)
    prep = CellPrep(genes=5).fit(frame)
    values = prep.transform(frame)
    with pytest.raises(DataError, match="cell 0 of values is"):
        prep.inverse_transform(values[::-1], frame)


def test_preparation_names_an_empty_cell_and_refuses_other_genes(counts):
    prep = CellPrep(genes=20).fit(counts)
    counts[2] = 0
    with pytest.warns(GapWarning, match="'cell2'"):
        assert not prep.transform(counts)[2].any()
    with pytest.raises(DataError, match="fitted on 300"):
        prep.transform(counts[:, :50])
    frame = pd.DataFrame(counts, *names(counts.shape))
    with pytest.raises(DataError, match="same order"):
        CellPrep().fit(frame).transform(frame.iloc[:, ::-1])
    with pytest.raises(DataError, match="none of 300 genes"):
        CellPrep(count=10_000).fit(counts)
    with pytest.raises(ValueError, match="genes must be"):
        CellPrep(genes=0).fit(counts)


@pytest.mark.parametrize("zipped", [False, True])
def test_10x_folder(tmp_path, counts, zipped):
    cells, genes = names(counts.shape)
    io.mmwrite(tmp_path / "matrix.mtx", sparse.coo_array(counts.T.astype(int)))
    (tmp_path / "barcodes.tsv").write_text("\n".join(cells) + "\n")
    symbols = ["same", "same", *genes[2:]]
    rows = [f"ENSG{k}\t{symbol}\tGene Expression" for k, symbol in enumerate(symbols)]
    (tmp_path / "features.tsv").write_text("\n".join(rows) + "\n")
    if zipped:
        for path in list(tmp_path.iterdir()):
            (tmp_path / f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
            path.unlink()
    found = read_cells(tmp_path)
    np.testing.assert_array_equal(found.matrix.toarray(), counts)
    assert list(found.cells) == cells
    assert list(found.genes) == ["ENSG0", "ENSG1", *genes[2:]]


def test_10x_folder_that_is_none(tmp_path, counts):
    with pytest.raises(DataError, match=r"no matrix.mtx\[.gz\]"):
        read_cells(tmp_path)
    (tmp_path / "matrix.mtx").write_text("hello")
    with pytest.raises(DataError, match="Matrix Market"):
        read_cells(tmp_path)
    io.mmwrite(tmp_path / "matrix.mtx", sparse.coo_array(counts.T))
    (tmp_path / "barcodes.tsv").write_text("a\nb\n")
    (tmp_path / "genes.tsv").write_text("ENSG0\tg0\n")
    with pytest.raises(DataError, match="1 genes and 2 barcodes"):
        read_cells(tmp_path)


@pytest.mark.parametrize("genes_in", ["rows", "columns"])
@pytest.mark.parametrize("name", ["a.csv", "a.tsv.gz"])
def test_text_there_and_back(tmp_path, counts, genes_in, name):
    cells, genes = names(counts.shape)
    given = as_counts(pd.DataFrame(counts, cells, genes))
    path = write_cells(given, tmp_path / name, genes_in=genes_in)
    found = read_cells(path, genes_in=genes_in)
    np.testing.assert_array_equal(found.matrix, counts)
    assert (list(found.cells), list(found.genes)) == (cells, genes)


def test_text_of_r_without_a_name_for_the_names(tmp_path):
    (tmp_path / "r.csv").write_text("V1,V2\nA,0,3\nB,1,0\n")
    found = read_cells(tmp_path / "r.csv")
    np.testing.assert_array_equal(found.matrix, [[0, 1], [3, 0]])
    assert list(found.genes) == ["A", "B"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("n,c1,c1\na,1,2\n", "more than once: 'c1'"),
        ("n,c1,c2\na,1,2\na,3,4\n", "gene names occur more than once: 'a'"),
        ("n,c1,c2\na,1,x\n", "must be numbers"),
        ("n,c1,c2\na,1,-2\n", "gene 'a' in cell 'c2' is -2"),
        ("n,c1,c2\na,1,\n", "gene 'a' in cell 'c2' is nan"),
        ("n;c1;c2\na;1;2\n", "one column only; its ending says that ',' separates"),
        ("n,c1,c2\na,1,NA\n", "must be numbers"),
        ("n,c1,c2\na,1,2\n,3,4\n", r"row 1 \(counted from 0\) has no name"),
        ("", "not a table of counts"),
    ],
)
def test_text_that_is_wrong(tmp_path, text, said):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(DataError, match=said):
        read_cells(tmp_path / "a.csv")


def test_names_in_text_are_taken_to_the_letter(tmp_path):
    (tmp_path / "a.csv").write_text('n,"x,1","y,1"\n001,1,2\nNA,3,4\nnan,5,6\n')
    found = read_cells(tmp_path / "a.csv")
    assert list(found.genes) == ["001", "NA", "nan"]
    assert list(found.cells) == ["x,1", "y,1"]
    np.testing.assert_array_equal(found.matrix, [[1, 3, 5], [2, 4, 6]])


def test_files_cut_short_are_named(tmp_path, counts):
    (tmp_path / "a.csv").write_text(pd.DataFrame(counts.T).to_csv())
    whole = gzip.compress((tmp_path / "a.csv").read_bytes())
    for number, content in enumerate((whole[: len(whole) // 2], whole[:60] + b"?" + whole[61:])):
        (tmp_path / f"{number}.csv.gz").write_bytes(content)
        with pytest.raises(DataError, match=f"{number}.csv.gz is not a table of counts"):
            read_cells(tmp_path / f"{number}.csv.gz")
    head = "%%MatrixMarket matrix coordinate integer general"
    (tmp_path / "matrix.mtx").write_text(f"{head}\n1 1 1\n1 1 5\n")
    (tmp_path / "barcodes.tsv.gz").write_bytes(gzip.compress(b"AAAC\n")[:-4])
    with pytest.raises(DataError, match=r"barcodes.tsv.gz is not a list of names"):
        read_cells(tmp_path)


def test_a_file_without_layers_has_none_to_choose(tmp_path):
    (tmp_path / "a.csv").write_text("n,c1\na,1\n")
    for path in (tmp_path, tmp_path / "a.csv"):
        with pytest.raises(DataError, match="has no layers"):
            read_cells(path, layer="raw")


def test_what_is_written_is_exact_and_whole(tmp_path, monkeypatch):
    target = tmp_path / "a.csv"
    write_cells(as_counts(np.array([[2.0**24 + 1, 0.1], [1.0, 1e-9]])), target)
    np.testing.assert_array_equal(read_cells(target).matrix, [[2.0**24 + 1, 0.1], [1.0, 1e-9]])
    before = target.read_bytes()
    monkeypatch.setattr(pd.DataFrame, "to_csv", _half_written)
    with pytest.raises(OSError, match="disk full"):
        write_cells(as_counts(np.ones((2, 2))), target)
    assert target.read_bytes() == before
    assert list(tmp_path.iterdir()) == [target]


def test_names_reach_anndata_as_it_can_write_them(tmp_path, monkeypatch):
    """Under pandas 3 a list of names becomes a kind of text that anndata 0.12 refuses to write."""

    class Written(SimpleNamespace):
        def write_h5ad(self, path):
            assert self.obs.index.dtype == self.var.index.dtype == object
            path.write_text(f"{list(self.obs.index)} {list(self.var.index)} {list(self.layers)}")

    made = SimpleNamespace(AnnData=lambda **parts: Written(layers={}, **parts))
    monkeypatch.setitem(sys.modules, "anndata", made)
    counts = as_counts(pd.DataFrame([[1, 2]], index=["cell"], columns=["a", "b"]))
    target = write_cells(counts, tmp_path / "a.h5ad", before=counts)
    assert target.read_text() == "['cell'] ['a', 'b'] ['before']"


def _half_written(frame, path, **options):
    path.write_text("half")
    raise OSError("disk full")


def test_wrong_files(tmp_path, monkeypatch):
    with pytest.raises(DataError, match="is not there"):
        read_cells(tmp_path / "none.csv")
    (tmp_path / "a.xlsx").write_text("")
    with pytest.raises(DataError, match="none of the kinds"):
        read_cells(tmp_path / "a.xlsx")
    with pytest.raises(DataError, match="can be written as"):
        write_cells(as_counts(np.ones((2, 2))), tmp_path / "a.xlsx")
    (tmp_path / "a.h5ad").write_text("")
    monkeypatch.setitem(sys.modules, "anndata", None)
    for work in (read_cells, lambda path: write_cells(as_counts(np.ones((2, 2))), path)):
        with pytest.raises(MissingExtra, match=r"pip install 'nanwise\[cells\]'"):
            work(tmp_path / "a.h5ad")


@pytest.mark.parametrize("order", ["C", "F"])
def test_hiding_takes_its_share_of_what_was_seen(counts, order):
    counts = np.asarray(counts, order=order)
    part, rows, columns = hide_seen(counts, 0.3, seed=1)
    assert len(rows) == round(0.3 * np.count_nonzero(counts))
    assert not part[rows, columns].any()
    assert counts[rows, columns].all()
    part[rows, columns] = counts[rows, columns]
    np.testing.assert_array_equal(part, counts)
    with pytest.raises(ValueError, match="share"):
        hide_seen(counts, 1.0, seed=1)
    for share in (0.1, 0.9):
        with pytest.raises(DataError, match="something must be hidden and something left"):
            hide_seen(np.eye(4), share, seed=1)


def test_named_sets(tmp_path, monkeypatch, counts):
    monkeypatch.setenv("NANWISE_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(DataError, match=r"scrna/zeisel.csv"):
        load_cells("zeisel")
    with pytest.raises(DataError, match="no set of cells"):
        load_cells("nothing")
    (tmp_path / "scrna").mkdir()
    raw = as_counts(pd.DataFrame(counts, *names(counts.shape)))
    write_cells(raw, tmp_path / "scrna" / "Blakeley_raw_data.csv")
    assert load_cells("blakeley").shape == (25, int(CellPrep().fit(counts).passed_.sum()))


@pytest.mark.filterwarnings("ignore::nanwise.errors.GapWarning")
def test_a_fit_that_fails_leaves_the_earlier_one():
    counts = np.random.default_rng(0).poisson(3, (30, 50))
    prep = CellPrep(genes=10).fit(counts)
    before = prep.transform(counts)
    with pytest.raises(DataError, match="none of 20 genes"):
        prep.fit(np.zeros((30, 20)))
    np.testing.assert_array_equal(prep.transform(counts), before)
    model = AutoImpute(random_state=0).set_params(plan__epochs=2).fit(before)
    with pytest.raises(DataError, match="nothing to learn from"):
        model.fit(np.zeros((30, 20)))
    assert model.transform(before).shape == before.shape
