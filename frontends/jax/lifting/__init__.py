"""Lifting of recorded JAX programs: rows of primitives (``primitives/``) and of public functions."""
