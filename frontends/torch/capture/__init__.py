"""Every call of a function, seen, answered and recorded as it runs."""
