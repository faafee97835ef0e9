"""Tests of recording and lifting, one folder for each framework."""
