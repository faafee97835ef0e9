"""Reading of a traced program (a *jaxpr*) into a recorded graph.

Most public calls and primitives become one node each. Programs that other equations call are inlined, or
become regions.
"""

from __future__ import annotations

import functools
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Literal, jaxpr_as_fun
from jax.interpreters import ad

from ...errors import UnsupportedOperation
from ...ir.node import CallRecord, Instruction, Node, Origin, Value
from ...ops.dtypes import is_inexact
from ...ops.registry import ArraySpec
from ...recording.code.names import stored_names
from ...recording.code.ownership import owner_of_file
from ...recording.recorder import as_builtin
from ...sizes import expression_of, is_symbolic
from ...trees import Tree, iterate_structure, map_structure, unflatten
from .control_flow import ORDERS, READ, CallWriter, call_with_rule
from .dtypes import is_key, spec_of, words_type
from .intercept.combining import COMBINED
from .intercept.rules import RULED, public_of
from .names import CUSTOM, PRIMITIVE, READ_NUMBER, row_key
from .programs import (
    CALLBACKS,
    PURE,
    SOLVES,
    BoundPrimitive,
    Callback,
    CallProgram,
    Leaves,
    OnWords,
    branch_of_cpu,
    called_program,
    holds_checks,
    programs_in,
    solve_with_gradients,
    solver,
)
from .sizes import as_array

# ----------------------------------------------------------------------------------------- foreign primitives
# Primitives of packages other than JAX, which are read by tracing their implementations.

_OWN = ("jax.", "jaxlib.", "graph_compiler.")


def foreign_program(equation: Any) -> ClosedJaxpr | None:
    primitive = equation.primitive
    if not _is_foreign(primitive):
        return None

    def run(*operands: Any) -> Any:
        return primitive.impl(*operands, **equation.params)

    return _program_of(run, equation)


def _is_foreign(primitive: Any) -> bool:
    implementation = primitive.impl
    while hasattr(implementation, "func"):
        implementation = implementation.func
    return not f"{getattr(implementation, '__module__', 'jax')}.".startswith(_OWN)


def _type(aval: Any) -> Any:
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=getattr(aval, "weak_type", False))


# -------------------------------------------------------------------------------------------------- equations
# A function with fewer equations reads better inlined.
_FEWEST = 3


def repeated_programs(program: ClosedJaxpr) -> frozenset[int]:
    """Return the ids of the user's jitted programs of some length that several equations call."""
    counts: Counter[int] = Counter()
    kept: set[int] = set()

    def count(jaxpr: Any) -> None:
        for equation in jaxpr.eqns:
            inner = equation.params.get("jaxpr") if equation.primitive.name in ("jit", "pjit") else None
            if inner is not None:
                counts[id(inner)] += 1
                place = (inner.jaxpr.debug_info.func_src_info or "").partition(" at ")[2]
                if len(inner.jaxpr.eqns) >= _FEWEST and is_users(place.rpartition(":")[0]):
                    kept.add(id(inner))
            # Calls inside of a program are counted once, however often the program is called.
            if inner is None or counts[id(inner)] == 1:
                for each in programs_in(equation.params):
                    count(each)

    count(program.jaxpr)
    return frozenset(key for key in kept if counts[key] > 1)


def shared_call(reader: Reader, equation: Any, inner: ClosedJaxpr, operands: list[Any]) -> list[Any]:
    if not any(isinstance(item, Value) for item in operands):
        return reader.inlined(equation, inner, operands)
    return CallWriter(reader, equation, inner, operands).write_call()


log = logging.getLogger("graph_compiler")
# These place or arrange an array without a change of its elements.
_PASSES_ON = frozenset(
    {"copy_p", "copy", "device_put", "sharding_constraint", "optimization_barrier", "pvary"}
)
# Primitives that print and return no arrays.
_SAYS = frozenset({"debug_print"})
_NAMES = {
    "dot_general_p": "dot",
    "convert_element_type_p": "cast",
    "broadcast_in_dim_p": "broadcast",
    "select_n_p": "where",
}
# Functions of ``jnp.linalg`` return the results of these primitives in another order, so the variables of the
# user's code do not name them.
_REORDERED = frozenset({"eigh", "svd"})
# Transformations add cotangents by a primitive of their own, which computes the same.
_RENAMED = {"add_any": "add"}
# Primitives whose public functions return one result as an array instead of a list of one array.
_ONE = frozenset({"sort"})
# Python types whose literals are weakly typed arrays of this kind.
_WEAK = {
    "b": (bool,),
    "i": (int,),
    "f": (float,),
    "c": (complex,),
}
NAMED_TUPLES = ("GatherDimensionNumbers", "ScatterDimensionNumbers", "ConvDimensionNumbers")


