"""Assumption about the order of keyword arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ..errors import InvalidFile
from ..ir.assumption import JsonReader, JsonWriter, MatcherNames, MismatchedCall, Substitution


@dataclass(frozen=True, slots=True)
class KeywordOrder:
    """Assumption that the keywords in `**kwargs` of the original come in the order `keywords`.

    Added if there are at least two.
    """

    kind: ClassVar[str] = "keyword_order"
    keywords: tuple[str, ...]

    def lines(self, names: MatcherNames) -> list[str]:
        return [
            names.require(
                f"[name for name in kwargs if name in {self.keywords!r}] == {list(self.keywords)!r}"
            )
        ]

    def broken_by(self, call: MismatchedCall) -> str | None:
        now = [name for name in call.kwargs if name in self.keywords]
        if now == list(self.keywords):
            return None
        return (
            f"the keywords come in the order {', '.join(now)} and were recorded as "
            f"{', '.join(self.keywords)}, which **kwargs of the function shows"
        )

    def mapped(self, replaced: Substitution) -> KeywordOrder:
        return self

    def to_json(self, write: JsonWriter) -> Any:
        return list(self.keywords)

    @classmethod
    def from_json(cls, data: Any, read: JsonReader) -> KeywordOrder:
        if type(data) is not list or not all(type(name) is str for name in data):
            raise InvalidFile("keyword_order has no names")
        return cls(tuple(data))
