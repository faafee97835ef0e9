"""Tests of ``checkpoint``: what each policy stores, recomputes and saves."""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax")
pytest.importorskip("tensorflow")

import jax
import jax.numpy as jnp
import tensorflow as tf
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import graph_compiler
from graph_compiler import transforms
from graph_compiler.errors import GradientRefused, InvalidOption

POLICIES: list[Any] = ["nothing", "dots", "everything", "min_cut", ("product",)]
LAYERS = 24
weights = np.random.default_rng(0).standard_normal((LAYERS, 32, 32)).astype("float32") / 6
inputs = np.random.default_rng(1).standard_normal((128, 32)).astype("float32")


def layer_of(framework: Any) -> Callable[[Any, Any], Any]:
    def layer(x: Any, weight: Any) -> Any:
        product = transforms.name(x @ weight, "product")
        return x + framework.tanh(product) * framework.sigmoid(product) * framework.tanh(
            framework.tanh(product)
        )

    return layer


class Jax:
    tanh, sigmoid = staticmethod(jnp.tanh), staticmethod(jax.nn.sigmoid)


class TensorFlow:
    tanh, sigmoid = staticmethod(tf.tanh), staticmethod(tf.sigmoid)


def network(framework: Any, policy: Any, layers: int = LAYERS) -> Callable[[Any, Any], Any]:
    layer = layer_of(framework)
    step = layer if policy is None else transforms.checkpoint(layer, policy)

    def loss(x: Any, weights: Any) -> Any:
        for place in range(layers):
            x = step(x, weights[place])
        return (x**2).sum() if framework is not TensorFlow else tf.reduce_sum(x**2)

    return loss


class Watched(TorchDispatchMode):
    """Mode that records the peak memory in bytes and the number of calls of each operation."""

    def __init__(self) -> None:
        super().__init__()
        self.now = self.most = 0
        self.calls: Counter[str] = Counter()
        self._storages: dict[int, int] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.calls[func.overloadpacket.__name__] += 1
        result = func(*args, **(kwargs or {}))
        for item in result if isinstance(result, (tuple, list)) else (result,):
            if (
                isinstance(item, torch.Tensor)
                and (storage := item.untyped_storage())._cdata not in self._storages
            ):
                self._storages[storage._cdata] = storage.nbytes()
                self.now += storage.nbytes()
                self.most = max(self.most, self.now)
                weakref.finalize(storage, self._gone, storage._cdata)
        return result

    def _gone(self, storage: int) -> None:
        self.now -= self._storages.pop(storage)


def watched(policy: Any, layers: int = LAYERS) -> Watched:
    leaves = [
        torch.tensor(inputs, requires_grad=True),
        *(torch.tensor(weight, requires_grad=True) for weight in weights),
    ]
    with Watched() as watched:
        network(torch, policy, layers)(leaves[0], leaves[1:]).backward()
    return watched


def bytes_in_jax(policy: Any) -> int:
    gradient = jax.jit(transforms.grad(network(Jax, policy), argnums=(0, 1)))
    return int(gradient.lower(inputs, list(weights)).compile().memory_analysis().temp_size_in_bytes)


@pytest.mark.parametrize("policy", POLICIES, ids=str)
@pytest.mark.parametrize("framework", ["torch", "jax", "tensorflow"])
def test_policies_change_no_number(framework: str, policy: Any) -> None:
    words, array = {
        "torch": (torch, torch.tensor),
        "jax": (Jax, jnp.asarray),
        "tensorflow": (TensorFlow, tf.constant),
    }[framework]
    arrays = array(inputs), array(weights)
    expected = transforms.grad(network(words, None, 2), argnums=(0, 1))(*arrays)
    found = transforms.grad(network(words, policy, 2), argnums=(0, 1))(*arrays)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=2e-4, atol=1e-4)


def test_memory_of_24_layers() -> None:
    assert watched("nothing").most <= 0.45 * watched(None).most
    assert bytes_in_jax("nothing") <= 0.45 * bytes_in_jax(None)
    assert bytes_in_jax("min_cut") <= 0.6 * bytes_in_jax(None)


def products_in_jax(policy: Any) -> int:
    traced = jax.make_jaxpr(transforms.grad(network(Jax, policy, 3), argnums=(0, 1)))(inputs, list(weights))
    return str(traced).count("dot_general[")


