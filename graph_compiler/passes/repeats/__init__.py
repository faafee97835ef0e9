"""Repeated code: equal iterations become scans, equal layers become shared functions."""
