"""Tests of modules that a torch function reaches through functions, containers and objects: their weights are
parameters, named by the path to them.
"""

import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("jax")

import graph_compiler  # noqa: E402
from graph_compiler import training, transforms  # noqa: E402


class _Agent:
    def __init__(self, net: Any, head: Any) -> None:
        self.policy, self.head, self.unused = net, head, torch.nn.Linear(3, 3)

    def act(self, x: Any) -> Any:
        return self.head(self._hidden(x))

    def _hidden(self, x: Any) -> Any:
        return self.policy(x)


def _through_functions(net: Any, head: Any) -> Any:
    def inner(x: Any) -> Any:
        return net(x)

    def middle(x: Any) -> Any:
        return inner(x) * 1.0

    return lambda x: head(middle(x))


def _in_a_list(net: Any, head: Any) -> Any:
    layers = [net, head]
    return lambda x: functools.reduce(lambda value, layer: layer(value), layers, x)


def _in_a_dict(net: Any, head: Any) -> Any:
    nets = {"first": net, "second": head}
    return lambda x: nets["second"](nets["first"](x))


def _in_an_object(net: Any, head: Any) -> Any:
    agent = _Agent(net, head)
    return lambda x: agent.act(x) * 1.0


def _by_a_method(net: Any, head: Any) -> Any:
    return types.SimpleNamespace(agent=_Agent(net, head)).agent.act


def _by_a_partial(net: Any, head: Any) -> Any:
    return functools.partial(lambda agent, x: agent.act(x), _Agent(net, head))


def _of_one_name(net: Any, head: Any) -> Any:
    def inner(x: Any) -> Any:
        return net(x)

    def outer(net: Any) -> Any:
        return lambda x: net(inner(x))

    return outer(head)


_WAYS: dict[str, tuple[Callable[[Any, Any], Any], set[str]]] = {
    "functions": (_through_functions, {"net", "head"}),
    "list": (_in_a_list, {"0", "1"}),
    "dict": (_in_a_dict, {"first", "second"}),
    "object": (_in_an_object, {"policy", "head"}),
    "method": (_by_a_method, {"policy", "head"}),
    "partial": (_by_a_partial, {"policy", "head"}),
    "one name": (_of_one_name, {"net", "net_1"}),
}


@pytest.mark.parametrize("way", _WAYS)
def test_weights_that_are_reached_are_parameters(way: str) -> None:
    make, expected = _WAYS[way]
    net, head = torch.nn.Linear(3, 2), torch.nn.Linear(2, 1)
    function, x = make(net, head), torch.randn(5, 3)
    graph = graph_compiler.transpile(function, source="torch", to="jax", args=(x[:2],))
    assert set(graph.parameters) == {f"{name}.{part}" for name in expected for part in ("weight", "bias")}
    gradients = transforms.grad(lambda parameters, x: graph.functional(parameters, x).sum())(
        graph.parameters, x
    )
    function(x).sum().backward()
    wanted = {tuple(item.shape): item.grad for item in (*net.parameters(), *head.parameters())}
    for name, gradient in gradients.items():
        assert np.allclose(gradient, wanted[gradient.shape], atol=1e-6), name


def test_a_function_of_reached_modules_is_trained_and_given_back() -> None:
    net, head = torch.nn.Linear(3, 2), torch.nn.Linear(2, 1)
    # The expected step by hand: the sum over two rows of ones.
    stepped = net.weight.detach() - 0.1 * 2 * head.weight.detach().T
    rule = training.optimizer("sgd", learning_rate=0.1)
    state = training.TrainState.create(
        _in_an_object(net, head), rule, loss=lambda y, target: y.sum(), to="torch", args=(torch.ones(2, 3),)
    )
    state, _ = training.single_train_step(state, (torch.ones(2, 3), None))
    state.to_source()
    assert torch.allclose(net.weight, stepped, atol=1e-6)


def test_models_that_take_each_other_s_place_each_have_their_weights(tmp_path: Any) -> None:
    nets = {"net": torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Tanh())}
    nets["net"][0].bias.requires_grad_(False)
    x, function = torch.randn(4, 3), lambda x: nets["net"](x) * 1.0
    graph = graph_compiler.transpile(function, source="torch", to="jax", args=(x,))
    nets["net"] = torch.nn.Linear(3, 2)
    assert np.allclose(graph(x), function(x).detach(), atol=1e-6)
    assert graph.trained == {"net.0.weight", "net.weight", "net.bias"} and graph.frozen == {"net.0.bias"}
    graph.save(tmp_path / "graph.zip")
    assert np.allclose(graph_compiler.load(tmp_path / "graph.zip")(x), function(x).detach(), atol=1e-6)
