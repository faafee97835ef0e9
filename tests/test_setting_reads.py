"""Settings of the process that a torch function asks for: a call under another setting gives what the original gives."""

from __future__ import annotations

import decimal
import gc
import logging
import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import is_grad_enabled  # noqa: E402

import graph_compiler  # noqa: E402

_CUDNN = torch.backends.cudnn


def _set_benchmark(on: bool) -> None:
    with torch.backends.__allow_nonbracketed_mutation():  # torch's own tests forbid it for good
        _CUDNN.benchmark = on


_LOGGER, _DEPTH = logging.getLogger("tests.settings"), sys.getrecursionlimit()


def _filter(more: bool) -> None:
    if more:
        warnings.simplefilter("ignore", BytesWarning)
    else:
        warnings.filters.pop(0)  # type: ignore[attr-defined]


# what is asked -> how it is set, and what to
SETTINGS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any], tuple[Any, Any]]] = {
    "grad mode": (lambda: torch.is_grad_enabled() is True, torch.set_grad_enabled, (False, True)),
    "name of one's own": (lambda: is_grad_enabled() is True, torch.set_grad_enabled, (False, True)),
    "deterministic": (lambda: torch.are_deterministic_algorithms_enabled() is True, torch.use_deterministic_algorithms, (True, False)),
    "precision": (lambda: torch.get_float32_matmul_precision() + ".", torch.set_float32_matmul_precision, ("high", "highest")),
    "property": (lambda: _CUDNN.benchmark, _set_benchmark, (True, False)),
    "attention": (lambda: torch.backends.cuda.math_sdp_enabled() is True, torch.backends.cuda.enable_math_sdp, (False, True)),
    "numpy": (lambda: np.geterr()["over"], lambda how: np.seterr(over=how), ("ignore", "warn")),
    "printing": (lambda: np.get_printoptions()["precision"] + 0, lambda digits: np.set_printoptions(precision=digits), (3, 8)),
    "logger": (lambda: _LOGGER.level, _LOGGER.setLevel, (logging.INFO, logging.NOTSET)),
    "logger by name": (lambda: logging.getLogger("tests.settings").level + 0, _LOGGER.setLevel, (logging.INFO, logging.NOTSET)),
    "what is logged": (lambda: _LOGGER.isEnabledFor(logging.INFO), _LOGGER.setLevel, (logging.INFO, logging.NOTSET)),
    "level of the logger above": (
        lambda: _LOGGER.getEffectiveLevel() + 0,
        logging.getLogger("tests").setLevel,
        (logging.INFO, logging.NOTSET),
    ),
    "digits": (lambda: decimal.getcontext().prec, lambda digits: setattr(decimal.getcontext(), "prec", digits), (5, 28)),
    "recursion": (lambda: sys.getrecursionlimit() + 0, sys.setrecursionlimit, (3 * _DEPTH, _DEPTH)),
    "collector": (lambda: gc.isenabled() is True, lambda on: (gc.enable if on else gc.disable)(), (not gc.isenabled(), gc.isenabled())),
    "arguments": (lambda: [*sys.argv], lambda items: setattr(sys, "argv", items), ([*sys.argv, "more"], [*sys.argv])),
    "warnings": (lambda: len(warnings.filters), _filter, (True, False)),
    "folder": (lambda: os.getcwd() == "/", os.chdir, ("/", os.getcwd())),  # noqa: PTH109
}


@pytest.mark.parametrize("to", ["torch", "numpy"])
@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_that_is_asked_for_is_the_one_of_the_call(name: str, to: str) -> None:
    ask, change, values = SETTINGS[name]

    def function(x: Any) -> Any:
        return x * 2, ask()

    compiled = graph_compiler.compile(function, to=to)
    assert compiled(torch.ones(2))[1] == ask()
    for value in values:  # the last is the one of before
        change(value)
        assert compiled(torch.ones(3))[1] == ask()
    assert len(compiled.variants) == 2


@pytest.mark.parametrize("source", ["jax", "numpy"])
@pytest.mark.parametrize("name", ["logger", "what is logged", "numpy", "collector", "folder"])
def test_functions_of_jax_and_numpy_ask_as_well(name: str, source: str) -> None:
    make = pytest.importorskip("jax").numpy.ones if source == "jax" else np.ones
    ask, change, values = SETTINGS[name]

    def function(x: Any) -> Any:
        return x * len(f"{ask()}")

    compiled = graph_compiler.compile(function)
    for value in (*values, values[0], values[1]):
        change(value)
        assert float(compiled(make(3))[0]) == len(f"{ask()}")
    assert len(compiled.variants) == 2


def test_a_setting_that_the_function_itself_changes_is_no_setting_of_the_call() -> None:
    def function(x: Any) -> Any:
        with torch.no_grad():
            return x * 2 if torch.is_grad_enabled() else x * 3

    compiled = graph_compiler.compile(function)
    assert compiled(torch.ones(2)).tolist() == compiled(torch.ones(2)).tolist() == [3, 3] and len(compiled.variants) == 1
    assert torch.is_grad_enabled.__name__ == "is_grad_enabled" and not hasattr(torch.is_grad_enabled, "__wrapped__")
