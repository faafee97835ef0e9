"""Frontends: one folder for each framework that functions are recorded from, and ``common/``."""

# Under another name every registry in here would exist twice.
if __name__ != "graph_compiler.frontends":
    raise ImportError(f"import this folder as graph_compiler.frontends, not as {__name__}")
