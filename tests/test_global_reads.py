"""Globals that a function looks up by text: a call finds what stands there then, under names that came later
too.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_compiler

from .support.compare import assert_same

torch = pytest.importorskip("torch")
jax = pytest.importorskip("jax")

_MAKE: dict[str, Callable[[Any], Any]] = {
    "torch": torch.tensor,
    "jax": jax.numpy.asarray,
    "numpy": np.asarray,
}

_SETTINGS = types.ModuleType("tests_settings")
_SETTINGS.__file__ = __file__
sys.modules[_SETTINGS.__name__] = _SETTINGS
_THIS = sys.modules[__name__]
added, base = 0, 2


def _x(source: str, rows: int) -> Any:
    return _MAKE[source](np.arange(1.0, rows * 3 + 1, dtype=np.float32).reshape(rows, 3))


def _named(name: str) -> Any:
    return globals()[name]


def _by_get(x: Any) -> Any:
    return x * globals().get("factor", 1)


def _by_item(x: Any) -> Any:
    return x * (_named("factor") * globals()["factor"] if "factor" in globals() else 1)


def _by_name_of_another(x: Any) -> Any:
    return x * (_named("factor") if hasattr(_THIS, "factor") else 1)


def _kept(x: Any) -> Any:
    held = globals()
    return x * held.setdefault("base", 9) * held.get("factor", 1)


def _all(x: Any) -> Any:
    return x * sum([1, *(item for name, item in globals().items() if name.startswith("factor"))])


def _by_eval(x: Any) -> Any:
    return x * eval("factor if 'factor' in globals() else 1")


def _by_exec(x: Any) -> Any:
    found: dict[str, Any] = {}
    exec("wide = [2]\nfound = wide[0] * (factor if 'factor' in globals() else 1)", globals(), found)
    return x * found["found"]


def _in_module(x: Any) -> Any:
    return x * vars(_SETTINGS).get("factor", 1)


def _of_module(x: Any) -> Any:
    return x * sum([1, *(item for name, item in _SETTINGS.__dict__.items() if name[0] == "f")])


def _asked_of_module(x: Any) -> Any:
    return x * getattr(_SETTINGS, "factor", 1)


def _in_modules(x: Any) -> Any:
    return x * (
        sys.modules["tests_settings"].factor if hasattr(sys.modules["tests_settings"], "factor") else 1
    )


def _imported(x: Any) -> Any:
    import tests_settings  # type: ignore[import-not-found]

    return x * (tests_settings.factor if hasattr(tests_settings, "factor") else 1)


def _imported_from(x: Any) -> Any:
    if not hasattr(_SETTINGS, "factor"):
        return x
    from tests_settings import factor

    return x * factor


def _listed(x: Any) -> Any:
    return x * (_named("factor") if "factor" in dir(_SETTINGS) else 1)


def _named_in_module(x: Any) -> Any:
    return x * getattr(_SETTINGS, _NAME, 1)


def _of_function(x: Any) -> Any:
    return x * _named.__globals__.get("factor", 1) * sys._getframe().f_globals.get("factor", 1)


def _scaled(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    @functools.wraps(function)
    def wrapper(x: Any) -> Any:
        return function(x) * globals().get("factor", 1)

    return wrapper


@_scaled
def _wrapped(x: Any) -> Any:
    return x + 1


_NAME, _ITSELF = "factor", globals()  # a dict that holds itself
_FUNCTIONS = (
    _by_get, _by_item, _by_name_of_another, _kept, _all, _by_eval, _by_exec, _in_module, _of_module, _asked_of_module, _in_modules,
    _imported, _imported_from, _listed, _named_in_module, _of_function, _wrapped,
)  # fmt: skip


def _set(factor: Any) -> None:
    for module in (_THIS, _SETTINGS):
        vars(module).pop("factor", None)
        if factor is not None:
            module.factor = factor  # type: ignore[attr-defined]


@pytest.fixture(autouse=True)
def _restored() -> Any:
    yield
    _set(None)


@pytest.mark.parametrize("source", ["torch", "jax", "numpy"])
@pytest.mark.parametrize("function", _FUNCTIONS)
def test_a_global_that_is_looked_up_by_text_is_the_one_of_the_call(
    function: Callable[[Any], Any], source: str
) -> None:
    _set(None)
    compiled = graph_compiler.compile(function, to=source, args=(_x(source, 2),))
    for number, factor in enumerate((None, 3, 5, None), 1):
        _set(factor)
        x = _x(source, number)
        assert_same(compiled(x), function(x))
    assert len(compiled.variants) == 3 and "globals" not in globals() and "eval" not in globals()


@pytest.mark.parametrize("source", ["torch", "numpy"])
@pytest.mark.parametrize("to", ["torch", "numpy"])
def test_globals_that_are_written_by_text_are_state(source: str, to: str) -> None:
    def counting(x: Any) -> Any:
        globals()["added"] = globals().get("added", 0) + 1
        return x * globals()["added"]

    before = added
    globals()["added"] = 4
    compiled = graph_compiler.compile(counting, to=to)
    results = [float(compiled(_x(source, 1))[0, 0]) for _ in range(3)]
    assert results == [5, 6, 7] and added == 7 and len(compiled.variants) == 1
    globals()["added"] = before


def test_globals_that_are_written_by_text_are_refused_where_there_is_no_state() -> None:
    def counting(x: Any) -> Any:
        globals()["added"] = globals()["added"] + 1
        return x * globals()["added"]

    before = added
    with pytest.raises(graph_compiler.errors.TracingError, match=r"added.* (changed|held a number)"):
        graph_compiler.compile(counting, args=(_x("jax", 2),))
    globals()["added"] = before


def test_what_the_dict_of_globals_is_asked_for_is_answered_as_ever() -> None:
    def asking(x: Any) -> Any:
        held = globals()
        return x, (
            len({**held}) == len(held),
            "np" in held,
            [*held] == [*held.copy()],
            isinstance(held, dict),
            held["np"] is np,
        )

    _, answers = graph_compiler.compile(asking, args=(_x("numpy", 2),))(_x("numpy", 2))
    assert answers == (True,) * 5
