"""Optimizations of loops: operands of scans, invariant code, trip counts, range checks."""
