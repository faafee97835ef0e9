"""Overloads of ``compile`` and ``transpile``, whose result has a class that depends on the arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, TypeVar, cast, overload

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .graph import Graph
    from .lazy import LazyGraph

Class = TypeVar("Class", bound=type)


class CompileOptions(TypedDict, total=False):
    """Options of ``compile`` and ``transpile`` that all overloads share."""

    stateful: Sequence[Any] | None
    arg_stateful_idxs: Sequence[Any] | None
    kwarg_stateful_idxs: Sequence[Any] | None
    to: str | None
    include_generators: bool
    array_caching: bool
    return_backend_compiled_fn: bool | None
    static_argnums: int | Sequence[int] | None
    static_argnames: str | Sequence[str] | None
    source: str | None
    on_miss: str
    max_variants: int
    on_limit: str
    freeze: bool
    verify: bool
    compile_options: Mapping[str, Any] | None
    parameters: int | str | Sequence[int | str] | None
    passes: Sequence[Any]
    roll: str
    trace_control_flow: bool | None
    numbers: str


class Compiles(Protocol):
    """Signature of a function that compiles one or several callables, or acts as a decorator."""

    # A class is a callable, too: mypy takes the first that fits.
    @overload
    def __call__(  # type: ignore[overload-overlap]
        self, obj: Class, /, **options: Unpack[CompileOptions]
    ) -> Class: ...
    @overload
    def __call__(self, obj: ModuleType, /, **options: Unpack[CompileOptions]) -> ModuleType: ...
    @overload
    def __call__(
        self,
        obj: Callable[..., Any],
        /,
        *,
        args: Sequence[Any],
        kwargs: Mapping[str, Any] | None = None,
        **options: Unpack[CompileOptions],
    ) -> Graph: ...
    @overload
    def __call__(
        self,
        obj: Callable[..., Any],
        /,
        *,
        args: None = None,
        kwargs: Mapping[str, Any],
        **options: Unpack[CompileOptions],
    ) -> Graph: ...
    @overload
    def __call__(
        self,
        obj: Callable[..., Any],
        /,
        *,
        args: None = None,
        kwargs: None = None,
        **options: Unpack[CompileOptions],
    ) -> LazyGraph: ...
    @overload
    def __call__(
        self,
        first: Callable[..., Any],
        second: Callable[..., Any],
        /,
        *others: Callable[..., Any],
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
        **options: Unpack[CompileOptions],
    ) -> tuple[Graph, ...]: ...
    @overload
    def __call__(
        self,
        *,
        args: Sequence[Any],
        kwargs: Mapping[str, Any] | None = None,
        **options: Unpack[CompileOptions],
    ) -> Callable[[Callable[..., Any]], Graph]: ...
    @overload
    def __call__(
        self, *, args: None = None, kwargs: Mapping[str, Any] | None = None, **options: Unpack[CompileOptions]
    ) -> Callable[[Callable[..., Any]], LazyGraph]: ...


def declared(function: Callable[..., Any]) -> Compiles:
    return cast("Compiles", function)
