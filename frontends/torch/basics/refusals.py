"""Checks for what cannot be recorded: tensor subclasses, and modes and settings that change what calls do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import torch

from ....errors import TracingError
from ....recording import Request
from ..compat import (
    count_dispatch_modes,
    current_transform,
    disabled_torch_dispatch,
    disabled_torch_function,
    dispatch_mode_at,
    drop_compiled,
    fake_mode,
    jit_trace,
)
from ..sizes import SizeNode

_PLAIN: set[Any] = {torch.Tensor, torch.nn.Parameter, torch.nn.Buffer}
_DEFAULTS = (torch.Tensor.__torch_function__.__func__, disabled_torch_function)


class InitialSettings:
    """Settings of torch when a recording begins, to which later ones are compared."""

    def __init__(self) -> None:
        self.dtype = torch.get_default_dtype()
        # The recording pushes one dispatch mode itself.
        self.modes = count_dispatch_modes() + 1

    def check(self, where: Any) -> None:
        """Raise ``TracingError`` for a changed default dtype, a new dispatch mode, or inside ``jit.trace``.

        ``where()`` returns the place in the user's code, for the message.
        """
        if torch.get_default_dtype() is not self.dtype:
            raise TracingError(
                f"{where()}: the default dtype was changed inside of the function, which cannot be recorded; "
                "pass dtype= to the calls that make tensors, or change it outside"
            )
        if count_dispatch_modes() > self.modes:
            mode = type(dispatch_mode_at(count_dispatch_modes() - 1)).__name__
            raise TracingError(
                f"{where()}: the mode {mode} changes what kernels do, which cannot be recorded; use it "
                "outside of the function"
            )

        if jit_trace() is not None:
            raise TracingError(
                f"{where()}: torch.jit.trace records the function that it is given, and cannot do so inside "
                "of a recording; call that function itself, or trace it outside"
            )

    def restore_dtype(self) -> None:
        if torch.get_default_dtype() is not self.dtype:
            torch.set_default_dtype(self.dtype)


def check_outside(request: Request) -> None:
    around = {
        "a transform (torch.vmap, torch.func.grad)": current_transform(),
        "FakeTensorMode": fake_mode(),
        "torch.jit.trace": jit_trace(),
    }
    for where, state in around.items():
        if state is None:
            continue
        raise TracingError(
            f"{request.name} would have to be recorded ({request.why}) inside of {where}, where tensors "
            "cannot be looked at; call it outside once before, or pass args= to compile"
        )


def check_classes(types: Any, where: Any) -> None:
    # Every call comes here, so each class is checked only once.
    for cls in types:
        if cls not in _PLAIN:
            _check_class(cls, where)


def has_own_classes() -> bool:
    waiting: list[Any] = torch.Tensor.__subclasses__()
    while waiting:
        cls = waiting.pop()
        if cls.__module__.partition(".")[0] != "torch" and not _has_rules(cls):
            return True
        waiting += cls.__subclasses__()
    return False


def _has_rules(cls: Any) -> bool:
    own_function = getattr(cls.__torch_function__, "__func__", cls.__torch_function__) not in _DEFAULTS
    return own_function or getattr(cls, "__torch_dispatch__", None) not in (None, disabled_torch_dispatch)


def _check_class(cls: Any, where: Any) -> None:
    if issubclass(cls, torch.nn.parameter.UninitializedTensorMixin):
        raise TracingError(
            f"{where()}: a lazy module gets its parameters at its first call, which cannot be recorded; call "
            "it once before"
        )
    if _has_rules(cls):
        raise TracingError(
            f"{where()}: {cls.__name__} is a class of tensors with rules of its own, which cannot be "
            "recorded; convert it to a plain tensor before"
        )
    _PLAIN.add(cls)


def refuse_operator(function: Any, where: Any) -> NoReturn:
    raise OperatorRefused(
        f"{where()}: torch's operator {function} takes functions, which cannot be recorded yet; write it "
        "with Python's if and for, or with torch.where"
    )


class UnseenDraw(TracingError):
    """Error for a random generator whose state changed in a way that cannot be recorded."""


class OperatorRefused(TracingError):
    """Error for a higher-order operator of torch, one that takes functions, that cannot be recorded."""


@contextmanager
def tracer_errors_converted(name: str) -> Iterator[None]:
    try:
        yield
    except Exception as problem:
        theirs = type(problem).__module__.startswith("torch._dynamo")
        if theirs or isinstance(problem, OperatorRefused):
            drop_compiled()
        # torch's tracers call methods of its own size nodes that ``SizeNode`` does not have.
        if theirs or isinstance(problem, AttributeError) and isinstance(problem.obj, SizeNode):
            raise OperatorRefused(
                f"{name} uses an operator of torch that takes functions and traces them itself (linearize, "
                "or torch.cond inside of a transform), "
                "which cannot be recorded yet; write it with Python's if and for, or with torch.where"
            ) from problem
        raise


def check_layout(tensor: torch.Tensor) -> None:
    if tensor.is_nested:
        raise TracingError("nested tensors cannot be recorded; pad them, and pass a mask")
