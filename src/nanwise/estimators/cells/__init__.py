"""Estimators for counts of genes in cells."""
