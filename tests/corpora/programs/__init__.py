"""Small programs, a table for each behaviour; each runs directly and as a graph, which must agree or raise a
clear error.
"""
