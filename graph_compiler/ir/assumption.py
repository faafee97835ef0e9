"""Protocol of assumptions about a call, beyond the structure, dtypes and ranks of its arguments.

The kinds about arguments are in :mod:`graph_compiler.assumptions`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Protocol

from ..errors import InvalidFile
from ..sizes import Symbol
from .node import Origin, Value

# Maps a size, number or value to its counterpart in another graph.
Substitution = Callable[[Any], Any]


class Assumption(Protocol):
    """Immutable condition under which the results of a graph are valid for a call."""

    # Name of the kind in saved files.
    kind: ClassVar[str]

    def lines(self, names: MatcherNames) -> list[str]:
        """Return lines of the generated matcher that check the condition.

        Return an empty list for a condition that is not checked before the call.
        """

    def why_broken(self, call: MismatchedCall) -> str | None:
        """Return the reason why the condition rejects ``call``; None if no reason is found."""

    def mapped(self, replaced: Substitution) -> Assumption | None:
        """Return the condition with ``replaced`` applied to its values and sizes.

        Return None only if the new condition always holds.
        """

    def to_json(self, write: JsonWriter) -> Any:
        """Return the fields for a saved file, without the kind."""

    @classmethod
    def from_json(cls, data: Any, read: JsonReader) -> Assumption:
        """Return the assumption that `to_json` wrote.

        Files are not trusted, so malformed data must raise an error, such as `InvalidFile`.
        """


class MatcherNames(Protocol):
    """Names and expressions for a call in generated matching code."""

    def given(self, number: int) -> str:
        """Return the name of the object passed for input ``number``."""

    def on_host(self, number: int) -> str:
        """Return an expression for the elements of input ``number`` as a NumPy array.

        Its value at run time is None if the elements are not available on the host.
        """

    def knows(self, symbol: Symbol) -> bool:
        """Return True if :meth:`size` has an expression for this size or number."""

    def size(self, symbol: Symbol) -> str:
        """Return an expression for a size or number of the call."""

    def bind(self, **items: Any) -> None:
        """Make objects available to the code under these names."""

    def require(self, condition: str) -> str:
        """Return a line that rejects the call unless `condition` holds."""

    def require_of_sizes(self, condition: str, words: Callable[[], str]) -> list[str]:
        """Return lines that reject the call unless a condition on sizes holds.

        A check of sizes that are unknown before the call may be deferred; its error begins with ``words()``.
        """


class MismatchedCall(Protocol):
    """Call that did not match a variant, for the code that explains why."""

    @property
    def inputs(self) -> Sequence[Value]:
        """Inputs of the graph."""

    @property
    def leaves(self) -> Sequence[Any]:
        """Objects for the first inputs: leaves of the arguments, then of the user's state."""

    @property
    def kwargs(self) -> Mapping[str, Any]: ...

    @property
    def undecided_errors(self) -> tuple[type[Exception], ...]:
        """Exceptions that a comparison of sizes raises while the sizes are unknown."""

    def size(self, symbol: Symbol) -> Any:
        """Return the value of a size or number in this call; None if it is unknown before the call runs."""

    def on_host(self, number: int) -> Any:
        """Return the elements of input ``number`` as a NumPy array; None if the host does not have them."""


class JsonWriter(Protocol):
    """Encoder of values, sizes and origins of a graph as JSON data."""

    def item(self, item: Any) -> Any:
        """Return the JSON form of an argument, such as a value, a size, or a container of these."""

    def origin(self, origin: Origin) -> Any:
        """Return the JSON form of a source location."""


class JsonReader(Protocol):
    """Decoder of the data of a :class:`JsonWriter`."""

    @property
    def inputs(self) -> Sequence[Value]:
        """Inputs of the graph."""

    def item(self, data: Any) -> Any:
        """Return the argument that has this JSON form."""

    def origin(self, data: Any) -> Origin:
        """Return the source location that has this JSON form."""


def row(data: Any, count: int) -> list[Any]:
    if type(data) is not list or len(data) != count:
        raise InvalidFile(f"{data!r:.80} is no list of {count}")
    return data


def input_number(item: Any, read: JsonReader) -> int:
    if type(item) is not int or not 0 <= item < len(read.inputs):
        raise InvalidFile(f"{item!r:.80} is no input")
    return item


def first_difference(left: Any, right: Any, rounding: float = 0.0) -> tuple[str, Any, Any]:
    """Return the index of the first difference between nested lists as text, and the two elements there.

    With an empty index, the two elements are ``left`` and ``right`` themselves.

    >>> first_difference([[1, 2], [3, 4]], [[1, 2], [3, 5]])
    ('[1][1]', 4, 5)
    """
    if isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for place, pair in enumerate(zip(left, right)):
            if not same_elements(*pair, rounding):
                inner, one, other = first_difference(*pair, rounding)
                return f"[{place}]{inner}", one, other
    return "", left, right


def same_elements(left: Any, right: Any, rounding: float = 0.0) -> bool:
    """Compare nested elements; ``rounding`` is a relative tolerance for floats and complex numbers.

    >>> same_elements([1.0, float("nan")], [1.0, float("nan")]), same_elements(0.0, -0.0)
    (True, False)
    >>> same_elements(1.0, 1.00001, rounding=1e-4), same_elements(1.0, float("inf"), rounding=1e-4)
    (True, False)
    """
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(same_elements(*pair, rounding) for pair in zip(left, right))
    if isinstance(left, (float, complex)):
        # The text of a number makes NaN equal to itself, and distinguishes 0.0 from -0.0.
        return type(left) is type(right) and (
            repr(left) == repr(right)
            or bool(rounding and left and magnitude(left - right) <= rounding * magnitude(right) < math.inf)
        )
    return bool(left == right)


def magnitude(number: complex) -> float:
    # ``abs`` raises OverflowError for some finite numbers.
    return math.hypot(number.real, number.imag)
