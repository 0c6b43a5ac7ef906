"""nanwise.methods.table"""
