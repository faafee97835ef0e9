"""Helpers that the tests share: comparison of results, tolerances, samples, the selection of cases."""
