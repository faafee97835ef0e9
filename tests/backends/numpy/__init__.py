"""Tests of NumPy as a target."""
