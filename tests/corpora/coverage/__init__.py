"""Measurement of the share of whole corpora (torch's operator samples, the zoo of models) that each target
computes correctly.

``scripts/coverage.py`` runs it.
"""
