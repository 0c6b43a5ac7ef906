"""Treatments of the gaps in a table, and the predictors they are compared with."""
