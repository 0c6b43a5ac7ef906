"""Methods for series with gaps, one file each."""
