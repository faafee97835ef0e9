"""Tensors that a call meets and nothing recorded has made: parameters, constants, other names for memory of the recording, or an error."""

from __future__ import annotations

from typing import Any

import torch

from ....errors import TracingError
from ....ir.node import Value
from ....ir.record import CallRecord
from ....ops.dtypes import is_inexact
from ..basics.tensors import spec_of
from ..memory.memory import is_shared
from .running import Running

_WITHOUT_HISTORY = (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer)


def resolve_captured(capture: Running, tensor: torch.Tensor) -> Value:
    """The value of a tensor that was met for the first time. ``TracingError`` where it is not known what it comes from."""
    if (owner := capture.kept_views.owner_of(tensor)) is not None:
        return capture.kept_views.taken(capture, tensor, owner)
    name = capture.weights.name_of(tensor)
    if name is None and (sharing := capture.memory.values_in(tensor)) and not capture.is_weight(next(iter(sharing.values()))):
        return _alias(capture, tensor)
    if maker := capture.unseen.maker_of(tensor):
        capture.by_kernel.ask(maker)
        raise TracingError(
            f"{capture.here()}: a tensor is used here that was computed inside of another call and kept aside (by a hook, an autograd rule "
            "or a cache), so the recording did not see where it comes from. Return it from that call, or compute it with public functions"
        )
    if name is None and capture.has_started_threads:
        raise TracingError(f"{capture.here()}: a tensor may come from a thread that the function started, which cannot be recorded")
    if capture.unseen.made(tensor) and not (name is not None and capture.memory.values_in(tensor)):
        raise TracingError(
            f"{capture.here()}: a tensor is used here whose memory was written by this function, but which nothing that can be recorded "
            "has made of it (torch.nn.Parameter(...), a constructor of a subclass). Use the tensor that it was made of"
        )
    if capture.generators.has_state(tensor):
        raise TracingError(
            f"{capture.here()}: the state of a generator of random numbers is read, which is another at each call. A graph can keep it "
            "(get_rng_state) and put it back (set_rng_state); pass it as an argument where its elements matter"
        )
    if tensor.is_meta and name is None:
        raise TracingError(
            f"{capture.here()}: a tensor on the device meta is used here, which has no elements and is no parameter or buffer that "
            "load_weights could fill. Register it as a buffer of the module, or build it on the CPU"
        )
    if is_shared(tensor):
        capture.exported.share(tensor, capture.here(), is_weight=name is not None)
    capture.memory.comes_from_outside(tensor)
    capture.gradients.add(tensor)
    if name is None or not capture.weights.is_persistent(name):
        return capture.recorder.add_constant(name or capture.locator.name_of(tensor) or "constant", tensor, spec_of(tensor))
    value = capture.recorder.add_parameter(name, tensor, spec_of(tensor))
    capture.history.add(value)
    if hooks := tensor._backward_hooks:
        _follow_hooks(capture, tensor, list(hooks.values()))
        return capture.recorder.find(tensor) or value
    return value


def _follow_hooks(capture: Running, tensor: torch.Tensor, hooks: list[Any]) -> None:
    """Hooks of a weight change its gradient: in torch they are called as ever, elsewhere the graph has to say what they do."""
    if capture.for_torch:
        graph = capture.recorder.graph
        graph.demand(
            source_only=(
                f"{graph.name} has a weight with hooks, which change its gradient, and was recorded for torch; record it for the other "
                "framework from the start"
            )
        )
        return
    with capture:
        for hook in hooks:
            capture.rules.follow_hook(tensor, hook, "a hook of a weight")


def _alias(capture: Running, tensor: torch.Tensor) -> Value:
    """A tensor that looks at the memory of a recorded value, made where no call was seen: ``nn.Parameter(x)``, ``x.as_subclass``, a saved
    tensor."""
    seen = capture.memory.same(tensor)
    if seen is None or (capture.recorder.maker(seen) is None and type(tensor) is torch.Tensor and not tensor.requires_grad):
        capture.by_kernel.ask(capture.unseen.maker_of(tensor))
        if not capture.for_torch:
            inputs = (capture.recorder.kept(value) for value in capture.memory.values_in(tensor).values())
            capture.kept_views.ask([tensor, *(item for item in inputs if item is not None)])
        raise TracingError(
            f"{capture.here()}: a tensor is used here that shares memory with one of the recording, but was made where the recording could "
            "not see it; make it with a function of torch"
        )
    record = CallRecord("detach", views={0: seen})
    made = capture.recorder.add_value("torch.Tensor.detach", (seen,), capture.here(), ("alias", tensor, spec_of(tensor)), record)
    value = capture.recorder.keep(tensor, made)
    capture.memory.has_subclasses |= type(tensor) not in _WITHOUT_HISTORY
    comes_back = capture.memory.has_subclasses and type(tensor) is torch.Tensor
    if (comes_back or type(tensor) not in _WITHOUT_HISTORY) and is_inexact(
        value.dtype
    ):  # as_subclass keeps gradients, _make_subclass does not
        capture.rules.refuse([tensor], (), f"a tensor that was made a {type(tensor).__name__}", (seen,))
        return capture.recorder.find(tensor) or value
    return value
