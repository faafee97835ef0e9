"""Recorded JAX programs in canonical operations: ``primitives/`` has the rows of JAX's primitives,
``functions/`` those of its public functions.
"""
