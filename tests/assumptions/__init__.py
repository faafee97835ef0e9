"""Tests of the kinds of assumptions."""
