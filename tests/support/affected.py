"""Selection of the cases that a change can affect, by the names of the changed files.

The first row of ``REACH`` whose pattern matches a file says which tests the file reaches, and in which
targets. Named groups of the pattern (``framework``, ``folder``) can be used in the other columns. Of a
test listed in ``each`` all cases of the targets run. Of a test listed in ``one``, each program or sample
runs in one target, which a hash of its name determines.
"""

from __future__ import annotations

import ast
import fnmatch
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from .selection import case_of, digest

ROOT = Path(__file__).resolve().parents[2]
TARGETS = ("torch", "jax", "tensorflow", "numpy")
# Names of the way through canonical operations and back.
LIFTED = ("lifted", "canonical")

# source framework: the tests that call each of its functions and operations
SAMPLES = {
    "torch": (
        "tests/corpora/test_samples.py",
        "tests/corpora/test_dtypes.py",
        "tests/corpora/test_random*.py",
    ),
    "jax": ("tests/frontends/jax/test_samples.py", "tests/frontends/jax/test_harnesses.py"),
    "numpy": ("tests/frontends/numpy/test_samples.py", "tests/frontends/numpy/test_draws.py"),
    "tensorflow": (
        "tests/frontends/tensorflow/test_samples.py",
        "tests/frontends/tensorflow/test_functions.py",
        "tests/frontends/keras/test_samples.py",
    ),
}
DERIVATIVES = (
    "tests/corpora/test_kinks.py",
    "tests/transforms/test_derivatives.py",
    "tests/transforms/test_forward_formulas*.py",
    "tests/transforms/test_strong_zero.py",
    "tests/frontends/tensorflow/test_sample_gradients.py",
    "tests/frontends/jax/test_gradients.py",
)
# source framework: the tests whose programs exercise the recording
PROGRAMS = {
    "torch": (
        "tests/corpora/test_programs.py",
        "tests/frontends/torch/test_*.py",
        "tests/frontends/test_symbolic_numbers.py",
        "tests/corpora/test_models.py",
    ),
    "jax": (
        "tests/frontends/jax/test_programs.py",
        "tests/frontends/jax/test_loops.py",
        "tests/frontends/jax/test_reads.py",
    ),
    "numpy": (
        "tests/frontends/numpy/test_source.py",
        "tests/frontends/numpy/test_read_numbers.py",
        "tests/corpora/kernels/*.py",
    ),
    "tensorflow": (
        "tests/frontends/tensorflow/test_*traps.py",
        "tests/frontends/tensorflow/test_programs.py",
        "tests/frontends/keras/test_programs.py",
    ),
}
LOOPS = (
    "tests/corpora/control_flow/test_values.py",
    "tests/corpora/lengths/test_*.py",
    "tests/corpora/rolling/test_loops.py",
    "tests/corpora/layers/test_*.py",
    "tests/corpora/traced/test_*.py",
)
COLLECTIVES = ("tests/parallel/*.py", "tests/transforms/test_named_axes.py")
# Tests of the parts of the package, and quick ones of everything.
PARTS = (
    *(
        f"tests/{folder}/test_*.py"
        for folder in ("cli", "codegen", "contracts", "ops", "recording", "runtime", "sizes", "visualise")
    ),
    "tests/backends/*/test_*.py",
    "tests/corpora/test_*.py",
    "tests/frontends/test_*.py",
    "tests/frontends/*/test_read_numbers.py",
    "tests/frontends/jax/test_sorted_keys.py",
    "tests/frontends/numpy/test_*.py",
    "tests/frontends/tensorflow/test_tracked_containers.py",
    "tests/frontends/torch/test_*.py",
    "tests/passes/test_kept_work.py",
    "tests/passes/test_layout_of_networks.py",
)
EVERY_SAMPLE = tuple(test for tests in SAMPLES.values() for test in tests)
EVERY_PROGRAM = (*(test for tests in PROGRAMS.values() for test in tests), *LOOPS)


@dataclass(frozen=True)
class Reach:
    """A row of the table: the tests that changes of some files reach.

    files: regular expression that the whole path of a file matches.
    each: patterns of test files of which all cases in ``targets`` run.
    one: patterns of test files of which each program runs in one target.
    targets: targets for ``each`` and ``one``; the name of a group of ``files`` stands for what the group
        matched.
    elsewhere: if True, the group ``framework`` is left out of the targets. Programs of a framework run in it as
        they were recorded, which nothing lifts.
    """

    files: str
    each: tuple[str, ...] = ()
    one: tuple[str, ...] = ()
    targets: tuple[str, ...] = TARGETS
    elsewhere: bool = False


