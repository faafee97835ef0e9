"""Recording of calls of public functions as equations, while a function is traced.

The functions are replaced by wrappers, which bind :data:`call_p` for calls that they record.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any, ClassVar

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Primitive
from jax.interpreters import ad, batching, mlir

from ...forwarding import forward, forwards
from ...ir.node import Value
from ...ops.registry import ArraySpec
from ...recording.faults import is_fault
from ...recording.patches import Patch, Session, replace_call, replaced, under_any_name
from ...recording.patches.patch import Replacement
from ...sizes import expression_of, hint_of, is_symbolic
from ...trees import Branch, Static, Tree, flatten, iterate_structure, map_structure, statics, unflatten
from .dtypes import dtype_name, is_key, narrow_dtype
from .intercept.combining import symbolic_associative_scan
from .intercept.loops import symbolic_fori_loop, symbolic_scan
from .names import CUSTOM, INDEXED, METHOD, holder_of
from .programs import is_array
from .sizes import ReadNumber, current, decided, hints, symbolic


def as_jax(array: Any) -> Any:
    """Return ``array``, such as a NumPy array or a torch tensor, as a JAX array.

    >>> as_jax(jax.numpy.arange(2)).tolist()
    [0, 1]
    """
    if isinstance(array, jax.Array):
        return array
    dtype = narrow_dtype(dtype_name_of(array))
    if hasattr(array, "detach"):
        plain = array.detach().cpu().resolve_conj().resolve_neg()
        # NumPy has no bfloat16.
        array = (plain.float() if dtype == "bfloat16" else plain).numpy()
    return jax.numpy.asarray(array, dtype)


def dtype_name_of(array: Any) -> str:
    return str(getattr(array.dtype, "name", array.dtype)).rpartition(".")[2]


# While `_thread.quiet` is True, the thread records no calls.
_thread = threading.local()
_HOLDERS = ("jax", "flax", "optax")
_INSIDE = tuple(f"{name}." for name in _HOLDERS)


@dataclass(frozen=True, eq=False)
class PublicCall:
    """Parameter of a ``public_call`` equation, which records one call of a function.

    arguments: tree of the arguments, with a leaf for each array.
    result: tree of the result, with a leaf for each array.
    function: computes the result arrays from the argument arrays.
    body: jaxpr of the function; None if its lifting row has inferred ``types``.
    """

    name: str
    arguments: Tree
    result: Any
    function: Callable[..., list[Any]]
    types: tuple[Any, ...]
    body: ClosedJaxpr | None


call_p = Primitive("public_call")
call_p.multiple_results = True


@call_p.def_abstract_eval
def _types(*arrays: Any, call: PublicCall) -> Any:
    return call.types


@call_p.def_impl
def _run(*arrays: Any, call: PublicCall) -> Any:
    return forward(call.function, *arrays)


def _batch_rule(arrays: Any, axes: Any, *, call: PublicCall) -> Any:
    if call.name == CUSTOM:
        return _batch_custom_call(arrays, tuple(axes), call)
    results = jax.vmap(call.function, in_axes=tuple(axes))(*arrays)
    return results, [0] * len(results)


@dataclass(frozen=True)
class Mapped:
    """Function mapped by ``jax.vmap``.

    axes: mapped axis of each array among the arguments; None for arrays that are not mapped.
    """

    is_bound_by_value: ClassVar[bool] = True
    function: Callable[..., Any]
    axes: tuple[int | None, ...]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves, tree = flatten((args, kwargs), is_array)

        def one(*arrays: Any) -> Any:
            again_args, again_kwargs = unflatten(tree, arrays)
            return forward(self.function, *again_args, **again_kwargs)

        return jax.vmap(one, in_axes=self.axes)(*leaves)


def _batch_custom_call(arrays: Any, axes: tuple[int | None, ...], call: PublicCall) -> Any:
    # The batch is one call of a function, so that its rule still applies.
    (function, *args), kwargs = unflatten(call.arguments, arrays)

    def run(_: Any, *given: Any, **named: Any) -> Any:
        leaves, _tree = flatten((given, named), is_array)
        return unflatten(call.result, jax.vmap(call.function, in_axes=axes)(*leaves))

    results, _ = flatten(_bind_call(CUSTOM, run, (Mapped(function, axes), *args), kwargs), is_array)
    return results, [0] * len(results)


def _jvp_rule(primals: Any, tangents: Any, *, call: PublicCall) -> Any:
    return jax.jvp(call.function, tuple(primals), tuple(map(ad.instantiate_zeros, tangents)))


def _transpose_rule(cotangents: Any, *arrays: Any, call: PublicCall) -> list[Any]:
    unknown = [ad.is_undefined_primal(item) for item in arrays]

    def linear(*given: Any) -> list[Any]:
        rest = iter(given)
        return forward(
            call.function, *(next(rest) if is_unknown else item for is_unknown, item in zip(unknown, arrays))
        )

    transpose = jax.linear_transpose(linear, *(item.aval for item in arrays if ad.is_undefined_primal(item)))
    found = iter(transpose([ad.instantiate_zeros(item) for item in cotangents]))
    return [next(found) if is_unknown else None for is_unknown in unknown]


batching.primitive_batchers[call_p] = _batch_rule
ad.primitive_transposes[call_p] = _transpose_rule
ad.primitive_jvps[call_p] = _jvp_rule
mlir.register_lowering(call_p, mlir.lower_fun(_run, multiple_results=True))


# ----------------------------------------------------------------------------------- replacement of functions
class _FunctionNames:
    """Cache of the names under which modules of JAX, flax and optax hold replaced functions."""

    def __init__(self) -> None:
        self._loaded: Any = None
        self._names: list[str] = []
        self._known: Any = None
        self._found: list[Replacement] = []

    def modules(self) -> list[ModuleType]:
        # New modules are appended to sys.modules, so its length and last name show whether any were loaded.
        loaded = len(sys.modules), next(reversed(sys.modules))
        if loaded != self._loaded:
            self._loaded, self._names = (
                loaded,
                [name for name in list(sys.modules) if f"{name}.".startswith(_INSIDE)],
            )
        return [module for name in self._names if (module := sys.modules.get(name)) is not None]

    def replacements(
        self, modules: list[ModuleType], replacements: dict[int, tuple[Any, Any]]
    ) -> list[Replacement]:
        # The modules have 40,000 names, so they are searched only if there are new ones.
        now = tuple(replacements), tuple((id(module), len(vars(module))) for module in modules)
        if now != self._known:
            places = under_any_name(
                map(vars, modules), ((original, id(original)) for original, _ in replacements.values())
            )
            self._known, self._found = now, places
        return [
            (space, name, replacements[item][1])
            for space, name, item in self._found
            if id(space.get(name)) == item
        ]


_function_names = _FunctionNames()


@contextmanager
def recording_calls(
    names: Iterable[str], scopes: Iterable[dict[str, Any]] = ()
) -> Iterator[Callable[[Any], Any]]:
    """Replace the public functions and methods ``names`` in the block by wrappers that can record calls.

    Names in ``scopes`` for these functions are replaced, too. Yield a function that maps a function to the
    one to call instead of it.
    """
    replacements, methods = {}, []
    for name in names:
        if name.startswith(METHOD):
            methods += _method(name)
        elif (original := _public_function(name)) is not None:
            replacements[id(original)] = original, _recording_wrapper(name, original)
    for loop, of_any_length in ((jax.lax.fori_loop, symbolic_fori_loop), (jax.lax.scan, symbolic_scan)):
        replacements[id(loop)] = loop, of_any_length(loop)
    in_parallel = jax.lax.associative_scan
    replacements[id(in_parallel)] = in_parallel, symbolic_associative_scan(in_parallel, _traces)
    with replaced(
        [
            *methods,
            *_function_names.replacements(_function_names.modules(), replacements),
            *under_any_name(scopes, replacements.values()),
        ]
    ):
        yield lambda function: replacements.get(id(function), (function, _with_rule(function)))[1]


def _with_rule(function: Any) -> Any:
    held = getattr(function, "__self__", None)
    return (
        held
        if isinstance(held, (jax.custom_jvp, jax.custom_vjp)) and function.__name__ == "__call__"
        else function
    )


def _record_custom_call(
    session: Session, original: Callable[..., Any], rule: Any, *args: Any, **kwargs: Any
) -> Any:
    own = getattr(rule.fun, "__module__", None) or ""
    if own.partition(".")[0] in _HOLDERS or not _traces():
        return forward(original, rule, *args, **kwargs)
    return _bind_call(
        CUSTOM, lambda _, *given, **named: original(rule, *given, **named), (rule, *args), kwargs
    )


CUSTOM_RULES = tuple(
    Patch(cls, "__call__", replace_call, _record_custom_call) for cls in (jax.custom_jvp, jax.custom_vjp)
)


def _public_function(name: str) -> Any:
    holder, short = _holder_of(name)
    return getattr(holder, short, None)


@functools.cache
def _holder_of(name: str) -> tuple[Any, str]:
    try:
        return holder_of(name)
    # This version of JAX has no such function.
    except AttributeError:
        return None, ""


def _method(name: str) -> list[Replacement]:
    holder, short = jax.core.ShapedArray, f"_{name.removeprefix(METHOD).strip('_')}"
    found = next((one for one in (short, short[1:]) if vars(holder).get(one)), None)
    if found is None:
        return []
    kept = vars(holder)[found]
    return [
        (
            holder,
            found,
            type(kept)(
                _by_arrays(
                    _recording_wrapper(name, kept.__func__ if isinstance(kept, staticmethod) else kept.fun)
                )
            ),
        )
    ]


def _by_arrays(method: Callable[..., Any]) -> Callable[..., Any]:
    # JAX indexes by an array in the same way, whether its value is known or not.
    def call(array: Any, *args: Any, **kwargs: Any) -> Any:
        return method(
            array,
            *(tuple(map(_as_array, item)) if type(item) is tuple else _as_array(item) for item in args),
            **kwargs,
        )

    return call


def _as_array(item: Any) -> Any:
    return item.__jax_array__() if type(item) is ReadNumber else item


def _step_as_array(item: Any) -> Any:
    return item.__jax_array__() if current().loops.reads_loop_index(item) else item


def _decided_step(item: Any) -> Any:
    return decided(expression_of(item)) if current().loops.reads_loop_index(item) else item


def _recording_wrapper(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    thread = threading.get_ident()

    def call(*args: Any, **kwargs: Any) -> Any:
        if threading.get_ident() != thread or not _traces():
            return forward(original, *args, **kwargs)
        return _bind_call(name, original, args, kwargs)

    call.__name__ = getattr(original, "__name__", name)
    call.__wrapped__ = original  # type: ignore[attr-defined]
    # ufuncs have methods of their own.
    for attribute in ("at", "reduce", "accumulate", "outer"):
        if hasattr(original, attribute):
            setattr(call, attribute, getattr(original, attribute))
    return call


def _traces() -> bool:
    return not getattr(_thread, "quiet", False) and isinstance(jax.numpy.zeros(()), jax.core.Tracer)


@forwards
def record_as(name: str, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    return _bind_call(name, function, args, {}) if _traces() else function(*args)


def _bind_call(name: str, original: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    if (
        not name.endswith(INDEXED)
        and current().loops.steps
        and any(map(current().loops.reads_loop_index, iterate_structure((args, kwargs))))
    ):
        try:
            return _bind_call(name, original, *map_structure(_step_as_array, (args, kwargs)))
        # JAX may raise any exception for an array where it needs a number.
        except Exception as problem:
            if is_fault(problem):
                raise
            current().note_given_up(f"making the number of an iteration an argument of {name}", problem)
            args, kwargs = map_structure(_decided_step, (args, kwargs))
    leaves, tree = flatten((args, kwargs), is_array, lambda item: False)
    if not all(_is_static(item) for item in statics(tree)) or any(is_key(leaf) for leaf in leaves):
        return forward(original, *args, **kwargs)
    results: list[Tree] = []

    def body(*arrays: Any, tree: Tree = tree) -> Any:
        again_args, again_kwargs = unflatten(tree, arrays)
        found, result = flatten(forward(original, *again_args, **again_kwargs), is_array)
        results.append(result)
        return found

    types, program = _abstract_results(name, body, tree, leaves), None
    if types is None:
        program = _trace_body(body, leaves)
        types = tuple(program.out_avals)
    found = call_p.bind(*leaves, call=PublicCall(name, tree, results[-1], body, types, program))
    return unflatten(results[-1], found)


def _abstract_results(
    name: str, body: Callable[..., Any], tree: Tree, leaves: list[Any]
) -> tuple[Any, ...] | None:
    """Return the types of a call's results as its lifting row infers them, or None."""
    from .lifting.driver import abstract_eval

    recording = current()
    # Public functions that the body calls would be recorded as calls of their own.
    before, _thread.quiet = getattr(_thread, "quiet", False), True
    now = with_hints(tree)
    try:
        seen = jax.eval_shape(
            lambda *arrays: body(*arrays, tree=now), *(_type(leaf, hints(leaf.shape)) for leaf in leaves)
        )
    # If the call is wrong, tracing the body raises the error again.
    except Exception as problem:
        if is_fault(problem):
            raise
        return None
    finally:
        _thread.quiet = before
    values = [
        Value("x", ArraySpec(tuple(map(expression_of, leaf.shape)), dtype_name(leaf.dtype)))
        for leaf in leaves
    ]
    args, kwargs = map_structure(expression_of, unflatten(tree, values))
    specs = tuple(ArraySpec(tuple(item.shape), dtype_name(item.dtype)) for item in seen)
    found = abstract_eval(name, args, kwargs, specs, recording.knows)
    if found is None:
        return None
    for condition in found[1]:
        # A condition on a loop index becomes a check in the body of the loop.
        if not recording.loops.reads_loop_index(condition):
            recording.decide(condition)
    shapes = (tuple(map(symbolic, spec.shape)) for spec in found[0])
    return tuple(
        jax.core.ShapedArray(shape, item.dtype, weak_type=item.weak_type) for shape, item in zip(shapes, seen)
    )


