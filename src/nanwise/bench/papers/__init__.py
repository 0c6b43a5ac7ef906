"""Published tables as data: one file per family of papers, found by being here.

A family file builds :class:`~nanwise.bench.papers.table.PublishedTable` objects and hands each to
:func:`~nanwise.bench.papers.table.publish`. Nothing else needs to know it.
"""
