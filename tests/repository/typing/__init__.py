"""Scripts as users write them, for type checkers."""
