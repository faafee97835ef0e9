"""Samples of raw operations, one file for each section."""
