"""Conversion of SOURCE on the command line: a saved graph, an object of a module, or a Hugging Face model."""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from .. import api
from ..errors import nearest
from ..recording.reachability.libraries import framework_of
from ..registration import frontends
from ..runtime import Graph
from ..runtime.frameworks import pretrained
from ..runtime.progress import show_progress
from . import files as inputs
from .exits import WrongInput

_OF_AN_OWNER = re.compile(r"[\w.-]+/[\w.-]+")
# A suffix starts with a letter, because the end of "Qwen2.5" is a version.
_SUFFIX = re.compile(r"\.[A-Za-z]\w*")
# Names of models may have a suffix ("whisper-tiny.en"), but none of these.
_FILE_SUFFIXES = frozenset({
    ".bin", ".ckpt", ".gguf", ".gz", ".h5", ".hdf5", ".htm", ".html", ".ipynb", ".json", ".mlir", ".msgpack",
    ".npy", ".npz", ".onnx", ".pb", ".pickle", ".pkl", ".pt", ".pt2", ".pth", ".py", ".pyc", ".safetensors",
    ".tar", ".tflite", ".toml", ".txt", ".yaml", ".yml", ".zip",
})  # fmt: skip


def is_saved(source: str) -> bool:
    path = Path(source)
    return (path / "graph.json").is_file() or path.is_file() and path.suffix != ".py"


def is_no_model_name(source: str) -> bool:
    """Return True if ``source`` is not taken for the name of a model on the hub.

    >>> all(map(is_no_model_name, ("nothing.zip", "folder/nothing.zip", "./bert", "a/b/c", "bert/")))
    True
    >>> [is_no_model_name(source) for source in ("gpt2", "openai/whisper-tiny.en", "Qwen/Qwen2.5-0.5B")]
    [False, False, False]
    """
    suffix = Path(source).suffix
    if not _OF_AN_OWNER.fullmatch(source):
        return _SUFFIX.fullmatch(suffix) is not None or not re.fullmatch(r"[\w.-]*\w", source)
    owner = source.partition("/")[0]
    return suffix.lower() in _FILE_SUFFIXES or owner.strip(".") == "" or Path(owner).is_dir()


def original(source: str) -> Any:
    """Return the callable to record for ``source``, which names an object of a module or a model."""
    if ":" in source:
        return _callable(_object(source), source)
    path = Path(source)
    if path.is_dir() and not (path / "config.json").is_file():
        raise WrongInput(
            f"{source} is a folder, and neither a saved graph (graph.json) nor a model of Hugging Face "
            "(config.json) is in it"
        )
    if path.suffix == ".py":
        raise WrongInput(f"{source} is a Python file: name the object in it, {source}:NAME")
    if not path.exists() and is_no_model_name(source):
        raise WrongInput(
            f"there is no file or folder {source}, and it is no MODULE:OBJECT and no name of a model "
            "(owner/name)"
        )
    with show_progress(f"Loading {source}"):
        return _pretrained(source)


def _pretrained(source: str) -> Any:
    try:
        return pretrained(source)
    except (OSError, ValueError, RuntimeError) as problem:
        first = next(iter(str(problem).strip().splitlines()), type(problem).__name__)
        raise WrongInput(
            f"{source} is no file, no MODULE:OBJECT, and no model that can be loaded: {first}"
        ) from None


def _object(source: str) -> Any:
    module_name, _, path = source.rpartition(":")
    with show_progress(f"Importing {module_name}"):
        found: Any = _module(module_name)
    for part in path.split(".") if path else ():
        if not hasattr(found, part):
            names = [name for name in dir(found) if not name.startswith("_")]
            raise WrongInput(f"{module_name} has no {path}{nearest(part, names)}")
        found = getattr(found, part)
    return found


def _module(name: str) -> ModuleType:
    path = Path(name)
    if path.suffix != ".py" and "/" not in name and "\\" not in name:
        # Like ``python -m``, the command also finds modules in the current folder.
        sys.path.insert(0, str(Path.cwd()))
        if _module_spec(name) is None:
            raise WrongInput(f"there is no module {name} in this folder or among the installed packages")
        return importlib.import_module(name)
    if not path.is_file():
        raise WrongInput(f"there is no file {name}")
    sys.path.insert(0, str(path.resolve().parent))
    # The file may have the name of a module that is already imported.
    module_name = path.stem if path.stem not in sys.modules else f"given_{path.stem}"
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise WrongInput(f"{name} is no Python file")
    module = importlib.util.module_from_spec(spec)
    # Dataclasses and pickle look up the module of a class in sys.modules while the file runs.
    sys.modules[module_name] = module
    spec.loader.exec_module(module)
    return module


def _module_spec(name: str) -> Any:
    try:
        return importlib.util.find_spec(name)
    except (ModuleNotFoundError, ValueError):
        return None


