"""A script of a user that ``mypy --strict`` must accept; each ``reveal_type`` line is compared with its
comment.
"""

from collections.abc import Callable
from types import ModuleType

import graph_compiler
from graph_compiler import Graph, LazyGraph


def double(x: float) -> float:
    return x * 2


class Model:
    def __call__(self, x: float) -> float:
        return x


def recorded() -> Graph:
    return graph_compiler.compile(double, args=(1.0,))


def recorded_by_name() -> Graph:
    return graph_compiler.transpile(Model(), to="jax", kwargs={"x": 1.0}, roll="never")


def not_recorded() -> LazyGraph:
    return graph_compiler.transpile(double, source="numpy", to="jax")


def several() -> tuple[Graph, ...]:
    return graph_compiler.compile(double, Model(), to="torch")


def decorating() -> Callable[[Callable[..., object]], LazyGraph]:
    return graph_compiler.compile(to="torch", max_variants=3)


def of_a_class() -> type[Model]:
    return graph_compiler.compile(Model)


def of_a_module(module: ModuleType) -> ModuleType:
    return graph_compiler.transpile(module, to="jax")


@graph_compiler.compile
def decorated(x: float) -> float:
    return x


@graph_compiler.transpile(to="jax", on_limit="raise")
def also_decorated(x: float) -> float:
    return x


graphs: list[LazyGraph] = [decorated, also_decorated]
texts: list[str] = [recorded().source, recorded().explain(), *recorded().guards]
