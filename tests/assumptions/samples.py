"""The table of samples: for each kind of assumption a function that makes it, calls that meet and violate it,
and invalid JSON.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from graph_compiler.assumptions import (
    DisjointMemory,
    IndexBounds,
    InputAttribute,
    InputFact,
    KeywordOrder,
    SameArray,
)
from graph_compiler.errors import TracingError
from graph_compiler.ir.graph import Guard

Call = tuple[tuple[Any, ...], dict[str, Any]]
Make = Callable[[], Call]
CODE = "0 or __import__('os').abort()"
# Both refer to input 0.
VALUE, SIZE = {"!": "value", "v": 0}, {"!": "size", "v": [[[["symbol", 0, 0, 1, "size"]], 1]]}
# This refers to a value that is no input.
OUTSIDE = {"!": "size", "v": [[[["symbol", 2, 0, 1, "size"]], 1]]}
ORIGIN = ["f.py", 1, "", "call"]


@dataclass(frozen=True)
class Sample:
    """A function whose recording makes an assumption.

    kind: class of the assumption.
    recorded, keeps, breaks: arguments of the recorded call, of one that meets the assumption, and of one
        that violates it.
    words: the assumption as ``explain()`` describes it.
    raises: exception of the violating call; None if it is recorded again.
    hostile: JSON that must be refused for a graph with two inputs and a value that is no input.
    to: the target.
    """

    name: str
    kind: type
    function: Callable[..., Any]
    recorded: Make
    keeps: Make
    breaks: Make
    words: str
    hostile: tuple[Any, ...]
    raises: type[Exception] | None = None
    to: str = "torch"
    # True if the assumption is checked after the function has run.
    is_after: bool = False


def ones(*shape: int, **facts: Any) -> torch.Tensor:
    return torch.ones(*shape, **facts)


def call(*args: Any, **kwargs: Any) -> Call:
    return args, kwargs


def long_or_not(x: Any) -> Any:
    return x * 2 if x.shape[0] > 2 else x + 1


def positive_or_not(x: Any) -> Any:
    return x * 2 if x.sum() > 0 else x + 1


def rows(table: Any, index: Any) -> Any:
    return torch.nn.functional.embedding(index, table)


def total(x: Any, y: Any) -> Any:
    return x + 2 * y


def asks_for_gradient(x: Any) -> Any:
    return x * 2 if x.requires_grad else x + 1


def asks_for_scale(x: Any) -> Any:
    return x * x.scale


def writes(x: Any, y: Any) -> Any:
    x.mul_(2)
    return x + y


def in_order(x: Any, **terms: Any) -> Any:
    for term in terms.values():
        x = x * 2 + term
    return x


def scaled(scale: float, rows: int) -> Call:
    x = ones(rows, 2)
    x.scale = scale  # type: ignore[attr-defined]
    return call(x)


def one_twice() -> Call:
    x = ones(3, 2)
    return call(x, x)


def overlapping() -> Call:
    x = torch.zeros(4, 2)
    return call(x[:3], x[1:])


SAMPLES = (
    Sample(
        "a size",
        Guard,
        long_or_not,
        recorded=lambda: call(ones(3, 2)),
        keeps=lambda: call(ones(5, 4)),
        breaks=lambda: call(ones(2, 2)),
        words=r"samples.py:\d+ was recorded for x\.shape\[0\] > 2, and x\.shape\[0\] is 2 for this call",
        hostile=(
            [],
            CODE,
            [CODE, True, ORIGIN, 0.0],
            [SIZE, VALUE, ORIGIN, 0.0],
            [SIZE, True, ["f.py\nabort()", 1, "", "call"], 0.0],
            [SIZE, True, ORIGIN, CODE],
            [SIZE, True, ORIGIN, 2.0],
            [{"!": "value", "v": 7}, True, ORIGIN, 0.0],
        ),
    ),
    Sample(
        "elements",
        Guard,
        positive_or_not,
        recorded=lambda: call(ones(3, 2)),
        keeps=lambda: call(ones(5, 4)),
        breaks=lambda: call(-ones(3, 2)),
        words=r"samples.py:\d+ was True when recorded and is False for this call",
        hostile=([VALUE, True, ORIGIN, float("nan")], [VALUE, [[SIZE]], ORIGIN, 0.0], [VALUE, True, ORIGIN]),
        is_after=True,
    ),
    Sample(
        "bounds of indices",
        IndexBounds,
        rows,
        recorded=lambda: call(ones(4, 2), torch.tensor([0, 3])),
        keeps=lambda: call(ones(6, 2), torch.tensor([5, 1, 0])),
        breaks=lambda: call(ones(4, 2), torch.tensor([0, 4])),
        words=r"the indices index do not lie in \[.*4\)",
        hostile=(
            [1, 0, CODE, None],
            [2, 0, 4, None],
            [True, 0, 4, None],
            [1, 0, 4, CODE],
            [1, 0, OUTSIDE, None],
            [1, 0.5, 4, None],
            [1, 0, 4],
        ),
        raises=IndexError,
        to="numpy",
    ),
    Sample(
        "one array or two",
        SameArray,
        total,
        recorded=lambda: call(ones(3, 2), ones(3, 2)),
        keeps=lambda: call(ones(5, 2), ones(5, 2)),
        breaks=one_twice,
        words="x and y are one array and were two while recording",
        hostile=([CODE], [0, 7], [0, True], [1, 1], [-2], [0, 0, 0], {"0": 0}, [0, 1.0]),
    ),
    Sample(
        "a fact",
        InputFact,
        asks_for_gradient,
        recorded=lambda: call(ones(3, 2)),
        keeps=lambda: call(ones(5, 4)),
        breaks=lambda: call(ones(3, 2, requires_grad=True)),
        words="x requires a gradient, or does not, other than while recording",
        hostile=(
            ["requires_grad", [CODE]],
            ["device", [CODE]],
            ["device", ["cpu'"]],
            ["device", "cpu"],
            [CODE, [True]],
            ["__class__", [True]],
            ["requires_grad", [True] * 3],
            ["layout", [[0, CODE]]],
            ["requires_grad", True],
            [["requires_grad"], [True]],
            ["requires_grad", [1]],
        ),
    ),
    Sample(
        "an attribute",
        InputAttribute,
        asks_for_scale,
        recorded=lambda: scaled(3.0, 3),
        keeps=lambda: scaled(3.0, 5),
        breaks=lambda: scaled(4.0, 3),
        words=r"x has 4\.0 \.scale and was recorded with 3\.0",
        hostile=(
            [2, "scale", "3.0"],
            [-1, "scale", "3.0"],
            [CODE, "scale", "3.0"],
            [0, ["scale"], "3.0"],
            [0, "scale", 3.0],
            [0, "scale"],
        ),
    ),
    Sample(
        "memory of its own",
        DisjointMemory,
        writes,
        recorded=lambda: call(torch.zeros(3, 2), ones(3, 2)),
        keeps=lambda: call(torch.zeros(5, 4), ones(5, 4)),
        breaks=overlapping,
        words="an array that is written to shares memory with another one",
        hostile=(
            [[0, 1], [CODE]],
            [[0, CODE], [0]],
            [[0, 7], [7]],
            [[0, 1], []],
            [[1], [0]],
            [[0, 1], 0],
            [[0, 1], [False]],
            [0, 1],
        ),
        raises=TracingError,
    ),
    Sample(
        "the order of keywords",
        KeywordOrder,
        in_order,
        recorded=lambda: call(ones(3, 2), a=ones(3, 2), b=-ones(3, 2)),
        keeps=lambda: call(ones(5, 4), a=ones(5, 4), b=-ones(5, 4)),
        breaks=lambda: call(ones(3, 2), b=-ones(3, 2), a=ones(3, 2)),
        words="the keywords come in the order b, a and were recorded as a, b",
        hostile=([1, 2], CODE, [["a"]], {"a": 1}, [None]),
    ),
)
