"""Generator of random NumPy functions whose loops read and write slices of changing width."""

from __future__ import annotations

import random

_SLICES = {
    0: (":{k}", "n - {k}:"),
    1: (":{k} + 1", "n - 1 - {k}:"),
    2: ("{k}:", ":n - {k}"),
    3: ("{k} + 1:", ":n - 1 - {k}"),
}
"""By what they have in common: how wide they are."""
_NEVER_EMPTY = (1, 2)
_RANGES = ("range(n)", "range(1, n)", "range(n - 1, -1, -1)", "range(n - 1)")
_INNER = ("range(i)", "range(i, n)", "range(i + 1, n)", "range(n)")
_DEEP = 2


class Writer:
    """Generates a function ``f(x, y, m)`` of two vectors and a square matrix as text."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def program(self) -> str:
        """Return the text of a module that defines the function."""
        choice, chance = self.random.choice, self.random.random
        lines = [
            "import numpy as np",
            "",
            "def f(x, y, m):",
            "    n, h = x.shape[0], x[0] * 0",
            f"    for i in {choice(_RANGES)}:",
        ]
        lines += [f"        {self._statement('i')}" for _ in range(self.random.randrange(1, 4))]
        if chance() < 1 / 3:
            lines.append(f"        for j in {choice(_INNER)}:")
            lines += [
                f"            {self._statement(choice('ij'))}" for _ in range(self.random.randrange(1, 3))
            ]
        return "\n".join([*lines, "    return h, y, m", ""])

    def _slice(self, width: int, k: str) -> str:
        return self.random.choice(_SLICES[width]).format(k=k)

    def _statement(self, k: str) -> str:
        one, other = self.random.randrange(4), self.random.randrange(4)
        block = f"m[{self._slice(one, k)}, {self._slice(other, k)}]"
        return self.random.choice([
            f"h = h * 0.5 + np.tanh({self._number(k)})",
            f"y[{k}] = np.tanh({self._number(k)})",
            f"y[{self._slice(one, k)}] = np.tanh({self._vector(one, k)})",
            f"y[{self._slice(one, k)}] += 0.5",
            f"m[{k}, {self._slice(one, k)}] = np.tanh({self._vector(one, k)})",
            f"m[{self._slice(one, k)}, {k}] -= np.tanh({self._vector(one, k)}) * 0.3",
            f"{block} = np.tanh(np.outer({self._vector(one, k)}, {self._vector(other, k)}) + {block})",
        ])  # fmt: skip

    def _vector(self, width: int, k: str, depth: int = 0) -> str:
        plain = [
            text.format(self._slice(width, k), k=k)
            for text in ("x[{0}]", "y[{0}]", "m[{k}, {0}]", "m[{0}, {k}]")
        ]
        if depth == _DEEP:
            return self.random.choice(plain)
        one, other = self._vector(width, k, depth + 1), self._vector(width, k, depth + 1)
        return self.random.choice([
            *plain,
            f"({one} {self.random.choice('+-*')} {other})",
            f"({one} * {self._number(k, depth + 1)})",
            f"np.sqrt(np.abs({one}) + 0.1)",
            f"({one} / (1.5 + np.abs({other})))",
            f"np.where({one} > {other}, {one}, 0.3)",
            f"np.flip({one})",
            f"np.log(1.1 + np.tanh({one}))",
        ])  # fmt: skip

    def _number(self, k: str, depth: int = 0) -> str:
        plain = [f"y[{k}]", f"x[{k}] * {k}"]
        if depth == _DEEP:
            return self.random.choice(plain)
        width, other = self.random.randrange(4), self.random.randrange(4)
        one, two = self._vector(width, k, depth + 1), self._vector(width, k, depth + 1)
        of_all = self.random.choice(["sum", "max", "min", "mean"] if width in _NEVER_EMPTY else ["sum"])
        block = f"m[{self._slice(width, k)}, {self._slice(other, k)}]"
        return self.random.choice([
            *plain, f"{one}.{of_all}()", f"({one} @ {two})", f"({one} @ {block} @ {self._vector(other, k, depth + 1)})", f"{block}.sum()",
        ])  # fmt: skip
