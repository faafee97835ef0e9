"""Tests of torch as a source."""
