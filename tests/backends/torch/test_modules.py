"""Tests of the torch module of a graph in torch's tools, which replace tensors in it, and in typical user
code.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import graph_compiler  # noqa: E402
from graph_compiler.backends.torch.module import FunctionalModule  # noqa: E402
from graph_compiler.errors import GuardFailed, NotCompilable  # noqa: E402
from tests.support.compare import assert_same  # noqa: E402


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm, self.drop = (
            torch.nn.Linear(3, 8),
            torch.nn.BatchNorm1d(8),
            torch.nn.Dropout(0.5),
        )
        self.last = torch.nn.Linear(8, 4)

    def forward(self, x: Any) -> Any:
        return self.last(self.drop(self.norm(self.first(x)).relu()))


def module_of(source: Any) -> Any:
    return graph_compiler.compile(source, args=(torch.randn(4, 3),)).as_module()


def batch(count: int) -> Any:
    return torch.randn(count, 3, generator=torch.Generator().manual_seed(count))


def weight_norm(module: Any) -> None:
    torch.nn.utils.parametrizations.weight_norm(module.first, "weight")
    with torch.no_grad():
        module.first.parametrizations.weight.original0.mul_(2)


def another_parameter(module: Any) -> None:
    module.last.weight = torch.nn.Parameter(torch.ones(4, 8))


def assigned_state(module: Any) -> None:
    module.load_state_dict(
        {name: tensor.detach() + 1 for name, tensor in module.state_dict().items()}, assign=True
    )


@pytest.mark.parametrize("change", [weight_norm, another_parameter, assigned_state])
def test_tensors_in_the_place_of_the_originals_count(change: Callable[[Any], None]) -> None:
    """``functional_call`` must use the given tensors in both modes and for gradients, and not change the
    original.
    """
    source = Net()
    module, twin = module_of(source), copy.deepcopy(source)
    module(batch(6)), twin(batch(6))
    change(module), change(twin)
    before = copy.deepcopy(source.state_dict())
    for mode in (False, True):
        module.train(mode), twin.train(mode)
        for count in (5, 7):
            torch.manual_seed(count)
            found = module(batch(count))
            torch.manual_seed(count)
            assert_same(found, twin(batch(count)))
    for each in (module, twin):
        each.zero_grad(), each.eval()(batch(5)).square().sum().backward()
    gradients = {name: weight.grad for name, weight in module.named_parameters()}
    assert_same(gradients, {name: twin.get_parameter(name).grad for name in gradients})
    kept = [name for name in before if "weight" in name or "bias" in name]
    assert_same({name: source.state_dict()[name] for name in kept}, {name: before[name] for name in kept})


@pytest.mark.parametrize("training", [False, True])
def test_functional_call_computes_with_the_tensors_that_it_is_given(training: bool) -> None:
    source = Net().train(training)
    module, twin = module_of(source), copy.deepcopy(source)
    given = {
        name: tensor * 2 if tensor.is_floating_point() else tensor.clone()
        for name, tensor in module.state_dict().items()
    }
    others = copy.deepcopy(given)
    weights = {name: tensor for name, tensor in given.items() if name in dict(module.named_parameters())}
    for each, tensors in ((module, given), (twin, others)):
        torch.manual_seed(0)
        tensors["result"] = torch.func.functional_call(
            each, {name: tensors[name] for name in given if name != "result"}, (batch(5),)
        )
    # Given statistics are written to, as torch does it.
    assert_same(given, others)
    if not training:
        results = []
        for each in (module, twin):

            def loss(weights: Any, each: Any = each) -> Any:
                return torch.func.functional_call(each, weights, (batch(6),)).square().sum()

            results.append((torch.func.grad(loss)(weights), torch.func.jvp(loss, (weights,), (weights,))))
        assert_same(*results)
    assert_same(dict(module.named_parameters()), dict(source.named_parameters()))


@pytest.mark.parametrize("training", [False, True])
def test_a_copy_is_in_the_mode_of_the_original(training: bool) -> None:
    source = Net().train(training)
    module = module_of(source)
    twin = copy.deepcopy(module)
    assert module.training == twin.training == training
    for each in (source, module, twin):
        torch.manual_seed(0)
        assert_same(each(batch(5)), (torch.manual_seed(0), source(batch(5)))[1])


def test_a_checkpoint_runs_a_graph_again_only_as_far_as_it_has_to() -> None:
    """torch stops the second run by an exception of its own, which is no error of the graph."""
    source, checkpoint = Net().eval(), torch.utils.checkpoint.checkpoint
    graph = graph_compiler.compile(source, args=(batch(4),))
    for each in (graph, graph.as_module()):
        for reentrant in (False, True):
            x, other = batch(5).requires_grad_(), batch(5).requires_grad_()
            (
                checkpoint(each, x, use_reentrant=reentrant).exp().sum().backward(),
                source(other).exp().sum().backward(),
            )
            assert_same(x.grad, other.grad)
    assert len(graph.variants) == 1 and "refused" not in graph.explain()


def test_parts_take_no_hooks_and_the_whole_takes_them() -> None:
    source = Net().eval()
    module = module_of(source)
    for register in (
        module.first.register_forward_hook,
        module.norm.register_forward_pre_hook,
        module.last.register_full_backward_hook,
    ):
        with pytest.raises(NotCompilable, match="never called"):
            register(print)
    module.register_forward_pre_hook(lambda module, inputs: (inputs[0] + 1,))
    module.register_forward_hook(lambda module, inputs, output: output * 2)
    assert_same(module(batch(5)), source(batch(5) + 1) * 2)


def test_a_module_is_exported_with_open_sizes(tmp_path: Any) -> None:
    source = Net().eval()
    graph = graph_compiler.compile(source, args=(batch(4),))
    graph.save(tmp_path / "net.zip")
    # The arguments have the names of the original's.
    sizes = ({0: torch.export.Dim("rows")},)
    for module in (graph.as_module(), graph_compiler.load(tmp_path / "net.zip").as_module().eval()):
        exported = torch.export.export(module, (batch(4),), dynamic_shapes=sizes)
        assert exported.state_dict.keys() == module.state_dict().keys()
        assert_same(exported.module()(batch(7)), source(batch(7)))


@pytest.mark.parametrize("mode", [False, True])
def test_a_module_is_exported_in_the_mode_that_was_not_recorded(mode: bool) -> None:
    source = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.ReLU()).train(
        not mode
    )
    module = graph_compiler.compile(source, args=(batch(4),)).as_module().train(mode)
    exported = torch.export.export(
        module, (batch(4),), dynamic_shapes=({0: torch.export.Dim("rows", min=2)},)
    )
    assert_same(exported.module()(batch(7)), source.train(mode)(batch(7)))


class Guarded(torch.nn.Module):
    scale = 2.0

    def __init__(self) -> None:
        super().__init__()
        self.net = Net()
        self.register_buffer("table", torch.arange(4.0), persistent=False)

    def forward(self, x: Any, mask: Any) -> Any:
        kept = x if mask.all() else x * mask[:, None]
        return {"scores": self.net(kept) * self.scale + self.table}


def masked(count: int, kept: bool = False) -> dict[str, Any]:
    return {"x": batch(count), "mask": torch.full((count,), True) if kept else torch.arange(count) > 1}


def guarded() -> tuple[Any, Any]:
    source = Guarded().eval()
    return source, graph_compiler.compile(source, kwargs=masked(4))


def test_guards_on_elements_are_part_of_exported_and_traced_programs(tmp_path: Any) -> None:
    source, graph = guarded()
    graph.save(tmp_path / "guarded.zip")
    rows = torch.export.Dim("rows")
    for module in (
        graph.as_module(),
        copy.deepcopy(graph.as_module()),
        graph_compiler.load(tmp_path / "guarded.zip").as_module().eval(),
    ):
        exported = torch.export.export(
            module, (), masked(4), dynamic_shapes={"x": {0: rows}, "mask": {0: rows}}
        ).module()
        with warnings.catch_warnings():
            # torch warns that ``torch.jit`` is deprecated and that tracing fixes shapes.
            warnings.simplefilter("ignore")
            traced = torch.jit.trace(module, example_kwarg_inputs=masked(4), strict=False)
        for program in (exported, traced):
            assert_same(program(**masked(7))["scores"], source(**masked(7))["scores"])
            with pytest.raises(
                RuntimeError, match=r"test_modules\.py:\d+ .*was False when recorded and is not for this call"
            ):
                program(**masked(7, kept=True))


@pytest.mark.parametrize(
    "take",
    [lambda graph: graph, lambda graph: graph.as_module(), lambda graph: copy.deepcopy(graph.as_module())],
)
def test_torch_compile_takes_a_graph_whole(take: Callable[[Any], Any]) -> None:
    """Guards that the compiler cannot trace must be checked when the compiled program runs."""
    source, graph = guarded()
    called = take(graph)
    switched = called if isinstance(called, torch.nn.Module) else source
    switched.train()(**masked(4)), called(**masked(4)), switched.eval()
    compiled = torch.compile(called, backend="eager", fullgraph=True)
    for mode, count in ((False, 5), (True, 6), (False, 7), (True, 5)):
        twin = copy.deepcopy(source).train(mode)
        if called is not graph:
            twin.load_state_dict(called.state_dict())
        switched.train(mode)
        torch.manual_seed(0)
        found = compiled(**masked(count))
        torch.manual_seed(0)
        assert_same(found["scores"], twin(**masked(count))["scores"])
        written = {
            name: buffer
            for name, buffer in (source if called is graph else called).named_buffers()
            if "running" in name
        }
        assert_same(written, {name: twin.get_buffer(name) for name in written})
    switched.eval()
    with pytest.raises(RuntimeError, match="was False when recorded"):
        compiled(**masked(5, kept=True))
    if called is graph:
        source.net.last.bias = torch.nn.Parameter(torch.ones(4))
        assert_same(compiled(**masked(5))["scores"], source(**masked(5))["scores"])
    with torch.no_grad():
        source.table.add_(1)
    with pytest.raises(GuardFailed, match="the captured tensor table changed since"):
        compiled(**masked(5))
    with pytest.raises(torch._dynamo.exc.Unsupported, match="no recorded variant fits this call"):
        compiled(**masked(5))
    assert_same(torch.compile(called, backend="eager")(**masked(5))["scores"], called(**masked(5))["scores"])


def test_a_module_below_itself_has_each_parameter_once() -> None:
    module = torch.nn.Linear(3, 2)
    module.add_module("self", module)
    assert list(FunctionalModule(module).parameters) == ["weight", "bias"]
