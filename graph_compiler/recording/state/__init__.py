"""State outside the arguments that a function reads and changes, as inputs and outputs of its graph."""
