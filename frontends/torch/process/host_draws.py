"""Random numbers of Python and numpy that a torch function draws: the calls are made again before each call of the graph, and give it their
numbers."""

from __future__ import annotations

import copy
import functools
import random
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from ....errors import TracingError
from ....forwarding import forward, forwards
from ....sizes import Size, Symbol
from ....tracing.probes import INPUT, Probe, Session
from ....tracing.probes.call_site import behind
from ....tracing.probes.host_random import DRAWS, host_state, restore_host_state, same_host_state
from ....tracing.state.places import Draw
from ....trees import Static, flatten, unflatten
from ...open_numbers import DTYPES
from ..basics.refusals import UnseenDraw
from ..numbers.sizes import is_symbolic, symbolic
from ..numbers.typed import typed
from ..trace import Trace


class HostDraws:
    """What a recording has drawn. ``bakes``: the numbers count as constants."""

    def __init__(self, capture: Trace, bakes: bool) -> None:
        self.capture, self.bakes = capture, bakes
        self.draws: list[Draw] = []
        self._log: list[Callable[[], Any]] = []  # every draw that was seen, of other threads too, to be made again
        self._lock = threading.RLock()
        self.trees: list[Any] = []

    @contextmanager
    def checked(self) -> Iterator[None]:
        """The generators of both modules are as before after the block. ``UnseenDraw`` where something was drawn unseen inside."""
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
        """What was drawn is what was seen: the same calls from the state of before lead to the state of now. Other threads wait meanwhile.
        Tells whether nothing was drawn.

        ``setstate`` is not watched, since torch's compiler calls it to put back what it has drawn itself: one that matters shows here.
        """
        if self.bakes:
            return False
        with self._lock:
            now, has_drawn = host_state(), bool(self._log)
            reached = self._reached(before) if has_drawn else before
        if not same_host_state(now, reached):
            raise UnseenDraw(
                f"{self.capture.recorder.graph.name} draws random numbers of Python or numpy in a way that cannot be recorded (by a "
                "function that is kept in an object, or inside of another library). Call it through its module, or use torch's random "
                "functions"
            )
        return not has_drawn

    def _reached(self, before: Any) -> Any:
        """The state to which the draws that were seen lead."""
        restore_host_state(before)
        for draw in self._log:
            draw()
        return host_state()

    def _place(self, whole: str) -> Any:
        self.capture.call = whole
        return self.capture.locator.locate(whole, 3)

    def draw_apart(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What another thread draws is no part of the recording, but it moves the generators, too."""
        with self._lock:
            try:
                again = functools.partial(function, *copy.deepcopy(args), **copy.deepcopy(kwargs))  # shuffle changes its argument
            # Arguments are objects of another thread, whose copying may raise anything.
            except Exception:
                return forward(function, *args, **kwargs)
            self._log.append(again)
            return forward(function, *args, **kwargs)

    def draw(self, whole: str, name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What a call of the function draws, as an input of the graph."""
        args, kwargs = (tuple(map(_plain, args)), {key: _plain(item) for key, item in kwargs.items()})
        if name == "shuffle":
            self._refuse(whole, "changes its argument")
        if name == "choice" and whole.startswith("random."):
            return args[0][self.draw("random.randrange", "randrange", random.Random.randrange.__get__(random._inst), (len(args[0]),), {})]
        space = random if whole.startswith("random.") else np.random
        draw = Draw(whole, lambda: _number(getattr(space, name)(*args, **kwargs)))  # as it is then: another thread may be recording
        with self._lock:
            self._log.append(lambda: function(*args, **kwargs))
            held = _number(forward(function, *args, **kwargs))
        if held is not None and not _holds_numbers(held):
            self._refuse(whole, f"gives {type(held).__name__} objects; only numbers can be inputs of a graph")
        return self._entered(draw, name, held)

    def number(self, draw: Draw, name: str) -> Any:
        """One number that something outside gives, which is asked again before each call of the graph; as it is, where such numbers are
        constants."""
        held = draw.read()
        return held if self.bakes else self._entered(draw, name, held)

    def _entered(self, draw: Draw, name: str, held: Any) -> Any:
        """What the user's code gets: the numbers that were drawn as symbols, which are inputs of the graph."""
        leaves, tree = flatten(held, _is_number)
        self.draws.append(draw)
        self.trees.append(typed(tree, iter(leaves)))
        values = [self.capture.add_number(name, leaf) for leaf in leaves]
        return unflatten(
            tree, [symbolic(Size.of(Symbol(value, 0, leaf, "item")), self.capture.decide) for value, leaf in zip(values, leaves)]
        )

    def _refuse(self, whole: str, why: str) -> None:
        raise TracingError(f"{self._place(whole)}: {whole} {why}, so what it draws cannot be recorded. Use torch's random functions")


def _is_number(item: Any) -> bool:
    return type(item) in DTYPES


def _holds_numbers(held: Any) -> bool:
    """Whether this is a number, or a container that holds no arrays, nor what stands for one of their elements."""
    parts = held if isinstance(held, (list, tuple)) else [held]
    return not isinstance(flatten(held, _is_number)[1], Static) and not any(hasattr(item, "dtype") for item in parts)


def _plain(item: Any) -> Any:
    return item.node.guard_float() if isinstance(item, torch.SymFloat) else int(item) if is_symbolic(item) else item


def _number(item: Any) -> Any:
    return item.item() if isinstance(item, np.generic) else item


@forwards
def _drawn(whole: str, name: str, session: Session, original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    draws: HostDraws = session.trace.host_draws
    if not session.hears():
        return draws.draw_apart(original, args, kwargs)
    is_inner = behind(sys._getframe(1)).f_globals.get("__name__") == "random"  # a call that one of these functions makes of another
    return original(*args, **kwargs) if draws.bakes or is_inner else draws.draw(whole, name, original, args, kwargs)


HOST_DRAWS = tuple(
    Probe(module, name, INPUT, functools.partial(_drawn, f"{module.__name__}.{name}", name))
    for module, names in DRAWS.items()
    for name in (*names, "seed")
)
