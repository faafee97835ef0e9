"""Table of the modules of a graph, with their statistics and numbers of multiply-adds."""

from __future__ import annotations

import functools
import html as escaping
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from ..contracts import Weights
from ..errors import InvalidOption, UnsupportedOperation
from ..ir.graph import Graph as IRGraph
from ..ir.node import Node, Value, count_all, values_in
from ..passes import without_checks
from ..runtime.graph import Graph
from ..runtime.options import short_repr
from ..runtime.variant import Variant, VariantRecording
from ..sizes import hint_of

# ---------------------------------------------------------------------------------------------- multiply adds
# Numbers of multiply-adds per operation, at the sizes of the recording.
#
# Elementwise operations, reductions, normalisations and lookups count 0, as is usual when models are
# compared. Scans count all iterations. Branches count as the most expensive one.

Shape = tuple[int, ...]


def _attention(out: Shape, query: Shape, key: Shape, value: Shape, *rest: Shape, **params: Any) -> int:
    return math.prod(out[:-1]) * key[-2] * (query[-1] + value[-1])


def _recurrent(out: Shape, x: Shape, hidden: Shape, ih: Shape, hh: Shape, *rest: Any, **params: Any) -> int:
    return _steps(x, ih, hh)


def _steps(x: Shape, *weights: Shape) -> int:
    return math.prod(x[:-1]) * sum(map(math.prod, weights))


def _multi_dot(out: Shape, *shapes: Shape) -> int:
    """Return the number of multiply-adds for the cheapest order of the products."""
    first, *_, end = shapes
    sizes = [
        first[0] if len(first) == 2 else 1,
        *(shape[-1] for shape in shapes[:-1]),
        end[1] if len(end) == 2 else 1,
    ]

    @functools.cache
    def least(i: int, j: int) -> int:
        return min(
            (least(i, k) + least(k, j) + sizes[i] * sizes[k] * sizes[j] for k in range(i + 1, j)), default=0
        )

    return least(0, len(shapes))


def _einsum(out: Shape, *shapes: Shape, equation: str) -> int:
    """Estimate the multiply-adds of an einsum that contracts its operands in pairs, from the left."""
    left, _, result = equation.replace(" ", "").partition("->")
    terms = [_labels(term, len(shape)) for term, shape in zip(left.split(","), shapes)]
    sizes: dict[str, Any] = {}
    for term, shape in zip(terms, shapes):
        for label, size in zip(term, shape):
            # An axis of size 1 broadcasts.
            sizes[label] = size if sizes.get(label, 1) == 1 else sizes[label]
    kept, total = set(terms[0]), 0
    for number, term in enumerate(terms[1:], 1):
        both = kept | set(term)
        total += math.prod(sizes[label] for label in both)
        kept = both & {*itertools.chain(*terms[number + 1 :]), *_labels(result, len(out))}
    return total


def _labels(term: str, ndim: int) -> list[str]:
    """Return the labels of the axes of a term. Axes of ``...`` are numbered from the right."""
    before, dots, after = term.partition("...")
    return (
        [*before, *(f"...{place}" for place in range(ndim - len(before) - len(after), 0, -1)), *after]
        if dots
        else [*term]
    )


RULES: dict[str, Callable[..., int]] = {
    "linear": lambda out, x, weight, *rest: math.prod(out) * weight[-1],
    "bilinear": lambda out, x1, x2, weight, *rest: math.prod(out) * weight[-1] * weight[-2],
    "grouped_matmul": lambda out, x, weight, *rest: math.prod(x) * weight[-1],
    "matmul": lambda out, x1, x2: math.prod(out) * x1[-1],
    "conv": lambda out, x, weight, *rest, **params: math.prod(out) * math.prod(weight[1:]),
    "conv_channels_last": lambda out, x, kernel, *rest, **params: math.prod(out) * math.prod(kernel[:-1]),
    "conv_transpose": lambda out, x, weight, *rest, **params: math.prod(x) * math.prod(weight[1:]),
    "scaled_dot_product_attention": _attention,
    "lstm": lambda out, x, h, c, ih, hh, b=None, d=None, hr=None, *rest, **params: _steps(
        x, ih, hh, *((hr,) if hr else ())
    ),
    "gru": _recurrent,
    "rnn": _recurrent,
    "tensordot": lambda out, x1, x2, *, axes: math.prod(out) * math.prod(x1[axis] for axis in axes[0]),
    "vecdot": lambda out, x1, x2, *, axis=-1: math.prod(out) * x1[axis],
    "inner": lambda out, x1, x2: math.prod(out) * (x1[-1] if x1 and x2 else 1),
    "multi_dot": _multi_dot,
    "einsum": _einsum,
}


