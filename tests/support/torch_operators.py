"""torch's control-flow operators as plain Python loops and branches, which serve as the reference for
programs that use them.

torch compiles each call of such an operator, which takes a second or more if operators are nested; torch's
own tests use similar loops. ``tests/frontends/torch/test_control_flow.py`` checks that these functions
agree with the operators.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import pytest

torch = pytest.importorskip("torch")


def cond(pred: Any, true_fn: Any, false_fn: Any, operands: Any = ()) -> Any:
    return (true_fn if pred else false_fn)(*operands)


def while_loop(cond_fn: Any, body_fn: Any, carried_inputs: Any) -> Any:
    held = tuple(carried_inputs)
    while cond_fn(*held):
        held = tuple(body_fn(*held))
    return held


def scan(combine_fn: Any, init: Any, xs: Any, *, dim: int = 0, reverse: bool = False) -> Any:
    count, held, made = torch.utils._pytree.tree_leaves(xs)[0].shape[dim], init, []
    for place in reversed(range(count)) if reverse else range(count):
        held, row = combine_fn(
            held, torch.utils._pytree.tree_map(lambda x, place=place: x.select(dim, place), xs)
        )
        made.append(row)
    return held, _stacked(made[::-1] if reverse else made, dim)


def map_rows(f: Any, xs: Any, *args: Any) -> Any:
    count = torch.utils._pytree.tree_leaves(xs)[0].shape[0]
    return _stacked(
        [
            f(torch.utils._pytree.tree_map(lambda x, place=place: x[place], xs), *args)
            for place in range(count)
        ]
    )


def _stacked(rows: list[Any], dim: int = 0) -> Any:
    return torch.utils._pytree.tree_map(lambda *items: torch.stack(items, dim), *rows)


@contextmanager
def loops_of_python(names: dict[str, Any]) -> Iterator[None]:
    """Replace ``torch.cond``, and ``scan``, ``while_loop`` and ``map_rows`` in the namespace ``names``, by
    the functions of this module while the block runs.
    """
    own = {"scan": scan, "while_loop": while_loop, "map_rows": map_rows}
    with (
        mock.patch.dict(names, {name: function for name, function in own.items() if name in names}),
        mock.patch.object(torch, "cond", cond),
    ):
        yield
