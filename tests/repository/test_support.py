"""Tests of the test helpers: every comparison fails on a result that is wrong in the way it should detect."""

from __future__ import annotations

import collections
import copy
import dataclasses
import os
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tests.corpora.models import small, zoo  # noqa: E402
from tests.corpora.models.weights import isolated  # noqa: E402
from tests.support.compare import assert_no_further, assert_same, leaves  # noqa: E402
from tests.support.compiled import drop_old, keep_programs  # noqa: E402
from tests.support.tolerance import TOLERANCE, tolerance  # noqa: E402


class Pair(NamedTuple):
    first: Any
    second: Any


class Other(NamedTuple):
    """A named tuple with the fields of :class:`Pair`."""

    first: Any
    second: Any


@dataclasses.dataclass
class Result:
    values: Any
    label: str


class Cache:
    def __init__(self, keys: Any) -> None:
        self.keys = keys


VALUES = np.linspace(0.5, 2.0, 24, dtype=np.float32).reshape(2, 3, 4)


def a_tree() -> dict[str, Any]:
    """Return a result that contains each kind of container and leaf."""
    tensor = torch.from_numpy(VALUES.copy())
    return {
        "pair": Pair(tensor, [tensor + 1, None]),
        "result": Result(tensor.sum(), "label"),
        "cache": Cache(tensor * 2),
        "ids": torch.arange(4),
        "flag": True,
    }


def _edited(path: str, value: Any) -> dict[str, Any]:
    """Return the tree with the part at ``path``, ``key`` or ``key.attribute``, replaced."""
    tree = a_tree()
    first, _, rest = path.partition(".")
    if rest:
        setattr(tree[first], rest, value)
    else:
        tree[first] = value
    return tree


def test_equal_trees_pass() -> None:
    assert_same(a_tree(), a_tree())
    assert len(leaves(a_tree())) == 8


