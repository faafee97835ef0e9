"""The frameworks that functions are recorded from: one folder each, with the same file names in each.

``capture.py`` says how calls are seen; ``lifting/`` holds the rows, framework call -> canonical operations;
``parameters.py`` where weights and buffers live.
"""

# Under another name every registry in here would exist twice.
if __name__ != "graph_compiler.frontends":
    raise ImportError(f"import this folder as graph_compiler.frontends, not as {__name__}")
