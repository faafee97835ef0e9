"""Tests of the checkout itself: architecture, language, documentation, packaging and the choice of cases."""
