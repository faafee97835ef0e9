"""Lifting of recorded JAX programs: rows of public functions (``functions.py``) and of primitives."""
