"""The commands of the command line, and their options."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from .exits import CODES, WrongInput, ending

# TensorFlow logs messages when it is imported.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
if sys.stderr is None or not sys.stderr.isatty():
    # Progress bars of the hub would fill a log file with control characters.
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")

app = typer.Typer(
    name="graph-compiler",
    help=(
        "Records functions and models of torch, JAX, TensorFlow and NumPy, and writes them for torch, JAX, "
        "TensorFlow or NumPy."
    ),
    epilog=CODES,
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

_SOURCES = (
    "A saved graph, MODULE:OBJECT (net.py:model, package.module:function), or a model of Hugging Face: a "
    "folder, or its name."
)
Source = Annotated[str, typer.Argument(help=_SOURCES, show_default=False)]
_INPUT_FILES = "Inputs: .npz by name, .npy by position, .json by name or position."
_RESULT_FILE = "A .npz, .npy or .json file for the result; without it, JSON on stdout."
To = Annotated[
    str | None,
    typer.Option(
        "--to", help="What to write for (see doctor); without it what it is written in.", show_default=False
    ),
]
From = Annotated[
    str | None,
    typer.Option(
        "--from", help="What the original is written in, where that cannot be told.", show_default=False
    ),
]
Inputs = Annotated[
    list[str],
    typer.Option(
        "--input", "--shape", "-i", metavar="[NAME=]VALUE", show_default=False,
        help=(
            "An example input: NAME=int64[2,12], int64[2,12]:100 for numbers below 100, a .npy file, "
            "or a value of JSON. Models of "
            "Hugging Face need none."
        ),
    ),
]  # fmt: skip
Json = Annotated[bool, typer.Option("--json", help="Print one object of JSON and nothing else.")]
Debug = Annotated[bool, typer.Option("--debug", help="Print tracebacks.")]
Force = Annotated[bool, typer.Option("--force", help="Replace what is there.")]
Page = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        help="Where the page is written; without it, to a temporary folder.",
        show_default=False,
    ),
]


def _console() -> Console:
    return Console(highlight=False)


@app.command()
@ending
def convert(
    source: Source,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="A .zip file, or a folder where there is no suffix.", show_default=False
        ),
    ],
    to: To = None,
    # Typer reads the default, so it must be a list.
    given: Inputs = [],  # noqa: B006
    framework: From = None,
    verified: Annotated[
        bool,
        typer.Option(
            "--verify/--no-verify", help="Compare it with the original on fresh inputs and at other sizes."
        ),
    ] = True,
    freeze: Annotated[bool, typer.Option("--freeze", help="Take the weights for constants.")] = False,
    force: Force = False,
    json_output: Json = False,
    debug: Debug = False,
) -> Any:
    """Convert SOURCE and save it; by default, compare the result with the original, if there is one.

    graph-compiler convert net.py:model --to jax --input x=float32[2,3] --output model.zip
    """
    from . import sources as converting
    from .files import check_path

    check_path(output, () if not output.suffix else (".zip",), force)
    made = converting.graph_of(source, to, given, framework, freeze)
    if verified:
        converting.verify(made)
    made.graph.save(output)
    found = {**made.to_json(), "file": str(output), "bytes": converting.size_of(output)}
    if not json_output:
        _say_converted(found)
    return found


def _say_converted(found: dict[str, Any]) -> None:
    checked = found["verified"]
    skipped = f", {checked['skipped']} refused by the original" if checked and checked["skipped"] else ""
    numbers = "" if not checked or checked["numbers"] else " in shapes and types (it draws random numbers)"
    how = (
        f"verified: {checked['runs']} runs agree{numbers}{skipped}"
        if checked
        else f"not verified{': ' * bool(found['not_verified'])}{found['not_verified']}"
    )
    console = _console()
    console.print(
        escape(
            f"{found['name']}, {found['source']} to {found['target']}: {found['operations']:,} "
            f"operations, {found['parameters']:,} "
            "parameters"
        )
    )
    console.print(
        escape(f"{'recorded' if found['has_original'] else 'loaded'} in {found['seconds']:.1f} s; {how}")
    )
    console.print(escape(f"saved as {found['file']}, {found['bytes']:,} bytes"))


@app.command()
@ending
def inspect(
    source: Source,
    to: To = None,
    given: Inputs = [],  # noqa: B006
    framework: From = None,
    text: Annotated[
        bool, typer.Option("--source", help="Print the generated source and nothing else.")
    ] = False,
    depth: Annotated[
        int | None,
        typer.Option(
            "--depth", min=0, help="Levels of modules that are shown; all without it.", show_default=False
        ),
    ] = None,
    json_output: Json = False,
    debug: Debug = False,
) -> Any:
    """Print the modules and guards of a graph, or with --source its generated source instead."""
    from .sources import graph_of

    made = graph_of(source, to, given, framework)
    graph = made.graph
    if json_output:
        return {
            **made.to_json(),
            "modules": graph.summary().to_dicts(),
            "source_text": graph.source,
            "explanation": graph.explain(),
        }
    if text:
        print(graph.source, end="")
        return None
    console = _console()
    console.print(
        graph.summary(depth) if console.is_terminal else str(graph.summary(depth)),
        soft_wrap=not console.is_terminal,
        markup=False,
    )
    console.print(escape(graph.explain()), soft_wrap=True)
    return None


@app.command()
@ending
def show(
    source: Source,
    output: Page = None,
    to: To = None,
    given: Inputs = [],  # noqa: B006
    framework: From = None,
    opened: Annotated[
        bool | None, typer.Option("--open/--no-open", help="Open it in the browser.", show_default=False)
    ] = None,
    force: Force = False,
    json_output: Json = False,
    debug: Debug = False,
) -> Any:
    """Write a graph as one HTML page for a browser, and print the path of the page."""
    from .files import check_path
    from .sources import graph_of

    if output is not None:
        check_path(output, (".html", ".htm"), force)
    path = graph_of(source, to, given, framework).graph.show(output, opened)
    if not json_output:
        print(path)
    return {"file": str(path), "bytes": path.stat().st_size}


@app.command()
@ending
def run(
    graph: Annotated[Path, typer.Argument(help="A saved graph.", show_default=False)],
    files: Annotated[
        list[Path], typer.Argument(metavar="[INPUTS]...", help=_INPUT_FILES, show_default=False)
    ] = [],  # noqa: B006
    given: Inputs = [],  # noqa: B006
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help=_RESULT_FILE, show_default=False)
    ] = None,
    to: To = None,
    force: Force = False,
    json_output: Json = False,
    debug: Debug = False,
) -> Any:
    """Run a saved graph on inputs from files or --input, and write the result to a file or stdout."""
    from . import files as inputs
    from . import files as outputs
    from . import sources
    from .sources import graph_of

    if not graph.exists():
        raise WrongInput(f"there is no file {graph}")
    if not sources.is_saved(str(graph)):
        raise WrongInput(f"{graph} is no saved graph; convert makes one")
    if output is not None:
        outputs.check_path(output, outputs.SUFFIXES, force)
    loaded = graph_of(str(graph), to, ()).graph
    dtypes = {value.name: value.dtype for value in loaded.variants[0].graph.inputs}
    args, kwargs = inputs.read(files, dtypes)
    more, named = inputs.parse_inputs(given)
    args, kwargs = inputs.fit_to_graph(((*args, *more), {**kwargs, **named}), loaded.variants[0].graph)
    started = time.perf_counter()
    leaves = outputs.by_name(outputs.named_leaves(loaded(*args, **kwargs), loaded._pipeline.target.target))
    seconds = time.perf_counter() - started
    if output is not None:
        outputs.write(leaves, output)
    shapes = {
        name: f"{leaf.dtype}{list(leaf.shape)}" if hasattr(leaf, "shape") else type(leaf).__name__
        for name, leaf in leaves.items()
    }
    found = {
        "seconds": round(seconds, 6),
        "shapes": shapes,
        **({"file": str(output)} if output else {"result": outputs.as_json(leaves)}),
    }
    if not json_output:
        _say_result(found, output)
    return found


def _say_result(found: dict[str, Any], output: Path | None) -> None:
    if output is None:
        import json

        print(json.dumps(found["result"]))
        return
    for name, shape in found["shapes"].items():
        print(f"{name}  {shape}")
    print(f"written to {output}")


@app.command()
@ending
def doctor(
    quick: Annotated[bool, typer.Option("--quick", help="Look at versions only, import nothing.")] = False,
    json_output: Json = False,
    debug: Debug = False,
) -> Any:
    """Check the installation: versions, frameworks, conversions between them, and known conflicts."""
    from .doctor import examine, table

    found = examine(quick)
    if not json_output:
        _console().print(table(found))
        for line in found["problems"] or ["nothing is wrong"]:
            print(line)
    return found


@app.callback(invoke_without_command=True)
def version(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    """Print the version and exit if ``--version`` is given. Typer calls this before each command."""
    if version:
        from .doctor import own_version

        print(own_version())
        raise typer.Exit
