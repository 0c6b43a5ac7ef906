"""Estimators over pictures (N, C, H, W) with holes."""
