"""Lifting of recorded JAX programs: ``primitives/`` has the rows of primitives, ``functions`` of public
functions.
"""
