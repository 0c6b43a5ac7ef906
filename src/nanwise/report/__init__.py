"""nanwise.report"""
