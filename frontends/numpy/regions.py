"""Python's branches and loops as regions of a NumPy recording, recorded on copies of their inputs."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...errors import TracingError
from ...forwarding import forward, forwards
from ...ir.builder import Body, close
from ...ir.graph import guard_of
from ...ir.node import CallRecord, Node, Value, every
from ...ops.collectives import RECORDED_DEVICES
from ...ops.registry import ArraySpec, get
from ...recording.control_flow.branches import OuterCopies
from ...recording.control_flow.recorded_regions import PossibleAliases, RecordedBlock, RecordedRegions
from ...recording.control_flow.regions import ArrayKind, Arrays, Block, Inputs
from ...sizes import hint_of
from ..common.lifter import CALLS
from .calls import METHOD, spec_of
from .capture import NumpyCapture
from .traced import TracedArray, TracedScalar, clamp_index, hint, is_traced, proxy_of, seen_of, symbolic

_ARRAYS = (np.ndarray, np.generic)


class BlockCapture(NumpyCapture):
    """Recording that tracks the arrays to which open regions write.

    blocks: for each open region, the outer arrays that it writes to, each with a copy of its memory before.
    tied: arrays that may share memory, depending on which block ran.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.blocks: list[dict[Value, tuple[Any, Any]]] = []
        self.tied = PossibleAliases(self.recorder)

    def _attempt(self, function: Callable[..., Any], operands: list[Any], args: Any, kwargs: Any) -> Any:
        function, args = clamp_index(function, args) if self.blocks else (function, args)
        return super()._attempt(function, operands, args, kwargs)

    def _save(self, item: Any) -> None:
        super()._save(item)
        base = self.recorder.base_of(item._value)
        self.tied.refuse(base, self.here())
        if self.blocks and not self.recorder.is_made_here(base) and not self.recorder.is_given_here(base):
            # The view was taken inside of the region, as by a[i] += x.
            if self.recorder.is_made_here(item._value):
                whole = self.recorder.array_of(base)
                item = item if whole is None else whole
            owner = item._seen if item._seen.base is None else item._seen.base
            self.blocks[-1].setdefault(
                item._value, (item, owner.copy() if isinstance(owner, np.ndarray) else item._seen.copy())
            )


@dataclass(frozen=True)
class _NumpyBlock(RecordedBlock):
    """Recorded region, with the outer arrays that it changes and examples of its outputs.

    written: arrays of the enclosing scope to which the region writes.
    like: for each output, its array or scalar while recording, and a bool: True for a Python number.
    """

    written: dict[Value, Any]
    like: list[tuple[Any, bool]]


