"""Sizes, and numbers that are read from tensors: symbols that pass for Python's own numbers while a function
is recorded.
"""
