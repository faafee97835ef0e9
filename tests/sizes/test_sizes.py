"""Tests of the text of size expressions: it evaluates to the value of the expression, alone and next to any
operator.
"""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

from graph_compiler.ops.text import factor
from graph_compiler.sizes import Size, Symbol, apply, substitute

HINTS = {"a": 5, "b": 2, "c": 7}
SYMBOLS = [Size.of(Symbol(name, 0, hint=hint)) for name, hint in HINTS.items()]
ELSEWHERE = ({"a": 3, "b": 4, "c": 1}, {"a": 1, "b": 1, "c": 1}, {"a": 6, "b": 0, "c": 2})


def expression(draw: random.Random, depth: int) -> Any:
    """Return a random expression over the symbols."""
    if depth == 0:
        return draw.choice([*SYMBOLS, 1, 2, 3, -1])
    one, two, three = (expression(draw, depth - 1) for _ in range(3))
    made = (
        lambda: one + two,
        lambda: one - two,
        lambda: one * two,
        lambda: -one,
        lambda: one // draw.choice([2, 3, -2, SYMBOLS[0], SYMBOLS[0] * 2]),
        lambda: one % draw.choice([2, 3, -3, SYMBOLS[0], SYMBOLS[0] + 1]),
        lambda: apply(draw.choice(["max", "min", "bitwise_and", "bitwise_or", "bitwise_xor"]), one, two),
        lambda: apply("abs", one),
        lambda: apply("ite", apply(draw.choice(["lt", "le", "eq", "ne"]), one, two), two, three),
        lambda: apply(
            draw.choice(["floor", "ceil", "trunc", "round"]), apply("truediv", one, draw.choice([2, 3]))
        ),
        lambda: apply("trunc", apply("mul", apply("float", one), 0.3)),
    )
    return draw.choice(made)()


@pytest.mark.parametrize("seed", range(4))
def test_the_text_of_a_size_computes_the_size(seed: int) -> None:
    draw, checked = random.Random(seed), 0
    while checked < 1000:
        try:
            size = expression(draw, draw.randrange(1, 5))
        except ZeroDivisionError:
            continue
        for values in (HINTS, *ELSEWHERE) if isinstance(size, Size) else ():
            text, known = size.text(lambda symbol: symbol.source), {"math": math, **values}
            try:
                wanted, found = (
                    substitute(size, lambda symbol, values=values: values[symbol.source]),
                    eval(text, known),
                )
            except ZeroDivisionError:
                continue
            assert (type(found), found) == (type(wanted), wanted), text
            assert eval(f"100 * {factor(text)} ** 2", known) == 100 * wanted**2, text
            assert values is not HINTS or size.hint == wanted, text
            checked += 1


def test_a_product_of_many_sums_is_not_multiplied_out() -> None:
    product: Any = 1
    for number in range(60):
        product = product * (Size.of(Symbol(f"x{number}", 0, hint=1)) + 1)
    elsewhere = {f"x{number}": number % 3 for number in range(60)}
    assert len(list(product.terms())) <= 32 and product.hint == 2**60
    assert substitute(product, lambda symbol: elsewhere[symbol.source]) == 6**20


A, B, C = SYMBOLS
PRODUCTS = {
    "(a.shape[0] + 1) * (b.shape[0] - 2)": (A + 1) * (B - 2),
    "(a.shape[0] + b.shape[0]) * (c.shape[0] + (b.shape[0] // 2))": (A + B) * (C + B // 2),
    "(b.shape[0] + 3) * (a.shape[0] * 2 + 1)": (A * 2 + 1) * (B + 3),
    "a.shape[0] * b.shape[0] + a.shape[0] + b.shape[0] + 2": (A + 1) * (B + 1) + 1,
    "a.shape[0] * b.shape[0] + a.shape[0] + b.shape[0] * 2 + 1": (A + 1) * (B + 1) + B,
    "a.shape[0] * a.shape[0] + a.shape[0] * 2 + 1": (A + 1) * (A + 1),
}


@pytest.mark.parametrize("text", PRODUCTS)
def test_products_of_two_sums_are_written_as_such(text: str) -> None:
    assert repr(PRODUCTS[text]) == text
