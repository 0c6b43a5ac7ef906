"""nanwise.bench.papers"""
