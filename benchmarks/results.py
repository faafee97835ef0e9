"""Results of a section: timings, figures and failures, with their tables and their JSON."""

from __future__ import annotations

import dataclasses
import json
import platform
import statistics
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from .floors import FLOORS, Floor
from .measure import Samples

# Floors compare these contenders, so a failure of one counts as a missed floor.
COMPARED = ("graph", "torchax")
PACKAGES = ("graph-compiler", "torch", "jax", "tensorflow-cpu", "torchax", "transformers", "numpy")
UNITS = ((1.0, "s", 1.0), (1e-3, "ms", 1e3), (0.0, "µs", 1e6))


@dataclasses.dataclass(frozen=True)
class Timing:
    """Samples of one contender in one stage of a case.

    case: name of the model or function that is measured.
    stage: such as ``conversion``, ``first call`` or ``steady call``.
    contender: such as ``graph``.
    samples: seconds of one call or conversion, one for each round.
    """

    case: str
    stage: str
    contender: str
    samples: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.samples)


@dataclasses.dataclass(frozen=True)
class Figure:
    """One number of a case. It has a floor if ``FLOORS`` has one of its name.

    case: name of the model or function that is measured.
    name: what was measured.
    value: the number, in ``unit``.
    """

    case: str
    name: str
    value: float
    unit: str

    @property
    def floor(self) -> Floor | None:
        return FLOORS.get(self.name)

    @property
    def reached(self) -> bool | None:
        """True if the figure reaches its floor; None if it has none."""
        return None if self.floor is None else self.floor.holds(self.value)


@dataclasses.dataclass(frozen=True)
class Failure:
    """A contender that failed in a case.

    case: name of the model or function.
    contender: such as ``graph``.
    reason: class and first line of the exception.
    """

    case: str
    contender: str
    reason: str


@dataclasses.dataclass
class Results:
    """Results of one section.

    section: its name.
    timings: samples of seconds.
    figures: single numbers.
    failures: contenders that failed.
    """

    section: str
    timings: list[Timing] = dataclasses.field(default_factory=list)
    figures: list[Figure] = dataclasses.field(default_factory=list)
    failures: list[Failure] = dataclasses.field(default_factory=list)

    def add_samples(self, case: str, stage: str, samples: Samples) -> None:
        self.timings += [Timing(case, stage, name, tuple(taken)) for name, taken in samples.items() if taken]

    def add_figure(self, case: str, name: str, value: float, unit: str) -> None:
        self.figures.append(Figure(case, name, value, unit))

    @contextmanager
    def surviving(self, case: str, contender: str) -> Iterator[None]:
        """Add a failure instead of raising if the block raises an exception."""
        try:
            yield
        # A framework may raise any exception for a model that it cannot convert.
        except Exception as error:
            self.failures.append(
                Failure(case, contender, f"{type(error).__name__}: {error}".splitlines()[0][:300])
            )

    def attempt(self, case: str, makers: dict[str, Callable[[], Any]]) -> dict[str, Any]:
        """Call ``makers`` and return their results by contender.

        A maker that fails is added as a failure instead.
        """
        made: dict[str, Any] = {}
        for contender, maker in makers.items():
            with self.surviving(case, contender):
                made[contender] = maker()
        return made

    @property
    def missed(self) -> list[str]:
        """Figures that miss their floor, and failures of ``COMPARED`` contenders, as lines of text."""
        below = [f"{figure.case}: {figure.name}" for figure in self.figures if figure.reached is False]
        return below + [
            f"{failure.case}: {failure.contender} failed"
            for failure in self.failures
            if failure.contender in COMPARED
        ]


# ---------------------------------------------------------------------------------------------- printing
def human(duration: float) -> str:
    unit, factor = next((unit, factor) for least, unit, factor in UNITS if abs(duration) >= least)
    return f"{duration * factor:.3g} {unit}"


def _verdict(figure: Figure) -> str:
    return {None: "", True: "[green]reached[/]", False: "[red]missed[/]"}[figure.reached]


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold")
    for place, column in enumerate(columns):
        table.add_column(column, justify="left" if place < 2 else "right")
    return table


def _timing_rows(timings: Iterable[Timing]) -> Iterator[tuple[str, ...]]:
    for timing in timings:
        spread = f"{human(min(timing.samples))} to {human(max(timing.samples))}"
        yield (
            timing.case,
            f"{timing.stage}: {timing.contender}",
            human(timing.median),
            spread,
            str(len(timing.samples)),
        )


def _timing_table(results: Results) -> Table:
    table = _table(f"{results.section}: seconds", "case", "what", "median", "range", "rounds")
    for row in _timing_rows(results.timings):
        table.add_row(*row)
    return table


def _figure_table(results: Results) -> Table:
    table = _table(f"{results.section}: figures", "case", "what", "measured", "floor", "")
    for figure in results.figures:
        floor = str(figure.floor) if figure.floor else ""
        table.add_row(figure.case, figure.name, f"{figure.value:.3g} {figure.unit}", floor, _verdict(figure))
    return table


def show(results: Results, console: Console) -> None:
    if results.timings:
        console.print(_timing_table(results))
    if results.figures:
        console.print(_figure_table(results))
    for failure in results.failures:
        console.print(
            f"[yellow]{escape(failure.case)}: {escape(failure.contender)} failed:[/] {escape(failure.reason)}"
        )


# ---------------------------------------------------------------------------------------------- saving
def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def machine() -> dict[str, Any]:
    versions = {package: _version(package) for package in PACKAGES}
    return {
        "python": platform.python_version(),
        "processor": platform.machine(),
        "system": platform.system(),
        "versions": versions,
    }


def _figure_record(figure: Figure) -> dict[str, Any]:
    floor = None if figure.floor is None else dataclasses.asdict(figure.floor)
    return {**dataclasses.asdict(figure), "floor": floor, "reached": figure.reached}


def record(results: Results) -> dict[str, Any]:
    return {
        "section": results.section,
        "timings": [{**dataclasses.asdict(timing), "median": timing.median} for timing in results.timings],
        "figures": [_figure_record(figure) for figure in results.figures],
        "failures": [dataclasses.asdict(failure) for failure in results.failures],
    }


def save(path: Path, sections: Iterable[Results], options: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {
        "machine": machine(),
        "options": options,
        "sections": [record(results) for results in sections],
    }
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