def test_products_are_computed_again_where_nothing_is_kept() -> None:
    assert {policy: products_in_jax(policy) for policy in POLICIES} == {
        "nothing": 12, "dots": 9, "everything": 9, "min_cut": 9, ("product",): 9,
    }  # fmt: skip
    assert {policy: watched(policy, 3).calls["mm"] for policy in ("nothing", "dots", "everything")} == {
        "nothing": 12, "dots": 9, "everything": 9,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "function", "shapes", "count"),
    [
        ("mv", lambda x, y: x @ y, [(3, 3), (3,)], 2),
        ("dot", lambda x, y: x @ y, [(3,), (3,)], 1),
        ("addmv", lambda x, y: torch.addmv(y, x, y), [(3, 3), (3,)], 1),
    ],
)
def test_products_of_vectors_are_kept(
    name: str, function: Callable[[Any, Any], Any], shapes: list[tuple[int, ...]], count: int
) -> None:
    kept = transforms.checkpoint(lambda x, y: torch.sin(function(x, y)), policy="dots")
    leaves = [torch.ones(shape, requires_grad=True) for shape in shapes]
    with Watched() as watch:
        kept(*leaves).sum().backward()
    assert watch.calls[name] == count


def kept_in_torch(policy: Any) -> int:
    """Return the bytes that one layer saves for its backward pass."""
    kept: dict[int, int] = {}
    leaves = [torch.tensor(inputs, requires_grad=True), torch.tensor(weights[:1], requires_grad=True)]

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        kept[tensor.untyped_storage()._cdata] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        network(torch, policy, 1)(*leaves)
    return sum(kept.values())


def test_the_minimum_cut_of_torch_keeps_less() -> None:
    assert kept_in_torch("min_cut") < kept_in_torch(None) - 1.9 * inputs.nbytes


def kept_in_jax(policy: Any) -> int:
    """Return the bytes, without the arguments, that the backward pass of one layer needs."""
    layer = layer_of(Jax)
    step = layer if policy is None else transforms.checkpoint(layer, policy)
    _, pull = jax.vjp(step, inputs, weights[0])
    return (
        sum(array.nbytes for array in jax.tree.leaves(pull) if isinstance(array, jax.Array))
        - inputs.nbytes
        - weights[0].nbytes
    )


def test_the_minimum_cut_keeps_the_product_alone() -> None:
    assert kept_in_jax("min_cut") <= inputs.nbytes < 3 * inputs.nbytes <= kept_in_jax(None)


def test_a_minimum_cut_through_called_functions() -> None:
    def function(x: Any, weight: Any) -> Any:
        return jax.nn.softmax(jax.nn.relu(jax.jit(lambda y: y @ weight)(x))).sum() + jnp.linalg.norm(x)

    expected = jax.grad(function, argnums=(0, 1))(inputs, weights[0])
    for found, own in zip(
        transforms.grad(transforms.checkpoint(function, "min_cut"), argnums=(0, 1))(inputs, weights[0]),
        expected,
        strict=True,
    ):
        np.testing.assert_allclose(found, own, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "x", [torch.tensor(2.0), jnp.asarray(2.0), tf.constant(2.0)], ids=["torch", "jax", "tensorflow"]
)
def test_gradients_of_what_a_function_closes_over(x: Any) -> None:
    assert float(transforms.grad(lambda x: transforms.checkpoint(lambda y: x * y)(x))(x)) == 4.0


def test_errors() -> None:
    with pytest.raises(InvalidOption, match="'min_cut', or a collection of names"):
        transforms.checkpoint(torch.sin, "names")
    weight = torch.ones(3, requires_grad=True)
    with pytest.raises(GradientRefused, match="closes over tensors that require gradients"):
        transforms.checkpoint(lambda x: x * weight, "min_cut")(torch.ones(3, requires_grad=True))


@pytest.mark.parametrize("convert", [jax.lax.complex, jnp.less], ids=["complex", "bool"])
def test_first_results_of_any_dtype_are_computed_again_in_tensorflow(convert: Callable[..., Any]) -> None:
    def loss(x: Any) -> Any:
        first, second = jax.checkpoint(lambda x: (convert(x, 2 * x), jnp.sin(x)))(x)
        return jnp.abs(first * second).sum()

    graph = graph_compiler.transpile(loss, to="tensorflow", args=(jnp.ones(3),))

    @tf.function
    def slope(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            result = graph(x)
        return tape.gradient(result, x)

    x = np.array([0.5, 1.0, -2.0], np.float32)
    np.testing.assert_allclose(slope(tf.constant(x)), jax.grad(loss)(x), rtol=1e-6)
