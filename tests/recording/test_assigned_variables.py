"""Tests of the variables that a block assigns, as the conversion of traced functions finds them."""

from __future__ import annotations

import ast

import pytest

from graph_compiler.recording.control_flow import ArrayKind
from graph_compiler.recording.control_flow.jumps import writes
from graph_compiler.recording.control_flow.variables import VariableLeaf, common_kind

# Code, and the variables that it assigns in its own scope.
BLOCKS: dict[str, tuple[str, str]] = {
    "decorator": ("@keep(a := 1)\ndef f(): b = 1", "a f"),
    "default": ("def f(x=(a := 1), *, y=(b := 2)): c = 1", "a b f"),
    "annotation": ("def f(x: (a := int)) -> (b := int): pass", "a b f"),
    "default of a lambda": ("f = lambda x=(a := 1): (b := x)", "a f"),
    "base class": ("class C((a := object), metaclass=(b := type)):\n    c = 1", "C a b"),
    "decorator of a class": ("@keep(a := 1)\nclass C: pass", "C a"),
    "comprehension": ("x = [(a := i) for i in y]", "a x"),
    "lambda in a comprehension": ("x = [lambda: (a := i) for i in y]", "x"),
    "default in a comprehension": ("x = [lambda j=(a := i): (b := j) for i in y]", "a x"),
}


@pytest.mark.parametrize("name", BLOCKS)
def test_writes(name: str) -> None:
    code, expected = BLOCKS[name]
    assert sorted(writes(ast.parse(code).body)) == sorted(expected.split())


@pytest.mark.parametrize("dtype", ["string", "key<fry>", "object", "variant"])
def test_a_number_and_an_array_of_no_numbers_have_nothing_in_common(dtype: str) -> None:
    number, array = VariableLeaf(0.0, ArrayKind("float32", (), number=True)), ArrayKind(dtype, ())
    assert common_kind(number, VariableLeaf(object(), array)) is None
