"""Collection of a backend's prelude: helpers of its own files and of files that several backends share."""

from __future__ import annotations

import pkgutil
import sys
from collections.abc import Mapping
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any

from ...errors import DuplicateRow


def collect_helpers(
    prelude: str, *shared: ModuleType, xp: ModuleType | None = None, spelled: Mapping[str, str] | None = None
) -> None:
    """Copy helpers of the files ``shared`` and of the modules of the package ``prelude`` into the package.

    Its own helpers replace shared ones of the same name. ``xp`` is the array module of shared helpers, and
    ``spelled`` maps names in them to the text for generated source, such as ``xp`` to ``np``.
    """
    package = sys.modules[prelude]
    files = [import_module(f"{prelude}.{file.name}") for file in pkgutil.iter_modules(package.__path__)]
    own: dict[str, FunctionType] = {}
    for file in files:
        for name, helper in _functions(file).items():
            if own.setdefault(name, helper) is not helper:
                raise DuplicateRow(
                    f"{prelude} has two helpers {name!r}, in {own[name].__module__} and {file.__name__}"
                )
    # Helpers of array_code look up names in this scope, so that they find the target's own.
    scope: dict[str, Any] = {}
    for file in shared:
        helpers = _functions(file)
        if "Array" in vars(file):
            scope.update(vars(file))
            helpers = {name: _in_scope(helper, scope, spelled or {}) for name, helper in helpers.items()}
        vars(package).update(helpers)
    # A target's own helpers come last, so that they replace shared ones of the same name.
    vars(package).update(own)
    scope.update(
        {name: item for name, item in vars(package).items() if isinstance(item, FunctionType)}, xp=xp
    )


def _in_scope(helper: FunctionType, scope: dict[str, Any], spelled: Mapping[str, str]) -> FunctionType:
    made = FunctionType(helper.__code__, scope, helper.__name__, helper.__defaults__)
    made.__kwdefaults__, made.__module__, made.__doc__ = (
        helper.__kwdefaults__,
        helper.__module__,
        helper.__doc__,
    )
    vars(made)["spelled"] = spelled
    return made


def _functions(file: ModuleType) -> dict[str, FunctionType]:
    return {
        name: item
        for name, item in vars(file).items()
        if isinstance(item, FunctionType) and item.__module__ == file.__name__
    }
