"""Imputers: the base of all of them, the way from tables to codes and back, and what nets share."""
