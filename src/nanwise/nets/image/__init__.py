"""Networks over pictures with holes."""
