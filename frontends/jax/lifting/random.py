"""Rows of ``jax.random``: keys are two words along the last axis, and random bits are Threefry hashes."""

from __future__ import annotations

from typing import Any

import jax

from ....ir import Value
from ....ops.collectives import COLLECTIVES
from ....sizes import product
from ...common.lifter import lift_collective
from .table import JaxBuilder, rows

_WORDS = 2


def _checked(impl: Any) -> None:
    if str(getattr(impl, "name", impl)) not in ("threefry2x32", "fry"):
        raise NotImplementedError(
            f"keys of {impl}: only those of threefry2x32 have the same numbers in other frameworks"
        )


@rows.row("random_wrap_p")
def random_wrap(b: JaxBuilder, words: Any, *, impl: Any) -> Any:
    _checked(impl)
    return words


rows.table({
    "random_unwrap_p": lambda b, keys: keys,
    "random_fold_in_p": lambda b, keys, messages: b.threefry(keys, _halves(b, b.array(messages, "uint32"))),
    "random_split_p": lambda b, keys, *, shape: _hashes(b, keys, tuple(shape)),
    "iota_2x32_shape_p": lambda b, *, shape: _counts(b, tuple(shape)),
})  # fmt: skip


@rows.row("random_seed_p")
def random_seed(b: JaxBuilder, seeds: Any, *, impl: Any) -> Any:
    _checked(impl)
    return _halves(b, b.array(seeds))


@rows.row("random_bits_p")
def random_bits(b: JaxBuilder, keys: Value, *, bit_width: int, shape: Any) -> Any:
    hashes, dtype = _hashes(b, keys, tuple(shape)), f"uint{bit_width}"
    upper, lower = (_word(b, hashes, place) for place in range(_WORDS))
    # JAX makes fewer than 64 bits by the exclusive or of both words.
    if bit_width < 64:
        return b.astype(b.bitwise_xor(upper, lower), dtype=dtype)
    upper, lower = b.astype(upper, dtype=dtype), b.astype(lower, dtype=dtype)
    return b.bitwise_or(b.bitwise_left_shift(upper, b.array(32, dtype)), lower)


@rows.row("threefry2x32_p")
def threefry2x32(b: JaxBuilder, first: Any, second: Any, upper: Any, lower: Any) -> Any:
    words = [b.array(item, "uint32") for item in (first, second, upper, lower)]
    hashes = b.threefry(b.stack(*words[:2], axis=words[0].ndim), b.stack(*words[2:], axis=words[2].ndim))
    return tuple(_word(b, hashes, place) for place in range(_WORDS))


def _counts(b: JaxBuilder, shape: tuple[Any, ...]) -> tuple[Value, Value]:
    lower = b.reshape(b.arange(start=0, stop=product(shape), step=1, dtype="uint32"), shape=shape)
    # The counter has 64 bits. Its upper half is 0 for fewer than 2**32 elements.
    return b.zeros(shape=shape, dtype="uint32"), lower


def _hashes(b: JaxBuilder, keys: Value, shape: tuple[Any, ...]) -> Value:
    if not jax.config.jax_threefry_partitionable:
        raise NotImplementedError("random numbers where jax_threefry_partitionable is off")
    counts = b.stack(*_counts(b, shape), axis=len(shape))
    return b.threefry(b.reshape(keys, shape=(*keys.shape[:-1], *(1,) * len(shape), _WORDS)), counts)


def _halves(b: JaxBuilder, number: Value) -> Value:
    lower = b.astype(number, dtype="uint32")
    # The upper half of a 32-bit integer is 0, even if the integer is negative.
    upper = b.zeros(shape=number.shape, dtype="uint32")
    if "64" in number.dtype:
        wide = b.array(32, number.dtype)
        upper = b.astype(b.bitwise_right_shift(number, wide), dtype="uint32")
    return b.stack(upper, lower, axis=number.ndim)


def _word(b: JaxBuilder, hashes: Value, place: int) -> Value:
    return b.getitem(hashes, key=(*((None, None, 1),) * (hashes.ndim - 1), place))


def _row(name: str) -> None:
    @rows.row(f"device_{name}_p")
    def row(b: JaxBuilder, *operands: Any, axis_name: str, size: Any = None) -> Any:
        return lift_collective(b, name, *map(b.as_result, operands), axis_name=axis_name)


for _name in COLLECTIVES:
    _row(_name)


rows.table({"device_sharding_hint_p": lambda b, x, *, layout: b.sharding_hint(b.as_result(x), layout=layout)})


rows.table(
    {
        "refuse_gradient_p": lambda b, value, *sources, message: b.refuse_gradient(
            b.as_result(value), *sources, message=message
        )
    }
)
