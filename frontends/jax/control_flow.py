"""Loops and branches of a traced program as nodes that run blocks: ``scan``, ``while`` and ``cond`` of JAX, whatever their lengths.

A ``while`` that only counts (``lax.fori_loop`` to a size) becomes a ``scan``: the number of its steps is known before it begins, so that
reverse mode goes through it, as JAX's own does where sizes are numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Literal

from ...ir.closing import Body, close
from ...ir.node import Node, Value
from ...ir.record import CallRecord
from ...ops.registry import ArraySpec, get
from ...sizes import Size, apply, expression_of
from .checkpoints import CHECKPOINTS, is_checkpoint, opened
from .dtypes import words_type
from .error_checks import checked
from .loops import marked
from .names import PRIMITIVE
from .regions import expected

if TYPE_CHECKING:
    from .equations import Reader


def scan(reader: Reader, equation: Any, operands: list[Any]) -> list[Any]:
    """``lax.scan``, ``lax.map`` and loops of ``lax.fori_loop`` whose length is a number."""
    params = equation.params
    constants, carried = _constants_and_carry(params)
    program, first = params["jaxpr"], constants + carried
    program, is_kept = opened(program)
    unread = [place for place in range(first, len(operands)) if not _is_read(program, place)]
    program = _without_inputs(program, unread)
    rows = [item for place, item in enumerate(operands) if place >= first and place not in unread]
    step = _Step(reader, equation, program.in_avals[constants:])
    body = step.body("body", program, operands[:constants])
    given = [*step.arrays(operands[constants:first]), *rows]
    options = {"length": expression_of(params["length"]), "reverse": bool(params["reverse"]), "checkpoint": is_kept}
    return step.node("scan", given, [body], carried=carried, sequences=len(rows), **options)


def _constants_and_carry(params: Mapping[str, Any]) -> tuple[int, int]:
    """How many operands of a scan stay what they are, and how many are carried; JAX counts them in trees since 0.11."""
    if (operands := params.get("ft_in")) is None:
        return params["num_consts"], params["num_carry"]
    constants, carry, _ = map(len, operands.unpack())
    return constants, carry


def while_loop(reader: Reader, equation: Any, operands: list[Any]) -> list[Any]:
    """``lax.while_loop``. Under ``vmap`` it runs while any member of the batch does; finished members keep their state."""
    params = equation.params
    first, second = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
    asked, stepped, state = operands[:first], operands[first:second], operands[second:]
    condition, body = params["cond_jaxpr"], params["body_jaxpr"]
    if (length := _count(reader, condition, body, [*asked, *state], first)) is not None:
        return _counted(reader, equation, length, stepped, state)
    step = _Step(reader, equation, body.in_avals[len(stepped) :])
    many = condition.out_avals[0]
    some = [] if not many.shape else [partial(_some, many)]
    goes_on = step.body("condition", condition, asked, some)
    kept = [] if not many.shape else [partial(_kept, many, body.out_avals, condition, asked)]
    return step.node("while_loop", step.arrays(state), [goes_on, step.body("body", body, stepped, kept)], carried=len(state), most=None)


def cond(reader: Reader, equation: Any, operands: list[Any]) -> list[Any]:
    """``lax.cond`` and ``lax.switch``: the branches read the operands of the call."""
    index, *captured = operands
    branches = equation.params["branches"]
    step = _Step(reader, equation, [])
    if not isinstance(index, Value):
        return reader.read(branches[min(max(int(index), 0), len(branches) - 1)], captured)
    truth = _truth_of(reader, index) if len(branches) == 2 else None

    def is_taken(place: int) -> tuple[Value, bool]:
        if truth is not None:
            return truth, bool(place)
        return step.small(lambda index: index == place, [equation.invars[0].aval], index), True

    if reader.as_words and (place := checked(reader, branches, is_taken, step.origin)) is not None:
        return reader.inlined(equation, branches[place], captured)
    names = ["otherwise", "then"] if len(branches) == 2 else [f"branch_{place}" for place in range(len(branches))]
    bodies = [step.body(name, program, captured) for name, program in zip(names, branches)]
    return step.node("branch", [index if truth is None else truth], bodies)


def associative_scan(reader: Reader, equation: Any, operands: list[Any]) -> list[Any]:
    """``lax.associative_scan``: the body combines any number of pairs."""
    combine, sequences = equation.params["combine"], equation.params["sequences"]
    held, given = operands[: len(operands) - sequences], operands[len(operands) - sequences :]
    step = _Step(reader, equation, combine.program.in_avals[len(held) :], combine.pairs)
    arrays = [step.array(item, var.aval) for item, var in zip(given, equation.outvars)]
    axis, reverse = equation.params["axis"], equation.params["reverse"]
    body = step.body("combine", combine.program, held)
    return step.node("associative_scan", arrays, [body], sequences=sequences, axis=axis, reverse=reverse)


def checkpoint(reader: Reader, equation: Any, operands: list[Any]) -> list[Any]:
    """``jax.checkpoint`` of a function that is no step of a ``lax.scan``: what it is given is kept for the backward pass, and nothing
    else."""
    program = ClosedJaxpr(equation.params["jaxpr"], ())
    if not is_checkpoint(equation) or not any(isinstance(item, Value) for item in operands):
        return reader.inlined(equation, program, operands)
    step = _Step(reader, equation, [])
    return step.node("call", [], [step.body(_name_of(program), program, operands)], checkpoint=True)


_RESULTS = {"associative_scan": "prefixes", "branch": "chosen", "call": "made", "scan": "outputs"}
READ: dict[str, Callable[[Reader, Any, list[Any]], list[Any]]] = {
    "associative_scan": associative_scan,
    **dict.fromkeys(CHECKPOINTS, checkpoint),
    "cond": cond,
    "expect": expected,
    "mark": marked,
    "scan": scan,
    "while": while_loop,
}


class _Step:
    """The bodies of one equation: ``avals`` are the types of the inputs that each of them has beside what it captures, ``inputs`` those
    inputs where their sizes are read from them."""

    def __init__(self, reader: Reader, equation: Any, avals: Sequence[Any], inputs: Sequence[Value] | None = None) -> None:
        self.reader, self.equation = reader, equation
        self.avals, self._inputs = avals, inputs
        self.origin = reader.origin(equation, f"lax.{equation.primitive.name}")

    def body(self, name: str, program: ClosedJaxpr, captured: Sequence[Any], after: Sequence[Callable[..., list[Any]]] = ()) -> Body:
        """The block of a program; its operands are what it captures, then its own inputs. ``after`` changes its results."""
        reader = self.reader
        names = names_of_arguments(program, len(self.avals))
        inputs = self._inputs or [Value(name, self._spec(aval)) for name, aval in zip(names, self.avals)]
        (outside, reader.nodes), around = (reader.nodes, []), reader.around
        reader.around = self.origin
        try:
            found = reader.read(program, [*captured, *inputs])
            for change in after:
                found = change(self, inputs, found)
            outputs = [self.array(item, aval) for item, aval in zip(found, program.out_avals)]
            nodes = reader.nodes
        finally:
            reader.nodes, reader.around = outside, around
        return Body(name, tuple(inputs), tuple(nodes), tuple(outputs))

    def arrays(self, operands: Sequence[Any]) -> list[Value]:
        """Operands as arrays: numbers have no type that a step could keep."""
        return [self.array(item, aval) for item, aval in zip(operands, self.avals)]

    def small(self, function: Callable[..., Any], avals: Sequence[Any], *operands: Any) -> Any:
        """The result of a few operations."""
        types = [jax.ShapeDtypeStruct(aval.shape, aval.dtype) for aval in avals]
        return self.reader.read(jax.make_jaxpr(function)(*types), list(operands))[0]

    def node(
        self, op: str, operands: Sequence[Any], bodies: Sequence[Body], outvars: Sequence[Any] | None = None, **params: Any
    ) -> list[Any]:
        """The node that runs the bodies."""
        regions, captured = close(*bodies)
        declared = get(op)
        whole = {name: params.get(name, default) for name, default in declared.params.items()}
        avals = [var.aval for var in (self.equation.outvars if outvars is None else outvars)]
        carried = [value.name for value in bodies[-1].inputs[: params.get("carried", 0)]]
        names = [*carried, *[_RESULTS.get(op, "last")] * len(avals)]
        outputs = tuple(Value(name, self._spec(aval)) for name, aval in zip(names, avals))
        record = CallRecord(op, result=outputs)
        self.reader.append(Node(op, (*operands, *captured), whole, self.origin, outputs, record, regions))
        return list(outputs)

    def _spec(self, aval: Any) -> ArraySpec:
        from .equations import spec_of

        return spec_of(words_type(aval) if self.reader.as_words else aval)

    def array(self, item: Any, aval: Any) -> Value:
        """An operand as an array of this type."""
        if isinstance(item, Value):
            return item
        number = item if isinstance(item, Size) else np.asarray(item).astype(aval.dtype)[()]
        return self.reader.made("jax.numpy.asarray", (number,), {}, self.origin, aval)


def _name_of(program: ClosedJaxpr) -> str:
    """What the function that was traced is called, or ``body``."""
    name = (program.jaxpr.debug_info.func_src_info or "").partition(" at ")[0]
    return name if name.isidentifier() else "body"


def names_of_arguments(program: ClosedJaxpr, count: int) -> list[str]:
    """What the function that was traced calls its last arguments: ``carry``, or ``carry[0]`` of a tuple."""
    known = list(program.jaxpr.debug_info.arg_names or ())[-count:] if count else []
    return [name or "x" for name in known] if len(known) == count else ["x"] * count


def _is_read(program: ClosedJaxpr, place: int) -> bool:
    """Whether an input of a program is read in it."""
    var = program.jaxpr.invars[place]
    return any(item is var for equation in program.jaxpr.eqns for item in equation.invars) or any(
        item is var for item in program.jaxpr.outvars
    )


def _without_inputs(program: ClosedJaxpr, places: Sequence[int]) -> ClosedJaxpr:
    """A program without inputs that nothing in it reads."""
    return _rearranged(program, [var for place, var in enumerate(program.jaxpr.invars) if place not in places], program.jaxpr.outvars)


def _rearranged(program: ClosedJaxpr, invars: Sequence[Any], outvars: Sequence[Any]) -> ClosedJaxpr:
    """A program with its inputs or outputs in another order, or fewer of them."""
    jaxpr = program.jaxpr
    if len(invars) == len(jaxpr.invars) and list(outvars) == list(jaxpr.outvars):
        return program
    names = dict(zip(jaxpr.invars, jaxpr.debug_info.arg_names or ()))
    info = jaxpr.debug_info
    kept = info._replace(arg_names=tuple(names.get(var, "") for var in invars), result_paths=None) if names else info
    return ClosedJaxpr(jaxpr.replace(invars=list(invars), outvars=list(outvars), debug_info=kept), program.consts)


# ------------------------------------------------------------------------------------- loops of many, under vmap
def _some(many: Any, step: _Step, inputs: list[Value], found: list[Any]) -> list[Any]:
    return [step.small(lambda goes_on: jax.lax.reduce_or(goes_on, tuple(range(goes_on.ndim))), [many], *found)]


def _kept(
    many: Any, avals: Sequence[Any], condition: ClosedJaxpr, asked: Sequence[Any], step: _Step, inputs: list[Value], found: list[Any]
) -> list[Any]:
    """What a step leaves in a loop of many, whose truth values have the first axes: for each whether it goes on."""
    (goes_on,) = step.reader.read(condition, [*asked, *inputs])

    def kept(goes_on: Any, new: Any, old: Any) -> Any:
        return jax.lax.select(jax.lax.broadcast_in_dim(goes_on, new.shape, range(goes_on.ndim)), new, old)

    return [old if new is old else step.small(kept, [many, aval, aval], goes_on, new, old) for aval, new, old in zip(avals, found, inputs)]


# ------------------------------------------------------------------------------------- loops that count
def _count(reader: Reader, condition: ClosedJaxpr, body: ClosedJaxpr, operands: list[Any], asked: int) -> Any:
    """How many steps a loop of ``lax.fori_loop`` takes, where that follows from numbers and sizes; None for other loops.

    Its state begins with the counter and the end, its condition compares them, and a step adds 1 to the first and keeps the second.
    """
    program, step = condition.jaxpr, body.jaxpr
    if asked or len(program.eqns) != 1 or program.eqns[0].primitive.name != "lt" or program.eqns[0].invars != program.invars[:2]:
        return None
    first = len(step.invars) - len(program.invars)
    counter, end = step.invars[first : first + 2]
    added = next((eqn for eqn in step.eqns if step.outvars[0] in eqn.outvars), None)
    counts = added is not None and added.primitive.name == "add" and added.invars[0] is counter and _is_one(added.invars[1])
    low, high = (_number(reader, item) for item in operands[:2])
    if not counts or step.outvars[1] is not end or low is None or high is None:
        return None
    length = high - low
    return apply("max", length, 0) if isinstance(length, Size) else max(length, 0)


def _is_one(atom: Any) -> bool:
    return isinstance(atom, Literal) and np.ndim(atom.val) == 0 and int(atom.val) == 1


def _number(reader: Reader, item: Any) -> Any:
    """A number, or the size that an array was made of."""
    if not isinstance(item, Value):
        return int(item)
    node = reader.maker(item)
    while node is not None and node.op == f"{PRIMITIVE}convert_element_type_p" and isinstance(node.inputs[0], Value):
        node = reader.maker(node.inputs[0])
    made = node is not None and node.op == "jax.numpy.asarray" and isinstance(node.inputs[0], (int, np.integer, Size))
    return (node.inputs[0] if isinstance(node.inputs[0], Size) else int(node.inputs[0])) if made and node is not None else None


def _counted(reader: Reader, equation: Any, length: Any, stepped: list[Any], state: list[Any]) -> list[Any]:
    """A loop that counts, as a scan over nothing that carries its counter; the end is none of its state."""
    body = equation.params["body_jaxpr"]
    avals = body.in_avals[len(stepped) :]
    step = _Step(reader, equation, [avals[0], *avals[2:]])
    end = state[1]

    jaxpr, first = body.jaxpr, len(stepped)
    counter, last, *rest = jaxpr.invars[first:]
    straight = _rearranged(body, [*jaxpr.invars[:first], last, counter, *rest], [jaxpr.outvars[0], *jaxpr.outvars[2:]])
    block = step.body("body", straight, [*stepped, end])
    given = step.arrays([state[0], *state[2:]])
    outputs = [equation.outvars[0], *equation.outvars[2:]]
    counter, *rest = step.node("scan", given, [block], outvars=outputs, carried=len(given), sequences=0, length=length)
    return [counter, end, *rest]


def _truth_of(reader: Reader, index: Value) -> Value | None:
    """The truth value that the index of a branch was made of."""
    node = reader.maker(index)
    if node is None or node.op != f"{PRIMITIVE}convert_element_type_p" or not isinstance(node.inputs[0], Value):
        return None
    return node.inputs[0] if node.inputs[0].dtype == "bool" else None
