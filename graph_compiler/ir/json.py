"""Graphs as JSON, without the arrays of parameters and constants. Decoding runs no code from the data.

Arguments that JSON cannot express carry a tag: ``{"!": "tuple", "v": [...]}``, ``{"!": "value", "v":
3}``, ``{"!": "size", "v": [...]}``. Values are indices into a table of values. Framework objects such as
dtypes and devices are converted by the caller's ``spell`` and ``read``.
"""

from __future__ import annotations

import collections
import dataclasses
import enum
import importlib
import logging
import math
import re
import sys
import types
from collections.abc import Callable, Mapping
from itertools import zip_longest
from typing import Any

import numpy as np

from ..errors import InvalidFile
from ..ops.dtypes import DTYPES
from ..ops.registry import ArraySpec
from ..registration import trait
from ..sizes import FUNCTIONS, Apply, Size, Symbol
from ..trees import Branch, Fixed, Leaf, Setting, Static, Tree, TypedLeaf, stand_in
from .assumption import Assumption
from .graph import Effect, Graph, Guard, Randomness, TargetDemands
from .node import DEEPEST, Block, CallRecord, Node, Origin, Region, Value

_PLAIN: dict[str, type] = {
    "tuple": tuple,
    "list": list,
    "dict": dict,
    "OrderedDict": collections.OrderedDict,
    "defaultdict": collections.defaultdict,
    "deque": collections.deque,
}
# bfloat16 is a dtype of a package that may be missing.
_NUMBERS: dict[str, type] = {
    "int": int,
    "float": float,
    **{name: np.dtype(name).type for name in DTYPES if name != "bfloat16"},
}
_NAMES_OF_NUMBERS = {cls: name for name, cls in _NUMBERS.items()}
log = logging.getLogger("graph_compiler")


def tree_to_json(tree: Tree, item: Callable[[Any], Any]) -> Any:
    """Return the JSON form of a tree. ``item`` encodes keys, and static values other than classes."""
    if isinstance(tree, Leaf):
        return (
            {"number": _NAMES_OF_NUMBERS[tree.type]}
            if isinstance(tree, TypedLeaf) and tree.type in _NAMES_OF_NUMBERS
            else "*"
        )
    if isinstance(tree, Static):
        fixed = isinstance(tree.value, Fixed)
        value = tree.value.value if fixed else tree.value
        return (
            {"of_class": _name_of(value)}
            if isinstance(value, type) and not fixed
            else {"fixed" if fixed else "static": item(value)}
        )
    items = [(key, child) for key, child in zip(tree.keys, tree.children) if not isinstance(key, Setting)]
    children = [tree_to_json(child, item) for _, child in items]
    cls = tree.type
    return {
        "class": _name_of(cls),
        "form": _form(cls),
        "keys": [item(key) for key, _ in items],
        "children": children,
        **_setting_to_json(tree),
    }


def _setting_to_json(tree: Branch) -> dict[str, Any]:
    for key, child in zip(tree.keys, tree.children):
        # A setting may be code, which is not saved.
        if isinstance(key, Setting) and isinstance(child, Static) and isinstance(child.value, (int, type)):
            return {"setting": _name_of(child.value) if isinstance(child.value, type) else child.value}
    return {}


def _name_of(cls: type) -> str:
    return cls.__name__ if _PLAIN.get(cls.__name__) is cls else f"{cls.__module__}:{cls.__qualname__}"


def _form(cls: type) -> str:
    if issubclass(cls, tuple):
        return "namedtuple" if hasattr(cls, "_fields") or hasattr(cls, "n_sequence_fields") else "tuple"
    return "list" if issubclass(cls, (list, collections.deque)) else "dict"


