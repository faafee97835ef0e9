"""Autograd in a recorded function: which values have a history, custom rules, and gradients left behind."""
