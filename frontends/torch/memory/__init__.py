"""Storages of tensors: owners, views, writes, layouts, and contents before a write."""
