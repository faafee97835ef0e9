"""Reading of the user's code as source and bytecode: line of a call, variables it is stored in, names it
reads.
"""
