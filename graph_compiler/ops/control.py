"""Operations that run blocks: loops, branches and calls.

The blocks are the regions of the node (:class:`graph_compiler.ir.node.Region`). Each region takes its own
arguments first and then what the node captures: values of the outside that its nodes read, which stand last
among the operands and are the same for all regions of a node. Arrays that go from one step to the next are
*carried*: they keep shape and dtype.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from ..errors import InvalidGraph
from .dtypes import is_inexact
from .registry import ArraySpec, Dim, declare

_SECTION = "control flow"
_Specs = tuple[ArraySpec, ...]


class RegionSpec(Protocol):
    """What a rule asks of a region."""

    name: str

    def specs_outside(self) -> tuple[ArraySpec, ...]:
        """The specs of its outputs, in sizes of the outside."""


@declare(_SECTION, regions=("body",))
def call(
    *operands: ArraySpec, body: RegionSpec, checkpoint: bool = False, strong_zero: bool = False
) -> _Specs:
    """The outputs of ``body(*operands)``. Several nodes may share one region: it is written as one function
    (jaxpr ``closed_call``).

    ``checkpoint`` keeps the operands alone, and computes the body again in the backward pass
    (``jax.checkpoint``). ``strong_zero`` says that the body computes each element of one result from those of
    its operands at the same place, and that a tangent or cotangent that is zero stays zero through it,
    whatever its slope is.
    """
    return body.specs_outside()


@declare(_SECTION, regions=("*branches",))
def branch(index: ArraySpec, /, *operands: ArraySpec, branches: Sequence[RegionSpec]) -> _Specs:
    """The outputs of ``branches[index](*operands)`` (``jax.lax.switch``, ``tf.switch_case``); the others are
    not run.

    ``index`` is an integer without axes that lies inside of the branches, or a truth value with branches for
    False and True.
    """
    first, *others = (region.specs_outside() for region in branches)
    for other in others:
        _same("branches", other, first)
    if index.shape or (index.dtype == "bool" and len(branches) != 2):
        raise InvalidGraph(
            f"a branch is chosen by one integer, or one truth value of two branches; got {index} for {len(branches)}"
        )
    return first


@declare(_SECTION, regions=("condition", "body"))
def while_loop(
    *operands: ArraySpec, condition: RegionSpec, body: RegionSpec, carried: int, most: Dim | None = None
) -> _Specs:
    """The carried arrays after ``carried = body(*carried, *captured)`` was run while ``condition(*carried,
    *captured)`` (``jax.lax.while_loop``).

    The first ``carried`` operands are their values before the first step. The condition gives one truth
    value. There are ``most`` steps at most, where that is known.
    """
    asked = condition.specs_outside()
    if len(asked) != 1 or asked[0] != ArraySpec((), "bool"):
        raise InvalidGraph(f"the condition of a loop gives one truth value, not {asked}")
    _same("a step", body.specs_outside(), operands[:carried])
    return operands[:carried]


@declare(_SECTION, regions=("body",))
def scan(
    *operands: ArraySpec,
    body: RegionSpec,
    carried: int,
    sequences: int,
    length: Dim,
    reverse: bool = False,
    checkpoint: bool = False,
) -> _Specs:
    """``carried, outputs = body(*carried, *elements, *captured)`` for each row of the sequences
    (``jax.lax.scan``).

    Operands are the carried arrays before the first step, then ``sequences`` arrays with ``length`` rows,
    then what is captured. Results are the carried arrays after the last step, then the outputs of all steps
    stacked along a new first axis. ``reverse`` runs from the last row to the first; outputs stand where their
    rows do. ``checkpoint`` computes a step again in the backward pass, instead of keeping what it computed.
    """
    made = body.specs_outside()
    _same("a step", made[:carried], operands[:carried])
    return (*operands[:carried], *(ArraySpec((length, *spec.shape), spec.dtype) for spec in made[carried:]))


@declare(_SECTION, regions=("combine",))
def associative_scan(
    *operands: ArraySpec, combine: RegionSpec, sequences: int, axis: int, reverse: bool = False
) -> _Specs:
    """All prefixes: for ``[a, b, c, ...]`` along ``axis``, ``[a, combine(a, b), combine(combine(a, b), c),
    ...]`` (``jax.lax.associative_scan``).

    Operands are ``sequences`` arrays with one length along ``axis``, counted from the first axis, then what
    is captured. ``combine(*left, *right, *captured)`` combines many pairs at once: its inputs have ``axis``,
    with a length of its own that is known to nobody outside, and each of its outputs has this length. What it
    gives for one pair depends on no other pair, and is associative: in which order pairs are combined is a
    matter of the target. Of no elements and of one element the result is the sequences. ``reverse`` begins at
    the last element: ``[..., combine(combine(z, y), x), combine(z, y), z]``.
    """
    own = operands[:sequences]
    if (
        not own
        or len(own) < sequences
        or any(not 0 <= axis < spec.ndim for spec in own)
        or len({spec.hints[axis] for spec in own}) != 1
    ):
        raise InvalidGraph(
            f"an associative scan along axis {axis} takes arrays of one length along it; got {[*own]}"
        )
    _same(
        "combine",
        [without_axis(spec, axis) for spec in combine.specs_outside()],
        [without_axis(spec, axis) for spec in own],
    )
    return own


@declare(_SECTION, regions=("*regions",))
def custom_derivative(
    *operands: ArraySpec,
    regions: Sequence[RegionSpec],
    kind: str,
    differentiated: tuple[int, ...],
    residuals: int = 0,
) -> _Specs:
    """The results of ``function(*operands)``, whose derivative with respect to the ``differentiated``
    operands (their places) is what ``rule`` gives.

    Regions are the function, then, where there are ``residuals``, a forward function, and last the rule. No
    gradient goes to other operands. Tangents and cotangents are those of the results with a derivative: real
    and complex ones.

    * ``kind="jvp"`` (``jax.custom_jvp``): ``rule(*tangents of the differentiated operands, *operands)`` gives
      the results, then their tangents.
    * ``kind="vjp"`` (``jax.custom_vjp``, ``torch.autograd.Function``): ``rule(*results, *residuals,
      *cotangents, *operands)`` gives the cotangents of the differentiated operands. ``forward(*operands)``
      gives the results, which replace those of the function where a gradient is taken, then the residuals.

    For second derivatives the code of the rule is differentiated: with respect to the results by the rule
    itself, with respect to the residuals through the code of the forward function. The cotangent of a complex
    array is the conjugate of JAX's, as in torch and TensorFlow.
    """
    function, *others, rule = regions
    results = function.specs_outside()
    if kind not in ("jvp", "vjp") or len(others) != bool(residuals):
        raise InvalidGraph(
            f"a derivative of the kind {kind!r} with {len(regions)} regions and {residuals} residuals"
        )
    if others:
        given = others[0].specs_outside()
        _same("the forward function", given[: len(results)], results)
        if len(given) != len(results) + residuals:
            raise InvalidGraph(
                f"the forward function gives {len(given)} arrays where {len(results)} results and {residuals} residuals are needed"
            )
    wanted = (
        [operands[place] for place in differentiated]
        if kind == "vjp"
        else [*results, *filter(has_derivative, results)]
    )
    _same("the rule", rule.specs_outside(), wanted)
    return results


def has_derivative(spec: ArraySpec) -> bool:
    """Whether there are tangents and cotangents of such an array.

    >>> has_derivative(ArraySpec((2,), "float32")), has_derivative(ArraySpec((2,), "int32"))
    (True, False)
    """
    return is_inexact(spec.dtype)


def without_axis(spec: ArraySpec, axis: int) -> ArraySpec:
    """The spec of one element along an axis.

    >>> without_axis(ArraySpec((2, 3), "float32"), 1)
    float32[2]
    """
    return ArraySpec((*spec.shape[:axis], *spec.shape[axis + 1 :]), spec.dtype)


def _same(what: str, given: Sequence[ArraySpec], wanted: Sequence[ArraySpec]) -> None:
    """Data types and shapes as they are now: whether sizes are the same in all calls is a guard, or known,
    where the region was made.
    """
    if [(spec.dtype, spec.hints) for spec in given] != [(spec.dtype, spec.hints) for spec in wanted]:
        raise InvalidGraph(
            f"{what} gives {[*given]} where {[*wanted]} is needed: shapes and data types stay the same"
        )


def runs_blocks(op: str) -> bool:
    """Whether this is an operation of this section.

    >>> runs_blocks("scan"), runs_blocks("add")
    (True, False)
    """
    return op in RUN_BLOCKS


RUN_BLOCKS = frozenset({"associative_scan", "branch", "call", "custom_derivative", "scan", "while_loop"})
"""The names of the operations of this section."""


def own_operands(op: str, params: dict[str, Any]) -> int:
    """How many operands of such a node are its own, in front of those that its regions capture; the index of
    a ``branch`` is not counted.

    >>> own_operands("scan", {"carried": 2, "sequences": 1})
    3
    """
    return int(params.get("carried", 0)) + int(params.get("sequences", 0))


def own_inputs(op: str, params: dict[str, Any]) -> int:
    """How many inputs a region of such a node has in front of those that it captures: one for each operand,
    two where it combines pairs.

    >>> own_inputs("scan", {"carried": 2, "sequences": 1}), own_inputs("associative_scan", {"sequences": 1})
    (3, 2)
    """
    return own_operands(op, params) * (2 if op == "associative_scan" else 1)
