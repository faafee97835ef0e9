"""Programs that read through proxies, iterators and other indirections, which are changed between calls."""

from __future__ import annotations

import collections
import configparser
import functools
import itertools
import logging
import operator
import queue
import string
import threading
import types
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn

from .table import Program

# A recording sees the same in all targets, so two are enough.
_TARGETS = ("torch", "numpy")
_ITERATOR = dict.fromkeys(_TARGETS, "is an iterator outside of the recorded function")
_CACHED = dict.fromkeys(_TARGETS, "functools.lru_cache keeps and gives again")
# A function, and what happens before a call of it, by the number of the call.
Made = tuple[Any, dict[int, Callable[[], Any]]]
_changes: weakref.WeakKeyDictionary[Any, dict[int, Callable[[], Any]]] = weakref.WeakKeyDictionary()


def _x(rows: int) -> Callable[[], tuple[Any, ...]]:
    return lambda: (torch.arange(rows * 3.0).reshape(rows, 3) / 4 - 1,)


def _program(made: Callable[[], Made], errors: dict[str, str] | None = None) -> Program:
    def make() -> Any:
        function, changes = made()
        _changes[function] = changes
        return function

    def change(function: Any, number: int) -> None:
        _changes[function].get(number, lambda: None)()

    changes = {number: functools.partial(change, number=number) for number in (1, 2)}
    return Program(
        made.__name__, make, (_x(2), _x(4), _x(3)), changes=changes, errors=errors or {}, targets=_TARGETS
    )


# ------------------------------------------------------------------------------------------- behind an object
def behind_a_proxy() -> Made:
    held = {"scale": 2.0}
    read_only = types.MappingProxyType(held)
    return lambda x: x * read_only["scale"] + len(read_only), {
        1: lambda: held.update(scale=3.0),
        2: lambda: held.update(more=1.0),
    }


def behind_a_view() -> Made:
    held = {"scale": 2.0}
    scales = held.values()
    return lambda x: x * sum(scales), {1: lambda: held.update(scale=3.0), 2: lambda: held.update(more=1.0)}


def behind_a_method() -> Made:
    held = {"scale": 2.0}
    get = held.get
    return lambda x: x * get("scale") + get("shift", 0), {
        1: lambda: held.update(scale=3.0),
        2: lambda: held.update(shift=1.0),
    }


def behind_a_method_that_writes() -> Made:
    scales = [2.0, 3.0, 4.0, 5.0]
    pop, push = scales.pop, scales.append
    return lambda x: (push(7.0), x * pop(0))[1], {2: lambda: scales.insert(0, 0.5)}


def behind_a_weak_reference() -> Made:
    box = _Doubling()
    box.scale, box.steps = 2.0, torch.zeros(3)
    reference = weakref.ref(box)

    def stepping(x: Any) -> Any:
        target = reference()
        target.steps = target.steps + 1
        return x * target.scale + target.steps

    return stepping, {1: lambda: setattr(box, "scale", 3.0), 2: lambda: setattr(box, "steps", torch.ones(3))}


def behind_a_dead_reference() -> Made:
    boxes = [collections.UserDict(scale=2.0)]
    reference = weakref.ref(boxes[0])
    return lambda x: x if reference() is None else x * reference()["scale"], {2: boxes.clear}


def behind_weak_keys() -> Made:
    class Key: ...

    key, rows = Key(), [Key()]
    scales, named = weakref.WeakKeyDictionary({key: 2.0}), weakref.WeakValueDictionary({"row": rows[0]})
    changes = {1: lambda: scales.update({key: 3.0}), 2: rows.clear}
    return lambda x: x * scales[key] + (5 if "row" in named else 7), changes


def by_a_getter() -> Made:
    box = types.SimpleNamespace(inner=types.SimpleNamespace(scale=2.0))
    get = operator.attrgetter("inner.scale")
    return lambda x: x * get(box), {
        1: lambda: setattr(box.inner, "scale", 3.0),
        2: lambda: setattr(box, "inner", types.SimpleNamespace(scale=4.0)),
    }


def beside_a_function_of_an_extension() -> Made:
    generator, box = np.random.default_rng, {"scale": 2.0}
    return lambda x: x * box["scale"] if callable(generator) else x, {1: lambda: box.update(scale=3.0)}


def level_of_a_logger() -> Made:
    logger = logging.getLogger("graph_compiler.tests.standing")
    logger.setLevel(logging.WARNING)
    levels = {
        number: functools.partial(logger.setLevel, level)
        for number, level in ((1, logging.DEBUG), (2, logging.ERROR))
    }
    return lambda x: x + 1 if logger.isEnabledFor(logging.DEBUG) else x, levels