T = torch.from_numpy(VALUES.copy())
WRONG = {
    "off by 0.1 %": _edited("pair", Pair(T * 1.001, [T + 1, None])),
    "one element off by 0.1 %": _edited(
        "pair", Pair(T, [torch.cat([(T + 1)[:1] * 1.001, (T + 1)[1:]]), None])
    ),
    "dtype": _edited("pair", Pair(T.double(), [T + 1, None])),
    "narrower dtype outside jax": _edited("ids", torch.arange(4, dtype=torch.int32)),
    "integer off by one": _edited("ids", torch.arange(4) + 1),
    "shape": _edited("pair", Pair(T.reshape(3, 2, 4), [T + 1, None])),
    "broadcastable shape": _edited("result.values", T.sum().reshape(1)),
    "nan": _edited("result.values", T.sum() * float("nan")),
    "named tuple of another class": _edited("pair", Other(T, [T + 1, None])),
    "plain tuple": _edited("pair", (T, [T + 1, None])),
    "list as tuple": _edited("pair", Pair(T, (T + 1, None))),
    "dict of another class": collections.OrderedDict(a_tree()),
    "missing leaf": _edited("pair", Pair(T, [T + 1])),
    "missing key": {key: value for key, value in a_tree().items() if key != "ids"},
    "surplus key": {**a_tree(), "more": T},
    "other order": dict(reversed(a_tree().items())),
    "None for an array": _edited("ids", None),
    "number for an array": _edited("result.values", float(T.sum())),
    "array for None": _edited("pair", Pair(T, [T + 1, T])),
    "string": _edited("result.label", "other"),
    "inside a plain object": _edited("cache.keys", T * 2.002),
    "bool as int": _edited("flag", 1),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_result_is_caught(name: str) -> None:
    with pytest.raises(AssertionError):
        assert_same(WRONG[name], a_tree())
    with pytest.raises(AssertionError):
        assert_same(a_tree(), WRONG[name])


def test_rounding_is_no_fault() -> None:
    """The result of a sum in another order must pass."""
    assert_same(_edited("pair", Pair(T * (1 + 1e-6), [T + 1, None])), a_tree())


def test_tolerances_would_catch_a_tenth_of_a_percent() -> None:
    """The relative tolerance of every dtype that can represent it is below 0.1 %; integers are compared
    exactly.
    """
    assert all(
        relative < 1e-3 for name, (relative, _) in TOLERANCE.items() if name not in ("float16", "bfloat16")
    )
    assert tolerance("int64") == tolerance("bool") == (0.0, 0.0)


def test_jax_results_may_be_narrower() -> None:
    """Without x64, JAX returns int32 for int64 and float32 for float64; every other difference of dtypes must
    fail.
    """
    jnp = pytest.importorskip("jax.numpy")
    assert_same([jnp.arange(4), jnp.ones(3)], [torch.arange(4), torch.ones(3, dtype=torch.float64)])
    with pytest.raises(AssertionError, match="dtype"):
        assert_same([jnp.arange(4.0)], [torch.arange(4)])
    with pytest.raises(AssertionError, match="dtype"):
        assert_same([jnp.arange(4).astype(jnp.int16)], [torch.arange(4)])


def test_bfloat16_is_compared() -> None:
    jnp = pytest.importorskip("jax.numpy")
    expected = torch.linspace(1, 2, 8).bfloat16()
    assert_same(jnp.linspace(1, 2, 8).astype(jnp.bfloat16), expected)
    with pytest.raises(AssertionError):
        assert_same(jnp.linspace(1, 2.2, 8).astype(jnp.bfloat16), expected)


def test_no_further_than_the_source() -> None:
    exact = torch.linspace(1, 2, 64, dtype=torch.float64)
    source, alike, worse = ((exact * (1 + error)).float() for error in (1e-6, -1e-6, 1e-5))
    assert_no_further(alike, source, exact)
    assert_same(worse, source)
    with pytest.raises(AssertionError, match="from float64"):
        assert_no_further(worse, source, exact)
    with pytest.raises(AssertionError):
        assert_no_further(source * float("nan"), source, exact)


# ---------------------------------------------------------------------------------------------- the models
def test_small_models_are_the_same_for_a_seed() -> None:
    torch.manual_seed(1)
    first = small.BY_NAME["lstm"].load()
    torch.manual_seed(2)
    second = small.BY_NAME["lstm"].load()
    assert_same(dict(first.model.state_dict()), dict(second.model.state_dict()))
    assert_same(first.inputs, second.inputs)


def test_isolated_restores_the_random_state() -> None:
    torch.manual_seed(3)
    expected = copy.copy(torch.get_rng_state())
    with isolated(7):
        torch.randn(3)
    assert torch.equal(torch.get_rng_state(), expected)


ZOO = {entry["id"]: entry for entry in zoo.entries()}


def test_zoo_is_whole() -> None:
    assert len(ZOO) == len(zoo.entries()) == 645


@pytest.mark.parametrize("name", ["bert-BertModel", "timm-vit_tiny_r_s16_p8_224", "torchvision-resnet18"])
def test_zoo_gives_the_recorded_outputs(name: str) -> None:
    """Model, weights and inputs must be those from which the digest of the entry was computed."""
    pytest.importorskip(ZOO[name].get("source", "transformers"))
    model, inputs, _ = zoo.load(ZOO[name])
    found = zoo.digest(zoo.run(model, ZOO[name], inputs))
    for (path, shape, *numbers), (wanted_path, wanted_shape, *wanted) in zip(
        found, ZOO[name]["digest"], strict=True
    ):
        assert (path, shape) == (wanted_path, wanted_shape)
        assert numbers == pytest.approx(wanted, rel=1e-3, abs=1e-5)


def test_programs_of_jax_are_kept(tmp_path: Path) -> None:
    jax = pytest.importorskip("jax")
    before = jax.config.jax_compilation_cache_dir
    keep_programs(tmp_path)
    try:
        jax.jit(lambda x: x * 1.6180339)(VALUES)
        kept = [path.name for path in tmp_path.iterdir()]
        assert kept and all(name.endswith("-cache") for name in kept)
    finally:
        keep_programs(*([Path(before)] if before else []))


def test_old_programs_of_jax_are_dropped(tmp_path: Path) -> None:
    for name in ("old-cache", "new-cache"):
        (tmp_path / name).write_bytes(b"program")
    os.utime(tmp_path / "old-cache", times=(0, time.time() - 40 * 86400))
    drop_old(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["new-cache"]
