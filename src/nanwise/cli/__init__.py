"""nanwise.cli"""
