"""The corpora by name: their cases, how one is judged, and the seconds that a case may take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from . import dtypes, functions, operators, raw_ops, zoo


@dataclass(frozen=True)
class Corpus:
    """``names()`` are its cases; ``judge(name, target)`` returns facts where a case is right, and raises where it is not."""

    names: Callable[[], list[str]]
    judge: Callable[[str, str], dict[str, Any]]
    seconds: float
    group: Callable[[str], str] = lambda name: ""  # a part of the corpus is that part of each group

    def part(self, every: int, start: int) -> list[str]:
        """Each ``every``-th case of each group."""
        groups: dict[str, list[str]] = {}
        for name in self.names():
            groups.setdefault(self.group(name), []).append(name)
        return [name for names in groups.values() for name in names[start::every]]


def _harness_names() -> list[str]:
    from . import harnesses

    return harnesses.names()


def _judge_harness(name: str, target: str) -> dict[str, Any]:
    from . import harnesses

    return harnesses.judge(name, target)


def _harness_group(name: str) -> str:
    from . import harnesses

    return harnesses.group_of(name)


CORPORA: dict[str, Corpus] = {
    "operators": Corpus(operators.names, operators.judge, 90),
    "dtypes": Corpus(dtypes.names, dtypes.judge, 90),
    "errors": Corpus(operators.error_names, operators.judge_errors, 90),
    "harnesses": Corpus(_harness_names, _judge_harness, 90, _harness_group),
    "raw-ops": Corpus(raw_ops.names, raw_ops.judge, 120),
    "tf-functions": Corpus(partial(functions.names, of_keras=False), functions.judge, 120, functions.group_of),
    "keras-ops": Corpus(partial(functions.names, of_keras=True), functions.judge, 120, functions.group_of),
    "transformers": Corpus(partial(zoo.names, "zoo.jsonl"), zoo.judge, 300),
    "vision": Corpus(partial(zoo.names, "vision.jsonl"), zoo.judge, 300),
}
