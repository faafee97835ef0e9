"""Registers toy_arrays as a source.

Imports nothing of it: the module of the entry does, when it is needed.
"""

from graph_compiler.registration import FrontendEntry

frontend = FrontendEntry(
    name="toy_arrays",
    module="graph_compiler_toy_arrays.frontend:frontend",
    packages=("toy_arrays",),
    aliases=("toys",),
    install="pip install graph-compiler-toy-arrays",
    target="numpy",
)
