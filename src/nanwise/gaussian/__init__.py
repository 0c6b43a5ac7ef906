"""Gaussian vectors with gaps: moments from incomplete rows, conditional expectations, tests."""