def tree_from_json(data: Any, item: Callable[[Any], Any], known: KnownClasses) -> Tree:
    """Return the tree that has the JSON form ``data``. ``item`` decodes keys and static values.

    Plain containers or new named tuples replace those of unknown classes. Malformed data may raise an error
    other than ``InvalidFile``, such as ``KeyError``.
    """
    if data == "*":
        return Leaf()
    if not isinstance(data, dict):
        raise InvalidFile("a tree is not of the right form")
    if "number" in data:
        cls = _NUMBERS.get(data["number"]) if isinstance(data["number"], str) else None
        if cls is None:
            raise InvalidFile(f"{data['number']!r:.80} is no class of numbers")
        return TypedLeaf(cls)
    if "static" in data:
        return Static(item(data["static"]))
    if "of_class" in data:
        return Static(_named_class(data["of_class"], known))
    if "fixed" in data:
        return Static(Fixed(item(data["fixed"])))
    keys = tuple(map(item, data["keys"]))
    children = tuple(tree_from_json(child, item, known) for child in data["children"])
    if len(keys) != len(children):
        raise InvalidFile("a tree has other keys than children")
    cls = _class(data["class"], data["form"], keys, known)
    if issubclass(cls, collections.deque):
        keys = (Setting("maxlen"), *range(len(children)))
        children = (Static(_maxlen(data.get("setting"))), *children)
    elif issubclass(cls, collections.defaultdict):
        keys = (Setting("default_factory"), *keys)
        children = (Static(_known_class(data.get("setting"), known)), *children)
    are_fields = dataclasses.is_dataclass(cls) and not issubclass(
        cls, (Mapping, tuple, list, collections.deque)
    )
    # The matcher writes the names of fields into code.
    if are_fields and not all(isinstance(key, str) and key.isidentifier() for key in keys):
        raise InvalidFile(f"the fields of {cls.__name__} have names that are none")
    return Branch(cls, keys, children)


def _maxlen(data: Any) -> int | None:
    if data is not None and (type(data) is not int or not 0 <= data < _MOST):
        raise InvalidFile(f"{data!r:.80} is no length of a deque")
    return data


def _class(name: Any, form: Any, keys: tuple[Any, ...], known: KnownClasses) -> type:
    if not isinstance(name, str):
        raise InvalidFile(f"{name!r} is no class")
    if name in _PLAIN:
        return _PLAIN[name]
    module, _, qualified = name.partition(":")
    found = known(module, qualified)
    if found is not None:
        return found
    known.note_unknown(module, qualified, form)
    if form == "namedtuple":
        return _namedtuple(qualified, keys)
    return {"tuple": tuple, "list": list}.get(form, dict)


def _named_class(name: Any, known: KnownClasses) -> type:
    found = _known_class(name, known)
    if found is None:
        module, _, qualified = name.partition(":") if isinstance(name, str) else ("", "", "")
        # No other class can replace one that is itself a value.
        raise InvalidFile(
            f"the class {qualified or name} of {module}, which is not known here; import its module before"
        )
    return found


def _known_class(name: Any, known: KnownClasses) -> type | None:
    module, _, qualified = name.partition(":") if isinstance(name, str) else ("", "", "")
    return _PLAIN.get(module) if not qualified else known.value(module, qualified)


def _namedtuple(name: str, keys: tuple[Any, ...]) -> type:
    try:
        return stand_in(name.rpartition(".")[2], [str(key) for key in keys])
    except ValueError:
        return tuple


