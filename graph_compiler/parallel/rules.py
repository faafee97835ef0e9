"""Sharding rules: patterns of parameter names, with the mesh axes that the arrays are split over."""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Union

from ..contracts.parallelism import Layout
from ..errors import InvalidOption, nearest

Rule = Union[Layout, Callable[[Sequence[int], Mapping[str, int], Layout], Layout]]
"""A layout, or a function of the shape, the sizes of the mesh's axes, and the layout so far."""
Rules = Mapping[str, Rule]

# How a linear map is split: by its outputs, or by its inputs, after which the devices' results are added up.
# Weights of Llama and similar models are [outputs, inputs].
_BY_OUTPUTS = (
    "q_proj",
    "k_proj",
    "v_proj",
    "gate_proj",
    "up_proj",
    "lm_head",
)
_BY_INPUTS = ("o_proj", "down_proj")
# Embeddings are [words, features]. They are split by features, because torch cannot use rows that are split
# over words twice.
_EMBEDDINGS = (
    "embed_tokens",
    "wte",
)
# Weights of GPT-2 are [inputs, outputs].
_CONV1D_BY_OUTPUTS = ("c_attn", "c_fc")
_CONV1D_BY_INPUTS = ("c_proj",)


class PresetRules(dict[str, Rule]):
    """Predefined rules, which adapt to the model and the mesh.

    An array axis whose size is not a multiple of the number of devices it would be split over is replicated.
    Entries for axes that the array lacks are left out.
    """


def tensor_parallel(axis: str = "model") -> PresetRules:
    """Return rules for tensor parallelism of decoder-only transformers (https://arxiv.org/abs/1909.08053).

    They match weights named as in Llama, Mistral, Qwen, Gemma and GPT-2, in torch or as ``kernel``.
    Projections into heads and hidden units are split by their outputs, also their biases; projections back by
    their inputs, token embeddings by their features, and the head by the vocabulary. An axis that
    the devices do not divide is replicated.

    >>> from graph_compiler import parallel
    >>> parallel.rules.tensor_parallel("model")["*q_proj.weight"]
    ('model', None)
    """
    outputs, inputs = (axis, None), (None, axis)
    rules = PresetRules()
    # Weights of torch are [outputs, inputs], kernels of flax [inputs, outputs].
    for names, weight, kernel in (
        (_BY_OUTPUTS, outputs, inputs),
        (_BY_INPUTS, inputs, outputs),
        (_EMBEDDINGS, inputs, inputs),
        (_CONV1D_BY_OUTPUTS, inputs, inputs),
        (_CONV1D_BY_INPUTS, outputs, outputs),
    ):
        for name in names:
            rules |= {f"*{name}.weight": weight, f"*{name}.kernel": kernel}
    rules |= {f"*{name}.bias": (axis,) for name in (*_BY_OUTPUTS, *_CONV1D_BY_OUTPUTS)}
    return rules


def fsdp(axis: str = "data") -> PresetRules:
    """Return rules for fully sharded data parallelism, as in ZeRO (https://arxiv.org/abs/1910.02054).

    A parameter is split along the longest of its nonempty axes that earlier rules do not split and whose size
    is a multiple of that of the mesh axis. Without such an axis, or if earlier rules split it over the mesh
    axis already, it keeps their layout. The batch is to be split over the same mesh axis.
    """

    def longest(shape: Sequence[int], sizes: Mapping[str, int], layout: Layout) -> Layout:
        if axis in names_in(layout, "an earlier rule has"):
            return layout
        taken = (*layout, *(None for _ in shape[len(layout) :]))
        free = [
            place for place, size in enumerate(shape) if not taken[place] and size and size % sizes[axis] == 0
        ]
        best = max(free, key=lambda place: shape[place], default=None)
        return tuple(axis if place == best else name for place, name in enumerate(taken))

    # Lets the name be checked against the mesh before the rule runs.
    longest.axis = axis  # type: ignore[attr-defined]
    return PresetRules({"*": longest})


