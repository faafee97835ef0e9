"""Tests of what is watched and replaced while a function is recorded."""
