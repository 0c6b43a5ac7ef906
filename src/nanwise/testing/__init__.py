"""nanwise.testing"""
