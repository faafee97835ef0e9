"""Functions that look up globals by a string. They are in a module with few globals, because a recording has
to watch all.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

SETTINGS = types.ModuleType("tests_settings")
SETTINGS.__file__ = __file__
sys.modules[SETTINGS.__name__] = SETTINGS
_THIS = sys.modules[__name__]
added, base = 0, 2


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
    return x * vars(SETTINGS).get("factor", 1)


def _of_module(x: Any) -> Any:
    return x * sum([1, *(item for name, item in SETTINGS.__dict__.items() if name[0] == "f")])


def _asked_of_module(x: Any) -> Any:
    return x * getattr(SETTINGS, "factor", 1)


def _in_modules(x: Any) -> Any:
    return x * (
        sys.modules["tests_settings"].factor if hasattr(sys.modules["tests_settings"], "factor") else 1
    )


def _imported(x: Any) -> Any:
    import tests_settings  # type: ignore[import-not-found]

    return x * (tests_settings.factor if hasattr(tests_settings, "factor") else 1)


def _imported_from(x: Any) -> Any:
    if not hasattr(SETTINGS, "factor"):
        return x
    from tests_settings import factor

    return x * factor


def _listed(x: Any) -> Any:
    return x * (_named("factor") if "factor" in dir(SETTINGS) else 1)


def _named_in_module(x: Any) -> Any:
    return x * getattr(SETTINGS, _NAME, 1)


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


def _merged(x: Any) -> Any:
    return x * (globals() | {"other": 2}).get("factor", 1)


def _merged_from_the_right(x: Any) -> Any:
    return x * ({"factor": 1} | globals())["factor"]


# The dict contains itself.
_NAME, _ITSELF = "factor", globals()
FUNCTIONS = (
    _by_get, _by_item, _by_name_of_another, _kept, _all, _by_eval, _by_exec, _in_module, _of_module, _asked_of_module, _in_modules,
    _imported, _imported_from, _listed, _named_in_module, _of_function, _wrapped, _merged, _merged_from_the_right,
)  # fmt: skip


def counting(x: Any) -> Any:
    globals()["added"] = globals().get("added", 0) + 1
    return x * globals()["added"]


def counting_in_place(x: Any) -> Any:
    held = globals()
    held |= {"added": held.get("added", 0) + 1}
    return x * held["added"]


def asking(x: Any) -> Any:
    held = globals()
    return x, (
        len({**held}) == len(held),
        "np" in held,
        [*held] == [*held.copy()],
        isinstance(held, dict),
        held["np"] is np,
        held == globals(),
        [*reversed(held)][::-1] == [*held],
    )
