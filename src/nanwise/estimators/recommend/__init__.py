"""Parts of the recommenders: axes of ids, best lists, training."""
