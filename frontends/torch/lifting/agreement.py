"""Which sizes of the arrays of one call must be equal, where what the call becomes elsewhere would broadcast: torch refuses, others
compute.

A row: bare name -> alternatives, each ``argument=axes`` by a letter an axis. Axes of one letter have one size. ``*`` stands for any number
of axes, the same for every argument; ``~`` for axes that nothing is said of. The first alternative whose ranks fit counts. Arguments that
are absent, or None, are left out.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

from ....ir.node import Value
from ....sizes import apply, hint_of
from .table import TorchBuilder

_OF_CLASSES = ("input=c target= weight=c", "input=nc* target=n* weight=c", "input=nc* target=nc* weight=c")
_BY_CHANNEL = ("input=nc* running_mean=c running_var=c weight=c bias=c",)
_ELEMENT_BY_ELEMENT = ("input=* target=*",)
_WEIGHT_BY_ELEMENT = ("input=* weight=*",)
AGREEMENTS: dict[str, tuple[str, ...]] = {
    "nll_loss": _OF_CLASSES,
    "nll_loss_nd": _OF_CLASSES,
    "nll_loss2d": _OF_CLASSES,
    "cross_entropy": _OF_CLASSES,
    "cross_entropy_loss": _OF_CLASSES,
    "multi_margin_loss": ("input=c target= weight=c", "input=c target=a weight=c", "input=nc target=n weight=c"),
    "multilabel_margin_loss": _ELEMENT_BY_ELEMENT,
    "binary_cross_entropy": _ELEMENT_BY_ELEMENT,
    "binary_cross_entropy_with_logits": _ELEMENT_BY_ELEMENT,
    **dict.fromkeys(("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"), _WEIGHT_BY_ELEMENT),
    "batch_norm": _BY_CHANNEL,
    "native_batch_norm": _BY_CHANNEL,
    "instance_norm": _BY_CHANNEL,
    "group_norm": ("input=nc* weight=c bias=c",),
    "bilinear": ("input1=*i input2=*j weight=oij bias=o",),
    **dict.fromkeys(("grid_sample", "grid_sampler", "grid_sampler_2d", "grid_sampler_3d"), ("input=n~ grid=n~",)),
    "searchsorted": ("sorted_sequence=a input=~", "sorted_sequence=*a input=*b"),
    "dot": ("input=n tensor=n",),
    "vdot": ("input=n other=n",),
    "ctc_loss": ("log_probs=tbc targets=bl input_lengths=b target_lengths=b", "log_probs=tbc targets=~ input_lengths=b target_lengths=b"),
    "cov": ("input=~n fweights=n aweights=n",),
    "cdist": ("x1=~m x2=~m",),
    **{f"conv{rank}d": ("weight=oi* bias=o",) for rank in (1, 2, 3)},
    "conv_tbc": ("weight=kio bias=o",),
    "embedding_bag": ("input=* per_sample_weights=*",),
    "cholesky_solve": ("input=~nk input2=~nn",),
    "linalg_lu_solve": ("LU=~nn pivots=~n",),
    "lu_solve": ("b=~nk LU_data=~nn LU_pivots=~n",),
    "rnn_tanh_cell": ("input=ni hx=nh w_ih=gi w_hh=gh b_ih=g b_hh=g",),
    "rnn_relu_cell": ("input=ni hx=nh w_ih=gi w_hh=gh b_ih=g b_hh=g",),
    "gru_cell": ("input=ni hx=nh w_ih=gi w_hh=gh b_ih=g b_hh=g",),
}


def assume_agreement(b: TorchBuilder, key: str, row: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]) -> None:
    """Guards on the sizes that torch wants to be equal. What was broadcast while recording is fixed."""
    alternatives = AGREEMENTS.get(key)
    if alternatives is None:
        return
    given = _given(row, args, kwargs)
    for alternative in alternatives:
        if (named := _named(alternative, given)) is not None:
            for sizes in named.values():
                _assume_equal(b, sizes)
            return


def _given(row: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]) -> dict[str, Value]:
    bound = dict(zip(_parameters(row), args))
    return {name: item for name, item in {**bound, **kwargs}.items() if isinstance(item, Value)}


@functools.lru_cache(maxsize=512)
def _parameters(row: Callable[..., Any]) -> tuple[str, ...]:
    return tuple(inspect.signature(row).parameters)[1:]


def _named(alternative: str, given: dict[str, Value]) -> dict[Any, list[Any]] | None:
    """letter -> the sizes it stands for; None where the ranks do not fit."""
    found: dict[Any, list[Any]] = {}
    extent: int | None = None
    for name, letters in (part.split("=") for part in alternative.split()):
        if name not in given:
            continue
        rest = given[name].ndim - len(letters.strip("*~"))
        if rest < 0 or rest and not set(letters) & {"*", "~"} or "*" in letters and extent not in (None, rest):
            return None
        extent = rest if "*" in letters else extent
        for letter, size in zip(_letters(letters, rest), given[name].shape, strict=True):
            if letter is not None:
                found.setdefault(letter, []).append(size)
    return found


def _letters(letters: str, rest: int) -> Iterator[Any]:
    for letter in letters:
        if letter == "*":
            yield from range(rest)
        elif letter == "~":
            yield from (None for _ in range(rest))
        else:
            yield letter


def _assume_equal(b: TorchBuilder, sizes: list[Any]) -> None:
    if len({hint_of(size) for size in sizes}) > 1:
        for size in sizes:
            b.fix(size)
        return
    for other in sizes[1:]:
        b.guard(apply("eq", sizes[0], other))
