"""Indexing functions (array API standard)."""
