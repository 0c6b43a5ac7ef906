"""Estimators over series (N, T, D) with gaps."""