def with_hints(tree: Tree) -> Tree:
    if isinstance(tree, Static):
        return Static(map_structure(lambda item: hint_of(expression_of(item)), tree.value))
    return replace(tree, children=tuple(map(with_hints, tree.children))) if isinstance(tree, Branch) else tree


def _type(leaf: Any, shape: tuple[Any, ...]) -> Any:
    return jax.ShapeDtypeStruct(shape, leaf.dtype, weak_type=getattr(leaf, "weak_type", False))


def _trace_body(body: Callable[..., Any], leaves: list[Any]) -> ClosedJaxpr:
    try:
        return jax.make_jaxpr(body)(*(_type(leaf, leaf.shape) for leaf in leaves))
    except Exception as problem:
        # The next attempt makes the sizes of the innermost failing call constants.
        if not hasattr(problem, "sizes_asked"):
            problem.sizes_asked = [dim for leaf in leaves for dim in leaf.shape]  # type: ignore[attr-defined]
        raise


_PLAIN = (
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    type(None),
    slice,
    type(Ellipsis),
    np.generic,
    np.dtype,
    type,
)


def _is_static(item: Any) -> bool:
    if isinstance(item, (tuple, list, dict)):
        return not item
    if isinstance(item, slice):
        return not any(is_array(part) for part in (item.start, item.stop, item.step))
    return (
        isinstance(item, (*_PLAIN, jax.custom_jvp, jax.custom_vjp, Mapped))
        or is_symbolic(item)
        or hasattr(item, "dtype")
        or isinstance(item, (jax.lax.Precision, frozenset))
    )
