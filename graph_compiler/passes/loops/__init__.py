"""Loops: made of recorded iterations, and optimized (scan operands, invariant code, trip counts, checks)."""
