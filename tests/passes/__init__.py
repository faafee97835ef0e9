"""Passes by themselves, on graphs that are written by hand."""