REACH = (
    # Files that backends or frontends share.
    Reach(r"backends/common/(array_code|helper_calls)\.py", EVERY_SAMPLE, (), ("jax", "numpy", "torch")),
    Reach(r"backends/(common/)?\w+\.py", PARTS, (*EVERY_SAMPLE, *DERIVATIVES, *EVERY_PROGRAM)),
    Reach(r"frontends/(common/)?\w+\.py", (), (*EVERY_SAMPLE, *EVERY_PROGRAM)),
    # Loops, branches, calls, and exchange between devices.
    Reach(
        r"backends/(?P<framework>\w+)/lowering/control\.py",
        ("tests/corpora/control_flow/*.py", *LOOPS, *DERIVATIVES, *COLLECTIVES),
        EVERY_PROGRAM,
        ("framework",),
    ),
    Reach(
        r"backends/(?P<framework>\w+)/(lowering|prelude)/.*",
        (*EVERY_SAMPLE, *DERIVATIVES),
        (),
        ("framework",),
    ),
    Reach(
        r"backends/(?P<framework>\w+)/.*",
        (*DERIVATIVES, "tests/*{framework}*.py"),
        EVERY_PROGRAM,
        ("framework",),
    ),
    Reach(
        r"frontends/(?P<framework>\w+)/lifting/.*",
        COLLECTIVES,
        ("{samples}", "{programs}", *DERIVATIVES),
        elsewhere=True,
    ),
    Reach(
        r"frontends/(?P<framework>\w+)/.*", ("tests/*{framework}*.py",), ("{samples}", "{programs}", *LOOPS)
    ),
    Reach(r"graph_compiler/cli/.*", ("tests/cli/test_command_line.py",)),
    Reach(
        r"graph_compiler/visualise/.*", ("tests/visualise/test_show.py", "tests/visualise/test_summary.py")
    ),
    Reach(r"graph_compiler/(?P<folder>training|transforms|parallel)/.*", ("tests/{folder}/*.py",)),
    Reach(r"graph_compiler/ops/.*", ("tests/ops/test_matrix.py",), (*EVERY_SAMPLE, *DERIVATIVES)),
    Reach(
        r"graph_compiler/passes/.*",
        ("tests/passes/*.py", "tests/ir/*.py"),
        (*EVERY_PROGRAM, *DERIVATIVES, "tests/corpora/test_samples.py"),
    ),
    Reach(r"graph_compiler/assumptions\.py", ("tests/assumptions/*.py",), EVERY_PROGRAM),
    Reach(r"graph_compiler/.*", PARTS, EVERY_PROGRAM),
    Reach(r"(setup\.cfg|constraints\.txt)", (), (*EVERY_SAMPLE, *EVERY_PROGRAM)),
)
# These tests have thousands of cases. If a change reaches several targets, each of their programs and samples
# runs in one.
LARGE = (
    "tests/corpora/test_samples.py",
    "tests/corpora/test_programs.py",
    "tests/corpora/test_dtypes.py",
    "tests/frontends/numpy/test_samples.py",
)


# -------------------------------------------------------------------------------------------- what it reaches
def affected(nodes: Iterable[str], files: Iterable[str]) -> set[str]:
    """Return the ids among ``nodes`` that changes of ``files`` can affect."""
    return set[str]().union(*affected_by_file(nodes, files).values())


def affected_by_file(nodes: Iterable[str], files: Iterable[str]) -> dict[str, set[str]]:
    """Map each of ``files`` to the ids among ``nodes`` that a change of it can affect."""
    of_file: dict[str, list[str]] = {}
    for node in nodes:
        of_file.setdefault(node.partition("::")[0], []).append(node)
    return {changed: set(_affected(of_file, changed)) for changed in files}


def _affected(of_file: dict[str, list[str]], changed: str) -> Iterator[str]:
    for test, targets, only_one in reached(changed):
        for name in fnmatch.filter(of_file, test):
            cases = [case for case in of_file[name] if runs_in(case, targets)]
            of_table = [case for case in cases if is_of_table(case, changed)]
            is_narrowed = only_one or (name in LARGE and len(targets) > 1)
            yield from of_table or (one_target(cases) if is_narrowed else cases)


def summary(added: dict[str, int], base: str) -> str:
    """Return a line that says how many cases the changes since ``base`` added, and for which (at most four)
    files most.

    >>> summary({"a.py": 0, "b.py": 7, "c.py": 9}, "HEAD")
    '3 files changed since HEAD; cases added to the selection (some by several files): 9 for c.py, 7 for b.py'
    >>> summary({"README.md": 0}, "HEAD")
    '1 files changed since HEAD; cases added to the selection: none'
    """
    most = sorted(((count, file) for file, count in added.items() if count), reverse=True)
    named = ", ".join(f"{count} for {file}" for count, file in most[:4])
    more = f", and for {len(most) - 4} more files" if len(most) > 4 else ""
    several = " (some by several files)" if len(most) > 1 else ""
    return f"{len(added)} files changed since {base}; cases added to the selection{several}: {named or 'none'}{more}"


