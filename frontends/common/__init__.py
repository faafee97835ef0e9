"""Code that the frontends share: lifting of calls, regions, views, indices and Python numbers."""
