"""The corpora by name: their cases, how one is judged, and the seconds that a case may take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from . import dtypes, operators, zoo


@dataclass(frozen=True)
class Corpus:
    """``names()`` are its cases; ``judge(name, target)`` returns facts where a case is right, and raises where it is not."""

    names: Callable[[], list[str]]
    judge: Callable[[str, str], dict[str, Any]]
    seconds: float


CORPORA: dict[str, Corpus] = {
    "operators": Corpus(operators.names, operators.judge, 90),
    "dtypes": Corpus(dtypes.names, dtypes.judge, 90),
    "errors": Corpus(operators.error_names, operators.judge_errors, 90),
    "transformers": Corpus(partial(zoo.names, "zoo.jsonl"), zoo.judge, 300),
    "vision": Corpus(partial(zoo.names, "vision.jsonl"), zoo.judge, 300),
}
