"""Frontends: one folder for each framework that functions are recorded from, with the same file names.

``lifting/`` translates framework calls to canonical operations, and ``parameters.py`` finds weights and
buffers.
"""

# Under another name every registry in here would exist twice.
if __name__ != "graph_compiler.frontends":
    raise ImportError(f"import this folder as graph_compiler.frontends, not as {__name__}")
