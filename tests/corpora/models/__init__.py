"""Models that the tests convert: small ones written here, the zoo, and one with real weights."""
