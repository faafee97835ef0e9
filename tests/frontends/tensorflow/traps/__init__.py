"""TensorFlow programs that a recording could get wrong silently, one table for each topic."""
