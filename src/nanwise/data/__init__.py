"""nanwise.data"""
