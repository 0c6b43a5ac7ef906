"""nanwise.nets"""
