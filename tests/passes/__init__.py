"""Tests of passes on graphs that are written by hand."""
