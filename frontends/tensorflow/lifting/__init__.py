"""Lifting of recorded TensorFlow operations to canonical ones, a file for each family of operations."""
