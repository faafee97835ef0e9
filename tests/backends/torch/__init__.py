"""Tests of torch as a target."""
