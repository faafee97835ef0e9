"""Built-in backends: one folder for each target framework, and ``common/`` for shared code.

In the folder of a framework, ``lowering/`` maps canonical operations to source. ``native.py`` handles its
arrays, devices and random numbers. ``prelude/`` has helper functions that are copied into generated source.
"""

# Under another name every registry in here would exist twice.
if __name__ != "graph_compiler.backends":
    raise ImportError(f"import this folder as graph_compiler.backends, not as {__name__}")
