"""The command: ``python -m benchmarks [SECTION ...] [--quick] [--json FILE] [--check]``."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from typing import Annotated

# Libraries read these variables when they are imported, which is below.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import torch
import typer
from rich.console import Console

from tests.corpora.models.torchvision_operators import ensure_torchvision

from . import results as reporting
from .results import Results
from .sections import SECTIONS
from .settings import Settings

NAMES = ", ".join(SECTIONS)
# Width of the tables if the output is no terminal.
WIDTH = 120


def _chosen(sections: list[str]) -> list[str]:
    unknown = [name for name in sections if name not in SECTIONS]
    if unknown:
        raise typer.BadParameter(f"no section {', '.join(unknown)}; there are {NAMES}")
    return sections or list(SECTIONS)


def _prepare(threads: int) -> None:
    """Set the number of torch's threads, import optional libraries, and silence warnings and logs."""
    torch.set_num_threads(threads)
    ensure_torchvision()
    warnings.simplefilter("ignore")
    transformers = __import__("transformers")
    transformers.utils.logging.set_verbosity_error()


def _run_all(sections: list[str], settings: Settings, console: Console) -> list[Results]:
    done = []
    for name in sections:
        with console.status(f"{name} ..."):
            done.append(SECTIONS[name](settings))
        reporting.show(done[-1], console)
    return done


def main(
    sections: Annotated[
        list[str] | None, typer.Argument(help=f"Which to run: {NAMES}. All, where none is named.")
    ] = None,
    quick: Annotated[bool, typer.Option(help="Fewer rounds and models: a look, not a measurement.")] = False,
    json: Annotated[Path | None, typer.Option(help="Write everything measured to this file.")] = None,
    threads: Annotated[
        int, typer.Option(help="Of torch. One is steadier: two wait for each other where a core is busy.")
    ] = 1,
    check: Annotated[bool, typer.Option(help="Exit with 1 where a floor is missed.")] = False,
) -> None:
    """Measure graph_compiler beside torch eager, torch.compile, torch.export and torchax."""
    chosen, console = _chosen(sections or []), Console(width=None if sys.stdout.isatty() else WIDTH)
    _prepare(threads)
    done = _run_all(chosen, Settings(quick), console)
    if json:
        reporting.save(json, done, {"quick": quick, "threads": threads, "sections": chosen})
    missed = [f"{results.section}: {line}" for results in done for line in results.missed]
    console.print(
        "\n".join(["[bold red]missed[/]", *missed]) if missed else "[bold green]every floor is reached[/]"
    )
    raise typer.Exit(int(check and bool(missed)))


if __name__ == "__main__":
    typer.run(main)
