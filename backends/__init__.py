"""Built-in backends: one folder for each target framework, and ``common/`` for shared code.

In the folder of a framework, ``lowering/`` writes canonical operations as source, and ``prelude/`` has helper
functions that are copied into it.
"""

# Under another name every registry in here would exist twice.
if __name__ != "graph_compiler.backends":
    raise ImportError(f"import this folder as graph_compiler.backends, not as {__name__}")
