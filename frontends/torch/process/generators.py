"""Random state while recording: which calls draw, and what else happens to generators.

torch's public calls are seen; ``torch.manual_seed``, ``set_rng_state`` and the methods of a ``torch.Generator`` are not. They show in the
state of the generators, which is compared around every call: a state that nothing recorded has led to was seeded, or is one of before.
Each generator carries a mark in the place of its seed, so that it shows when it is seeded with what it had.
"""

from __future__ import annotations

import ctypes
import secrets
import threading
import types
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from ....errors import TracingError
from ....ir.node import Node
from ....ir.record import CallRecord
from ....ops.registry import ArraySpec
from ....passes import GeneratorState
from ....tracing.probes import INPUT, Probe, Session
from ....tracing.reach.world import World
from ....tracing.source.code_names import names_read
from ....trees import iterate_structure
from ..basics.refusals import UnseenDraw
from ..trace import Trace

_SEED_BYTES = 8  # the seed stands first in the state of a generator
_DEVICES = ("cpu", "cuda")  # whose generators keep it there
_LONGEST_SEED = 1 << 48  # ``seed()`` draws from the operating system, of 53 bits; nobody writes such a number
_DEFAULT_SEED = torch.Generator().initial_seed()
SPEC = ArraySpec((), "generator")


def is_generator(item: Any) -> bool:
    """Whether this is a generator of random numbers whose state can be followed."""
    return torch.Generator in type(item).__mro__ and item.device.type in _DEVICES  # isinstance runs Python's code of torch


class _Followed:
    """One generator: where it has been."""

    def __init__(self, generator: torch.Generator, is_new: bool) -> None:
        self.generator, self.before = generator, generator.get_state()
        self.mark = secrets.randbits(52)
        if not is_new:
            self.put_mark()
        self.points: list[tuple[bytes, int]] = []  # state, number of nodes that were recorded then

    def put_mark(self) -> None:
        """In the place of its seed."""
        marked = self.generator.get_state()
        ctypes.memmove(marked.data_ptr(), self.mark.to_bytes(_SEED_BYTES, "little"), _SEED_BYTES)
        self.generator.set_state(marked)

    def state(self) -> bytes:
        """What decides the next numbers."""
        whole = self.generator.get_state()
        # Straight from its memory: numpy() is seen by every mode of a recording, and takes a hundred times as long there.
        return ctypes.string_at(whole.data_ptr() + _SEED_BYTES, whole.nbytes - _SEED_BYTES)


