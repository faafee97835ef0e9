"""Weights of a graph: converted, loaded, stacked, and written back to the original."""
