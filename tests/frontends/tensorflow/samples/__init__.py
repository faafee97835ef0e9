"""Calls of raw operations, one file a section."""
