"""Symbolic sizes and numbers read from tensors, which replace Python numbers while recording."""
