"""Lowering rows (how each operation is written in one framework), and the dialect that writes nodes by them.

A row is a template or a function, and returns the text of one Python expression. Fields of a template:

``{x}``: an input. ``{axis}``: a parameter as a literal. ``{axis=}``: a parameter as a keyword argument. It
is left out, with the comma before it, if it has its default. ``{dim=axis}``: the same under another
keyword. ``{*arrays}``: all inputs of a variadic operation.

    rows.table(
        {"argmax": "jnp.argmax({x}, {axis=}, {keepdims=})", "concat": "jnp.concatenate([{*arrays}], {axis=})"}
    )

A template names all inputs and parameters of its operation, except those that ``unused`` lists:

    rows.table({"argsort": "jnp.argsort({x}, {axis=}, {descending=})"}, {"stable": "the sort is stable"})

A function takes the operation's own signature: inputs as :class:`Operand`, parameters as values whose
``repr`` is their source. If it has a parameter ``out``, it gets the specs of the outputs:

    @rows.row("square")
    def square(x: Operand) -> str:
        return f"{x} * {x}"
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping
from operator import attrgetter
from types import ModuleType
from typing import Any

from ...errors import DuplicateRow, UnknownOperation, UnsupportedOperation
from ...ir.graph import Graph
from ...ir.node import Node, Value
from ...ops import ArraySpec, Op, get
from ...ops.dtypes import DTYPES
from ...ops.text import ExternalName, Text, factor, shortest_in_float32
from ...sizes import Symbol


def call(name: str, *operands: Any, **options: Any) -> str:
    """Return the text of a call, without trailing operands that are None and without options that are None.

    >>> call("F.layer_norm", "x", "x.shape[-1:]", None, eps=1e-05, bias=None)
    'F.layer_norm(x, x.shape[-1:], eps=1e-05)'
    """
    texts = [str(operand) for operand in operands]
    # None is the default of optional inputs. Only the last ones can be left out, because inputs are
    # positional.
    while texts and texts[-1] == "None":
        texts.pop()
    texts += [f"{key}={value!r}" for key, value in options.items() if value is not None]
    return f"{name}({', '.join(texts)})"


# Literals that were recorded as float32 have digits that nobody wrote.
def with_short_literals(node: Node) -> tuple[Any, ...]:
    dtypes = {item.dtype for item in node.inputs if isinstance(item, Value)}
    if "float32" not in dtypes or not dtypes <= {"float32", "bool"}:
        return node.inputs
    return tuple(shortest_in_float32(item) if isinstance(item, float) else item for item in node.inputs)


def unless(value: Any, default: Any) -> Any:
    return None if value == default else value


def unless_all(values: tuple[Any, ...], default: Any) -> tuple[Any, ...] | None:
    return None if all(value == default for value in values) else values


def number_in(text: str) -> float | None:
    """Convert ``text`` to a float, ignoring parentheses around it, or return None.

    >>> number_in("(-2)"), number_in("rows")
    (-2.0, None)
    """
    try:
        return float(text.strip("()"))
    except ValueError:
        return None


Row = Callable[..., str]
_FIELD = re.compile(r"(, )?\{(\*?)(?:(\w+)(=))?(\w*)\}")


class Operand(Text):
    """Text of an input of an operation.

    spec: shape and dtype; None for a number.
    given: True if the text reads an array from outside of the block.
    """

    __slots__ = ("given", "spec")
    spec: ArraySpec | None
    given: bool

    @property
    def shape(self) -> tuple[Any, ...]:
        return self.spec.shape if self.spec else ()

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def dtype(self) -> str | None:
        return self.spec.dtype if self.spec else None


def operand(text: str, spec: ArraySpec | None, given: bool = False) -> Operand:
    made = Operand(text)
    made.spec, made.given = spec, given
    return made


class Rows:
    """Lowering table of one framework.

    unsupported: reasons why the framework cannot run some operations, by name of the operation.
    channels_last: operations for which the layout pass prefers channels last.
    channels_first: operations for which it prefers channels first.
    bounded: True if data-dependent sizes get an upper bound, because shapes must be static.
    unrolls: limit on the nodes of an unrolled loop; 0 for no unrolling.
    rolls: the fewest equal repetitions that become a loop by default; 0 for never.
    counts: True if loop indices are Python ints, which may be bounds of slices.
    stacks: True if equal layers may become a loop over stacked weights.
    forward_while: True if ``while_loop`` without a maximal trip count has derivatives in forward mode only.
    compute_dtype: function from the name of an operation and the dtype of an operand to the dtype that its
        decomposition casts the operand to; None for no cast.
    structured: writers of operations with regions, which write lines instead of an expression.
    """

    def __init__(
        self,
        framework: str,
        unsupported: Mapping[str, str] | None = None,
        channels_last: Container[str] = (),
        bounded: bool = False,
        unrolls: int = 0,
        rolls: int = 16,
        counts: bool = False,
        stacks: bool = False,
        forward_while: bool = False,
        channels_first: Container[str] = (),
        compute_dtype: Callable[[str, str], str | None] = lambda op, dtype: None,
    ) -> None:
        self.framework, self.unsupported, self.channels_last, self.bounded = (
            framework,
            unsupported or {},
            channels_last,
            bounded,
        )
        self.unrolls, self.rolls, self.counts, self.stacks, self.compute_dtype = (
            unrolls,
            rolls,
            counts,
            stacks,
            compute_dtype,
        )
        self.forward_while, self.channels_first = forward_while, channels_first
        self._rows: dict[str, Row] = {}
        self._only: dict[str, Callable[..., bool]] = {}
        self.structured: dict[str, Callable[[Any, Any], None]] = {}

    def table(self, rows: Mapping[str, str | Row], unused: Mapping[str, str] | None = None) -> None:
        for name, row in rows.items():
            op = get(name)
            self._add(name, _from_template(op, row, unused or {}) if isinstance(row, str) else row)

    def row(self, *names: str, only: Callable[..., bool] | None = None) -> Callable[[Row], Row]:
        """Return a decorator that registers a function as the row of the operations ``names``.

        ``only(*node.inputs, **node.params)`` is True for the nodes that the row can write.
        """

        def register(function: Row) -> Row:
            for name in names:
                get(name)
                self._add(name, function, only)
            return function

        return register

    def structure(self, writers: Mapping[str, Callable[[Any, Any], None]]) -> None:
        for name, writer in writers.items():
            if name in self:
                raise DuplicateRow(f"{self.framework} has two rows for {name!r}")
            get(name)
            self.structured[name] = writer

    def include(self, others: Rows, without: tuple[str, ...] = ()) -> None:
        for name, row in others._rows.items():
            if name not in without:
                self._add(name, row, others._only.get(name))

    def _add(self, name: str, row: Row, only: Callable[..., bool] | None = None) -> None:
        if name in self:
            raise DuplicateRow(f"{self.framework} has two rows for {name!r}")
        self._rows[name] = row
        if only is not None:
            self._only[name] = only

    def __contains__(self, name: str) -> bool:
        return name in self._rows or name in self.structured

    def can_write(self, node: Node) -> bool:
        return node.op in self and (
            node.op not in self._only or self._only[node.op](*node.inputs, **node.params)
        )

    def names(self) -> list[str]:
        return [*self._rows, *self.structured]

    def expression(
        self, name: str, operands: tuple[Any, ...], params: dict[str, Any], out: tuple[ArraySpec, ...]
    ) -> str:
        row = self._rows[name]
        wants_out = (
            "out" in row.__code__.co_varnames[: row.__code__.co_argcount + row.__code__.co_kwonlyargcount]
        )
        return row(*operands, **params, **({"out": out} if wants_out else {}))


def _from_template(op: Op, template: str, unused: Container[str]) -> Row:
    named: set[str] = set()
    for _, star, keyword, _, name in _FIELD.findall(template):
        field = name or keyword
        if field not in (op.inputs if star else (*op.inputs, *op.params)):
            raise UnknownOperation(
                f"the template of {op.name!r} names {field!r}, which is no input or parameter of it"
            )
        named.update(op.inputs if star else (field,))
    for field in (*op.inputs, *op.params):
        if field not in named and field not in unused:
            raise UnknownOperation(
                f"the template of {op.name!r} does not name {field!r}, which would be ignored; name it, "
                "write a function, or list it in unused= with the reason why results do not depend on it"
            )

    def row(*operands: Any, **params: Any) -> str:
        inputs = dict(zip(op.inputs, operands))

        def fill(match: re.Match[str]) -> str:
            comma, star, keyword, _, name = match.groups(default="")
            field = name or keyword
            if star:
                return comma + ", ".join(map(str, operands))
            if field in inputs:
                return f"{comma}{keyword}={inputs[field]}" if keyword else comma + str(inputs[field])
            value = params[field]
            if keyword:
                default = op.params[field]
                return (
                    # True equals 1, but is another argument.
                    "" if type(value) is type(default) and value == default else f"{comma}{keyword}={value!r}"
                )
            return f"{comma}{value!r}"

        return _FIELD.sub(fill, template)

    return row


# ---------------------------------------------------------------------------------------------------- dialect
# Writing of canonical nodes for one backend.

_SPEC = attrgetter("spec")


class CanonicalDialect:
    """Writer of canonical nodes that uses a backend's lowering rows.

    imports: import lines, by the name that the source uses.
    prelude: module of the helpers that are copied into generated code.
    dtype_text: function from a dtype to its source text.
    structured: writers of operations with regions.
    """

    def __init__(
        self, rows: Rows, imports: Mapping[str, str], prelude: ModuleType, dtype_text: Callable[[str], str]
    ) -> None:
        self.rows, self.imports, self.prelude, self.dtype_text = rows, imports, prelude, dtype_text
        self.structured = rows.structured

    def decorators(self, graph: Graph) -> tuple[str, ...]:
        return ()

    def check(self, graph: Graph) -> None:
        pass

    def expression(self, node: Node, text: Callable[[Any], Any]) -> str:
        for value in node.outputs:
            if value.dtype not in DTYPES:
                raise UnsupportedOperation(
                    f"{node.origin} gives {value.dtype}, a data type that no target has; convert to another "
                    "one before"
                )
        operands = tuple(self._operand(item, text) for item in with_short_literals(node))
        params = (
            {name: self._param(name, value, text) for name, value in node.params.items()}
            if node.params
            else {}
        )
        try:
            return self.rows.expression(node.op, operands, params, tuple(map(_SPEC, node.outputs)))
        except UnsupportedOperation as problem:
            raise UnsupportedOperation(f"{problem}\n    {node.origin}") from problem

    def _operand(self, item: Any, text: Callable[[Any], Any]) -> Any:
        if item is None:
            return None
        written = text(item)
        if isinstance(item, Value):
            return operand(written, item.spec, isinstance(written, ExternalName))
        return operand(factor(repr(written)), None)

    def _param(self, name: str, value: Any, text: Callable[[Any], Any]) -> Any:
        return Text(self.dtype_text(value)) if name == "dtype" and isinstance(value, str) else text(value)

    def size(self, array: str, symbol: Symbol) -> str:
        # A symbol of any other kind is a number that the array holds.
        return f"{array}.shape[{symbol.axis}]" if symbol.kind == "size" else f"{array}.item()"

    def sizes(self, array: str) -> str:
        return f"{array}.shape"

    def spell(self, item: Any) -> str | None:
        return None

    def context(self, node: Node) -> str:
        return ""
