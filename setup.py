"""Maps the sibling folders ``backends/`` and ``frontends/`` into the ``graph_compiler`` package.

The list of packages is computed, because a sub-package that is forgotten in a list is silently missing from
the wheel.
"""

from setuptools import find_namespace_packages, setup

ROOMS = {
    "graph_compiler": "graph_compiler",
    "graph_compiler.backends": "backends",
    "graph_compiler.frontends": "frontends",
}


def packages_of(name: str, folder: str) -> list[str]:
    """The package ``name`` that stands in ``folder``, and every package in it."""
    return [name, *(f"{name}.{sub}" for sub in find_namespace_packages(folder) if "__pycache__" not in sub)]


setup(
    package_dir=ROOMS,
    packages=[package for name, folder in ROOMS.items() for package in packages_of(name, folder)],
)
