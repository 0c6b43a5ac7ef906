"""The command line. One small file per command; none of them imports torch before it must work."""

from __future__ import annotations

import sys


def main() -> None:
    """Console script ``nanwise``."""
    try:
        from nanwise.cli.app import app
    except ImportError as error:
        if error.name != "click":
            raise
        sys.stderr.write(
            "error: the command line needs click; it comes with: pip install 'nanwise[cli]'\n"
        )
        raise SystemExit(2) from None
    app(prog_name="nanwise")
