"""Tests of each target."""
