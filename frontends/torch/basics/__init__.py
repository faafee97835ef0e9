"""Names, dtypes, tensors and arguments of torch calls, and the checks for what cannot be recorded."""
