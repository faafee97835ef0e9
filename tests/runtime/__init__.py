"""Tests of graphs as users hold them: calls, variants, weights and files."""
