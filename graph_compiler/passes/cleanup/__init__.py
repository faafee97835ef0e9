"""Simplifications that apply to every program: dead code, common subexpressions, constants, guards."""
