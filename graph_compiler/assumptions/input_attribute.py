"""Assumption about attributes that the user's code has set on arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ..errors import InvalidFile
from ..ir.assumption import (
    JsonReader,
    JsonWriter,
    MatcherNames,
    MismatchedCall,
    Substitution,
    input_number,
    row,
)


@dataclass(frozen=True, slots=True)
class InputAttribute:
    """Assumption about an attribute that the user has set on an array.

    The torch frontend adds it if a function reads an attribute of a tensor argument.

    number: index of the input.
    name: name of the attribute.
    held: its `repr`; None if the attribute must not exist.
    """

    kind: ClassVar[str] = "input_attribute"
    number: int
    name: str
    held: str | None

    def lines(self, names: MatcherNames) -> list[str]:
        names.bind(attribute_of=attribute_of)
        return [names.require(f"attribute_of({names.given(self.number)}, {self.name!r}) == {self.held!r}")]

    def broken_by(self, call: MismatchedCall) -> str | None:
        if (
            self.number >= len(call.leaves)
            or (now := attribute_of(call.leaves[self.number], self.name)) == self.held
        ):
            return None
        return (
            f"{call.inputs[self.number].name} has {now or 'no'} .{self.name} and was recorded with "
            f"{self.held or 'none'}"
        )

    def mapped(self, replaced: Substitution) -> InputAttribute:
        return self

    def to_json(self, write: JsonWriter) -> Any:
        return [self.number, self.name, self.held]

    @classmethod
    def from_json(cls, data: Any, read: JsonReader) -> InputAttribute:
        number, name, held = row(data, 3)
        if type(name) is not str or type(held) not in (str, type(None)):
            raise InvalidFile("input_attribute has no name of an attribute")
        return cls(input_number(number, read), name, held)


def attribute_of(array: Any, name: str) -> str | None:
    """Return the `repr` of an attribute in the `__dict__` of an array, or None if there is no such attribute.

    >>> class Array:
    ...     pass
    >>> array = Array()
    >>> array.scale = 2
    >>> attribute_of(array, "scale"), attribute_of(array, "shift")
    ('2', None)
    """
    held: dict[str, Any] = getattr(array, "__dict__", {})
    return repr(held[name]) if name in held else None
