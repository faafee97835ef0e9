"""State that a function reads or changes outside of its arguments: weights, containers, training flags."""
