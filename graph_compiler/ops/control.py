"""Operations that run blocks: loops, branches, calls, and derivatives that the user defines.

The blocks are the regions of the node (:class:`graph_compiler.ir.node.Region`). Each region takes its own
arguments first, and then the captured values of the enclosing scope. Captured values are the last operands
of a node, and the same for all of its regions. Arrays that an iteration passes to the next are *carried*:
they keep their shapes and dtypes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from ..errors import InvalidGraph
from .dtypes import is_inexact
from .registry import ArraySpec, Dim, declare, decomposition, find

_CONTROL = "control flow"
_Specs = tuple[ArraySpec, ...]


class RegionSpec(Protocol):
    """Region, as far as the shape and dtype rules of operations read it."""

    name: str

    def specs_outside(self) -> tuple[ArraySpec, ...]:
        """Return the specs of the outputs that are values, for use in the enclosing scope."""


@declare(_CONTROL, regions=("body",))
def call(
    *operands: ArraySpec, body: RegionSpec, checkpoint: bool = False, strong_zero: bool = False
) -> _Specs:
    """Call ``body(*operands)``; several nodes may share one body (jaxpr ``closed_call``).

    With ``checkpoint`` only the operands are stored, and the body is recomputed in the backward pass
    (``jax.checkpoint``). With ``strong_zero``, the product of a derivative and a tangent or cotangent is zero
    if either factor is, even if the other is infinite or NaN. The body must then be elementwise, with one
    result of the shape of the operands.
    """
    return body.specs_outside()


@declare(_CONTROL, regions=("*branches",))
def branch(index: ArraySpec, /, *operands: ArraySpec, branches: Sequence[RegionSpec]) -> _Specs:
    """Call ``branches[index](*operands)`` (``jax.lax.switch``, ``tf.switch_case``).

    ``index`` is a scalar: an integer in range, or a boolean for two branches, where the first one is for
    False. All branches return arrays of the same shapes and dtypes.
    """
    first, *others = (region.specs_outside() for region in branches)
    for other in others:
        _same("branches", other, first)
    if index.shape or (index.dtype == "bool" and len(branches) != 2):
        raise InvalidGraph(
            "a branch is chosen by one integer, or one truth value of two branches; "
            f"got {index} for {len(branches)}"
        )
    return first


@declare(_CONTROL, regions=("condition", "body"))
def while_loop(
    *operands: ArraySpec, condition: RegionSpec, body: RegionSpec, carried: int, most: Dim | None = None
) -> _Specs:
    """Run ``carried = body(*carried)`` while ``condition(*carried)`` is true (``jax.lax.while_loop``).

    The first ``carried`` operands are the initial carry, and the others captured values. Both regions take
    the carry and then the captured values. The condition returns one boolean scalar. The body returns a carry
    of the same shapes and dtypes. Results are the final carry. The trip count is at most ``max(most, 0)``,
    or unknown if ``most`` is None.
    """
    asked = condition.specs_outside()
    if len(asked) != 1 or asked[0] != ArraySpec((), "bool"):
        raise InvalidGraph(f"the condition of a loop gives one truth value, not {asked}")
    _same("a step", body.specs_outside(), operands[:carried])
    return operands[:carried]


@declare(_CONTROL, regions=("body",))
def scan(
    *operands: ArraySpec,
    body: RegionSpec,
    carried: int,
    sequences: int,
    length: Dim,
    reverse: bool = False,
    checkpoint: bool = False,
) -> _Specs:
    """Run ``carried, outputs = body(*carried, *rows)`` for the rows of sequences (``jax.lax.scan``).

    Operands are the initial carry, ``sequences`` arrays with ``length`` rows, and the captured values, which
    the body takes after the rows. Results are the final carry and the outputs of all iterations, stacked
    along a new first axis. ``reverse`` iterates from the last row to the first; the outputs keep the order of
    the rows. ``checkpoint`` recomputes an iteration in the backward pass instead of storing its intermediate
    results.
    """
    made = body.specs_outside()
    _same("a step", made[:carried], operands[:carried])
    return (*operands[:carried], *(ArraySpec((length, *spec.shape), spec.dtype) for spec in made[carried:]))


@declare(_CONTROL, regions=("combine",))
def associative_scan(
    *operands: ArraySpec, combine: RegionSpec, sequences: int, axis: int, reverse: bool = False
) -> _Specs:
    """Compute all prefixes of an associative function along an axis (``jax.lax.associative_scan``).

    For ``[a, b, c, ...]`` these are ``[a, combine(a, b), combine(combine(a, b), c), ...]``.

    Operands are ``sequences`` arrays of equal length along ``axis``, counted from the first axis, and the
    captured values. ``combine(*left, *right, *captured)`` combines many pairs at once: its pairs and its
    outputs have ``axis``, with a length that only the region knows. Its result for a pair must not depend
    on other pairs, and ``combine`` must be associative, because the target decides in which order pairs are
    combined. Sequences of at most one element are returned unchanged. ``reverse`` begins at the last
    element: ``[..., combine(combine(z, y), x), combine(z, y), z]``.
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
    # Only the region knows the length along the axis, so it is left out of the comparison.
    _same(
        "combine",
        [without_axis(spec, axis) for spec in combine.specs_outside()],
        [without_axis(spec, axis) for spec in own],
    )
    return own


