"""nanwise.bench"""
