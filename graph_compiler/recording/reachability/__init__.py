"""What a function can reach without being given it, and whose code that is."""