def multiply_adds(node: Node) -> int | None:
    """Return the number of multiply-adds that ``RULES`` count in a node, or None if it is unknown."""
    if node.regions:
        return _of_blocks(node)
    rule = RULES.get(node.op)
    return rule(node.outputs[0].spec.hints, *_shapes(node.inputs), **node.params) if rule else 0


def _of_blocks(node: Node) -> int | None:
    each = [_sum(map(multiply_adds, region.block.nodes)) for region in node.regions]
    if node.op == "while_loop":
        return 0 if not any(each) and None not in each else None
    if node.op == "custom_derivative":
        # The first region is the function. The others only compute derivatives.
        return each[0]
    if None in each:
        return None
    return int(max(count or 0 for count in each) * _times(node))


def _times(node: Node) -> Fraction:
    """Return the factor for the multiply-adds in the regions of a node.

    A region of ``associative_scan`` combines many pairs at once, so its factor may be a fraction.
    """
    if node.op != "associative_scan":
        return Fraction(hint_of(node.params.get("length", 1)))
    axis, pair = node.params["axis"], node.regions[0].block.inputs[0]
    elements: int = node.outputs[0].spec.hints[axis]
    # Elements are first combined in pairs, then those at even indices with the results.
    combined = max(2 * elements - elements.bit_length() - 1, 0)
    return Fraction(combined, max(pair.spec.hints[axis], 1))


def _sum(counts: Iterable[int | None]) -> int | None:
    total = 0
    for count in counts:
        if count is None:
            return None
        total += count
    return total


def _shapes(inputs: Iterable[Any]) -> Sequence[Any]:
    return [item.spec.hints if isinstance(item, Value) else None for item in inputs]


# ---------------------------------------------------------------------------------------------------- modules
# Statistics of the modules of a graph. Each module includes its submodules.


def modules_of(graph: IRGraph) -> list[str]:
    """Return the module path of each of ``graph.nodes``, empty where none is known.

    If the framework reports no modules, they are guessed from the parameters that operations read.
    """
    told = [node.origin.module for node in graph.nodes]
    if any(told) or not graph.parameters:
        return told
    # Some frameworks do not report the running module. Then an operation belongs to the innermost module with
    # all parameters that it reads.
    # Values that are computed from parameters alone are added below.
    weights: dict[Value, str] = {value: name.rpartition(".")[0] for name, value in graph.parameters.items()}
    of: dict[Value, str] = {}
    paths = []
    for node in graph.nodes:
        own = [weights[value] for value in node.uses if value in weights]
        others = {weights.get(value, of.get(value, "")) for value in node.uses}
        path = _shared(own) if own else others.pop() if len(others) == 1 and len(node.uses) > 1 else ""
        made = weights if own and len(own) == len(node.uses) else of
        made.update((value, path) for value in node.outputs)
        paths.append(path)
    return paths


def _shared(paths: Sequence[str]) -> str:
    """Return the parts that dotted ``paths`` have in common at their beginning.

    >>> _shared(["layers.0.query", "layers.0.key"]), _shared(["a", "b"])
    ('layers.0', '')
    """
    together = itertools.takewhile(
        lambda parts: len(set(parts)) == 1, zip(*(path.split(".") for path in paths))
    )
    return ".".join(parts[0] for parts in together)


_MOST_OUTPUTS = 3


