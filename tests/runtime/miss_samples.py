"""Functions that decide by values or sizes, each with a call that decides otherwise and the expected message.

pytest rewrites the ``assert`` statements of test modules, but not those of this file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

ALL = ("torch", "jax", "tensorflow", "numpy")


@dataclass(frozen=True)
class Sample:
    """A function, the elements of its array in two calls, and the message about the second call.

    message: the message, in which ``@`` stands for the file and line.
    sources: frameworks that the function may be written in.
    """

    function: Callable[[Any], Any]
    recorded: list[float]
    other: list[float]
    message: str
    sources: tuple[str, ...] = ALL

    @property
    def name(self) -> str:
        return self.function.__name__


def branch_on_an_element(x: Any) -> Any:
    if x[0] > 10:
        return x * 2
    return x - 1


def branch_on_a_size(x: Any) -> Any:
    if x.shape[0] > 2:
        return x * 2
    return x - 1


def first_of_two_conditions(x: Any) -> Any:
    return x * 2 if x[0] > 0 and x[1] > 0 else x


def second_of_two_conditions(x: Any) -> Any:
    return x * 2 if x[0] > 0 and x[1] > 0 else x


def chained_comparison(x: Any) -> Any:
    return x * 2 if 0 < x[0] < 5 else x


def condition_in_bool(x: Any) -> Any:
    return x * bool(x[0] > 0)


def condition_in_a_helper(x: Any) -> Any:
    return _halved_if_positive(x)


def _halved_if_positive(rows: Any) -> Any:
    return rows / 2 if rows[0] > 0 else rows


def size_as_an_index(x: Any) -> Any:
    return x * (0, 1, 2, 3, 4)[x.shape[0]]


def size_as_a_key(x: Any) -> Any:
    return x * {2: 1, 3: 2}[x.shape[0]]


def number_as_an_index(x: Any) -> Any:
    return x * (0, 1, 2, 3, 4)[int(x[0])]


def trip_count_of_while(x: Any) -> Any:
    while x[0] < 20:
        x = x * 2
    return x


def trip_count_of_for(x: Any) -> Any:
    for step in range(int(x[0])):
        x = x * (step + 2)
    return x


def asserted(x: Any) -> Any:
    assert x[0] > 0, "the first element must be positive"
    return x * 2


def rows_of_a_mask(x: Any) -> Any:
    rows = x[x > 0]
    return rows * 2 if rows.shape[0] == 3 else rows


def condition_of_several_lines(x: Any) -> Any:
    if (
        x[0]
        # A comment is not quoted.
        > 10
    ):
        return x * 2
    return x


def long_condition(x: Any) -> Any:
    return x if x[0] * 1.0 + x[1] * 1.0 + x[2] * 1.0 + x[0] * 2.0 + x[1] * 2.0 + x[2] * 2.0 > 0 else -x


def list_of_elements(x: Any) -> Any:
    return x * max(x.tolist(), default=0)


@dataclass(frozen=True)
class OutsideSample:
    """A function that reads an object outside its arguments, a change of that object, and the message."""

    function: Callable[[Any], Any]
    change: Callable[[], Any]
    message: str

    @property
    def name(self) -> str:
        return self.function.__name__


class Recipe:
    def __init__(self) -> None:
        self.factor, self.mode = 3, "fast"


limit, other, offset = 2.0, 1.0, None
settings: dict[str, float] = {"scale": 2}
numbers = [1] * 5000
recipe = Recipe()


def reads_a_global(x: Any) -> Any:
    return x * limit


def reads_a_number_that_becomes_an_object(x: Any) -> Any:
    return x * (0 if isinstance(other, float) else 1)


def reads_a_global_that_is_none(x: Any) -> Any:
    return x if offset is None else x + offset


def reads_an_item(x: Any) -> Any:
    return x * settings["scale"]


def reads_a_long_list(x: Any) -> Any:
    return x * len(numbers)


def reads_an_attribute(x: Any) -> Any:
    return x * recipe.factor


def reads_a_string(x: Any) -> Any:
    return x * 2 if recipe.mode == "fast" else x


def calls_a_function(x: Any) -> Any:
    return _halved_if_positive(x)


OUTSIDE = (
    OutsideSample(
        reads_a_global,
        lambda: globals().update(limit=3.0),
        "the global limit was 2.0 when recorded and is 3.0 now",
    ),
    OutsideSample(
        reads_a_number_that_becomes_an_object,
        lambda: globals().update(other=Recipe()),
        "the global other was 1.0 when recorded and is a Recipe now",
    ),
    OutsideSample(
        reads_a_global_that_is_none,
        lambda: globals().update(offset=1),
        "the global offset was None when recorded and is 1 now",
    ),
    OutsideSample(
        reads_an_item,
        lambda: settings.update(scale=4),
        "an item of the global settings changed since",
    ),
    OutsideSample(
        reads_a_long_list,
        lambda: numbers.append(1),
        "the length of the global numbers was 5000 when recorded and is 5001 now",
    ),
    OutsideSample(
        reads_an_attribute,
        lambda: vars(recipe).update(factor=4),
        "the attribute factor of a Recipe was 3 when recorded and is 4 now",
    ),
    OutsideSample(
        reads_a_string,
        lambda: vars(recipe).update(mode="exact"),
        "the attribute mode of a Recipe was 'fast' when recorded and is 'exact' now",
    ),
    OutsideSample(
        calls_a_function,
        lambda: globals().update(_halved_if_positive=reads_a_global),
        "the global _halved_if_positive changed since",
    ),
)


SAMPLES = (
    Sample(
        branch_on_an_element,
        [11, 2, 3],
        [1, 2, 3],
        "`if x[0] > 10` at @ was True when recorded and is False for this call",
    ),
    Sample(
        branch_on_a_size,
        [1, 2, 3],
        [1],
        "`if x.shape[0] > 2` at @ was recorded for x.shape[0] > 2, and x.shape[0] is 1 for this call",
    ),
    Sample(
        first_of_two_conditions,
        [1, 2, 3],
        [-1, 2, 3],
        "`x[0] > 0` at @ was True when recorded and is False for this call",
    ),
    Sample(
        second_of_two_conditions,
        [1, 2, 3],
        [1, -2, 3],
        "`x[1] > 0` at @ was True when recorded and is False for this call",
    ),
    Sample(
        chained_comparison,
        [1, 2, 3],
        [9, 2, 3],
        "a condition in `if 0 < x[0] < 5` at @ was True when recorded and is False for this call",
    ),
    Sample(
        condition_in_bool,
        [1, 2, 3],
        [-1, 2, 3],
        "`bool(x[0] > 0)` at @ was True when recorded and is False for this call",
        ("torch", "jax", "tensorflow"),
    ),
    Sample(
        condition_in_a_helper,
        [1, 2, 3],
        [-1, 2, 3],
        "`if rows[0] > 0` at @ was True when recorded and is False for this call",
    ),
    Sample(
        size_as_an_index,
        [1, 2, 3],
        [1, 2],
        "`(0, 1, 2, 3, 4)[x.shape[0]]` at @ was recorded for x.shape[0] == 3, and x.shape[0] is 2 for this call",
    ),
    Sample(
        size_as_a_key,
        [1, 2, 3],
        [1, 2],
        "`{2: 1, 3: 2}[x.shape[0]]` at @ was recorded for x.shape[0] == 3, and x.shape[0] is 2 for this call",
    ),
    Sample(
        number_as_an_index,
        [1, 2, 3],
        [2, 2, 3],
        "a condition in `(0, 1, 2, 3, 4)[int(x[0])]` at @ was True when recorded and is False for this call",
        ("jax",),
    ),
    Sample(
        number_as_an_index,
        [1, 2, 3],
        [2, 2, 3],
        "a number in `(0, 1, 2, 3, 4)[int(x[0])]` at @ was 1 when recorded and is 2 for this call",
        ("numpy",),
    ),
    Sample(
        trip_count_of_while,
        [11, 2, 3],
        [1, 2, 3],
        "`while x[0] < 20` at @ was False when recorded and is True for this call",
    ),
    Sample(
        trip_count_of_for,
        [1, 2, 3],
        [2, 2, 3],
        "a number in `for step in range(int(x[0]))` at @ was 1 when recorded and is 2 for this call",
        ("numpy",),
    ),
    Sample(
        asserted,
        [1, 2, 3],
        [-1, 2, 3],
        "`assert x[0] > 0` at @ was True when recorded and is False for this call",
    ),
    Sample(
        rows_of_a_mask,
        [1, 2, 3],
        [-1, 2, 3],
        "`if rows.shape[0] == 3` at @ was recorded for rows.shape[0] == 3, and rows.shape[0] is 2 for this call",
        ("torch", "numpy"),
    ),
    Sample(
        condition_of_several_lines,
        [11, 2, 3],
        [1, 2, 3],
        "`if x[0] > 10` at @ was True when recorded and is False for this call",
    ),
    Sample(
        long_condition,
        [1, 2, 3],
        [-1, -2, -3],
        "`if x[0] * 1.0 + x[1] * 1.0 + x[2] * 1.0 + x[0] * 2.0 + x[1] * 2.0 + x[2] * 2....` at @ was True when "
        "recorded and is False for this call",
    ),
    Sample(
        list_of_elements,
        [float(number) for number in range(40)],
        [float(number) for number in range(39)] + [50.0],
        "element [39] of `x.tolist()` at @ was 39.0 when recorded and is 50.0 for this call",
        ("torch",),
    ),
)
