"""Check of the installation: versions, working frameworks, conversions, and known conflicts."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

from ..registration import Registry, backends, frontends
from ..runtime.progress import show_progress
from .exits import Exit

# distribution -> (least version, code that proves it works, or None where looking at the version is enough)
PACKAGES: dict[str, tuple[str, str | None]] = {
    "numpy": ("1.26", "import numpy as np; assert (np.ones(2) + 1).sum() == 4"),
    "networkx": ("3.2", None),
    "torch": ("2.6", "import torch; assert (torch.ones(2) + 1).sum() == 4"),
    "jax": ("0.6", "import jax.numpy as jnp; assert (jnp.ones(2) + 1).sum() == 4"),
    "tensorflow": ("2.18", "import tensorflow as tf; assert tf.reduce_sum(tf.ones(2) + 1) == 4"),
    "transformers": ("4.50", "import transformers; transformers.AutoModel"),
    "flax": ("0.10", "from flax import nnx"),
    "scipy": ("1.12", "import scipy.special"),
    "ml_dtypes": ("0.4", None),
    "typer": ("0.12", None),
    "rich": ("13", None),
}
_NEEDED = ("numpy", "networkx")
# Other distributions of the same package.
_INSTEAD = {"tensorflow": ("tensorflow-cpu", "tensorflow-macos")}
_SECONDS = 180
_REGISTRIES: dict[str, Registry[Any]] = {"frontend": frontends, "backend": backends}

# Frameworks that are converted from, each with an import, a function, and an argument for it.
_PROBES = {
    "torch": ("import torch", "lambda x: torch.tanh(x) + 1", "torch.ones(3)"),
    "jax": ("import jax.numpy as jnp", "lambda x: jnp.tanh(x) + 1", "jnp.ones(3)"),
    "numpy": ("import numpy as np", "lambda x: np.tanh(x) + 1", "np.ones(3)"),
}

Versions = Mapping[str, str | None]
Conflict = tuple[Callable[[Versions, Mapping[str, str]], bool], str]


def numbers(version: str | None) -> tuple[int, ...]:
    """Return the numbers that a version begins with, ``(2, 13, 0)`` for ``"2.13.0+cpu"``; () without any."""
    found = re.match(r"\d+(\.\d+)*", version or "")
    return tuple(map(int, found[0].split("."))) if found else ()


def _torchvision_differs(versions: Versions, environment: Mapping[str, str]) -> bool:
    torch, vision = numbers(versions.get("torch")), numbers(versions.get("torchvision"))
    return (
        len(torch) > 1 and len(vision) > 1 and torch[0] == 2 and vision[0] == 0 and vision[1] != torch[1] + 15
    )


CONFLICTS: tuple[Conflict, ...] = (
    (_torchvision_differs, (
        "torchvision {torchvision} was built for another torch than {torch}: its operators do not "
        "load, and transformers cannot be imported"
    )),
    (
        lambda v, e: numbers(v.get("jaxlib")) > numbers(v.get("jax")) > (),
        "jaxlib {jaxlib} is newer than jax {jax}: install both in one version",
    ),
    (
        lambda v, e: numbers(v.get("numpy")) >= (2,) and () < numbers(v.get("tensorflow")) < (2, 18),
        "tensorflow {tensorflow} was built for numpy 1, and numpy is {numpy}",
    ),
    (
        lambda v, e: bool(v.get("tensorflow")) and e.get("KERAS_BACKEND", "tensorflow") != "tensorflow",
        "KERAS_BACKEND is {KERAS_BACKEND}: as_module() of graphs for TensorFlow needs Keras on TensorFlow",
    ),
    (
        lambda v, e: bool(v.get("tensorflow")) and e.get("TF_USE_LEGACY_KERAS", "0").lower() in ("1", "true"),
        "TF_USE_LEGACY_KERAS is set: as_module() of graphs for TensorFlow needs Keras 3",
    ),
    (lambda v, e: bool(v.get("tensorflow-cpu")) and bool(v.get("tensorflow-gpu")), (
        "tensorflow-cpu and tensorflow-gpu are installed over each other"
    )),
)  # fmt: skip


def own_version() -> str:
    return str(import_module(__package__.partition(".")[0]).__version__)


def installed(name: str) -> str | None:
    for one in (name, *_INSTEAD.get(name, ())):
        try:
            return metadata.version(one)
        except metadata.PackageNotFoundError:
            continue
    return None


def examine(quick: bool = False) -> dict[str, Any]:
    """Check the installation, and return the findings as a dict for JSON.

    With ``quick``, no package is tried out.
    """
    versions = {
        name: installed(name)
        for name in (*PACKAGES, "jaxlib", "torchvision", "keras", "tensorflow-cpu", "tensorflow-gpu")
    }
    packages = {name: _package(name, versions[name], quick) for name in PACKAGES}
    problems = [f"{name}: {package['problem']}" for name, package in packages.items() if package["problem"]]
    problems += conflicts(versions, os.environ)
    registered = {
        kind: {name: entry.module for name, entry in found.all().items()}
        for kind, found in _REGISTRIES.items()
    }
    problems += [
        f"{name}: {problem}" for found in _REGISTRIES.values() for name, problem in found.problems.items()
    ]
    conversions = (
        {}
        if quick
        else _conversions(
            [name for name, package in packages.items() if package["version"] and not package["problem"]]
        )
    )
    problems += [f"{pair}: {found}" for pair, found in conversions.items() if found != "works"]
    return {
        "graph_compiler": own_version(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": packages,
        "registered": registered,
        "conversions": conversions,
        "problems": problems,
        "exit": int(Exit.MISSING) if problems else 0,
    }


def conflicts(versions: Versions, environment: Mapping[str, str]) -> list[str]:
    named = {**environment, **{name: version or "not installed" for name, version in versions.items()}}
    return [text.format_map(named) for holds, text in CONFLICTS if holds(versions, environment)]


def _package(name: str, version: str | None, quick: bool) -> dict[str, Any]:
    least, probe = PACKAGES[name]
    problem = ""
    if version is None:
        problem = "is needed and not installed" if name in _NEEDED else ""
    elif numbers(version) < numbers(least):
        problem = f"version {version} is older than {least}"
    elif probe and not quick:
        with show_progress(f"Trying {name}"):
            problem = _failure(probe)
    return {"version": version, "least": least, "problem": problem}


def _failure(code: str) -> str:
    """Run ``code`` in a new interpreter, and return why it failed, or an empty string."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", code],
            check=False,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            env=_environment(),
        )
    except subprocess.TimeoutExpired:
        return f"did not end within {_SECONDS} s"
    if not done.returncode:
        return ""
    lines = done.stderr.strip().splitlines()
    return lines[-1] if lines else f"ended with code {done.returncode}"