@dataclass(frozen=True)
class ModuleRow:
    """Statistics of one module.

    path: path of the module; empty for the whole graph.
    kind: name of its class; empty for a function, and if the module is not found.
    depth: 0 for the whole graph, 1 for a module directly in it, and so on.
    operations: number of operations. Those in loops and branches count once.
    outputs: distinct specs of its output arrays, as ``"float32[2, 4]"``; ``"…"`` after the third if there are
        more.
    parameters: number of elements of its parameters and buffers in the graph.
    trained: number of these elements that are trained; all if it is unknown which are.
    multiply_adds: number of multiply-adds; None if it is unknown.
    """

    path: str
    kind: str
    depth: int
    operations: int
    outputs: tuple[str, ...]
    parameters: int
    trained: int
    multiply_adds: int | None

    @property
    def name(self) -> str:
        return self.path.rpartition(".")[2]


def rows_of(graph: Graph, variant: Variant) -> list[ModuleRow]:
    """Return a row for the whole graph, then rows for its modules, each after the one that contains it."""
    program, counted = without_checks(variant.graph), _multiply_adds(graph, variant)
    modules = modules_of(program)
    operations = _sum_submodules(_operations(program, modules))
    outputs, arrays = _outputs(program, modules), _parameters(program, variant.recording)
    rows = []
    for path in _in_order(modules):
        inside = [found for name, found in arrays.items() if not path or f"{name}.".startswith(f"{path}.")]
        elements, trained = (
            sum(size for size, _ in inside),
            sum(size for size, is_trained in inside if is_trained),
        )
        shapes = outputs.get(path, ())
        depth = path.count(".") + 1 if path else 0
        kind = _kind_of(graph._pipeline.function, path)
        rows.append(
            ModuleRow(
                path,
                kind,
                depth,
                operations[path],
                shapes,
                elements,
                trained,
                None if counted is None else counted.get(path, 0),
            )
        )
    return rows


def _prefixes(path: str) -> list[str]:
    parts = path.split(".") if path else []
    return [".".join(parts[:depth]) for depth in range(len(parts) + 1)]


def _in_order(modules: Sequence[str]) -> list[str]:
    tree: dict[str, Any] = {}
    for path in dict.fromkeys(modules):
        place = tree
        for part in path.split(".") if path else ():
            place = place.setdefault(part, {})

    def walk(place: Mapping[str, Any], path: str) -> Iterator[str]:
        yield path
        for part, inner in place.items():
            yield from walk(inner, f"{path}.{part}" if path else part)

    return list(walk(tree, ""))


def _sum_submodules(counts: Mapping[str, int]) -> Counter[str]:
    total: Counter[str] = Counter()
    for path, count in counts.items():
        total.update(dict.fromkeys(_prefixes(path), count))
    return total


