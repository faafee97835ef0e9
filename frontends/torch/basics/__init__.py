"""What every other room asks: names and kinds of torch's functions, data types, tensors, arguments, and what
cannot be recorded.
"""
