"""Tests that need a GPU: ``pytest tests/gpu`` on a machine that has one (docs/benchmarks.md says how)."""
