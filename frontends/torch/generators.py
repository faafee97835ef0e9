"""Random numbers while recording: draws from Python and NumPy, and changes of torch's generators.

Modes do not intercept seeding. It is found by comparing the states of the generators around recorded calls.
"""

from __future__ import annotations

import copy
import ctypes
import functools
import random
import secrets
import sys
import threading
import types
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ...errors import TracingError
from ...forwarding import forward, forwards
from ...ir.node import CallRecord, Node
from ...ops.registry import ArraySpec
from ...passes import GeneratorState
from ...recording.code.names import names_read
from ...recording.code.ownership import skip_patch_frames
from ...recording.environment_guards import EnvironmentGuard
from ...recording.faults import is_fault
from ...recording.patches import Patch, Session, replace_call, replace_call_anywhere
from ...recording.patches.host_random import DRAWS, host_state, restore_host_state, same_host_state
from ...recording.reachability.snapshot import ObjectSnapshot, tuple_parts
from ...recording.state.places import Draw
from ...sizes import Size, Symbol
from ...trees import Static, flatten, iterate_structure, unflatten
from ..common.read_numbers import DTYPES
from .basics.refusals import UnseenDraw
from .compat import function_modes, is_left_aligned
from .numbers import type_leaves
from .sizes import is_symbolic, symbolic
from .trace import Trace


