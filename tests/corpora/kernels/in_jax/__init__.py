"""The kernels written for JAX by hand, under the same names: with ``lax`` loops and without writes in place."""
