"""Python's own statements as blocks of a NumPy recording; see :class:`graph_compiler.tracing.control_flow.Regions`.

A block is recorded on copies that stand for its inputs. The node's results are those of the steps that Python takes now, which are run on
real arrays. Writes to arrays of the outside go to copies, which the node gives besides, and behind it stands the write to the array itself.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...errors import TracingError
from ...ir.closing import Body, close
from ...ir.guard import guard_of
from ...ir.node import Node, Value, every
from ...ir.record import CallRecord
from ...ops.registry import ArraySpec, get
from ...sizes import expression_of
from ...tracing.control_flow import Kind, open_regions
from ...tracing.control_flow.regions import Arrays, Block
from ..outer_copies import on_copies
from ..tied_arrays import TiedArrays
from .capture import Capture
from .names import METHOD
from .sizes import hint, symbolic
from .traced import TracedArray, TracedScalar, is_traced, seen_of

_ARRAYS = (np.ndarray, np.generic)


class BlockCapture(Capture):
    """A recording that knows what the open blocks write to, and which arrays may be one."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.blocks: list[dict[Value, tuple[Any, Any]]] = []  # of each open block: the array outside that is written to, and before
        self.tied = TiedArrays(self.recorder)

    def _save(self, item: Any) -> None:
        super()._save(item)
        base = self.recorder.base_of(item._value)
        self.tied.refuse(base, self.here())
        if self.blocks and not self.recorder.is_made_here(base) and not self.recorder.is_given_here(base):
            owner = item._seen if item._seen.base is None else item._seen.base
            self.blocks[-1].setdefault(item._value, (item, owner.copy() if isinstance(owner, np.ndarray) else item._seen.copy()))


@dataclass(frozen=True)
class _Recorded:
    """A block, and the arrays of the outside that it writes to."""

    body: Body
    written: dict[Value, Any]
    like: list[tuple[Any, bool]]  # of each output, what it is now, and whether it is a number of Python
    outside: list[Value]  # outputs that the block has not made


