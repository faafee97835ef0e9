"""Programs with every combination of a view and a write in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .table import ELSEWHERE, Program

_ALL = slice(None)
Function = Callable[..., Any]

VIEWS: dict[str, Function] = {
    "row": lambda x: x[0],
    "last_row": lambda x: x[-1],
    "slice": lambda x: x[:, 1:3],
    "stepped": lambda x: x[:, ::2],
    "new_axis": lambda x: x[None, :, 1],
    "ellipsis": lambda x: x[..., 1],
    "select": lambda x: x.select(1, 2),
    "transpose": lambda x: x.transpose(0, 1),
    "t": lambda x: x.t(),
    "mT": lambda x: x.mT[1:],
    "permute": lambda x: x.permute(1, 0)[1],
    "view": lambda x: x.view(-1),
    "view_sizes": lambda x: x.view(x.shape[0], 2, -1),
    "view_dtype": lambda x: x.view(torch.int32).view(torch.float32)[0],
    "reshape_view": lambda x: x.reshape(-1)[1:],
    "reshape_copy": lambda x: x.t().reshape(-1),
    "contiguous_same": lambda x: x.contiguous()[0],
    "contiguous_copy": lambda x: x.t().contiguous()[0],
    "flatten": lambda x: x.flatten()[2:],
    "ravel": lambda x: x.ravel()[:2],
    "unflatten": lambda x: x.unflatten(1, (2, 2))[:, 1],
    "unsqueeze": lambda x: x.unsqueeze(1),
    "squeeze": lambda x: x[:1].squeeze(0),
    "narrow": lambda x: x.narrow(1, 1, 2),
    "diagonal": lambda x: x.diagonal(),
    "diagonal_offset": lambda x: x.diagonal(1),
    "unfold": lambda x: x.unfold(1, 2, 2),
    "split": lambda x: x.split(2, 1)[1],
    "split_sizes": lambda x: x.split([1, 3], 1)[1],
    "chunk": lambda x: x.chunk(2, 1)[0],
    "unbind": lambda x: x.unbind(1)[1],
    "tensor_split": lambda x: x.tensor_split(2, 1)[1],
    "hsplit": lambda x: x.hsplit(2)[0],
    "as_strided": lambda x: x.as_strided((2, 2), (4, 1), 1),
    "detach": lambda x: x.detach()[0],
    "data": lambda x: x.data[0],
    "alias": lambda x: x.view_as(x)[1],
    "movedim": lambda x: x.movedim(0, 1)[0],
    "swapaxes": lambda x: x.swapaxes(0, 1)[0],
    "expand_one": lambda x: x.unsqueeze(0).expand(1, -1, -1)[0, 0],
    "real": lambda x: torch.view_as_complex(x.view(x.shape[0], 2, 2)).real,
    "as_real": lambda x: torch.view_as_real(torch.view_as_complex(x.view(x.shape[0], 2, 2)))[..., 1],
    "iteration": lambda x: list(x)[1],
    "T": lambda x: x.T,
    "broadcast_to": lambda x: torch.broadcast_to(x, (1, *x.shape))[0],
    "expand_as": lambda x: x.expand_as(x)[0],
    "select_neg": lambda x: x[-1, -1],
    "take_index_copy": lambda x: x[[0, 1]],
    "mask_copy": lambda x: x[x > 0],
    "to_same": lambda x: x.to(x.dtype)[0],
    "float_same": lambda x: x.float()[0],
    "float_copy": lambda x: x.double()[0],
    "squeeze_nothing": lambda x: x.squeeze()[0],
    "atleast": lambda x: torch.atleast_2d(x)[0],
    "dropout_eval": lambda x: torch.nn.functional.dropout(x, 0.5, False)[0],
    "positive": lambda x: (+x)[0],
    "type_as": lambda x: x.type_as(x)[0],
    "cpu": lambda x: x.cpu()[0],
    "clone": lambda x: x.clone()[0],
    "identity": lambda x: torch.nn.Identity()(x)[0],
}


def _set(view: torch.Tensor) -> None:
    view[...] = 5.0


def _iadd(view: torch.Tensor) -> None:
    view += 1


def _set_data(view: torch.Tensor) -> None:
    view.data.mul_(2)


WRITES: dict[str, Function] = {
    "add_": lambda v: v.add_(1),
    "iadd": _iadd,
    "set": _set,
    "copy_": lambda v: v.copy_(v * 2),
    "zero_": lambda v: v.zero_(),
    "fill_": lambda v: v.fill_(3),
    "masked_fill_": lambda v: v.masked_fill_(v > 1, -1.0),
    "relu_": lambda v: torch.relu_(v.sub_(2)),
    "clamp_": lambda v: v.clamp_(max=1),
    "relu_inplace": lambda v: torch.nn.functional.relu(v.neg_(), inplace=True),
    "out": lambda v: torch.mul(v, 3, out=v),
    "foreach": lambda v: torch._foreach_add_([v], 1),
    "data": _set_data,
    "self": lambda v: v.mul_(v),
    "sort": lambda v: v.copy_(v.flip(-1)) if v.ndim else v,
}


def _through(view: Function, write: Function) -> Function:
    def program(x: torch.Tensor) -> Any:
        y = x * 1.0
        before = view(y)
        write(view(y))
        return y, before + 0, y.sum()

    return program


def _later(view: Function, write: Function) -> Function:
    def program(x: torch.Tensor) -> Any:
        y = x * 1.0
        v = view(y)
        write(y)
        return v + 0, y

    return program


def _argument(view: Function, write: Function) -> Function:
    def program(x: torch.Tensor) -> Any:
        v = view(x)
        write(v)
        return v * 1, x + 1

    return program


def numbers(*shape: int) -> Callable[[], tuple[Any, ...]]:
    return lambda: (torch.linspace(-3, 4, int(torch.tensor(shape).prod())).reshape(shape),)


_SHAPES = (numbers(3, 4), numbers(3, 4), numbers(5, 4))
_COMPLEX = {ELSEWHERE: "complex numbers"}


def _errors(view: str, later: bool) -> dict[str, str]:
    return _COMPLEX if view in ("real", "as_real") and not later else {}


PROGRAMS = [
    Program(
        f"{pattern.__name__.strip('_')}_{view}_{write}",
        lambda p=pattern, v=view, w=write: p(VIEWS[v], WRITES[w]),
        _SHAPES,
        _errors(view, pattern is _later),
    )
    for view in VIEWS
    for write, pattern in (
        ("add_", _through),
        ("masked_fill_", _argument),
        ("copy_", _later),
        ("set", _argument),
    )
] + [
    Program(
        f"{pattern.__name__.strip('_')}_{view}_{write}",
        lambda p=pattern, v=view, w=write: p(VIEWS[v], WRITES[w]),
        _SHAPES,
        _errors(view, pattern is _later),
    )
    for write in WRITES
    for view, pattern in (
        ("slice", _through),
        ("transpose", _argument),
        ("diagonal", _through),
        ("view", _later),
        ("split", _argument),
    )
]
