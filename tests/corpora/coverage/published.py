"""The table of measured shares in the documentation, stored in ``docs/coverage.json`` with a row per corpus
and target.

A row contains the number of cases, how many were right and wrong, and which part of the corpus was
measured (``every`` 4: every fourth case of each group).
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .corpora import CORPORA
from .outcome import RIGHT, WRONG
from .results import Results

Row = dict[str, Any]
FILE = Path(__file__).resolve().parents[3] / "docs" / "coverage.json"
FRAMEWORKS = ("torch", "jax", "tensorflow", "numpy")


def publish(results: Sequence[Results], every: int, file: Path = FILE) -> None:
    """Write the shares of ``results`` to ``file``, replacing older rows of the same corpus and target."""
    rows = {(row["corpus"], row["target"]): row for row in rows_of(file)}
    rows.update({(one.corpus, one.target): _row(one, every) for one in results if one.summary()["cases"]})
    text = ",\n ".join(json.dumps(rows[key]) for key in sorted(rows))
    file.write_text(f"[\n {text}\n]\n", encoding="utf-8")


def rows_of(file: Path = FILE) -> list[Row]:
    """Return the rows of ``file``; an empty list if it does not exist."""
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else []


def _row(results: Results, every: int) -> Row:
    found = results.summary()
    counts = {
        "cases": found["cases"],
        "right": found.get(RIGHT, 0),
        "wrong": found.get(WRONG, 0),
        "every": every,
    }
    return {
        "corpus": results.corpus,
        "target": results.target,
        **counts,
        "day": datetime.date.today().isoformat(),
    }


def section(rows: Sequence[Row]) -> list[str]:
    """Return lines of Markdown: a table of the share of each corpus that is right in each target."""
    lines = [
        f"| from | what | {' | '.join(f'to {target}' for target in FRAMEWORKS)} |",
        "|---" * (2 + len(FRAMEWORKS)) + "|",
    ]
    found = {(row["corpus"], row["target"]): row for row in rows}
    for source in FRAMEWORKS:
        for name, corpus in CORPORA.items():
            if corpus.source == source and any((name, target) in found for target in FRAMEWORKS):
                cells = [_cell(found.get((name, target))) for target in FRAMEWORKS]
                lines.append(f"| {source} | {corpus.what} (`{name}`) | {' | '.join(cells)} |")
    return lines


def summary(rows: Sequence[Row]) -> list[str]:
    """Return lines of Markdown: a table of source by target with the share of right cases over all corpora of
    the source.
    """
    lines = [
        f"| from | {' | '.join(f'to {target}' for target in FRAMEWORKS)} |",
        "|---" * (1 + len(FRAMEWORKS)) + "|",
    ]
    for source in FRAMEWORKS:
        of_source = [row for row in rows if CORPORA[row["corpus"]].source == source]
        cells = [_total([row for row in of_source if row["target"] == target]) for target in FRAMEWORKS]
        lines.append(f"| {source} | {' | '.join(cells)} |")
    return lines


def _total(rows: Sequence[Row]) -> str:
    cases, right, wrong = (sum(row[key] for row in rows) for key in ("cases", "right", "wrong"))
    return (
        f"{right / cases:.1%} of {cases:,}" + (f", {wrong} wrong" if wrong else "")
        if cases
        else "not measured"
    )


def _cell(row: Row | None) -> str:
    if row is None or not row["cases"]:
        return "not measured"
    wrong = f", {row['wrong']} wrong" if row["wrong"] else ""
    part = f", 1 in {row['every']}" if row["every"] > 1 else ""
    return f"{row['right'] / row['cases']:.1%} of {row['cases']}{part}{wrong}"
