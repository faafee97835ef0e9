"""The helpers of a backend: all functions in the files of its prelude, and in those that several backends share."""

from __future__ import annotations

import pkgutil
import sys
from importlib import import_module
from types import FunctionType, ModuleType

from ..errors import DuplicateRow


def hand_out(prelude: str, *shared: ModuleType) -> None:
    """Puts the functions of ``shared`` files, and those of the files beside ``__init__``, which count first, into the package of this name,
    by which generated source finds them."""
    package = sys.modules[prelude]
    files = [import_module(f"{prelude}.{file.name}") for file in pkgutil.iter_modules(package.__path__)]
    own: dict[str, FunctionType] = {}
    for file in files:
        for name, helper in _functions(file).items():
            if own.setdefault(name, helper) is not helper:
                raise DuplicateRow(f"{prelude} has two helpers {name!r}, in {own[name].__module__} and {file.__name__}")
    for file in shared:
        vars(package).update(_functions(file))
    vars(package).update(own)


def _functions(file: ModuleType) -> dict[str, FunctionType]:
    """Those that a file defines."""
    return {name: item for name, item in vars(file).items() if isinstance(item, FunctionType) and item.__module__ == file.__name__}
