"""What a recording of torch code watches and stands in for, beside the calls of torch."""

from __future__ import annotations

import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...tracing.environment.conjunction import EnvironmentGuard
from ...tracing.loops import Loops, loop_shims
from ...tracing.probes import Probes, Session, probing
from ...tracing.probes.global_reads import GlobalReads
from ...tracing.probes.host_math import MATH, Symbols
from ...tracing.probes.replaced import Place
from ...tracing.reach.spaces import Space
from .capture.capture import Capture
from .gradients.rules import RULES
from .numbers.host_math import conversion_shims, symbols_of
from .numbers.type_calls import type_shims
from .process.clocks import CLOCKS
from .process.encoders import ENCODERS, encoder_facts
from .process.generators import SEEDS
from .process.host_draws import HOST_DRAWS
from .process.modes import is_listening
from .process.setting_reads import SETTING_READS
from .state.attribute_reads import AttributeReads
from .state.module_reads import MODULE_READS, member_facts

PROBES = Probes(*SETTING_READS, *MODULE_READS, *MATH, *CLOCKS, *HOST_DRAWS, *SEEDS, *RULES)
OF_ENCODERS = Probes(*ENCODERS)  # as long as modes of the recording are on, also while a run is repeated


class Reads:
    """What the code of one attempt asks for beside the calls of torch, which ``session`` is told."""

    def __init__(
        self, capture: Capture, session: Session, spaces: list[Space], functions: list[types.FunctionType], tensors: list[Any]
    ) -> None:
        self.capture, self.session, self.spaces, self.functions = capture, session, spaces, functions
        self.attributes = AttributeReads(capture, session, tensors)
        self.globals = GlobalReads(functions)

    @contextmanager
    def seen(self) -> Iterator[None]:
        """Inside of the block reads are noted, and code finds symbols where it computes with sizes."""
        held, session = [space.held for space in self.spaces], self.session
        self.capture.spaces = frozenset(map(id, held))
        session.symbols = symbols = symbols_of(self.capture)
        names = [*([] if self.capture.weights.are_none else self._shims(symbols)), *self.attributes.places()]
        with self.attributes.kept(), probing(PROBES, session, held, names):
            yield

    def _shims(self, symbols: Symbols) -> list[Place]:
        """Of names of Python's own functions in the modules of the user's code."""
        return [
            *loop_shims(self.functions, self._loops),
            *conversion_shims(self.capture, symbols, self.spaces),
            *type_shims(self.spaces),
            *self.globals.places(),
        ]

    def _loops(self) -> Loops | None:
        """The loops of the recording, where it sees what the caller does."""
        return self.capture.loops if self.session.hears() and is_listening(self.capture) else None

    def facts(self) -> list[EnvironmentGuard]:
        """What was read is what it was."""
        session = self.session
        told = [*member_facts(session), *encoder_facts(session), *session.facts()] if session.was_told() else []
        return [*self.attributes.facts, *self.globals.facts(), *told]