class KnownClasses:
    """Lookup of the classes that a file may name. A call returns the class for a module and name, or None.

    Files are not trusted, so a module is imported only if it is known to define results or to be harmless.

    given: the only classes to find, by module and name; None to search modules.
    """

    def __init__(self, given: Mapping[tuple[str, str], type] | None = None) -> None:
        self._given = given
        self._unknown: set[tuple[str, str]] = set()

    def __call__(self, module: str, name: str) -> type | None:
        if self._given is not None:
            return self._given.get((module, name))
        is_trusted = module.startswith(trait("results"))
        found = _class_in(_imported(module) if is_trusted else sys.modules.get(module), module, name)
        if found is None:
            return None
        is_pythons = module.partition(".")[0] in sys.stdlib_module_names
        is_plain = issubclass(found, tuple) or (
            issubclass(found, Mapping) and dataclasses.is_dataclass(found)
        )
        takes = (
            (is_plain or is_trusted or not is_pythons)
            and not hasattr(found, "__del__")
            and not issubclass(found, _NEVER)
        )
        return found if takes else None

    def value(self, module: str, name: str) -> type | None:
        """Return the class for a module and name if it may be used as a value; None otherwise."""
        # No object of the class is made, so it may be any class of these modules.
        if self._given is None and module in _HARMLESS:
            return _class_in(_imported(module), module, name)
        return self(module, name)

    def note_unknown(self, module: str, name: str, form: Any) -> None:
        if (module, name) not in self._unknown:
            self._unknown.add((module, name))
            log.warning(
                "the file holds a %s, which is not known here; a plain %s is used in its place. Import "
                "%s before, where it has the "
                "class under this name",
                name, form, module,
            )  # fmt: skip


# Instances of these are neither containers nor plain objects with attributes.
_NEVER = (type, BaseException, types.ModuleType, enum.Enum)
# Modules of Python whose classes only compute, even if the user calls one that a graph returns.
_HARMLESS = frozenset({"builtins", "collections", "datetime", "decimal", "fractions", "uuid"})


def _class_in(source: Any, module: str, name: str) -> type | None:
    for part in name.split("."):
        source = getattr(source, part, None)
    # A module may import the class of another one under its name, which would evade the check of the module.
    is_own = isinstance(source, type) and (source.__module__, source.__qualname__) == (module, name)
    return source if is_own else None


