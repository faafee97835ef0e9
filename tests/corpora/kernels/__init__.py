"""Kernels as users of NumPy write them, and hand-written JAX versions."""
