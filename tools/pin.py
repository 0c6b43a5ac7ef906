"""Rewrite constraints.txt from the environment this script runs in.

Keeps exactly what the package, its extras and its dependency groups pull in. Run it with the
project's interpreter after upgrading something: ``.venv/bin/python tools/pin.py``.
"""

from __future__ import annotations

import tomllib
from importlib.metadata import distribution, version
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parent.parent
HEADER = """\
# Pinned versions of everything the package, its extras and its dependency groups need.
# Written by tools/pin.py; used by the Makefile and by .ci/run as `pip install --constraint`.
# torch is pinned without a local label, so that pip may choose the build that fits the machine.
"""
# Not dependencies, but part of every installation: the installer and the build backend.
TOOLS = ("pip", "setuptools")


def declared() -> list[Requirement]:
    """Requirements written in pyproject.toml: core, extras and groups."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    lists = [
        project["project"]["dependencies"],
        *project["project"]["optional-dependencies"].values(),
        *project["dependency-groups"].values(),
    ]
    return [Requirement(line) for lines in lists for line in lines]


def closure(wanted: list[Requirement]) -> set[str]:
    """Names of the distributions that ``wanted`` and all they require resolve to."""
    names: set[str] = set()
    seen: set[tuple[str, str]] = set()
    queue = [r for r in wanted if canonicalize_name(r.name) != "nanwise"]
    while queue:
        requirement = queue.pop()
        name = canonicalize_name(requirement.name)
        for extra in {"", *requirement.extras}:
            if (name, extra) in seen:
                continue
            seen.add((name, extra))
            names.add(name)
            needs = map(Requirement, distribution(name).requires or [])
            queue += [r for r in needs if r.marker is None or r.marker.evaluate({"extra": extra})]
    return names


def main() -> None:
    """Write the file."""
    names = sorted(closure(declared()) | set(TOOLS))
    lines = [f"{name}=={Version(version(name)).public}" for name in names]
    (ROOT / "constraints.txt").write_text(HEADER + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
