"""Tests of the record of arrays that may share memory, depending on the block that ran."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from graph_compiler.errors import TracingError
from graph_compiler.ir.node import Origin, Value
from graph_compiler.ops.registry import ArraySpec
from graph_compiler.recording.control_flow.recorded_regions import PossibleAliases

HERE = Origin("file.py", 1)


def _aliases(alive: set[Value]) -> PossibleAliases:
    recorder: Any = SimpleNamespace(
        base_of=lambda value: value, array_of=lambda value: value if value in alive else None
    )
    return PossibleAliases(recorder)


def test_an_array_that_may_be_one_through_a_dead_one_is_not_written_to() -> None:
    # out = a if p else b; a loop that may run no iteration replaces out.
    a, b, out, after = (Value(name, ArraySpec((2,), "float32")) for name in ("a", "b", "out", "after"))
    aliases = _aliases({a, after})
    aliases.tie((out, a, b))
    aliases.tie((after, out))
    with pytest.raises(TracingError, match="Write to a copy"):
        aliases.refuse(a, HERE)


def test_an_array_whose_possible_aliases_are_gone_may_be_written_to() -> None:
    a, out, other = (Value(name, ArraySpec((2,), "float32")) for name in ("a", "out", "other"))
    aliases = _aliases({a, other})
    aliases.tie((out, a))
    aliases.refuse(a, HERE)
    aliases.refuse(other, HERE)
