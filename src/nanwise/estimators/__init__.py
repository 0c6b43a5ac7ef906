"""nanwise.estimators"""
