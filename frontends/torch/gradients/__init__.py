"""What a recorded function has to do with autograd: which values have a history, rules of the user's own,
gradients left behind.
"""
