"""Names in bytecode: those that code reads, sets, imports and stores; names of recorded values from them."""

from __future__ import annotations

import dis
import functools
import operator
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import cycle, pairwise, tee
from types import CodeType
from typing import Any

from ...ir.node import Instruction, Node, Origin, Value

_READS = frozenset(code for code in dis.hasname if dis.opname[code].startswith(("LOAD", "IMPORT_FROM")))
# Which arguments of these functions are names of attributes.
_BY_TEXT = {
    "getattr": slice(1, 2),
    "hasattr": slice(1, 2),
    "attrgetter": slice(None),
    "methodcaller": slice(1),
}
# Python 3.11 takes the arguments off the stack in an instruction before the call.
_CALLS = frozenset({"PRECALL"} if "PRECALL" in dis.opmap else {"CALL", "CALL_FUNCTION", "CALL_METHOD"})
_WITHOUT_EFFECT = frozenset({"EXTENDED_ARG", "NOP", "KW_NAMES"})
# Two of TensorFlow's references are equal if they are of one tensor.
_COMPARING = frozenset({"id", "is_", "is_not", "ref", "experimental_ref"})
_COMPARERS = (id, operator.is_, operator.is_not)
_ANYTHING = frozenset({"vars", "__dict__", "eval", "exec", "globals", "__getattribute__"})

# A large package has some ten thousand functions.
_MOST_CODES = 32768
HANDLERS = frozenset({"PUSH_EXC_INFO", "SETUP_FINALLY"})


@functools.lru_cache(maxsize=_MOST_CODES)
def names_read(code: types.CodeType) -> frozenset[str]:
    """Return names by which ``code`` and functions inside it read globals, attributes and members of modules.

    >>> sorted(names_read((lambda x: x.scale * FACTOR).__code__))
    ['FACTOR', 'scale']
    """
    read = (step.argval for step in _steps(code) if step.opcode in _READS)
    return frozenset(read).union(*map(names_read, _inner(code)))


@functools.lru_cache(maxsize=_MOST_CODES)
def attributes_set(code: types.CodeType) -> frozenset[str]:
    """Return the attributes that ``code`` and functions inside it set or delete by name.

    >>> def function(x):
    ...     x.scale = x.shift
    >>> sorted(attributes_set(function.__code__))
    ['scale']
    """
    changed = (step.argval for step in _steps(code) if step.opname in ("STORE_ATTR", "DELETE_ATTR"))
    return frozenset(changed).union(*map(attributes_set, _inner(code)))


def compares_identities(function: types.FunctionType) -> bool:
    """Return True if ``function``, or a function inside it, seems to compare identities of objects.

    >>> functions = (lambda a, b: a is (b if b else None)), (lambda a: a is None)
    >>> [compares_identities(function) for function in functions]
    [True, False]
    """
    code, given = function.__code__, function.__globals__
    if _has_identity_test(code):
        return True
    return any(given.get(name) is known for name in globals_read(code) for known in _COMPARERS)


@functools.lru_cache(maxsize=_MOST_CODES)
def _has_identity_test(code: types.CodeType) -> bool:
    # An instruction to which another one jumps may get its operand from there.
    asks = _has(code, {"IS_OP"}) and any(
        step.opname == "IS_OP" and (before.opname != "LOAD_CONST" or step.is_jump_target)
        for before, step in pairwise(_steps(code))
    )
    return asks or not _COMPARING.isdisjoint(names_read(code)) or any(map(_has_identity_test, _inner(code)))


@functools.lru_cache(maxsize=_MOST_CODES)
def imports_of(code: types.CodeType) -> frozenset[str]:
    """Return the names of modules in the imports of ``code`` and functions inside it, and their first parts.

    >>> def function():
    ...     import os.path
    ...     from ..errors import Signal
    >>> sorted(imports_of(function.__code__))
    ['..errors', 'os', 'os.path']
    """
    found = set()
    if _has(code, {"IMPORT_NAME"}):
        steps = [step for step in _steps(code) if step.opname != "EXTENDED_ARG"]
        for level, step in zip(steps, steps[2:]):
            if step.opname == "IMPORT_NAME":
                dots = "." * level.argval
                found |= {dots + step.argval, dots + step.argval.partition(".")[0]}
    return frozenset(found).union(*map(imports_of, _inner(code)))


