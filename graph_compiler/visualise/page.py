"""Self-contained HTML page of a graph: styles, scripts, libraries and data are embedded."""

from __future__ import annotations

import functools
import html as escaping
import itertools
import json
import linecache
import os
import re
import sys
import tempfile
import webbrowser
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import resources
from itertools import groupby
from pathlib import Path
from typing import Any, Generic, TypeVar

from ..ir.graph import GUARD, Guard
from ..ir.node import Node, Value, count_all, values_in
from ..ops.registry import ArraySpec
from ..passes import without_checks
from ..runtime.graph import Graph
from ..runtime.variant import Variant
from ..sizes import Size
from ..trees import iterate_structure, paths
from .summary import modules_of

# Patterns for the last part of an operation's name, by kind. The first one that matches decides.
_WORDS = (
    ("product", "conv|linear|matmul|mm$|einsum|dot|attention|lstm|gru|^rnn|bilinear|inner|outer|kron|addm"),
    ("normalisation", "norm|normali"),
    ("activation", "relu|gelu|elu$|silu|mish|softmax|softplus|sigmoid|tanh|swish|glu|soft_sign|shrink"
     "|threshold"),
    ("random", "random|dropout|bernoulli|rand|multinomial|threefry"),
    ("reduction", "pool|^interpolate|upsample|sum$|mean$|^max|^min|^var|^std|^prod|^all$|^any$|arg(max|min)"
     "|logsumexp|cum"),
    ("shape", "reshape|view|permute|transpose|flatten|squeeze|concat|^cat$|stack|split|chunk|expand|broadcast"
     "|pad$|flip|roll|tile|repeat|swapaxes|moveaxis"),
    ("lookup", "embedding|getitem|setitem|take|gather|scatter|index|where|mask|slice|one_hot|nonzero"),
    ("creation", "zeros|ones|full|arange|eye$|empty|linspace|asarray|astype|copy|clone|^to$|^type"),
)  # fmt: skip
_PATTERNS = tuple((kind, re.compile(words)) for kind, words in _WORDS)
KINDS = ("arithmetic", *(kind for kind, _ in _WORDS))


@functools.lru_cache(maxsize=4096)
def kind_of(op: str) -> str:
    """Return the kind of an operation, one of ``KINDS``.

    >>> kind_of("torch.nn.functional.linear"), kind_of("add")
    ('product', 'arithmetic')
    """
    name = op.rpartition(".")[2].lower()
    return next((kind for kind, words in _PATTERNS if words.search(name)), "arithmetic")


# Number of lines shown before and after a line.
AROUND = 4


def excerpts(places: Iterable[tuple[str, int]]) -> dict[str, dict[int, str]]:
    """Return the text of the lines at and around ``places``, by file and number.

    ``places`` are pairs of a file and a line number. Lines that are not found are left out.
    """
    wanted: dict[str, set[int]] = {}
    for file, line in set(places):
        wanted.setdefault(file, set()).update(range(max(1, line - AROUND), line + AROUND + 1))
    found = {}
    for file, numbers in wanted.items():
        lines = _lines(file)
        if texts := {
            number: lines[number - 1].rstrip() for number in sorted(numbers) if number <= len(lines)
        }:
            found[file] = texts
    return found


def _lines(file: str) -> list[str]:
    try:
        return linecache.getlines(file)
    except (OSError, ValueError, UnicodeError):
        return []


def short_name(file: str) -> str:
    """Return a short name of a source file, such as its path in ``site-packages``.

    >>> short_name("/opt/env/lib/python3.12/site-packages/transformers/models/bert/modeling_bert.py")
    'transformers/models/bert/modeling_bert.py'
    """
    _, found, inside = file.replace("\\", "/").rpartition("/site-packages/")
    if found:
        return inside
    try:
        return Path(file).relative_to(Path.cwd()).as_posix()
    except (ValueError, OSError):
        return Path(file).name if Path(file).is_absolute() else file


# A group of this size is laid out in some ten milliseconds and still readable.
MOST_CHILDREN = 64


@dataclass
class Group:
    """Group of items that the page can show as one box, usually the operations of a module.

    name: the name that is shown.
    path: path of the module; empty for the whole graph and for a part of a module.
    children: indices of items, and groups.
    """

    name: str
    path: str = ""
    children: list[Group | int] = field(default_factory=list)

    def items(self) -> Iterator[int]:
        for child in self.children:
            if isinstance(child, Group):
                yield from child.items()
            else:
                yield child

    def to_json(self) -> list[object]:
        return [self.name, self.path, list(_packed(self.children))]


