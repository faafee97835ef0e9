"""Tests of NumPy as a source."""
