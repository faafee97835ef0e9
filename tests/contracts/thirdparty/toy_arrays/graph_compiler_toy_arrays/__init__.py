"""Registration of toy_arrays as a source.

It does not import toy_arrays; the module named by the entry does when it is needed.
"""

from graph_compiler.registration import FrontendEntry

entry = FrontendEntry(
    name="toy_arrays",
    module="graph_compiler_toy_arrays.frontend:frontend",
    packages=("toy_arrays",),
    aliases=("toys",),
    install="pip install graph-compiler-toy-arrays",
    target="numpy",
)
