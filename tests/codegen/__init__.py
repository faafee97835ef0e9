"""Tests of generated source."""
