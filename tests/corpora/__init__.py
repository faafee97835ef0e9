"""Programs, samples and models in every pair of frameworks, and the tests that run them."""