class Generators:
    """The default generator, and those that the function can reach."""

    def __init__(self, capture: Trace, reachable: Iterable[torch.Generator]) -> None:
        self.capture = capture
        self._followed: dict[int, _Followed] = {}
        self.state_before: Any = None  # of the default generator
        self._defaults = default_generators()
        self._reachable = [*self._defaults, *filter(is_generator, reachable)]
        self._lock = threading.RLock()  # another thread may seed the default generator

    def refuse_seeds_read(self, functions: Iterable[types.FunctionType]) -> None:
        """``TracingError`` for code that asks a generator within reach for its seed (a method that nothing can stand in for): it would get
        the mark."""
        for function in functions:
            code = function.__code__
            names = names_read(code)
            if "initial_seed" in names and ("default_generator" in names or len(self._reachable) > len(self._defaults)):
                raise TracingError(
                    f"{code.co_filename}:{code.co_firstlineno}: {code.co_name} reads initial_seed() of a generator, which would become a "
                    "constant. "
                    "Pass it as an argument"
                )

    @contextmanager
    def following(self) -> Iterator[None]:
        """All generators are followed inside of the block, and afterwards as they were before."""
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

    def seed_apart(self, seed: Callable[[Any], Any], number: Any) -> Any:
        """Another thread calls ``torch.manual_seed`` meanwhile: that is no part of the recording."""
        with self._lock:
            generator = seed(number)
            followed = self._followed.get(id(torch.default_generator))
            if followed is not None:  # the recording may have ended meanwhile
                followed.put_mark()
                followed.points.append((followed.state(), self._count()))
        return generator

    def _follow(self, generator: torch.Generator, is_new: bool) -> _Followed:
        if id(generator) not in self._followed:
            followed = self._followed[id(generator)] = _Followed(generator, is_new)
            if not is_new:
                followed.points.append((followed.state(), self._count()))
        return self._followed[id(generator)]

    def _count(self) -> int:
        return len(self.capture.recorder.graph.nodes)

    # ------------------------------------------------------------------------------ around calls
    def are_unseeded(self) -> bool:
        """Whether no generator was seeded since the last call that could draw: a call that draws nothing need not look at their states."""
        return all(followed.generator.initial_seed() == followed.mark for followed in self._followed.values())

    def before(self, arguments: Any) -> list[_Followed]:
        """Makes up for what has happened to the generators that a call may draw from, and gives them."""
        with self._lock:
            return list(map(self._made_up, (*self._defaults, *filter(is_generator, iterate_structure(arguments)))))

    def drew(self, candidates: list[_Followed]) -> bool:
        """Whether the call that has just been made drew from one of them."""
        with self._lock:
            drew = False
            for followed in candidates:
                if (state := followed.state()) != followed.points[-1][0]:
                    followed.points.append((state, self._count() + 1))
                    drew = True
        return drew

    @contextmanager
    def undone(self) -> Iterator[None]:
        """Inside of the block draws are recorded; afterwards the generators are as before, for a block of the graph is recorded, not
        run."""
        with self._lock:
            before = [(followed, followed.generator.get_state(), len(followed.points)) for followed in self._followed.values()]
        yield
        with self._lock:
            for followed, state, count in before:
                followed.generator.set_state(state)
                del followed.points[count:]

    def unseen_draws(self) -> bool:
        """Whether a generator was drawn from since the last call, inside of code that one node of the graph runs."""
        return self.drew(list(self._followed.values()))

    def finish(self) -> None:
        """What has happened to the generators since the last call."""
        with self._lock:
            for followed in list(self._followed.values()):
                if followed.generator in self._reachable:
                    self._made_up(followed.generator)

    def _made_up(self, generator: torch.Generator) -> _Followed:
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
        """Whether these are the elements of the state of a generator, with the mark in the place of its seed."""
        if tensor.dtype != torch.uint8 or tensor.ndim != 1 or tensor.nbytes <= _SEED_BYTES or tensor.device.type != "cpu":
            return False
        first = int.from_bytes(ctypes.string_at(tensor.data_ptr(), _SEED_BYTES), "little")
        return any(first == followed.mark for followed in self._followed.values())

    def is_made(self, item: Any) -> bool:
        """Whether this is a generator that the function made, and keeps or gives back; ``TracingError`` where the graph does not run in
        torch."""
        if not is_generator(item) or (value := self.capture.recorder.find(item)) is None or self.capture.recorder.maker(value) is None:
            return False
        if not self.capture.for_torch:
            name = self.capture.recorder.graph.name
            raise TracingError(
                f"{name} keeps or gives back a generator of random numbers that it makes, which only torch has; make it outside"
            )
        return True

    # ------------------------------------------------------------------------------ as nodes
    def _node(self, name: str, inputs: tuple[Any, ...], *made: tuple[str, Any, ArraySpec]) -> Node:
        origin, outputs = self.capture.locator.locate(name, 4), self.capture.recorder.new_values(list(made))
        record = CallRecord(name.rpartition(".")[2], result=outputs[0] if outputs else None, random=True)
        return self.capture.recorder.add_call(name, inputs, {}, origin, outputs, record)

    def _record_new(self, followed: _Followed) -> None:
        device = followed.generator.device
        node = self._node("torch.Generator", () if device.type == "cpu" else (device,), ("generator", followed.generator, SPEC))
        self.capture.recorder.keep(followed.generator, node.outputs[0])

    def _record_seed(self, followed: _Followed, state: bytes) -> None:
        """``manual_seed``, where the state is that of a generator just seeded."""
        seed = followed.generator.initial_seed()
        fresh = _Followed(torch.Generator(followed.generator.device).manual_seed(seed), is_new=True)
        if fresh.state() != state or (seed >= _LONGEST_SEED and seed != _DEFAULT_SEED):
            self._refuse("was given a state that cannot be told from its seed" if fresh.state() != state else "was seeded by seed()")
        followed.put_mark()
        if followed.generator is torch.default_generator:
            self._node("torch.manual_seed", (seed,))
        else:
            self._node("torch.Generator.manual_seed", (self._named(followed.generator), seed))

    def _record_return(self, followed: _Followed, state: bytes) -> None:
        """The state of an earlier moment was put back: it is kept at that moment, and put back here."""
        index = next((at for known, at in followed.points if known == state), -1)
        if index < 0 and followed.generator is torch.default_generator and threading.active_count() > 1:
            return  # the mark is there, so it was not seeded: it went on, and every draw of this thread is seen
        if index < 0:
            self._refuse("was given a state that it never had in the recorded function")
        whole = followed.generator.get_state()
        own = followed.generator is not torch.default_generator
        names = ("torch.Generator.get_state", "torch.Generator.set_state") if own else ("torch.get_rng_state", "torch.set_rng_state")
        which = (self._named(followed.generator),) if own else ()
        graph = self.capture.recorder.graph
        node = self._node(names[0], which, ("state", whole, ArraySpec(tuple(whole.shape), "uint8")))
        self._alive = [*getattr(self, "_alive", []), whole]
        graph.nodes.remove(node)
        graph.nodes.insert(index, node)
        for other in self._followed.values():
            other.points = [(known, at + (at >= index)) for known, at in other.points]
        self._node(names[1], (*which, node.outputs[0]))

    def _named(self, generator: torch.Generator) -> Any:
        return self.capture.recorder.find(generator) or generator

    def _refuse(self, what: str) -> None:
        raise UnseenDraw(
            f"{self.capture.here()}: a random generator {what}, which cannot be recorded. Seed it with manual_seed, or do this outside of "
            "the function (another thread may have drawn from it meanwhile)"
        )


def default_generators() -> tuple[torch.Generator, ...]:
    """Those from which torch draws where no other one is given: of the CPU, and of each GPU that this process uses."""
    return (torch.default_generator, *(torch.cuda.default_generators if torch.cuda.is_initialized() else ()))


def generators_in(world: World) -> list[torch.Generator]:
    """The generators among the parts of containers."""
    found = (item for _, _, item in world.parts if isinstance(item, tuple) or is_generator(item))
    return [part for item in found for part in _parts(item) if is_generator(part)]


def _parts(item: Any) -> Iterator[Any]:
    """What an item is, or holds where it is a tuple: other containers are held themselves, and may hold each other."""
    yield item
    for part in item if isinstance(item, tuple) else ():
        yield from _parts(part)


def _seeded(session: Session, seed: Callable[[Any], Any], number: Any) -> Any:
    return seed(number) if session.hears() else session.trace.generators.seed_apart(seed, number)


SEEDS = tuple(Probe(module, "manual_seed", INPUT, _seeded) for module in (torch, torch.random))
