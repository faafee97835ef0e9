"""Architecture rules: which package may import which, where a framework may be named, and how code is
written.

The rules are computed from the syntax trees of all files of the package. The second half of this file
plants a violation of each rule and checks that it is found.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOMS = ("graph_compiler", "backends", "frontends")

# A room imports itself and rooms of a lower rank, nothing else.
RANKS = {
    "_rooms": -1,
    "errors": -1,
    "forwarding": -1,
    "registration": 0,
    "naming": 1,
    "sizes": 1,
    "trees": 1,
    "ops": 2,
    "ir": 3,
    "assumptions": 4,
    "recording": 4,
    "contracts": 5,
    "passes": 6,
    "frontends": 7,
    "backends": 7,
    "codegen": 8,
    "runtime": 9,
    "export": 10,
    "visualise": 10,
    "api": 11,
    "transforms": 12,
    "training": 13,
    "parallel": 14,
    "__init__": 15,
    "cli": 15,
    "__main__": 16,
}

# The rooms of a framework's folder have ranks of their own; "" are the other files that stand beside them. Imports
# for type checkers count as well: a part of a recording knows the protocol in ``trace``, not the class that
# holds all parts.
INNER_RANKS = {
    "frontends/torch": {
        "compat": -3,
        "trace": -2,
        "sizes": -1,
        "numbers": 0,
        "basics": 1,
        "memory": 2,
        "lifting": 2,
        "state": 3,
        "generators": 3,
        "settings": 4,
        "gradients": 5,
        "gradient_rules": 6,
        "capture": 7,
        "": 8,
    },
}

# The top-level packages that belong to each framework; only the folders named after it may import them.
FRAMEWORKS = {
    "torch": {"torch", "torchvision", "torchaudio", "torchax", "timm", "transformers"},
    "jax": {"jax", "jaxlib", "flax", "optax", "equinox", "haiku"},
    "tensorflow": {"tensorflow", "keras"},
}
ML_PACKAGES = set().union(*FRAMEWORKS.values())

# The folders of a room that belong to no framework.
SHARED = {"common"}

# What everybody uses, private as it is called.
PRIVATE_BY_NAME_ONLY = {"torch.utils._pytree"}

# Docstrings are not counted.
MOST_LINES_OF_A_FUNCTION = 60
MOST_LINES_OF_A_FILE = 800

# Files that may be longer, each with its reason. Strict: an entry that is no longer needed fails.
EXCEPTIONS: dict[str, str] = {}


@dataclass(frozen=True)
class Source:
    """A file of the package.

    path: path from the root of the checkout.
    module: name by which it is imported.
    """

    path: str
    module: str
    is_package: bool
    text: str
    tree: ast.Module

    @property
    def room(self) -> str:
        return room_of(self.module, self.is_package)


@dataclass(frozen=True)
class Import:
    """An import of ``module`` at ``line`` of a file.

    in_function: True if the import is made only when a function runs.
    """

    module: str
    line: int
    in_function: bool


def read_sources(root: Path) -> list[Source]:
    """Return all files of the package below ``root``."""
    sources = []
    for room in ROOMS:
        for file in sorted((root / room).rglob("*.py")):
            path = file.relative_to(root)
            parts = (
                path.with_suffix("").parts
                if room == "graph_compiler"
                else ("graph_compiler", *path.with_suffix("").parts)
            )
            is_package = parts[-1] == "__init__"
            text = file.read_text(encoding="utf-8")
            module = ".".join(parts[:-1] if is_package else parts)
            sources.append(Source(path.as_posix(), module, is_package, text, ast.parse(text, str(path))))
    return sources


def room_of(module: str, is_package: bool = False) -> str:
    """Return the top-level part of a module, or the part and the framework: ``ir`` for
    ``graph_compiler.ir.graph``, ``backends.jax`` for ``graph_compiler.backends.jax.arrays``.

    Folders that all targets share (``graph_compiler.backends.common.array_code``) count as ``backends``.
    """
    parts = module.split(".")[1:] or ["__init__"]
    in_framework = (
        len(parts) > 1
        and parts[1] not in SHARED
        and (len(parts) > 2 or is_package or parts[1] in {*FRAMEWORKS, "numpy"})
    )
    return ".".join(parts[:2]) if parts[0] in ("frontends", "backends") and in_framework else parts[0]


def imports_of(source: Source, modules: set[str], types: bool = False) -> Iterator[Import]:
    """Yield every import of a file, including those in functions and by ``import_module("name")``.

    Imports under ``TYPE_CHECKING`` are yielded only if ``types`` is True.
    """
    package = source.module.split(".") if source.is_package else source.module.split(".")[:-1]

    def visit(node: ast.AST, in_function: bool) -> Iterator[Import]:
        if (
            not types
            and isinstance(node, ast.If)
            and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")
        ):
            for child in node.orelse:
                yield from visit(child, in_function)
            return
        for name in imported_names(node, package, modules):
            yield Import(name, getattr(node, "lineno", 0), in_function)
        for child in ast.iter_child_nodes(node):
            yield from visit(
                child, in_function or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
            )

    return visit(source.tree, False)


def imported_names(node: ast.AST, package: list[str], modules: set[str]) -> list[str]:
    """Return the full names of the modules that a statement or call imports; an empty list for any other
    node.
    """
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        above = package[: len(package) - node.level + 1] if node.level else []
        base = ".".join([*above, *([node.module] if node.module else [])])
        inner = [f"{base}.{alias.name}" for alias in node.names]
        return [name if name in modules else base for name in inner]
    if (
        isinstance(node, ast.Call)
        and ast.unparse(node.func).split(".")[-1] in ("import_module", "__import__")
        and node.args
    ):
        argument = node.args[0]
        return (
            [argument.value] if isinstance(argument, ast.Constant) and isinstance(argument.value, str) else []
        )
    return []


def wrong_imports(sources: list[Source]) -> Iterator[str]:
    """Yield imports that violate the ranks, and references to the folder of a frontend or backend outside of
    api.py.
    """
    modules = {source.module for source in sources}
    for source in sources:
        if source.room.split(".")[0] not in RANKS:
            yield f"{source.path}: the room {source.room!r} has no rank"
            continue
        for found in imports_of(source, modules):
            if found.module.split(".")[0] == "graph_compiler":
                reason = reason_against(source.room, room_of(found.module), found)
                if reason:
                    yield f"{source.path}:{found.line}: {reason}"


def reason_against(importer: str, imported: str, found: Import) -> str | None:
    """Return why ``importer`` may not import ``imported``, or None if it may."""
    rank, other = RANKS[importer.split(".")[0]], RANKS.get(imported.split(".")[0])
    if other is None:
        return f"{found.module} has no rank"
    if importer == imported or importer.startswith(f"{imported}."):
        return None
    if other >= rank:
        return f"{importer} (rank {rank}) imports {imported} (rank {other})"
    if "." in imported and importer != "api":
        return f"{importer} imports {imported}: only api.py names a framework's folder"
    if "." in imported and not found.in_function:
        return f"api.py imports {imported} outside of a function: frameworks are imported lazily"
    return None


def wrong_inner_imports(sources: list[Source]) -> Iterator[str]:
    """Yield imports that violate the ranks inside the folder of one framework."""
    places = {source.module: place for source in sources if (place := inner_place(source.path))}
    for source in sources:
        folder, room = places.get(source.module, ("", ""))
        ranks = INNER_RANKS.get(folder, {})
        if room not in ranks and folder:
            yield f"{source.path}: the room {room!r} of {folder} has no rank"
            continue
        for found in imports_of(source, set(places), types=True) if folder else ():
            other_folder, other = places.get(found.module, ("", ""))
            if other_folder == folder and other != room and other in ranks and ranks[other] >= ranks[room]:
                yield f"{source.path}:{found.line}: {room or folder} (rank {ranks[room]}) imports {other or folder} (rank {ranks[other]})"


def circles(sources: list[Source]) -> Iterator[str]:
    """Yield the files of each folder with inner ranks that import each other in a cycle.

    Imports for type checkers count.
    """
    places = {source.module: place for source in sources if (place := inner_place(source.path))}
    paths = {source.module: source.path for source in sources}
    for folder in INNER_RANKS:
        inner = {module for module, (held, _) in places.items() if held == folder}
        edges = {
            (source.module, found.module)
            for source in sources
            if source.module in inner
            for found in imports_of(source, inner, True)
        }
        yield from told_circle(
            {(one, other) for one, other in edges if one != other and other in inner}, paths
        )


def told_circle(edges: set[tuple[str, str]], paths: Mapping[str, str]) -> Iterator[str]:
    """Yield one message that names the files in cycles of ``edges`` (importer, imported), and on the way from
    one cycle to another; nothing if there is no cycle.
    """
    before: set[tuple[str, str]] = set()
    # A module that imports none of the remaining ones, or that none of them imports, is in no cycle.
    while edges != before:
        before, both = edges, {one for one, _ in edges} & {other for _, other in edges}
        edges = {edge for edge in edges if both.issuperset(edge)}
    if edges:
        yield f"{', '.join(sorted({paths[one] for one, _ in edges}))}: import each other in a circle"


def circles_of_loading(sources: list[Source]) -> Iterator[str]:
    """Yield the files that import each other in a cycle while they are loaded.

    Loading a module loads the packages around it first.
    """
    paths = {source.module: source.path for source in sources}
    edges = {
        (source.module, loaded)
        for source in sources
        for found in imports_of(source, set(paths))
        if not found.in_function
        for loaded in {found.module, *around(found.module)} - {source.module, *around(source.module)}
        if loaded in paths
    }
    yield from told_circle(edges, paths)


def around(module: str) -> list[str]:
    """Return the packages that contain a module: ``a`` and ``a.b`` for ``a.b.c``."""
    parts = module.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts))]


def inner_place(path: str) -> tuple[str, str] | None:
    """Return (framework folder, part of it) of a file in a folder with inner ranks; None for other files.

    ``frontends/torch/memory/memory.py`` is in the part ``memory``; the part of a file directly in
    the folder is its name if that has a rank, else an empty string.
    """
    for folder, ranks in INNER_RANKS.items():
        if path.startswith(f"{folder}/"):
            room, slash, _ = path.removeprefix(f"{folder}/").partition("/")
            name = room.removesuffix(".py")
            return folder, name if slash or name in ranks else ""
    return None


def wrong_frameworks(sources: list[Source]) -> Iterator[str]:
    """Yield imports of an ML framework outside of the folders of that framework."""
    for source in sources:
        own = FRAMEWORKS.get(source.room.partition(".")[2], set())
        for found in imports_of(source, set()):
            package = found.module.split(".")[0]
            if package in ML_PACKAGES - own:
                yield f"{source.path}:{found.line}: {source.room} imports {package}"


def private_names(sources: list[Source]) -> Iterator[str]:
    """Yield uses of private names of a framework's modules outside of ``compat.py``, in folders that have
    such a file.

    Private names of classes are not checked.
    """
    for source in sources:
        folder = next(
            (
                folder
                for folder, ranks in INNER_RANKS.items()
                if source.path.startswith(f"{folder}/") and "compat" in ranks
            ),
            None,
        )
        if folder is None or source.path == f"{folder}/compat.py":
            continue
        private = re.compile(rf"{Path(folder).name}(\.[a-z]\w*)*\._\w+(\.\w+)*")
        for node in ast.walk(source.tree):
            texts = [ast.unparse(node)] if isinstance(node, ast.Attribute) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                texts = [f"{node.module}.{alias.name}" for alias in node.names]
            for text in texts:
                if private.fullmatch(text) and text not in PRIVATE_BY_NAME_ONLY:
                    yield f"{source.path}:{getattr(node, 'lineno', 0)}: {text} is private, and no name of compat.py"


def functions_of(source: Source) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (
        node for node in ast.walk(source.tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    )


def missing_docstrings(sources: list[Source]) -> Iterator[str]:
    return (f"{source.path}: no docstring" for source in sources if not ast.get_docstring(source.tree))


def missing_annotations(sources: list[Source]) -> Iterator[str]:
    """Yield functions of which a parameter or the result has no annotation."""
    for source in sources:
        for function in functions_of(source):
            given = function.args
            arguments = [
                *given.posonlyargs,
                *given.args,
                *given.kwonlyargs,
                *filter(None, (given.vararg, given.kwarg)),
            ]
            bare = [item.arg for item in arguments if item.annotation is None]
            if bare[:1] in (["self"], ["cls"]):
                bare = bare[1:]
            if function.returns is None:
                bare.append("the result")
            if bare:
                yield f"{source.path}:{function.lineno}: {function.name} does not annotate {', '.join(bare)}"


def docstring_lines(node: ast.AST) -> int:
    """Return the number of lines of the docstring of ``node``, or 0.

    The limits on length leave docstrings out, since what users read may be as long as necessary.
    """
    body = getattr(node, "body", None)
    first = body[0] if isinstance(body, list) and body else None
    if not (
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    ):
        return 0
    return (first.end_lineno or first.lineno) - first.lineno + 1


def long_functions(sources: list[Source]) -> Iterator[str]:
    for source in sources:
        for function in functions_of(source):
            lines = (function.end_lineno or function.lineno) - function.lineno + 1 - docstring_lines(function)
            if lines > MOST_LINES_OF_A_FUNCTION:
                yield f"{source.path}:{function.lineno}: {function.name} has {lines} lines"


BROAD = frozenset({"Exception", "BaseException"})
# Broad handlers that do not ask ``is_fault``, by file and function, and why they hide no bug. Strict: an entry
# without a handler fails.
BROAD_HANDLERS: dict[str, str] = {
    "backends/common/compilers.py call": "raises again what the compiler's message does not explain",
    "backends/jax/parallel.py run": "raises everything again, with words on lost connections",
    "backends/tensorflow/preloading.py ": "imports another package, and no code of this one runs",
    "frontends/jax/tracers.py explain_unknown_elements": "raises again all but an error of flax",
    "frontends/tensorflow/recording.py record": "raises everything again, or TensorFlow's errors in other words",
    "frontends/torch/reference.py _require_hub": "raises an OSError; runs the hub's client alone",
    "graph_compiler/cli/exits.py ended": "the end of a command, which reports a bug as InternalError",
    "graph_compiler/ir/sameness.py same_program": "compares the user's objects; False costs one recording",
    "graph_compiler/recording/patches/patch.py again": "the exception is the answer that a guard compares",
    "graph_compiler/registration.py _read": "stores what an entry point raises, for those who ask for its name",
    "graph_compiler/registration.py responds_to": "reads attributes of the user's objects alone",
    "graph_compiler/runtime/executable.py evaluate": "raises everything again, or the target's errors in other words",
    "graph_compiler/runtime/foreign_state.py numpy_values": "raises again unless the array is traced",
    "graph_compiler/runtime/variant.py _run_pure": "_failed raises everything again, or says GuardFailed",
    "graph_compiler/runtime/variant.py _run_and_apply": "_failed raises everything again, or says GuardFailed",
    "graph_compiler/runtime/verify.py _blame": "tells in VerificationFailed, which matters more, what it caught",
    "graph_compiler/training/fitting.py _read": "hands everything to the thread that asks, which raises it",
    "graph_compiler/transforms/functions.py missing_derivatives_reported": "raises again, or GradientRefused by message",
}

# Broad handlers that ask ``is_fault`` and go on after other exceptions, by file and function, and why they give
# up no way of recording or compiling. Those that do have to note it. Strict.
PROBES: dict[str, str] = {
    "backends/jax/transforms.py _read_backward": "a probe: all operands count as read",
    "frontends/jax/calls.py _abstract_results": "a probe of the types; tracing the body raises what is wrong",
    "frontends/jax/control_flow.py call_with_rule": "a refusal: a gradient raises with the reason",
    "frontends/numpy/reading.py run": "a probe: an iteration that differs is recorded, whatever differs",
    "frontends/tensorflow/derivatives.py identity": "a refusal: a gradient raises with the reason",
    "frontends/torch/compiling.py differs_outside": "a comparison; what raises differs",
    "frontends/torch/generators.py draw_in_other_thread": "copies arguments of another thread, which draws anyway",
    "frontends/torch/gradient_rules.py follow": "a refusal: the reason is returned, and a gradient raises with it",
    "frontends/torch/recording.py record_as_installed": "returns what it caught, which a Refutation notes",
    "frontends/torch/reference.py _runs": "a probe of example inputs",
    "frontends/torch/state/parameters.py _determined_buffers": "a probe: the buffers stay weights",
    "graph_compiler/runtime/variants.py _problem_of_original": "returns what it caught, for the text of an error",
    "graph_compiler/runtime/verify.py check": "a comparison: arguments that the original refuses are skipped",
    "graph_compiler/transforms/transformed.py verify_derivative": "a comparison, in float32 next",
}
NOTING = frozenset({"log_abandoned_way", "note_given_up", "_note_given_up", "Refutation"})


def broad_handlers(sources: list[Source]) -> Iterator[tuple[Source, ast.ExceptHandler | ast.Call]]:
    """Yield handlers of ``Exception`` or ``BaseException``, or of everything, and calls of ``suppress`` with
    one of these, unless they end by raising the exception again.
    """
    for source in sources:
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("suppress"):
                if any(ast.unparse(item) in BROAD for item in node.args):
                    yield source, node
            elif isinstance(node, ast.ExceptHandler):
                last = node.body[-1]
                raises_it = isinstance(last, ast.Raise) and (
                    last.exc is None or ast.unparse(last.exc) == node.name
                )
                if not raises_it and (node.type is None or not BROAD.isdisjoint(_classes(node.type))):
                    yield source, node


def _classes(caught: ast.expr) -> list[str]:
    return [ast.unparse(item) for item in (caught.elts if isinstance(caught, ast.Tuple) else [caught])]


def unexplained_handlers(sources: list[Source]) -> Iterator[str]:
    for source, node in broad_handlers(sources):
        if not source.text.splitlines()[node.lineno - 2].lstrip().startswith("#"):
            yield f"{source.path}:{node.lineno}: any exception is caught; name those that mean something, or say why all do"


def handlers_of_bugs(sources: list[Source], exceptions: Mapping[str, str]) -> Iterator[str]:
    """Yield broad handlers that do not ask :func:`is_fault`, unless ``exceptions`` allows them by the path and
    the function that they are in. Yield entries of ``exceptions`` without a reason or without a handler.
    """
    unused = set(exceptions)
    for source, node in broad_handlers(sources):
        if isinstance(node, ast.ExceptHandler) and any(
            isinstance(call, ast.Call) and ast.unparse(call.func) == "is_fault" for call in ast.walk(node)
        ):
            continue
        place = f"{source.path} {_function_at(source, node.lineno)}"
        unused.discard(place)
        if not exceptions.get(place, "").strip():
            yield f"{source.path}:{node.lineno}: a bug of this package is caught, too; let it pass if is_fault, or name the exceptions"
    yield from (f"{place}: has no broad handler" for place in sorted(unused))


def unnoted_ways(sources: list[Source], probes: Mapping[str, str]) -> Iterator[str]:
    """Yield broad handlers that ask :func:`is_fault` and go on without a note of what they gave up, unless
    ``probes`` allows them by the path and the function that they are in. Yield entries of ``probes`` without a
    reason or without a handler.
    """
    unused = set(probes)
    for source, node in broad_handlers(sources):
        if not isinstance(node, ast.ExceptHandler) or isinstance(node.body[-1], ast.Raise):
            continue
        called = {
            ast.unparse(call.func).rpartition(".")[2] for call in ast.walk(node) if isinstance(call, ast.Call)
        }
        if "is_fault" not in called or not NOTING.isdisjoint(called):
            continue
        place = f"{source.path} {_function_at(source, node.lineno)}"
        unused.discard(place)
        if not probes.get(place, "").strip():
            yield f"{source.path}:{node.lineno}: what is given up here is noted nowhere; call note_given_up, or say why it is a probe"
    yield from (f"{place}: has no broad handler" for place in sorted(unused))


def _function_at(source: Source, line: int) -> str:
    """Return the name of the innermost function around ``line``; empty for the top level of a module."""
    around = [
        node
        for node in ast.walk(source.tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        and node.lineno <= line <= (node.end_lineno or 0)
    ]
    return max(around, key=lambda node: node.lineno).name if around else ""


def wrong_lengths(sources: list[Source], exceptions: dict[str, str]) -> Iterator[str]:
    """Yield files that are too long and not in ``exceptions``, and entries of ``exceptions`` that are not
    needed or give no reason.
    """
    lengths = {
        source.path: len(source.text.splitlines()) - sum(map(docstring_lines, ast.walk(source.tree)))
        for source in sources
    }
    long = {path: lines for path, lines in lengths.items() if lines > MOST_LINES_OF_A_FILE}
    yield from (f"{path}: {lines} lines" for path, lines in long.items() if path not in exceptions)
    yield from (
        f"{path}: is no longer too long; take it out of EXCEPTIONS" for path in exceptions if path not in long
    )
    yield from (
        f"{path}: its exception gives no reason" for path, reason in exceptions.items() if not reason.strip()
    )


_TAPES = "of every framework that notes gradients, or has memory with strides: a property of a recorded call"
# Words of one framework. The core has them from the rows of a frontend (``frontends/entries.py``), and names
# none itself.
WORDS = re.compile(
    r"(?<!\w)(torch|torchvision|jax|jaxlib|flax|tensorflow|keras|transformers|forward|state_dict|requires_grad|is_leaf|has_grad|is_parameter|"
    r"clone|detach|no_grad|strided)(?!\w)"
)
# File -> the words that it may have, and why. Strict: a word that is not there fails.
WORDS_EXCEPTIONS: dict[str, tuple[set[str], str]] = {
    "graph_compiler/cli/app.py": ({"torch"}, "the help says what the package is for"),
    "graph_compiler/cli/doctor.py": (
        {"torch", "torchvision", "jax", "jaxlib", "flax", "tensorflow", "keras", "transformers"},
        "a table of distributions: their least versions, and what is known not to go together",
    ),
    "graph_compiler/ir/node.py": ({"no_grad", "strided"}, _TAPES),
    "graph_compiler/ir/sameness.py": ({"no_grad"}, _TAPES),
    "graph_compiler/ir/json.py": ({"no_grad", "strided"}, _TAPES),
    "graph_compiler/ops/control.py": (
        {"forward"},
        "the forward function of a derivative rule, in the words of automatic differentiation",
    ),
    "graph_compiler/passes/cleanup/redundancy.py": ({"no_grad"}, _TAPES),
    "graph_compiler/runtime/original_weights.py": (
        {"torch"},
        "the remedy for a file of another format than it reads",
    ),
    "graph_compiler/recording/reachability/walk.py": ({"is_leaf"}, "a leaf of the walk"),
    "graph_compiler/visualise/page.py": (
        {"clone"},
        "a table of names of calls of all frameworks, by which a page colours them",
    ),
}


def words_of_frameworks(sources: list[Source], exceptions: dict[str, tuple[set[str], str]]) -> Iterator[str]:
    """Yield words of one framework in ``graph_compiler/`` that ``exceptions`` does not allow, and exceptions
    that are not needed.

    Docstrings and comments may use them.
    """
    for source in sources:
        if not source.path.startswith("graph_compiler/"):
            continue
        allowed, found = exceptions.get(source.path, (set(), ""))[0], set()
        for line, text in texts_of(source):
            found |= (words := set(WORDS.findall(text)))
            yield from (
                f"{source.path}:{line}: {word} is a word of one framework" for word in sorted(words - allowed)
            )
        yield from (
            f"{source.path}: has no {word} any more; take it out of WORDS_EXCEPTIONS"
            for word in sorted(allowed - found)
        )


def texts_of(source: Source) -> Iterator[tuple[int, str]]:
    """Yield (line, text) of each string except docstrings, and of each name of an attribute or field."""
    documentation = {id(node.value) for node in ast.walk(source.tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            yield node.lineno, node.value
        elif isinstance(node, ast.Attribute):
            yield node.lineno, node.attr
        elif isinstance(node, ast.AnnAssign):
            yield node.lineno, ast.unparse(node.target)


RULES: dict[str, Callable[[list[Source]], Iterator[str]]] = {
    "imports follow the ranks": wrong_imports,
    "imports inside of a framework's folder follow its ranks": wrong_inner_imports,
    "files inside of a framework's folder import each other in no circle": circles,
    "files import each other in no circle while they are loaded": circles_of_loading,
    "frameworks stay in their folders": wrong_frameworks,
    "the core has no words of one framework": lambda sources: words_of_frameworks(sources, WORDS_EXCEPTIONS),
    "private names of a framework stand in one file": private_names,
    "every file says what it is": missing_docstrings,
    "every function is annotated": missing_annotations,
    "functions fit a screen": long_functions,
    "broad handlers say why": unexplained_handlers,
    "no handler hides bugs": lambda sources: handlers_of_bugs(sources, BROAD_HANDLERS),
    "ways given up are noted": lambda sources: unnoted_ways(sources, PROBES),
    "files stay short": lambda sources: wrong_lengths(sources, EXCEPTIONS),
}


@pytest.fixture(scope="module")
def sources(checkout: Path) -> list[Source]:
    return read_sources(checkout)


@pytest.mark.parametrize("rule", RULES)
def test_rule_holds(rule: str, sources: list[Source]) -> None:
    violations = list(RULES[rule](sources))
    assert not violations, "\n".join([f"{rule}:", *violations])


def test_all_rooms_are_read(sources: list[Source]) -> None:
    modules = {source.module for source in sources}
    assert {
        "graph_compiler",
        "graph_compiler.ir",
        "graph_compiler.backends",
        "graph_compiler.frontends",
    } <= modules


# ----- the testers tested: each planted violation is found, each legal twin is not


def plant(root: Path, **files: str) -> list[Source]:
    """Write files with the given contents and return the sources below ``root``.

    ``__`` in a name stands for ``/``.
    """
    for name, text in files.items():
        path = root / f"{name if '/' in name else name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return read_sources(root)


LEGAL = {
    "graph_compiler__ir__graph": "from ..ops.registry import Op\nfrom .. import errors\nimport networkx\n",
    "graph_compiler__ops__registry": "",
    "graph_compiler__errors": "",
    "graph_compiler__api": "def f():\n    from .backends import jax\n    from .frontends.torch.capture import record\n",
    "graph_compiler__codegen__source": "from ..backends.rows import Rows\n",
    "graph_compiler__cli": "from . import api\n",
    "backends__rows": "from ..ops import registry\n",
    "backends__jax__arrays": "import jax.numpy as jnp\nimport flax\nfrom ..rows import Rows\nfrom ...ir.graph import Graph\n",
    "frontends__torch__capture": "import torch\nfrom typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import jax\n",
}

PLANTED_IMPORTS = {
    "upward": ("graph_compiler__ir__bad", "from ..codegen.source import write\n"),
    "upward, by module": ("graph_compiler__ir__bad", "from .. import api\n"),
    "upward, absolute": ("graph_compiler__ir__bad", "import graph_compiler.runtime.graph\n"),
    "upward, within a function": ("graph_compiler__ir__bad", "def f():\n    from ..api import compile\n"),
    "upward, by name": (
        "graph_compiler__ir__bad",
        "import importlib\nimportlib.import_module('graph_compiler.api')\n",
    ),
    "the public names": ("graph_compiler__ir__bad", "from .. import transpile\n"),
    "same rank": ("graph_compiler__passes__bad", "from ..tracing import session\n"),
    "unranked": ("graph_compiler__ir__bad", "from ..shed import tool\n"),
    "a room without a rank": ("graph_compiler__shed", ""),
    "frontend to backend": ("frontends__torch__bad", "from ...backends.rows import Rows\n"),
    "backend to frontend": ("backends__jax__bad", "def f():\n    from ...frontends.torch import capture\n"),
    "between frameworks": ("backends__jax__bad", "from ..torch import arrays\n"),
    "shared to framework": ("backends__bad", "from .jax import arrays\n"),
    "core names a framework's folder": (
        "graph_compiler__runtime__bad",
        "def f():\n    from ..backends.jax import arrays\n",
    ),
    "api names one eagerly": ("graph_compiler__api", "from .backends.jax import arrays\n"),
}

LEGAL_INSIDE = {
    "frontends/torch/__init__": "from .recording import record\nfrom .state import array_access\n",
    "frontends__torch__recording": "from .memory.memory import past\n",
    "frontends__torch__basics__kinds": "",
    "frontends__torch__memory__memory": (
        "from ..basics import kinds\nfrom . import views\nif TYPE_CHECKING:\n    from ..trace import Trace\n"
    ),
    "frontends__torch__trace": "",
    "frontends__torch__memory__views": "from ....ir.graph import Graph\n",
    "frontends__torch__state__array_access": "from ..memory.views import view\n",
    "frontends__jax__recording": "",
}

PLANTED_INSIDE = {
    "upward": ("frontends__torch__memory__bad", "from ..state.array_access import leave\n"),
    "upward, by module": ("frontends__torch__memory__bad", "from ..state import array_access\n"),
    "upward, within a function": (
        "frontends__torch__memory__bad",
        "def f():\n    from ..state.array_access import leave\n",
    ),
    "upward, for type checkers": (
        "frontends__torch__memory__bad",
        "if TYPE_CHECKING:\n    from ..state.array_access import Kept\n",
    ),
    "same rank": ("frontends__torch__generators", "from .state.array_access import leave\n"),
    "a file beside the rooms": ("frontends__torch__capture__bad", "from .. import recording\n"),
    "the frontend's own names": ("frontends__torch__capture__bad", "from .. import record\n"),
    "a room without a rank": ("frontends__torch__shed__bad", ""),
}

PLANTED_FRAMEWORKS = {
    "core": ("graph_compiler__ir__bad", "import torch\n"),
    "core, within a function": ("graph_compiler__ir__bad", "def f():\n    from jax import numpy\n"),
    "core, by name": (
        "graph_compiler__ir__bad",
        "from importlib import import_module\nimport_module('tensorflow')\n",
    ),
    "core, beside a type-checking import": (
        "graph_compiler__ir__bad",
        "if TYPE_CHECKING:\n    pass\nelse:\n    import keras\n",
    ),
    "shared part of a room": ("backends__bad", "import jax\n"),
    "another framework's folder": ("backends__jax__bad", "import torch.nn\n"),
}


def test_legal_sources_pass(tmp_path: Path) -> None:
    sources = plant(tmp_path, **LEGAL)
    assert not [*wrong_imports(sources), *wrong_frameworks(sources)]


@pytest.mark.parametrize("case", PLANTED_IMPORTS)
def test_planted_import_is_found(case: str, tmp_path: Path) -> None:
    name, text = PLANTED_IMPORTS[case]
    found = list(wrong_imports(plant(tmp_path, **{**LEGAL, "backends__torch__arrays": "", name: text})))
    assert len(found) == 1, found
    assert found[0].startswith(name.replace("__", "/"))


def test_legal_inner_imports_pass(tmp_path: Path) -> None:
    assert not list(wrong_inner_imports(plant(tmp_path, **LEGAL_INSIDE)))


@pytest.mark.parametrize("case", PLANTED_INSIDE)
def test_planted_inner_import_is_found(case: str, tmp_path: Path) -> None:
    name, text = PLANTED_INSIDE[case]
    found = list(wrong_inner_imports(plant(tmp_path, **{**LEGAL_INSIDE, name: text})))
    assert len(found) == 1, found
    assert found[0].startswith(name.replace("__", "/"))


def test_planted_circle_is_found(tmp_path: Path) -> None:
    assert not list(circles(plant(tmp_path, **LEGAL_INSIDE)))
    views = "if TYPE_CHECKING:\n    from .memory import Past\n"
    found = list(circles(plant(tmp_path, **{**LEGAL_INSIDE, "frontends__torch__memory__views": views})))
    assert found == [
        "frontends/torch/memory/memory.py, frontends/torch/memory/views.py: import each other in a circle"
    ]


def test_planted_circle_of_loading_is_found(tmp_path: Path) -> None:
    files = {
        "graph_compiler/recording/control_flow/__init__": "from .loops import loop\n",
        "graph_compiler__recording__control_flow__loops": "from ..rows import row\n",
        "graph_compiler__recording__control_flow__jumps": "",
        "graph_compiler__recording__rows": "def f():\n    from .control_flow.jumps import walk\n",
    }
    assert not list(circles_of_loading(plant(tmp_path, **files)))
    files["graph_compiler__recording__rows"] = "from .control_flow.jumps import walk\n"
    assert list(circles_of_loading(plant(tmp_path, **files))) == [
        "graph_compiler/recording/control_flow/__init__.py, graph_compiler/recording/control_flow/loops.py, "
        "graph_compiler/recording/rows.py: import each other in a circle"
    ]


@pytest.mark.parametrize("case", PLANTED_FRAMEWORKS)
def test_planted_framework_is_found(case: str, tmp_path: Path) -> None:
    name, text = PLANTED_FRAMEWORKS[case]
    found = list(wrong_frameworks(plant(tmp_path, **{**LEGAL, name: text})))
    assert len(found) == 1, found
    assert found[0].startswith(name.replace("__", "/"))


@pytest.mark.parametrize(
    "text", ["found = 'torch.nn'\n", "found = item.forward\n", "found = getattr(item, 'requires_grad')\n"]
)
def test_planted_word_is_found(text: str, tmp_path: Path) -> None:
    sources = plant(
        tmp_path,
        graph_compiler__ir__bad=f'"""As of torch."""\nfor forward in (): pass\n{text}',
        frontends__jax__own=text,
    )
    found = list(words_of_frameworks(sources, {}))
    assert len(found) == 1 and found[0].startswith("graph_compiler/ir/bad.py:3: ")
    assert list(words_of_frameworks(sources, {"graph_compiler/ir/bad.py": ({"flax"}, "why")}))[-1].endswith(
        "WORDS_EXCEPTIONS"
    )


@pytest.mark.parametrize(
    "text",
    [
        "import torch\nstate = torch._C._get_tracing_state()\n",
        "from torch._ops import OpOverload\n",
        "from torch.overrides import _pop_mode\n",
    ],
)
def test_planted_private_name_is_found(text: str, tmp_path: Path) -> None:
    legal = {
        "frontends__torch__compat": text,
        "frontends__torch__state__legal": "import torch\nprint(torch.nn.Module._call_impl)\n",
    }
    assert not list(private_names(plant(tmp_path, **legal)))
    found = list(private_names(plant(tmp_path, **legal, frontends__torch__state__bad=text)))
    assert found and all(one.startswith("frontends/torch/state/bad.py") for one in found)


def test_planted_missing_docstring_is_found(tmp_path: Path) -> None:
    sources = plant(
        tmp_path, graph_compiler__good='"""What it is."""\n', graph_compiler__bad="# a comment is none\n"
    )
    assert list(missing_docstrings(sources)) == ["graph_compiler/bad.py: no docstring"]


@pytest.mark.parametrize(
    "signature", ["x) -> int", "x: int)", "*x) -> int", "**x) -> int", "*, x) -> int", "self: int, x) -> int"]
)
def test_planted_missing_annotation_is_found(signature: str, tmp_path: Path) -> None:
    bad = f"class C:\n    def f(self) -> int:\n        def g({signature}: ...\n"
    found = list(missing_annotations(plant(tmp_path, graph_compiler__bad=bad)))
    assert len(found) == 1, found
    assert found[0].startswith("graph_compiler/bad.py:3: g does not annotate ")


def test_planted_long_function_is_found(tmp_path: Path) -> None:
    body = "    pass\n" * (MOST_LINES_OF_A_FUNCTION - 1)
    sources = plant(
        tmp_path, graph_compiler__a=f"def longest_legal():\n{body}def too_long():\n{body}    pass\n"
    )
    assert list(long_functions(sources)) == ["graph_compiler/a.py:61: too_long has 61 lines"]


def test_planted_long_file_is_found(tmp_path: Path) -> None:
    longest = "pass\n" * MOST_LINES_OF_A_FILE
    sources = plant(tmp_path, graph_compiler__short=longest, graph_compiler__long=f"{longest}pass\n")
    assert list(wrong_lengths(sources, {})) == ["graph_compiler/long.py: 801 lines"]
    assert not list(wrong_lengths(sources, {"graph_compiler/long.py": "one algebra, one file"}))
    assert (
        len(list(wrong_lengths(sources, {"graph_compiler/long.py": " ", "graph_compiler/short.py": "why"})))
        == 2
    )


@pytest.mark.parametrize(
    "handler",
    ["Exception:\n    pass", "BaseException as problem:\n    raise ValueError from problem", ":\n    pass"],
)
def test_planted_handler_is_found(handler: str, tmp_path: Path) -> None:
    bad = f"try:\n    f()\nexcept {handler}\n".replace("except :", "except:")
    legal = {
        "graph_compiler__a": bad.replace("except", "# The user's code may raise anything.\nexcept"),
        "graph_compiler__b": "try:\n    f()\nexcept Exception as problem:\n    clean()\n    raise\n",
        "graph_compiler__c": "try:\n    f()\nexcept (KeyError, ValueError):\n    pass\n",
    }
    assert not list(unexplained_handlers(plant(tmp_path, **legal)))
    found = list(unexplained_handlers(plant(tmp_path, **legal, graph_compiler__bad=bad)))
    assert len(found) == 1 and found[0].startswith("graph_compiler/bad.py:3: ")


@pytest.mark.parametrize(
    "handler", ["except Exception:\n    pass", "except (KeyError, Exception):\n    pass", "except:\n    pass"]
)
def test_planted_handler_of_bugs_is_found(handler: str, tmp_path: Path) -> None:
    body = f"try:\n    f()\n{handler}\n"
    bad = {
        "graph_compiler__bad": "def g() -> None:\n" + "".join(f"    {line}\n" for line in body.splitlines())
    }
    asking = (
        "try:\n    f()\nexcept Exception as problem:\n    if is_fault(problem):\n        raise\n    clean()\n"
    )
    assert not list(handlers_of_bugs(plant(tmp_path, graph_compiler__a=asking), {}))
    sources = plant(tmp_path, graph_compiler__a=asking, **bad)
    found = list(handlers_of_bugs(sources, {}))
    assert len(found) == 1 and found[0].startswith("graph_compiler/bad.py:4: ")
    assert not list(handlers_of_bugs(sources, {"graph_compiler/bad.py g": "it calls nothing of ours"}))
    unused = {"graph_compiler/bad.py g": "it calls nothing of ours", "graph_compiler/a.py g": "why"}
    assert list(handlers_of_bugs(sources, unused)) == ["graph_compiler/a.py g: has no broad handler"]


def test_planted_way_that_is_not_noted_is_found(tmp_path: Path) -> None:
    silent = (
        "def g() -> None:\n    try:\n        f()\n    except Exception as problem:\n"
        "        if is_fault(problem):\n            raise\n        {}\n"
    )
    noted = silent.format("recorder.note_given_up('calling f', problem)")
    assert not list(unnoted_ways(plant(tmp_path, graph_compiler__a=noted), {}))
    sources = plant(tmp_path, graph_compiler__a=noted, graph_compiler__bad=silent.format("clean()"))
    found = list(unnoted_ways(sources, {}))
    assert len(found) == 1 and found[0].startswith("graph_compiler/bad.py:4: ")
    assert not list(unnoted_ways(sources, {"graph_compiler/bad.py g": "a probe"}))
    unused = {"graph_compiler/bad.py g": "a probe", "graph_compiler/a.py g": "a probe"}
    assert list(unnoted_ways(sources, unused)) == ["graph_compiler/a.py g: has no broad handler"]


def test_planted_suppression_is_found(tmp_path: Path) -> None:
    legal = "with suppress(KeyError):\n    f()\n"
    assert not list(handlers_of_bugs(plant(tmp_path, graph_compiler__a=legal), {}))
    sources = plant(tmp_path, graph_compiler__bad=legal.replace("KeyError", "Exception"))
    assert len(list(handlers_of_bugs(sources, {}))) == 1
