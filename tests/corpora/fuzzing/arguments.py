"""Random arguments of programs: arrays whose sizes are shared, so that they broadcast at every call; numbers,
lists, optional and aliased arguments.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

import numpy as np

from .program import Call, Line

SHAPES = (
    ("n", "m"),
    ("m",),
    ("n", "m"),
    ("n", 1),
    (),
    ("n",),
    (2, "n", "m"),
    ("n", 2, "m"),
    (1, "m"),
    ("n", "n"),
    (3,),
)
DTYPES = (
    ("float32",) * 7
    + ("int64",) * 4
    + ("bool", "int32", "float64", "uint8", "float16", "bfloat16", "int16", "complex64", "int8")
)
LAYOUTS = ("{}",) * 8 + (
    "{}.t()",
    "{}[::2]",
    "{}.mT",
    "{}.expand(2, *[-1] * {}.dim())",
    "{}.flip(0)",
    "{}[1:]",
)
ALIASES = ("{}", "{}[0]", "{}.t()", "{}[1:]")
# The sizes (n, m) of the first call are at least 2, to tell them apart from 1.
SIZES = ((2, 3), (3, 4), (4, 2), (3, 3))
OTHER_SIZES = ((3, 2), (5, 3), (2, 5), (4, 4), (2, 3), (3, 4))
WILD_SIZES = ((1, 3), (3, 1), (1, 1), (2, 2), (6, 2), (0, 3))
NUMBERS = ("2", "0.5", "True", "-1", "3")


@dataclass(frozen=True)
class Argument:
    """A parameter of a random program.

    make: ``make(sizes, sign, salt)`` returns the lines that create the argument of a call.
    default: text of the default, or an empty string.
    given: for each call, True if an argument with a default is passed.
    """

    name: str
    make: Callable[[dict[str, int], int, int], tuple[Line, ...]]
    default: str = ""
    given: tuple[bool, ...] = ()


def literal(shape: tuple[int, ...], dtype: str, sign: int, salt: int) -> str:
    """Return the text of an array of small numbers, multiples of 1/4 for floats; ``sign`` 0 mixes both signs."""
    count = math.prod(shape)
    numbers = np.random.RandomState(salt).permutation(count) - count // 2
    if sign:
        numbers = sign * (np.abs(numbers) + 1)
    if dtype == "bool":
        numbers = numbers % 2 == 0
    elif dtype == "uint8":
        numbers = np.abs(numbers) % 7
    elif "int" not in dtype:
        numbers = numbers * 0.25 if dtype != "complex64" else numbers * (0.25 + 0.5j)
    else:
        numbers = numbers % 9 - 4 if not sign else sign * (numbers % 5)
    values = numbers.reshape(shape).tolist()
    return f"torch.tensor({values}, dtype=torch.{dtype})" + (f".reshape({shape})" if count == 0 else "")


def _array(random: Random, name: str) -> Argument:
    shape, dtype, layout = random.choice(SHAPES), random.choice(DTYPES), random.choice(LAYOUTS)

    def make(sizes: dict[str, int], sign: int, salt: int) -> tuple[Line, ...]:
        text = f"{name} = {literal(tuple(sizes.get(size, size) for size in shape), dtype, sign, salt)}"
        return (
            (Line(text),) if layout == "{}" else (Line(text), Line(f"{name} = {layout.replace('{}', name)}"))
        )

    return Argument(name, make)


def _alias(random: Random, name: str, of: str) -> Argument:
    how = random.choice(ALIASES).format(of)
    return Argument(name, lambda sizes, sign, salt: (Line(f"{name} = {how}"),))


def _number(random: Random, name: str) -> Argument:
    values = [random.choice(NUMBERS) for _ in range(2)]
    return Argument(name, lambda sizes, sign, salt: (Line(f"{name} = {values[salt % 2]}"),))


def _list(random: Random, name: str) -> Argument:
    parts = [_array(random, f"{name}{i}") for i in range(random.choice((2, 1, 3)))]

    def make(sizes: dict[str, int], sign: int, salt: int) -> tuple[Line, ...]:
        lines = [line for i, part in enumerate(parts) for line in part.make(sizes, sign, salt + i)]
        return (*lines, Line(f"{name} = [{', '.join(part.name for part in parts)}]"))

    return Argument(name, make)


def _optional(random: Random, name: str) -> Argument:
    inner = _array(random, name)
    return Argument(name, inner.make, "None", tuple(random.random() < 0.5 for _ in range(3)))


def arguments(random: Random) -> list[Argument]:
    """Return an array ``x``, up to two more arguments, and rarely an optional one."""
    found = [_array(random, "x")]
    for name in "yzw"[: random.randint(0, 2)]:
        kind = random.choice(("array",) * 7 + ("list", "number", "alias"))
        makers = {"array": _array, "list": _list, "number": _number}
        found.append(_alias(random, name, "x") if kind == "alias" else makers[kind](random, name))
    return [*found, _optional(random, "extra")] if random.randint(0, 9) == 9 else found


def calls(random: Random, given: list[Argument]) -> tuple[Call, ...]:
    """Return three calls: the recorded sizes, other sizes, and sizes that may be 0 or 1."""
    found = []
    for number, pool in enumerate((SIZES, OTHER_SIZES, WILD_SIZES)):
        sizes = dict(zip("nm", random.choice(pool)))
        sign, salt = random.choice((0, 1, -1)), random.randint(0, 3)
        here = [argument for argument in given if not argument.default or argument.given[number]]
        lines = [line for i, argument in enumerate(here) for line in argument.make(sizes, sign, salt + 7 * i)]
        found.append(Call(tuple(lines), "".join(f"{argument.name}, " for argument in here).strip()))
    return tuple(found)


def signature(given: list[Argument]) -> str:
    """Return the parameter list as text."""
    return ", ".join(
        f"{argument.name}={argument.default}" if argument.default else argument.name for argument in given
    )