class HostDrawRecorder:
    """Recorder of the numbers that the function reads from the host: random numbers, and readings of clocks.

    bakes: True if the numbers are constants of the graph instead of inputs.
    draws: the recorded reads, which are repeated before each call of the graph.
    trees: the structure of the numbers of each of ``draws``.
    """

    def __init__(self, capture: Trace, bakes: bool) -> None:
        self.capture, self.bakes = capture, bakes
        self.draws: list[Draw] = []
        # Every draw that was seen, including those of other threads, to be repeated.
        self._log: list[Callable[[], Any]] = []
        self._lock = threading.RLock()
        self.trees: list[Any] = []

    @contextmanager
    def checked(self) -> Iterator[None]:
        """Check the draws of the block, and restore the global generators of ``random`` and NumPy after it.

        Unless ``bakes``, raise ``UnseenDraw`` if intercepted draws do not explain their new states.
        """
        with self._lock:
            states = host_state()
            self._log.clear()
        is_as_before = False
        try:
            yield
            is_as_before = self._check_state(states)
        finally:
            with self._lock:
                if not is_as_before:
                    restore_host_state(states)

    def _check_state(self, before: Any) -> bool:
        """Return True if the generators are known to be as ``before``, so that they need not be restored."""
        if self.bakes:
            return False
        with self._lock:
            now, has_drawn = host_state(), bool(self._log)
            reached = self._reached(before) if has_drawn else before
        # ``setstate`` is not patched, because torch's compiler calls it to undo its own draws. A call of the
        # user's is noticed here.
        if not same_host_state(now, reached):
            raise UnseenDraw(
                f"{self.capture.recorder.graph.name} draws random numbers of Python or numpy in a way that "
                "cannot be recorded (by a function that is kept in an object, or inside of another library). "
                "Call it through its module, or use torch's random functions"
            )
        return not has_drawn

    def _reached(self, before: Any) -> Any:
        restore_host_state(before)
        for draw in self._log:
            draw()
        return host_state()

    def _place(self, whole: str) -> Any:
        self.capture.call = whole
        return self.capture.locator.locate(whole, 3)

    def draw_in_other_thread(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        with self._lock:
            try:
                # ``shuffle`` changes its argument, so it is copied.
                again = functools.partial(function, *copy.deepcopy(args), **copy.deepcopy(kwargs))
            # Arguments are objects of another thread, whose copying may raise anything.
            except Exception as problem:
                if is_fault(problem):
                    raise
                return forward(function, *args, **kwargs)
            self._log.append(again)
            return forward(function, *args, **kwargs)

    def draw(
        self,
        whole: str,
        name: str,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        args, kwargs = (tuple(map(_plain, args)), {key: _plain(item) for key, item in kwargs.items()})
        if name == "shuffle":
            self._refuse(whole, "changes its argument")
        if name == "choice" and whole.startswith("random."):
            # Python's own function checks the arguments, and takes its index from a recorded draw.
            return forward(random.Random.choice, SimpleNamespace(_randbelow=self._index), *args, **kwargs)
        space = random if whole.startswith("random.") else np.random
        # The function is looked up when it is called, since another thread may be recording.
        draw = Draw(whole, lambda: _number(getattr(space, name)(*args, **kwargs)))
        with self._lock:
            self._log.append(lambda: function(*args, **kwargs))
            held = _number(forward(function, *args, **kwargs))
        if held is not None and not _holds_numbers(held):
            self._refuse(whole, f"gives {type(held).__name__} objects; only numbers can be inputs of a graph")
        return self._entered(draw, name, held)

    def _index(self, count: int) -> Any:
        below = random.Random.randrange.__get__(random._inst)
        return self.draw("random.randrange", "randrange", below, (count,), {})

    def read_number(self, draw: Draw, name: str) -> Any:
        held = draw.read()
        return held if self.bakes else self._entered(draw, name, held)

    def _entered(self, draw: Draw, name: str, held: Any) -> Any:
        leaves, tree = flatten(held, _is_number)
        self.draws.append(draw)
        self.trees.append(type_leaves(tree, iter(leaves)))
        values = [self.capture.add_number(name, leaf) for leaf in leaves]
        return unflatten(
            tree,
            [
                symbolic(Size.of(Symbol(value, 0, leaf, "item")), self.capture.decide)
                for value, leaf in zip(values, leaves)
            ],
        )

    def _refuse(self, whole: str, why: str) -> None:
        raise TracingError(
            f"{self._place(whole)}: {whole} {why}, so what it draws cannot be recorded. Use torch's random "
            "functions"
        )


def _is_number(item: Any) -> bool:
    return type(item) in DTYPES


def _holds_numbers(held: Any) -> bool:
    parts = held if isinstance(held, (list, tuple)) else [held]
    return not isinstance(flatten(held, _is_number)[1], Static) and not any(
        hasattr(item, "dtype") for item in parts
    )


def _plain(item: Any) -> Any:
    return (
        item.node.guard_float()
        if isinstance(item, torch.SymFloat)
        else int(item)
        if is_symbolic(item)
        else item
    )


def _number(item: Any) -> Any:
    return item.item() if isinstance(item, np.generic) else item


@forwards
def _drawn(
    whole: str, name: str, session: Session, original: Callable[..., Any], *args: Any, **kwargs: Any
) -> Any:
    draws: HostDrawRecorder = session.trace.host_draws
    if not session.is_active_here():
        return draws.draw_in_other_thread(original, args, kwargs)
    # One of these functions may call another one.
    is_inner = skip_patch_frames(sys._getframe(1)).f_globals.get("__name__") == "random"
    return (
        original(*args, **kwargs)
        if draws.bakes or is_inner
        else draws.draw(whole, name, original, args, kwargs)
    )


HOST_DRAWS = tuple(
    Patch(module, name, replace_call_anywhere, functools.partial(_drawn, f"{module.__name__}.{name}", name))
    for module, names in DRAWS.items()
    for name in (*names, "seed")
)


Forward = Callable[..., Tensor]
NESTED = "whether a gradient is asked for decides if an encoder nests tensors"


def _forward(
    session: Session,
    original: Forward,
    self: nn.TransformerEncoder,
    src: Tensor,
    mask: Tensor | None = None,
    src_key_padding_mask: Tensor | None = None,
    is_causal: bool | None = None,
) -> Tensor:
    # torch uses nested tensors only if no mode is active, and they set the rows that the padding mask hides
    # to 0. A recording is a mode, so these rows are set here.
    if src_key_padding_mask is None or mask is not None or is_causal or not _only_recorded(session):
        return original(self, src, mask, src_key_padding_mask, is_causal)
    hidden = F._canonical_mask(src_key_padding_mask, "src_key_padding_mask", None, "mask", src.dtype)
    assert hidden is not None
    kept = hidden.logical_not()
    if not _nests(session, self, src, kept):
        return original(_plain_encoder(self, self.norm), src, None, src_key_padding_mask, is_causal)
    output = original(_plain_encoder(self, None), src, None, kept.logical_not(), is_causal).masked_fill(
        ~kept[..., None], 0.0
    )
    return output if self.norm is None else self.norm(output)


def _only_recorded(session: Session) -> bool:
    modes = function_modes()
    return bool(modes) and all(isinstance(mode, session.trace.own_modes) for mode in modes)


def _plain_encoder(encoder: nn.TransformerEncoder, norm: nn.Module | None) -> Any:
    return SimpleNamespace(layers=encoder.layers, norm=norm, use_nested_tensor=False)


def _nests(session: Session, encoder: nn.TransformerEncoder, src: Tensor, kept: Tensor) -> bool:
    # These conditions follow ``TransformerEncoder.forward`` of torch 2.13.
    first: Any = encoder.layers[0]
    if (
        not (torch.backends.mha.get_fastpath_enabled() and getattr(encoder, "use_nested_tensor", False))
        or first.training
        or src.dim() != 3
    ):
        return False
    if getattr(encoder, "mask_check", True) and not is_left_aligned(src, kept):
        return False
    if torch.is_autocast_enabled():
        return False
    if not any(tensor.requires_grad for tensor in (src, *_weights(first))):
        return True
    session.note(NESTED, torch.is_grad_enabled())
    return not torch.is_grad_enabled()


def _weights(layer: Any) -> tuple[Tensor, ...]:
    attention = layer.self_attn
    held = (attention, attention.out_proj, layer.norm1, layer.norm2, layer.linear1, layer.linear2)
    given = (
        getattr(part, name, None)
        for part in held
        for name in ("in_proj_weight", "in_proj_bias", "weight", "bias")
    )
    return tuple(item for item in given if item is not None)


ENCODERS = (Patch(nn.TransformerEncoder, "forward", replace_call, _forward),)


def encoder_facts(session: Session) -> list[EnvironmentGuard]:
    enabled = torch.is_grad_enabled()
    what = "the grad mode, by which an encoder decides what it gives for hidden rows,"
    guard = EnvironmentGuard("{}() is {}", (torch.is_grad_enabled, enabled), what, is_thread_mode=True)
    return [guard] if enabled in session.noted(NESTED) else []


# The seed comes first in the state of a generator.
_SEED_BYTES = 8
# Devices whose generators store the seed there.
_DEVICES = ("cpu", "cuda")
# ``seed()`` draws up to 64 bits from the operating system. Nothing tells such a seed from one that
# ``manual_seed`` was given, so a seed that is not smaller than this is taken for one of ``seed()``.
_LONGEST_SEED = 1 << 48
_DEFAULT_SEED = torch.Generator().initial_seed()
SPEC = ArraySpec((), "generator")


def is_generator(item: Any) -> bool:
    # ``isinstance`` would run Python code of torch.
    return torch.Generator in type(item).__mro__ and item.device.type in _DEVICES


class _FollowedGenerator:
    """Random generator and states that it has been in.

    before: its state when it was first met.
    mark: number that replaces its seed in its state.
    points: pairs of a state and the position among the recorded nodes at which the generator was in it.
    """

    def __init__(self, generator: torch.Generator, is_new: bool) -> None:
        self.generator, self.before = generator, generator.get_state()
        # With a mark, seeding with the same seed is noticed, too.
        self.mark = secrets.randbits(52)
        if not is_new:
            self.put_mark()
        self.points: list[tuple[bytes, int]] = []

    def put_mark(self) -> None:
        marked = self.generator.get_state()
        ctypes.memmove(marked.data_ptr(), self.mark.to_bytes(_SEED_BYTES, "little"), _SEED_BYTES)
        self.generator.set_state(marked)

    def state(self) -> bytes:
        whole = self.generator.get_state()
        # Straight from its memory: numpy() is seen by every mode of a recording, and takes a hundred times as
        # long there.
        return ctypes.string_at(whole.data_ptr() + _SEED_BYTES, whole.nbytes - _SEED_BYTES)


class Generators:
    """Tracker of the states of torch's random generators, which records seeding and restored states as nodes.

    state_before: state of the default generator before the recording, set by :meth:`following`.
    """

    def __init__(self, capture: Trace, reachable: Iterable[torch.Generator]) -> None:
        self.capture = capture
        self._followed: dict[int, _FollowedGenerator] = {}
        self.state_before: Any = None
        self._defaults = default_generators()
        self._reachable = [*self._defaults, *filter(is_generator, reachable)]
        # Another thread may seed the default generator.
        self._lock = threading.RLock()

    def refuse_seeds_read(self, functions: Iterable[types.FunctionType]) -> None:
        for function in functions:
            code = function.__code__
            names = names_read(code)
            if "initial_seed" in names and (
                "default_generator" in names or len(self._reachable) > len(self._defaults)
            ):
                raise TracingError(
                    f"{code.co_filename}:{code.co_firstlineno}: {code.co_name} reads initial_seed() of a "
                    "generator, which would become a constant. "
                    "Pass it as an argument"
                )

    @contextmanager
    def following(self) -> Iterator[None]:
        """Follow the reachable generators in this context, and restore all followed ones after it."""
        with self._lock:
            for generator in self._reachable:
                self._follow(generator, is_new=False)
        state = self._followed[id(torch.default_generator)].before
        self.state_before = GeneratorState(ArraySpec(tuple(state.shape), "uint8"), state)
        try:
            yield
        finally:
            with self._lock:
                for followed in self._followed.values():
                    followed.generator.set_state(followed.before)
                self._followed = {}

    def seed_in_other_thread(self, seed: Callable[[Any], Any], number: Any) -> Any:
        with self._lock:
            generator = seed(number)
            followed = self._followed.get(id(torch.default_generator))
            # The recording may have ended in the meantime.
            if followed is not None:
                followed.put_mark()
                followed.points.append((followed.state(), self._count()))
        return generator

    def _follow(self, generator: torch.Generator, is_new: bool) -> _FollowedGenerator:
        if id(generator) not in self._followed:
            followed = self._followed[id(generator)] = _FollowedGenerator(generator, is_new)
            if not is_new:
                followed.points.append((followed.state(), self._count()))
        return self._followed[id(generator)]

    def _count(self) -> int:
        return len(self.capture.recorder.graph.nodes)

    # ------------------------------------------------------------------------------ around calls
    def are_unseeded(self) -> bool:
        return all(followed.generator.initial_seed() == followed.mark for followed in self._followed.values())

    def before(self, arguments: Any) -> list[_FollowedGenerator]:
        """Record how generators were seeded or set back since the last call, and return their trackers."""
        with self._lock:
            return list(
                map(
                    self._record_state_changes,
                    (*self._defaults, *filter(is_generator, iterate_structure(arguments))),
                )
            )

    def drew(self, candidates: list[_FollowedGenerator]) -> bool:
        """Return True if the state of one of ``candidates`` has changed, and note the new states."""
        with self._lock:
            drew = False
            for followed in candidates:
                if (state := followed.state()) != followed.points[-1][0]:
                    followed.points.append((state, self._count() + 1))
                    drew = True
        return drew

    @contextmanager
    def undone(self) -> Iterator[None]:
        """Restore, after a block that does not raise, the generators that are followed when it begins."""
        with self._lock:
            before = [
                (followed, followed.generator.get_state(), len(followed.points))
                for followed in self._followed.values()
            ]
        yield
        with self._lock:
            for followed, state, count in before:
                followed.generator.set_state(state)
                del followed.points[count:]

    def unseen_draws(self) -> bool:
        return self.drew(list(self._followed.values()))

    def finish(self) -> None:
        with self._lock:
            for followed in list(self._followed.values()):
                if followed.generator in self._reachable:
                    self._record_state_changes(followed.generator)

    def _record_state_changes(self, generator: torch.Generator) -> _FollowedGenerator:
        is_new = id(generator) not in self._followed
        followed = self._follow(generator, is_new=True)
        if is_new:
            self._record_new(followed)
        state = followed.state()
        seeded = generator.initial_seed() != followed.mark
        if not seeded and state == followed.points[-1][0]:
            return followed
        if self.capture.recorder.in_block:
            self._refuse("was seeded, or put back, inside of a branch or the body of a loop")
        if seeded:
            self._record_seed(followed, state)
        else:
            self._record_return(followed, state)
        followed.points.append((state, self._count()))
        return followed

    def has_state(self, tensor: torch.Tensor) -> bool:
        """Return True if ``tensor`` seems to be the state of a followed generator, by its mark."""
        if (
            tensor.dtype != torch.uint8
            or tensor.ndim != 1
            or tensor.nbytes <= _SEED_BYTES
            or tensor.device.type != "cpu"
        ):
            return False
        first = int.from_bytes(ctypes.string_at(tensor.data_ptr(), _SEED_BYTES), "little")
        return any(first == followed.mark for followed in self._followed.values())

    def is_made(self, item: Any) -> bool:
        """Return True if ``item`` is a generator that a recorded node makes.

        Raise ``TracingError`` for such a generator if the graph is for another framework than torch.
        """
        if (
            not is_generator(item)
            or (value := self.capture.recorder.find(item)) is None
            or self.capture.recorder.maker(value) is None
        ):
            return False
        if not self.capture.for_torch:
            name = self.capture.recorder.graph.name
            raise TracingError(
                f"{name} keeps or gives back a generator of random numbers that it makes, which only torch "
                "has; make it outside"
            )
        return True

    # ------------------------------------------------------------------------------ as nodes
    def _node(self, name: str, inputs: tuple[Any, ...], *made: tuple[str, Any, ArraySpec]) -> Node:
        origin, outputs = self.capture.locator.locate(name, 4), self.capture.recorder.new_values(list(made))
        record = CallRecord(name.rpartition(".")[2], result=outputs[0] if outputs else None, random=True)
        return self.capture.recorder.add_call(name, inputs, {}, origin, outputs, record)

    def _record_new(self, followed: _FollowedGenerator) -> None:
        device = followed.generator.device
        node = self._node(
            "torch.Generator",
            () if device.type == "cpu" else (device,),
            ("generator", followed.generator, SPEC),
        )
        self.capture.recorder.keep(followed.generator, node.outputs[0])

    def _record_seed(self, followed: _FollowedGenerator, state: bytes) -> None:
        seed = followed.generator.initial_seed()
        fresh = _FollowedGenerator(torch.Generator(followed.generator.device).manual_seed(seed), is_new=True)
        if fresh.state() != state or (seed >= _LONGEST_SEED and seed != _DEFAULT_SEED):
            self._refuse(
                "was given a state that cannot be told from its seed"
                if fresh.state() != state
                else "was seeded by seed(), or with a number that may be from there (negative, or from 2**48)"
            )
        followed.put_mark()
        if followed.generator is torch.default_generator:
            self._node("torch.manual_seed", (seed,))
        else:
            self._node("torch.Generator.manual_seed", (self._named(followed.generator), seed))

    def _record_return(self, followed: _FollowedGenerator, state: bytes) -> None:
        index = next((at for known, at in followed.points if known == state), -1)
        if index < 0 and followed.generator is torch.default_generator and threading.active_count() > 1:
            # The mark is unchanged, so it was not seeded. Another thread drew, since every draw of this one
            # is seen.
            return
        if index < 0:
            self._refuse("was given a state that it never had in the recorded function")
        whole = followed.generator.get_state()
        own = followed.generator is not torch.default_generator
        names = (
            ("torch.Generator.get_state", "torch.Generator.set_state")
            if own
            else ("torch.get_rng_state", "torch.set_rng_state")
        )
        which = (self._named(followed.generator),) if own else ()
        graph = self.capture.recorder.graph
        node = self._node(names[0], which, ("state", whole, ArraySpec(tuple(whole.shape), "uint8")))
        self._alive = [*getattr(self, "_alive", []), whole]
        # The state must be read before the calls that changed it, so the node is moved there.
        graph.nodes.remove(node)
        graph.nodes.insert(index, node)
        for other in self._followed.values():
            other.points = [(known, at + (at >= index)) for known, at in other.points]
        self._node(names[1], (*which, node.outputs[0]))

    def _named(self, generator: torch.Generator) -> Any:
        return self.capture.recorder.find(generator) or generator

    def _refuse(self, what: str) -> None:
        raise UnseenDraw(
            f"{self.capture.here()}: a random generator {what}, which cannot be recorded. Seed it with "
            "manual_seed, or do this outside of the function (another thread may have drawn from it "
            "meanwhile)"
        )


def default_generators() -> tuple[torch.Generator, ...]:
    return (torch.default_generator, *(torch.cuda.default_generators if torch.cuda.is_initialized() else ()))


@contextmanager
def generators_restored(seed: int | None = None) -> Iterator[None]:
    states = [(generator, generator.get_state()) for generator in default_generators()]
    try:
        for generator, _ in states if seed is not None else ():
            generator.manual_seed(seed)
        yield
    finally:
        for generator, state in states:
            generator.set_state(state)


def generators_in(world: ObjectSnapshot) -> list[torch.Generator]:
    found = (item for _, _, item in world.parts if isinstance(item, tuple) or is_generator(item))
    return [part for item in found for part in tuple_parts(item) if is_generator(part)]


def _seeded(session: Session, seed: Callable[[Any], Any], number: Any) -> Any:
    return (
        seed(number)
        if session.is_active_here()
        else session.trace.generators.seed_in_other_thread(seed, number)
    )


SEEDS = tuple(
    Patch(module, "manual_seed", replace_call_anywhere, _seeded) for module in (torch, torch.random)
)
