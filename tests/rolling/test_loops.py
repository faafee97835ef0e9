"""Loops of Python become loops of the graph, and give the same numbers and gradients; what only looks like a loop stays written out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graph_compiler

from ..control_flow.running import in_turn
from .programs import ACROSS, EVERYWHERE, NEVER
from .running import SHAPES, arguments, check, compiled, library, loops

WAYS = [f"{source} {to}" for source in ("numpy", "torch", "jax") for to in ("numpy", "torch", "jax", "tensorflow")]


@pytest.mark.parametrize(("name", "way"), in_turn(EVERYWHERE, WAYS))
def test_a_loop_stays_a_loop(name: str, way: str) -> None:
    source, to = way.split()
    graph = check(EVERYWHERE[name], source, to)
    assert loops(graph) or to == "tensorflow", graph.source  # which writes short ones out


@pytest.mark.parametrize(("name", "way"), in_turn(ACROSS, [way for way in WAYS if len(set(way.split())) == 2]))
def test_counters_become_sequences(name: str, way: str) -> None:
    source, to = way.split()
    graph = check(ACROSS[name], source, to)
    assert loops(graph) or to == "tensorflow", graph.source  # which writes short ones out


@pytest.mark.parametrize(("name", "way"), in_turn(NEVER, WAYS))
def test_what_looks_like_a_loop_stays_written_out(name: str, way: str) -> None:
    source, to = way.split()
    graph = check(NEVER[name], source, to)
    assert not loops(graph), graph.source
