"""Imputers of tables with columns of any kind, one file each."""
