"""Rewrites that prepare canonical operations for a target: decompositions, layouts, copies, precision."""