def _name_of(equation: Any) -> str:
    name: str = equation.primitive.name
    return _RENAMED.get(name, name)


def _is_private_tuple(item: Any) -> bool:
    return hasattr(item, "_fields") and type(item).__name__ not in NAMED_TUPLES


class Reader:
    """Reader of jaxprs that appends nodes for their equations to ``nodes``.

    constant: function that returns the graph value of a constant array.
    as_words: True for a graph for other frameworks, in which keys of ``jax.random`` are their uint32 words.
    decide: function called with a value, the elements of it that Python has read, and their origin; None if
        elements must not be read.
    stands_for: for inputs of regions of called functions, the operands of the call.
    around: origin of the equation that calls the program being read.
    repeated: ids of programs that may become ``call`` nodes instead of being inlined.
    checks: True if error checks may become guards.
    orders: order of derivatives to which rules are still followed; None to follow no rules.
    """

    def __init__(
        self,
        nodes: list[Node],
        constant: Callable[[Any], Value],
        as_words: bool,
        decide: Callable[[Value, Any, Origin], None] | None = None,
    ) -> None:
        self.nodes, self.constant, self.as_words, self._decide = nodes, constant, as_words, decide
        self._makers: dict[Value, Node] = {}
        self._constants: set[Value] = set()
        self._tangents: dict[Value, bool] = {}
        self.stands_for: dict[Value, Value] = {}
        self.around = Origin()
        self.repeated: frozenset[int] = frozenset()
        self.checks = True
        self.orders: int | None = ORDERS

    def read_whole(self, program: ClosedJaxpr, arguments: list[Any]) -> list[Any]:
        self.repeated = repeated_programs(program)
        return self.read(program, arguments)

    def read(self, program: ClosedJaxpr, arguments: list[Any]) -> list[Any]:
        held: dict[Any, Any] = dict(zip(program.jaxpr.invars, arguments))
        constants = dict(zip(program.jaxpr.constvars, program.consts))
        # A number may depend on elements that an equation reads, so it is made where it is used first.
        numbers = {var: item for var, item in constants.items() if is_symbolic(item)}
        held.update(
            (var, self._value_of_constant(item)) for var, item in constants.items() if var not in numbers
        )

        def operands(atoms: Iterable[Any]) -> list[Any]:
            used = [atom for atom in atoms if not isinstance(atom, Literal) and atom in numbers]
            held.update((var, self._value_of_constant(numbers.pop(var))) for var in dict.fromkeys(used))
            return [_operand(held, atom) for atom in atoms]

        for equation in program.jaxpr.eqns:
            held.update(zip(equation.outvars, self._equation(equation, operands(equation.invars))))
        return operands(program.jaxpr.outvars)

    def _value_of_constant(self, item: Any) -> Any:
        if is_symbolic(item):
            return self.read(jax.make_jaxpr(partial(as_array, item.expression))(), [])[0]
        value = self.constant(item)
        self._constants.add(value)
        return value

    def _equation(self, equation: Any, operands: list[Any]) -> list[Any]:
        name = _name_of(equation)
        if (program := foreign_program(equation)) is not None:
            has_rule = equation.primitive in ad.primitive_jvps and program.jaxpr.eqns
            return (self._by_rule if has_rule else self.inlined)(equation, program, operands)
        if (inner := called_program(equation)) is not None:
            if name in RULED:
                return self._ruled(equation, inner, operands)
            return (shared_call if id(inner) in self.repeated else Reader.inlined)(
                self, equation, inner, operands
            )
        if name in _READ_BY_NAME:
            return _READ_BY_NAME[name](self, equation, operands)
        if self.as_words and (program := self._substitute(equation)) is not None:
            return self.inlined(equation, program, operands)
        return self._primitive(equation, operands)

    def _substitute(self, equation: Any) -> ClosedJaxpr | None:
        """Return a program to read instead of ``equation``, or None to record the primitive itself."""
        name = _name_of(equation)
        if name in COMBINED and (straight := COMBINED[name](equation.params)) is not None:
            return _program_of(straight, equation)
        if not name.startswith("random_") and any(
            is_key(atom.aval) for atom in (*equation.invars, *equation.outvars)
        ):
            return _program_on_words(equation)
        if _applies_function(equation):
            return _apply_program(equation, self.origin(equation, f"lax.{name}"))
        return None

    def _primitive(self, equation: Any, operands: list[Any]) -> list[Any]:
        name, params, primitive = _name_of(equation), equation.params, equation.primitive
        if name.startswith("random_"):
            # The implementation of a key is an object of a private class of JAX, which has a public name.
            kept = {key: item.name if key == "impl" else item for key, item in params.items()}
            if self.as_words:
                primitive = OnWords(primitive, params, tuple(is_key(atom.aval) for atom in equation.invars))
        elif _applies_function(equation) or any(map(_is_private_tuple, params.values())):
            kept, primitive = {}, BoundPrimitive(primitive, params)
        else:
            # The name of the primitive implies the function that combines elements.
            implied = ("update_jaxpr", "update_consts") if name.startswith("scatter") else ()
            kept = {key: item for key, item in params.items() if key not in implied}
        # Some names have a hyphen (`scatter-add`), but the variables of these primitives do not.
        op, origin = f"{PRIMITIVE}{name.replace('-', '_')}_p", self.origin(equation, f"lax.{name}")
        if name in _REORDERED and len(equation.outvars) > 1:
            origin = replace(origin, stored=())
        return self._node(op, tuple(operands), kept, origin, equation, CallProgram(primitive))

    def _ruled(self, equation: Any, inner: ClosedJaxpr, operands: list[Any]) -> list[Any]:
        public = public_of(equation)
        if public is not None and any(isinstance(item, Value) for item in operands):
            return [
                self.made(
                    public, tuple(operands), {}, self.origin(equation, public), equation.outvars[0].aval
                )
            ]
        return self._by_rule(equation, inner, operands)

    def _by_rule(self, equation: Any, inner: ClosedJaxpr, operands: list[Any]) -> list[Any]:
        if self.as_words and self.checks and holds_checks(inner.jaxpr):
            # Regions of the node have no guards, so the function is also read inline, for its checks alone.
            self.inlined(equation, inner, operands)
        return call_with_rule(self, equation, inner, operands)

    def inlined(self, equation: Any, inner: ClosedJaxpr, operands: list[Any]) -> list[Any]:
        # Equations without a line of user code get the line of ``equation``.
        around, self.around = self.around, self.origin(equation, "")
        try:
            return self.read(inner, operands)
        finally:
            self.around = around

    def origin(self, equation: Any, call: str) -> Origin:
        found = origin_of(equation, call)
        return found if found.file else replace(self.around, module="", call=call)

    def _call(self, equation: Any, operands: list[Any]) -> list[Any]:
        call = equation.params["call"]
        if not equation.outvars:
            return []
        origin = self.origin(equation, call.name)
        if self.as_words:
            # Rows of public functions were tried with arrays while the function was traced, before JAX
            # folded any of them into numbers.
            operands = [
                self._as_array(item, atom.aval, origin) for item, atom in zip(operands, equation.invars)
            ]
        args, kwargs = unflatten(call.arguments, [OpaqueOperand(item) for item in operands])
        is_written = sum(
            isinstance(item, OpaqueOperand) for item in iterate_structure((args, kwargs))
        ) == len(operands)
        args, kwargs = map_structure(_plain, args), map_structure(_plain, kwargs)
        program = None if call.body is None else CallProgram(body=call.body, operands=tuple(operands))
        is_assigned = _is_assigned(_structure(call.result, equation.outvars))
        if call.name == CUSTOM and not is_written:
            # Source text cannot build an object of a library that contains arrays, so the node calls the
            # function of the arrays instead.
            args, kwargs, is_assigned = (call.function, *operands), {}, False
        elif call.name == CUSTOM and not is_assigned:
            args = (Leaves(args[0]), *args[1:])
        outputs = self._outputs(call.name, [var.aval for var in equation.outvars])
        result = _structure(call.result, outputs) if is_assigned else outputs
        self._append(call.name, args, kwargs, origin, outputs, result, program)
        return list(outputs)

    def _as_array(self, item: Any, aval: Any, origin: Origin) -> Value:
        return (
            item
            if isinstance(item, Value)
            else self.made("jax.numpy.asarray", (item,), {}, replace(origin, call="asarray"), aval)
        )

    def _size(self, equation: Any, operands: list[Any]) -> list[Any]:
        origin = self.origin(equation, "shape")
        return self._node("jax.numpy.asarray", (equation.params["size"],), {}, origin, equation)

    def _read(self, equation: Any, operands: list[Any]) -> list[Any]:
        (array,) = operands
        origin, number = self.origin(equation, "elements read by Python"), equation.params.get("number")
        if self._decide is None:
            raise UnsupportedOperation(
                "elements are read inside of a function that is called several times, or of a loop\n    "
                f"{origin}"
            )
        if number is not None:
            operand = array if isinstance(array, Value) else self.constant(np.asarray(array))
            self.append(
                Node(
                    READ_NUMBER,
                    (operand,),
                    {},
                    origin,
                    (number,),
                    CallRecord(row_key(READ_NUMBER), result=number),
                )
            )
        # A number is no input of the program, so its elements are the same in every call.
        elif isinstance(array, Value):
            self._decide(array, equation.params["seen"].elements, origin)
        return []

    def _solve(self, equation: Any, operands: list[Any]) -> list[Any]:
        straight = solve_with_gradients(equation.params)
        if straight is None:
            # JAX's rule solves another equation, so the derivative is not that of the iterations.
            return call_with_rule(self, equation, _program_of(solver(equation.params), equation), operands)
        return self.inlined(equation, _program_of(straight, equation), operands)

    def _callback(self, equation: Any, operands: list[Any]) -> list[Any]:
        name, params = _name_of(equation), equation.params
        origin = self.origin(equation, f"lax.{name}")
        if name != PURE or self.as_words:
            raise UnsupportedOperation(
                f"{name}: a call back into Python cannot be recorded; take it out\n    {origin}"
            )
        shapes = tuple(tuple(aval.shape) for aval in params["result_avals"])
        whole = CallProgram(Callback(equation.primitive, params))
        return self._node(f"{PRIMITIVE}{name}_p", (shapes, *operands), {}, origin, equation, whole)

    def _debug_callback(self, equation: Any, operands: list[Any]) -> list[Any]:
        origin = self.origin(equation, "lax.debug_callback")
        log.info("%s: a call back into Python that only tells of numbers (jax.debug) is left out", origin)
        return []

    def _platform_index(self, equation: Any, operands: list[Any]) -> list[Any]:
        if self.as_words:
            return [np.int32(branch_of_cpu(equation.params["platforms"]))]
        return self._primitive(equation, operands)

    def _node(
        self,
        op: str,
        inputs: tuple[Any, ...],
        params: dict[str, Any],
        origin: Origin,
        equation: Any,
        program: CallProgram | None = None,
    ) -> list[Any]:
        outputs = self._outputs(op, [var.aval for var in equation.outvars])
        is_one = len(outputs) == 1 and _name_of(equation) in _ONE
        result = outputs if equation.primitive.multiple_results and not is_one else outputs[0]
        weak = _differ_in_weakness(equation.invars)
        self._append(op, inputs, params, origin, outputs, result, program, weak)
        return list(outputs)

    def made(
        self, op: str, inputs: tuple[Any, ...], params: dict[str, Any], origin: Origin, aval: Any
    ) -> Value:
        (made,) = outputs = self._outputs(op, [aval])
        self._append(op, inputs, params, origin, outputs, made)
        return made

    def _outputs(self, op: str, avals: list[Any]) -> tuple[Value, ...]:
        key = row_key(op)
        wish = _NAMES.get(key, key.removesuffix("_p").strip("_"))
        return tuple(Value(wish, self.spec(aval)) for aval in avals)

    def spec(self, aval: Any) -> ArraySpec:
        return spec_of(words_type(aval) if self.as_words else aval)

    def _append(
        self,
        op: str,
        inputs: tuple[Any, ...],
        params: dict[str, Any],
        origin: Origin,
        outputs: tuple[Value, ...],
        result: Any,
        program: CallProgram | None = None,
        weak: bool = False,
    ) -> None:
        arguments = (
            map_structure(lambda item: as_builtin(expression_of(item)), inputs),
            {name: _parameter(item) for name, item in params.items()},
        )
        self.append(
            Node(
                op,
                *arguments,
                origin,
                outputs,
                CallRecord(row_key(op), result=result, extra=program, weak=weak),
            )
        )

    def append(self, node: Node) -> None:
        self.nodes.append(node)
        self._makers.update(dict.fromkeys(node.outputs, node))

    def maker(self, value: Value) -> Node | None:
        return self._makers.get(value)

    def has_tangent(self, value: Value) -> bool:
        if value not in self._tangents:
            self._tangents[value] = self._may_have_tangent(value)
        return self._tangents[value]

    def _may_have_tangent(self, value: Value) -> bool:
        if value in self._constants or not is_inexact(value.dtype):
            return False
        if (inside := self.stands_for.get(value)) is not None:
            return self.has_tangent(inside)
        node = self.maker(value)
        return (
            node is None
            or row_key(node.op).removesuffix("_p") != "stop_gradient"
            and any(map(self.has_tangent, node.uses))
        )

    def is_constant(self, value: Value) -> bool:
        node = self.maker(value)
        return (
            value in self._constants
            or node is not None
            and not node.regions
            and all(map(self.is_constant, node.uses))
        )


