"""Tables: what their columns are, how they are read, encoded, split, and given more gaps."""
