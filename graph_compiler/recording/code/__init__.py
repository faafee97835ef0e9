"""Reading of the user's code as source and bytecode.

It yields the line of a call, the variables that store its result, and the names that code reads.
"""