_READ_BY_NAME: dict[str, Callable[[Reader, Any, list[Any]], list[Any]]] = {
    **READ,
    **dict.fromkeys(_PASSES_ON, lambda reader, equation, operands: operands),
    **dict.fromkeys(_SAYS, lambda reader, equation, operands: []),
    **dict.fromkeys(SOLVES, Reader._solve),
    **dict.fromkeys(CALLBACKS, Reader._callback),
    "debug_callback": Reader._debug_callback,
    "platform_index": Reader._platform_index,
    "public_call": Reader._call,
    "read": Reader._read,
    "size": Reader._size,
}


# --------------------------------------------------------------------------------------- substituted programs
def _program_of(function: Callable[..., Any], equation: Any) -> ClosedJaxpr:
    return jax.make_jaxpr(function)(*(_type(atom.aval) for atom in equation.invars))


def _applies_function(equation: Any) -> bool:
    if equation.primitive.name != "scatter" or (update := equation.params["update_jaxpr"]) is None:
        return False
    return bool(update.eqns) or update.outvars[0] is not update.invars[1]


def _apply_program(equation: Any, origin: Origin) -> ClosedJaxpr:
    """Return a jaxpr that computes a ``scatter`` of applied functions by other operations."""
    params = dict(equation.params)
    if not params["unique_indices"]:
        raise UnsupportedOperation(
            "x.at[index].apply: the function is applied as often as an index names an element; pass "
            f"unique_indices=True\n    {origin}"
        )
    update = jaxpr_as_fun(ClosedJaxpr(params.pop("update_jaxpr"), params.pop("update_consts")))

    def straight(x: Any, indices: Any, places: Any) -> Any:
        def apply(element: Any) -> Any:
            return update(element, jax.numpy.zeros_like(element))[0]

        for _ in range(x.ndim):
            apply = jax.vmap(apply)
        ones, numbers = jax.numpy.ones_like(places, "int32"), params["dimension_numbers"]
        hits = jax.lax.scatter_add(
            jax.numpy.zeros_like(x, "int32"), indices, ones, numbers, unique_indices=True, mode=params["mode"]
        )
        return jax.numpy.where(hits > 0, apply(x), x)

    return _program_of(straight, equation)