def _operations(graph: IRGraph, modules: Sequence[str]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for node, path in zip(graph.nodes, modules):
        counts[path] += count_all([node])
    return counts


def _multiply_adds(graph: Graph, variant: Variant) -> Mapping[str, int | None] | None:
    """Return the multiply-adds by module path, or None if they cannot be counted.

    A module whose number is unknown has None.
    """
    recorded = variant.recording.graph if variant.recording is not None else variant.graph
    try:
        canonical = (
            recorded if recorded.dialect == "canonical" else graph._pipeline.frontend.lift_graph(recorded)
        )
    except UnsupportedOperation:
        return None
    canonical = without_checks(canonical)
    counts: Counter[str] = Counter()
    unknown: set[str] = set()
    for node, path in zip(canonical.nodes, modules_of(canonical)):
        count = multiply_adds(node)
        if count is None:
            unknown.update(_prefixes(path))
        counts[path] += count or 0
    return {**_sum_submodules(counts), **dict.fromkeys(unknown)}


def _outputs(graph: IRGraph, modules: Sequence[str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[Value, None]] = {"": dict.fromkeys(values_in(graph.outputs))}
    of = dict(zip(graph.nodes, modules))
    made_in = {value: path for node, path in of.items() for value in node.outputs}
    uses = [(path, node.uses) for node, path in of.items()] + [("", tuple(values_in(graph.outputs)))]
    for user, values in uses:
        inside = set(_prefixes(user))
        for value in values:
            for path in _prefixes(made_in[value]) if value in made_in else ():
                if path not in inside:
                    found.setdefault(path, {})[value] = None
    return {path: _format_specs(values) for path, values in found.items()}


def _format_specs(values: Mapping[Value, None]) -> tuple[str, ...]:
    shapes = list(dict.fromkeys(f"{value.dtype}{list(value.spec.hints)}" for value in values))
    return tuple(shapes[:_MOST_OUTPUTS]) + (("…",) if len(shapes) > _MOST_OUTPUTS else ())


def _parameters(graph: IRGraph, recording: VariantRecording | None) -> dict[str, tuple[int, bool]]:
    weights = None if recording is None else recording.weights
    return {
        # Without a recording, nothing tells parameters from buffers.
        name: (math.prod(value.spec.hints), weights is None or _is_trained(weights, name))
        for name, value in graph.parameters.items()
    }


def _is_trained(weights: Weights, name: str) -> bool:
    return weights.is_trained(name) and not weights.is_frozen(name)


def _kind_of(function: Any, path: str) -> str:
    found = getattr(function, "__self__", function)
    for part in path.split(".") if path else ():
        found = (
            getattr(found, part, None) if not isinstance(found, (list, tuple, dict)) else _item(found, part)
        )
        if found is None:
            return ""
    # The class of a function says nothing.
    return "" if hasattr(found, "__name__") or not path and found is not function else type(found).__name__


def _item(held: Any, part: str) -> Any:
    try:
        return held[part] if isinstance(held, dict) else held[int(part)]
    except (KeyError, IndexError, ValueError):
        return None


# ---------------------------------------------------------------------------------------------------- summary
_HEADS = ("module", "class", "operations", "output", "parameters", "multiply-adds")
# Right-aligned columns.
_NUMBERS = (2, 4, 5)
# This column may need several lines.
_OUTPUT = 3
_UNITS = ((1_000_000_000_000, "T"), (1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k"))


class Summary:
    """Table of the modules of one variant. The text has at most ``depth`` levels (None: all) below the graph.

    ``rows`` has all levels; the first row is the whole graph.

    >>> import torch, graph_compiler
    >>> model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    >>> print(graph_compiler.compile(model, args=(torch.ones(5, 3),)).summary())
    Sequential, recorded in torch with input float32[5, 3]
    module      class       operations  output         parameters  multiply-adds
    ----------------------------------------------------------------------------
    Sequential  Sequential           3  float32[5, 2]          26            100
      0         Linear               1  float32[5, 4]          16             60
      1         ReLU                 1  float32[5, 4]           0              0
      2         Linear               1  float32[5, 2]          10             40
    ----------------------------------------------------------------------------
    3 operations; 26 parameters, 26 of them trained; 100 multiply-adds
    """

    def __init__(self, graph: Graph, number: int = 0, depth: int | None = None) -> None:
        variant = graph.variants[number]
        self.name, self.depth = graph.name, depth
        self.rows: Sequence[ModuleRow] = tuple(rows_of(graph, variant))
        source, target = graph._pipeline.frontend.name, graph._pipeline.target.name
        inputs = (
            ", ".join(f"{value.name} {value.dtype}{list(value.spec.hints)}" for value in variant.graph.inputs)
            or "no arrays"
        )
        for_target = f", written for {target}," if target != source else ""
        self.title = f"{graph.name}, recorded in {source}{for_target} with {inputs}"

    @property
    def total(self) -> ModuleRow:
        return self.rows[0]

    def to_dicts(self) -> list[dict[str, Any]]:
        return [asdict(row) for row in self.rows]

    # ------------------------------------------------------------------------------ text
    def _cells(self) -> list[tuple[str, ...]]:
        shown = [row for row in self.rows if self.depth is None or row.depth <= self.depth]
        return [
            (
                "  " * row.depth + (row.name or self.name),
                row.kind,
                f"{row.operations:,}",
                ", ".join(row.outputs),
                f"{row.parameters:,}",
                format_count(row.multiply_adds),
            )
            for row in shown
        ]

    @property
    def footer(self) -> str:
        total = self.total
        operations = f"{total.operations:,} operation{'' if total.operations == 1 else 's'}"
        sums = (
            "calls that cannot be counted"
            if total.multiply_adds is None
            else f"{total.multiply_adds:,} multiply-adds"
        )
        return f"{operations}; {total.parameters:,} parameters, {total.trained:,} of them trained; {sums}"

    def __str__(self) -> str:
        cells = [_HEADS, *self._cells()]
        widths = [max(len(row[column]) for row in cells) for column in range(len(_HEADS))]
        aligned = [str.rjust if column in _NUMBERS else str.ljust for column in range(len(widths))]
        lines = [
            "  ".join(align(cell, width) for align, cell, width in zip(aligned, row, widths)).rstrip()
            for row in cells
        ]
        rule = "-" * max(map(len, lines))
        return "\n".join([self.title, lines[0], rule, *lines[1:], rule, self.footer])

    __repr__ = __str__

    def __rich__(self) -> Any:
        from rich.box import SIMPLE_HEAD
        from rich.table import Table
        from rich.text import Text

        table = Table(
            title=Text(self.title),
            caption=Text(self.footer),
            title_justify="left",
            caption_justify="left",
            box=SIMPLE_HEAD,
        )
        cells = self._cells()
        shown = [column for column, head in enumerate(_HEADS) if any(row[column] for row in cells)]
        for column in shown:
            table.add_column(
                _HEADS[column],
                justify="right" if column in _NUMBERS else "left",
                no_wrap=column != _OUTPUT,
                overflow="fold",
            )
        for row in cells:
            table.add_row(*(Text(row[column]) for column in shown))
        return table

    def _repr_html_(self) -> str:
        def row(cells: Sequence[str], tag: str) -> str:
            styles = ("right" if column in _NUMBERS else "left" for column in range(len(cells)))
            inside = (
                f'<{tag} style="text-align:{style};white-space:pre">{escaping.escape(cell)}</{tag}>'
                for cell, style in zip(cells, styles)
            )
            return f"<tr>{''.join(inside)}</tr>"

        lines = [row(_HEADS, "th"), *(row(cells, "td") for cells in self._cells())]
        title, footer = escaping.escape(self.title), escaping.escape(self.footer)
        return f"<p>{title}</p><table>{''.join(lines)}</table><p>{footer}</p>"


def format_count(number: int | None) -> str:
    """Return a number of multiply-adds as a short text, or ``"?"`` for None.

    >>> format_count(4_089_184_256), format_count(52_340), format_count(960), format_count(None)
    ('4.09 G', '52.3 k', '960', '?')
    """
    if number is None:
        return "?"
    if number < 10_000:
        return f"{number:,}"
    # The unit is that of the rounded number: 999,999 is 1 M.
    rounded = float(f"{number:.3g}")
    return next(f"{rounded / unit:g} {letter}" for unit, letter in _UNITS if rounded >= unit)


def summary(graph: Graph, depth: int | None = None, variant: int = 0) -> Summary:
    """Return the table of a graph's modules; see :meth:`graph_compiler.Graph.summary`.

    Raise ``InvalidOption`` if ``depth`` is negative, or if there is no ``variant`` of this number.
    """
    if depth is not None and (type(depth) is not int or depth < 0):
        raise InvalidOption(
            f"depth= is {short_repr(depth)}, and has to be how many levels of modules are shown, or "
            "None for all"
        )
    if type(variant) is not int or not 0 <= variant < len(graph.variants):
        raise InvalidOption(
            f"variant= is {short_repr(variant)}, and {graph.name} has the variants 0 to "
            f"{len(graph.variants) - 1}"
        )
    return Summary(graph, variant, depth)
