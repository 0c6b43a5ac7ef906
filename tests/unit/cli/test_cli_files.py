import os

import pytest

from nanwise.cli import files
from nanwise.cli.models import model_folder, open_model, open_saved


def test_output_file_makes_its_folder(tmp_path):
    assert files.output_file(str(tmp_path / "a/b/c.csv")) == tmp_path / "a/b/c.csv"
    assert (tmp_path / "a/b").is_dir()


def test_output_file_is_never_the_input(tmp_path):
    source = tmp_path / "x.csv"
    source.write_text("a\n1\n")
    os.link(source, tmp_path / "same.csv")
    with pytest.raises(ValueError, match=r"^--out .*same\.csv is the input file"):
        files.output_file(str(tmp_path / "same.csv"), [source])


def test_output_file_is_not_a_folder(tmp_path):
    with pytest.raises(ValueError, match=r"^--out .* is a folder"):
        files.output_file(str(tmp_path))
    with pytest.raises(ValueError, match=r"^--picture .* is a folder"):
        files.output_file(str(tmp_path), option="--picture")


def test_output_folder_is_not_a_file(tmp_path):
    source = tmp_path / "x.csv"
    source.write_text("a\n1\n")
    with pytest.raises(ValueError, match="is the input file, not a folder"):
        files.output_folder(str(source), [source])
    with pytest.raises(ValueError, match="is a file, not a folder"):
        files.output_folder(str(source))


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="cannot create the folder"):
        files.output_folder(str(tmp_path / "file/out"))


def test_a_folder_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    # Root may write everywhere, so the question is answered for it.
    monkeypatch.setattr(files.os, "access", lambda path, mode: False)
    with pytest.raises(ValueError, match="not writable; choose another with --out"):
        files.output_folder(str(tmp_path))
    with pytest.raises(ValueError, match="choose another with --report"):
        files.output_folder(str(tmp_path), option="--report")


def test_model_folder_does_not_bury_other_files(tmp_path):
    assert model_folder(str(tmp_path / "a/new")) == tmp_path / "a/new"
    assert (tmp_path / "a").is_dir()
    assert not (tmp_path / "a/new").exists()
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(ValueError, match="other files than a model"):
        model_folder(str(tmp_path))


def test_open_saved_names_a_missing_folder(tmp_path):
    with pytest.raises(ValueError, match="no such model folder"):
        open_saved(str(tmp_path / "nothing"))


def test_open_model_imports_from_the_current_folder(tmp_path, monkeypatch):
    (tmp_path / "our_models.py").write_text("class Zoo:\n    best = staticmethod(sum)\n")
    monkeypatch.chdir(tmp_path)
    assert open_model("our_models:Zoo.best") is sum
    with pytest.raises(ValueError, match=r"no attribute 'Zoo\.worst'"):
        open_model("our_models:Zoo.worst")
    with pytest.raises(ValueError, match="cannot import 'no_such_module'"):
        open_model("no_such_module:x")
