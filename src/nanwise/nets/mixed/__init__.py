"""Networks that fill gaps in tables of attributes of any kind; torch only."""
