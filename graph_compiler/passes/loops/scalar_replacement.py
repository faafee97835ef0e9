"""Scalar replacement in loops, and store-to-load forwarding for arrays that are written element by element.

``for k in range(m): c[i] += x[k]`` carries the row ``c[i]`` instead of ``c``, and writes it to ``c`` after
the loop. :data:`replace_scalars` is for targets whose loop index is an array: there each write to a carried
array returns the full array.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from typing import Any

from ...ir.builder import Body, Builder
from ...ir.node import Block, Node, Value, values_in
from ...ir.rewrite import Rewriter
from ...ops.axes import FULL_SLICE
from ...ops.rules import nonnegative, position
from ...sizes import apply
from ..driver import Pass
from .invariant_code_motion import ArrayHistory, InlinedLoop


def _replace_scalars(block: Block) -> Block:
    rewriter = Rewriter(block)
    for node in map(rewriter.rewritten, block.nodes):
        loop = _ScalarLoop(node) if node.op == "scan" and _passes_on_write(node) else None
        if loop is None or not loop.places:
            rewriter.append(node)
        else:
            rewriter.replace(node.outputs, loop.written(Builder.into(rewriter, node.origin)))
    return rewriter.finish()


replace_scalars = Pass("replace_scalars", _replace_scalars, "deep", ("scan",))
"""Pass that carries only a part of an array through a loop, if all its iterations access the same part."""


def _passes_on_write(node: Node) -> bool:
    block = node.regions[0].block
    makers = [
        block.maker(item) for item in block.outputs[: node.params["carried"]] if isinstance(item, Value)
    ]
    return any(made is not None and made.op == "setitem" for made in makers)


class _ScalarLoop(InlinedLoop):
    def __init__(self, node: Node) -> None:
        super().__init__(node)
        histories = {place: self.history(place) for place in range(self.carried)}
        self.histories = {
            place: found for place, found in histories.items() if found is not None and self._is_still(found)
        }
        self.places = {place: found.writes[0].params["key"] for place, found in self.histories.items()}

    def _is_still(self, history: ArrayHistory) -> bool:
        keys = [node.params["key"] for node in (*history.writes, *history.reads)]
        # A key of whole axes selects the array itself, so there is nothing to replace.
        is_part = any(item is not None and item != FULL_SLICE for item in keys[0])
        return is_part and all(key == keys[0] for key in keys) and self.is_still(keys[0])

    def written(self, build: Builder) -> tuple[Value, ...]:
        given = [
            build.getitem(item, key=self.places[place]) if place in self.places else item
            for place, item in enumerate(self.given)
        ]
        state = [Value(old.name, item.spec) for old, item in zip(self.state, given)]
        nodes, outputs = self._body(state)
        operands = [*given, *self.node.inputs[self.carried : self.carried + len(self.rows)]]
        body = Body(self.node.regions[0].name, (*state, *self.rows), nodes, outputs)
        results = list(build.run("scan", operands, [body], **self.node.params))
        for place, key in self.places.items():
            # If there is no iteration, this writes back what was read before the loop.
            results[place] = build.setitem(self.given[place], results[place], key=key)
        for made, old in zip(results, self.node.outputs):
            made.name = old.name
        return tuple(results)

    def _body(self, state: list[Value]) -> tuple[list[Node], list[Any]]:
        inner = Rewriter(Block((), tuple(self.nodes), tuple(self.outputs)))
        inner.replace(tuple(self.state), tuple(state))
        of = {
            node: place for place, found in self.histories.items() for node in (*found.writes, *found.reads)
        }
        for node in self.nodes:
            if node not in of:
                inner.append(inner.rewritten(node))
            elif node.op == "getitem":
                inner.replace(node.outputs, (inner.value(node.inputs[0]),))
            else:
                inner.replace(
                    node.outputs,
                    (
                        broadcast_value(
                            Builder.into(inner, node.origin),
                            inner.mapped(node.inputs[1]),
                            state[of[node]].spec,
                        ),
                    ),
                )
        return inner.nodes, [inner.mapped(item) for item in self.outputs]


def broadcast_value(build: Builder, value: Any, spec: Any) -> Value:
    if isinstance(value, Value):
        whole: Value = build.broadcast_to(value, shape=spec.shape)
        return whole
    full: Value = build.full(shape=spec.shape, fill_value=value, dtype=spec.dtype)
    return full


# ------------------------------------------------------------------------------------------- store forwarding
# ``a[i, j] -= x`` followed by ``a[i, j] /= y`` writes twice to one element. XLA writes in place only if
# nothing reads the old array any more. Between the two writes it copies the array, in each iteration of a
# loop, so reads take the value just written, and overwritten writes are dropped.

Key = tuple[Any, ...]


def _forward_block(block: Block) -> Block:
    return _Forwarding(block).run() if _writes_again(block) else block


forward_writes = Pass("forward_writes", _forward_block, "deep", ("setitem",))
"""Pass that replaces reads by the value just written; ``dce`` then drops writes that nothing reads."""


def forward_and_drop(block: Block) -> Block:
    if not _writes_again(block):
        return block
    made = _Forwarding(block).run()
    read = set(values_in(made.outputs))
    kept: list[Node] = []
    for node in reversed(made.nodes):
        if node.op != "setitem" or not read.isdisjoint(node.outputs):
            kept.append(node)
            read.update(node.uses)
    return Block(made.inputs, tuple(kept[::-1]), made.outputs)


def _writes_again(block: Block) -> bool:
    return any(
        node.op in ("getitem", "setitem") and _write(block.maker(node.inputs[0])) for node in block.nodes
    )


def _write(node: Node | None) -> bool:
    return node is not None and node.op == "setitem"


class _Forwarding:
    def __init__(self, block: Block) -> None:
        self.block = block
        self.rewriter = Rewriter(block)
        self.uses: dict[Value, list[Node]] = defaultdict(list)
        for node in block.nodes:
            for value in node.uses:
                self.uses[value].append(node)
        self.given = set(values_in(block.outputs))

    def run(self) -> Block:
        for node in self.block.nodes:
            written = self.block.maker(node.inputs[0]) if node.op in ("getitem", "setitem") else None
            new = self.rewriter.rewritten(node)
            found = self._found(node, new, written) if written is not None and _write(written) else None
            if found is None:
                self.rewriter.append(new)
            else:
                self.rewriter.name(found, node.outputs[0])
                self.rewriter.replace(node.outputs, (found,))
        return self.rewriter.finish()

    def _found(self, node: Node, new: Node, written: Node) -> Value | None:
        """Return the result that replaces ``node``, which accesses the array after ``written``, or None.

        ``new`` is ``node`` with its operands replaced.
        """
        write = self.rewriter.maker(self.rewriter.value(written.outputs[0]))
        assert write is not None
        build, key = Builder.into(self.rewriter, node.origin), new.params["key"]
        if node.op == "getitem" and _selects(new) == _selects(write) and self._can_forward(written):
            return _written_value(build, node, write)
        if not self._is_covered(written):
            return None
        if node.op == "setitem":
            covering: Value = build.setitem(write.inputs[0], new.inputs[1], key=write.params["key"])
            return covering
        return _select_value(build, write, key)

    def _is_covered(self, written: Node) -> bool:
        array = written.outputs[0]
        # A write that promotes the array also converts its other elements.
        if array.dtype != written.inputs[0].dtype:
            return False
        writes = [user for user in self.uses[array] if user.op != "getitem"]
        if array in self.given or len(writes) != 1 or not _covers(writes[0], written):
            return False
        return self._can_forward(written)

    def _can_forward(self, written: Node) -> bool:
        return all(
            _can_forward(user, written) for user in self.uses[written.outputs[0]] if user.op == "getitem"
        )


def _covers(node: Node, written: Node) -> bool:
    array = written.outputs[0]
    return (
        _write(node)
        and node.inputs[0] is array
        and node.inputs[1] is not array
        and _selects(node) == _selects(written)
    )


def _can_forward(read: Node, written: Node) -> bool:
    key, other = _selects(read), _selects(written)
    if key == other:
        return _is_taken(read, written)
    # A read of other elements can use the array from before the write.
    are_apart = are_keys_disjoint(read.params["key"], written.params["key"], written.outputs[0].shape)
    return are_apart or (_is_taken(read, written) and _is_alike(key, other))


def _selects(node: Node) -> Key:
    sizes = iter(node.inputs[0].shape)
    return tuple(item if item is None else _normalised_item(item, next(sizes)) for item in node.params["key"])


def _normalised_item(item: Any, size: Any) -> Any:
    if not isinstance(item, tuple):
        return position(item, size, 0)
    start, stop, step = position(item[0], size, 0), position(item[1], size, size), item[2]
    count = stop - start
    return start, count if step != 1 or nonnegative(count) else apply("max", count, 0), step


def _is_taken(read: Node, written: Node) -> bool:
    value = written.inputs[1]
    return not isinstance(value, Value) or value.dtype == read.outputs[0].dtype


def _is_alike(key: Key, other: Key) -> bool:
    return len(key) == len(other) and all(
        one == two or not (_is_wide(one) or _is_wide(two)) for one, two in zip(key, other)
    )


def _is_wide(item: Any) -> bool:
    return item is None or isinstance(item, tuple)


def _written_value(build: Builder, read: Node, write: Node) -> Value | None:
    value, spec = write.inputs[1], read.outputs[0].spec
    if not _is_taken(read, write):
        return None
    if isinstance(value, Value):
        whole: Value = build.broadcast_to(value, shape=spec.shape)
        return whole
    full: Value = build.full(shape=spec.shape, fill_value=value, dtype=spec.dtype)
    return full


def _select_value(build: Builder, write: Node, key: Key) -> Value:
    """Compute ``x[key]`` after ``write`` wrote to ``x``, without reading the written array."""
    before: Value = write.inputs[0]
    read: Value = build.getitem(before, key=key)
    if are_keys_disjoint(key, write.params["key"], before.shape):
        return read
    gaps = [
        _gap(one, two, size)
        for one, two, size in zip(key, write.params["key"], before.shape)
        if not _is_wide(one) and one != two
    ]
    same = functools.reduce(
        build.logical_and,
        [build.equal(build.full(shape=(), fill_value=gap, dtype="int64"), 0) for gap in gaps],
    )
    chosen: Value = build.where(same, write.inputs[1], read)
    return chosen


def _gap(one: Any, two: Any, size: Any) -> Any:
    return position(one, size, 0) - position(two, size, 0)


def are_keys_disjoint(key: Key, other: Key, shape: tuple[Any, ...]) -> bool:
    if None in key or None in other:
        return False
    return any(
        _are_disjoint(_range(one, size), _range(two, size)) for one, two, size in zip(key, other, shape)
    )


def _range(item: Any, size: Any) -> tuple[Any, Any]:
    if isinstance(item, tuple):
        return position(item[0], size, 0), position(item[1], size, size)
    place = position(item, size, 0)
    return place, place + 1


def _are_disjoint(one: tuple[Any, Any], other: tuple[Any, Any]) -> bool:
    return nonnegative(other[0] - one[1]) or nonnegative(one[0] - other[1])
