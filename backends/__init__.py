"""The frameworks that graphs are written for: one folder each, with the same file names in each.

``lowering/`` holds the rows, canonical operation -> native source; ``arrays.py`` the maps of data types and
the conversions; ``native.py`` what only that framework has; ``prelude.py`` helpers that are copied into
generated source.
"""

# Under another name every registry in here would exist twice.
if __name__ != "graph_compiler.backends":
    raise ImportError(f"import this folder as graph_compiler.backends, not as {__name__}")
