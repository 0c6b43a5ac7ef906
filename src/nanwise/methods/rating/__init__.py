"""Recommenders on sparse ratings, one file each."""
