import pytest

from nanwise.cli.report import _facts_in, read_facts


@pytest.mark.parametrize("content", ["{", "[1]", "\x00\x01"])
def test_what_is_no_report_is_named(tmp_path, content):
    path = tmp_path / "report.json"
    path.write_text(content)
    with pytest.raises(ValueError, match="is not the report"):
        read_facts(path)


def test_bytes_that_are_no_text(tmp_path):
    path = tmp_path / "report.json"
    path.write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(ValueError, match="is not the report"):
        read_facts(path)


def test_a_missing_report_says_who_writes_it(tmp_path):
    with pytest.raises(ValueError, match="nanwise compare writes it"):
        read_facts(tmp_path / "report.json")


def test_the_only_facts_in_a_folder_are_meant(tmp_path):
    assert _facts_in(tmp_path).name == "report.json"
    (tmp_path / "stress.json").touch()
    assert _facts_in(tmp_path).name == "stress.json"
    (tmp_path / "other.json").touch()
    assert _facts_in(tmp_path).name == "report.json"