def _callable(found: Any, source: str) -> Any:
    if isinstance(found, Graph):
        found = found._pipeline.function
    if isinstance(found, type):
        try:
            found = found()
        except TypeError as problem:
            raise WrongInput(
                f"{source} is a class, and making an object of it without arguments fails: {problem}. "
                "Name an object or a function"
            ) from None
    if not callable(found):
        raise WrongInput(
            f"{source} is {type(found).__name__!r}, which cannot be called: name a function or a model"
        )
    return found


def framework_of_module(function: Any) -> str | None:
    """Return the framework that a callable's module suggests, or None.

    None is also returned if the callable itself tells its framework.
    """
    if framework_of(function, ((), {})) is not None:
        return None
    name = getattr(function, "__module__", None) or ""
    module = sys.modules.get(name)
    imported = (
        [item.__name__ for item in vars(module).values() if isinstance(item, ModuleType)] if module else []
    )
    named = {one.partition(".")[0] for one in (name, *imported)}
    found = [
        entry.name
        for entry in frontends.all().values()
        if not named.isdisjoint(entry.packages[:1]) and not entry.is_everywhere
    ]
    return found[0] if len(found) == 1 else None


# ---------------------------------------------------------------------------------------------------- convert
# Conversion of a source named on the command line.


@dataclass
class ConvertedGraph:
    """Graph that a command uses, and how it was obtained and checked.

    seconds: the time for recording or loading it.
    verified: the summary of ``Graph.verify`` as a dict; None if it was not verified.
    not_verified: the reason why it could not be verified; empty if there is none.
    """

    graph: Graph
    seconds: float
    verified: dict[str, Any] | None = None
    not_verified: str = ""

    def to_json(self) -> dict[str, Any]:
        graph = self.graph
        total = graph.summary().total
        return {
            "name": graph.name,
            "source": graph._pipeline.frontend.name,
            "target": graph._pipeline.target.name,
            "variants": len(graph.variants),
            "inputs": [
                f"{value.name} {value.dtype}{list(value.spec.hints)}"
                for value in graph.variants[0].graph.inputs
            ],
            "operations": total.operations,
            "parameters": total.parameters,
            "multiply_adds": total.multiply_adds,
            "guards": list(graph.guards),
            "has_original": graph._pipeline.has_original,
            "seconds": round(self.seconds, 3),
            "verified": self.verified,
            "not_verified": self.not_verified,
        }


def graph_of(
    source: str, to: str | None, texts: Sequence[str], framework: str | None = None, freeze: bool = False
) -> ConvertedGraph:
    """Return the graph of a source: loaded if it was saved, otherwise recorded.

    to: framework to write for; None for that which the graph was saved for, or the original is written in.
    texts: values of ``--input``.
    framework: framework that the source is written in; None to infer it.
    """
    started = time.perf_counter()
    if is_saved(source):
        given_options = {"--input": texts, "--from": framework, "--freeze": freeze}
        for option in (name for name, value in given_options.items() if value):
            raise WrongInput(
                f"{source} is a saved graph, which is recorded already: {option} is for originals"
            )
        with show_progress(f"Loading {source}"):
            return ConvertedGraph(api.load(source, to), time.perf_counter() - started)
    given = inputs.parse_inputs(texts)
    function = original(source)
    names = inputs.names_of_arguments(function)
    options: dict[str, Any] = {"source": framework or framework_of_module(function), "freeze": freeze}
    if any(given) or not names:
        options.update(args=given[0], kwargs=given[1])
    started = time.perf_counter()
    graph = api.compile(function, to=to, **options)
    # There may be example inputs for a model. If the target is its framework, nothing is recorded yet.
    if not graph.variants and not any(given):
        _record_examples(graph)
    if not graph.variants:
        raise WrongInput(
            f"{source} needs example inputs, --input {names[0]}=float32[2,3]: its arguments are "
            f"{', '.join(names)}"
        )
    return ConvertedGraph(graph, time.perf_counter() - started)


def _record_examples(graph: Graph) -> None:
    # It is None if only a call can tell the framework.
    frontend = getattr(graph._pipeline, "frontend", None)
    if frontend is not None and (examples := frontend.example_inputs(graph._pipeline.function)):
        graph.add_variant((), examples, "its own example inputs")


def verify(made: ConvertedGraph, runs: int = 2) -> None:
    if not made.graph._pipeline.has_original:
        made.not_verified = "it was loaded from a file, without its original"
        return
    with show_progress(f"Verifying {made.graph.name}"):
        made.verified = asdict(made.graph.verify(runs))


def size_of(path: Path) -> int:
    return sum(file.stat().st_size for file in path.rglob("*")) if path.is_dir() else path.stat().st_size
