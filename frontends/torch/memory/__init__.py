"""Memory of tensors: owners, views, writes, layouts, and the contents before a write."""
