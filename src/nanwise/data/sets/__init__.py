"""nanwise.data.sets"""
