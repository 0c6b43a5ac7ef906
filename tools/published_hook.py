"""The page of all tables and figures: what was measured beside what was published.

Made while the site is built, from the papers' contents and the measured figures in
``src/nanwise/bench/papers/measured``.
"""

from __future__ import annotations

from typing import Any

from mkdocs.structure.files import File, Files

from nanwise.bench.contents import families
from nanwise.bench.measured import measured
from nanwise.bench.papers.table import find_table
from nanwise.bench.states import overview

PAGE = "published.md"
SIGNS = {"within": " =", "above": " ↑", "below": " ↓"}
HEAD = """\
# All tables and figures

Every table and figure of the papers, how far it has been computed again, and our figures beside
the published ones. This page is made from what `tools/collect_measured.py` takes out of the `--out`
folders of `nanwise reproduce`; `nanwise reproduce sn` (or `vsae`, `misconv`, `neumiss`) prints the
same list.

- **reproduced**: measured at the scale of the paper. **laptop scale**: with fewer rows, epochs or
  runs. **simulated**: the data of the paper cannot be shared, ours are simulated, and the published
  figures are not to be compared with ours. **data not available**: not on the machine that built
  this page.
- In the tables: ours ± half of the 95 % interval, the published figure in brackets; `=` ours lies
  within the published interval, `↑` above, `↓` below it. Differences are run by run. A dash: not
  measured.
- Figures were measured with development versions of 0.1.0. How to read them, what else was
  measured, and where a method has changed since, is in [results](results/index.md).
"""


def on_files(files: Files, *, config: Any) -> Files:
    """Add the page."""
    files.append(File.generated(config, PAGE, content=page()))
    return files


def page() -> str:
    """The whole page in Markdown."""
    # The draft is listed under sn, which comes first.
    order = sorted(set(families()) - {"draft"}, key=lambda family: (family != "sn", family))
    lines = [line for family in order for line in overview(family)]
    papers = dict.fromkeys(line["paper"] for line in lines)
    parts = [HEAD]
    for paper in papers:
        parts += [f"## {paper}", survey([line for line in lines if line["paper"] == paper])]
    parts += ["## Measured figures"]
    parts += [section(id) for id in dict.fromkeys(line["id"] for line in lines if line["measured"])]
    return "\n\n".join(parts) + "\n"


def survey(lines: list[dict[str, Any]]) -> str:
    """What a paper prints, with the state of each."""
    rows = [
        "| printed as | id | what | state | cells | within or better |",
        "|---|---|---|---|---|---|",
    ]
    for line in lines:
        id = line["id"]
        link = f"[`{id}`](#{anchor(id)})" if line["measured"] else f"`{id}`" if id else ""
        cells = f"{line['measured']} of {line['cells']}" if line["measured"] else ""
        cells += f", no data for {line['absent']}" if line["absent"] else ""
        good = f"{line['good']} of {line['judged']}" if line["judged"] else ""
        cells_of_row = (line["name"], link, line["what"], line["state"], cells, good)
        rows.append(f"| {' | '.join(map(safe, cells_of_row))} |")
    return "\n".join(rows)


def section(id: str) -> str:
    """One table: every row with a measured cell."""
    facts = measured(id)
    if facts is None:
        raise ValueError(f"{id} has no measured figures")
    about = (
        f"{facts['title']}. {facts['source']}; {facts['metric']['label']}; scale {facts['scale']}."
    )
    if facts["stand_in"]:
        about += f" **{facts['stand_in'].capitalize()}: published figures are of other data.**"
    columns = [
        place
        for place in range(len(facts["columns"]))
        if any(row["cells"][place]["ours"] is not None for row in facts["rows"])
    ]
    rows = [row for row in facts["rows"] if any(cell["ours"] for cell in row["cells"])]
    head = ["", *(safe(facts["columns"][place]) for place in columns)]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    lines += [
        f"| {safe(row['name'])} | {' | '.join(figure(row['cells'][place]) for place in columns)} |"
        for row in rows
    ]
    left = len(find_table(id).rows) - len(rows)
    more = f"\n\n{left} rows were not measured." if left else ""
    return f"### {id} {{ #{anchor(id)} }}\n\n{about}\n\n" + "\n".join(lines) + more


def figure(cell: dict[str, Any]) -> str:
    """``0.9280 ± 0.0493 (0.9238 ± 0.0311) =``."""
    published = f" ({pair(cell['published'])})" if cell["published"] else ""
    return f"{pair(cell['ours'])}{published}{SIGNS.get(cell['verdict'], '')}"


def pair(number: dict[str, Any] | None) -> str:
    """Mean and half width to four digits."""
    if number is None:
        return "–"
    half = "" if number["ci"] is None else f" ± {number['ci']:#.2g}"
    return f"{number['mean']:#.4g}{half}"


def anchor(id: str) -> str:
    """``sn-table9`` of ``sn/table9``."""
    return id.replace("/", "-")


def safe(text: str) -> str:
    """Text that is safe inside a Markdown table."""
    return " ".join(str(text).split()).replace("|", "\\|")
