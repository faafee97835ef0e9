"""Registration of toy_lists as a target, and of an unfinished target. It does not import toy_lists."""

from graph_compiler.registration import BackendEntry

entry = BackendEntry(
    name="toy_lists",
    module="graph_compiler_toy_lists.backend:backend",
    packages=("toy_lists",),
    install="pip install graph-compiler-toy-lists",
)
unfinished_entry = BackendEntry(
    name="toy_unfinished", module="graph_compiler_toy_lists.unfinished:backend", packages=("toy_lists",)
)
