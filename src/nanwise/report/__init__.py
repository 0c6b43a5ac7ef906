"""Facts to HTML, Markdown and JSON: a report is a function of a plain dict."""

from nanwise.report.render import KINDS, render, write

__all__ = ["KINDS", "render", "write"]
