"""Mistakes that ``mypy --strict`` must report, each on a line that ends with the code of its error."""

import graph_compiler
from graph_compiler import LazyGraph

graph: LazyGraph = graph_compiler.compile(abs, args=(1.0,))  # assignment
graph_compiler.transpile(abs, too="jax")  # call-overload
graph_compiler.compile(abs, max_variants="3")  # call-overload
graph_compiler.compile(abs, args=(1.0,)).source + 1  # operator
