"""Tests of graphs as users have them: calls, variants, weights and files."""
