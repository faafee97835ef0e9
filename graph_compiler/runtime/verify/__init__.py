"""Comparison of a graph with its original."""
