"""Tests of the arithmetic on sizes."""