def _program_on_words(equation: Any) -> ClosedJaxpr:
    # Operations on keys other than those of `jax.random` move or compare them, and so move or compare each
    # word in the same way.
    each_word = jax.vmap(
        lambda *operands: equation.primitive.bind(*operands, **equation.params),
        in_axes=tuple(-1 if is_key(atom.aval) else None for atom in equation.invars),
        out_axes=-1,
    )
    # Two keys are equal if all their words are.
    joined = {"eq": jax.numpy.all, "ne": jax.numpy.any}.get(_name_of(equation))
    program = each_word if joined is None else lambda *operands: joined(each_word(*operands), axis=-1)
    return jax.make_jaxpr(program)(*(words_type(atom.aval) for atom in equation.invars))


class OpaqueOperand:
    """Wrapper that marks an operand or a result in a nested structure."""

    def __init__(self, item: Any) -> None:
        self.item = item


def _plain(item: Any) -> Any:
    return item.item if isinstance(item, OpaqueOperand) else item


def _structure(tree: Tree, made: Sequence[Any]) -> Any:
    return map_structure(_plain, unflatten(tree, [OpaqueOperand(item) for item in made]))


def _is_assigned(result: Any) -> bool:
    return (
        all(map(_is_assigned, result))
        if type(result) in (tuple, list)
        else not isinstance(result, dict) and hasattr(result, "aval")
    )


