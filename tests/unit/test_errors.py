"""Optional dependencies: which of two things is wrong is said."""

import pytest

from nanwise.errors import MissingExtra, need


def test_what_is_there_is_imported():
    assert need("math", "report").pi > 3


def test_what_is_not_installed_is_told_from_what_cannot_be_imported(tmp_path, monkeypatch):
    with pytest.raises(MissingExtra, match=r"^no_such_thing is not installed; .*nanwise\[cells\]"):
        need("no_such_thing", "cells")
    (tmp_path / "half_there.py").write_text("import no_such_thing\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(MissingExtra, match=r"^half_there cannot be imported \(No module named"):
        need("half_there", "cells")
