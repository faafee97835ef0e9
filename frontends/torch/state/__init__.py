"""What a function reads or changes outside of its arguments: weights, objects, containers, training flags."""
