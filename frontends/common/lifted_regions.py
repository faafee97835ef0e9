"""Lifting of nodes with regions, and of guards on a loop index inside of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from ...errors import GraphCompilerError, UnsupportedOperation
from ...ir.builder import Body
from ...ir.graph import Graph, check, guard_of
from ...ir.node import Node, Region, Value, draws, every, pairs_of, values_in
from ...ops.control import has_derivative, own_inputs, own_operands
from ...ops.registry import ArraySpec
from ...sizes import Apply, Size, apply, hint_of, substitute
from .read_numbers import number_of

# ------------------------------------------------------------------------------------------------ loop guards
# Guards on a loop index, replaced by guards outside of the loop for the iteration that is strictest.

_COMPARISONS = ("le", "lt", "ge", "gt")


def ends_of(steps: Node) -> tuple[Any, Any]:
    """Return the smallest and the largest element of a nonempty ``arange`` node of integers."""
    start, stop, step = (steps.params[name] for name in ("start", "stop", "step"))
    last = (
        stop - 1
        if step == 1
        else start + (stop - start + step - (1 if step > 0 else -1)) // step * step - step
    )
    return (start, last) if step > 0 else (last, start)


def at_ends(condition: Any, numbers: Mapping[Value, tuple[Any, Any]]) -> Any:
    """Return a condition on the ends of loops that implies ``condition`` in all iterations, or None.

    numbers: smallest and largest value of each loop index.
    """
    atom = _comparison(condition)
    if atom is None:
        return None
    read = [value for value in numbers if any(symbol.source is value for symbol in condition.symbols())]
    if not read or not all(_is_sum(item, value) for item in atom.arguments for value in read):
        return None
    small, large = atom.arguments if atom.function in ("le", "lt") else atom.arguments[::-1]
    for value in read:
        # ``small <= large`` is strictest where ``large - small`` is smallest: at the first end if the
        # difference grows with the index, else at the last end.
        ends = numbers[value]
        condition = _placed(
            condition, value, ends[0] if _factor(large, value) > _factor(small, value) else ends[1]
        )
    # It may be false for a loop without iterations.
    return condition if hint_of(condition) else None


def _factor(item: Any, value: Value) -> int:
    terms = item.terms() if isinstance(item, Size) and item.type is int else ()
    return sum(
        factor
        for monomial, factor in terms
        if any(getattr(atom, "source", None) is value for atom in monomial)
    )


def _comparison(condition: Any) -> Apply | None:
    atoms = list(condition.atoms()) if isinstance(condition, Size) else []
    return (
        atoms[0]
        if len(atoms) == 1 and isinstance(atoms[0], Apply) and atoms[0].function in _COMPARISONS
        else None
    )


def _is_sum(item: Any, value: Value) -> bool:
    """Return True if ``value`` occurs in ``item`` at most as a linear term of an integer sum."""
    if not isinstance(item, Size):
        return True
    if item.type is not int:
        return all(symbol.source is not value for symbol in item.symbols())
    for monomial, _ in item.terms():
        is_term = len(monomial) == 1 and not isinstance(monomial[0], Apply)
        if not is_term and any(
            symbol.source is value for atom in monomial for symbol in Size.of(atom).symbols()
        ):
            return False
    return True


def _placed(condition: Any, value: Value, end: Any) -> Any:
    atom = _comparison(condition)
    # The comparison has become a constant.
    if atom is None:
        return condition
    sides = [
        substitute(item, lambda symbol: end if symbol.source is value else Size.of(symbol))
        for item in atom.arguments
    ]
    return apply(atom.function, *sides)


# --------------------------------------------------------------------------------------------- lifted regions
class RegionLifter(Protocol):
    """Protocol of the attributes and methods of ``Lifter`` that lifting a node with regions needs."""

    framework: str
    b: Any
    result: Graph
    current_values: dict[Value, Any]
    loop_indices: set[Value]
    problems: list[str]
    regions: LiftedRegions

    def read(self, value: Value) -> Any: ...

    def follow(self, nodes: Iterable[Node]) -> None: ...

    def mapped(self, structure: Any) -> Any: ...


class LiftedDerivative:
    """Lifting of one ``custom_derivative`` node, without its rule if the rule has no translation."""

    def __init__(self, lifter: RegionLifter, node: Node) -> None:
        self.lifter, self.node = lifter, node
        self.operands = [lifter.read(item) for item in node.inputs]
        self.differentiated = [self.operands[place] for place in node.params["differentiated"]]

    def run(self) -> tuple[Value, ...] | None:
        """Lift the node and return its results, or None after adding the reasons to ``lifter.problems``."""
        lifter = self.lifter
        problems, guards, nodes = len(lifter.problems), len(lifter.result.guards), len(lifter.result.nodes)
        try:
            made = self._with_rule(problems)
            reason = lifter.problems[problems] if made is None else ""
        except GraphCompilerError as problem:
            made, reason = None, str(problem)
        if made is None:
            # What the failed attempt has added must not remain when the function is lifted without its rule.
            del lifter.problems[problems:], lifter.result.guards[guards:], lifter.result.nodes[nodes:]
            return self._refused(reason)
        return made

    def _refused(self, reason: str) -> tuple[Value, ...] | None:
        lifter, function = self.lifter, self.node.regions[0]
        problems = len(lifter.problems)
        lifter.current_values.update(zip(function.block.inputs, self.operands))
        lifter.follow(function.block.nodes)
        lifter.b.origin = self.node.origin
        if len(lifter.problems) > problems:
            for value in self.node.outputs:
                lifter.current_values[value] = Value(value.name, value.spec)
            return None
        message = (
            f"a gradient is taken through {function.name}, whose derivative rule has no translation "
            f"({' '.join(reason.split())}); take the gradient in {lifter.framework}, of the original"
        )
        results = [lifter.mapped(item) for item in function.block.outputs]
        return tuple(
            lifter.b.refuse_gradient(value, *self.differentiated, message=message)
            if has_derivative(value.spec)
            else value
            for value in results
        )

    def _with_rule(self, problems: int) -> tuple[Value, ...] | None:
        lifter, node = self.lifter, self.node
        *functions, rule = node.regions
        bodies = [self._body(region, self.operands) for region in functions]
        results, forward = list(bodies[0].outputs), bodies[-1]
        derivatives = [value for value in results if has_derivative(value.spec)]
        self._guard_results(forward.outputs, results)
        is_jvp = node.params["kind"] == "jvp"
        given = self.differentiated if is_jvp else [*results, *forward.outputs[len(results) :], *derivatives]
        bodies.append(self._body(rule, [*given, *self.operands]))
        self._guard_results(bodies[-1].outputs, [*results, *derivatives] if is_jvp else self.differentiated)
        if len(lifter.problems) > problems:
            return None
        lifter.b.origin = node.origin
        kept = self._needed(bodies)
        params = {**node.params, "differentiated": tuple(map(kept.index, node.params["differentiated"]))}
        made: tuple[Value, ...] = lifter.b.run(
            node.op,
            [self.operands[place] for place in kept],
            [_with_operands(body, len(self.operands), kept) for body in bodies],
            **params,
        )
        return made

    def _body(self, region: Region, like: Sequence[Value]) -> Body:
        lifter, b = self.lifter, self.lifter.b
        inputs = [Value(old.name, value.spec) for old, value in zip(region.block.inputs, like, strict=True)]
        lifter.current_values.update(zip(region.block.inputs, inputs))
        guards = len(lifter.result.guards)
        with b.block() as nodes:
            lifter.follow(region.block.nodes)
            b.origin = self.node.origin
            outputs = [lifter.mapped(item) for item in region.block.outputs]
            lifter.regions.keep_checks(guards, inputs, nodes)
        if check := next(filter(guard_of, every(nodes)), None):
            raise UnsupportedOperation(
                f"elements are looked at in {region.name}, which only a function without a rule can be: "
                f"{check.origin}"
            )
        made = {value for inner in nodes for value in inner.outputs}
        if any(value in made for output in outputs for value in values_in(output.shape)):
            raise UnsupportedOperation(f"a result of {region.name} has a size that depends on elements")
        return Body(region.name, tuple(inputs), tuple(nodes), tuple(outputs))

    def _guard_results(self, made: Sequence[Any], wanted: Sequence[Value]) -> None:
        for new, old in zip(made, wanted):
            self.lifter.regions.guard_same_sizes(new, old)

    def _needed(self, bodies: Sequence[Body]) -> list[int]:
        read = [(list(body.outputs), [(node.inputs, node.params) for node in body.nodes]) for body in bodies]
        used, count = set(values_in(read)), len(self.operands)
        return [
            place
            for place in range(count)
            if place in self.node.params["differentiated"]
            or any(body.inputs[len(body.inputs) - count + place] in used for body in bodies)
        ]


def _with_operands(body: Body, count: int, kept: Sequence[int]) -> Body:
    first = len(body.inputs) - count
    return replace(body, inputs=(*body.inputs[:first], *(body.inputs[first + place] for place in kept)))


_NUMBER = ArraySpec((), "int32")


class LiftedRegions:
    """Lifting of nodes with regions, in which calls of one function can share a body."""

    def __init__(self, lifter: RegionLifter) -> None:
        self.lifter = lifter
        # Lifted calls by region and operand specs.
        self._lifted: dict[Any, Node] = {}
        # The number of the last call of each region that draws random numbers, by its id.
        self._calls: dict[int, int] = {}

    def run(self, node: Node) -> tuple[Value, ...] | None:
        if node.op == "custom_derivative":
            return LiftedDerivative(self.lifter, node).run()
        return self._called(node) if node.op == "call" else self._run(node)

    def _called(self, node: Node) -> tuple[Value, ...] | None:
        lifter, region = self.lifter, node.regions[0]
        operands = [lifter.read(item) for item in node.inputs]
        outside = tuple(map(lifter.mapped, region.sizes.values()))
        given = (item.spec if isinstance(item, Value) else (type(item), item) for item in operands)
        # Numbers are compared together with their types, because 1, 1.0 and True are equal but promote
        # differently.
        key = (id(region), node.params["checkpoint"], outside, *given)
        # The random keys of the function derive from the number of the call.
        number = self._number(node) if draws(region.block.nodes) else ()
        if key not in self._lifted:
            made = self._run(node, number)
            last = None if made is None else lifter.b.maker(made[0]) if made else None
            if last is not None:
                self._lifted[key] = last
            return made
        before = self._lifted[key]
        lifter.b.origin = node.origin
        # The further operands are sizes of the enclosing scope, which ``key`` says are the same.
        inputs = (*number, *operands, *before.inputs[len(number) + len(operands) :])
        specs = tuple(value.spec for value in before.outputs)
        again: tuple[Value, ...] = lifter.b.append("call", inputs, before.params, specs, before.regions)
        return again

    def _number(self, node: Node) -> tuple[Value, ...]:
        self.lifter.b.origin, region = node.origin, id(node.regions[0])
        # The body is lifted once, so only an operand can make its random numbers differ from call to call.
        self._calls[region] = count = self._calls.get(region, -1) + 1
        return (self.lifter.b.full(shape=(), fill_value=count, dtype=_NUMBER.dtype),)

    def _run(self, node: Node, number: tuple[Value, ...] = ()) -> tuple[Value, ...] | None:
        lifter, problems = self.lifter, len(self.lifter.problems)
        # The first operand of a branch selects a region, and is not an input of the regions.
        first = 1 if node.op == "branch" else 0
        own = len(node.inputs) if node.op == "call" else first + own_operands(node.params)
        operands = [lifter.read(item) for item in node.inputs]
        needs_loop_index = self._draws(node)
        write = self._with_loop_index if needs_loop_index else self._of_call if number else self._body
        bodies = [write(node, region, operands[first:own], operands[own:]) for region in node.regions]
        if node.op == "branch":
            self._guard_branches(bodies)
        if len(lifter.problems) > problems:
            for value in node.outputs:
                lifter.current_values[value] = Value(value.name, value.spec)
            return None
        lifter.b.origin = node.origin
        if needs_loop_index:
            return self._run_with_loop_index(node, operands[:own], bodies)
        made: tuple[Value, ...] = lifter.b.run(
            node.op, [*number, *operands[:own]], bodies, **lifter.mapped(node.params)
        )
        return made

    def _body(self, node: Node, region: Region, operands: list[Value], captured: list[Value]) -> Body:
        lifter, b = self.lifter, self.lifter.b
        inputs = self._inputs(node, region, operands)
        b.enter(node, operands, inputs)
        lifter.current_values.update(zip(region.block.inputs, (*inputs, *captured)))
        guards, fixed, numbers = (
            len(lifter.result.guards),
            set(b.fixed),
            self._numbers(node, operands, inputs),
        )
        lifter.loop_indices.update(numbers)
        with b.block() as nodes:
            lifter.follow(region.block.nodes)
            b.origin = node.origin
            outputs = [lifter.mapped(item) for item in region.block.outputs]
            for new, old in zip(outputs, inputs[: _kept(node, region)]):
                self.guard_same_sizes(new, old)
            self.lift_checks(guards, numbers)
            self.keep_checks(guards, inputs, nodes, is_branch=node.op == "branch")
        # Guards of the block hold only where it runs, not in the enclosing scope.
        b.fixed = fixed
        return Body(region.name, tuple(inputs), tuple(nodes), tuple(outputs))

    def _inputs(self, node: Node, region: Region, operands: list[Value]) -> list[Value]:
        # A function has the same inputs wherever it is called.
        if node.op == "call":
            return [Value(old.name, new.spec) for old, new in zip(region.block.inputs, operands)]
        own = region.block.inputs[: own_inputs(node.op, node.params)]
        if node.op == "associative_scan":
            axis = node.params["axis"]
            sequences = [("", ArraySpec(operand.shape, operand.dtype)) for operand in operands]
            return pairs_of(sequences, axis, own[0].spec.hints[axis])
        carried = node.params.get("carried", 0)
        shapes = [
            operand.shape if place < carried else operand.shape[1:] for place, operand in enumerate(operands)
        ]
        return [
            Value(old.name, ArraySpec(shape, new.dtype))
            for old, new, shape in zip(region.block.inputs, operands, shapes)
        ]

    def _guard_branches(self, bodies: list[Body]) -> None:
        # All branches return the same sizes. If their expressions differ, equality becomes a guard.
        first, *others = ([item for item in body.outputs if isinstance(item, Value)] for body in bodies)
        for other in others:
            for new, old in zip(other, first):
                self.guard_same_sizes(new, old)

    def _draws(self, node: Node) -> bool:
        inside = (inner for region in node.regions for inner in every(region.block.nodes))
        drawn = next((inner for inner in inside if inner.is_random), None)
        if node.op == "associative_scan" and drawn is not None:
            raise UnsupportedOperation(
                f"{drawn.op} draws random numbers where pairs are combined, each time the same ones\n"
                f"    {drawn.origin}"
            )
        # A branch runs at most once, so it needs no key of its own.
        return node.op in ("scan", "while_loop") and drawn is not None

    def _of_call(self, node: Node, region: Region, operands: list[Value], captured: list[Value]) -> Body:
        number = Value("number", _NUMBER)
        with self.lifter.b.step(number):
            body = self._body(node, region, operands, captured)
        return Body(body.name, (number, *body.inputs), body.nodes, body.outputs)

    def _with_loop_index(
        self, node: Node, region: Region, operands: list[Value], captured: list[Value]
    ) -> Body:
        b, number, carried = self.lifter.b, Value("step", _NUMBER), node.params["carried"]
        with b.step(number):
            body = self._body(node, region, operands, captured)
        with b.block() as nodes:
            following = () if region.name == "condition" else (b.add(number, 1),)
        inputs = (*body.inputs[:carried], number, *body.inputs[carried:])
        return Body(
            body.name,
            inputs,
            (*body.nodes, *nodes),
            (*body.outputs[:carried], *following, *body.outputs[carried:]),
        )

    def _run_with_loop_index(
        self, node: Node, operands: list[Value], bodies: list[Body]
    ) -> tuple[Value, ...]:
        b, carried = self.lifter.b, node.params["carried"]
        first = b.full(shape=(), fill_value=0, dtype=_NUMBER.dtype)
        params = {**self.lifter.mapped(node.params), "carried": carried + 1}
        made: tuple[Value, ...] = b.run(
            node.op, [*operands[:carried], first, *operands[carried:]], bodies, **params
        )
        # The loop index is no result of the recorded loop.
        return (*made[:carried], *made[carried + 1 :])

    def guard_same_sizes(self, new: Value, old: Value) -> None:
        for size, wanted in zip(new.shape, old.shape):
            if size != wanted:
                self.lifter.b.guard(apply("eq", size, wanted))

    def _numbers(
        self, node: Node, operands: list[Value], inputs: Sequence[Value]
    ) -> dict[Value, tuple[Any, Any]]:
        made = ((value, self.lifter.b.maker(operand)) for value, operand in zip(inputs, operands))
        return (
            {}
            if node.op != "scan"
            else {
                value: ends_of(maker) for value, maker in made if maker is not None and maker.op == "arange"
            }
        )

    def lift_checks(self, since: int, numbers: Mapping[Value, tuple[Any, Any]]) -> None:
        """Replace or drop guards from ``since`` on that conditions on the ends of loops imply."""
        guards = self.lifter.result.guards
        found, guards[since:] = guards[since:], []
        for guard in found:
            at_end = at_ends(guard.condition, numbers)
            if at_end is None or isinstance(at_end, Size):
                guards.append(guard if at_end is None else replace(guard, condition=at_end))

    def keep_checks(
        self, since: int, inputs: Sequence[Value], nodes: list[Node], is_branch: bool = False
    ) -> None:
        """Move the guards ``result.guards[since:]``, which a block has added, into ``nodes`` as checks.

        Guards on sizes of the enclosing scope may stay guards.
        """
        guards = self.lifter.result.guards
        found, guards[since:] = guards[since:], []
        made = {*inputs, *(value for node in nodes for value in node.outputs)}
        while found:
            guard = found.pop(0)
            sources = values_in((guard.condition,))
            # The size of an array that a node computes is read from that array, so elements may determine it.
            is_inner = not made.isdisjoint(sources) or is_branch and any(map(self.lifter.b.maker, sources))
            if isinstance(guard.condition, Size) and not is_inner:
                guards.append(guard)
                continue
            self.lifter.b.origin, known = guard.origin, len(guards)
            condition = (
                guard.condition
                if isinstance(guard.condition, Value)
                else number_of(self.lifter.b, guard.condition)
            )
            # The nodes that compute the condition may add guards, such as on a divisor that is not 0. These
            # belong to this block as well.
            guards[known:], found = [], [*guards[known:], *found]
            nodes.append(check(replace(guard, condition=condition)))


def _kept(node: Node, region: Region) -> int:
    if node.op == "associative_scan":
        return int(node.params["sequences"])
    return 0 if region.name == "condition" else int(node.params.get("carried", 0))
