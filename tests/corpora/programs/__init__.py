"""Small programs, one table a behaviour: each is run as it is and as a graph, and must give the same or a
clear error.
"""
