"""Loops of any length from iterations that were marked while a function was recorded."""