def _imported(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        return None


Spell = Callable[[Any], "str | None"]
Read = Callable[[str], Any]
# Safe in a comment, a docstring and a quoted message.
LINE = re.compile(r"[^\"\\\x00-\x1f\x7f\u0085\u2028\u2029]*")
NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
# Dtypes of random keys name their generator: ``key<fry>``.
DTYPE = re.compile(r"[A-Za-z_]\w*(<\w+>)?", re.ASCII)
# Names of weights and functions may have letters of any alphabet.
KEY = re.compile(r"[\w.\-/ :]+")
_MOST = 1 << 48
# Limits of one size, because files are not trusted.
_MOST_TERMS, _MOST_FACTORS = 1000, 64
# Boolean fields of ``CallRecord`` that are saved, by their names in files.
_FLAGS = {
    "no_grad": "no_grad",
    "aside": "is_detached_write",
    "random": "random",
    "strided": "strided",
    "weak": "weak",
    "read": "is_host_number",
}
_RECORDED = {"result": "result", "writes": "writes", "views": "views", "errstate": "errstate", **_FLAGS}
# Arguments of ``numpy.errstate``, which are written into source, so a file may have no others.
_ERRORS = ("divide", "over", "under", "invalid")
_ERROR_MODES = ("ignore", "warn", "raise", "call", "print", "log")
_KINDS = ("size", "stride", "item", "number")
# A large exponent in a file that is not trusted could make a number that fills the memory.
_HAS_SMALL_NUMBERS = frozenset({"pow", "lshift", "rshift"})


class Encoder:
    """Encoder of one graph as JSON data.

    spell(item): returns the text of a framework object, or None if it has none.
    values: table of values; a value is encoded as its index.
    """

    def __init__(self, graph: Graph, spell: Spell) -> None:
        self.graph, self.spell = graph, spell
        self.numbers: dict[Value, int] = {}
        self.values: list[Value] = []
        self.key = graph.randomness.key

    def graph_json(self) -> dict[str, Any]:
        """Return the graph as JSON data. Raise ``InvalidFile`` if it cannot be saved."""
        graph = self.graph
        _refuse_unsaved(graph)
        for value in (
            *graph.sources(),
            *([self.key] if self.key else []),
            *(v for node in graph.nodes for v in node.outputs),
        ):
            self.number(value)
        body = {
            "name": named(graph.name),
            "dialect": graph.dialect,
            "inputs": [self.number(value) for value in graph.inputs],
            "input_tree": tree_to_json(graph.input_tree, self.item),
            "parameters": {
                matching(KEY, name): self.number(value) for name, value in graph.parameters.items()
            },
            "constants": {
                matching(KEY, name): self.number(value) for name, (value, _) in graph.constants.items()
            },
            "nodes": [self._node(node) for node in graph.nodes],
            "outputs": self.item(graph.outputs),
            "output_tree": tree_to_json(graph.output_tree, self.item),
            "assumptions": [
                [assumption.kind, assumption.to_json(self)] for assumption in graph.all_assumptions()
            ],
            "effects": [[e.kind, e.target, self.number(e.value)] for e in graph.effects],
            "key": self.number(self.key) if self.key else None,
            "number_outputs": list(graph.number_outputs),
            "demands": self._demands(),
        }
        body["values"] = [
            [named(value.name), value.dtype, [self.item(dim) for dim in value.shape]] for value in self.values
        ]
        return body

    def _demands(self) -> list[Any]:
        demands = self.graph.demands
        return [
            demands.matmul_precision,
            _line(demands.source_only),
            _line(demands.wide),
            demands.casts_are_written,
        ]

    def number(self, value: Value) -> int:
        if value not in self.numbers:
            self.numbers[value] = len(self.values)
            self.values.append(value)
        return self.numbers[value]

    def _node(self, node: Node) -> list[Any]:
        outputs = [self.number(value) for value in node.outputs]
        return [
            node.op,
            self.item(tuple(node.inputs)),
            self.item(dict(node.params)),
            self.origin(node.origin),
            self._record(node),
            outputs,
            [self._region(region) for region in node.regions],
        ]

    def _region(self, region: Region) -> list[Any]:
        block = region.block
        return [
            region.name,
            [self.number(value) for value in block.inputs],
            [self._node(node) for node in block.nodes],
            self.item(list(block.outputs)),
            [[self._atom(symbol), self.item(size)] for symbol, size in region.sizes.items()],
        ]

    def _record(self, node: Node) -> dict[str, Any] | None:
        if node.record is None:
            return None
        given = {name: getattr(node.record, field) for name, field in _RECORDED.items()}
        return {
            name: self.item(item)
            for name, item in given.items()
            if item is not None and item is not False and item not in ((), {})
        }

    def origin(self, origin: Origin) -> list[Any]:
        return [_line(origin.file), origin.line, _line(origin.module), _line(origin.call)]

    def item(self, item: Any) -> Any:
        if item is None or type(item) in (bool, int, str) or (type(item) is float and math.isfinite(item)):
            return item
        if isinstance(item, Value):
            return {"!": "value", "v": self.number(item)}
        if isinstance(item, Size):
            return {
                "!": "size",
                "v": [[[self._atom(atom) for atom in monomial], factor] for monomial, factor in item.terms()],
            }
        if isinstance(item, dict):
            return {"!": "dict", "v": [[self.item(key), self.item(part)] for key, part in item.items()]}
        if isinstance(item, (tuple, list)):
            parts = [self.item(part) for part in item]
            return parts if isinstance(item, list) else {"!": "tuple", "v": parts}
        return self._tagged(item)

    def _tagged(self, item: Any) -> Any:
        if isinstance(item, slice):
            return {"!": "slice", "v": [self.item(part) for part in (item.start, item.stop, item.step)]}
        if item is Ellipsis:
            return {"!": "ellipsis", "v": None}
        if type(item) is float:
            return {"!": "float", "v": str(item)}
        if type(item) is complex:
            return {"!": "complex", "v": [self.item(item.real), self.item(item.imag)]}
        text = self.spell(item)
        if text is None:
            raise InvalidFile(
                f"{self.graph.name} cannot be saved: a file cannot hold an object of type "
                f"{type(item).__name__} ({item!r:.80})"
            )
        return {"!": "object", "v": text}

    def _atom(self, atom: Any) -> list[Any]:
        if isinstance(atom, Symbol):
            return ["symbol", self.number(atom.source), atom.axis, self.item(atom.hint), atom.kind]
        return ["apply", atom.function, [self.item(argument) for argument in atom.arguments]]


def named(text: str) -> str:
    return re.sub(r"[^\w.]", "_", text, flags=re.ASCII) or "value"


def _line(text: str) -> str:
    return "".join(char if LINE.fullmatch(char) else "/" for char in text)


class Decoder:
    """Decoder of one graph from JSON data.

    read(text): returns the framework object for a text, or raises an error.
    arrays: arrays of constants by name.
    kinds: classes of assumptions by name.
    key_of(op): returns the ``CallRecord.key`` of the recorded call ``op``.
    known: classes that the file may name.
    """

    def __init__(
        self,
        data: dict[str, Any],
        read: Read,
        arrays: dict[str, Any],
        kinds: Mapping[str, type[Assumption]],
        key_of: Callable[[str], str],
        known: KnownClasses | None = None,
    ) -> None:
        self.known = known or KnownClasses()
        self.data, self.read, self.arrays, self.kinds, self.key_of = data, read, arrays, kinds, key_of
        self.inputs: list[Value] = []
        # Regions and their JSON forms, by depth and inputs.
        self.regions: dict[tuple[int, ...], tuple[Any, Region]] = {}
        self.values = [
            Value(matching(KEY, name), ArraySpec((), matching(DTYPE, dtype)))
            for name, dtype, _ in data["values"]
        ]
        # Sizes refer to values, so all values exist before their shapes are decoded.
        for value, (_, dtype, shape) in zip(self.values, data["values"]):
            value.spec = ArraySpec(tuple(self._dim(dim) for dim in shape), dtype)

    def graph(self) -> Graph:
        """Return the graph, which is not verified yet.

        Malformed data may raise an error other than ``InvalidFile``, such as ``KeyError``.
        """
        data = self.data
        graph = Graph(matching(KEY, data["name"]), matching(NAME, data["dialect"]))
        graph.inputs = self.inputs = [self.value(number) for number in data["inputs"]]
        graph.input_tree, graph.output_tree = (
            tree_from_json(data[name], self.item, self.known) for name in ("input_tree", "output_tree")
        )
        graph.parameters = {
            matching(KEY, name): self.value(number) for name, number in data["parameters"].items()
        }
        graph.constants = {
            matching(KEY, name): (self.value(number), self.arrays[name])
            for name, number in data["constants"].items()
        }
        if data["key"] is not None:
            graph.randomness = Randomness(self.value(data["key"]))
        graph.number_outputs = tuple(map(_output_index, data["number_outputs"]))
        graph.demands = _demands(*data["demands"])
        graph.nodes = [self._node(1, *node) for node in data["nodes"]]
        graph.outputs = self.item(data["outputs"])
        assumptions = [
            self.kinds[_one_of(kind, tuple(self.kinds))].from_json(about, self)
            for kind, about in data["assumptions"]
        ]
        graph.guards = [assumption for assumption in assumptions if isinstance(assumption, Guard)]
        graph.assumptions = tuple(
            assumption for assumption in assumptions if not isinstance(assumption, Guard)
        )
        graph.effects = [
            Effect(_one_of(kind, ("argument", "buffer", "constant")), target, self.value(number))
            for kind, target, number in data["effects"]
        ]
        return graph

    def value(self, number: Any) -> Value:
        # ``type`` instead of ``isinstance``, because JSON's true would be the index 1.
        if type(number) is not int or not 0 <= number < len(self.values):
            raise InvalidFile(f"there is no value {number!r}")
        return self.values[number]

    def _dim(self, data: Any) -> Any:
        dim = self.item(data)
        if not isinstance(dim, Size) and (type(dim) is not int or not 0 <= dim < _MOST):
            raise InvalidFile(f"{dim!r} is no size")
        return dim

    def _node(
        self,
        depth: int,
        op: str,
        inputs: Any,
        params: Any,
        origin: Any,
        record: Any,
        outputs: list[int],
        regions: list[Any],
    ) -> Node:
        inputs, params = self.item(inputs), self.item(params)
        if type(op) is not str or not isinstance(inputs, tuple) or not isinstance(params, dict):
            raise InvalidFile("a node is not of the right form")
        made = tuple(self.value(number) for number in outputs)
        params = {matching(NAME, name): item for name, item in params.items()}
        inner = tuple(self._region(depth, *region) for region in regions)
        return Node(op, inputs, params, self.origin(origin), made, self._record(op, record, len(made)), inner)

    def _region(
        self, depth: int, name: str, inputs: list[int], nodes: list[Any], outputs: Any, sizes: list[Any]
    ) -> Region:
        if depth > DEEPEST:
            raise InvalidFile(f"regions are more than {DEEPEST} deep")
        written = (name, nodes, outputs, sizes)
        found = self.regions.get((depth, *inputs))
        # A region that several calls share is written for each of them.
        if found is not None and found[0] == written:
            return found[1]
        block = Block(
            tuple(map(self.value, inputs)),
            tuple(self._node(depth + 1, *node) for node in nodes),
            tuple(self.item(outputs)),
        )
        region = Region(
            matching(NAME, name), block, {self._symbol(symbol): self.item(size) for symbol, size in sizes}
        )
        self.regions[(depth, *inputs)] = written, region
        return region

    def _symbol(self, data: Any) -> Symbol:
        atoms = [*self._atom(data).atoms()]
        if len(atoms) != 1 or not isinstance(atoms[0], Symbol):
            raise InvalidFile("what a region has in common with the outside is no size")
        return atoms[0]

    def _record(self, op: str, data: Any, count: int) -> CallRecord | None:
        if (data is None) != (self.data["dialect"] == "canonical"):
            raise InvalidFile(
                f"{op:.80} is a call of a canonical graph, or has no record in one of recorded calls"
            )
        if data is None:
            return None
        known: dict[str, Any] = {
            _RECORDED[_one_of(name, tuple(_RECORDED))]: self.item(item) for name, item in data.items()
        }
        writes, views = known.get("writes", ()), known.get("views", {})
        if not isinstance(writes, tuple) or not all(isinstance(value, Value) for value in writes):
            raise InvalidFile(f"{op:.80} writes to what is no value")
        places = isinstance(views, dict) and all(type(place) is int and 0 <= place < count for place in views)
        if not places or not all(isinstance(value, Value) for value in views.values()):
            raise InvalidFile(f"{op:.80} views what is no value")
        if any(type(known.get(field, False)) is not bool for field in _FLAGS.values()):
            raise InvalidFile(f"a property of {op:.80} is no truth value")
        if "errstate" in known:
            known["errstate"] = tuple(
                (_one_of(kind, _ERRORS), _one_of(mode, _ERROR_MODES)) for kind, mode in known["errstate"]
            )
        return CallRecord(self.key_of(op), **known)

    def origin(self, data: Any) -> Origin:
        file, line, module, call = data
        if type(line) is not int:
            raise InvalidFile(f"{line!r} is no line number")
        return Origin(matching(LINE, file), line, matching(LINE, module), matching(LINE, call))

    def item(self, data: Any) -> Any:
        if data is None or isinstance(data, (bool, int, float, str)):
            return data
        if isinstance(data, list):
            return [self.item(part) for part in data]
        return _READERS[_one_of(data.get("!"), tuple(_READERS))](self, data["v"])

    def _size(self, data: Any) -> Any:
        if len(data) > _MOST_TERMS or any(len(atoms) > _MOST_FACTORS for atoms, _ in data):
            raise InvalidFile("a size has too many terms")
        parts: list[Any] = [self._product(atoms, factor) for atoms, factor in data] or [0]
        # The cost of an addition is linear in the number of terms, so terms are added in pairs.
        while len(parts) > 1:
            parts = [left + right for left, right in zip_longest(parts[::2], parts[1::2], fillvalue=0)]
        total = parts[0]
        if abs(total.hint if isinstance(total, Size) else total) >= _MOST:
            raise InvalidFile("a size is too large")
        return total

    def _product(self, atoms: Any, factor: Any) -> Any:
        product: Any = _number(factor)
        for atom in atoms:
            product = (
                self._atom(atom) if type(product) is int and product == 1 else product * self._atom(atom)
            )
        return product

    def _atom(self, data: Any) -> Size:
        kind, *rest = data
        if _one_of(kind, ("symbol", "apply")) == "symbol":
            number, axis, hint, what = rest
            source = self.value(number)
            if type(axis) is not int or not 0 <= axis < max(len(self.data["values"][number][2]), 1):
                raise InvalidFile(f"{source.name} has no axis {axis!r}")
            return Size.of(Symbol(source, axis, _number(hint), _one_of(what, _KINDS)))
        function, arguments = rest
        arguments = tuple(map(self.item, arguments))
        if not all(isinstance(argument, (Size, int, float)) for argument in arguments):
            raise InvalidFile(f"{function} of what is no size")
        if _one_of(function, tuple(FUNCTIONS)) in _HAS_SMALL_NUMBERS and not (
            isinstance(arguments[1], (int, float)) and abs(arguments[1]) <= 16
        ):
            raise InvalidFile(f"{function} with an exponent that is too large")
        return Size.of(Apply(function, arguments))


_READERS: dict[str, Callable[[Decoder, Any], Any]] = {
    "value": lambda decoder, data: decoder.value(data),
    "size": lambda decoder, data: decoder._size(data),
    "tuple": lambda decoder, data: tuple(map(decoder.item, data)),
    "dict": lambda decoder, data: {decoder.item(key): decoder.item(part) for key, part in data},
    "slice": lambda decoder, data: slice(*map(decoder.item, data)),
    "ellipsis": lambda decoder, data: Ellipsis,
    "float": lambda decoder, data: float(_one_of(data, ("inf", "-inf", "nan"))),
    "complex": lambda decoder, data: complex(*map(decoder.item, data)),
    "object": lambda decoder, data: decoder.read(_object_text(data)),
}


# The text may contain quotes: the framework's reader accepts only texts that it could have written.
def _object_text(text: Any) -> str:
    if not isinstance(text, str):
        raise InvalidFile(f"{text!r:.80} is no text")
    return text


def _number(item: Any) -> Any:
    if type(item) not in (int, float, bool) or not abs(item) < _MOST:
        raise InvalidFile(f"{item!r} is no number of a reasonable size")
    return item


def matching(pattern: re.Pattern[str], text: Any) -> str:
    if not isinstance(text, str) or not pattern.fullmatch(text):
        raise InvalidFile(f"{text!r:.80} is no legal name here")
    return text


def _output_index(item: Any) -> int:
    if type(item) is not int or item < 0:
        raise InvalidFile(f"{item!r:.80} is no place of an output")
    return item


def _demands(precision: Any, source_only: Any, wide: Any, casts_are_written: Any = False) -> TargetDemands:
    precision = None if precision is None else _one_of(precision, ("highest", "high", "default"))
    return TargetDemands(
        precision, matching(LINE, source_only), matching(LINE, wide), casts_are_written is True
    )


def _refuse_unsaved(graph: Graph) -> None:
    unsaved = {
        "state": graph.state.places,
        "call inputs": graph.call_inputs,
        "random state": graph.randomness.recorded_from,
        "shared memory": graph.shared_memory,
    }
    for name, item in unsaved.items():
        if item:
            raise InvalidFile(f"{graph.name} cannot be saved: a file has no place for its {name}")


def _one_of(item: Any, known: tuple[str, ...]) -> str:
    if item not in known:
        raise InvalidFile(f"{item!r:.80} is none of {', '.join(known)}")
    return str(item)
