"""Tests of the registry of operations."""
