"""Plant one fault after the other in the package, and see whether ``scripts/test --changed`` finds each.

A fault is some lines at the end of a file, which make one row, rule, pass, kind of guard or writer of that file wrong. The file is restored
after each run. A fault that no test finds is a hole in the selection.

    python scripts/plant_faults.py --list
    python scripts/plant_faults.py lower:jax          # the faults whose name contains the text
    python scripts/plant_faults.py --results /tmp/faults.jsonl   # continues where it stopped
"""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

TARGETS = ("torch", "jax", "tensorflow", "numpy")

# ---------------------------------------------------------------------------------------------- what is planted
ROW = """
_sound_expression = rows.expression


def _faulty_expression(name, *details):
    text = _sound_expression(name, *details)
    return f"(({{text}}) * 1.01)" if name == {name!r} else text


rows.expression = _faulty_expression
"""

WRITER = """
_sound_writer = rows.structured[{name!r}]


def _faulty_writer(scope, node):
    _sound_writer(scope, node)
    scope.line("raise ArithmeticError('planted')")


rows.structured[{name!r}] = _faulty_writer
"""

RULE = """
import functools as _functools

_sound_rule = rows._rows[{name!r}]


@_functools.wraps(_sound_rule)
def _faulty_rule(b, *args, **kwargs):
    result = _sound_rule(b, *args, **kwargs)
    if hasattr(result, "spec") and result.spec is not None and result.spec.dtype != "bool":
        return b.add(result, result)
    raise ArithmeticError("planted")


for _name, _row in list(rows._rows.items()):
    if _row is _sound_rule:
        rows._rows[_name] = _faulty_rule
"""

PASS = """
import functools as _functools

_sound_pass = {name}


@_functools.wraps(_sound_pass)
def {name}(graph, *args, **kwargs):
    result, changed = _sound_pass(graph, *args, **kwargs)
    if changed and len(result.outputs) > 1:
        return result.derive(outputs=result.outputs[::-1]), True
    if changed:
        raise ArithmeticError("planted")
    return result, changed
"""

BLOCK_PASS = """
import dataclasses as _dataclasses

_sound_pass = {name}


def _faulty_run(block):
    made = _sound_pass.run(block)
    if made is not block:
        raise ArithmeticError("planted")
    return made


{name} = _dataclasses.replace(_sound_pass, run=_faulty_run)
"""

MAKER = """
import functools as _functools

_sound_maker = {name}


@_functools.wraps(_sound_maker)
def {name}(*args, **kwargs):
    made = _sound_maker(*args, **kwargs)

    def faulty(graph):
        result, changed = made(graph)
        if changed:
            raise ArithmeticError("planted")
        return result, changed

    return faulty
"""

KIND = """
{name}.lines = lambda self, names: []
{name}.broken_by = lambda self, call: None
"""


@dataclass(frozen=True)
class Fault:
    """Lines that make a file wrong."""

    name: str
    file: str
    lines: str


# ---------------------------------------------------------------------------------------------- where
def faults() -> Iterator[Fault]:
    for target in TARGETS:
        yield from _of_tables("lower", target, ROOT / "backends" / target / "lowering", ROW)
        yield from _of_writers(target)
        yield from _of_tables("lift", target, ROOT / "frontends" / target / "lifting", RULE)
    yield from _of_passes()
    yield from _of_guards()


def _of_tables(kind: str, framework: str, folder: Path, lines: str) -> Iterator[Fault]:
    """One row of each file of a table: which one follows from the names."""
    room = "backends" if kind == "lower" else "frontends"
    module = f"graph_compiler.{room}.{framework}.{folder.name}"
    importlib.import_module(module if kind == "lower" else f"{module}.driver")
    known = importlib.import_module(f"{module}.table").rows._rows
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text("utf-8")
        names = [name for name in _row_names(text) if name in known]
        if names and " rows" in text:
            name = min(names, key=lambda each: zlib.crc32(each.encode()))
            yield Fault(f"{kind}:{framework}:{path.stem}:{name}", _relative(path), lines.format(name=name))


