"""Scripts for the tests of type checking."""
