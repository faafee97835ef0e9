"""Programs that change state: statistics, buffers, containers among the arguments, attributes, caches."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from .table import ELSEWHERE, Keywords, Program


def _x(*shape: int) -> torch.Tensor:
    return torch.linspace(-2, 3, int(torch.tensor(shape).prod())).reshape(shape)


class Norms(nn.Module):
    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.first, self.second = nn.BatchNorm1d(4, **options), nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        return self.first(self.second(self.first(x)))


def statistics_of_one_row(x: Any, mean: Any, variance: Any) -> Any:
    torch.batch_norm(x, None, None, mean, variance, True, 0.1, 1e-5, False)
    return mean * 1, variance * 1


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros((), dtype=torch.long))
        self.register_buffer("mean", torch.zeros(4))
        self.register_buffer("scratch", torch.zeros(4), persistent=False)

    def forward(self, x: Any) -> Any:
        self.count += 1
        self.mean.mul_(0.9).add_(x.mean(0), alpha=0.1)
        self.scratch.add_(1)
        return x - self.mean + self.count + self.scratch


class Replaced(Counter):
    def forward(self, x: Any) -> Any:
        self.count = self.count + 1
        self.mean = self.mean * 0.9 + x.mean(0).detach() * 0.1
        return x - self.mean + self.count


class Stored(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.hidden = torch.zeros(4)
        self.calls = 0

    def forward(self, x: Any) -> Any:
        self.hidden = torch.tanh(self.hidden + x.sum(0))
        return self.hidden


class Counted(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, x: Any) -> Any:
        self.calls += 1
        return x * self.calls


class History(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Any] = []

    def forward(self, x: Any) -> Any:
        self.seen.append(x.sum())
        return sum(self.seen)


class Queue(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("queue", torch.zeros(4, 4))
        self.register_buffer("pointer", torch.zeros(1, dtype=torch.long))

    def forward(self, x: Any) -> Any:
        at = int(self.pointer)
        self.queue[at : at + 1] = x[:1]
        self.pointer[0] = (at + 1) % 4
        return self.queue.sum(0)


class Ema(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear, self.shadow = nn.Linear(4, 4), nn.Linear(4, 4)

    @torch.no_grad()
    def forward(self, x: Any) -> Any:
        for a, b in zip(self.linear.parameters(), self.shadow.parameters()):
            b.data = b.data * 0.9 + a.data * 0.1
        return self.shadow(x)


class MaxNorm(nn.Linear):
    def forward(self, x: Any) -> Any:
        self.weight.data = torch.renorm(self.weight.data, p=2, dim=0, maxnorm=0.5)
        return super().forward(x)


class GivenNames(nn.Linear):
    """After ``weight.data = given``, ``given`` and the weight share storage."""

    def forward(self, x: Any) -> Any:
        given = self.weight.detach() * 0.5
        self.weight.data = given
        given.add_(x.mean())
        self.weight.data[0] *= 2
        return super().forward(x) + (1.0 if float(given[0, 0]) > 0 else given.sum())


class GivenToHeld(nn.Linear):
    """The old storage of the weight is read after ``weight.data`` has been replaced."""

    def forward(self, x: Any) -> Any:
        before = self.weight.data
        self.weight.data = before * 0.5
        return super().forward(x) + before.sum()


class GivenHeld(nn.Linear):
    def forward(self, x: Any) -> Any:
        given = self.weight.detach() * 0.5
        row = given[0]
        self.weight.data = given
        row.zero_()
        return super().forward(x)


class GivenToArgument(nn.Linear):
    def forward(self, x: Any) -> Any:
        x.data = x.data * 2
        return super().forward(x)


class Swapped(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.one, self.other = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        self.one.weight.data, self.other.weight.data = self.other.weight.data, self.one.weight.data
        return self.one(x) - self.other(x) * 2


class GivenOtherType(nn.Linear):
    def forward(self, x: Any) -> Any:
        self.weight.data = self.weight.data.double()
        return x @ self.weight.float().T


class EmaInPlace(Ema):
    @torch.no_grad()
    def forward(self, x: Any) -> Any:
        for a, b in zip(self.linear.parameters(), self.shadow.parameters()):
            b.mul_(0.9).add_(a, alpha=0.1)
        return self.shadow(x)


class Spectral(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.utils.parametrizations.spectral_norm(nn.Linear(4, 4))

    def forward(self, x: Any) -> Any:
        return self.linear(x)


def _stateful(set_up: Callable[[Any], None], step: Callable[[Any, Any], Any]) -> dict[str, Callable[[], Any]]:
    """Return makers of a module, a callable object and a method with the same state and step."""

    class Part(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            set_up(self)

        def forward(self, x: Any) -> Any:
            return step(self, x)

    class Plain:
        def __init__(self) -> None:
            set_up(self)

        def __call__(self, x: Any) -> Any:
            return step(self, x)

        def run(self, x: Any) -> Any:
            return step(self, x)

    return {"module": Part, "object": Plain, "method": lambda: Plain().run}


def _empty(owner: Any) -> None:
    owner.cache = None


def _nothing(owner: Any) -> None:
    owner.hidden = torch.zeros(4)


def _steps(owner: Any) -> None:
    owner.steps, owner.rate, owner.settings = 0, 1.0, {"rate": 0.1}


def _parts(owner: Any) -> None:
    owner.parts, owner.recent, owner.names = (
        {"sums": [torch.zeros(4)], "count": 0},
        collections.deque(maxlen=2),
        set(),
    )


def keeps_hidden(owner: Any, x: Any) -> Any:
    owner.hidden = torch.tanh(owner.hidden + x.sum(0))
    return owner.hidden


def keeps_pair(owner: Any, x: Any) -> Any:
    first, second = owner.hidden if isinstance(owner.hidden, tuple) else (owner.hidden, owner.hidden)
    owner.hidden = (first + x.sum(0), second - x.mean(0))
    return owner.hidden[0] * owner.hidden[1]


def writes_hidden(owner: Any, x: Any) -> Any:
    owner.hidden.mul_(0.5).add_(x.sum(0))
    return x + owner.hidden


def writes_and_replaces(owner: Any, x: Any) -> Any:
    owner.hidden.add_(1)
    old, owner.hidden = owner.hidden, owner.hidden * x.mean(0)
    owner.hidden.sub_(2)
    return old + owner.hidden


def swaps(owner: Any, x: Any) -> Any:
    owner.hidden, last = x.sum(0), owner.hidden
    return last + 1


def counts(owner: Any, x: Any) -> Any:
    owner.steps += 1
    return x * owner.steps + 2 * (owner.steps - 3)


def branches_on_count(owner: Any, x: Any) -> Any:
    owner.steps += 1
    return x * 2 if owner.steps % 2 else x - 1


def warms_up(owner: Any, x: Any) -> Any:
    owner.steps += 1
    return x * min(1.0, owner.steps / 3)


def decays(owner: Any, x: Any) -> Any:
    owner.rate = owner.rate * 0.9
    return x * owner.rate - 0.5**owner.rate


def schedules(owner: Any, x: Any) -> Any:
    owner.steps += 1
    owner.settings["rate"] *= 0.5
    return x * (owner.settings["rate"] / owner.steps)


def indexes_by_count(owner: Any, x: Any) -> Any:
    owner.steps += 1
    return x[owner.steps % x.shape[0]] * 2


def fills_cache(owner: Any, x: Any) -> Any:
    if owner.cache is None:
        owner.cache = torch.arange(4.0) * 2
    return x + owner.cache


def caches_input(owner: Any, x: Any) -> Any:
    if owner.cache is None:
        owner.cache = x.mean(0)
    return x - owner.cache


def remembers_input(owner: Any, x: Any) -> Any:
    last, owner.cache = owner.cache, x
    return x if last is None else x.sum(0) + last.sum(0)


def remembers_shape(owner: Any, x: Any) -> Any:
    grew = owner.cache is not None and x.shape[0] > owner.cache[0]
    owner.cache = tuple(x.shape)
    return x * 2 if grew else x


def makes_attribute(owner: Any, x: Any) -> Any:
    if not hasattr(owner, "average"):
        owner.average = x.detach().mean(0) * 0
    owner.average = owner.average * 0.9 + x.mean(0)
    return owner.average


def drops_attribute(owner: Any, x: Any) -> Any:
    if hasattr(owner, "once"):
        del owner.once
        return x * 5
    owner.once = x.shape[0]
    return x


def appends(owner: Any, x: Any) -> Any:
    owner.recent.append(x.sum(0))
    return sum(owner.recent)


def changes_nested(owner: Any, x: Any) -> Any:
    owner.parts["sums"][0] = owner.parts["sums"][0] + x.sum(0)
    owner.parts["count"] += 1
    return x + owner.parts["sums"][0] * owner.parts["count"]


def grows_dict(owner: Any, x: Any) -> Any:
    owner.parts[f"batch_{x.shape[0]}"] = owner.parts.get(f"batch_{x.shape[0]}", 0) + x.sum()
    return x * len(owner.parts)


def adds_to_set(owner: Any, x: Any) -> Any:
    is_new = x.shape[0] not in owner.names
    owner.names.add(int(x.shape[0]))
    return x * 2 if is_new else x


_OWNERS: dict[Callable[[Any], None], tuple[Callable[[Any, Any], Any], ...]] = {
    _nothing: (keeps_hidden, keeps_pair, writes_hidden, writes_and_replaces, swaps),
    _steps: (counts, branches_on_count, warms_up, decays, schedules, indexes_by_count),
    _empty: (fills_cache, caches_input, remembers_input, remembers_shape, makes_attribute, drops_attribute),
    _parts: (appends, changes_nested, grows_dict, adds_to_set),
}


class Registers(nn.Module):
    def forward(self, x: Any) -> Any:
        if not hasattr(self, "mean"):
            self.register_buffer("mean", x.detach().mean(0))
        self.mean = self.mean * 0.5 + x.mean(0)
        return x - self.mean


class Fleeting(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("last", torch.zeros(1, 4), persistent=False)

    def forward(self, x: Any) -> Any:
        self.last, last = x * 2, self.last
        return x + last.sum()


class Slotted:
    __slots__ = ("hidden",)

    def __init__(self) -> None:
        self.hidden = torch.zeros(4)

    def __call__(self, x: Any) -> Any:
        self.hidden = self.hidden + x.sum(0)
        return self.hidden


@dataclasses.dataclass
class State:
    hidden: Any
    steps: int = 0


class Box:
    def __init__(self, value: Any) -> None:
        self.value = value
        self.log: list[Any] = []

    def update(self, x: Any) -> None:
        self.value = self.value + x
        self.log.append(x)


def append(xs: Any, x: Any) -> Any:
    xs.append(x * 2)
    return sum(xs)


def append_number(xs: Any, x: Any) -> Any:
    xs.append(len(xs))
    return x * len(xs)


def insert_and_pop(xs: Any, x: Any) -> Any:
    xs.insert(0, x)
    return xs.pop() + 1


def clear(xs: Any, x: Any) -> Any:
    total = sum(xs)
    xs.clear()
    return total + x


def item(xs: Any, x: Any) -> Any:
    xs[0] = xs[0] + x
    return x * 2


def extend(xs: Any, x: Any) -> Any:
    xs += [x, x]
    return xs[-1]


def sort_list(xs: Any, x: Any) -> Any:
    xs.sort(key=lambda t: -float(t.sum()))
    return xs[0] + x


def swap(xs: Any, x: Any) -> Any:
    xs[0], xs[1] = xs[1], xs[0]
    return x


def dictionary(data: Any, x: Any) -> Any:
    data["new"] = x + 1
    data["old"] = data["old"] * 2
    return x


def delete(data: Any, x: Any) -> Any:
    return data.pop("old") + x


def default(data: Any, x: Any) -> Any:
    return data.setdefault("key", x * 2) + data.get("other", 1)


def nested(data: Any, x: Any) -> Any:
    data["inner"][0]["x"] = x * 3
    data["inner"].append({"y": x})
    return x


def box(data: Any, x: Any) -> Any:
    data.update(x)
    return data.value * 2


def new_attribute(data: Any, x: Any) -> Any:
    data.extra = x * 2
    data.number = 3
    return x


def dataclass_state(state: Any, x: Any) -> Any:
    state.hidden = torch.tanh(state.hidden + x)
    state.steps += 1
    return state.hidden * state.steps


def write_in_list(xs: Any, x: Any) -> Any:
    xs[0].add_(x)
    return xs[0] * 2


def write_and_append(xs: Any, x: Any) -> Any:
    xs[0].add_(x)
    xs.append(xs[0] * 2)
    return x


def append_itself(xs: Any, x: Any) -> Any:
    xs.append(x)
    return xs


def returned_container(data: Any, x: Any) -> Any:
    data["new"] = x
    return data


def counts_dict(data: Any, x: Any) -> Any:
    data["n"] = data.get("n", 0) + 1
    return x * data["n"]


def keyword_list(x: Any, *, memory: Any) -> Any:
    memory.append(x.mean(0))
    return torch.stack(memory)


def set_argument(names: Any, x: Any) -> Any:
    names.add("seen")
    return x * len(names)


def _attended(cache: Any, x: Any) -> Any:
    heads = x.view(x.shape[0], x.shape[1], 2, -1).transpose(1, 2)
    keys, values = cache.update(heads, heads * 2, 0)
    return (heads @ keys.transpose(-1, -2)).softmax(-1) @ values


def _dynamic() -> Any:
    from transformers import DynamicCache

    return DynamicCache()


def _filled() -> Any:
    cache = _dynamic()
    cache.update(_x(1, 2, 3, 2), _x(1, 2, 3, 2), 0)
    return cache


def closure_constant() -> Any:
    table = torch.arange(4.0)

    def function(x: Any) -> Any:
        table.add_(1)
        return x * table

    return function


def closure_list() -> Any:
    seen: list[Any] = []

    def function(x: Any) -> Any:
        seen.append(1)
        return x * len(seen)

    return function


def closure_nonlocal() -> Any:
    count = 0

    def function(x: Any) -> Any:
        nonlocal count
        count += 1
        return x * count

    return function


def closure_tensor_list() -> Any:
    seen: list[Any] = []

    def function(x: Any) -> Any:
        seen.append(x)
        return sum(seen)

    return function


def closure_rebound() -> Any:
    total = torch.zeros(4)

    def function(x: Any) -> Any:
        nonlocal total
        total = total + x.sum(0)
        return total

    return function


def made_mutable_default() -> Any:
    def function(x: Any, seen: Any = []) -> Any:  # noqa: B006
        seen.append(1)
        return x * len(seen)

    return function


def returned_constant() -> Any:
    table = torch.ones(4)

    def function(x: Any) -> Any:
        return table, x * table

    return function


def iterator() -> Any:
    numbers = iter(range(100))

    def function(x: Any) -> Any:
        return x * next(numbers)

    return function


def generator_argument(x: Any) -> Any:
    return sum(y * 2 for y in (x, x + 1))


def seeded(make: Callable[[], Any], train: bool = True) -> Callable[[], Any]:
    def made() -> Any:
        torch.manual_seed(0)
        return make().train(train)

    return made


def plain(function: Any, *rows: Any, **options: Any) -> Program:
    return Program(function.__name__, lambda: function, rows, **options)


_BATCHES = (lambda: (_x(6, 4),), lambda: (_x(6, 4) * 2 + 1,), lambda: (_x(3, 4),), lambda: (_x(3, 4),))
_ROW = (lambda: (_x(4),), lambda: (_x(4) + 1,), lambda: (_x(4),))
_LISTS = (
    lambda: ([_x(3), _x(3) + 1], _x(3)),
    lambda: ([_x(4) + 2, _x(4)], _x(4)),
    lambda: ([_x(3), _x(3), _x(3) * 2], _x(3)),
)
_DICTS = (
    lambda: ({"old": _x(3)}, _x(3)),
    lambda: ({"old": _x(4), "other": _x(4)}, _x(4)),
    lambda: ({"old": _x(3) + 1}, _x(3)),
)

_DATA = {"torch": "assigning to its .data"}
_HELD_DATA = dict.fromkeys(("torch", ELSEWHERE), "assigning to its .data")
_ITERATOR = dict.fromkeys(("torch", ELSEWHERE), "is an iterator outside")
_ERRORS = {"iterator": _ITERATOR}
PROGRAMS = [
    Program("batch_norm", seeded(Norms), _BATCHES),
    Program("batch_norm_eval", seeded(Norms, False), _BATCHES),
    Program("batch_norm_cumulative", seeded(lambda: Norms(momentum=None)), _BATCHES),
    Program("batch_norm_plain", seeded(lambda: Norms(affine=False, track_running_stats=False)), _BATCHES),
    Program(
        "batch_norm_2d",
        seeded(lambda: nn.BatchNorm2d(2)),
        (lambda: (_x(2, 2, 3, 3),), lambda: (_x(3, 2, 2, 2),)),
    ),
    Program(
        "instance_norm",
        seeded(lambda: nn.InstanceNorm1d(2, track_running_stats=True)),
        (lambda: (_x(2, 2, 3),), lambda: (_x(3, 2, 2),)),
    ),
    Program("counter", seeded(Counter), _BATCHES),
    Program("replaced", seeded(Replaced), _BATCHES),
    Program("stored", seeded(Stored), _BATCHES),
    Program("counted", seeded(Counted), _BATCHES),
    Program("history", seeded(History), _BATCHES),
    *(
        Program(f"{step.__name__}_of_{kind}", make, _BATCHES)
        for set_up, steps in _OWNERS.items()
        for step in steps
        for kind, make in _stateful(set_up, step).items()
    ),
    Program("registers_buffer", Registers, _BATCHES),
    Program("fleeting_buffer", Fleeting, _BATCHES),
    Program("slots", Slotted, _BATCHES),
    Program("queue", seeded(Queue), _BATCHES),
    Program("ema", seeded(Ema), _BATCHES, _DATA),
    Program("max_norm", seeded(lambda: MaxNorm(4, 4)), _BATCHES, _DATA),
    Program("given_names", seeded(lambda: GivenNames(4, 4)), _BATCHES, _DATA),
    Program("given_to_held", seeded(lambda: GivenToHeld(4, 4)), _BATCHES, _HELD_DATA),
    Program("given_held", seeded(lambda: GivenHeld(4, 4)), _BATCHES, _HELD_DATA),
    Program("given_to_argument", seeded(lambda: GivenToArgument(4, 4)), _BATCHES, _HELD_DATA),
    Program("given_swapped", seeded(Swapped), _BATCHES, _HELD_DATA),
    Program("given_other_type", seeded(lambda: GivenOtherType(4, 4)), _BATCHES, _HELD_DATA),
    Program("ema_in_place", seeded(EmaInPlace), _BATCHES),
    Program("spectral_norm", seeded(Spectral), _BATCHES),
    *(
        plain(function, *_LISTS)
        for function in (
            append,
            append_number,
            insert_and_pop,
            clear,
            item,
            extend,
            sort_list,
            swap,
            write_in_list,
            write_and_append,
            append_itself,
        )
    ),
    *(
        plain(function, *_DICTS)
        for function in (dictionary, delete, default, returned_container, counts_dict)
    ),
    plain(nested, lambda: ({"inner": [{"x": _x(2)}]}, _x(2)), lambda: ({"inner": [{"x": _x(3)}]}, _x(3))),
    plain(box, lambda: (Box(_x(3)), _x(3)), lambda: (Box(_x(4)), _x(4) + 1)),
    plain(new_attribute, lambda: (Box(_x(3)), _x(3)), lambda: (Box(_x(4)), _x(4) + 1)),
    plain(
        dataclass_state,
        lambda: (State(_x(3)), _x(3)),
        lambda: (State(_x(4), 2), _x(4) + 1),
        lambda: (State(_x(4), 0), _x(4) + 1),
    ),
    plain(
        keyword_list, lambda: (_x(2, 3), Keywords(memory=[])), lambda: (_x(2, 3), Keywords(memory=[_x(3)]))
    ),
    plain(set_argument, lambda: (set(), _x(2)), lambda: ({"a", "b"}, _x(2))),
    plain(
        _attended,
        lambda: (_dynamic(), _x(1, 3, 4)),
        lambda: (_filled(), _x(1, 2, 4)),
        lambda: (_filled(), _x(1, 1, 4)),
        lambda: (_dynamic(), _x(1, 3, 4)),
    ),
    *(
        Program(
            make.__name__,
            make,
            tuple(lambda i=i: (_x(2, 4) + i,) for i in range(3)),
            _ERRORS.get(make.__name__, {}),
        )
        for make in (
            closure_constant,
            closure_list,
            closure_nonlocal,
            closure_tensor_list,
            closure_rebound,
            made_mutable_default,
            returned_constant,
            iterator,
        )
    ),
    plain(generator_argument, *_ROW),
    Program("batch_norm_of_nothing", seeded(lambda: nn.BatchNorm1d(4)), (*_BATCHES, lambda: (_x(0, 4),))),
    plain(
        statistics_of_one_row,
        lambda: (_x(3, 4), torch.zeros(4), torch.ones(4)),
        lambda: (_x(1, 4), torch.zeros(4), torch.ones(4)),
    ),
]
