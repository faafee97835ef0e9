"""Recorded TensorFlow operations in canonical ones: the rows stand in ``operations/``."""