@functools.lru_cache(maxsize=_MOST_CODES)
def globals_read(code: types.CodeType) -> frozenset[str]:
    """Return the names that ``code`` and functions inside it may find in their globals or in ``builtins``.

    >>> sorted(globals_read((lambda x: x.scale * FACTOR).__code__))
    ['FACTOR']
    """
    read = (step.argval for step in _steps(code) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"))
    return frozenset(read).union(*map(globals_read, _inner(code)))


@functools.lru_cache(maxsize=_MOST_CODES)
def texts_of(code: types.CodeType) -> frozenset[str]:
    """Return the string constants of ``code`` and functions inside it, and those in constant tuples and sets.

    >>> sorted(texts_of((lambda x: x["scale"] if "shift" in x else ("a", ("b", 1))).__code__))
    ['a', 'b', 'scale', 'shift']
    """
    return frozenset(_strings(code.co_consts)).union(*map(texts_of, _inner(code)))


def _strings(items: Iterable[Any]) -> Iterator[str]:
    for item in items:
        if isinstance(item, str):
            yield item
        elif isinstance(item, (tuple, frozenset)):
            yield from _strings(item)


@functools.lru_cache(maxsize=_MOST_CODES)
def fragments_read(code: types.CodeType) -> frozenset[str]:
    """Return parts of names of attributes that ``code`` and functions inside it seem to read by string.

    An empty string means that a name is unknown.

    >>> fragments_read((lambda x, i: getattr(x, f"layer_{i}")).__code__)
    frozenset({'layer_'})
    >>> fragments_read((lambda x, name: getattr(x, name) * {"shift": 2}["shift"]).__code__)
    frozenset({''})
    >>> sorted(fragments_read((lambda x, name: getattr(x, "scale", 1) * getattr(x, name)).__code__))
    ['', 'scale']
    >>> fragments_read((lambda x, part: attrgetter(part + ".scale")(x)).__code__)
    frozenset({''})
    """
    found: frozenset[str] = frozenset().union(*map(fragments_read, _inner(code)))
    # These give access to all attributes, so any name may be read.
    if not _ANYTHING.isdisjoint(code.co_names):
        return found | {""}
    if _BY_TEXT.keys().isdisjoint(code.co_names):
        return found
    steps = _steps(code)
    for place, step in enumerate(steps):
        if step.opcode in _READS and step.argval in _BY_TEXT:
            names = _arguments(steps[place + 1 :])[_BY_TEXT[step.argval]]
            has_dots = step.argval == "attrgetter"
            found = found.union(*(_fragments(name, has_dots) for name in names), [] if names else [""])
    return found


def _fragments(steps: Sequence[dis.Instruction], has_dots: bool) -> list[str]:
    if not has_dots:
        return [_fragment(steps)]
    # A part of a text with dots tells only one of the names.
    return _fragment(steps).split(".") if len(steps) == 1 else [""]


def _arguments(steps: Sequence[dis.Instruction]) -> list[list[dis.Instruction]]:
    """Return the instructions of each argument of a call, given those that follow the load of the function.

    The list is empty if there are none, or the call is not recognised.
    """
    # Since Python 3.13, the place of ``self`` is filled after the function is loaded, not before.
    if sys.version_info >= (3, 13) and steps and steps[0].opname == "PUSH_NULL":
        steps = steps[1:]
    for place, (step, (depth, _)) in enumerate(zip(steps, _depths(steps))):
        if depth < 0:
            break
        if step.opname in _CALLS and depth == step.arg:
            # The compiler may write the call once for each branch of a conditional argument.
            branches = any(each.opcode in _JUMPS and each.argval > step.offset for each in steps[:place])
            return [] if branches else _operands(steps[: place + 1], depth)
    return []


def _operands(steps: Sequence[dis.Instruction], count: int) -> list[list[dis.Instruction]]:
    """Divide the instructions before the last one into those that push each of its ``count`` operands.

    An operand that a jump skips, as in ``a or b``, has no instructions.
    """
    # An item is complete where the stack is as high as this item for the last time.
    after = [depth for _, depth in _depths(steps[:-1])]
    ends = [
        max((place + 1 for place, depth in enumerate(after) if depth <= item), default=0)
        for item in range(1, count + 1)
    ]
    return [
        []
        if steps[end].is_jump_target
        else [step for step in steps[start:end] if step.opname not in _WITHOUT_EFFECT]
        for start, end in zip([0, *ends], ends)
    ]


def _depths(steps: Iterable[dis.Instruction]) -> Iterator[tuple[int, int]]:
    """Yield the number of items on the stack before and after each instruction, where it is 0 at first."""
    depth, at_target = 0, dict[int, int]()
    for step in steps:
        before = at_target.get(step.offset, depth)
        depth = before + dis.stack_effect(step.opcode, step.arg, jump=False)
        yield before, depth
        if step.opcode in _JUMPS:
            at_target[step.argval] = before + dis.stack_effect(step.opcode, step.arg, jump=True)


def _fragment(steps: Sequence[dis.Instruction]) -> str:
    """Return a text that is part of the string that ``steps`` push, or an empty one if none is known."""
    match steps:
        case [dis.Instruction(opname="LOAD_CONST", argval=str(text))]:
            return text
        case [*_, dis.Instruction(opname="BUILD_STRING", arg=int(count))]:
            pieces = _operands(steps, count)
        case [*_, dis.Instruction(opname="BINARY_ADD")] | [*_, dis.Instruction(argrepr="+")]:
            pieces = _operands(steps, 2)
        case _:
            pieces = []
    return max(map(_fragment, pieces), key=len, default="")


@functools.lru_cache(maxsize=_MOST_CODES)
def catches(code: types.CodeType) -> bool:
    """Return True if ``code`` or a function inside it seems to catch exceptions.

    >>> from contextlib import nullcontext
    >>> def within(x):
    ...     with nullcontext():
    ...         return x.a
    >>> def tries(x):
    ...     try:
    ...         return x.a
    ...     except AttributeError:
    ...         return None
    >>> catches(within.__code__), catches(tries.__code__)
    (False, True)
    """
    steps = [step.opname for step in _steps(code)] if _has(code, HANDLERS) else []
    # A ``with`` block has a handler too, but it only calls ``__exit__`` and raises again.
    handles = any(step in HANDLERS and after != "WITH_EXCEPT_START" for step, after in pairwise(steps))
    return handles or "suppress" in code.co_names or any(map(catches, _inner(code)))


# Several functions ask for the same code one after the other.
@functools.lru_cache(maxsize=16)
def _steps(code: types.CodeType) -> tuple[dis.Instruction, ...]:
    return tuple(dis.get_instructions(code))


def _has(code: types.CodeType, operations: Iterable[str]) -> bool:
    # Searching the bytes is much faster than decoding instructions, and most code has none of these.
    numbers = {dis.opmap[name] for name in operations if name in dis.opmap}
    return not numbers.isdisjoint(code.co_code[::2])


def _inner(code: types.CodeType) -> Iterator[types.CodeType]:
    return (item for item in code.co_consts if isinstance(item, types.CodeType))


_OPNAME = dis.opname
# Since Python 3.11, cache entries follow an instruction in the bytecode.
_CACHES = getattr(dis, "_inline_cache_entries", None)
# Python 3.13 joins two instructions into one.
_PAIRS = ("STORE_FAST_STORE_FAST",)


def stored_names(code: CodeType, instruction: int, outer: Instruction | None = None) -> tuple[str, ...]:
    """Return names of variables that store the value made at offset ``instruction``, or an empty tuple.

    Several names mean that a sequence is unpacked. ``outer`` is the instruction that runs ``code``.

    >>> def f(a):
    ...     low, high = divmod(a, 2)
    ...     first, last = min(low, 1), max(high, 1)
    ...     total = rest = abs(first)
    ...     return total + rest + last
    >>> calls = [step.offset for step in dis.get_instructions(f) if step.opname in ("CALL", "CALL_FUNCTION")]
    >>> [stored_names(f.__code__, call) for call in calls]
    [('low', 'high'), ('first',), ('last',), ('total',)]
    """
    if _OPNAME[code.co_code[instruction]] == "UNPACK_SEQUENCE":
        # The value is one of several items, and nothing tells which one.
        return ()
    found = _variables_of(code, _after(code.co_code, instruction), 0)
    if found or outer is None or code.co_name not in _COMPREHENSIONS:
        return found
    return _variables_of_items(code, instruction, *outer)


def _variables_of(code: CodeType, steps: Iterator[tuple[str, int]], above: int) -> tuple[str, ...]:
    """Find variables in which ``steps`` store the value that is below ``above`` items on the stack."""
    for name, arg in steps:
        stored = _stored(code, name, arg)
        if name == "UNPACK_SEQUENCE" and not above:
            return _unpacked(code, steps, arg)
        if name == "BUILD_TUPLE" and above < arg:
            # Tuples of more than three items are built, and unpacked right away.
            found = _unpacked(code, steps, arg) if next(steps, None) == ("UNPACK_SEQUENCE", arg) else ()
            return found[arg - 1 - above :][:1]
        if above < len(stored):
            return (stored[above],)
        if (name, arg) == ("COPY", above + 1) or name == "DUP_TOP" and not above:
            # The copy is above the value. It is stored first, or is an argument of another instruction.
            copied, steps = tee(steps)
            return _variables_of(code, copied, 0) or _variables_of(code, steps, above + 1)
        if name in _EXCHANGES:
            above = _EXCHANGES[name](above, arg)
        elif name in _LOADS or stored:
            above += _effect(name, arg)
        else:
            effect = _effect(name, arg)
            # Other instructions take at least one item, and most leave one.
            taken = -effect if name in _STORES else max(1, 1 - effect)
            if dis.opmap[name] in _JUMPS or above < taken:
                return ()
            above += effect
    return ()


# Since Python 3.12, the code of the comprehension of a list is part of the code around it.
_COMPREHENSIONS = frozenset({"<genexpr>", "<listcomp>"})


def _variables_of_items(code: CodeType, instruction: int, outer: CodeType, running: int) -> tuple[str, ...]:
    """Find the variables to which the items of a comprehension are unpacked.

    >>> def f(a):
    ...     low, high = (abs(b) for b in a)
    ...     return low + high
    >>> items = next(item for item in f.__code__.co_consts if hasattr(item, "co_code"))
    >>> at = {step.opname: step.offset for step in dis.get_instructions(items)}
    >>> running = next(step.offset for step in dis.get_instructions(f) if step.opname == "UNPACK_SEQUENCE")
    >>> _variables_of_items(items, at.get("CALL", at.get("CALL_FUNCTION")), f.__code__, running)
    ('low', 'high')
    """
    follows = next(_after(code.co_code, instruction), ("", 0))[0]
    if follows not in ("LIST_APPEND", "YIELD_VALUE") or not any(item is code for item in outer.co_consts):
        return ()
    words = outer.co_code
    # A generator runs while its items are unpacked, a list before.
    if _OPNAME[words[running]] == "UNPACK_SEQUENCE":
        return _unpacked(outer, _after(words, running), words[running + 1])
    names = stored_names(outer, running) if follows == "LIST_APPEND" else ()
    return names if len(names) > 1 else ()


# Place of an item, counted from the top of the stack, after an instruction that exchanges items.
_EXCHANGES: dict[str, Callable[[int, int], int]] = {
    "SWAP": lambda place, count: {0: count - 1, count - 1: 0}.get(place, place),
    "ROT_TWO": lambda place, _: {0: 1, 1: 0}.get(place, place),
    "ROT_THREE": lambda place, _: {0: 2, 1: 0, 2: 1}.get(place, place),
}
_LOADS = frozenset(
    name
    for name in dis.opmap
    if name in ("PUSH_NULL", "COPY", "DUP_TOP", "NOP")
    or name.startswith(
        ("LOAD_FAST", "LOAD_CONST", "LOAD_SMALL_INT", "LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF")
    )
)
# Instructions that leave no item.
_STORES = frozenset({"STORE_ATTR", "STORE_SUBSCR"})
_JUMPS = frozenset((*dis.hasjrel, *dis.hasjabs))


def _effect(name: str, arg: int) -> int:
    number = dis.opmap[name]
    return dis.stack_effect(number, arg if number >= dis.HAVE_ARGUMENT else None)


def _unpacked(code: CodeType, steps: Iterator[tuple[str, int]], count: int) -> tuple[str, ...]:
    found: list[str] = []
    while len(found) < count and (stored := _stored(code, *next(steps, ("", 0)))):
        found += stored
    return tuple(found) if len(found) == count else ()


def _after(words: bytes, place: int) -> Iterator[tuple[str, int]]:
    place, extended = _next(words, place), 0
    while place < len(words):
        name, arg = _OPNAME[words[place]], words[place + 1] | extended
        if name == "EXTENDED_ARG":
            extended = arg << 8
        else:
            yield name, arg
            extended = 0
        place = _next(words, place)


def _next(words: bytes, place: int) -> int:
    if _CACHES is None:
        return place + 2
    # The table is a dict by name since Python 3.13, and a list by number before.
    count = _CACHES.get(_OPNAME[words[place]], 0) if isinstance(_CACHES, dict) else _CACHES[words[place]]
    return place + 2 + 2 * int(count)


def _stored(code: CodeType, name: str, arg: int) -> list[str]:
    if name in _PAIRS:
        return [code.co_varnames[arg >> 4], code.co_varnames[arg & 15]]
    if name == "STORE_FAST_LOAD_FAST":
        return [code.co_varnames[arg >> 4]]
    if name == "STORE_FAST":
        return [code.co_varnames[arg]]
    if name in ("STORE_NAME", "STORE_GLOBAL"):
        return [code.co_names[arg]]
    if name == "STORE_DEREF":
        # Since Python 3.11, cells are numbered together with the local variables.
        cells = (*code.co_cellvars, *code.co_freevars)
        name_of_cell = getattr(code, "_varname_from_oparg", cells.__getitem__)
        return [name_of_cell(arg)]
    return []


_CAPTURING = frozenset({"branch", "scan", "while_loop"})


def name_by_variables(nodes: Iterable[Node]) -> None:
    """Rename outputs of nodes after the variables that store them, where these are known.

    A node with regions must precede the nodes inside them.
    """
    nodes, with_regions = list(nodes), []
    # The region of a call is a function, whose parameters have names of their own.
    for capturing in nodes:
        if capturing.regions and capturing.op in _CAPTURING:
            with_regions.append(capturing)
    old = {value: value.name for node in nodes for value in node.outputs} if with_regions else {}
    before: Node | None = None
    items: dict[Instruction | None, list[Node]] = {}
    following: list[Node | None] = [*nodes, None]
    for node in following:
        if before is not None and before.origin.stored:
            if _is_item(before):
                items.setdefault(before.origin.instruction, []).append(before)
            # Calls that one expression makes, for example inside a library function, follow each other, and
            # the last of them is taken to return the result.
            elif node is None or _expression(node.origin) != _expression(before.origin):
                _name(before)
        before = node
    for each in items.values():
        _name_items(each)
    for capturing in with_regions:
        # The index of a branch is no input of its regions.
        insides = [region.block.inputs for region in capturing.regions]
        pairs = [
            pair
            for inside in insides
            for pair in zip(inside, capturing.inputs[len(capturing.inputs) - len(inside) :])
        ]
        carried = capturing.params.get("carried", 0)
        _name_after_operands([*pairs, *zip(capturing.outputs[:carried], capturing.inputs)], old)


def _name_after_operands(pairs: Iterable[tuple[Value, Any]], old: dict[Value, str]) -> None:
    for value, operand in pairs:
        name = old.get(operand) if isinstance(operand, Value) else None
        if name is not None and value.name == name != operand.name:
            old[value], value.name = name, operand.name


def _expression(origin: Origin) -> tuple[str, int, Instruction | None]:
    return origin.file, origin.line, origin.instruction


def _name(node: Node) -> None:
    names = node.origin.stored
    if len(names) == len(node.outputs):
        for value, name in zip(node.outputs, names):
            value.name = name


def _is_item(node: Node) -> bool:
    made_by = node.origin.instruction
    is_in_comprehension = made_by is not None and made_by.code.co_name in _COMPREHENSIONS
    return is_in_comprehension and len(node.origin.stored) > len(node.outputs) == 1


def _name_items(nodes: list[Node]) -> None:
    names = nodes[0].origin.stored
    if len(nodes) % len(names) == 0 and len({(node.op, node.key) for node in nodes}) == 1:
        for node, name in zip(nodes, cycle(names)):
            node.outputs[0].name = name
