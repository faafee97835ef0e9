"""Models that the tests convert: small ones defined here, the zoo, and one with pretrained weights."""
