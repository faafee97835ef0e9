"""Samples of torch functions as data, one file for each family of operations."""