@dataclass(frozen=True)
class AxisNumbers:
    """Axes of a named tuple of JAX (``GatherDimensionNumbers``, ...), stored as one static parameter.

    name: class of the tuple in ``jax.lax``.
    fields: name and axes of each field. The names are attributes, too.
    """

    name: str
    fields: tuple[tuple[str, tuple[int, ...]], ...]

    def __getattr__(self, name: str) -> tuple[int, ...]:
        try:
            return dict(self.fields)[name]
        except KeyError:
            raise AttributeError(name) from None


@dataclass(frozen=True)
class EnumMember:
    """Member of an enumeration in ``jax.lax``, stored by name.

    kind: name of the enumeration.
    """

    # Some members are integers too, so the name is stored.
    kind: str
    name: str


def _parameter(item: Any) -> Any:
    if hasattr(jax.lax, type(item).__name__) and hasattr(item, "name") and hasattr(item, "value"):
        return EnumMember(type(item).__name__, item.name)
    if hasattr(item, "_fields") and type(item).__name__ in NAMED_TUPLES:
        fields = tuple((name, tuple(map(int, getattr(item, name)))) for name in item._fields)
        return AxisNumbers(type(item).__name__, fields)
    return map_structure(_plain_number, item)


def _plain_number(item: Any) -> Any:
    return int(item) if isinstance(item, np.integer) else as_builtin(expression_of(item))


