"""Tests of random numbers in graphs: constants if they depend on no array, and otherwise the same at every
call.
"""

from __future__ import annotations

from functools import partial

import pytest

from graph_compiler.ir.node import draws
from graph_compiler.ops import ArraySpec
from graph_compiler.passes.cleanup.constants import GeneratorState, bake_generators, repeat_draws
from graph_compiler.sizes import Size, Symbol

from .graphs import Recording, after, ops_of, region_of

bake = partial(bake_generators, copy="clone")
STATE = GeneratorState(ArraySpec((5,), "uint8"), "the state")
repeat = partial(repeat_draws, state=STATE, calls=("get_state", "set_state"))


def test_a_draw_of_no_array_is_no_draw_any_more() -> None:
    made = Recording()
    x = made.input("x")
    noise = made.call("rand", random=True)
    baked = after(bake, made.returning(made.call("add", x, noise)))
    assert ops_of(baked) == ["rand", "add"] and not any(node.is_random for node in baked.nodes)


def test_a_draw_in_a_region_is_baked_with_it() -> None:
    made = Recording()
    x, noise = made.input("x"), made.call("run", regions=(region_of("rand", random=True),))
    baked = after(bake, made.returning(made.call("add", x, noise)))
    assert ops_of(baked) == ["run", "add"] and not draws(baked.nodes)


def test_a_draw_that_reads_an_array_stays() -> None:
    made = Recording()
    graph = made.returning(made.call("dropout", made.input("x"), random=True))
    assert after(bake, graph) is graph


def test_a_draw_that_reads_a_draw_of_an_array_stays() -> None:
    made = Recording()
    first = made.call("bernoulli", made.input("x"), random=True)
    graph = made.returning(*(made.call("normal", first, random=True) for _ in range(2)))
    assert after(bake, graph) is graph


@pytest.mark.parametrize("is_random", [False, True])
def test_a_draw_that_reads_memory_written_from_an_array_stays(is_random: bool) -> None:
    made = Recording()
    memory = made.call("empty")
    made.call("write", memory, made.input("x"), writes=(memory,), random=is_random)
    graph = made.returning(made.call("normal", memory, random=True))
    assert after(bake, graph) is graph


def test_a_draw_of_an_array_before_it_is_written_is_baked() -> None:
    made = Recording()
    memory = made.call("zeros")
    noise = made.call("normal", memory, random=True)
    made.call("write", memory, made.input("x"), writes=(memory,))
    baked = after(bake, made.returning(noise))
    assert not any(node.is_random for node in baked.nodes)


def test_sizes_of_what_is_drawn_are_guarded() -> None:
    made = Recording()
    x = made.input("x")
    rows = Size.of(Symbol(x, 0, 2))
    made.call("rand", rows, 3, random=True)
    baked = after(bake, made.returning(x))
    assert [repr(guard.condition) for guard in baked.guards] == ["x.shape[0] == 2"]
    assert baked.nodes[0].inputs == (2, 3)


def test_a_caller_gets_a_copy_of_what_is_kept() -> None:
    made = Recording()
    made.input("x")
    noise = made.call("rand", random=True)
    part = made.call("getitem", noise, views={0: noise})
    baked = after(bake, made.returning(part, noise))
    assert ops_of(baked) == ["rand", "getitem", "clone", "clone"]
    assert [node.inputs for node in baked.nodes[2:]] == [(part,), (noise,)]
    assert baked.outputs == [node.outputs[0] for node in baked.nodes[2:]]


def test_draws_that_are_left_start_from_one_state() -> None:
    made = Recording()
    x = made.input("x")
    repeated = after(repeat, made.returning(made.call("dropout", x, random=True)))
    assert ops_of(repeated) == ["get_state", "set_state", "dropout", "set_state"]
    before, start, _, end = repeated.nodes
    state, array = repeated.constants["random_state"]
    assert start.inputs == (state,) and array == "the state"
    # Afterwards the generator is restored.
    assert end.inputs == before.outputs


def test_without_draws_nothing_is_set() -> None:
    made = Recording()
    graph = made.returning(made.call("exp", made.input("x")))
    assert after(repeat, graph) is graph
