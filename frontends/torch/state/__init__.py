"""What a function relies on or changes outside of its arguments: weights, objects, containers, training
flags.
"""
