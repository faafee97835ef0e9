"""NumPy programs with state: arrays that appear, grow or become scalars; lists, dicts, records, flags, and
numbers that change.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from .table import ELSEWHERE, Program

_TARGETS = ("numpy", "jax", "torch")
Step = Callable[[Any, Any], Any]


def _x(size: int, shift: float = 0.0) -> Any:
    return np.sin(np.arange(size) * 0.7 + shift).astype("f")


def _each(*sizes: int) -> tuple[Callable[[], tuple[Any, ...]], ...]:
    return tuple(lambda size=size, shift=shift: (_x(size, shift),) for shift, size in enumerate(sizes))


_FOUR = _each(4, 4, 4, 4)


class Owner:
    def __init__(self, step: Step, **attributes: Any) -> None:
        self.__dict__.update(attributes)
        self.__dict__["_step"] = step

    def __call__(self, x: Any) -> Any:
        return self._step(self, x)  # type: ignore[attr-defined]


def differentiates(own: Any, x: Any) -> Any:
    change, own.last = (x * 0 if own.last is None else x - own.last), x
    return change


def integrates(own: Any, x: Any) -> Any:
    own.total += x.sum() * 0.1
    return x + own.total


def logs(own: Any, x: Any) -> Any:
    own.log.append(x.sum())
    return x * 2


def averages_all(own: Any, x: Any) -> Any:
    own.log.append(x * 2)
    return np.mean(own.log, axis=0)


def averages_last(own: Any, x: Any) -> Any:
    own.recent.append(x)
    return sum(own.recent)


def keeps_trajectory(own: Any, x: Any) -> Any:
    states = np.zeros((x.shape[0], 2), "f")
    for step in range(x.shape[0]):
        own.state = 0.7 * own.state + 0.3 * np.tanh(x[step])
        states[step] = own.state
    own.states = states
    return states


def keeps_tail(own: Any, x: Any) -> Any:
    signal = np.concatenate([own.tail, x])
    own.tail = signal[-own.width :]
    return np.convolve(signal, np.array([0.5, 0.3, 0.2], "f"), "valid")


def remembers_layers(own: Any, x: Any) -> Any:
    own.layers = [x]
    for weight in own.weights:
        x = np.tanh(x * weight)
        own.layers.append(x)
    for place, weight in enumerate(own.weights):
        own.weights[place] = weight - 0.1 * own.layers[place].sum()
    return x


def averages_weights(own: Any, x: Any) -> Any:
    for weight in own.weights:
        weight -= 0.1 * x.sum()
    own.average = [0.9 * mean + 0.1 * weight for mean, weight in zip(own.average, own.weights)]
    return own.average[0].sum()


@dataclasses.dataclass
class Body:
    position: Any
    speed: Any
    steps: int = 0


def moves(own: Any, x: Any) -> Any:
    body = own.body
    own.body = Body(body.position + 0.1 * body.speed, body.speed + 0.1 * x, body.steps + 1)
    return own.body.position


def stops_early(own: Any, x: Any) -> Any:
    loss = np.abs(x).mean()
    if loss < own.best:
        own.best, own.waited = loss, 0
    else:
        own.waited += 1
    return loss


def starts_once(own: Any, x: Any) -> Any:
    if own.is_first:
        own.is_first, own.name = False, "running"
        return x
    own.weight = own.weight + x
    return own.weight


def nests(own: Any, x: Any) -> Any:
    own.parts["arrays"].append(x * 2)
    own.parts["count"]["steps"] += 1
    own.parts[f"turn {own.parts['count']['steps'] % 2}"] = x.sum()
    return own.parts["arrays"][-1] + own.parts["count"]["steps"]


def makes_and_writes(own: Any, x: Any) -> Any:
    if own.sums is None:
        own.sums = np.zeros(4, "f")
    own.sums += x
    own.out = own.sums
    return own.sums * 1


def replaces_one_of_two(own: Any, x: Any) -> Any:
    own.second = own.second + x
    return own.first * 10 + own.second


def collects_sizes(own: Any, x: Any) -> Any:
    own.sizes.add(x.shape[0])
    return x * len(own.sizes)


def steps_by_rate(own: Any, x: Any) -> Any:
    own.weight = own.weight - own.rate * x
    return own.weight


def keeps_written_view(own: Any, x: Any) -> Any:
    own.window = own.sums[2:6]
    own.window += x
    return own.sums.sum()


def keeps_list_twice(own: Any, x: Any) -> Any:
    own.second = [*own.second, x]
    return own.first[-1]


def _twice(item: Any) -> dict[str, Any]:
    return {"first": item, "second": item}


_ROWS: tuple[tuple[Step, Callable[[], dict[str, Any]], dict[str, Any]], ...] = (
    (differentiates, lambda: {"last": None}, {"variants": 2}),
    (integrates, lambda: {"total": 0.0}, {"variants": 2}),
    (logs, lambda: {"log": []}, {"calls": _FOUR * 2, "variants": 3}),
    (averages_all, lambda: {"log": []}, {}),
    (averages_last, lambda: {"recent": collections.deque([np.zeros(4, "f")] * 3, maxlen=3)}, {}),
    (keeps_trajectory, lambda: {"states": None, "state": np.zeros(2, "f")}, {"calls": _each(3, 3, 4)}),
    (keeps_tail, lambda: {"tail": np.zeros(2, "f"), "width": 2}, {"calls": _each(6, 8, 1, 3), "variants": 1}),
    (remembers_layers, lambda: {"weights": [_x(4), _x(4, 1)]}, {"variants": 2}),
    (averages_weights, lambda: {"weights": [_x(3), _x(2)], "average": [_x(3), _x(2)]}, {"variants": 1}),
    (moves, lambda: {"body": Body(_x(4), np.zeros(4, "f"))}, {}),
    (stops_early, lambda: {"best": np.inf, "waited": 0}, {}),
    (starts_once, lambda: {"is_first": True, "name": "new", "weight": np.ones(4, "f")}, {"variants": 2}),
    (nests, lambda: {"parts": {"arrays": [np.zeros(4, "f")], "count": {"steps": 0}}}, {}),
    (makes_and_writes, lambda: {"sums": None, "out": None}, {}),
    (replaces_one_of_two, lambda: _twice(np.arange(4, dtype="f")), {}),
    (collects_sizes, lambda: {"sizes": set()}, {"calls": _each(4, 5, 4, 6)}),
    (
        steps_by_rate,
        lambda: {"rate": 0.1, "weight": np.ones(4, "f")},
        {
            "calls": _FOUR * 2,
            "variants": 3,
            "changes": {call: lambda own, call=call: setattr(own, "rate", 0.1 * call) for call in range(8)},
        },
    ),
    (
        keeps_written_view,
        lambda: {"sums": np.zeros(8, "f"), "window": None},
        {
            "errors": {
                "torch": "keeps a view of sums",
                "jax": "keeps a view of sums",
                "numpy": "shares memory",
            }
        },
    ),
    (
        keeps_list_twice,
        lambda: _twice([np.arange(4, dtype="f")]),
        {"errors": {"torch": "first is", ELSEWHERE: "first is"}},
    ),
)


def _forgets(own: Any) -> None:
    own.last = None


PROGRAMS = [
    Program(
        step.__name__,
        lambda step=step, attributes=attributes: Owner(step, **attributes()),
        targets=_TARGETS,
        **{"calls": _FOUR, **options},
    )
    for step, attributes, options in _ROWS
]
PROGRAMS.append(
    Program(
        "forgets",
        lambda: Owner(differentiates, last=None),
        _FOUR,
        targets=_TARGETS,
        variants=2,
        changes={2: _forgets},
    )
)


# -------------------------------------------------------------------------------- numbers among the arguments
def euler(x: Any, step: float, count: int) -> Any:
    return x + step * np.cos(x) * 0.9**count + np.full(x.shape, step, "f")


def weighted(state: Any, x: Any) -> Any:
    state["sums"] = np.tanh(state["sums"] + x)
    state["count"] = state["count"] + 1
    return state["sums"] / state["count"]


def adds_to_its_argument(own: Any, x: Any) -> Any:
    own.weight = own.weight + x
    return x * 2 + own.weight


def _its_own(own: Owner) -> Any:
    return lambda is_own: own(own.weight if is_own else np.ones(4, "f"))  # type: ignore[attr-defined]


PROGRAMS += [
    Program(
        "euler",
        lambda: euler,
        tuple(lambda i=i: (_x(3), 0.1 * i, i) for i in range(6)),
        targets=_TARGETS,
        variants=3,
    ),
    Program(
        "weighted",
        lambda: weighted,
        tuple(lambda i=i: ({"sums": _x(3, i), "count": i}, _x(3, i)) for i in range(6)),
        targets=_TARGETS,
        variants=3,
    ),
    Program(
        "own_argument",
        lambda: _its_own(Owner(adds_to_its_argument, weight=np.arange(4, dtype="f"))),
        tuple(lambda is_own=is_own: (is_own,) for is_own in (True, False, True, False)),
        targets=_TARGETS,
    ),
]