def settings_of_a_file() -> Made:
    settings = configparser.ConfigParser()
    settings.read_string("[model]\nscale = 2")
    reads = lambda x: x * settings.getfloat("model", "scale", fallback=7)  # noqa: E731
    return reads, {
        1: lambda: settings.set("model", "scale", "3"),
        2: lambda: settings.remove_section("model"),
    }


def distribution() -> Made:
    normal = torch.distributions.Normal(torch.zeros(3), torch.ones(3), validate_args=False)
    return lambda x: normal.log_prob(x) * 2, {
        1: lambda: setattr(normal, "loc", torch.ones(3)),
        2: lambda: normal.scale.mul_(2),
    }


# ----------------------------------------------------------------------------- attributes that were not there
def _caught(box: Any) -> Callable[[Any], Any]:
    def reads(x: Any) -> Any:
        try:
            return x * box.scale
        except AttributeError:
            return x

    return reads


def missing_in_an_object() -> Made:
    box = types.SimpleNamespace()
    return _caught(box), {1: lambda: setattr(box, "scale", 3.0), 2: lambda: delattr(box, "scale")}


def missing_in_a_class() -> Made:
    class Box:
        pass

    return _caught(Box()), {1: lambda: setattr(Box, "scale", 3.0), 2: lambda: delattr(Box, "scale")}


def missing_in_a_module() -> Made:
    layer = nn.Identity()
    return _caught(layer), {1: lambda: setattr(layer, "scale", 3.0), 2: lambda: delattr(layer, "scale")}


def missing_in_a_function() -> Made:
    def helper(x: Any) -> Any:
        return x + getattr(helper, "shift", 0)

    return lambda x: helper(x) * 2, {
        1: lambda: setattr(helper, "shift", 3.0),
        2: lambda: setattr(helper, "shift", 4.0),
    }


def all_of_an_object() -> Made:
    box = types.SimpleNamespace(first=1.0)

    def reads(x: Any) -> Any:
        for scale in vars(box).values():
            x = x * 2 + scale
        return x

    return reads, {1: lambda: setattr(box, "second", 3.0), 2: lambda: delattr(box, "first")}


def all_of_a_function() -> Made:
    def helper() -> float:
        return sum(helper.__dict__.values())

    return lambda x: x + helper(), {
        1: lambda: setattr(helper, "first", 3.0),
        2: lambda: setattr(helper, "second", 3.0),
    }


def all_of_a_parameter_dict() -> Made:
    scales = nn.ParameterDict({"first": nn.Parameter(torch.ones(3))})

    def reads(x: Any) -> Any:
        for scale in scales.values():
            x = x * 2 + scale
        return x

    return reads, {
        1: lambda: scales.update({"second": nn.Parameter(torch.ones(3) * 2)}),
        2: lambda: scales.pop("first"),
    }


def all_of_a_cache() -> Made:
    seen: dict[Any, Any] = {"calls": 0}

    def counts(x: Any) -> Any:
        seen["calls"] += 1
        seen[x.shape[0], "rows"] = x.sum()
        return x * len(seen), list(seen)

    return counts, {2: lambda: seen.update(other=1.0)}


def all_of_a_class() -> Made:
    class Box:
        scale = 2.0

    def read(name: str) -> Any:
        return getattr(Box, name)

    return lambda x: x * read("scale"), {
        1: lambda: setattr(Box, "scale", 3.0),
        2: lambda: setattr(Box, "scale", 4.0),
    }


# ------------------------------------------------------------------- other functions and classes under a name
_activation: Callable[[Any], Any] = torch.relu
_layer: Any = nn.ReLU


def _rename(name: str, item: Any) -> Callable[[], None]:
    return lambda: globals().__setitem__(name, item)


def rebound_function() -> Made:
    _rename("_activation", torch.relu)()
    return lambda x: _activation(x) + 1, {
        1: _rename("_activation", torch.tanh),
        2: _rename("_activation", torch.sin),
    }


def rebound_class() -> Made:
    _rename("_layer", nn.ReLU)()
    return lambda x: _layer()(x) + 1, {1: _rename("_layer", nn.Tanh), 2: _rename("_layer", nn.Sigmoid)}


def rebound_in_a_class() -> Made:
    class Box:
        layer: Any = nn.ReLU
        activation = torch.sin

    changes = {1: lambda: setattr(Box, "layer", nn.Tanh), 2: lambda: setattr(Box, "activation", torch.cos)}
    return lambda x: Box.activation(Box.layer()(x)), changes


def rebound_in_a_module() -> Made:
    space: Any = types.ModuleType("space")
    space.activation = torch.relu
    return lambda x: space.activation(x) + 1, {1: lambda: setattr(space, "activation", torch.cos)}


# ---------------------------------------------------------------------------------------------- other classes
class _Doubling:
    scale: float
    steps: Any

    def run(self, x: Any) -> Any:
        return x * 2

    def __len__(self) -> int:
        return 2


