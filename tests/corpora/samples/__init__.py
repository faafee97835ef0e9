"""Samples as data: one file a family of operations."""
