"""Generator of random programs: each line is sampled from the grammar and kept if torch accepts it at the
first two calls.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from . import vocabulary
from .arguments import Argument, arguments, calls, signature
from .program import Line, Program
from .scope import Fact, names_after

_HOLE = re.compile(r"\{(([a-z])\d?)\}")
_VARIABLES = set("xfibvmplu")
_DEEPEST = 2
# Number of calls that torch must accept. It may reject the third one, and then the graph must as well.
MUST_RUN = 2


@dataclass
class Writer:
    """Generates one program, line by line."""

    random: Random
    program: Program
    draws: bool
    optional: tuple[str, ...]
    names: dict[str, Fact] = field(default_factory=dict)
    fresh: list[str] = field(
        default_factory=lambda: [name for name in string.ascii_lowercase if name not in "fiwxyz"]
    )

    def write(self, steps: int) -> Program:
        """Return a program of ``steps`` lines, or fewer if torch rejects too many."""
        lines: tuple[Line, ...] = ()
        self.names = names_after(self.program, lines, MUST_RUN) or {}
        for _ in range(4 * steps if self.names else 0):
            if len(lines) < steps:
                lines = self._extended(lines, lambda body: body, 0)
        return replace(self.program, lines=lines, result=self._result())

    # ------------------------------------------------------------------------------ lines
    def _extended(
        self, lines: tuple[Line, ...], around: Callable[[tuple[Line, ...]], tuple[Line, ...]], depth: int
    ) -> tuple[Line, ...]:
        """Return ``lines`` with another line if torch accepts it; ``around`` inserts them into the program."""
        category = self._pick(_CATEGORIES if depth < _DEEPEST else _CATEGORIES[:-1])
        if category == "blocks":
            return self._block(lines, around, depth)
        text = self._line(category, depth)
        return self._kept(lines, (Line(text),), around) if text else lines

    def _kept(
        self,
        lines: tuple[Line, ...],
        more: tuple[Line, ...],
        around: Callable[[tuple[Line, ...]], tuple[Line, ...]],
    ) -> tuple[Line, ...]:
        names = names_after(self.program, around((*lines, *more)), MUST_RUN)
        if not names:
            return lines
        self.names = names
        return (*lines, *more)

    def _line(self, category: str, depth: int) -> str | None:
        if category == "random":
            return self._assigned(self._pick(vocabulary.RANDOM), depth) if self.draws else None
        if category == "state":
            return self._filled(self._pick(vocabulary.STATE)) if self.program.buffers else None
        if category in vocabulary.STATEMENTS:
            return self._filled(self._pick(vocabulary.STATEMENTS[category]))
        return self._assigned(self._pick(vocabulary.EXPRESSIONS[category]), depth)

    def _assigned(self, template: str, depth: int) -> str | None:
        text = self._filled(template)
        if text is None:
            return None
        again = [name for name in self.names if name.isidentifier()]
        name = (
            self._pick(again)
            if again and self.random.randint(0, 9) < (6 if depth else 1)
            else self._fresh_name()
        )
        return f"{name} = {text}"

    def _fresh_name(self) -> str:
        return self.fresh.pop(0) if len(self.fresh) > 1 else self.fresh[0]

    def _block(
        self, lines: tuple[Line, ...], around: Callable[[tuple[Line, ...]], tuple[Line, ...]], depth: int
    ) -> tuple[Line, ...]:
        """Generate the body as if it always ran, then put the header above it."""
        header, other = self._pick(vocabulary.BLOCKS)
        head = self._filled(header)
        if head is None:
            return lines
        before = self.names
        written = head if head.startswith(("for", "with")) else "if True:"
        body = self._body(lines, written, around, depth)
        more = (Line(head, body),)
        if other:
            self.names = before
            more += (Line(other, self._body(lines, "if True:", around, depth)),)
        kept = self._kept(lines, more, around) if body != (Line("pass"),) else lines
        self.names = {name: fact for name, fact in self.names.items() if name in before}
        return kept

    def _body(self, lines: Any, head: str, around: Any, depth: int) -> tuple[Line, ...]:
        body: tuple[Line, ...] = ()

        def inside(inner: tuple[Line, ...]) -> Any:
            return around((*lines, Line(head, inner or (Line("pass"),))))

        names = names_after(self.program, inside(()), MUST_RUN)
        if names is None:
            return (Line("pass"),)
        self.names = names
        for _ in range(self.random.randint(1, 3)):
            body = self._extended(body, inside, depth + 1)
        if self.random.randint(0, 9) == 9 and (text := self._filled(self._pick(vocabulary.EXITS))):
            body += (Line(text),) if text != "break" or head.startswith("for") else ()
        return body or (Line("pass"),)

    # ------------------------------------------------------------------------------ texts
    def _pick(self, rows: Any) -> Any:
        return self.random.choice(rows)

    def _filled(self, template: str, depth: int = 0) -> str | None:
        """Return a template with its holes filled, or None if the program has no value that fits."""
        chosen: dict[str, str] = {}
        for name, letter in _HOLE.findall(template):
            if name not in chosen:
                text = self._hole(letter, depth)
                if text is None:
                    return None
                chosen[name] = text
        return _HOLE.sub(lambda match: chosen[match[1]], template)

    def _hole(self, letter: str, depth: int) -> str | None:
        if letter == "u":
            return self._pick(self.optional) if self.optional else None
        if letter in _VARIABLES:
            fitting = [name for name, fact in self.names.items() if fact.fits(letter)]
            return self._pick([*fitting, *fitting[-2:], *fitting[-1:]]) if fitting else None
        rows = vocabulary.GRAMMAR[letter]
        rows = rows if depth < _DEEPEST else tuple(row for row in rows if set(_letters(row)) <= _VARIABLES)
        return self._filled(self._pick(rows), depth + 1)

    def _result(self) -> str:
        """Return the text of one value or a structure of several; the last name is the likeliest."""
        names = [name for name in self.names if name.isidentifier() and name not in self.optional] or ["x"]
        names = [*names[::-1], names[-1]]
        chosen = [self._pick(names) for _ in range(self.random.randint(1, 3))]
        shape = self._pick(("{}", "{}", "[{}]", "({}, {first} + 0)", "{{'a': {first}, 'b': [{}]}}"))
        return str(shape.format(", ".join(chosen), first=chosen[0]))


def _letters(row: str) -> list[str]:
    return [letter for _, letter in _HOLE.findall(row)]


_CATEGORIES = (
    *(
        name
        for name in vocabulary.EXPRESSIONS
        for _ in range(3 if name in ("arithmetic", "shape", "index") else 1)
    ),
    *("writes", "setitem") * 3,
    "out",
    "list writes",
    "random",
    "random",
    *("state",) * 6,
    *("blocks",) * 4,
)


def write(seed: int, draws: bool | None = None) -> Program:
    """Return the program of ``seed``, of up to twelve lines.

    draws: True if it may draw random numbers, which only torch reproduces. If None, the seed decides; a
        tenth of the programs may.
    """
    random = Random(seed)
    given, program = _beginning(random)
    draws = random.random() < 0.1 if draws is None else draws
    optional = tuple(argument.name for argument in given if argument.default)
    return Writer(random, program, draws, optional).write(random.randint(1, 12))


def _beginning(random: Random) -> tuple[list[Argument], Program]:
    """Return arguments that every call accepts, and a program that returns the first of them."""
    while True:
        given = arguments(random)
        buffers = (("total", "torch.zeros(3)"), ("steps", "torch.tensor(0)")) if random.random() < 0.2 else ()
        program = Program(signature(given), (), "x", calls(random, given), buffers)
        if names_after(program, (), len(program.calls)):
            return given, program


def draws_numbers(program: Program) -> bool:
    return any(words in program.source() for words in _DRAWS)


_DRAWS = ("rand", "bernoulli", "dropout", "uniform_", "normal_", "torch.normal", "multinomial")
