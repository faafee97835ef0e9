"""Guards on what a recording reads of modules: the ``training`` flag, weights, buffers, attributes."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any

import torch

from ....assumptions import InputAttribute, attribute_of
from ....errors import TracingError
from ....forwarding import forwards
from ....recording import Reached
from ....recording.code.ownership import owner_of
from ....recording.environment_guards import (
    EnvironmentGuard,
    VersionsOf,
    detects_sample_changes,
    is_readable,
    memory_versions,
    versions_counted_by,
)
from ....recording.patches import Patch, PatchSet, Session, note_call
from ....recording.patches.patch import Replacement
from ....recording.reachability.outside import is_plain
from ....recording.reachability.references import original_of
from ....recording.reachability.walk import WalkPolicy, replaceable_parts
from ..basics.arguments import is_array
from ..basics.tensors import is_captured
from ..compat import dict_version, versions_preserved
from ..trace import Trace

# --------------------------------------------------------------------------------------------------- versions
# Versions of dicts, from Python's own counter or that of torch's compiler, and versions of tensors.


def _versions_of() -> VersionsOf | None:
    if is_readable:
        return memory_versions
    try:
        version = dict_version()
    except ImportError:
        return None
    return found if detects_sample_changes(found := versions_counted_by(version)) else None


versions_of: VersionsOf | None = _versions_of()


def restore_versions(tensors: Iterable[torch.Tensor]) -> AbstractContextManager[Any]:
    """Restore torch's version counters of ``tensors`` after the ``with`` block.

    The block itself must restore the elements.

    >>> weight = torch.zeros(2)
    >>> with restore_versions([weight]):
    ...     _ = weight.add_(1).sub_(1)
    >>> weight._version
    0
    """
    return versions_preserved(tuple(tensor for tensor in tensors if not tensor.is_inference()))


# ------------------------------------------------------------------------------------------------------ reads
Modules = Sequence[torch.nn.Module]


class TrainingModes:
    """Switch between training and evaluation mode for modules and their parts.

    outermost: modules that no other module of the function contains.
    deciding: modules whose classes override ``train()`` and thus choose the modes of their parts
        themselves.
    """

    def __init__(self, outermost: Modules, deciding: Modules) -> None:
        self._outermost, self._deciding = outermost, deciding
        self._known: dict[bool, tuple[_TrainingState, list[bool]]] = {}

    @contextmanager
    def inside(self, mode: bool) -> Iterator[None]:
        """Switch to training mode, or to evaluation mode if ``mode`` is False, and back after the block."""
        others = [*(module for module in self._outermost if module.training != mode), *self._deciding]
        before, after = self._known.get(mode, (None, None))
        if before is None or not before.holds(others):
            before, after = _TrainingState(others), None
        try:
            if after is None:
                for module in others:
                    module.train(mode)
                self._known[mode] = before, [part.training for part in before.parts]
            else:
                _set(before.parts, after)
            yield
        finally:
            _set(before.parts, before.modes)


class _TrainingState:
    """Snapshot of modules: their parts, the training modes of these, and the attributes of the modules."""

    def __init__(self, modules: Modules) -> None:
        self.modules = modules
        self.parts = list(dict.fromkeys(part for module in modules for part in module.modules()))
        self.modes = [part.training for part in self.parts]
        self._items = self._read()

    def holds(self, modules: Modules) -> bool:
        if not _are_same(modules, self.modules) or [part.training for part in self.parts] != self.modes:
            return False
        return _are_same(self._read(), self._items)

    def _read(self) -> list[Any]:
        inner = [module for part in self.parts for module in part._modules.values()]
        return [*inner, *(value for module in self.modules for value in vars(module).values())]


def _are_same(items: Sequence[Any], others: Sequence[Any]) -> bool:
    return len(items) == len(others) and all(map(operator.is_, items, others))


def _set(parts: Modules, modes: Sequence[bool]) -> None:
    for part, mode in zip(parts, modes):
        if part.training != mode:
            part.training = mode


Read = Callable[[torch.Tensor, str], None]


class AttributeReads:
    """Record of reads of attributes that were put on argument tensors, and of attributes that tensors lack.

    guards: guards that a captured tensor still lacks an attribute that was looked up on it.
    """

    def __init__(self, capture: Trace, session: Session, tensors: list[Any]) -> None:
        self.guards: list[EnvironmentGuard] = []
        self._capture, self._session = capture, session
        self._before = [
            (tensor, dict(vars(tensor))) for tensor in tensors if isinstance(tensor, torch.Tensor)
        ]

    def places(self) -> list[Replacement]:
        """Return the patches of ``torch.Tensor`` that notice reads.

        They refer to this object, so it must not store them: arrays would then be freed only by the garbage
        collector.
        """
        places: list[Replacement] = [(torch.Tensor, "__getattr__", self._missed())]
        for _, held in self._before:
            places += [
                (torch.Tensor, name, _AttributeProbe(name, self._read))
                for name in held
                if not hasattr(torch.Tensor, name)
            ]
        return places

    @contextmanager
    def attributes_restored(self) -> Iterator[None]:
        """Restore the attributes of the tensors after the block.

        Raise ``TracingError`` if the block has added, replaced or deleted one of the user's.
        """
        try:
            yield
            if any(
                (vars(tensor) or held) and _identities(vars(tensor)) != _identities(held)
                for tensor, held in self._before
            ):
                raise TracingError(
                    f"{self._capture.recorder.graph.name} puts attributes on a tensor that is an argument, "
                    "which a graph cannot do; return what they hold"
                )
        finally:
            for tensor, held in self._before:
                vars(tensor).clear()
                vars(tensor).update(held)
            self._before.clear()

    def _missed(self) -> Callable[[torch.Tensor, str], Any]:
        @forwards
        def missed(tensor: torch.Tensor, name: str) -> Any:
            if not name.startswith("__") and not _asks_for_itself():
                self._read(tensor, name)
            raise AttributeError(f"{type(tensor).__name__!r} object has no attribute {name!r}")

        return missed

    def _read(self, tensor: torch.Tensor, name: str) -> None:
        if not self._session.is_active_here():
            return
        given = [index for index, one in enumerate(self._capture.input_tensors) if one is tensor]
        held = vars(tensor).get(name)
        if given and not is_plain(held):
            raise TracingError(
                f"{self._capture.here()}: .{name} of a tensor that is an argument is read, which holds a "
                f"{type(held).__name__} and is no part of the call; pass it as an argument of its own"
            )
        if given:
            self._capture.recorder.graph.assume(InputAttribute(given[0], name, attribute_of(tensor, name)))
        elif name not in vars(tensor) and is_captured(self._capture, tensor):
            self.guards.append(
                EnvironmentGuard(
                    "{} not in {}.__dict__", (name, tensor), f"the attribute {name} of a captured tensor"
                )
            )


def _identities(held: dict[str, Any]) -> dict[str, int]:
    # torch's compiler stores these on tensors.
    return {name: id(item) for name, item in held.items() if not name.startswith("_dynamo_")}


def _asks_for_itself() -> bool:
    # torch looks up attributes of tensors, too, such as ``__torch_function__``.
    return owner_of(sys._getframe(2)) in ("framework", "own")


class _AttributeProbe:
    """Data descriptor that notices reads of a tensor's attribute.

    It takes precedence over the tensor's ``__dict__``, where the attribute is stored.
    """

    def __init__(self, name: str, read: Read) -> None:
        self._name, self._read = name, read

    @forwards
    def __get__(self, tensor: torch.Tensor | None, owner: type) -> Any:
        if tensor is not None and not _asks_for_itself():
            self._read(tensor, self._name)
        if tensor is None or self._name not in vars(tensor):
            raise AttributeError(f"{owner.__name__!r} object has no attribute {self._name!r}")
        return vars(tensor)[self._name]

    def __set__(self, tensor: torch.Tensor, held: Any) -> None:
        vars(tensor)[self._name] = held

    def __delete__(self, tensor: torch.Tensor) -> None:
        del vars(tensor)[self._name]


# Classes whose methods read attributes that the user sets, such as the learning rate of an optimizer.
_WHOLE = (
    torch.distributions.Distribution,
    torch.optim.Optimizer,
    torch.optim.lr_scheduler.LRScheduler,
    torch.amp.GradScaler,
)
# ``torch.autograd.Function`` calls these besides ``forward``.
_CALLED = frozenset({"backward", "jvp", "setup_context", "vjp", "vmap"})
# Parameters, buffers and training flags are guarded where they are read.
_HIDDEN = frozenset(vars(torch.nn.Module()))


def has_attributes(item: Any) -> bool:
    return isinstance(item, torch.Tensor) and bool(vars(item))


def _is_leaf(item: Any) -> bool:
    return (
        is_array(item)
        and not has_attributes(item)
        or isinstance(item, (torch.jit.ScriptModule, torch.Generator))
    )


POLICY = WalkPolicy(_is_leaf, hidden=_HIDDEN, whole=_WHOLE, called=_CALLED)


def reached_modules(objects: Iterable[Any]) -> Iterator[tuple[str, torch.nn.Module]]:
    """Yield modules that ``objects`` refer to, each with a name.

    Modules are not searched for further modules.

    >>> [name for name, _ in reached_modules([[{"policy": torch.nn.Linear(2, 1)}]])]
    ['policy']
    """
    found: dict[int, torch.nn.Module] = {}

    def is_leaf(item: Any) -> bool:
        if isinstance(item, torch.nn.Module):
            found.setdefault(id(item), item)
        return id(item) in found or _is_leaf(item)

    places = replaceable_parts(Reached(objects, replace(POLICY, is_leaf=is_leaf)))
    names = {id(original_of(item)): name for name, item, _ in reversed(places)}
    yield from ((names.get(key) or type(module).__name__.lower(), module) for key, module in found.items())


TRAINING, MEMBERS = "training flags", "members"


class _TrainingFlagProbe:
    """Data descriptor that notices reads of a module's training flag.

    It takes precedence over the module's ``__dict__``, where the flag is stored.
    """

    def __init__(self, patch: Patch, patches: PatchSet, original: Any) -> None:
        self._patch, self._patches = patch, patches

    @forwards
    def __get__(self, module: torch.nn.Module | None, owner: type) -> Any:
        if module is None or "training" not in vars(module):
            raise AttributeError(f"{owner.__name__} has no attribute 'training'")
        for session in self._patches.here():
            self._patch.on_read(session, module)
        return vars(module)["training"]

    def __set__(self, module: torch.nn.Module, value: Any) -> None:
        vars(module)["training"] = value

    def __delete__(self, module: torch.nn.Module) -> None:
        del vars(module)["training"]


def _flag_read(session: Session, module: torch.nn.Module) -> None:
    session.note(TRAINING, module)


def _members_asked(session: Session, module: torch.nn.Module, *args: Any, **kwargs: Any) -> None:
    session.note(MEMBERS, module)


# Guards on the flags of all modules would take most of the time of a call of a small graph, so only the flags
# that are read have one. Only the second patch notices a weight that is added later if no layer computes with
# it.
MODULE_READS = (
    Patch(torch.nn.Module, "training", _TrainingFlagProbe, _flag_read),
    Patch(torch.nn.Module, "_named_members", note_call, _members_asked),
)


def member_facts(session: Session) -> list[EnvironmentGuard]:
    """Return guards on names of weights and buffers of modules whose members were listed, and of submodules.

    >>> from ....recording.patches import patching
    >>> model = torch.nn.Linear(2, 2)
    >>> with patching(PatchSet(*MODULE_READS), Session()) as session:
    ...     total = sum(weight.numel() for weight in model.parameters())
    >>> [fact.what for fact in member_facts(session)]
    ['which weights a Linear has', 'which buffers a Linear has']
    """
    modules = {id(module): module for root in session.noted(MEMBERS) for module in root.modules()}
    return [fact for module in modules.values() for fact in _names(module)]


def _names(module: torch.nn.Module) -> Iterator[EnvironmentGuard]:
    for kind, held in (("weights", module._parameters), ("buffers", module._buffers)):
        # Scripted modules hold these in other objects than dicts.
        if isinstance(held, dict):
            yield EnvironmentGuard(
                "[*{}] == {}", (held, [*held]), f"which {kind} a {type(module).__name__} has", held
            )


def reads_unseen(module: torch.nn.Module) -> bool:
    return any("training" in vars(cls) for cls in type(module).__mro__ if cls is not torch.nn.Module)
