"""The order of keywords, where the original can see it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ..errors import InvalidFile
from ..ir.assumption import Call, Names, Reader, Replaced, Writer


@dataclass(frozen=True, slots=True)
class KeywordOrder:
    """The keywords that ``**kwargs`` of the original takes come in the order of ``keywords``. Noted by the pipeline where there are two or
    more."""

    kind: ClassVar[str] = "keyword_order"
    keywords: tuple[str, ...]

    def lines(self, names: Names) -> list[str]:
        """One comparison of lists."""
        return [names.require(f"[name for name in kwargs if name in {self.keywords!r}] == {list(self.keywords)!r}")]

    def broken_by(self, call: Call) -> str | None:
        """Both orders."""
        now = [name for name in call.kwargs if name in self.keywords]
        if now == list(self.keywords):
            return None
        return (
            f"the keywords come in the order {', '.join(now)} and were recorded as {', '.join(self.keywords)}, which **kwargs of the "
            "function shows"
        )

    def mapped(self, replaced: Replaced) -> KeywordOrder:
        """Itself: a program of the same inputs."""
        return self

    def to_json(self, write: Writer) -> Any:
        """The names."""
        return list(self.keywords)

    @classmethod
    def from_json(cls, data: Any, read: Reader) -> KeywordOrder:
        """Texts, which stand in the code as literals: a keyword of ``**kwargs`` may be any."""
        if type(data) is not list or not all(type(name) is str for name in data):
            raise InvalidFile("keyword_order has no names")
        return cls(tuple(data))