def _operand(held: dict[Any, Any], atom: Any) -> Any:
    if not isinstance(atom, Literal):
        return held[atom]
    value = np.asarray(atom.val).astype(atom.aval.dtype)[()]
    return (
        value.item()
        if getattr(atom.aval, "weak_type", False) and type(value.item()) in _WEAK.get(value.dtype.kind, ())
        else value
    )


def _differ_in_weakness(atoms: Iterable[Any]) -> bool:
    """Return True if an array operand is weakly typed, and another operand, array or literal, is not."""
    kinds = {(bool(getattr(atom.aval, "weak_type", False)), isinstance(atom, Literal)) for atom in atoms}
    kinds.discard((True, True))
    return (True, False) in kinds and len(kinds) > 1


# --------------------------------------------------------------------------------------- origins of equations
@functools.lru_cache(maxsize=4096)
def is_users(file: str) -> bool:
    is_internal = (
        file.startswith("<frozen")
        or Path(file).name in _PYTHONS
        or owner_of_file(file) in ("framework", "own")
    )
    return not is_internal


_PYTHONS = ("contextlib.py", "functools.py")


def origin_of(equation: Any, call: str) -> Origin:
    """Return the origin of the innermost line of user code that led to an equation, or one without a file."""
    traceback: Any = getattr(equation.source_info, "traceback", None)
    for place, frame in enumerate(getattr(traceback, "frames", ())):
        if is_users(frame.file_name):
            codes, instructions = traceback.raw_frames()
            frames = slice(place, place + 2)
            running = list(map(Instruction, codes[frames], instructions[frames]))
            told = (stored_names(*running[0], *running[1:]), running[0]) if running else ()
            return Origin(frame.file_name, frame.line_num, "", call, *told)
    return Origin(call=call)
