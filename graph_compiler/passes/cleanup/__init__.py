"""Simplifications: dead code, common subexpressions, constants and guards."""
