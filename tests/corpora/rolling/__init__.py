"""Loops of Python that become loops of the graph."""
