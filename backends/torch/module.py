"""Graphs as ``torch.nn.Module`` (``as_module``), and modules as functions of their parameters.

The module of a graph has the tensors of the original, or tensors of its own.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Mapping, Sequence
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import torch

from ...errors import NotCompilable
from ...forwarding import forward, passes_on
from ...ir.graph import call_signature
from ...recording.environment_guards import is_readable, memory_versions, versions_read_by
from .native import TensorSlots


class FunctionalModule:
    """Module as a function of its parameters, a dict that is the first argument of a call.

    parameters: the module's current parameters by name.
    """

    def __init__(self, module: torch.nn.Module) -> None:
        self._module = module
        self._index_parameters()

    def _index_parameters(self) -> None:
        found, modules = dict[int, tuple[str, Any]](), [("", self._module)]
        self._parameter_slots: list[tuple[dict[str, Any], str, str]] = []
        walked: dict[int, torch.nn.Module] = {}
        for prefix, inner in modules:
            # A module may be registered in several places, even below itself.
            if id(inner) in walked:
                continue
            walked[id(inner)] = inner
            for key, tensor in inner._parameters.items():
                if tensor is not None:
                    self._parameter_slots.append(
                        (inner._parameters, key, found.setdefault(id(tensor), (prefix + key, tensor))[0])
                    )
            modules += [
                (f"{prefix}{key}.", child) for key, child in inner._modules.items() if child is not None
            ]
        self._modules = list(walked.values())
        dicts = [held for inner in self._modules for held in (vars(inner), inner._parameters, inner._modules)]
        self._versions = memory_versions(dicts, []) if is_readable else versions_read_by(self._signature_now)
        self._versions_read = self._versions.copy()
        self._parameters, self._signature = dict(found.values()), self._signature_now()

    def _signature_now(self) -> list[Any]:
        # No id is reused, because ``self`` keeps references to the objects.
        return [
            part
            for inner in self._modules
            for held in (inner._parameters, inner._modules)
            if held
            for part in (*held, *map(id, held.values()))
        ]

    @property
    def parameters(self) -> Mapping[str, Any]:
        return self._current_parameters()

    def live(self) -> Sequence[Callable[[], Any]]:
        return [self._current_parameters]

    def _current_parameters(self) -> Mapping[str, Any]:
        if self._versions.now != self._versions_read:
            self._versions_read = self._versions.copy()
            if self._signature_now() != self._signature:
                self._index_parameters()
        return self._parameters

    def __call__(self, held: Mapping[str, Any], /, *args: Any, **kwargs: Any) -> Any:
        """Call the module with the tensors of ``held`` as its parameters, then restore its own.

        ``held`` has the keys of ``parameters``, in the same order.
        """
        own = self._parameters
        if all(map(operator.is_, held.values(), own.values())):
            return forward(self._module, *args, **kwargs)
        try:
            for where, key, name in self._parameter_slots:
                where[key] = held[name]
            return forward(self._module, *args, **kwargs)
        finally:
            for where, key, name in self._parameter_slots:
                where[key] = own[name]


class _TensorHolder(torch.nn.Module):
    """Submodule of a graph's module that holds tensors, and that the graph does not call."""

    def _refuse(self, *args: Any, **kwargs: Any) -> Any:
        raise NotCompilable(
            "a part of the module of a graph holds tensors and is never called, so that a hook on it would "
            "never run: register it on the "
            "original's layer before the graph is recorded, or on the whole module"
        )

    register_forward_pre_hook = register_forward_hook = _refuse
    register_backward_hook = register_full_backward_hook = register_full_backward_pre_hook = _refuse