def layouts_of(
    shapes: Mapping[str, Sequence[int]], rules: Any, sizes: Mapping[str, int]
) -> dict[str, Layout]:
    """Return the layout of each parameter by ``rules``, one set of rules or several in order."""
    found: dict[str, Layout] = dict.fromkeys(shapes, ())
    for one in (rules,) if isinstance(rules, Mapping) else tuple(rules):
        _require_rules(one, shapes, sizes)
        for name, shape in shapes.items():
            rule = next((one[pattern] for pattern in one if fnmatch.fnmatchcase(name, pattern)), None)
            if rule is not None:
                if callable(rule) and isinstance(one, PresetRules):
                    # What is made of a layout that does not fit would hide that from the check below.
                    require_fit(f"parameter {name!r}", shape, found[name], sizes)
                layout = rule(shape, sizes, found[name]) if callable(rule) else tuple(rule)
                if not isinstance(layout, tuple):
                    raise InvalidOption(
                        f"the rule for parameter {name!r} gives {layout!r}, and has to give a tuple: for "
                        "each axis the name of a mesh axis, several of them, or None"
                    )
                # Predefined rules adapt to the mesh. The user's own rules raise an error if they do not fit.
                found[name] = (
                    _without_uneven_axes(shape, layout, sizes) if isinstance(one, PresetRules) else layout
                )
    for name, layout in found.items():
        require_fit(f"parameter {name!r}", shapes[name], layout, sizes)
    return found


def _without_uneven_axes(shape: Sequence[int], layout: Layout, sizes: Mapping[str, int]) -> Layout:
    # Axes such as vocabularies have sizes that a mesh need not divide.
    return tuple(
        entry if size % _device_count(entry, sizes) == 0 else None for entry, size in zip(layout, shape)
    )


def _device_count(entry: Any, sizes: Mapping[str, int]) -> int:
    return math.prod(sizes[name] for name in ((entry,) if isinstance(entry, str) else entry or ()))


def _require_rules(rules: Rules, names: Mapping[str, Any], sizes: Mapping[str, int]) -> None:
    unused = [pattern for pattern in rules if not fnmatch.filter(names, pattern)]
    if unused and (not isinstance(rules, PresetRules) or len(unused) == len(rules)):
        known = [*names][:8]
        more = f" and {len(names) - 8} more" if len(names) > 8 else ""
        raise InvalidOption(
            f"rules= has {', '.join(map(repr, unused[:4]))}, which matches no "
            f"parameter{nearest(unused[0], names)}; parameters are {', '.join(known)}{more}"
        )
    for pattern, rule in rules.items():
        axes = (
            [rule.axis]
            if hasattr(rule, "axis")
            else []
            if callable(rule)
            else list(names_in(rule, f"rules= has for {pattern!r}"))
        )
        for axis in axes:
            if axis not in sizes:
                raise InvalidOption(
                    f"rules= has for {pattern!r} the axis {axis!r}; axes of the mesh are "
                    f"{', '.join(map(repr, sizes))}"
                )


def names_in(layout: Any, where: str) -> Iterator[str]:
    """Yield the names of mesh axes in ``layout``; raise ``InvalidOption`` if it is not a layout."""
    for entry in layout if isinstance(layout, (tuple, list)) else (3,):
        names = (entry,) if isinstance(entry, str) else () if entry is None else entry
        if not isinstance(names, (tuple, list)) or not all(isinstance(name, str) for name in names):
            raise InvalidOption(
                f"{where} {layout!r}; a layout is a tuple with the name of an axis of the mesh, or None, for "
                "each axis"
            )
        yield from names


def require_fit(what: str, shape: Sequence[int], layout: Layout, sizes: Mapping[str, int]) -> None:
    """Raise ``InvalidOption`` if an array of this shape cannot be split by ``layout``."""
    if len(layout) > len(shape):
        raise InvalidOption(
            f"{what} has the shape {list(shape)}, and its layout {layout!r} more axes; leave some out"
        )
    names = list(names_in(layout, f"{what} has the layout"))
    for name in names:
        if name not in sizes or names.count(name) > 1:
            why = "twice" if name in sizes else f"; axes of the mesh are {', '.join(map(repr, sizes))}"
            raise InvalidOption(f"{what} has the layout {layout!r}, which names {name!r} {why}")
    for place, entry in enumerate(layout):
        count = _device_count(entry, sizes)
        if shape[place] % count:
            raise InvalidOption(
                f"{what} has the shape {list(shape)}, and axis {place}, of {shape[place]}, does not divide "
                f"into the {count} devices of {entry!r}; leave that axis whole (None), or take a mesh that "
                "divides it"
            )
