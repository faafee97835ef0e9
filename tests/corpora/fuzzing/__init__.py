"""Random torch programs, run directly and as graphs. A graph must be right or raise a clear error."""
