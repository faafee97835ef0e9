"""Calls of JAX functions as data, one file a section; ``SAMPLES`` of each are run in every target."""
