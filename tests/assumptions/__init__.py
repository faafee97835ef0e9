"""Kinds of assumptions: a row of samples for each."""
