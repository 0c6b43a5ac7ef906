"""Algorithms of the imputing treatments: numpy in, numpy out, no estimator and no torch."""