class _GraphCaller(torch.nn.Module):
    """Base class of modules that register tensors under dotted names and call a graph."""

    def __init__(self, graph: Any) -> None:
        super().__init__()
        self.__dict__["_graph"] = graph
        # None is the mode of the original's modules, until train() or eval() is called on this one.
        self.__dict__["_mode"] = None
        # The number of variants, and the names of the weights that they write to.
        self.__dict__["_written"] = (0, ())
        torch.nn.Module.train(self, _is_training(graph))

    def _locate(self, name: str) -> tuple[torch.nn.Module, str]:
        *path, last = name.split(".")
        holder: torch.nn.Module = self
        for part in path:
            if part not in holder._modules:
                # add_module would mistake an attribute of the original for one of this module.
                holder._modules[part] = _TensorHolder()
            holder = holder.get_submodule(part)
        return holder, last

    def _register(self, name: str, tensor: torch.Tensor) -> None:
        holder, last = self._locate(name)
        # register_parameter would mistake an attribute of the original for one of this module.
        held = holder._parameters if isinstance(tensor, torch.nn.Parameter) else holder._buffers
        held[last] = tensor

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if "_graph" not in self.__dict__ or isinstance(
                getattr(self._graph, name, print), (MethodType, BuiltinFunctionType)
            ):
                # Methods would run with the original's tensors, which may differ.
                raise
            # The original may be on another device, or of another dtype, than this module.
            own = (
                next((tensor for tensor in self.parameters() if tensor.is_floating_point()), None)
                if name in ("device", "dtype")
                else None
            )
            return getattr(self._graph if own is None else own, name)

    @passes_on
    def _slow_forward(self, *args: Any, **kwargs: Any) -> Any:
        # The trace would record operations of the guards on tensors.
        state = torch._C._get_tracing_state()
        torch._C._set_tracing_state(None)
        try:
            for variant in self._graph.variants:
                variant.environment.holds()
        finally:
            torch._C._set_tracing_state(state)
        return super()._slow_forward(*args, **kwargs)

    def _own_tensors(self) -> dict[str, torch.Tensor]:
        raise NotImplementedError

    def arrays_by_name(self) -> dict[str, torch.Tensor]:
        return self._own_tensors()

    def _compiled_call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any] | None:
        """Return ``(result,)`` of a call that ``torch.compile`` traces, or None if it has to run eagerly.

        The state that the call changes is copied into the tensors of this module.
        """
        held = self._own_tensors()
        if (
            found := self._graph._call_as_module_traced(self._call_tensors(held), args, kwargs, self._mode)
        ) is None:
            return None
        result, state = found
        with torch.no_grad():
            for name, buffer in state.items():
                held[name].copy_(buffer)
        return (result,)

    def __deepcopy__(self, memo: dict[int, Any]) -> OwningGraphModule:
        made = memo[id(self)] = _with_original_signature(OwningGraphModule, self._graph)(self._graph)
        made.load_state_dict(self.state_dict())
        for name, weight in made.named_parameters():
            weight.requires_grad_(self.get_parameter(name).requires_grad)
        torch.nn.Module.train(made, self.training)
        made.__dict__["_mode"] = self._mode
        return made

    def __reduce__(self) -> Any:
        fixed = [name for name, weight in self.named_parameters() if not weight.requires_grad]
        return _restore, (self._graph, self.state_dict(), fixed, self.training, self._mode)

    def _call_tensors(self, own: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """Return ``own``, with copies of the parameters that a variant writes to."""
        # A derivative needs the old values of weights that are written to.
        if self._written[0] != len(self._graph.variants):
            written = [name for name in self._graph.state if isinstance(own.get(name), torch.nn.Parameter)]
            self.__dict__["_written"] = (len(self._graph.variants), written)
        written = self._written[1]
        return {**own, **{name: own[name].clone() for name in written}} if written else own


class SharingGraphModule(_GraphCaller):
    """Module that calls a graph, and registers the graph's own tensors under their original names."""

    def __init__(self, graph: Any) -> None:
        super().__init__(graph)
        # The number of variants, and the names of the buffers that they write to.
        self._changing: tuple[int, tuple[str, ...]] = (0, ())
        self._slots = TensorSlots()
        for name, tensor in graph.parameters.items():
            self._register(name, tensor)
            self._note(name)

    def _note(self, name: str) -> None:
        holder, last = self._locate(name)
        self._slots.note(name, holder._parameters if last in holder._parameters else holder._buffers, last)

    @passes_on
    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the graph with this module's parameters and buffers, and store those that it changes."""
        if torch.compiler.is_dynamo_compiling() and (found := self._compiled_call(args, kwargs)) is not None:
            return found[0]
        if self._slots.changed():
            return self._call_with_current_tensors(args, kwargs)
        result = self._graph(*args, **kwargs)
        if self._changing[0] != len(self._graph.variants):
            self._changing = (len(self._graph.variants), tuple(self._graph.state))
        if self._changing[1]:
            held = self._graph.parameters
            for name in self._changing[1]:
                self._register(name, held[name])
                self._note(name)
        return result

    def _own_tensors(self) -> dict[str, torch.Tensor]:
        places = {name: self._locate(name) for name in self._slots.names}
        return {name: getattr(holder, last) for name, (holder, last) in places.items()}

    @passes_on
    def _call_with_current_tensors(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        def held() -> dict[str, torch.Tensor]:
            return {**self._graph.parameters, **self._own_tensors()}

        is_traced = torch.compiler.is_compiling()
        result, state = self._graph._call_as_module(
            lambda: self._call_tensors(held()),
            args,
            kwargs,
            key=lambda: None,
            training=None,
            is_traced=is_traced,
        )
        # The call may have recorded a variant with further weights.
        own = held() if state else {}
        with torch.no_grad():
            for name, buffer in state.items():
                own[name].copy_(buffer)
        return result

    def _apply(self, function: Any, recurse: bool = True) -> SharingGraphModule:
        super()._apply(function, recurse)
        for name, buffer in self.named_buffers():
            for variant in self._graph.variants:
                variant.objects.store(name, buffer)
            if name in self._slots.names:
                self._note(name)
        return self

    def train(self, mode: bool = True) -> SharingGraphModule:
        # A module of torch has a mode even if the original has none.
        if _has_modes(self._graph):
            self._graph.train(mode)
        self.__dict__["_mode"] = mode
        return super().train(mode)


class OwningGraphModule(_GraphCaller):
    """Module that calls a graph with its own copies of the graph's parameters and buffers."""

    def __init__(self, graph: Any) -> None:
        super().__init__(graph)
        self._names: tuple[str, ...] = ()
        self._variants_read = 0
        self._all_tensors()

    def _all_tensors(self) -> dict[str, torch.Tensor]:
        """Register copies of the tensors of new variants, and return the module's tensors by name."""
        graph = self._graph
        if self._variants_read != len(graph.variants):
            self._variants_read, weights, frozen = len(graph.variants), graph._differentiable, graph.frozen
            for name, tensor in graph.parameters.items():
                if name not in self._names:
                    own = tensor.detach().clone()
                    is_weight = name in weights and own.dtype.is_floating_point
                    self._register(
                        name, torch.nn.Parameter(own, requires_grad=name not in frozen) if is_weight else own
                    )
                    self._names = (*self._names, name)
        return self._own_tensors()

    def _own_tensors(self) -> dict[str, torch.Tensor]:
        places = {name: self._locate(name) for name in self._names}
        return {name: getattr(holder, last) for name, (holder, last) in places.items()}

    @passes_on
    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the graph with this module's parameters and buffers, and store those that it changes."""
        if torch.compiler.is_dynamo_compiling() and (found := self._compiled_call(args, kwargs)) is not None:
            return found[0]
        result, state = self._graph._call_as_module(
            lambda: self._call_tensors(self._all_tensors()),
            args,
            kwargs,
            key=lambda: None,
            training=self._mode,
            is_traced=torch.compiler.is_compiling(),
        )
        for name, buffer in state.items():
            self._store(name, buffer.detach())
        return result

    def _store(self, name: str, array: torch.Tensor) -> None:
        holder, last = self._locate(name)
        # A weight is written to in place, because optimizers refer to it.
        if last in holder._parameters:
            with torch.no_grad():
                holder._parameters[last].copy_(array)
        else:
            holder._buffers[last] = array

    def train(self, mode: bool = True) -> OwningGraphModule:
        self.__dict__["_mode"] = mode
        return super().train(mode)


def _restore(
    graph: Any, held: dict[str, torch.Tensor], fixed: list[str], is_training: bool, mode: bool | None
) -> OwningGraphModule:
    made: OwningGraphModule = _with_original_signature(OwningGraphModule, graph)(graph)
    made.load_state_dict(held)
    for name in fixed:
        made.get_parameter(name).requires_grad_(False)
    torch.nn.Module.train(made, is_training)
    made.__dict__["_mode"] = mode
    return made


def _has_modes(graph: Any) -> bool:
    recordings = [variant.recording for variant in graph.variants]
    return any(recording is not None and recording.weights.has_modes for recording in recordings)


def _is_training(graph: Any) -> bool:
    recording = graph.variants[0].recording
    return recording is None or bool(recording.weights.is_training())


_ANY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def _with_original_signature(base: type[_GraphCaller], graph: Any) -> Any:
    """Return a subclass of ``base`` whose ``forward`` shows the names of the arguments where they are known.

    The subclass has the class name of an original that is a torch module.
    """
    # Exporters of torch and others read argument names from the signature.
    forward = FunctionType(base.forward.__code__, base.forward.__globals__, "forward")
    forward.__doc__ = base.forward.__doc__
    signature = graph._call_signature()
    if (
        signature is not None
        and signature.parameters
        and all(one.kind in _ANY for one in signature.parameters.values())
    ):
        # The signature of a Keras model's call is only *args, **kwargs.
        signature = call_signature(graph.variants[0].graph)
    if signature is not None:
        own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
        parameters = [own, *signature.parameters.values()]
        forward.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    original = graph._pipeline.function
    name = type(original).__name__ if isinstance(original, torch.nn.Module) else base.__name__
    return type(name, (base,), {"forward": forward, "__module__": base.__module__})


def as_module(graph: Any) -> torch.nn.Module:
    is_live = graph._pipeline.has_original and graph._pipeline.frontend.name == "torch"
    made: torch.nn.Module = _with_original_signature(
        SharingGraphModule if is_live else OwningGraphModule, graph
    )(graph)
    return made