class NumpyRegions(RecordedRegions[_NumpyBlock]):
    """Recorder of Python's branches and loops as regions of a NumPy recording."""

    takes_lists = True
    module, arrays, copy = np, (TracedArray, TracedScalar, *_ARRAYS), "np.copy"

    def __init__(self, capture: BlockCapture) -> None:
        super().__init__(capture, capture.tied, functools.partial(symbolic, capture), capture.decide)
        self.capture = capture

    # ------------------------------------------------------------------------------ kinds of items
    def is_open(self, item: Any) -> bool:
        return is_traced(item) and self.capture.recorder.varies(item._value)

    def kind(self, item: Any) -> ArrayKind:
        if is_traced(item):
            return ArrayKind(item._seen.dtype.name, item._seen.shape, item._value in self.capture.weak)
        seen = np.asarray(hint(item))
        return ArrayKind(seen.dtype.name, seen.shape, not isinstance(item, _ARRAYS))

    # ------------------------------------------------------------------------------ array helpers
    def converted(self, item: Any, kind: ArrayKind) -> Any:
        if is_traced(item) and self.kind(item) == kind:
            return item
        dtype = np.dtype(kind.dtype)
        if is_traced(item) and not kind.number and item._seen.dtype == dtype:
            return item if not self.kind(item).number else self._array(item, dtype)
        array = self._array(item, dtype)
        if kind.number:
            return self._number(array)
        # NumPy returns scalars instead of 0-d arrays.
        return array if array.ndim else array[()]

    def _array(self, item: Any, dtype: Any) -> Any:
        def made(item: Any, dtype: Any) -> Any:
            try:
                return np.array(item, dtype)[()]
            except OverflowError:
                raise TracingError(
                    f"{self.capture.here()}: a Python integer is beyond the range of {dtype}, which it "
                    "would have as an array"
                ) from None

        return self.capture.record("numpy.array", made, (item,), {"dtype": dtype})

    def _number(self, array: Any) -> Any:
        return self.capture.record(
            f"{METHOD}item", lambda scalar: np.asarray(scalar.item())[()], (array,), {}, lambda: True
        )

    def copied(self, array: Any) -> Any:
        return np.copy(array)

    def truth(self, item: Any) -> Any:
        if item.ndim:
            # Raises NumPy's error if there are several elements.
            forward(bool, item._seen)
            item = item.reshape(())
        return item if item.dtype == bool and item._value not in self.capture.weak else np.not_equal(item, 0)

    def where(self, truth: Any, one: Any, other: Any) -> Any:
        weak = all(self.kind(item).number for item in (one, other))
        return self.capture.record(
            "numpy.where", lambda *args: np.where(*args)[()], (truth, one, other), {}, lambda: weak
        )

    # ------------------------------------------------------------------------------ rows of growing lists
    def may_write(self, kind: ArrayKind) -> bool:
        return bool(kind.shape)

    def needs_a_row(self, kinds: Sequence[ArrayKind]) -> bool:
        # The stacked results have the axes of one iteration, which is unknown if there was none.
        return any(kind.shape for kind in kinds)

    def owned(self, array: Any) -> Any:
        return array.copy()

    def collective(self, name: str, x: Any, **params: Any) -> Any:
        if name == "sharding_hint":
            return x
        operands = () if x is None else (x if is_traced(x) else self.converted(x, self.kind(x)),)
        return self.capture.record(
            CALLS + name, functools.partial(_of_one_device, name), (*operands, *params.values()), {}
        )

    # ------------------------------------------------------------------------------ conditions
    @forwards
    def expect(self, truth: Any) -> None:
        if not truth._seen and not self.is_inside:
            raise AssertionError
        self.capture.recorder.decide_value(
            self.capture.elements.snapshot_of(truth)._value, True, self.capture.here()
        )

    # ------------------------------------------------------------------------------ blocks
    def trial(self, function: Block, given: Inputs) -> None:
        with self._open(given) as (_, arrays, _):
            function(*arrays)

    def value_of(self, item: Any) -> Value:
        return item._value if is_traced(item) else self.capture.met(item)

    def concrete_truth(self, truth: Any) -> bool:
        return forward(bool, truth._seen)

    def initial_carry(self, given: Inputs) -> Arrays:
        return self._stand_ins(given)[1]

    # ------------------------------------------------------------------------------ one block
    @contextmanager
    def _open(self, given: Inputs) -> Iterator[tuple[list[Value], list[Any], list[Node]]]:
        capture = self.capture
        values, arrays = self._stand_ins(given)
        written: dict[Value, tuple[Any, Any]] = {}
        capture.blocks.append(written)
        try:
            with capture.recorder.block(values) as nodes, warnings.catch_warnings():
                # The elements are placeholders, so warnings about them are meaningless.
                warnings.simplefilter("ignore", RuntimeWarning)
                for array, value in zip(arrays, values):
                    capture.recorder.track(array, value)
                yield values, arrays, nodes
        finally:
            capture.blocks.pop()
            # The block ran on placeholders, so its writes to outer arrays are undone.
            for item, before in written.values():
                np.copyto(item._seen if item._seen.base is None else item._seen.base, before)
        self.written = {value: item for value, (item, _) in written.items()}

    def _stand_ins(self, given: Inputs) -> tuple[list[Value], list[Any]]:
        values, arrays = [], []
        for item, kind in given:
            dims = (
                tuple(self.capture.size(item._value, axis) for axis in range(item.ndim))
                if is_traced(item)
                else ()
            )
            seen = np.asarray(hint(seen_of(item)))
            name = item._value.name if is_traced(item) else "number"
            # The item is a sequence, of which the block gets one row.
            if kind is None:
                seen, dims, name = (
                    seen[0] if len(seen) else np.zeros(seen.shape[1:], seen.dtype),
                    dims[1:],
                    f"{name}_row",
                )
            seen = np.array(seen, None if kind is None else kind.dtype)
            value = Value((kind.name if kind is not None else "") or name, ArraySpec(dims, seen.dtype.name))
            if kind is not None and kind.number:
                self.capture.weak.add(value)
            values.append(value)
            arrays.append(
                (TracedArray if seen.ndim else TracedScalar)(
                    self.capture, seen if seen.ndim else seen[()], value
                )
            )
        return values, arrays

    def block(self, name: str, function: Block, given: Inputs) -> _NumpyBlock:
        with self._open(given) as (values, arrays, nodes):
            found = list(function(*arrays))
            like = [(item._seen, item._value in self.capture.weak) for item in found]
            outputs = [item._value for item in found]
            outside, owners = self.not_made(outputs), self.owners(outputs, list(map(self.kind, found)))
        if any(node.is_random for node in nodes):
            raise TracingError(
                f"{self.capture.here()}: random numbers are drawn inside of a branch or loop on values. Draw "
                "them before it"
            )
        if name in ("body", "condition"):
            self._refuse_numbers(nodes)
        self._refuse_views(nodes)
        return _NumpyBlock(Body(name, values, nodes, outputs), outside, owners, dict(self.written), like)

    def _refuse_numbers(self, nodes: Sequence[Node]) -> None:
        # An example is the bound of a slice. Booleans that Python needs are left to other checks.
        for guard in filter(None, map(guard_of, every(nodes))):
            if isinstance(guard.condition, Value) and type(guard.expected) is not bool:
                raise TracingError(
                    f"{guard.origin}: Python needs the number of a step of a loop on values, here "
                    f"{guard.expected!r}, as the bound of a "
                    "slice. Index by it (x[i]), or compute with a mask (np.where)"
                )

    def _refuse_views(self, nodes: Sequence[Node]) -> None:
        base_of = self.capture.recorder.base_of
        bases = {base_of(value): value for value in self.written}
        made = _made(nodes)
        for value in (value for node in nodes for value in node.uses):
            if value not in made and base_of(value) in bases and value is not bases[base_of(value)]:
                raise TracingError(
                    f"{self.capture.here()}: {value.name} shares memory with {bases[base_of(value)].name}, "
                    "which is written to inside of a "
                    "branch or loop on values. Take the view inside of it"
                )

    # ------------------------------------------------------------------------------ the node
    def node(
        self,
        op: str,
        operands: Sequence[Value],
        blocks: Sequence[_NumpyBlock],
        steps: Callable[[], Arrays],
        names: Sequence[str],
        **params: Any,
    ) -> Arrays:
        capture, recorder, like = self.capture, self.recorder, blocks[-1].like
        count = params.get("carried", len(like))
        # Inside of another region, arrays are placeholders anyway, so no iteration is run.
        seen = self._as_seen(like, count, params) if self.is_inside else self._run(steps)
        written = {value: array for block in blocks for value, array in block.written.items()}
        origin = replace(capture.here(), call=op)
        copies = OuterCopies(list(written), origin, "numpy.copy", CallRecord("clone"), self._spec_of)
        bodies, operands, names, params = copies.node(
            [block.body for block in blocks], operands, names, params
        )
        regions, captured = close(*bodies)
        whole = {name: params.get(name, default) for name, default in get(op).params.items()}
        arrays = [*seen[:count], *(array._seen.copy() for array in written.values()), *seen[count:]]
        made = [
            proxy_of(capture, array, Value(name, spec_of(capture, array)))
            for array, name in zip(arrays, names)
        ]
        outputs = recorder.new_values([(item._value.name, item, item._value.spec) for item in made])
        recorder.add_call(
            op, (*operands, *captured), whole, origin, outputs, CallRecord(op, result=outputs), regions
        )
        recorder.varying.update(outputs)
        for item, value in zip(made, outputs):
            item._value = value
        capture.weak.update(value for value, (_, weak) in zip(outputs, like[:count]) if weak)
        behind = count + len(written)
        for array, new in zip(written.values(), made[count:behind]):
            capture.record("numpy.copyto", np.copyto, (array, new), {})
        return [*made[:count], *made[behind:]]

    def _as_seen(self, like: Sequence[tuple[Any, bool]], count: int, params: Mapping[str, Any]) -> list[Any]:
        rows = [np.asarray(item) for item, _ in like[count:]]
        whole = [np.broadcast_to(row, (hint_of(params["length"]), *row.shape)).copy() for row in rows]
        return [*(item for item, _ in like[:count]), *whole]

    def _run(self, steps: Callable[[], Arrays]) -> list[Any]:
        with self.as_python():
            return [seen_of(item) for item in steps()]

    def _spec_of(self, value: Value) -> ArraySpec:
        return ArraySpec(tuple(self.capture.size(value, axis) for axis in range(value.ndim)), value.dtype)


def _of_one_device(name: str, *operands: Any) -> Any:
    if len(operands) == 1:
        return np.arange(RECORDED_DEVICES, dtype=np.int32) if name == "axis_indices" else np.int32(0)
    return np.array([operands[0]] * RECORDED_DEVICES) if name == "all_gather" else np.array(operands[0])[()]


def _made(nodes: Sequence[Node]) -> set[Value]:
    return {value for node in nodes for value in node.outputs}
