"""Tests of the checkout itself: architecture, language, documentation, packaging, and the selection of test
cases.
"""