def is_of_table(case: str, changed: str) -> bool:
    """Return True if ``changed`` is a table of samples or programs below ``tests`` and ``case`` is one of its
    rows.

    The ids of such cases begin with the name of the table: ``test_sample[elementwise-abs-jax]``.
    """
    return changed.startswith("tests/") and case.partition("[")[2].startswith(f"{Path(changed).stem}-")


def reached(changed: str) -> Iterator[tuple[str, tuple[str, ...], bool]]:
    """Yield (pattern of test files, targets, True if each program runs in only one of them) for a changed
    file.

    Yield nothing for a file that no row matches.
    """
    if changed.startswith("tests/"):
        yield from ((test, TARGETS, False) for test in tests_with(changed))
        return
    for row in REACH:
        if match := re.fullmatch(row.files, changed):
            names = match.groupdict()
            without = names["framework"] if row.elsewhere else None
            targets = tuple(names.get(target, target) for target in row.targets if target != without)
            yield from ((test, targets, False) for each in row.each for test in _filled(each, names))
            yield from ((test, targets, True) for each in row.one for test in _filled(each, names))
            return


def _filled(test: str, names: dict[str, str]) -> tuple[str, ...]:
    """Return the test patterns that an entry of a row stands for: those of a table if it is ``{samples}`` or
    ``{programs}``, else itself with the groups ``names`` filled in.
    """
    framework = names.get("framework", "")
    if test == "{samples}":
        return SAMPLES.get(framework, EVERY_SAMPLE)
    if test == "{programs}":
        return PROGRAMS.get(framework, EVERY_PROGRAM)
    return (test.format(**names),)


# ---------------------------------------------------------------------------------------------- cases
def target_of(case: str) -> str | None:
    """Return the target of a case: the last one that its id names, or None.

    >>> target_of("t.py::test[elementwise-abs-jax]"), target_of("t.py::test[numpy jax]"), target_of("t.py::test")
    ('jax', 'jax', None)
    """
    words = [word for word in re.split(r"[^a-z]+", case.partition("[")[2]) if word in (*TARGETS, *LIFTED)]
    return words[-1] if words else None


def runs_in(case: str, targets: tuple[str, ...]) -> bool:
    """Return True if the id of the case names one of ``targets`` or no target."""
    return target_of(case) in (None, *targets)


def one_target(cases: Iterable[str]) -> Iterator[str]:
    """Yield one case of each group of cases whose ids differ only in the target; the hash of the name decides
    which.
    """
    programs: dict[str, list[str]] = {}
    for case in cases:
        target = target_of(case)
        head, _, tail = case.rpartition(target) if target else (case, "", "")
        programs.setdefault(f"{head}{tail}", []).append(case)
    return (min(same, key=lambda case: digest(case_of(case))) for same in programs.values())


# ----------------------------------------------------------------------------------------- files of the tests
def tests_with(changed: str) -> list[str]:
    """Return the test files that are ``changed`` or import it, directly or through other files below
    ``tests``.

    Changes of tests/support and tests/conftest.py reach only the tests of these helpers; every other test
    uses them, and the selection runs in any case.
    """
    if changed.startswith("tests/support/") or changed == "tests/conftest.py":
        # The selection runs in any case.
        return [
            "tests/repository/test_support.py",
            "tests/repository/test_selection.py",
        ]
    reached, new = set[str](), {changed}
    while new:
        reached |= new
        new = {name for name, imported in _imports().items() if imported & new} - reached
    return sorted(name for name in reached if Path(name).name.startswith("test_"))


@cache
def _imports() -> dict[str, frozenset[str]]:
    """Map each file below ``tests`` to the files below ``tests`` that it imports."""
    files = {path.relative_to(ROOT).as_posix(): path for path in (ROOT / "tests").rglob("*.py")}
    return {name: frozenset(_imported(name, path) & files.keys()) for name, path in files.items()}


def _imported(name: str, path: Path) -> set[str]:
    package = Path(name).parent.parts
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else ()
            module = (*start, *(node.module or "").split("."))
            whole = [part for part in module if part]
            names = [[*whole, alias.name] for alias in node.names]
            for parts in [whole, *names] if node.module else names:
                found |= {"/".join(parts) + ".py", "/".join(parts) + "/__init__.py"}
        elif isinstance(node, ast.Import):
            found |= {alias.name.replace(".", "/") + ".py" for alias in node.names}
    text = path.read_text("utf-8")
    if "importlib.import_module" in text or "pkgutil" in text:
        # Modules that are imported by name are in a package that the file imports, or in its own.
        packages = [
            ROOT / each.removesuffix("/__init__.py") for each in found if each.endswith("/__init__.py")
        ]
        folders = [
            folder
            for folder in (*packages, *([path.parent] if "__package__" in text else []))
            if folder != ROOT / "tests"
        ]
        found |= {
            each.relative_to(ROOT).as_posix()
            for folder in folders
            if folder.is_dir()
            for each in folder.rglob("*.py")
        }
    return found
