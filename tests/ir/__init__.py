"""Tests of the intermediate representation, on graphs written by hand."""
