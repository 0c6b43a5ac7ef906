"""nanwise.methods"""