def _environment() -> dict[str, str]:
    # The new interpreter must find this package, which may be a checkout that is not installed.
    root = str(Path(__file__).parents[2])
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))}


def _conversions(working_packages: list[str]) -> dict[str, str]:
    found = {}
    for source in filter(working_packages.__contains__, _PROBES):
        targets = [name for name in backends.own if name in working_packages]
        with show_progress(f"Converting from {source}"):
            found.update(_try_conversions(source, targets))
    return found


# Frameworks print to stdout too, so the lines with results begin with a mark.
_CODE = """
import json, sys
import graph_compiler
{imports}
for to in {targets}:
    try:
        graph_compiler.transpile({function}, source={source!r}, to=to, args=({argument},)).verify()
        found = "works"
    except Exception as problem:
        found = f"{{type(problem).__name__}}: {{problem}}".splitlines()[0]
    print("doctor:" + json.dumps([{source!r} + " to " + to, found]), flush=True)
"""


def _try_conversions(source: str, targets: list[str]) -> dict[str, str]:
    imports, function, argument = _PROBES[source]
    code = _CODE.format(imports=imports, targets=targets, function=function, source=source, argument=argument)
    try:
        done = subprocess.run(
            [sys.executable, "-c", code],
            check=False,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            env=_environment(),
        )
        lines, ended = done.stdout.splitlines(), f"the process ended with code {done.returncode}"
    except subprocess.TimeoutExpired:
        lines, ended = [], f"did not end within {_SECONDS} s"
    found = dict(json.loads(line.removeprefix("doctor:")) for line in lines if line.startswith("doctor:"))
    return {f"{source} to {to}": found.get(f"{source} to {to}", ended) for to in targets}


def table(found: Mapping[str, Any]) -> Any:
    from rich.table import Table

    drawn = Table(
        title=f"graph_compiler {found['graph_compiler']}, Python {found['python']}, {found['platform']}",
        title_justify="left",
    )
    for head in ("", "version", "at least", ""):
        drawn.add_column(head, overflow="fold")
    for name, package in found["packages"].items():
        state = package["problem"] or ("works" if package["version"] else "not installed")
        drawn.add_row(name, package["version"] or "-", package["least"], state)
    for kind, entries in found["registered"].items():
        for name, module in entries.items():
            drawn.add_row(f"{kind} {name}", "", "", module)
    for pair, result in found["conversions"].items():
        drawn.add_row(pair, "", "", result)
    return drawn
