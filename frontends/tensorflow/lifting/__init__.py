"""Lifting of recorded TensorFlow operations to canonical ones; the rows are in ``operations/``."""