class _Tripling(_Doubling):
    def run(self, x: Any) -> Any:
        return x * 3


def of_another_class() -> Made:
    box = _Doubling()
    return lambda x: box.run(x) + 1, {
        1: lambda: setattr(box, "__class__", _Tripling),
        2: lambda: setattr(box, "__class__", _Doubling),
    }


def turns_into_another_class() -> Made:
    box = _Doubling()

    def runs(x: Any) -> Any:
        result = box.run(x)
        box.__class__ = _Doubling if isinstance(box, _Tripling) else _Tripling
        return result

    return runs, {}


def other_operators() -> Made:
    class Box(_Doubling):
        pass

    box = Box()
    return lambda x: x * len(box) if box else x, {
        1: lambda: setattr(Box, "__len__", lambda box: 5),
        2: lambda: setattr(Box, "__bool__", lambda box: False),
    }


# ---------------------------------------------------------------------------------------------- iterators
class _Stream:
    def __init__(self) -> None:
        self.place = 0.0

    def __iter__(self) -> _Stream:
        return self

    def __next__(self) -> float:
        self.place += 1
        return self.place


def iterator_of_the_users() -> Made:
    stream = _Stream()
    return lambda x: x * next(stream), {2: lambda: setattr(stream, "place", 5.0)}


def iterator_in_a_dict() -> Made:
    held = {"scales": itertools.count(1)}
    return lambda x: x * next(held["scales"]), {}


def iterator_in_a_tuple() -> Made:
    held = (iter([1.0, 2.0]), 3)
    return lambda x: x * next(held[0]), {}


def iterator_behind_a_method() -> Made:
    draw = itertools.count(1).__next__
    return lambda x: x * draw(), {}


def iterator_behind_a_partial() -> Made:
    draw = functools.partial(next, itertools.cycle([1.0, 2.0]))
    return lambda x: x * draw(), {}


# ----------------------------------------------------------------------------- what Python's own classes hold
def items_of_a_queue() -> Made:
    waiting: queue.Queue[float] = queue.Queue()
    waiting.put(2.0)
    return lambda x: x * waiting.queue[0] + waiting.qsize(), {1: lambda: waiting.put(3.0), 2: waiting.get}


def queue_that_goes_round() -> Made:
    waiting: queue.Queue[float] = queue.Queue()
    waiting.put(2.0)

    def function(x: Any) -> Any:
        scale = waiting.get()
        waiting.put(scale + 1)
        return x * scale

    return function, {2: lambda: waiting.put(9.0)}


def section_that_is_written() -> Made:
    settings = configparser.ConfigParser()
    settings.read_dict({"model": {"scale": "2"}})

    def function(x: Any) -> Any:
        settings["model"]["scale"] = str(settings.getint("model", "scale") + 1)
        return x * settings.getint("model", "scale")

    return function, {1: lambda: settings.set("model", "scale", "7")}


def flag_of_a_thread() -> Made:
    stop = threading.Event()
    return lambda x: x if stop.is_set() else -x, {1: stop.set, 2: stop.clear}


def text_of_a_template() -> Made:
    shown = string.Template("$name")
    return lambda x: x * len(shown.substitute(name="ab")), {
        1: lambda: setattr(shown, "template", "$name$name")
    }


# --------------------------------------------------------------------------------------------- behind a cache
def written_behind_a_cache() -> Made:
    @functools.lru_cache(4)
    def row(size: int) -> tuple[Any, int]:
        return torch.zeros(size).add_(1), size

    return lambda x: x + row(3)[0][:2].add_(1).sum(), {}


_FOLLOWED = (
    behind_a_proxy, behind_a_view, behind_a_method, behind_a_method_that_writes, behind_a_weak_reference, behind_a_dead_reference,
    behind_weak_keys, by_a_getter, beside_a_function_of_an_extension, level_of_a_logger, settings_of_a_file, distribution,
    missing_in_an_object, missing_in_a_class, missing_in_a_module, missing_in_a_function, all_of_an_object, all_of_a_function,
    all_of_a_parameter_dict, all_of_a_cache, all_of_a_class, rebound_function, rebound_class, rebound_in_a_class, rebound_in_a_module,
    of_another_class, turns_into_another_class, other_operators, iterator_of_the_users, items_of_a_queue, queue_that_goes_round,
    section_that_is_written, flag_of_a_thread, text_of_a_template,
)  # fmt: skip
_REFUSED = (iterator_in_a_dict, iterator_in_a_tuple, iterator_behind_a_method, iterator_behind_a_partial)
PROGRAMS = [
    *map(_program, _FOLLOWED),
    *(_program(made, _ITERATOR) for made in _REFUSED),
    _program(written_behind_a_cache, _CACHED),
]
