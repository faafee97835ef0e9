"""The kernels as one who knows JAX writes them: loops are ``lax`` loops, writes are new values.

Each has the name of the NumPy one.
"""
