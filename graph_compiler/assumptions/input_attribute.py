"""Attributes that the user's code has put on the arrays of a call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ..errors import InvalidFile
from ..ir.assumption import Call, Names, Reader, Replaced, Writer, input_number, row


@dataclass(frozen=True, slots=True)
class InputAttribute:
    """The attribute ``name`` of input ``number`` holds what has the text ``held``; None where there is no such attribute.

    Noted by the torch frontend where a function reads an attribute of a tensor that it is given.
    """

    kind: ClassVar[str] = "input_attribute"
    number: int
    name: str
    held: str | None

    def lines(self, names: Names) -> list[str]:
        """One comparison of texts."""
        names.bind(attribute_of=attribute_of)
        return [names.require(f"attribute_of({names.given(self.number)}, {self.name!r}) == {self.held!r}")]

    def broken_by(self, call: Call) -> str | None:
        """What the attribute holds, and held."""
        if self.number >= len(call.leaves) or (now := attribute_of(call.leaves[self.number], self.name)) == self.held:
            return None
        return f"{call.inputs[self.number].name} has {now or 'no'} .{self.name} and was recorded with {self.held or 'none'}"

    def mapped(self, replaced: Replaced) -> InputAttribute:
        """Itself: a program of the same inputs."""
        return self

    def to_json(self, write: Writer) -> Any:
        """All three."""
        return [self.number, self.name, self.held]

    @classmethod
    def from_json(cls, data: Any, read: Reader) -> InputAttribute:
        """An input and two texts, which stand in the code as literals."""
        number, name, held = row(data, 3)
        if type(name) is not str or type(held) not in (str, type(None)):
            raise InvalidFile("input_attribute has no name of an attribute")
        return cls(input_number(number, read), name, held)


def attribute_of(array: Any, name: str) -> str | None:
    """What an attribute of an array holds, as text; None where there is no such attribute.

    >>> class Array:
    ...     pass
    >>> array = Array()
    >>> array.scale = 2
    >>> attribute_of(array, "scale"), attribute_of(array, "shift")
    ('2', None)
    """
    held: dict[str, Any] = getattr(array, "__dict__", {})
    return repr(held[name]) if name in held else None
