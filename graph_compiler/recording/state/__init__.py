"""State that a function keeps: where, what changes of it between calls, and how a graph reads and writes it."""
