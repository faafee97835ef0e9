"""Settings of the process that a torch function asks for: a call under another setting gives what the original gives."""

from __future__ import annotations

import os
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


# what is asked -> how it is set, and what to
SETTINGS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any], tuple[Any, Any]]] = {
    "grad mode": (lambda: torch.is_grad_enabled() is True, torch.set_grad_enabled, (False, True)),
    "name of one's own": (lambda: is_grad_enabled() is True, torch.set_grad_enabled, (False, True)),
    "deterministic": (lambda: torch.are_deterministic_algorithms_enabled() is True, torch.use_deterministic_algorithms, (True, False)),
    "precision": (lambda: torch.get_float32_matmul_precision() + ".", torch.set_float32_matmul_precision, ("high", "highest")),
    "property": (lambda: _CUDNN.benchmark, _set_benchmark, (True, False)),
    "attention": (lambda: torch.backends.cuda.math_sdp_enabled() is True, torch.backends.cuda.enable_math_sdp, (False, True)),
    "numpy": (lambda: np.geterr()["over"], lambda how: np.seterr(over=how), ("ignore", "warn")),
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


def test_a_setting_that_the_function_itself_changes_is_no_setting_of_the_call() -> None:
    def function(x: Any) -> Any:
        with torch.no_grad():
            return x * 2 if torch.is_grad_enabled() else x * 3

    compiled = graph_compiler.compile(function)
    assert compiled(torch.ones(2)).tolist() == compiled(torch.ones(2)).tolist() == [3, 3] and len(compiled.variants) == 1
    assert torch.is_grad_enabled.__name__ == "is_grad_enabled" and not hasattr(torch.is_grad_enabled, "__wrapped__")
