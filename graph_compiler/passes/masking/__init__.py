"""Sizes that depend on data, as padded arrays and masks, for targets that compile fixed shapes."""
