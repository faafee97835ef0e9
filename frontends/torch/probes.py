"""What a recording of torch code watches and stands in for, beside the calls of torch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...tracing.probes import Probes, Session, probing
from ...tracing.probes.global_reads import GlobalReads
from ...tracing.probes.host_math import MATH
from ...tracing.reach.spaces import Space
from .capture.capture import Capture
from .gradients.rules import RULES
from .numbers.host_math import conversion_shims, symbols_of
from .numbers.type_calls import type_shims
from .process.clocks import CLOCKS
from .process.encoders import ENCODERS
from .process.generators import SEEDS
from .process.host_draws import HOST_DRAWS
from .process.setting_reads import SETTING_READS
from .state.attribute_reads import AttributeReads
from .state.module_reads import MODULE_READS

PROBES = Probes(*SETTING_READS, *MODULE_READS, *MATH, *CLOCKS, *HOST_DRAWS, *SEEDS, *RULES)
OF_ENCODERS = Probes(*ENCODERS)  # as long as modes of the recording are on, also while a run is repeated


@contextmanager
def reads_seen(
    capture: Capture, session: Session, spaces: list[Space], globals_read: GlobalReads, attributes: AttributeReads
) -> Iterator[None]:
    """Inside of the block the session is told what the code of these modules asks for, and finds symbols where it computes with sizes."""
    capture.spaces = frozenset(id(space.held) for space in spaces)
    session.trace, session.symbols = capture, symbols_of(capture)
    names: list[Any] = [
        *conversion_shims(capture, session.symbols, spaces),
        *type_shims(spaces),
        *globals_read.places(),
        *attributes.places(),
    ]
    try:
        with attributes.kept(), probing(PROBES, session, (space.held for space in spaces), names):
            yield
    finally:
        session.symbols = None  # which know the recording
