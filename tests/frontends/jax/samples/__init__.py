"""Samples of JAX functions as data, one file for each section; each file has a list ``SAMPLES``."""