class NumpyRegions:
    """The blocks of one recording."""

    def __init__(self, capture: BlockCapture) -> None:
        self.capture = capture

    # ------------------------------------------------------------------------------ what things are
    def is_open(self, item: Any) -> bool:
        return is_traced(item) and self.capture.recorder.varies(item._value)

    def is_array(self, item: Any) -> bool:
        return is_traced(item) or isinstance(item, _ARRAYS)

    def kind(self, item: Any) -> Kind:
        if is_traced(item):
            return Kind(item._seen.dtype.name, item._seen.shape, item._value in self.capture.weak)
        seen = np.asarray(hint(item))
        return Kind(seen.dtype.name, seen.shape, not isinstance(item, _ARRAYS))

    @property
    def is_inside(self) -> bool:
        return self.capture.recorder.in_block

    # ------------------------------------------------------------------------------ small calls
    def made(self, item: Any, kind: Kind) -> Any:
        if is_traced(item) and self.kind(item) == kind:
            return item
        dtype = np.dtype(kind.dtype)
        if is_traced(item) and not kind.number and item._seen.dtype == dtype:
            return item if not self.kind(item).number else self._array(item, dtype)
        array = self._array(item, dtype)
        return self._number(array) if kind.number else array

    def _array(self, item: Any, dtype: Any) -> Any:
        return self.capture.record("numpy.array", lambda item, dtype: np.array(item, dtype)[()], (item,), {"dtype": dtype})

    def _number(self, array: Any) -> Any:
        return self.capture.record(f"{METHOD}item", lambda scalar: np.asarray(scalar.item())[()], (array,), {}, lambda: True)

    def truth(self, item: Any) -> Any:
        if item.ndim:
            bool(item._seen)  # numpy's own error where there are several elements
            item = item.reshape(())
        return item if item.dtype == bool and item._value not in self.capture.weak else np.not_equal(item, 0)

    def both(self, one: Any, other: Any) -> Any:
        return np.logical_and(one, other)

    def negated(self, item: Any) -> Any:
        return np.logical_not(item)

    def where(self, truth: Any, one: Any, other: Any) -> Any:
        weak = all(self.kind(item).number for item in (one, other))
        return self.capture.record("numpy.where", lambda *args: np.where(*args)[()], (truth, one, other), {}, lambda: weak)

    def length(self, array: Any) -> Any:
        return array.shape[0]

    def number(self, length: Any) -> Any:
        return symbolic(self.capture, length)

    def row(self, array: Any, place: Any) -> Any:
        return array[place]

    def rest(self, array: Any, first: int) -> Any:
        return array[first:]

    # ------------------------------------------------------------------------------ conditions
    def decide(self, truth: Any) -> bool:
        return bool(truth)

    def decide_size(self, condition: Any) -> bool:
        return bool(self.capture.decide(condition))

    def expect(self, truth: Any) -> None:
        if not truth._seen and not self.is_inside:
            raise AssertionError
        self.capture.recorder.decide_value(self.capture.snapshot_of(truth)._value, True, self.capture.here())

    # ------------------------------------------------------------------------------ blocks
    def trial(self, function: Block, given: Sequence[tuple[Any, Kind | None]]) -> None:
        with self._block(given) as (_, arrays, _):
            function(*arrays)

    def branch(self, truth: Any, then: Block, otherwise: Block) -> Arrays:
        made = [self._recorded(name, block, ()) for name, block in (("otherwise", otherwise), ("then", then))]
        written = {value: array for one in made for value, array in one.written.items()}
        seen = [] if self.is_inside else self._run(then if bool(truth._seen) else otherwise)
        bodies = [on_copies(one.body, {value: value for value in written}, self.capture.here(), "numpy.copy") for one in made]
        outside = [*made[0].outside, *made[1].outside]
        names = ["chosen"] * len(made[1].body.outputs)
        return self._node("branch", [truth._value], bodies, made[1].like, seen, written, names, outside)

    def while_loop(self, test: Block, body: Block, carried: Arrays, kinds: Sequence[Kind]) -> Arrays:
        given = list(zip(carried, kinds))
        made = [self._recorded("condition", test, given), self._recorded("body", body, given)]

        def steps() -> Arrays:
            arrays = self._stand_ins(given)[1]
            while bool(test(*arrays)[0]._seen):
                arrays = list(body(*arrays))
            return arrays

        seen = [] if self.is_inside else self._run(steps)
        return self._loop("while_loop", made, carried, [], seen)

    def scan(self, body: Block, carried: Arrays, kinds: Sequence[Kind], rows: Arrays, length: Any, checkpoint: bool) -> Arrays:
        given = [*zip(carried, kinds), *((array, None) for array in rows)]
        made = [self._recorded("body", body, given)]

        def steps() -> Arrays:
            arrays = self._stand_ins(given[: len(carried)])[1]
            for place in range(hint(length)):
                arrays = list(body(*arrays, *(array[place] for array in rows)))
            return arrays

        seen = [] if self.is_inside else self._run(steps)
        return self._loop("scan", made, carried, rows, seen, length=expression_of(length), reverse=False, checkpoint=checkpoint)

    # ------------------------------------------------------------------------------ one block
    @contextmanager
    def _block(self, given: Sequence[tuple[Any, Kind | None]]) -> Iterator[tuple[list[Value], list[Any], list[Node]]]:
        capture = self.capture
        values, arrays = self._stand_ins(given)
        written: dict[Value, tuple[Any, Any]] = {}
        capture.blocks.append(written)
        try:
            with capture.recorder.block(values) as nodes, warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # of elements that only stand for others
                for array, value in zip(arrays, values):
                    capture.recorder.track(array, value)
                yield values, arrays, nodes
        finally:
            capture.blocks.pop()
            for item, before in written.values():
                np.copyto(item._seen if item._seen.base is None else item._seen.base, before)
        self.written = {value: item for value, (item, _) in written.items()}

    def _stand_ins(self, given: Sequence[tuple[Any, Kind | None]]) -> tuple[list[Value], list[Any]]:
        values, arrays = [], []
        for item, kind in given:
            dims = tuple(self.capture.size(item._value, axis) for axis in range(item.ndim)) if is_traced(item) else ()
            seen = np.asarray(hint(seen_of(item)))
            name = item._value.name if is_traced(item) else "number"
            if kind is None:
                seen, dims, name = seen[0] if len(seen) else np.zeros(seen.shape[1:], seen.dtype), dims[1:], f"{name}_row"
            seen = np.array(seen, None if kind is None else kind.dtype)
            value = Value((kind.name if kind is not None else "") or name, ArraySpec(dims, seen.dtype.name))
            if kind is not None and kind.number:
                self.capture.weak.add(value)
            values.append(value)
            arrays.append((TracedArray if seen.ndim else TracedScalar)(self.capture, seen if seen.ndim else seen[()], value))
        return values, arrays

    def _recorded(self, name: str, function: Block, given: Sequence[tuple[Any, Kind | None]]) -> _Recorded:
        recorder = self.capture.recorder
        with self._block(given) as (values, arrays, nodes):
            found = list(function(*arrays))
            like = [(item._seen, item._value in self.capture.weak) for item in found]
            outputs = [item._value for item in found]
            inputs = {value for value in values if any(value in map(recorder.base_of, node.writes) for node in nodes)}
        made = _made(nodes)
        outside = [value for value in outputs if value.spec.shape and recorder.base_of(value) not in made]
        if any(node.is_random for node in nodes):
            raise TracingError(f"{self.capture.here()}: random numbers are drawn inside of a branch or loop on values. Draw them before it")
        if name in ("body", "condition"):
            self._refuse_numbers(nodes)
        self._refuse_views(nodes)
        self._refuse_written(inputs, values, given)
        return _Recorded(Body(name, values, nodes, outputs), dict(self.written), like, outside)

    def _refuse_numbers(self, nodes: Sequence[Node]) -> None:
        """Python needs a number of which each step has another one, as a bound of a slice: one step alone has that of the recording."""
        for guard in filter(None, map(guard_of, every(nodes))):
            if isinstance(guard.condition, Value) and type(guard.expected) is not bool:
                raise TracingError(
                    f"{guard.origin}: Python needs the number of a step of a loop on values, here {guard.expected!r}, as the bound of a "
                    "slice. Index by it (x[i]), or compute with a mask (np.where)"
                )

    def _refuse_views(self, nodes: Sequence[Node]) -> None:
        base_of = self.capture.recorder.base_of
        bases = {base_of(value): value for value in self.written}
        made = _made(nodes)
        for value in (value for node in nodes for value in node.uses):
            if value not in made and base_of(value) in bases and value is not bases[base_of(value)]:
                raise TracingError(
                    f"{self.capture.here()}: {value.name} shares memory with {bases[base_of(value)].name}, which is written to inside of a "
                    "branch or loop on values. Take the view inside of it"
                )

    def _refuse_written(self, inputs: set[Value], values: Sequence[Value], given: Sequence[tuple[Any, Kind | None]]) -> None:
        """A step that writes to what it is given writes, in the first step, to an array of the outside: nobody else may have it."""
        recorder = self.capture.recorder
        for value, (item, kind) in zip(values, given):
            if value not in inputs or not is_traced(item):
                continue
            base = recorder.base_of(item._value)
            others = [other for array, other in recorder.tracked() if array is not item and recorder.base_of(other) is base]
            if kind is None or kind.is_shared or others or base in recorder.graph.inputs or base in recorder.graph.parameters.values():
                raise TracingError(
                    f"{self.capture.here()}: {item._value.name} is written to in a step of a loop on values that also puts another array "
                    "in "
                    "its place, and other variables may hold the same array. Begin with a copy of it"
                )

    # ------------------------------------------------------------------------------ what Python does now
    def _run(self, function: Any) -> list[Any]:
        """What a function gives now, as real arrays: its calls are no part of the recording."""
        capture, since = self.capture, self.capture.recorder.savepoint()
        with open_regions(None), capture.recorder.block(()):
            found = [item._seen for item in function()]
        capture.recorder.give_up(since)
        return found

    # ------------------------------------------------------------------------------ the node
    def _loop(self, op: str, made: Sequence[_Recorded], carried: Arrays, rows: Arrays, seen: list[Any], **params: Any) -> Arrays:
        written = {value: array for one in made for value, array in one.written.items()}
        bodies = []
        for one in made:
            inputs = {value: Value(value.name, self._shape(value)) for value in written}
            body = on_copies(one.body, inputs, self.capture.here(), "numpy.copy")
            values, count = list(one.body.inputs), len(carried)
            outputs = body.outputs[: len(one.body.outputs)] if one.body.name == "condition" else body.outputs
            bodies.append(replace(body, inputs=(*values[:count], *inputs.values(), *values[count:]), outputs=outputs))
        operands = [*(item._value for item in carried), *written, *(self.value_of(array) for array in rows)]
        names = [value.name for value in made[-1].body.inputs[: len(carried)]]
        if op == "scan":
            params["sequences"] = len(rows)
        params["carried"] = len(carried) + len(written)
        return self._node(op, operands, bodies, made[-1].like, seen, written, names, made[-1].outside, **params)

    def value_of(self, array: Any) -> Value:
        """The value of an array, also of one that the recording has not met."""
        return array._value if is_traced(array) else self.capture.met(array)

    def _shape(self, value: Value) -> ArraySpec:
        return ArraySpec(tuple(self.capture.size(value, axis) for axis in range(len(value.spec.shape))), value.dtype)

    def _node(
        self,
        op: str,
        operands: Sequence[Value],
        bodies: Sequence[Body],
        like: Sequence[tuple[Any, bool]],
        seen: list[Any],
        written: dict[Value, Any],
        names: Sequence[str],
        outside: Sequence[Value],
        **params: Any,
    ) -> Arrays:
        capture, recorder = self.capture, self.capture.recorder
        regions, captured = close(*bodies)
        whole = {name: params.get(name, default) for name, default in get(op).params.items()}
        arrays = [now if seen else one for (one, _), now in zip(like, seen or [one for one, _ in like])]
        left = [array._seen.copy() for array in written.values()]
        made = [capture.wrapped(array, Value(name, capture.spec_of(array))) for array, name in zip(arrays, names)]
        made += [capture.wrapped(array, Value(value.name, capture.spec_of(array))) for value, array in zip(written, left)]
        outputs = recorder.new_values([(item._value.name, item, item._value.spec) for item in made])
        origin = replace(capture.here(), call=op)
        recorder.add_call(op, (*operands, *captured), whole, origin, outputs, CallRecord(op, result=outputs), regions)
        recorder.varying.update(outputs)
        for item, value in zip(made, outputs):
            item._value = value
        capture.weak.update(value for value, (_, weak) in zip(outputs, like) if weak)
        self._tied(outside, outputs[: len(like)], () if op == "branch" else operands)
        for array, new in zip(written.values(), made[len(like) :]):
            capture.record("numpy.copyto", np.copyto, (array, new), {})
        return made[: len(like)]

    def _tied(self, outside: Sequence[Value], outputs: Sequence[Value], operands: Sequence[Value]) -> None:
        """Arrays that a block gave as it was given them may be those of the outside; so is what a loop carries where it takes no step."""
        if outside:
            self.capture.tied.tie([*(value for value in (*outputs, *operands, *outside) if value.spec.shape)])
        for value, operand in zip(outputs, operands):
            if value.spec.shape:
                self.capture.tied.tie((value, operand))


def _made(nodes: Sequence[Node]) -> set[Value]:
    return {value for node in nodes for value in node.outputs}
