"""Tests of TensorFlow as a target."""
