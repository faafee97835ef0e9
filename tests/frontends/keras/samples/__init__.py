"""Samples of the public Keras layers, one file for each kind."""
