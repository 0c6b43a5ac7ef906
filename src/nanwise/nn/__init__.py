"""nanwise.nn"""
