"""What a paper prints: every table and figure, and which of ours computes it again."""

from __future__ import annotations

import re
from dataclasses import dataclass

from nanwise.bench.papers.table import PublishedTable, tables


@dataclass(frozen=True)
class Item:
    """A table or figure of a paper.

    Attributes
    ----------
    name : str
        As printed, ``"Table 3"``.
    what : str
        What it shows.
    ids : tuple of str
        Of the published tables that compute it again.
    instead : str
        Where there is nothing to compute: why.
    """

    name: str
    what: str
    ids: tuple[str, ...] = ()
    instead: str = ""


@dataclass(frozen=True)
class Paper:
    """A paper and what it prints."""

    title: str
    items: tuple[Item, ...]


ICLR = Paper(
    "Sparsity normalisation, ICLR 2020",
    (
        Item("Table 1", "SN in three recommenders on MovieLens", ("sn/table1",)),
        Item("Table 2", "AutoRec and CF-UIcA beside other recommenders", ("sn/table2",)),
        Item("Table 3", "ways of handling gaps, five diseases of NHIS", ("sn/table3",)),
        Item("Table 4", "AutoRec by Adam and by resilient propagation", ("sn/table4",)),
        Item("Table 5", "dropout with and without SN, five diseases of NHIS", ("sn/table5",)),
        Item("Table 6", "LSTM with and without SN on PhysioNet 2012", ("sn/table6",)),
        Item("Table 7", "ways of handling gaps in AutoRec", ("sn/table7",)),
        Item("Table 8", "rows, columns and gaps of ten UCI sets", instead="see nanwise datasets"),
        Item("Table 9", "ways of handling gaps, values hidden at random", ("sn/table9",)),
        Item("Table 10", "ways of handling gaps, gaps of their own", ("sn/table10",)),
        Item(
            "Figure 1", "predictions against the number of known entries", ("sn/fig1", "sn/fig1a")
        ),
        Item("Figure 2", "drawing of the idea", instead="a drawing"),
        Item("Figure 3", "AutoImpute on six sets of cells", ("sn/fig3",)),
        Item("Figure 4", "dropout with and without SN against the drop rate", ("sn/fig4",)),
        Item("Figure 5", "MADE on binarized MNIST", ("sn/fig5",)),
        Item("Figure 6", "AutoRec against the number of hidden units", ("sn/fig6",)),
        Item("Figure 7", "AutoImpute on Preimplantation", ("sn/fig7",)),
        Item("Figure 8", "MADE on binarized MNIST, small learning rate", ("sn/fig8",)),
        Item("Figure 9", "predictions of AutoRec, four normalisations", ("sn/fig9",)),
    ),
)

DRAFT = Paper(
    "Sparsity normalisation, draft of 2019",
    (
        Item("Table 1", "SN in two recommenders on MovieLens", ("draft/table1",)),
        Item("Table 2", "AutoRec beside other recommenders, later figures", ("sn/table2",)),
        Item("Table 3", "five diseases of NHIS, same figures", ("sn/table3", "sn/table5")),
        Item("Table 4", "VGG-16 with and without SN", ("draft/table4",)),
        Item("Table 5", "simple ways of handling gaps", ("draft/table5",)),
        Item("Table 6", "Adam and resilient propagation, same figures", ("sn/table4",)),
        Item("Table 7", "AutoRec with K' = 1", ("draft/table7",)),
        Item("Table 8", "AutoRec with K' = 1, second weights penalised", ("draft/table8",)),
        Item("Figure 1", "how many inputs are not 0", ("draft/fig1",)),
        Item("Figure 2", "error against the number of copies", ("draft/fig2",)),
        Item("Figure 3", "perceptrons on pictures against their width", ("draft/fig3",)),
        Item("Figure 4", "hidden units that are not 0", ("draft/fig4",)),
        Item("Figure 5", "how rows of UCI sets are made sparse", instead="a drawing"),
        Item("Figure 6", "error against the number of copies, six sets", ("draft/fig6",)),
        Item("Figure 7", "mean output of dense and sparse rows", ("draft/fig7",)),
        Item("Figure 8", "SN at the input or at a hidden layer", ("draft/fig8",)),
        Item("Figure 9", "SN at the input and at a hidden layer", ("draft/fig9",)),
        Item("Figure 10", "AutoRec against the number of hidden units", ("sn/fig6",)),
    ),
)

#: families whose papers are listed whole, whether or not a table of ours is there
_WHOLE = {"sn": (ICLR, DRAFT), "draft": (DRAFT,)}


def families() -> list[str]:
    """The first parts of the ids of all published tables."""
    return sorted({family_of(table) for table in tables()})


def family_of(table: PublishedTable) -> str:
    """``sn`` of ``sn/table9``."""
    return table.id.partition("/")[0]


def papers_of(family: str) -> tuple[Paper, ...]:
    """Papers of a family with what they print.

    The papers of ``sn`` are listed whole. Of the others the supplements are at hand at best: what
    is listed are the tables that are here, by the source that each names.
    """
    if family in _WHOLE:
        return _WHOLE[family]
    here = sorted((table for table in tables() if family_of(table) == family), key=_order)
    if not here:
        raise ValueError(f"no family of papers is called {family!r}; there are {families()}")
    items = tuple(Item(table.source, table.title, (table.id,)) for table in here)
    return (Paper(f"Tables of the family {family}", items),)


def _order(table: PublishedTable) -> list[int | str]:
    """Words and numbers of an id, so that Table 10 comes after Table 9."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", table.id)]
