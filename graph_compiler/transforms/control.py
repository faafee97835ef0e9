"""``scan``, ``fori_loop``, ``checkpoint``, ``name`` and ``stop_gradient``."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

from ..contracts.derivatives import Arrays, Derivatives, Step
from ..errors import CallMismatch, InvalidOption, UnsupportedOperation
from ..forwarding import forward
from ..recording import active
from ..runtime.boundary import public
from ..runtime.frameworks import backend_of
from ..runtime.options import require_function
from ..trees import Tree, flatten, in_order_of, iterate_structure, same_structure, unflatten
from .functions import (
    FlattenedFunction,
    Function,
    describe_array,
    is_array,
    is_value,
    location_text,
    name_of,
    owner_of,
)
from .transformed import Transformed

T = TypeVar("T")
POLICIES = ("nothing", "dots", "everything", "min_cut")


@public
def checkpoint(function: Any, policy: str | Iterable[str] = "nothing") -> Transformed:
    """Return ``function`` with a backward pass that recomputes results that ``policy`` does not store.

    Like ``jax.checkpoint`` and ``torch.utils.checkpoint``. In TensorFlow, the policies other than
    ``"everything"`` act as ``"nothing"``.

    Args:
        function: Graph, ``functional`` of a graph, or function.
        policy: Results to store besides the arguments: ``"nothing"``; ``"dots"``, the results of matrix
            products and convolutions; ``"everything"``; ``"min_cut"``, results chosen by a minimum cut in
            bytes; or a collection of names given by :func:`name`.

    Raises:
        InvalidOption: The policy is none of these.
        NotCompilable: As for :func:`grad`.

    >>> import torch
    >>> from graph_compiler import transforms
    >>> transforms.grad(transforms.checkpoint(lambda x: torch.sin(x) ** 2))(torch.tensor(0.0))
    tensor(0.)
    >>> inner = lambda x: transforms.name(torch.sin(x), "sine") ** 2
    >>> transforms.grad(transforms.checkpoint(inner, policy={"sine"}))(torch.tensor(0.0))
    tensor(0.)
    """
    # A string is the name of a policy, not a collection of names.
    names = None if isinstance(policy, str) or not isinstance(policy, Iterable) else tuple(policy)
    if policy not in POLICIES if names is None else not all(isinstance(item, str) for item in names):
        raise InvalidOption(
            f"policy= is {policy!r}, and has to be one of {', '.join(map(repr, POLICIES))}, or a collection "
            "of names"
        )

    def rule(found: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        leaves, tree = flatten((args, kwargs), is_value)
        flat = FlattenedFunction(found, "checkpoint", tree)
        kept: Any = policy if names is None else names
        return flat.result(
            found.derivatives.checkpoint(flat, kept)(list(map(found.derivatives.array, leaves)))
        )

    return Transformed(function, rule, "checkpoint")


def name(value: T, name: str) -> T:
    """Return ``value`` with its arrays named for ``checkpoint(f, policy={name})``.

    Like ``jax.ad_checkpoint.checkpoint_name``. It has no effect on arrays of NumPy and TensorFlow. A graph
    that is recorded from the code may lose the name.

    Args:
        value: Pytree of arrays.
        name: The name.
    """
    return _map_arrays(
        lambda item: item if (owner := owner_of(item)) is None else _with_name(owner, item, name), value
    )


def _with_name(owner: str, item: Any, name: str) -> Any:
    return backend_of(owner).derivatives().named(item, name)  # type: ignore[union-attr]


def stop_gradient(value: T) -> T:
    """Return ``value`` with its arrays as constants for derivatives.

    Like ``jax.lax.stop_gradient``, ``Tensor.detach`` and ``tf.stop_gradient``. Works in functions of torch,
    JAX and TensorFlow, recorded or not. Outside of recordings, NumPy arrays are returned unchanged.

    Args:
        value: Pytree of arrays.

    Raises:
        UnsupportedOperation: ``value`` has a NumPy array, and a function is being recorded.

    >>> import torch
    >>> from graph_compiler import transforms
    >>> transforms.grad(lambda x: x * transforms.stop_gradient(x))(torch.tensor(3.0))
    tensor(3.)
    """
    return _map_arrays(_stop, value)


def _map_arrays(function: Callable[[Any], Any], value: T) -> T:
    leaves, tree = flatten(value, is_array)
    mapped: T = unflatten(tree, map(function, leaves))
    return mapped


def _stop(item: Any) -> Any:
    owner = owner_of(item)
    if owner is not None:
        return backend_of(owner).derivatives().stop_gradient(item)  # type: ignore[union-attr]
    if active.anywhere and active.recording and hasattr(item, "dtype") and hasattr(item, "shape"):
        raise UnsupportedOperation(
            "stop_gradient of an array of a framework without derivatives cannot be recorded: a derivative "
            "in another framework would not stop there. Take the array as an argument of its own, and "
            "differentiate by the others"
        )
    return item


ignore_derivatives = stop_gradient


Checkpoint = bool | int | str


@public
def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    carry: Any,
    xs: Any = None,
    length: int | None = None,
    checkpoint: Checkpoint = False,
) -> tuple[Any, Any]:
    """Iterate ``carry, y = f(carry, x)`` over the rows of ``xs``; return the last carry and stacked ``y``.

    Like ``jax.lax.scan``, for arrays of torch, JAX, TensorFlow and NumPy. In a recorded NumPy function the
    iterations are recorded one by one.

    Args:
        f: Function of the carry and a row of ``xs``. Returns a tuple of the next carry, of the same
            structure, shapes and dtypes, and an output or None.
        carry: First carry, of arrays and floats. A Python float has the framework's default dtype. A Python
            integer is no array and keeps its value.
        xs: Pytree of arrays of one length. None with ``length``; ``f`` then gets None.
        length: Number of iterations if ``xs`` is None; otherwise it must be the length of ``xs``.
        checkpoint: Values that a gradient stores. False: those that each iteration computes. True or
            ``"sqrt"``: the carry into segments of about ``sqrt(n)`` iterations, which are computed again one
            at a time. A number: segments of that many iterations. ``"steps"``: the carry into each iteration.

    Raises:
        CallMismatch: Arrays differ in length or have no axes, there are no rows, ``f`` does not return a
            tuple of two, or the carry changes its structure, a shape, a dtype or a Python integer.
        InvalidOption: ``checkpoint`` or ``length`` is invalid, or ``xs`` and ``length`` are both missing.
        NotCompilable: ``f`` is not callable.

    >>> import torch
    >>> from graph_compiler import transforms
    >>> step = lambda total, x: (total + x, total * x)
    >>> transforms.scan(step, torch.tensor(0.0), torch.tensor([1.0, 2.0, 3.0]))
    (tensor(6.), tensor([0., 2., 9.]))
    """
    require_function("scan", f)
    rows, rows_tree = flatten(xs, is_value)
    count = _length(f, rows, length)
    return _ScanLoop(f, "scan", carry, rows, rows_tree, count, _segment(checkpoint, count)).run()


@public
def fori_loop(
    low: int, high: int, body: Callable[[Any, Any], Any], init: Any, checkpoint: Checkpoint = False
) -> Any:
    """Compute ``state = body(i, state)`` for ``i`` from ``low`` to ``high - 1`` and return the last state.

    Like ``jax.lax.fori_loop``, and differentiable in reverse mode.

    Args:
        low: First ``i``.
        high: End, exclusive. If it is not above ``low``, ``init`` is returned.
        body: Function of ``i``, an integer scalar of the framework, and the state. Returns a state of the
            same structure, shapes and dtypes.
        init: First state, as the carry of :func:`scan`: ``torch.tensor(0)`` instead of ``0``.
        checkpoint: As in :func:`scan`.

    Raises:
        CallMismatch: The state changes its structure, a shape, a dtype or a Python integer.
        InvalidOption: ``low`` or ``high`` is not an integer, or ``checkpoint`` is invalid.
        NotCompilable: ``body`` is not callable.

    >>> import torch
    >>> from graph_compiler import transforms
    >>> transforms.fori_loop(0, 3, lambda i, x: x * (i + 1), torch.tensor(1.0))
    tensor(6.)
    """
    require_function("fori_loop", body)
    if not all(isinstance(bound, (int, np.integer)) for bound in (low, high)):
        raise InvalidOption(
            f"fori_loop of {name_of(body)}: low= and high= are integers of Python, not {low!r} and {high!r}"
        )
    # The loop is a scan over its indices.
    rows, tree = flatten(np.arange(low, max(low, high)), is_value)
    count = len(rows[0])
    # Check the option even if the loop does not run.
    if not count:
        _segment(checkpoint, count)
        return init
    step = lambda state, i: (body(i, state), None)  # noqa: E731
    return _ScanLoop(step, "fori_loop", init, rows, tree, count, _segment(checkpoint, count), body).run()[0]


def _segment(checkpoint: Checkpoint, length: int) -> int | None:
    """Return the number of iterations in a segment; 0 to checkpoint each alone, None for no checkpoints."""
    if checkpoint is False or checkpoint is None:
        return None
    if checkpoint == "steps":
        return 0
    if checkpoint is True or checkpoint == "sqrt":
        return max(1, math.isqrt(length))
    if isinstance(checkpoint, int) and checkpoint > 0:
        return checkpoint
    raise InvalidOption(
        f"checkpoint= is {checkpoint!r}, and has to be True, False, 'sqrt', 'steps' or a number of steps"
    )


def _length(f: Any, rows: Sequence[Any], length: int | None) -> int:
    if any(not getattr(item, "shape", ()) for item in rows):
        raise CallMismatch(
            f"scan of {name_of(f)}: xs has a number or an array without axes; rows are those of the first "
            f"axis{location_text(f)}"
        )
    sizes = {item.shape[0] for item in rows}
    # TensorFlow may give a length that is a tensor.
    given: Any = length
    is_negative = isinstance(given, (int, np.integer)) and given < 0
    if isinstance(given, (float, np.floating, str)) or is_negative:
        raise InvalidOption(
            f"scan of {name_of(f)}: length= is {length!r}, and has to be a whole number from 0 on"
            f"{location_text(f)}"
        )
    if length is not None:
        sizes.add(length)
    if not sizes:
        raise InvalidOption(f"scan of {name_of(f)}: there is nothing to go through; pass xs= or length=")
    if len(sizes) > 1:
        raise CallMismatch(
            f"scan of {name_of(f)}: the arrays of xs and length= have {sorted(sizes)} rows, and need one "
            f"number{location_text(f)}"
        )
    # TensorFlow may not know the size while it traces; then the error is that of the user's own ``int``.
    count: int = forward(int, sizes.pop())
    return count


class _ScanLoop:
    """Loop whose carry and rows are flattened to lists of arrays.

    label: name of the loop, for messages.
    segment: result of ``_segment``.
    named: the user's function, for messages.
    state: the first carry.
    has_rows: True if the function gets a row, False if it gets None.
    outputs: structure of an iteration's output, once one has run.
    """

    def __init__(
        self,
        f: Any,
        label: str,
        carry: Any,
        rows: list[Any],
        rows_tree: Tree,
        length: int,
        segment: int | None,
        named: Any = None,
    ) -> None:
        self.f, self.label, self.length, self.segment = (
            f,
            f"{label} of {name_of(named or f)}",
            length,
            segment,
        )
        self.named = named or f
        owner = next(
            (found for item in iterate_structure((carry, rows)) if (found := owner_of(item)) is not None),
            None,
        )
        derivatives: Any = NumpyLoops() if owner is None else backend_of(owner).derivatives()
        self.derivatives: Derivatives = derivatives
        state, self.tree = flatten(carry, is_value)
        self.state, self.rows_tree = list(map(self.derivatives.array, state)), rows_tree
        # A scan needs an array to iterate over, even if the function gets no rows.
        self.rows = list(map(self.derivatives.array, rows or [np.arange(length)]))
        self.has_rows = bool(rows)
        self.outputs: Tree | None = None

    def run(self) -> tuple[Any, Any]:
        if not self.length:
            raise CallMismatch(
                f"{self.label}: there is no step, so nobody knows the outputs; leave the loop "
                f"out{location_text(self.named)}"
            )
        state, outputs = (
            self._in_segments()
            if self.segment
            else self._scan(self.step, self.state, self.rows, self.segment is not None)
        )
        assert self.outputs is not None
        return unflatten(self.tree, state), unflatten(self.outputs, outputs)

    def step(self, state: Arrays, row: Arrays) -> tuple[Arrays, Arrays]:
        """Call the user's function on a flat carry and row, and return the next carry and the output, flat.

        Store the structure of the output.
        """
        given = unflatten(self.rows_tree, row) if self.has_rows else None
        made = self.f(unflatten(self.tree, state), given)
        if not (isinstance(made, tuple) and len(made) == 2):
            raise CallMismatch(
                f"{self.label}: a step gives (carry, output), not {type(made).__name__}"
                f"{location_text(self.named)}"
            )
        leaves, tree = flatten(made[0], is_value)
        if not same_structure(self.tree, tree):
            raise CallMismatch(
                f"{self.label}: a step gives the carry {tree!r}, and is given {self.tree!r}; what is carried "
                f"keeps its structure, and integers of Python in it their value{location_text(self.named)}"
            )
        new = list(map(self.derivatives.array, in_order_of(self.tree, tree, leaves)))
        for place, (array, old) in enumerate(zip(new, state)):
            if tuple(array.shape) != tuple(old.shape) or array.dtype != old.dtype:
                raise CallMismatch(
                    f"{self.label}: carried array {place} is {describe_array(array)} after a step, and "
                    f"{describe_array(old)} before; what is carried keeps its shape and dtype: convert the "
                    f"result, or begin with another array{location_text(self.named)}"
                )
        outputs, self.outputs = flatten(made[1], is_value)
        return new, list(map(self.derivatives.array, outputs))

    def _in_segments(self) -> tuple[Arrays, Arrays]:
        """Scan over the full segments, each a checkpointed inner scan, then over a shorter rest if any."""
        size = min(int(self.segment or 1), self.length)
        count, whole = self.length // size, self.length // size * size
        reshape = self.derivatives.reshape
        rows = [reshape(array[:whole], (count, size, *array.shape[1:])) for array in self.rows]
        segment: Step = lambda state, parts: self._scan(self.step, state, parts, False)  # noqa: E731
        state, outputs = self._scan(segment, self.state, rows, True)
        outputs = [reshape(array, (whole, *array.shape[2:])) for array in outputs]
        if whole == self.length:
            return state, outputs
        state, last = self._scan(segment, state, [array[whole:][None] for array in self.rows], True)
        return state, [self.derivatives.concatenate([array, end[0]]) for array, end in zip(outputs, last)]

    def _scan(self, step: Step, state: Arrays, rows: Arrays, checkpoint: bool) -> tuple[Arrays, Arrays]:
        return self.derivatives.scan(step, state, rows, checkpoint)


class NumpyLoops:
    """NumPy implementation of the array operations of ``Derivatives`` that loops and collectives use."""

    def array(self, item: Any) -> Any:
        return item if hasattr(item, "shape") else np.asarray(item)

    def size(self, array: Any, axis: int) -> Any:
        return array.shape[axis]

    def move_axis(self, array: Any, source: int, destination: int) -> Any:
        return np.moveaxis(array, source, destination)

    def reshape(self, array: Any, shape: Sequence[int]) -> Any:
        return array.reshape(tuple(shape))

    def concatenate(self, arrays: Sequence[Any]) -> Any:
        return np.concatenate(list(arrays))

    def scan(self, step: Step, state: Arrays, rows: Arrays, checkpoint: bool) -> tuple[Arrays, Arrays]:
        outputs: list[Arrays] = []
        for place in range(rows[0].shape[0]):
            state, made = step(state, [array[place] for array in rows])
            outputs.append(made)
        return state, [np.stack(each) for each in zip(*outputs)]
