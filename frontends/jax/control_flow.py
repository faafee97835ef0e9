"""Loops, branches and derivative rules of a jaxpr, read as nodes with regions.

A ``while`` that counts between known integers (``lax.fori_loop`` to a symbolic size) becomes a ``scan``, if
:func:`_trip_count` recognizes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Literal

from ...ir.builder import Body, close
from ...ir.node import CallRecord, Node, Value, values_in
from ...ops.registry import ArraySpec, get
from ...recording.faults import is_fault
from ...sizes import Size, apply, expression_of
from .dtypes import spec_of, words_type
from .intercept.loops import read_mark
from .intercept.rules import (
    CHECKPOINTS,
    TracedRule,
    checkpointed_program,
    has_derivative,
    is_checkpoint,
    name_of,
    rule_of,
)
from .names import PRIMITIVE, REFUSE_GRADIENT, ValueNumbers
from .programs import ProgramReader, has_reverse_mode_only, is_solve, read_error_check
from .regions import read_expectation


def scan(reader: ProgramReader, equation: Any, operands: list[Any]) -> list[Any]:
    params = equation.params
    constants, carried = _constants_and_carry(params)
    program, first = params["jaxpr"], constants + carried
    program, is_kept = checkpointed_program(program)
    # An unread sequence would be sliced in each iteration for nothing.
    unread = [place for place in range(first, len(operands)) if not _is_read(program, place)]
    program = _without_inputs(program, unread)
    rows = [item for place, item in enumerate(operands) if place >= first and place not in unread]
    step = _RegionWriter(reader, equation, program.in_avals[constants:])
    body = step.body("body", program, operands[:constants])
    given = [*step.arrays(operands[constants:first]), *rows]
    options = {
        "length": expression_of(params["length"]),
        "reverse": bool(params["reverse"]),
        "checkpoint": is_kept,
    }
    return step.node("scan", given, [body], carried=carried, sequences=len(rows), **options)


def _constants_and_carry(params: Mapping[str, Any]) -> tuple[int, int]:
    # JAX 0.11 replaced the two counts by trees of operands.
    if (operands := params.get("ft_in")) is None:
        return params["num_consts"], params["num_carry"]
    constants, carry, _ = map(len, operands.unpack())
    return constants, carry


def while_loop(reader: ProgramReader, equation: Any, operands: list[Any]) -> list[Any]:
    params = equation.params
    first, second = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
    condition_operands, body_operands, state = operands[:first], operands[first:second], operands[second:]
    condition, body = params["cond_jaxpr"], params["body_jaxpr"]
    if (length := _trip_count(reader, condition, body, [*condition_operands, *state], first)) is not None:
        return _counting_scan(reader, equation, length, body_operands, state)
    step = _RegionWriter(reader, equation, body.in_avals[len(body_operands) :])
    # Under ``vmap``, the loop runs while any element of the batch does, and finished elements keep their
    # state.
    many = condition.out_avals[0]
    some = [] if not many.shape else [partial(_any_continues, many)]
    goes_on = step.body("condition", condition, condition_operands, some)
    masking = (
        []
        if not many.shape
        else [partial(_frozen_if_done, many, body.out_avals, condition, condition_operands)]
    )
    return step.node(
        "while_loop",
        step.arrays(state),
        [goes_on, step.body("body", body, body_operands, masking)],
        carried=len(state),
        most=None,
    )


def cond(reader: ProgramReader, equation: Any, operands: list[Any]) -> list[Any]:
    index, *captured = operands
    branches = equation.params["branches"]
    step = _RegionWriter(reader, equation, [])
    if not isinstance(index, Value):
        # JAX clamps the index, too.
        return reader.read(branches[min(max(int(index), 0), len(branches) - 1)], captured)
    truth = _truth_of(reader, index) if len(branches) == 2 else None

    def is_taken(place: int) -> tuple[Value, bool]:
        if truth is not None:
            return truth, bool(place)
        return step.small(lambda index: index == place, [equation.invars[0].aval], index), True

    # JAX can run the callback of an error check, but no other framework can.
    if reader.as_words and (place := read_error_check(reader, branches, is_taken, step.origin)) is not None:
        return reader.inlined(equation, branches[place], captured)
    names = (
        ["otherwise", "then"] if len(branches) == 2 else [f"branch_{place}" for place in range(len(branches))]
    )
    bodies = [step.body(name, program, captured) for name, program in zip(names, branches)]
    return step.node("branch", [index if truth is None else truth], bodies)


def associative_scan(reader: ProgramReader, equation: Any, operands: list[Any]) -> list[Any]:
    combine, sequences = equation.params["combine"], equation.params["sequences"]
    held, given = operands[: len(operands) - sequences], operands[len(operands) - sequences :]
    step = _RegionWriter(reader, equation, combine.program.in_avals[len(held) :], combine.pairs)
    arrays = [step.array(item, var.aval) for item, var in zip(given, equation.outvars)]
    axis, reverse = equation.params["axis"], equation.params["reverse"]
    body = step.body("combine", combine.program, held)
    return step.node("associative_scan", arrays, [body], sequences=sequences, axis=axis, reverse=reverse)


def checkpoint(reader: ProgramReader, equation: Any, operands: list[Any]) -> list[Any]:
    program = ClosedJaxpr(equation.params["jaxpr"], ())
    if not is_checkpoint(equation) or not any(isinstance(item, Value) for item in operands):
        return reader.inlined(equation, program, operands)
    step = _RegionWriter(reader, equation, [])
    return step.node("call", [], [step.body(_name_of(program), program, operands)], checkpoint=True)


_RESULTS = {"associative_scan": "prefixes", "branch": "branch", "call": "call", "scan": "outputs"}
READ: dict[str, Callable[[ProgramReader, Any, list[Any]], list[Any]]] = {
    "associative_scan": associative_scan,
    **dict.fromkeys(CHECKPOINTS, checkpoint),
    "cond": cond,
    "expect": read_expectation,
    "mark": read_mark,
    "scan": scan,
    "while": while_loop,
}


class _RegionWriter:
    """Writer of the regions and the node of one equation.

    avals: types of the inputs of the regions.
    """

    def __init__(
        self,
        reader: ProgramReader,
        equation: Any,
        avals: Sequence[Any],
        inputs: Sequence[Value] | None = None,
    ) -> None:
        self.reader, self.equation = reader, equation
        self.avals, self._inputs = avals, inputs
        self.origin = reader.origin(equation, f"lax.{equation.primitive.name}")

    def body(
        self,
        name: str,
        program: ClosedJaxpr,
        captured: Sequence[Any],
        after: Sequence[Callable[..., list[Any]]] = (),
    ) -> Body:
        """Read ``program`` as the block of the region ``name``.

        captured: values or numbers for the first inputs of ``program``.
        after: functions of this writer, the inputs and the results. Each returns the results to use instead.
        """
        reader = self.reader
        names = names_of_arguments(program, len(self.avals))
        inputs = self._inputs or [Value(name, self._spec(aval)) for name, aval in zip(names, self.avals)]
        (outside, reader.nodes), around = (reader.nodes, []), reader.around
        # Equations without a line of their own get that of the loop or branch.
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
        return [self.array(item, aval) for item, aval in zip(operands, self.avals)]

    def small(self, function: Callable[..., Any], avals: Sequence[Any], *operands: Any) -> Any:
        types = [jax.ShapeDtypeStruct(aval.shape, aval.dtype) for aval in avals]
        return self.reader.read(jax.make_jaxpr(function)(*types), list(operands))[0]

    def node(
        self,
        op: str,
        operands: Sequence[Any],
        bodies: Sequence[Body],
        outvars: Sequence[Any] | None = None,
        **params: Any,
    ) -> list[Any]:
        """Append a node ``op`` with a region for each of ``bodies``, and return its outputs.

        The values that the bodies capture become its last operands.
        """
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
        return spec_of(words_type(aval) if self.reader.as_words else aval)

    def array(self, item: Any, aval: Any) -> Value:
        if isinstance(item, Value):
            return item
        number = item if isinstance(item, Size) else np.asarray(item).astype(aval.dtype)[()]
        return self.reader.made("jax.numpy.asarray", (number,), {}, self.origin, aval)


def _name_of(program: ClosedJaxpr) -> str:
    name = (program.jaxpr.debug_info.func_src_info or "").partition(" at ")[0]
    return name if name.isidentifier() else "body"


def names_of_arguments(program: ClosedJaxpr, count: int) -> list[str]:
    known = list(program.jaxpr.debug_info.arg_names or ())[-count:] if count else []
    return [name or "x" for name in known] if len(known) == count else ["x"] * count


def _is_read(program: ClosedJaxpr, place: int) -> bool:
    var = program.jaxpr.invars[place]
    return any(item is var for equation in program.jaxpr.eqns for item in equation.invars) or any(
        item is var for item in program.jaxpr.outvars
    )


def _without_inputs(program: ClosedJaxpr, places: Sequence[int]) -> ClosedJaxpr:
    return _with_variables(
        program,
        [var for place, var in enumerate(program.jaxpr.invars) if place not in places],
        program.jaxpr.outvars,
    )


def _with_variables(program: ClosedJaxpr, invars: Sequence[Any], outvars: Sequence[Any]) -> ClosedJaxpr:
    jaxpr = program.jaxpr
    if len(invars) == len(jaxpr.invars) and list(outvars) == list(jaxpr.outvars):
        return program
    names = dict(zip(jaxpr.invars, jaxpr.debug_info.arg_names or ()))
    info = jaxpr.debug_info
    kept = (
        info._replace(arg_names=tuple(names.get(var, "") for var in invars), result_paths=None)
        if names
        else info
    )
    return ClosedJaxpr(
        jaxpr.replace(invars=list(invars), outvars=list(outvars), debug_info=kept), program.consts
    )


# ---------------------------------------------------------------------------------------------- batched loops
def _any_continues(many: Any, step: _RegionWriter, inputs: list[Value], found: list[Any]) -> list[Any]:
    return [
        step.small(lambda goes_on: jax.lax.reduce_or(goes_on, tuple(range(goes_on.ndim))), [many], *found)
    ]


def _frozen_if_done(
    many: Any,
    avals: Sequence[Any],
    condition: ClosedJaxpr,
    condition_operands: Sequence[Any],
    step: _RegionWriter,
    inputs: list[Value],
    found: list[Any],
) -> list[Any]:
    (goes_on,) = step.reader.read(condition, [*condition_operands, *inputs])

    def masked(goes_on: Any, new: Any, old: Any) -> Any:
        return jax.lax.select(jax.lax.broadcast_in_dim(goes_on, new.shape, range(goes_on.ndim)), new, old)

    return [
        old if new is old else step.small(masked, [many, aval, aval], goes_on, new, old)
        for aval, new, old in zip(avals, found, inputs)
    ]


# --------------------------------------------------------------------------------------- counting loops
def _trip_count(
    reader: ProgramReader,
    condition: ClosedJaxpr,
    body: ClosedJaxpr,
    operands: list[Any],
    condition_count: int,
) -> Any:
    """Return the trip count of a ``while`` that is found to count up by one to a known bound, or None."""
    program, step = condition.jaxpr, body.jaxpr
    if (
        condition_count
        or len(program.eqns) != 1
        or program.eqns[0].primitive.name != "lt"
        or program.eqns[0].invars != program.invars[:2]
        or program.outvars != program.eqns[0].outvars
    ):
        return None
    first = len(step.invars) - len(program.invars)
    counter, end = step.invars[first : first + 2]
    added = next((eqn for eqn in step.eqns if step.outvars[0] in eqn.outvars), None)
    counts = (
        added is not None
        # The trip count of a loop that counts in floats may not be the difference of its bounds.
        and jax.numpy.issubdtype(counter.aval.dtype, jax.numpy.integer)
        and added.primitive.name == "add"
        and added.invars[0] is counter
        and _is_one(added.invars[1])
    )
    low, high = (_known_number(reader, item) for item in operands[:2])
    if not counts or step.outvars[1] is not end or low is None or high is None:
        return None
    length = high - low
    return apply("max", length, 0) if isinstance(length, Size) else max(length, 0)


def _is_one(atom: Any) -> bool:
    return isinstance(atom, Literal) and np.ndim(atom.val) == 0 and int(atom.val) == 1


def _known_number(reader: ProgramReader, item: Any) -> Any:
    if not isinstance(item, Value):
        return int(item)
    node = reader.maker(item)
    while (
        node is not None
        and node.op == f"{PRIMITIVE}convert_element_type_p"
        and isinstance(node.inputs[0], Value)
    ):
        node = reader.maker(node.inputs[0])
    number = node.inputs[0] if node is not None and node.op == "jax.numpy.asarray" else None
    if isinstance(number, Size):
        # A float was rounded by the conversion to integers.
        return number if number.type is int else None
    return int(number) if isinstance(number, (int, np.integer)) else None


def _counting_scan(
    reader: ProgramReader, equation: Any, length: Any, body_operands: list[Any], state: list[Any]
) -> list[Any]:
    body = equation.params["body_jaxpr"]
    avals = body.in_avals[len(body_operands) :]
    step = _RegionWriter(reader, equation, [avals[0], *avals[2:]])
    # The end of the range is captured instead of carried, because it does not change.
    end = state[1]

    jaxpr, first = body.jaxpr, len(body_operands)
    counter, last, *rest = jaxpr.invars[first:]
    straight = _with_variables(
        body, [*jaxpr.invars[:first], last, counter, *rest], [jaxpr.outvars[0], *jaxpr.outvars[2:]]
    )
    block = step.body("body", straight, [*body_operands, end])
    given = step.arrays([state[0], *state[2:]])
    outputs = [equation.outvars[0], *equation.outvars[2:]]
    counter, *rest = step.node(
        "scan", given, [block], outvars=outputs, carried=len(given), sequences=0, length=length
    )
    return [counter, end, *rest]


def _truth_of(reader: ProgramReader, index: Value) -> Value | None:
    # `lax.cond` converts its predicate to the index of one of two branches.
    node = reader.maker(index)
    if (
        node is None
        or node.op != f"{PRIMITIVE}convert_element_type_p"
        or not isinstance(node.inputs[0], Value)
    ):
        return None
    return node.inputs[0] if node.inputs[0].dtype == "bool" else None


# Order of derivatives to which rules are followed. It is limited because a rule may call its own function.
ORDERS = 2


def call_with_rule(
    reader: ProgramReader, equation: Any, inner: ClosedJaxpr, operands: list[Any]
) -> list[Any]:
    """Read a call of a function with a derivative rule, as a ``custom_derivative`` node or inline."""
    call = CallWriter(reader, equation, inner, operands)
    if reader.orders is None:
        return call.inlined()
    call.refuse_closed_over()
    if reader.orders == 0:
        return call.write_without_derivative(f"the derivative of order {ORDERS + 1} is asked for")
    is_forward = not reader.as_words and not has_reverse_mode_only(equation)
    try:
        rule = rule_of(
            equation, [place for place in call.arrays if reader.has_tangent(operands[place])], is_forward
        )
    # The rule is the user's code, and may do or refuse anything.
    except Exception as problem:
        if is_fault(problem):
            raise
        reason = f"{type(problem).__name__}: {problem}".strip().splitlines()[0]
        return call.write_without_derivative(f"it cannot be traced ({reason})")
    if not rule.results or not rule.sources:
        return call.inlined()
    return call.forward_mode(rule, rule.tangents) if rule.tangents is not None else call.reverse_mode(rule)


class CallWriter:
    """Writer of the node for one call of a function.

    inner: jaxpr of the function.
    operands: values and numbers, one for each input of ``inner``.
    """

    def __init__(self, reader: ProgramReader, equation: Any, inner: ClosedJaxpr, operands: list[Any]) -> None:
        self.reader, self.equation, self.inner, self.operands = reader, equation, inner, list(operands)
        self.results = [var.aval for var in equation.outvars]
        self.arrays = [place for place, item in enumerate(operands) if isinstance(item, Value)]
        self.origin = reader.origin(equation, name_of(equation)[0])
        name = name_of(equation)[0].rpartition(".")[2]
        self.name = name if name.isidentifier() else "function"

    def refuse_closed_over(self) -> None:
        """Make gradients with respect to arrays that the function closes over raise an error."""
        message = self._message(
            "it is taken with respect to an array that the function closes over; pass it as an argument"
        )
        for place in self.arrays:
            # Arrays that depend on no argument need no mark.
            item, aval = self.operands[place], self.equation.invars[place].aval
            if (
                place < self.equation.params.get("num_consts", 0)
                and has_derivative(aval)
                and not self.reader.is_constant(item)
            ):
                self.operands[place] = self.reader.made(
                    REFUSE_GRADIENT, (item, item), {"message": message}, self.origin, aval
                )

    def inlined(self) -> list[Any]:
        return self.reader.inlined(self.equation, self.inner, self.operands)

    def write_call(self) -> list[Any]:
        body = self._function(self.reader.orders)
        # Sizes of the enclosing scope that the function reads are sizes of its own arguments.
        for value, place in zip(body.inputs, self.arrays):
            shape = tuple(map(expression_of, self.equation.invars[place].aval.shape))
            value.spec = ArraySpec((*shape, *value.shape[len(shape) :]), value.dtype)
        made = self._append("call", [body], dict(get("call").params))
        for value in self.reader.nodes[-1].regions[0].block.inputs:
            value.spec = ArraySpec(value.spec.hints, value.dtype)
        return made

    def write_without_derivative(self, why: str) -> list[Any]:
        """Inline the function, with results whose derivative raises an error that tells ``why``."""
        values, sources = self.inlined(), [self.operands[place] for place in self.arrays]
        message = self._message(why)
        for place, aval in enumerate(self.results):
            if has_derivative(aval) and sources:
                inputs = (values[place], *sources)
                values[place] = self.reader.made(
                    REFUSE_GRADIENT, inputs, {"message": message}, self.origin, aval
                )
        return values

    def forward_mode(self, rule: TracedRule, tangents: ClosedJaxpr) -> list[Any]:
        given = self._inputs("tangent", [self.equation.invars[place].aval for place in rule.sources])
        inputs, operands = self._operands()
        avals = [*self.results, *(self.results[place] for place in rule.results)]
        arguments = [*given, *operands]
        body = self._body(
            "rule", [*given, *inputs], lambda: self.reader.read(tangents, arguments), avals, self._less()
        )
        return self._node([self._function(), body], rule, kind="jvp")

    def reverse_mode(self, rule: TracedRule) -> list[Any]:
        assert rule.forward is not None and rule.backward is not None
        function, (forward, needed) = self._function(), self._forward(rule.forward)
        residuals = dict(
            zip(
                forward.outputs[len(self.results) :],
                [Value("residual", item.spec) for item in forward.outputs[len(self.results) :]],
            )
        )
        inputs, _ = self._operands()
        known = {**dict(zip(forward.inputs, inputs)), **residuals}
        cotangents = self._inputs("cotangent", [self.results[place] for place in rule.results])
        taken = [*self._inputs("result", self.results), *residuals.values(), *cotangents, *inputs]
        arguments = [
            *(known.get(item, item) if isinstance(item, Value) else item for item in needed),
            *cotangents,
        ]
        avals, backward = [self.equation.invars[place].aval for place in rule.sources], rule.backward
        body = self._body("rule", taken, lambda: self.reader.read(backward, arguments), avals, self._less())
        bodies = [function, forward, body] if residuals else [function, body]
        return self._node(bodies, rule, kind="vjp", residuals=len(residuals))

    # ------------------------------------------------------------------------------ bodies
    def _function(self, orders: int | None = None) -> Body:
        inputs, operands = self._operands()
        return self._body("", inputs, lambda: self.reader.read(self.inner, operands), self.results, orders)

    def _forward(self, program: ClosedJaxpr) -> tuple[Body, list[Any]]:
        """Return the body of the forward function, and the residuals that the rule needs.

        The body returns the results of the function, and then the residuals that it computes.
        """
        inputs, operands = self._operands()
        needed: list[Any] = []

        def read() -> list[Any]:
            # The results are those of the function itself, because a target does not know in advance whether
            # a gradient will be taken.
            results = self.reader.read(self.inner, operands)
            found = self.reader.read(program, operands)
            needed[:], found = found[len(results) :], found[: len(results)]
            made = {value for node in self.reader.nodes for value in node.outputs}
            residuals = dict.fromkeys(item for item in needed if isinstance(item, Value) and item in made)
            # If residuals depend on results of the program that value numbering finds to be equal, the body
            # returns those, so that the function is not computed twice.
            behind = {value for node in _contributing(self.reader.nodes, residuals) for value in node.outputs}
            if any(item in behind for item in found if isinstance(item, Value)) and self._are_alike(
                inputs, results, found
            ):
                results = found
            return [*results, *residuals]

        return self._body("forward", inputs, read, self.results, self._less()), needed

    def _are_alike(self, inputs: Sequence[Value], results: Sequence[Any], others: Sequence[Any]) -> bool:
        numbers = ValueNumbers()
        numbers.follow(inputs, [("input", place) for place in range(len(inputs))], self.reader.nodes)
        return list(map(numbers.of, results)) == list(map(numbers.of, others))

    def _less(self) -> int | None:
        return None if self.reader.orders is None else self.reader.orders - 1

    def _operands(self) -> tuple[list[Value], list[Any]]:
        names = names_of_arguments(self.inner, len(self.operands))
        inputs = {place: self._input(names[place], self.equation.invars[place].aval) for place in self.arrays}
        self.reader.stands_for.update((value, self.operands[place]) for place, value in inputs.items())
        return list(inputs.values()), [inputs.get(place, item) for place, item in enumerate(self.operands)]

    def _inputs(self, name: str, avals: Sequence[Any]) -> list[Value]:
        return [self._input(name, aval) for aval in avals]

    def _input(self, name: str, aval: Any) -> Value:
        return Value(name, self.reader.spec(aval))

    def _body(
        self,
        name: str,
        inputs: Sequence[Value],
        read: Callable[[], list[Any]],
        avals: Sequence[Any],
        orders: int | None,
    ) -> Body:
        """Return a body of the nodes that ``read`` appends and on which its results depend.

        avals: types of the first results.
        orders: order of derivatives to which rules are followed in the body; None to follow no rules.
        """
        reader = self.reader
        before = reader.nodes, reader.around, reader.orders, reader.checks
        reader.nodes, reader.around, reader.orders, reader.checks = [], self.origin, orders, False
        try:
            found = read()
            outputs = [*map(self._array, found, avals), *found[len(avals) :]]
            nodes = _contributing(reader.nodes, outputs)
        finally:
            reader.nodes, reader.around, reader.orders, reader.checks = before
        return Body(f"{self.name}_{name}".rstrip("_"), tuple(inputs), tuple(nodes), tuple(outputs))

    def _array(self, item: Any, aval: Any) -> Value:
        if isinstance(item, Value):
            return item
        number = item if isinstance(item, Size) else np.asarray(item).astype(aval.dtype)[()]
        return self.reader.made("jax.numpy.asarray", (number,), {}, self.origin, aval)

    def _node(self, bodies: Sequence[Body], rule: TracedRule, kind: str, residuals: int = 0) -> list[Any]:
        places = tuple(self.arrays.index(place) for place in rule.sources)
        return self._append(
            "custom_derivative", bodies, {"kind": kind, "differentiated": places, "residuals": residuals}
        )

    def _append(self, op: str, bodies: Sequence[Body], params: dict[str, Any]) -> list[Any]:
        regions, captured = close(*bodies)
        outputs = tuple(self._inputs(self.name, self.results))
        inputs = (*(self.operands[place] for place in self.arrays), *captured)
        self.reader.append(
            Node(op, inputs, params, self.origin, outputs, CallRecord(op, result=outputs), regions)
        )
        return list(outputs)

    def _message(self, why: str) -> str:
        name, written = name_of(self.equation)
        kind = (
            "lax.custom_linear_solve"
            if is_solve(self.equation)
            else "custom_jvp"
            if self.equation.primitive.name == "custom_jvp_call"
            else "custom_vjp"
        )
        line = f"{self.origin.file}:{self.origin.line}" if self.origin.file else written
        return (
            f"a gradient is taken through the call of {name} at {Path(line).name}, which has a derivative "
            f"rule of its own (jax.{kind}) "
            f"that the graph does not follow: {why}. Take the gradient in JAX, of the original"
        )


def _contributing(nodes: Sequence[Node], outputs: Iterable[Any]) -> list[Node]:
    # Nodes of a traced program have no side effects.
    needed = set(values_in(list(outputs)))
    kept = []
    for node in reversed(nodes):
        if not needed.isdisjoint(node.outputs):
            kept.append(node)
            needed.update(node.uses)
    return kept[::-1]
