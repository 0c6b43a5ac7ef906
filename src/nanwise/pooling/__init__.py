"""One answer from the analyses of several completed tables: Rubin's rules."""
