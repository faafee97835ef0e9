"""Values, nodes, blocks and regions: the parts of a graph."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple, NoReturn, Protocol

from ..ops.collectives import DEPEND_ON_DEVICES
from ..ops.registry import ArraySpec
from ..sizes import NumberNeeded, Size, Symbol, substitute
from ..trees import iterate_structure, leaf


class Extra(Protocol):
    """Properties of recorded calls that only one frontend needs."""

    def mapped(self, function: Callable[[Any], Any]) -> Extra:
        """Return a copy with `function` applied to the nested arguments in it."""


@dataclass(frozen=True, slots=True)
class CallRecord:
    """Properties of a recorded call that its name and arguments do not show.

    key: short name of the call; may be empty.
    result: structure that the call returned, with values instead of arrays; None if it is not stored.
    writes: values whose memory the call writes to.
    views: operand that an output aliases, by the index of the output; outputs that alias none are left out.
    random: True if the call may advance a random generator.
    no_grad: True if gradients were disabled and an operand is differentiable (torch).
    is_detached_write: True if the call writes elements without affecting gradients, as writes to
        `tensor.data` do.
    strided: True if the result depends on the strides of an array, which canonical graphs do not have.
    returns_operand: True if the call returned its first array operand itself, as calls in place do (torch).
    has_wide_integers: True if the call seems to introduce int64 elements outside the range of int32 (torch).
    weak: True if the result is a Python number (numpy), or some operands are weakly typed arrays and others
        are not (JAX). Weakly typed arrays adopt the dtype of the other operands.
    is_host_number: True if the result is a number that Python read from an array or computed from such a
        number, or a copy of elements that became constants.
    errstate: settings of `numpy.errstate` that differ from the default.
    extra: properties that only one frontend needs; None if there are none.
    """

    key: str = ""
    result: Any = None
    writes: tuple[Value, ...] = ()
    views: Mapping[int, Value] = field(default_factory=dict)
    random: bool = False
    no_grad: bool = False
    is_detached_write: bool = False
    strided: bool = False
    returns_operand: bool = False
    has_wide_integers: bool = False
    weak: bool = False
    is_host_number: bool = False
    errstate: tuple[tuple[str, str], ...] = ()
    extra: Extra | None = None

    def mapped(self, function: Callable[[Any], Any]) -> CallRecord:
        return replace(
            self,
            result=function(self.result),
            writes=function(self.writes),
            views=function(self.views),
            extra=None if self.extra is None else self.extra.mapped(function),
        )


_NO_VIEWS: Mapping[int, Value] = {}


class Instruction(NamedTuple):
    """Bytecode instruction: a code object, and the offset of the instruction (``frame.f_lasti``)."""

    code: CodeType
    offset: int


@dataclass(frozen=True, slots=True)
class Origin:
    """Source location of a node.

    file: file of the user's code; empty if it is unknown.
    module: path of the module that was running, such as `encoder.layers.0`; empty outside of modules.
    call: name of the framework function that was called.
    stored: variables to which the user's code assigns the result.
    instruction: bytecode instruction, which separates expressions on one line; None if it is unknown, as
        for a graph from a file.
    """

    file: str = ""
    line: int = 0
    module: str = ""
    call: str = ""
    stored: tuple[str, ...] = field(default=(), compare=False)
    instruction: Instruction | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"{self.call or 'call'} at {self.place}"

    @property
    def place(self) -> str:
        place = f"{self.file}:{self.line}" if self.file else "unknown place"
        return place + (f" (in {self.module})" if self.module else "")

    def portable(self) -> Origin:
        return replace(self, file=portable_path(self.file))


_INSTALLED = ("site-packages/", "dist-packages/")


@functools.lru_cache(maxsize=1024)
def portable_path(file: str) -> str:
    """Return the path of a source file without the folders that differ between machines.

    >>> portable_path("/usr/lib/python3/site-packages/timm/layers/mlp.py")
    'timm/layers/mlp.py'
    >>> portable_path("/home/me/model.py"), portable_path("<stdin>")
    ('model.py', '<stdin>')
    """
    text = file.replace("\\", "/")
    for folder in _INSTALLED:
        if folder in text:
            return text.rpartition(folder)[2]
    if not text or text.startswith("<"):
        return text
    path = Path(file)
    top = path.parent
    while (top / "__init__.py").is_file() and top != top.parent:
        top = top.parent
    return path.relative_to(top).as_posix()


@leaf
class Value:
    """Array or number in a graph, such as an input, or an output of a node.

    name: preferred name in generated code. It need not be unique.
    spec: shape and dtype.
    """

    __slots__ = ("name", "spec")

    def __init__(self, name: str, spec: ArraySpec) -> None:
        self.name, self.spec = name, spec

    @property
    def shape(self) -> tuple[Any, ...]:
        return self.spec.shape

    @property
    def dtype(self) -> str:
        return self.spec.dtype

    @property
    def ndim(self) -> int:
        return len(self.spec.shape)

    def _need_number(self) -> NoReturn:
        raise NumberNeeded(self)

    __int__ = __index__ = __float__ = _need_number

    def __repr__(self) -> str:
        return f"%{self.name}: {self.spec}"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Node:
    """Operation or recorded call in a graph.

    op: name of the operation.
    inputs: operands; in recorded graphs they may nest containers of values and sizes.
    params: static parameters; in recorded graphs they may nest such containers too.
    origin: location in the user's code.
    outputs: values that the node produces.
    record: properties of the recorded call; None in canonical graphs.
    regions: blocks that the operation runs, such as the body of a loop.
    uses: values that the node reads, each once, including the sources of sizes in its arguments and of the
        sizes that its regions share with the enclosing scope.
    """

    op: str
    inputs: tuple[Any, ...]
    params: dict[str, Any]
    origin: Origin
    outputs: tuple[Value, ...] = ()
    record: CallRecord | None = None
    regions: tuple[Region, ...] = ()
    uses: tuple[Value, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "uses", tuple(dict.fromkeys(self.reads())))

    def reads(self) -> list[Value]:
        return values_in(
            (self.inputs, self.params, *(list(region.sizes.values()) for region in self.regions))
        )

    @property
    def key(self) -> str:
        return self.record.key if self.record is not None else ""

    @property
    def result(self) -> Any:
        return self.record.result if self.record is not None else None

    @property
    def writes(self) -> tuple[Value, ...]:
        return self.record.writes if self.record is not None else ()

    @property
    def views(self) -> Mapping[int, Value]:
        return self.record.views if self.record is not None else _NO_VIEWS

    @property
    def is_random(self) -> bool:
        return self.record is not None and self.record.random or draws(self._inner)

    @property
    def depends_on_devices(self) -> bool:
        return (self.key or self.op) in DEPEND_ON_DEVICES or any(
            node.depends_on_devices for node in self._inner
        )

    @property
    def _inner(self) -> Iterator[Node]:
        return (node for region in self.regions for node in region.block.nodes)

    @property
    def no_grad(self) -> bool:
        return self.record is not None and self.record.no_grad

    def __repr__(self) -> str:
        return f"{', '.join(f'%{value.name}' for value in self.outputs)} = {self.op}"


def every(nodes: Iterable[Node]) -> Iterator[Node]:
    for node in nodes:
        yield node
        for region in node.regions:
            yield from every(region.block.nodes)


def draws(nodes: Iterable[Node]) -> bool:
    return any(node.is_random for node in nodes)


def distinct(nodes: Iterable[Node], seen: set[int] | None = None) -> Iterator[Node]:
    """Yield the nodes and those of their regions, but visit a region that several nodes share only once.

    ``seen`` has the ``id`` of the visited regions, and is updated.
    """
    seen = set() if seen is None else seen
    for node in nodes:
        yield node
        for region in node.regions:
            if id(region) not in seen:
                seen.add(id(region))
                yield from distinct(region.block.nodes, seen)


def count_all(nodes: Iterable[Node]) -> int:
    return len(list(distinct(nodes)))


def values_in(structure: Any) -> list[Value]:
    """Return the values in nested arguments, and the sources of sizes there; they may repeat."""
    found: list[Value] = []
    for item in iterate_structure(structure):
        # Most items that are no numbers are values, so this is tested first.
        if type(item) is Value:
            found.append(item)
        elif isinstance(item, Size):
            found += [symbol.source for symbol in item.symbols()]
    return found


class Makers:
    """Index from a value to the node of a list that produces it.

    A lookup follows changes at the end of the list. The replacement of another node may go unnoticed.
    """

    __slots__ = ("_known", "_makers")

    def __init__(self) -> None:
        self._known: list[Node] = []
        self._makers: dict[Value, Node] = {}

    def of(self, value: Value, nodes: Sequence[Node]) -> Node | None:
        known = self._known
        # Nodes are added and removed at the end, so the length and the last node show most changes.
        if len(known) != len(nodes) or (known and known[-1] is not nodes[-1]):
            self._follow(nodes)
        return self._makers.get(value)

    def _follow(self, nodes: Sequence[Node]) -> None:
        known, makers = self._known, self._makers
        while known and (len(known) > len(nodes) or known[-1] is not nodes[len(known) - 1]):
            for value in known.pop().outputs:
                makers.pop(value, None)
        for node in islice(nodes, len(known), None):
            known.append(node)
            makers.update(dict.fromkeys(node.outputs, node))


DEEPEST = 16
"""Maximum nesting depth of regions. Files that nest deeper are rejected."""


@dataclass(frozen=True, slots=True)
class Block:
    """Straight-line code.

    inputs: values that are passed to the block.
    nodes: operations in program order.
    outputs: results of the block: values, symbolic sizes or numbers.
    """

    inputs: tuple[Value, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[Any, ...]
    _makers: Makers = field(default_factory=Makers, init=False, repr=False, compare=False)

    def maker(self, value: Value) -> Node | None:
        return self._makers.of(value, self.nodes)


@dataclass(frozen=True, slots=True)
class Region:
    """Block that a node runs, such as the body of a loop, a condition or a branch.

    Regions are isolated from above, as jaxprs are and as MLIR's `IsolatedFromAbove` demands: a region
    reads no values of the enclosing scope. Captured values are operands of the node and inputs of its block.

    name: name of the function that is generated for the region.
    sizes: for symbols read from inputs of the block, the equal size in the enclosing scope (a ``Size`` or
        an int), if there is one.
    """

    name: str
    block: Block
    sizes: Mapping[Symbol, Any]

    def outward(self, size: Any) -> Any:
        return substitute(size, lambda symbol: self.sizes.get(symbol, Size.of(symbol)))

    def specs_outside(self) -> tuple[ArraySpec, ...]:
        return tuple(
            ArraySpec(tuple(map(self.outward, item.shape)), item.dtype)
            for item in self.block.outputs
            if isinstance(item, Value)
        )


# ------------------------------------------------------------------------------------------------------ pairs
# Inputs of the body of ``associative_scan``, which combines pairs of elements.


def pairs_of(sequences: Iterable[tuple[str, ArraySpec]], axis: int, hint: int = 2) -> list[Value]:
    """Return values for the left elements of `sequences` (names and specs), then for the right elements.

    >>> left, right = pairs_of([("x", ArraySpec((5, 2), "float32"))], 0)
    >>> left, right, left.shape == right.shape
    (%left_x: float32[left_x.shape[0], 2], %right_x: float32[left_x.shape[0], 2], True)
    """
    given = list(sequences)
    wanted = [(f"{side}_{name}".rstrip("_"), spec) for side in ("left", "right") for name, spec in given]
    pairs = [Value(name, spec) for name, spec in wanted]
    own = Size.of(Symbol(pairs[0], axis, hint))
    for value in pairs:
        value.spec = ArraySpec((*value.shape[:axis], own, *value.shape[axis + 1 :]), value.dtype)
    return pairs
