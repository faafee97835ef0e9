"""Replacements of JAX functions while a function is recorded."""
