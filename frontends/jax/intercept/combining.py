"""``jax.lax.associative_scan`` and reductions by a user's function of two elements."""

from __future__ import annotations

import itertools
import math
import operator
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, Primitive, jaxpr_as_fun
from jax.interpreters import ad, batching, mlir

from ....errors import Signal, TracingError
from ....forwarding import forward
from ....ir.node import Value, pairs_of
from ....ops.registry import ArraySpec
from ....recording.faults import is_fault
from ....sizes import Size, Symbol, apply, expression_of, hint_of, is_symbolic
from ..dtypes import dtype_name
from ..programs import MOST_EQUATIONS
from ..sizes import SizeRecording, current, decided, deciding, symbolic

Combine = Callable[..., Any]
OPERATIONS: dict[str, Combine] = {
    "add": jax.lax.add, "mul": jax.lax.mul, "max": jax.lax.max, "min": jax.lax.min,
    "and": jax.lax.bitwise_and, "or": jax.lax.bitwise_or, "xor": jax.lax.bitwise_xor,
}  # fmt: skip


def operation(program: Any) -> str | None:
    """Return the key of ``OPERATIONS`` by which ``program`` combines its two inputs, or None."""
    program = getattr(program, "jaxpr", program)
    if (
        len(program.eqns) == 1
        and set(map(id, program.eqns[0].invars)) == set(map(id, program.invars))
        and len(program.invars) == 2
        # The equation may not lead to the result, which may also be one of the inputs.
        and program.outvars == program.eqns[0].outvars
    ):
        equation = program.eqns[0]
        if "jaxpr" in equation.params:
            return operation(equation.params["jaxpr"])
        if equation.primitive.name in OPERATIONS:
            return str(equation.primitive.name)
    return None


def _vectorize(program: Any, consts: Any = ()) -> Combine:
    """Return a function of two lists of arrays that applies ``program`` to their elements."""
    function = jaxpr_as_fun(program if isinstance(program, ClosedJaxpr) else ClosedJaxpr(program, consts))

    def combine(first: Sequence[Any], second: Sequence[Any]) -> Sequence[Any]:
        vectorised: Callable[..., Any] = function
        # `vmap` maps one axis at a time.
        for _ in range(first[0].ndim):
            vectorised = jax.vmap(vectorised)
        found: Sequence[Any] = vectorised(*first, *second)
        return found

    return combine


def _independent_operations(program: Any) -> list[str]:
    """Return the keys of ``OPERATIONS`` that combine arrays of ``program`` one by one, or an empty list."""
    program = getattr(program, "jaxpr", program)
    count, made = len(program.outvars), {id(equation.outvars[0]): equation for equation in program.eqns}
    equations = [made[id(out)] for out in program.outvars if id(out) in made]
    pairs = [{id(first), id(second)} for first, second in zip(program.invars, program.invars[count:])]
    names = [
        equation.primitive.name
        for equation, pair in zip(equations, pairs)
        if set(map(id, equation.invars)) == pair
    ]
    return names if len(names) == count and OPERATIONS.keys() >= set(names) else []


