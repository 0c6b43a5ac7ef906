"""Networks for series (N, T, D) with gaps."""
