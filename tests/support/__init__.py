"""What the tests share: comparison of results, tolerances."""
