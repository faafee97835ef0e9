"""Tests of what is patched and observed while a function is recorded."""
