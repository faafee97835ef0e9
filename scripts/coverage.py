"""Run whole corpora in the targets, and write what share of their cases is right.

    python scripts/coverage.py operators vision --target jax

Results are stored in ``coverage/`` line by line: a run that was cut off continues where it stopped.
``--again`` judges everything anew, and ``--failed`` what was not right. ``coverage/summary.json`` and
``coverage/coverage.md`` are written at the end; ``--publish`` puts the shares into ``docs/coverage.json``,
which ``scripts/support.py`` shows.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress

ROOT = Path(__file__).resolve().parent.parent
# This folder must not be searched, because its coverage.py would hide the package of that name.
sys.path[0] = str(ROOT)

from tests.corpora.coverage.corpora import CORPORA  # noqa: E402
from tests.corpora.coverage.outcome import RIGHT, SKIPPED  # noqa: E402
from tests.corpora.coverage.pool import run  # noqa: E402
from tests.corpora.coverage.published import publish  # noqa: E402
from tests.corpora.coverage.results import Record, Results, page  # noqa: E402


def main(
    corpora: Annotated[list[str], typer.Argument(help=f"Of {', '.join(CORPORA)}.")],
    target: Annotated[list[str], typer.Option(help="Frameworks to convert to.")] = ["jax"],  # noqa: B006
    select: Annotated[str, typer.Option(help="A regular expression: only cases whose names match.")] = "",
    every: Annotated[
        int, typer.Option(help="Only each n-th case (of each primitive, in harnesses): a quick look.")
    ] = 1,
    start: Annotated[
        int, typer.Option(help="Where to begin counting them: with --every, another part of the corpus.")
    ] = 0,
    workers: Annotated[int, typer.Option(help="Processes at a time.")] = 2,
    folder: Annotated[Path, typer.Option(help="Where results are kept.")] = ROOT / "coverage",
    again: Annotated[bool, typer.Option(help="Judge again what has a result.")] = False,
    failed: Annotated[bool, typer.Option(help="Judge again what was not right.")] = False,
    published: Annotated[
        bool, typer.Option("--publish", help="Show the shares in the documentation.")
    ] = False,
) -> None:
    """Judge the cases that have no result yet, then write the pages."""
    results = [Results(folder, corpus, name) for corpus in corpora for name in target]
    for corpus in corpora:
        of_corpus = {one.target: one for one in results if one.corpus == corpus}
        names = [name for name in CORPORA[corpus].part(every, start) if re.search(select, name)]
        _complete(corpus, of_corpus, names, workers, again, failed)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "summary.json").write_text(
        json.dumps([one.summary() for one in results], indent=1) + "\n", encoding="utf-8"
    )
    (folder / "coverage.md").write_text(page(results), encoding="utf-8")
    if published:
        publish(results, every)
    for one in results:
        print(json.dumps(one.summary()))


def _complete(
    corpus: str, results: dict[str, Results], names: list[str], workers: int, again: bool, failed: bool
) -> None:
    """Judge each case of ``names`` in the targets that have no result for it, and store each result.

    ``again`` judges all cases anew, ``failed`` those that were not right.
    """

    def is_left(name: str, records: dict[str, Record]) -> bool:
        return again or name not in records or (failed and not _is_right(records[name]))

    left = {name: [target for target, one in results.items() if is_left(name, one.records)] for name in names}
    with Progress() as progress:
        task = progress.add_task(f"{corpus} in {', '.join(results)}", total=sum(map(len, left.values())))

        def keep(record: Record, target: str) -> None:
            results[target].keep(record)
            progress.advance(task)

        run(corpus, left, workers, keep)


def _is_right(record: Record) -> bool:
    return record["status"] in (RIGHT, SKIPPED) and record["facts"].get("other", RIGHT) == RIGHT


if __name__ == "__main__":
    typer.run(main)
