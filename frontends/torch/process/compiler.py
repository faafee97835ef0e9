"""torch's own compiler, which takes longer to load than most functions to record: it is loaded where the function uses it, and before it is
recorded.

Loaded while a recording looks on, it would keep what stands in for functions of torch meanwhile. It also brings ``triton`` along (in builds
for CUDA), which ends a process in which TensorFlow has been loaded before.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.util
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any, TypeVar

from ....errors import TracingError

_COMPILER = "torch._dynamo"
Result = TypeVar("Result")


class CompilerWanted(BaseException):
    """The function is about to load torch's compiler: no error, so that no code of the user's takes it for one."""


class _Watch(importlib.abc.MetaPathFinder):
    """Raises ``CompilerWanted`` in one thread where the compiler is looked for."""

    def __init__(self) -> None:
        self._thread = threading.get_ident()

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        if fullname == _COMPILER and threading.get_ident() == self._thread:
            raise CompilerWanted
        return None


def is_loaded() -> bool:
    """Whether torch's compiler may have compiled something."""
    return _COMPILER in sys.modules


def with_compiler_if_wanted(record: Callable[[], Result]) -> Result:
    """What ``record`` gives; where it would load torch's compiler, that is loaded first, and it is called again."""
    try:
        with _watched():
            return record()
    except CompilerWanted:
        _refuse_to_load()
        importlib.import_module(_COMPILER)
    return record()


def _refuse_to_load() -> None:
    """``TracingError`` where loading the compiler would end the process."""
    if "tensorflow" in sys.modules and "triton" not in sys.modules and importlib.util.find_spec("triton") is not None:
        raise TracingError(
            "the function uses torch's compiler (torch.compile, torch.cond, an optimizer, ...), which loads triton, and that ends a "
            "process in which TensorFlow has been loaded before; write `import torch._dynamo` above `import tensorflow`"
        )


@contextmanager
def _watched() -> Iterator[None]:
    if is_loaded():
        yield
        return
    watch = _Watch()
    sys.meta_path.insert(0, watch)
    try:
        yield
    finally:
        sys.meta_path.remove(watch)
