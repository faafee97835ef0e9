"""Tests of JAX as a target."""
