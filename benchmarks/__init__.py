"""Benchmarks: ``python -m benchmarks --help``.

Everything compared is measured in one process, in interleaved rounds.
"""
