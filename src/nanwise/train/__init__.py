"""nanwise.train"""