def grouped(name: str, paths: Sequence[str], most: int = MOST_CHILDREN) -> Group:
    """Return the items ``0 .. len(paths) - 1``, grouped by the paths of their modules.

    A group with more than ``most`` children is split into parts.

    >>> grouped("net", ["", "a", "a.b", "a.b", "", "a"]).to_json()
    ['net', '', ['0-0', ['a', 'a', ['1-1', ['b', 'a.b', ['2-3']]]], '4-5']]
    """
    return _split(
        Group(
            name,
            "",
            _inside([(number, tuple(filter(None, path.split(".")))) for number, path in enumerate(paths)], 0),
        ),
        most,
    )


def _inside(items: Iterable[tuple[int, tuple[str, ...]]], depth: int) -> list[Group | int]:
    children: list[Group | int] = []
    for parts, run in groupby(items, key=lambda item: item[1][: depth + 1]):
        if len(parts) <= depth:
            children += [number for number, _ in run]
        else:
            children.append(_merge_only_child(Group(parts[depth], ".".join(parts), _inside(run, depth + 1))))
    return children


def _merge_only_child(group: Group) -> Group | int:
    if len(group.children) > 1:
        return group
    inner = group.children[0]
    return (
        Group(f"{group.name}.{inner.name}", inner.path, inner.children) if isinstance(inner, Group) else inner
    )