@declare(_CONTROL, regions=("*regions",))
def custom_derivative(
    *operands: ArraySpec,
    regions: Sequence[RegionSpec],
    kind: str,
    differentiated: tuple[int, ...],
    residuals: int = 0,
) -> _Specs:
    """Call ``function(*operands)``, whose derivative is computed by ``rule``.

    ``differentiated`` holds the positions of the operands with a derivative; the others get no gradient. The
    regions are the function, a forward function if there are ``residuals``, and the rule. Tangents and
    cotangents exist for real and complex floating-point results only.

    * ``kind="jvp"`` (``jax.custom_jvp``): ``rule(*tangents of the differentiated operands, *operands)``
      returns the results, then their tangents.
    * ``kind="vjp"`` (``jax.custom_vjp``, ``torch.autograd.Function``): ``rule(*results, *residuals,
      *cotangents, *operands)`` returns the cotangents of the differentiated operands. ``forward(*operands)``
      returns the results, which replace those of the function where a gradient is taken, then the residuals.

    The cotangent of a complex array is the conjugate of JAX's, as in torch and TensorFlow.
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
                f"the forward function gives {len(given)} arrays where {len(results)} results and "
                f"{residuals} residuals are needed"
            )
    wanted = (
        [operands[place] for place in differentiated]
        if kind == "vjp"
        else [*results, *filter(has_derivative, results)]
    )
    _same("the rule", rule.specs_outside(), wanted)
    return results


def has_derivative(spec: ArraySpec) -> bool:
    """Return True if arrays of this spec have tangents and cotangents.

    >>> has_derivative(ArraySpec((2,), "float32")), has_derivative(ArraySpec((2,), "int32"))
    (True, False)
    """
    return is_inexact(spec.dtype)


def without_axis(spec: ArraySpec, axis: int) -> ArraySpec:
    """Return ``spec`` without its axis ``axis``, which is counted from the front.

    >>> without_axis(ArraySpec((2, 3), "float32"), 1)
    float32[2]
    """
    return ArraySpec((*spec.shape[:axis], *spec.shape[axis + 1 :]), spec.dtype)


def _same(what: str, given: Sequence[ArraySpec], wanted: Sequence[ArraySpec]) -> None:
    # Symbolic sizes are not compared here: the code that made the region knows or guards that they are equal.
    if [(spec.dtype, spec.hints) for spec in given] != [(spec.dtype, spec.hints) for spec in wanted]:
        raise InvalidGraph(
            f"{what} gives {[*given]} where {[*wanted]} is needed: shapes and data types stay the same"
        )


def has_regions(op: str) -> bool:
    """Return True for operations that run blocks, such as loops and branches.

    >>> has_regions("scan"), has_regions("add")
    (True, False)
    """
    # Operations of recorded calls are not declared, and the user may declare further ones.
    return bool((declared := find(op)) and declared.regions)


def own_operands(params: dict[str, Any]) -> int:
    """Return the number of operands that are carry or sequences; 0 for operations without these.

    >>> own_operands({"carried": 2, "sequences": 1})
    3
    """
    return int(params.get("carried", 0)) + int(params.get("sequences", 0))


def own_inputs(op: str, params: dict[str, Any]) -> int:
    """Return the number of inputs of a loop's region before the captured ones; 0 for other operations.

    There is one for each operand that :func:`own_operands` counts, or two for an ``associative_scan``,
    because its region combines pairs.

    >>> own_inputs("scan", {"carried": 2, "sequences": 1}), own_inputs("associative_scan", {"sequences": 1})
    (3, 2)
    """
    return own_operands(params) * (2 if op == "associative_scan" else 1)


# ----------------------------------------------------------------------------------- user-defined derivatives

_GRADIENTS = "gradients"


@declare(_GRADIENTS)
def with_gradient(*arrays: ArraySpec) -> ArraySpec:
    """Return the first array, with given derivatives with respect to other arrays.

    The operands are the array, a source, the derivative for it, another source, and so on. The gradient of
    a source is the gradient of the result times the derivative. No gradient flows to the first array. Higher
    derivatives differentiate the given derivatives.
    """
    if len(arrays) % 2 == 0:
        raise InvalidGraph(f"an array and pairs of a source and a slope are needed, got {len(arrays)} arrays")
    return arrays[0]


@declare(_GRADIENTS)
def refuse_gradient(*arrays: ArraySpec, message: str) -> ArraySpec:
    """Return the first array. Differentiation with respect to any of the arrays raises an error.

    In reverse mode, the text of the error is ``message``.
    """
    return arrays[0]


@declare(_GRADIENTS)
def masked_gradient(condition: ArraySpec, x: ArraySpec, /, *, harmless: float) -> ArraySpec:
    """Return ``x``, with derivative 0 where ``condition`` is False.

    ``condition`` has the shape of ``x``. Nothing may depend on elements of the result where it is False,
    because a target may replace them by ``harmless``.
    """
    if condition.hints != x.hints:
        raise InvalidGraph(f"a condition of the shape of the array is needed, got {condition} for {x}")
    return x


@declare(_GRADIENTS)
def strong_product(x1: ArraySpec, x2: ArraySpec, /) -> ArraySpec:
    """Compute ``x1 * x2``, with 0 where either is 0, even if the other is infinite or NaN.

    The same holds for the products in derivatives. Both arrays have the same shape and dtype.
    """
    return x1


@decomposition("masked_gradient")
def _masked_gradient(b: Any, condition: Any, x: Any, *, harmless: float) -> Any:
    # A target that can mask the gradient alone saves this pass over the array.
    return b.where(condition, x, harmless)