def _row_names(text: str) -> list[str]:
    """Return the names that a file gives to ``rows.table`` and ``rows.row``."""
    found: list[str] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("rows.table", "rows.row"):
            parts = [key for each in node.args if isinstance(each, ast.Dict) for key in each.keys if key is not None]
            found += [each.value for part in (*node.args, *parts) for each in _strings(part)]
    return found


def _strings(node: ast.expr) -> Iterator[Any]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node
    if isinstance(node, ast.Tuple):
        yield from (each for each in node.elts if isinstance(each, ast.Constant) and isinstance(each.value, str))


def _of_writers(target: str) -> Iterator[Fault]:
    rows = importlib.import_module(f"graph_compiler.backends.{target}").rows
    path = ROOT / "backends" / target / "lowering" / "control.py"
    text = path.read_text("utf-8")
    for name in rows.structured:
        if f'"{name}"' in text:
            yield Fault(f"writer:{target}:{name}", _relative(path), WRITER.format(name=name))


def _of_passes() -> Iterator[Fault]:
    exercised = importlib.import_module("tests.support.exercised")
    package = importlib.import_module("graph_compiler.passes")
    for name, item in exercised._passes().items():
        if isinstance(item, package.Pass):
            path, lines = ROOT / "graph_compiler" / "passes" / f"{name}.py", BLOCK_PASS
        else:
            path = Path(item.__code__.co_filename)
            lines = MAKER if item.__annotations__["return"] == "GraphPass" else PASS
        yield Fault(f"pass:{name}", _relative(path), lines.format(name=name))


def _of_guards() -> Iterator[Fault]:
    for name, kind in importlib.import_module("graph_compiler.assumptions").KINDS.items():
        path = ROOT.joinpath(*kind.__module__.split(".")).with_suffix(".py")
        yield Fault(f"guard:{name}", _relative(path), KIND.format(name=kind.__name__))


def _relative(path: Path) -> str:
    return path.resolve().relative_to(ROOT).as_posix()


# ---------------------------------------------------------------------------------------------- runs
def is_found(fault: Fault) -> tuple[bool, float, str]:
    """Return whether the suite fails with the fault planted, after how many seconds, and the first failure."""
    path = ROOT / fault.file
    before, started = path.read_text("utf-8"), time.monotonic()
    command = [sys.executable, "-m", "pytest", "-n", "2", "--changed", "HEAD", "-x", "-q", "--tb=no"]
    try:
        path.write_text(before + fault.lines, "utf-8")
        ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    finally:
        path.write_text(before, "utf-8")
    failures = [line for line in ran.stdout.split("\n") if line.startswith(("FAILED", "ERROR"))]
    return ran.returncode != 0, round(time.monotonic() - started, 1), failures[0] if failures else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("containing", nargs="?", default="", help="a part of the names of the faults")
    parser.add_argument("--list", action="store_true", help="name the faults and exit")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="take each N-th fault alone")
    parser.add_argument("--results", type=Path, help="a file that keeps the results, so that the next run continues")
    options = parser.parse_args()
    chosen = [fault for fault in faults() if options.containing in fault.name][:: options.every]
    known: dict[str, Any] = {}
    if options.results and options.results.exists():
        known = {row["fault"]: row for row in map(json.loads, options.results.read_text("utf-8").splitlines())}
    missed = [name for name, row in known.items() if not row["found"]]
    for fault in chosen:
        if options.list or fault.name in known:
            print(fault.name, known.get(fault.name, ""))
            continue
        found, seconds, first = is_found(fault)
        missed += [] if found else [fault.name]
        print(f"{fault.name}: {'found' if found else 'MISSED'} after {seconds} s {first[:150]}", flush=True)
        if options.results:
            with options.results.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"fault": fault.name, "found": found, "seconds": seconds, "first": first}) + "\n")
    print(f"{len(missed)} missed: {', '.join(missed)}" if missed else f"{len(chosen)} faults")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