def _split(group: Group, most: int) -> Group:
    children = [_split(child, most) if isinstance(child, Group) else child for child in group.children]
    while len(children) > most:
        # Half of the limit gives few parts that are still readable.
        size = max(2, most // 2)
        starts = range(0, len(children), size)
        children = [
            _part(children[start : start + size], f"part {start // size + 1} of {len(starts)}")
            for start in starts
        ]
    return Group(group.name, group.path, children)


def _part(children: list[Group | int], name: str) -> Group | int:
    return children[0] if len(children) == 1 else Group(name, "", children)


def _packed(children: Sequence[Group | int]) -> Iterator[object]:
    run: list[int] = []
    for child in [*children, None]:
        if run and child != run[-1] + 1:
            yield f"{run[0]}-{run[-1]}"
            run = []
        if isinstance(child, Group):
            yield child.to_json()
        elif child is not None:
            run.append(child)


# The largest number of characters of a symbolic shape.
_LONGEST = 200


Entry = TypeVar("Entry", bound=Hashable)


class Table(Generic[Entry]):
    def __init__(self) -> None:
        self.entries: dict[Entry, int] = {}

    def number(self, entry: Entry) -> int:
        return self.entries.setdefault(entry, len(self.entries))

    def to_json(self) -> list[Entry]:
        return list(self.entries)


@dataclass
class ItemColumns:
    """Columns of a table with one row for each item: the inputs, the operations and the output.

    Entries of ``op``, ``name``, ``kind``, ``place``, ``specs`` and ``module`` are indices into the ``Table``
    of that column. Those of ``data`` and ``sized`` are indices of items, and those of ``held`` are indices
    into ``Description.arrays``.

    op: name of the call, input or output.
    name: label, such as the name of the first result.
    kind: kind of the item, such as ``"product"`` or ``"input"``.
    place: location in the user's code.
    line: line number in the generated source; 0 for inputs.
    specs: dtypes and shapes of the results.
    data: items whose arrays the item reads.
    held: parameters and constants that it reads.
    sized: items from which it reads sizes alone.
    module: path of the module.
    """

    op: list[int] = field(default_factory=list)
    name: list[int] = field(default_factory=list)
    kind: list[int] = field(default_factory=list)
    place: list[int] = field(default_factory=list)
    line: list[int] = field(default_factory=list)
    specs: list[list[int]] = field(default_factory=list)
    data: list[list[int]] = field(default_factory=list)
    held: list[list[int]] = field(default_factory=list)
    sized: list[list[int]] = field(default_factory=list)
    module: list[int] = field(default_factory=list)


class Description:
    """Builder of the JSON that describes one variant on the page. Each builder is used once."""

    def __init__(self, variant: Variant) -> None:
        self.variant, self.graph = variant, without_checks(variant.graph)
        self.items = ItemColumns()
        self.ops, self.names, self.kinds, self.modules = (
            Table[str](),
            Table[str](),
            Table[str](),
            Table[str](),
        )
        self.specs, self.places = Table[tuple[str, str]](), Table[tuple[str, int]]()
        self.maker: dict[Value, int] = {}
        self.held: dict[Value, int] = {}
        # Parameters and constants.
        self.arrays: list[list[Any]] = []

    def to_json(self) -> dict[str, Any]:
        self._held()
        self._inputs()
        for node, module, line in zip(self.graph.nodes, modules_of(self.graph), self._lines(), strict=True):
            self._node(node, module, line)
        self._output()
        places = [(file, line) for file, line in self.places.entries if file]
        texts, modules = excerpts(places), self.modules.to_json()
        files = list(dict.fromkeys(file for file, _ in places))
        return {
            "inputs": [f"{value.name} {value.dtype}{list(value.spec.hints)}" for value in self.graph.inputs],
            "why": self.variant.why,
            "root": grouped(self.graph.name, [modules[number] for number in self.items.module]).to_json(),
            "items": vars(self.items),
            "modules": modules,
            "ops": self.ops.to_json(),
            "names": self.names.to_json(),
            "kinds": self.kinds.to_json(),
            "specs": self.specs.to_json(),
            "places": [[files.index(file) if file else -1, line] for file, line in self.places.entries],
            "files": [{"name": short_name(file), "lines": texts.get(file, {})} for file in files],
            "arrays": self.arrays,
            "source": self.variant.source,
            "guards": [self._guard(guard) for guard in self.graph.guards],
            "state": list(self._state()),
        }

    def _lines(self) -> Iterator[int]:
        """Yield the line of the generated source for each node of ``self.graph``.

        The nodes of an inlined call have the line of the call.
        """
        for node, (line, _) in zip(self.variant.graph.nodes, self.variant.program.origins):
            # ``without_checks`` has inlined these calls.
            is_inlined = node.op == "call" and not (node.params["checkpoint"] or node.params["strong_zero"])
            count = sum(inner.op != GUARD for inner in node.regions[0].block.nodes) if is_inlined else 1
            yield from itertools.repeat(line, count)

    # ------------------------------------------------------------------------------ items
    def _held(self) -> None:
        groups = [
            ("parameter", self.graph.parameters.items()),
            ("constant", ((n, v) for n, (v, _) in self.graph.constants.items())),
        ]
        for kind, held in groups:
            for name, value in held:
                self.held[value] = len(self.arrays)
                self.arrays.append([name, kind, self._spec(value.spec)])

    def _inputs(self) -> None:
        given = len(list(paths(self.graph.input_tree)))
        for number, value in enumerate(self.graph.inputs):
            is_key = value is self.graph.randomness.key
            kind = "input" if number < given else "key" if is_key else "state"
            self._item((value,), kind, value.name, kind, "", ("", 0), 0, ())

    def _node(self, node: Node, module: str, line: int) -> None:
        origin = node.origin
        name = node.outputs[0].name if node.outputs else ""
        place = (origin.file, origin.line) if origin.file else ("", 0)
        self._item(
            node.outputs, node.op, name, kind_of(node.op), module, place, line, (node.inputs, node.params)
        )

    def _output(self) -> None:
        self._item(
            (), "output", "output", "output", "", ("", 0), self.variant.source.count("\n"), self.graph.outputs
        )

    def _item(
        self,
        made: Iterable[Value],
        op: str,
        name: str,
        kind: str,
        module: str,
        place: tuple[str, int],
        line: int,
        arguments: Any,
    ) -> None:
        items, number = self.items, len(self.items.op)
        for column, entry in (
            (items.op, self.ops.number(op)),
            (items.name, self.names.number(name)),
            (items.kind, self.kinds.number(kind)),
            (items.place, self.places.number(place)),
            (items.line, line),
            (items.module, self.modules.number(module)),
        ):
            column.append(entry)
        data, sized = _uses(arguments)
        items.data.append(self._makers(data))
        items.held.append([self.held[value] for value in data if value in self.held])
        items.sized.append(self._makers(value for value in sized if value not in data))
        items.specs.append([self._spec(value.spec) for value in made])
        self.maker.update((value, number) for value in made)

    def _makers(self, values: Iterable[Value]) -> list[int]:
        return list(dict.fromkeys(self.maker[value] for value in values if value in self.maker))

    def _spec(self, spec: ArraySpec) -> int:
        seen, symbols = f"{spec.dtype}{list(spec.hints)}", repr(spec)
        return self.specs.number((seen, "" if symbols == seen or len(symbols) > _LONGEST else symbols))

    # ------------------------------------------------------------------------------ guards and state
    def _guard(self, guard: Guard) -> list[Any]:
        used = values_in((guard.condition,))

        file = guard.origin.file
        text = str(guard).replace(file, short_name(file)) if file else str(guard)
        return [text, self._makers(used)]

    def _state(self) -> Iterator[list[Any]]:
        for effect in self.graph.effects:
            target = (
                self.graph.inputs[effect.target].name if isinstance(effect.target, int) else effect.target
            )
            yield [f"{effect.kind} {target}", self._makers((effect.value,))]
        told = {effect.target for effect in self.graph.effects}
        yield from ([f"buffer {name}", []] for name in sorted(self.variant.written_buffers() - told))
        named = {
            value.name: number for value, number in self.maker.items() if number < len(self.graph.inputs)
        }
        for place in self.variant.state.kept() if self.variant.state else ():
            yield [f"kept in {place.name}", [named[place.name]] if place.name in named else []]


def _uses(arguments: Any) -> tuple[dict[Value, None], dict[Value, None]]:
    data: dict[Value, None] = {}
    sized: dict[Value, None] = {}
    for item in iterate_structure(arguments):
        if isinstance(item, Value):
            data[item] = None
        elif isinstance(item, Size):
            sized.update((symbol.source, None) for symbol in item.symbols())
    return data, sized


def describe(variant: Variant) -> dict[str, Any]:
    return Description(variant).to_json()


__all__ = ["Graph", "describe"]


_LIBRARIES = ("vendor/d3.min.js", "vendor/dagre.min.js")
_SCRIPTS = ("model.js", "layout.js", "drawing.js", "panel.js", "page.js")


def html(graph: Graph) -> str:
    frontend = graph._pipeline.frontend.name
    data = {
        "name": graph.name,
        "from": frontend,
        "to": graph._pipeline.target.name,
        "variants": [describe(variant) for variant in graph.variants],
    }
    scripts = "\n".join(_asset(name) for name in _SCRIPTS)
    parts = {
        "title": escaping.escape(f"{graph.name}: {frontend} to {data['to']}"),
        "styles": _asset("page.css"),
        "libraries": "\n".join(f"<script>{_asset(name)}</script>" for name in _LIBRARIES),
        "data": _embedded(data),
        "scripts": f'<script>"use strict";(() => {{\n{scripts}\n}})();</script>',
    }
    text = _asset("page.html")
    for name, part in parts.items():
        before, _, after = text.partition(f"<!-- {name} -->")
        text = f"{before}{part}{after}"
    return text


def _embedded(data: Any) -> str:
    # A "</script>" in the data would end the script element.
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")


@functools.cache
def _asset(name: str) -> str:
    return resources.files(__package__).joinpath("assets", *name.split("/")).read_text("utf-8")


# Limit in characters, because the page becomes part of the notebook's file.
_LARGEST_IN_NOTEBOOK = 8 << 20
_MOST_LINES = 200


def show(graph: Graph, path: str | os.PathLike[str] | None, open: bool | None) -> Path:
    """Write the page, open it if wanted, and return its path; see :meth:`graph_compiler.Graph.show`."""
    text = html(graph)
    file = (
        Path(path)
        if path is not None
        else Path(tempfile.mkdtemp(prefix="graph_compiler_")) / f"{_file_name(graph.name)}.html"
    )
    file.write_text(text, "utf-8")
    file = file.resolve()
    if open or (open is None and path is None and _somebody_looks()):
        _open(text, file)
    return file


def _open(text: str, file: Path) -> None:
    if not (_in_notebook() and _shown_in_notebook(text)):
        webbrowser.open(file.as_uri())


def notebook_html(graph: Graph) -> str:
    """Return the HTML of a graph for a notebook cell: its ``repr``, and the source of each variant.

    Only the first lines of a long source are shown.
    """
    head = escaping.escape(repr(graph))
    parts = [f"<code>{head}</code>"]
    for number, variant in enumerate(graph.variants):
        lines = variant.source.splitlines()
        more = (
            f"\n… {len(lines) - _MOST_LINES} more lines: see .variants[{number}].source"
            if len(lines) > _MOST_LINES
            else ""
        )
        inputs = ", ".join(
            f"{value.name} {value.dtype}{list(value.spec.hints)}" for value in variant.graph.inputs
        )
        title = escaping.escape(
            f"variant {number}: {inputs or 'no arrays'}; {count_all(variant.graph.nodes)} operations"
        )
        text = escaping.escape("\n".join(lines[:_MOST_LINES]) + more)
        parts.append(f"<details><summary>{title}</summary><pre>{text}</pre></details>")
    return (
        f"<div>{''.join(parts)}<small><code>.show()</code> draws it, <code>.summary()</code> counts "
        "it</small></div>"
    )


def _file_name(name: str) -> str:
    return re.sub(r"[^\w.-]+", "_", name).strip("._")[:80] or "graph"


def _in_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    # IPython in a terminal has no kernel.
    return getattr(shell, "kernel", None) is not None


def _somebody_looks() -> bool:
    if _in_notebook():
        return True
    has_screen = sys.platform in ("win32", "darwin") or bool(
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    )
    return has_screen and sys.stdout is not None and sys.stdout.isatty() and not os.environ.get("CI")


def _shown_in_notebook(text: str) -> bool:
    if len(text) > _LARGEST_IN_NOTEBOOK:
        return False
    from importlib import import_module

    display = import_module("IPython.display")
    frame = (
        f'<iframe srcdoc="{escaping.escape(text)}" style="width: 100%; height: 640px; border: 0"></iframe>'
    )
    display.display(display.HTML(frame))
    return True
