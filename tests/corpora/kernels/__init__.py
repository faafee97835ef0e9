"""Kernels as users of NumPy write them, each with the JAX version that one writes by hand."""
