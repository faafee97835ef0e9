"""Benchmarks: ``python -m benchmarks --help``.

Everything that is compared is measured in one process, in interleaved rounds.
"""
