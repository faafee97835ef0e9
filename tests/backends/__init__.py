"""Tests of what one target does, one folder for each framework."""
