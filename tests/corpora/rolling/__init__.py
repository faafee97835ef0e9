"""Python loops that become loops of the graph."""
