"""Samples of the public layers of Keras, one file a kind of layers."""
