"""Tests of strings with sizes and elements: if only messages show them, they add no guards; all others do."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("jax")

import graph_compiler  # noqa: E402
from graph_compiler.errors import GuardFailed  # noqa: E402
from tests.support.compare import assert_same  # noqa: E402

pytestmark = pytest.mark.skipif(
    sys.version_info < (3, 11), reason="Python 3.10 does not tell which part of a line runs"
)
_log = logging.getLogger(__name__)
_said: list[str] = []


def checked(x: Any) -> Any:
    torch._check(x.shape[0] > 1, f"{x.shape[0]} is not enough")  # type: ignore[arg-type]
    torch._assert(x.shape[0] > 1, f"{x.shape[0]} is not enough")  # type: ignore[arg-type]
    torch._check(x.ndim == 1, lambda: f"{x.shape[0]}")
    return x * 2


def logged(x: Any) -> Any:
    _log.debug(f"sizes {x.shape} " + str(x.shape[0]) + " and {}".format(x.numel()))  # noqa: UP032
    _log.warning("%s of %s", x.shape[0], x.sum())
    _log.error("sum %s" % x.sum())  # noqa: UP031
    _log.fatal(f"size {x.shape[0]}")
    logging.info(f"size {x.shape[0]}")
    logging.warning(f"size {x.shape[0]}")
    return x * 2


def warned(x: Any) -> Any:
    warnings.warn(
        f"sizes {x.shape[0]:3d}, "
        f"elements {x.sum()}, {x.shape[0] * 2}",
        stacklevel=1,
    )  # fmt: skip
    return x * 2


class Refusal(ValueError): ...


def demand(holds: bool, message: str | None = None, *, kind: type[Exception] = Refusal) -> bool:
    if not holds:
        if kind is not None:
            message = _with("" if message is None else message)
            raise kind(message)
        return False
    return True


def demand_plainly(holds: bool, message: str) -> None:
    assert holds, message


class Demanding:
    def demand(self, holds: bool, message: str) -> None:
        if holds:
            return
        raise Refusal(message)


demanding = Demanding()


def checked_by_own_functions(x: Any) -> Any:
    demand(x.shape[0] > 1, f"{x.shape[0]} is not enough, {x.sum()}")
    demand(x.shape[0] > 1, message="{} is not enough".format(x.shape))  # noqa: UP032
    demand_plainly(x.shape[0] > 1, "%s is not enough" % x.shape[0])  # noqa: UP031
    demanding.demand(x.shape[0] > 1, str(x.shape[0]) + " is not enough")
    return x * 2


def by_name(x: Any) -> Any:
    return x * {"n3": 2, "n5": 7}[f"n{x.shape[0]}"]


def kept_first(x: Any) -> Any:
    text = f"{x.shape[0]}"
    warnings.warn(text, stacklevel=1)
    return x * int(text)


def kept_beside(x: Any) -> Any:
    warnings.warn(text := f"{x.shape[0]}", stacklevel=1)
    return x * int(text)


def chosen(x: Any) -> Any:
    warnings.warn("a" if f"{x.shape[0]}" == "3" and _said.append("3") is None else "b", stacklevel=1)
    return x * 2


def appended(x: Any) -> Any:
    warnings.warn(_with(f"{x.shape[0]}"), stacklevel=1)
    return x * 2


def _with(text: str) -> str:
    return text + "."


def keep(holds: bool, message: str) -> str:
    if not holds:
        raise Refusal(message)
    return message


def kept_by_a_check(x: Any) -> Any:
    return x * len(keep(x.shape[0] > 1, "." * x.shape[0] + f"{x.shape[0]}"))


def demand_or_say(holds: bool, message: str) -> int:
    try:
        if not holds:
            raise Refusal(message)
    except Refusal as refusal:
        return int(str(refusal))
    return 0


def handled_inside(x: Any) -> Any:
    return x * demand_or_say(x.shape[0] > 9, f"{x.shape[0]}")


def handled_outside(x: Any) -> Any:
    try:
        demand(x.shape[0] > 9, f"{x.shape[0]}")
    except Refusal as refusal:
        return x * len(str(refusal)) * int(str(refusal)[:-1])
    return x


def elements_by_name(x: Any) -> Any:
    return x * float(f"{x.sum()}")


MESSAGES: tuple[Callable[[Any], Any], ...] = (checked, logged, warned, checked_by_own_functions)
OTHER_TEXTS: tuple[Callable[[Any], Any], ...] = (
    *(by_name, kept_first, kept_beside, chosen, appended, elements_by_name),
    *(kept_by_a_check, handled_inside, handled_outside),
)


@pytest.mark.filterwarnings("ignore:sizes")
@pytest.mark.parametrize("to", ["torch", "jax"])
@pytest.mark.parametrize("function", MESSAGES)
def test_messages_tie_a_graph_to_nothing(function: Callable[[Any], Any], to: str) -> None:
    graph = graph_compiler.compile(function, to=to, args=(torch.ones(3),))
    for x in (torch.arange(5.0), -torch.ones(2)):
        assert_same(graph(x), function(x))
    assert len(graph.variants) == 1


@pytest.mark.filterwarnings("ignore:[0-9ab]+:UserWarning")
@pytest.mark.parametrize("function", OTHER_TEXTS)
def test_other_texts_do(function: Callable[[Any], Any]) -> None:
    graph = graph_compiler.compile(function, args=(torch.ones(3),))
    assert_same(graph(torch.ones(5)), function(torch.ones(5)))
    assert len(graph.variants) == 2


def test_an_index_in_a_condition_is_not_the_condition() -> None:
    def chosen(x: Any, n: Any) -> Any:
        return x if (0, 1, 0)[n] else -x

    graph = graph_compiler.compile(chosen, args=(torch.ones(3), torch.tensor(1)), on_miss="error")
    with pytest.raises(
        GuardFailed, match=r"a number in `if \(0, 1, 0\)\[n\]` .* was 1 when recorded and is 2"
    ):
        graph(torch.ones(3), torch.tensor(2))
