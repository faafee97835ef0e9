"""Rewrites that change derivatives."""
