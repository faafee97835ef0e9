"""Records of a corpus in a target, written line by line so that an interrupted run can be continued."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .outcome import RIGHT, SKIPPED, STATUSES

Record = dict[str, Any]


class Results:
    """The records of one corpus and target, read from and written to a file in ``folder``."""

    def __init__(self, folder: Path, corpus: str, target: str) -> None:
        self.corpus, self.target = corpus, target
        self.path = folder / f"{corpus}-{target}.jsonl"
        self.records: dict[str, Record] = {}
        if self.path.exists():
            for line in self.path.read_text(encoding="utf-8").splitlines():
                record = json.loads(line)
                self.records[record["name"]] = record

    def keep(self, record: Record) -> None:
        """Append a record to the file; it replaces an earlier record of the same name."""
        self.records[record["name"]] = record
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")

    def summary(self) -> dict[str, Any]:
        """Return counts by status and the share of right cases among those that are not skipped."""
        counted = [record for record in self.records.values() if record["status"] != SKIPPED]
        found: dict[str, Any] = {"corpus": self.corpus, "target": self.target, "cases": len(counted)}
        found.update(Counter(record["status"] for record in self.records.values()))
        found["share"] = _share(record["status"] == RIGHT for record in counted)
        elsewhere = [record["facts"] for record in self.records.values() if "other" in record["facts"]]
        if elsewhere:
            found["other_cases"] = len(elsewhere)
            found["other_share"] = _share(facts["other"] == RIGHT for facts in elsewhere)
            found["other_recorded_again"] = sum(facts["variants"] > 1 for facts in elsewhere)
        return found

    def failures(self) -> dict[str, list[Record]]:
        """Return the records that are not right, grouped by cause, the most frequent cause first."""
        causes: dict[str, list[Record]] = defaultdict(list)
        for record in self.records.values():
            if record["status"] not in (RIGHT, SKIPPED):
                causes[cause_of(record["status"], record["detail"])].append(record)
            elif record["facts"].get("other", RIGHT) != RIGHT:
                causes[
                    f"at other shapes: {cause_of(record['facts']['other'], record['facts']['other_detail'])}"
                ].append(record)
        return dict(sorted(causes.items(), key=lambda item: -len(item[1])))


def _share(verdicts: Any) -> float:
    judged = list(verdicts)
    return round(sum(judged) / len(judged), 4) if judged else 0.0


def cause_of(status: str, detail: str) -> str:
    """Return the message of a failure without numbers, sample numbers and places, to group equal causes.

    >>> cause_of("crashed", "TypeError: sample 3: expected 4 sizes, got 5 [torch/functional.py:12]")
    'crashed: TypeError: expected N sizes, got N'
    """
    text = re.sub(r"sample \d+: ", "", detail)
    text = re.sub(r"\s*\[[^\]]*:\d+\]$", "", text)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return f"{status}: {re.sub(r'[-+]?[0-9][0-9.e+-]*', 'N', ' '.join(lines[:2]))[:160]}"


def page(all_results: Sequence[Results]) -> str:
    """Return a Markdown page: a table of shares, then the failures of each corpus by cause."""
    lines = [
        "# Coverage",
        "",
        "Written by `scripts/coverage.py`. A case that torch itself cannot run here is skipped.",
        "",
    ]
    lines += [
        f"| corpus | target | cases | {' | '.join(STATUSES)} | share right | right at other shapes | recorded again |",
        "|---" * 12 + "|",
    ]
    for results in all_results:
        found = results.summary()
        counts = " | ".join(str(found.get(status, 0)) for status in STATUSES)
        other = (
            f"{found['other_share']:.1%} of {found['other_cases']} | {found['other_recorded_again']}"
            if "other_cases" in found
            else "|"
        )
        lines.append(
            f"| {found['corpus']} | {found['target']} | {found['cases']} | {counts} | {found['share']:.1%} | {other} |"
        )
    for results in all_results:
        failures = results.failures()
        lines += ["", f"## {results.corpus} in {results.target}", ""] + ([] if failures else ["No failures."])
        for cause, records in failures.items():
            lines.append(
                f"- **{len(records)}** `{cause.replace('`', chr(39))}`: {', '.join(record['name'] for record in records)}"
            )
    return "\n".join(lines) + "\n"