def _reduce(params: dict[str, Any]) -> Callable[..., Any] | None:
    """Return a function that computes a ``reduce`` equation in simpler steps, or None to keep it."""
    if operation(params["jaxpr"]) is not None:
        return None
    combine, axes, names = (
        _vectorize(params["jaxpr"]),
        params["dimensions"],
        _independent_operations(params["jaxpr"]),
    )

    def each(*operands: Any) -> Any:
        pairs = zip(operands, operands[len(names) :], names)
        return [jax.lax.reduce(array, begin, OPERATIONS[name], axes) for array, begin, name in pairs]

    # XLA does not specify the order in which elements are combined, so neighbours are combined until one
    # element is left.
    def straight(*operands: Any) -> Any:
        arrays, begin = operands[: len(operands) // 2], operands[len(operands) // 2 :]
        rest = [axis for axis in range(arrays[0].ndim) if axis not in axes]
        parts = [_in_front(array, tuple(axes), rest) for array in arrays]
        while (count := operator.index(parts[0].shape[0])) > 1:
            even = count // 2 * 2
            found = combine([part[0:even:2] for part in parts], [part[1:even:2] for part in parts])
            parts = (
                [jax.numpy.concatenate([new, part[even:]]) for new, part in zip(found, parts)]
                if even < count
                else list(found)
            )
        first = [jax.numpy.broadcast_to(item, part.shape[1:]) for item, part in zip(begin, parts)]
        return combine(first, [part[0] for part in parts]) if count else first

    return each if names else straight


def _in_front(array: Any, axes: tuple[int, ...], rest: list[int]) -> Any:
    return array.transpose((*axes, *rest)).reshape((-1, *(array.shape[axis] for axis in rest)))


def _reduce_window(params: dict[str, Any]) -> Callable[..., Any] | None:
    """Return a function that computes a ``reduce_window`` by other operations, or None to keep it."""
    window, dilation = params["window_dimensions"], params["window_dilation"]
    equations = math.prod(window) * len(getattr(params["jaxpr"], "jaxpr", params["jaxpr"]).eqns)
    if operation(params["jaxpr"]) is not None or equations > MOST_EQUATIONS:
        return None
    combine = _vectorize(params["jaxpr"], params["consts"])
    # `lax.pad` counts the elements between two neighbours; the dilation is their distance.
    frame = [(*pair, gap - 1) for pair, gap in zip(params["padding"], params["base_dilation"])]

    def straight(*operands: Any) -> Any:
        arrays, begin = operands[: len(operands) // 2], operands[len(operands) // 2 :]
        padded = [jax.lax.pad(array, item, frame) for array, item in zip(arrays, begin)]
        found: Sequence[Any] = ()
        for place in itertools.product(*map(range, window)):
            start = [offset * gap for offset, gap in zip(place, dilation)]
            parts = [_strided(array, start, params) for array in padded]
            found = combine(
                found or [jax.numpy.broadcast_to(item, part.shape) for item, part in zip(begin, parts)], parts
            )
        return found

    return straight


def _strided(array: Any, start: list[int], params: dict[str, Any]) -> Any:
    steps, reaches = params["window_strides"], zip(params["window_dimensions"], params["window_dilation"])
    stops = [
        size - (length - 1) * gap + begin for size, (length, gap), begin in zip(array.shape, reaches, start)
    ]
    return jax.lax.slice(array, start, stops, steps)


COMBINED = {"reduce": _reduce, "reduce_window": _reduce_window}


# ------------------------------------------------------------------------------------------ associative scans
# ``jax.lax.associative_scan`` as one operation for any length.
#
# JAX implements it in Python code that halves the number of elements until one is left, which traces to
# straight-line code for one length. Here the user's function is traced on pairs of a symbolic length
# (``graph_compiler/ir/node.py``), and the call binds a primitive. A function that asks for the number of
# pairs is left to JAX, with one recording for each length.

associative_scan_p = Primitive("associative_scan")
associative_scan_p.multiple_results = True
# An axis is shorter than 2**31, and each step doubles the reach.
_MOST_STEPS = 31


@dataclass(frozen=True, eq=False)
class CombineFunction:
    """Function of the user that combines pairs of elements in an associative scan.

    function: takes the lists of closed-over arrays, of left elements and of right elements; returns the list
        of combined elements.
    program: jaxpr for any number of pairs. Inputs are the closed-over arrays, then the left and the right
        elements.
    pairs: graph values of the left and then the right elements.
    """

    function: Callable[[Sequence[Any], Sequence[Any], Sequence[Any]], list[Any]]
    program: ClosedJaxpr
    pairs: tuple[Value, ...]


class _PairMismatch(Signal):
    """Signal that the function returns another structure, shape or dtype than it was given."""


class _LengthNeeded(Signal):
    """Signal that the function needs the number of pairs as a concrete number."""


@dataclass(frozen=True)
class _LengthlessRecording:
    """Recording in which deciding a size that depends on the number of pairs raises :class:`_LengthNeeded`.

    recording: the recording that decides other sizes.
    own: symbol of the number of pairs.
    """

    recording: SizeRecording
    own: Symbol

    @property
    def shown(self) -> Any:
        return self.recording.shown

    @property
    def loops(self) -> Any:
        return self.recording.loops

    def note_given_up(self, way: str, problem: Exception) -> None:
        self.recording.note_given_up(way, problem)

    def decide(self, size: Size) -> Any:
        if self.own in size.symbols():
            raise _LengthNeeded("the function needs the number of rows")
        return self.recording.decide(size)

    def knows(self, size: Size) -> bool:
        others = (Size.of(symbol) for symbol in size.symbols() if symbol != self.own)
        return all(map(self.recording.knows, others))

    def leaves_open(self, size: Size) -> bool:
        return self.own in size.symbols() or self.recording.leaves_open(size)

    def size_of_axis(self, axis_name: str) -> Size:
        return self.recording.size_of_axis(axis_name)


# -------------------------------------------------------------------------------- replacement of the function
def symbolic_associative_scan(
    original: Callable[..., Any], is_traced: Callable[[], bool]
) -> Callable[..., Any]:
    """Return a replacement of ``jax.lax.associative_scan`` that can bind one primitive for any length."""
    thread = threading.get_ident()

    def associative_scan(fn: Callable[..., Any], elems: Any, reverse: bool = False, axis: int = 0) -> Any:
        # Patches replace the function for all threads, but only one is recorded.
        if threading.get_ident() != thread or not is_traced():
            return forward(original, fn, elems, reverse, axis)
        leaves, tree = jax.tree.flatten(elems)
        # JAX raises for a negative axis in reverse, so the call is left to it.
        known = None if reverse and axis < 0 else _common_axis(leaves, axis)
        call = None if known is None else _combine(fn, tree, leaves, known)
        if known is None or call is None:
            return forward(original, fn, elems, reverse, axis)
        combine, held = call
        found = associative_scan_p.bind(
            *held, *leaves, combine=combine, sequences=len(leaves), axis=known, reverse=bool(reverse)
        )
        return jax.tree.unflatten(tree, found)

    return associative_scan


def _common_axis(leaves: list[Any], axis: Any) -> int | None:
    if not leaves or not all(hasattr(leaf, "aval") for leaf in leaves) or type(axis) is not int:
        return None
    axis = axis % leaves[0].ndim if -leaves[0].ndim <= axis < leaves[0].ndim else leaves[0].ndim
    lengths = {expression_of(leaf.shape[axis]) for leaf in leaves if axis < leaf.ndim}
    return axis if len(lengths) == 1 and all(axis < leaf.ndim for leaf in leaves) else None


def _combine(
    fn: Callable[..., Any], tree: Any, leaves: Sequence[Any], axis: int
) -> tuple[CombineFunction, list[Any]] | None:
    """Trace ``fn`` for any number of pairs; return it with the list of arrays that it closes over.

    If that fails, note the reason in the current recording and return None.
    """
    outside: list[Any] = []

    def flat(left: Sequence[Any], right: Sequence[Any]) -> list[Any]:
        made, structure = jax.tree.flatten(
            fn(jax.tree.unflatten(tree, left), jax.tree.unflatten(tree, right))
        )
        if structure != tree:
            raise _PairMismatch("the result is another container")
        return made

    def function(held: Sequence[Any], left: Sequence[Any], right: Sequence[Any]) -> list[Any]:
        program = jax.make_jaxpr(flat)(
            *([_type(item, item.shape) for item in side] for side in (left, right))
        )
        known = {id(item): now for item, now in zip(outside, held)}
        # The arrays are recognized by identity, because `fn` is traced again.
        consts = [known.get(id(item), item) for item in program.consts]
        return list(jaxpr_as_fun(_with_constants_as_inputs(program))(*consts, *left, *right))

    try:
        pairs, program = _traced(flat, leaves, axis)
    # The user's function may raise any exception. JAX then calls it again and shows the exception, unless the
    # unknown number of pairs is the reason.
    except Exception as problem:
        if is_fault(problem):
            raise
        current().note_given_up("recording an associative scan for any number of rows", problem)
        return None
    outside[:] = program.consts
    return CombineFunction(function, _with_constants_as_inputs(program), pairs), list(program.consts)


def _traced(
    flat: Callable[..., list[Any]], leaves: Sequence[Any], axis: int
) -> tuple[tuple[Value, ...], ClosedJaxpr]:
    specs = [ArraySpec(tuple(map(expression_of, leaf.shape)), dtype_name(leaf.dtype)) for leaf in leaves]
    pairs = pairs_of([("", spec) for spec in specs], axis, max(2, int(hint_of(specs[0].shape[axis]))))
    types = [_type(leaf, tuple(map(symbolic, value.shape))) for leaf, value in zip((*leaves, *leaves), pairs)]
    count = len(leaves)
    with deciding(_LengthlessRecording(current(), Symbol(pairs[0], axis, 0))):
        program = jax.make_jaxpr(flat)(types[:count], types[count:])
        for made, given in zip(program.out_avals, types):
            if made.dtype != given.dtype or not _has_shape(made.shape, given.shape):
                raise _PairMismatch(f"a pair of {given} gives {made}")
    return tuple(pairs), program


def _has_shape(shape: Sequence[Any], wanted: Sequence[Any]) -> bool:
    pairs = [(expression_of(one), expression_of(other)) for one, other in zip(shape, wanted)]
    return len(shape) == len(wanted) and all(
        one == other or decided(apply("eq", one, other)) for one, other in pairs
    )


def _with_constants_as_inputs(program: ClosedJaxpr) -> ClosedJaxpr:
    jaxpr = program.jaxpr
    info = jaxpr.debug_info
    if info.arg_names is not None:
        info = info._replace(arg_names=("",) * len(jaxpr.constvars) + tuple(info.arg_names))
    return ClosedJaxpr(
        jaxpr.replace(constvars=[], invars=[*jaxpr.constvars, *jaxpr.invars], debug_info=info), ()
    )


def _type(leaf: Any, shape: tuple[Any, ...]) -> Any:
    return jax.ShapeDtypeStruct(shape, leaf.dtype, weak_type=getattr(leaf, "weak_type", False))


# ------------------------------------------------------------------------ associative scan primitive
@associative_scan_p.def_abstract_eval
def _types(*operands: Any, combine: CombineFunction, sequences: int, axis: int, reverse: bool) -> Any:
    return operands[len(operands) - sequences :]


@associative_scan_p.def_impl
def _scan_by_doubling(
    *operands: Any, combine: CombineFunction, sequences: int, axis: int, reverse: bool
) -> list[Any]:
    """Compute the scan as a parallel prefix scan (Hillis-Steele), in a loop that JAX can differentiate."""
    held, leaves = operands[: len(operands) - sequences], operands[len(operands) - sequences :]
    length = leaves[0].shape[axis]
    places = jax.lax.iota("int32", length)

    def step(old: Any, reach: Any) -> Any:
        reached = [jax.lax.broadcast_in_dim(places >= reach, leaf.shape, (axis,)) for leaf in old]
        twice = [jax.lax.concatenate([leaf, leaf], axis) for leaf in old]
        # The last elements wrap around to the front, where the mask is false.
        before = [jax.lax.dynamic_slice_in_dim(leaf, length - reach, length, axis) for leaf in twice]
        left = [_with_gradients_where(mask, leaf) for mask, leaf in zip(reached, before)]
        made = combine.function(
            held, left, [_with_gradients_where(mask, leaf) for mask, leaf in zip(reached, old)]
        )
        return tuple(jax.lax.select(mask, new, leaf) for mask, new, leaf in zip(reached, made, old))

    def steps(old: Any, reach: Any) -> Any:
        return jax.lax.cond(reach < length, step, lambda old, _: old, old, reach), None

    ordered = tuple(jax.lax.rev(leaf, (axis,)) for leaf in leaves) if reverse else leaves
    # A symbolic length has as many iterations as the longest possible axis; those beyond its length change
    # nothing.
    # The trip count of this loop is the logarithm of the length, which a symbolic size cannot express.
    count = _MOST_STEPS if is_symbolic(length) else max(length - 1, 0).bit_length()
    made, _ = jax.lax.scan(steps, ordered, jnp.left_shift(1, jax.lax.iota("int32", count)))
    return [jax.lax.rev(leaf, (axis,)) for leaf in made] if reverse else list(made)


def _with_gradients_where(mask: Any, leaf: Any) -> Any:
    # Elsewhere unrelated elements are combined, and 0 times an infinite derivative is NaN.
    return jax.lax.select(mask, leaf, jax.lax.stop_gradient(leaf))


def _jvp_rule(primals: Any, tangents: Any, **params: Any) -> Any:
    def run(*operands: Any) -> list[Any]:
        return _scan_by_doubling(*operands, **params)

    return jax.jvp(run, tuple(primals), tuple(map(ad.instantiate_zeros, tangents)))


def _batch_rule(
    operands: Any, places: Any, *, combine: CombineFunction, sequences: int, axis: int, reverse: bool
) -> Any:
    count = len(operands) - sequences
    size = next(operand.shape[place] for operand, place in zip(operands, places) if place is not None)
    held, outer = operands[:count], tuple(places[:count])
    leaves = [_with_batch(leaf, place, size) for leaf, place in zip(operands[count:], places[count:])]

    def each(left: Any, right: Any) -> list[Any]:
        return list(
            jax.vmap(combine.function, in_axes=(list(outer), -1, -1), out_axes=-1)(list(held), left, right)
        )

    # The batch is the last axis, so that `axis` keeps its position.
    call = _combine(each, jax.tree.structure(leaves), leaves, axis)
    if call is None:
        raise TracingError(
            "jax.vmap of an associative_scan whose function asks for the number of pairs: take the scan out "
            "of vmap"
        )
    found = associative_scan_p.bind(
        *call[1], *leaves, combine=call[0], sequences=sequences, axis=axis, reverse=reverse
    )
    return found, [leaf.ndim - 1 for leaf in leaves]


def _with_batch(leaf: Any, place: Any, size: Any) -> Any:
    return (
        jnp.broadcast_to(leaf[..., None], (*leaf.shape, size))
        if place is None
        else jnp.moveaxis(leaf, place, -1)
    )


batching.primitive_batchers[associative_scan_p] = _batch_rule
ad.primitive_jvps[associative_scan_p] = _jvp_rule
mlir.register_lowering(associative_scan_p, mlir.lower_fun(_scan_by_doubling, multiple_results=True))
