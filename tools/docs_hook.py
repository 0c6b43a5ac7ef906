"""Pages that mkdocs makes from the code: one per method, the tables of methods, the benchmarks.

They exist only while the site is built, so they cannot grow old.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

from nanwise.estimators.impute.by_treatment import imputer_names
from nanwise.registry import Method, everything, find, known

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "RESULTS.md"
TABLE_MARK = "<!-- table of methods -->"
IMPUTERS_MARK = "<!-- table of imputers -->"
ROLE = re.compile(r":(?:class|func|meth|mod|attr|math):<code>~?([^<]*)</code>")
KIND_TITLES = {
    "treatment": "Treatments: between the gaps and a network",
    "predictor": "Predictors: whole models",
    "imputer": "Imputers",
    "recommender": "Recommenders",
    "generator": "Generators",
}
#: methods with names of their own, see ``nanwise.registry.APART``
WORLDS = (("image", "For pictures"), ("series", "For series"))
ESTIMATORS = {
    "image": ("NanImageClassifier", "(N, C, H, W)"),
    "series": ("NanSeriesClassifier", "(N, T, D)"),
}
NO_RESULTS = """\
# Benchmarks

The scripts stand in `benchmarks/`; each prints its figures and the machine they were measured on.
No result file is stored in this checkout.
"""


def on_config(config: Any) -> Any:
    """Put the method pages into the navigation."""
    pages: list[Any] = [{"All methods": "methods/index.md"}]
    pages += [{m.name: page_path(m)} for m in known()]
    pages += [{title: [{m.name: page_path(m)} for m in known(inputs=i)]} for i, title in WORLDS]
    for section in config.nav:
        if "Methods" in section:
            section["Methods"] = pages
    return config


def on_files(files: Files, *, config: Any) -> Files:
    """Add the generated pages."""
    pages = {page_path(m): method_page(m) for m in everything()}
    pages["methods/index.md"] = index_page()
    pages["benchmarks.md"] = RESULTS.read_text(encoding="utf-8") if RESULTS.exists() else NO_RESULTS
    for path, text in pages.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Fill in the tables of methods where a page asks for them."""
    if TABLE_MARK in markdown:
        markdown = markdown.replace(TABLE_MARK, when_table(known()))
    if IMPUTERS_MARK in markdown:
        markdown = markdown.replace(IMPUTERS_MARK, imputer_table())
    return markdown


def on_page_content(html: str, **_: Any) -> str:
    """Docstrings name things as ``:class:`~a.B```; Markdown leaves the role standing as text."""
    return ROLE.sub(r"<code>\1</code>", html)


def page_path(method: Method) -> str:
    """Where the page of a method stands, relative to docs/."""
    return f"methods/{method.key}.md"


def cell(text: str) -> str:
    """Text that is safe inside a Markdown table."""
    return " ".join(str(text).split()).replace("|", "\\|")


def when_table(methods: list[Method]) -> str:
    """Method, kind, what it does, when to choose it."""
    rows = ["| method | kind | what it does | when |", "|---|---|---|---|"]
    for m in methods:
        kind = m.kind if m.role == "method" else f"{m.kind}, {m.role}"
        link = f"[`{m.name}`]({page_path(m)})"
        rows.append(f"| {link} | {kind} | {cell(m.summary)} | {cell(m.when)} |")
    return "\n".join(rows)


def imputer_table() -> str:
    """Every imputer, treatments that fill included: what it does, whether it draws, when."""
    rows = ["| imputer | draws | what it does | when |", "|---|---|---|---|"]
    for name in imputer_names():
        m = find(name)
        draws = "yes" if getattr(m.make, "samples", False) else ""
        link = f"[`{name}`]({page_path(m)})"
        rows.append(f"| {link} | {draws} | {cell(m.summary)} | {cell(m.when)} |")
    return "\n".join(rows)


def index_page() -> str:
    """All methods, by kind."""
    parts = ["# Methods", "Made from the registry; `nanwise methods` prints the same list."]
    lists = {title: known(kind) for kind, title in KIND_TITLES.items()}
    lists |= {title: known(inputs=inputs) for inputs, title in WORLDS}
    for title, found in lists.items():
        if found:
            parts += [f"## {title}", when_table(found).replace("(methods/", "(")]
    return "\n\n".join(parts) + "\n"


def method_page(m: Method) -> str:
    """Everything the registry and the docstring know about one method."""
    parts = [f"# {m.name}", m.summary]
    if m.when:
        parts += ["## When", m.when]
    parts += ["## Use", f"```python\n{usage(m)}\n```", "## Facts", facts(m)]
    if m.space:
        parts += ["## Search space", space_table(m)]
    parts += ["## Reference", f"::: {m.make.__module__}.{m.make.__qualname__}"]
    return "\n\n".join(parts) + "\n"


def usage(m: Method) -> str:
    """The shortest code that uses a method."""
    if m.inputs in ESTIMATORS:
        return usage_apart(m)
    if m.kind == "treatment":
        return (
            "from nanwise import NanClassifier\n\n"
            f'model = NanClassifier(gaps="{m.name}").fit(X, y)   # NaN in X is a gap'
        )
    if m.kind == "imputer":
        return (
            "from nanwise import make_imputer\n\n"
            f'filled = make_imputer("{m.name}").fit_transform(X)   # NaN in X is a gap'
        )
    if m.kind == "generator":
        name = m.make.__name__
        return (
            f"from nanwise import {name}\n\n"
            f"model = {name}().fit(X)\nnew = model.sample(10, random_state=0)"
        )
    return (
        "from nanwise import TableModel\n\n"
        f'model = TableModel(method="{m.name}").fit(frame, y)   # frame: mixed columns, with gaps'
    )


def usage_apart(m: Method) -> str:
    """The same for methods of pictures and of series."""
    estimator, shape = ESTIMATORS[m.inputs]
    if m.kind == "treatment":
        return (
            f"from nanwise import {estimator}\n\n"
            f'model = {estimator}(gaps="{m.name}").fit(X, y)   # X {shape}, NaN is a gap'
        )
    does = "filled = model.transform(X)" if m.kind == "imputer" else "new = model.generate(10)"
    made = f"from nanwise.registry import find\n\nmodel = find({m.key!r}).make().fit(X)"
    return f"{made}   # X {shape}, NaN is a gap\n{does}"


def facts(m: Method) -> str:
    """What the registry says, as a table."""
    module = m.make.__module__.replace(".", "/")
    rows = {
        "kind": f"{m.kind} ({m.role})",
        "inputs": m.inputs,
        "tasks": ", ".join(m.tasks),
        "sparse rows": "yes, never made dense" if m.sparse else "no",
        "needs": ", ".join(m.needs) or "nothing beyond the core",
        "paper": m.paper or "none",
        "file": f"`src/{module}.py`",
    }
    return "\n".join(["| | |", "|---|---|", *(f"| {k} | {cell(v)} |" for k, v in rows.items())])


def space_table(m: Method) -> str:
    """Parameter names and the values that a search tries."""
    rows = ["| parameter | values | default |", "|---|---|---|"]
    defaults = {n: p.default for n, p in inspect.signature(m.make).parameters.items()}
    for name, values in m.space.items():
        tried = ", ".join(f"`{value!r}`" for value in values)
        default = defaults.get(name, inspect.Parameter.empty)
        shown = "" if default is inspect.Parameter.empty else f"`{default!r}`"
        rows.append(f"| `{name}` | {cell(tried)} | {cell(shown)} |")
    return "\n".join(rows)
