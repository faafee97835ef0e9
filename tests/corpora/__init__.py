"""Programs, samples and models that run in every pair of frameworks, and the tests that run them."""
