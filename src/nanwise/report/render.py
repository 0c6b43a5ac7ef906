"""The two functions everything else calls: ``render`` and ``write``."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from nanwise.errors import need
from nanwise.report.markdown import to_markdown
from nanwise.report.numbers import plain
from nanwise.report.view import view_of

KINDS = ("html", "md", "json")
FACTS = (
    "compare",
    "stress",
    "reproduce",
    "recommend",
    "impute",
    "compare_imputers",
    "images",
    "cells",
)
TEMPLATES = Path(__file__).parent / "templates"


def render(facts: Mapping[str, Any], kind: str = "html") -> str:
    """Write facts down for a reader or a machine.

    Parameters
    ----------
    facts : mapping
        Plain values with ``"kind"``, one of ``FACTS``. Sections that are absent are left out of the
        report.
    kind : {"html", "md", "json"}
        ``html`` is one file without outside parts: style, script and pictures are inside.

    Returns
    -------
    str
    """
    if facts.get("kind") not in FACTS:
        raise ValueError(f"facts['kind'] must be one of {FACTS}, got {facts.get('kind')!r}")
    known = plain(dict(facts))
    if kind == "html":
        return _html(known)
    if kind == "md":
        return to_markdown(known)
    if kind == "json":
        return json.dumps(known, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    raise ValueError(f"kind must be one of {KINDS}, got {kind!r}")


def write(
    facts: Mapping[str, Any],
    folder: str | os.PathLike[str],
    kinds: Iterable[str] = KINDS,
    name: str = "report",
) -> dict[str, Path]:
    """Write ``report.html``, ``report.md`` and ``report.json`` into a folder.

    Parameters
    ----------
    facts : mapping
        As for :func:`render`.
    folder : path
        Made if it is not there.
    kinds : iterable of str
    name : str
        Name of the files without ending.

    Returns
    -------
    dict of str to Path
        Kind -> file. A file is either the old or the new one, never half a report.
    """
    texts = {kind: render(facts, kind) for kind in kinds}
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    return {kind: _replace(folder / f"{name}.{kind}", text) for kind, text in texts.items()}


def _replace(path: Path, text: str) -> Path:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.chmod(temporary, 0o666 & ~_umask())  # mkstemp makes files only their owner can read
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    return path


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


@cache
def _environment() -> Any:
    jinja2 = need("jinja2", "report")
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )


def _html(facts: dict[str, Any]) -> str:
    script = (TEMPLATES / "script.js").read_text(encoding="utf-8")
    template = _environment().get_template(f"{facts['kind']}.html")
    return template.render(page=view_of(facts), script=script, script_hash=_script_hash(script))


def _script_hash(script: str) -> str:
    """For the page's content policy: the browser runs this script and no other."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
