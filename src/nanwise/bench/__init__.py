"""Grids of cases: comparing methods on a table, and repeating published tables."""
