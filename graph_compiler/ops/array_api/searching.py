"""Searching functions (array API standard)."""
