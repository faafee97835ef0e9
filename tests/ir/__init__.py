"""The intermediate representation by itself: graphs that are written by hand."""
