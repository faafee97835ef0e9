"""Search of the objects that a function can reach besides its arguments, and guards on them."""
