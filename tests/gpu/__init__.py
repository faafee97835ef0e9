"""What is judged on a GPU alone: ``pytest tests/gpu`` on a machine that has one (docs/benchmarks.md says how,
and what was seen).
"""
