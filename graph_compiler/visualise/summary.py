"""Table of the modules of a graph: as text, as a table of rich or HTML, and as data."""

from __future__ import annotations

import html as escaping
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from ..errors import InvalidOption
from ..runtime.graph import Graph
from ..runtime.options import short_repr
from .modules import ModuleRow, rows_of

_HEADS = ("module", "class", "operations", "output", "parameters", "multiply-adds")
# Right-aligned columns.
_NUMBERS = (2, 4, 5)
# This column may need several lines.
_OUTPUT = 3
_UNITS = ((1_000_000_000_000, "T"), (1_000_000_000, "G"), (1_000_000, "M"), (10_000, "k"))


class Summary:
    """Table of the modules of one variant, down to `depth` levels.

    `rows` has all modules; the first row is the whole graph.

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
        source, target = graph.pipeline.frontend.name, graph.pipeline.target.name
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
    """Return a number of multiply-adds as text.

    >>> format_count(4_089_184_256), format_count(960), format_count(None)
    ('4.09 G', '960', '?')
    """
    if number is None:
        return "?"
    return next((f"{number / unit:.3g} {letter}" for unit, letter in _UNITS if number >= unit), f"{number:,}")


def summary(graph: Graph, depth: int | None = None, variant: int = 0) -> Summary:
    """Return the table; see :meth:`graph_compiler.Graph.summary`.

    Raise `InvalidOption` for a depth or variant that does not exist.
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
