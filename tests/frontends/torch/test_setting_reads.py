"""Tests of global settings that a torch function reads: a call under another setting gives the original's
result.
"""

from __future__ import annotations

import abc
import builtins
import decimal
import functools
import gc
import logging
import os
import random
import re
import secrets
import sys
import uuid
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import is_grad_enabled  # noqa: E402

import graph_compiler  # noqa: E402
from graph_compiler.errors import TracingError  # noqa: E402

_CUDNN = torch.backends.cudnn


def _set_benchmark(on: bool) -> None:
    # torch's own tests disable such changes permanently.
    with torch.backends.__allow_nonbracketed_mutation():
        _CUDNN.benchmark = on


_open_file = open


def _put(space: dict[str, Any], name: str, item: Any) -> None:
    if item:
        space[name] = item
    else:
        space.pop(name, None)


def _found_or_none() -> Any:
    try:
        return tests_new  # type: ignore[name-defined]
    except NameError:
        return None


builtins.tests_factor = 2  # type: ignore[attr-defined]
_PARTIAL: Any = functools.partial(int, 4)
_LOGGER, _DEPTH = logging.getLogger("tests.settings"), sys.getrecursionlimit()


def _filter(more: bool) -> None:
    if more:
        warnings.simplefilter("ignore", BytesWarning)
    else:
        warnings.filters.pop(0)  # type: ignore[attr-defined]


# setting -> (how a function reads it, how it is set, values)
SETTINGS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any], tuple[Any, Any]]] = {
    "grad mode": (lambda: torch.is_grad_enabled() is True, torch.set_grad_enabled, (False, True)),
    "name of one's own": (lambda: is_grad_enabled() is True, torch.set_grad_enabled, (False, True)),
    "deterministic": (
        lambda: torch.are_deterministic_algorithms_enabled() is True,
        torch.use_deterministic_algorithms,
        (True, False),
    ),
    "precision": (
        lambda: torch.get_float32_matmul_precision() + ".",
        torch.set_float32_matmul_precision,
        ("high", "highest"),
    ),
    "property": (lambda: _CUDNN.benchmark, _set_benchmark, (True, False)),
    "dtype of autocast": (
        lambda: f"{torch.get_autocast_dtype('cpu')}",
        functools.partial(torch.set_autocast_dtype, "cpu"),
        (torch.float16, torch.bfloat16),
    ),
    "attention": (
        lambda: torch.backends.cuda.math_sdp_enabled() is True,
        torch.backends.cuda.enable_math_sdp,
        (False, True),
    ),
    "numpy": (lambda: np.geterr()["over"], lambda how: np.seterr(over=how), ("ignore", "warn")),
    "printing": (
        lambda: np.get_printoptions()["precision"] + 0,
        lambda digits: np.set_printoptions(precision=digits),
        (3, 8),
    ),
    "logger": (lambda: _LOGGER.level, _LOGGER.setLevel, (logging.INFO, logging.NOTSET)),
    "logger by name": (
        lambda: logging.getLogger("tests.settings").level + 0,
        _LOGGER.setLevel,
        (logging.INFO, logging.NOTSET),
    ),
    "what is logged": (
        lambda: _LOGGER.isEnabledFor(logging.INFO),
        _LOGGER.setLevel,
        (logging.INFO, logging.NOTSET),
    ),
    "level of the logger above": (
        lambda: _LOGGER.getEffectiveLevel() + 0,
        logging.getLogger("tests").setLevel,
        (logging.INFO, logging.NOTSET),
    ),
    "digits": (
        lambda: decimal.getcontext().prec,
        lambda digits: setattr(decimal.getcontext(), "prec", digits),
        (5, 28),
    ),
    "recursion": (lambda: sys.getrecursionlimit() + 0, sys.setrecursionlimit, (3 * _DEPTH, _DEPTH)),
    "collector": (
        lambda: gc.isenabled() is True,
        lambda on: (gc.enable if on else gc.disable)(),
        (not gc.isenabled(), gc.isenabled()),
    ),
    "arguments": (
        lambda: [*sys.argv],
        lambda items: setattr(sys, "argv", items),
        ([*sys.argv, "more"], [*sys.argv]),
    ),
    "warnings": (lambda: len(warnings.filters), _filter, (True, False)),
    "root logger": (
        lambda: logging.root.level + 0,
        logging.root.setLevel,
        (logging.ERROR, logging.root.level),
    ),
    "printing of torch": (
        lambda: torch._tensor_str.PRINT_OPTS.precision + 0,
        lambda digits: torch.set_printoptions(precision=digits),
        (7, 4),
    ),
    "None in a module": (
        lambda: str(torch._tensor_str.PRINT_OPTS.sci_mode),
        lambda mode: setattr(torch._tensor_str.PRINT_OPTS, "sci_mode", mode),
        (True, None),
    ),
    "tuple in a module": (
        lambda: len(np.ScalarType),
        lambda types: setattr(np, "ScalarType", types),
        ((int,), np.ScalarType),
    ),
    "modules": (
        lambda: "tests.no_such" in sys.modules,
        lambda there: _put(sys.modules, "tests.no_such", there and sys),
        (True, False),
    ),
    "digits of a quotient": (
        lambda: float(decimal.Decimal(1) / 3),
        lambda digits: decimal.setcontext(decimal.Context(digits)),
        (5, 28),
    ),
    "name of builtins": (
        lambda: tests_factor,  # noqa: F821
        lambda item: _put(vars(builtins), "tests_factor", item),
        (3, 2),
    ),
    "attribute of builtins": (
        lambda: builtins.tests_factor + 0,
        lambda item: _put(vars(builtins), "tests_factor", item),
        (3, 2),
    ),
    "new name of builtins": (_found_or_none, lambda item: _put(vars(builtins), "tests_new", item), (3, None)),
    "partial": (
        lambda: _PARTIAL() + 0,
        lambda item: _PARTIAL.__setstate__((int, (item,), _PARTIAL.keywords, {})),
        (5, 4),
    ),
    "folder": (lambda: os.getcwd() == "/", os.chdir, ("/", os.getcwd())),  # noqa: PTH109
}


@pytest.mark.parametrize("to", ["torch", "numpy"])
@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_that_is_asked_for_is_the_one_of_the_call(name: str, to: str) -> None:
    ask, change, values = SETTINGS[name]

    def function(x: Any) -> Any:
        return x * 2, ask()

    change(values[-1])
    compiled = graph_compiler.compile(function, to=to)
    assert compiled(torch.ones(2))[1] == ask()
    for value in values:
        change(value)
        assert compiled(torch.ones(3))[1] == ask()
    assert len(compiled.variants) == 2


@pytest.mark.parametrize("source", ["jax", "numpy"])
@pytest.mark.parametrize(
    "name",
    [
        "logger",
        "what is logged",
        "numpy",
        "collector",
        "folder",
        "root logger",
        "modules",
        "digits of a quotient",
        "new name of builtins",
        "partial",
    ],
)
def test_functions_of_jax_and_numpy_ask_as_well(name: str, source: str) -> None:
    make = pytest.importorskip("jax").numpy.ones if source == "jax" else np.ones
    ask, change, values = SETTINGS[name]

    def function(x: Any) -> Any:
        return x * len(f"{ask()}")

    compiled = graph_compiler.compile(function)
    for value in (*values, values[0], values[1]):
        change(value)
        assert float(compiled(make(3))[0]) == len(f"{ask()}")
    assert len(compiled.variants) == 2


def test_a_setting_that_the_function_itself_changes_is_no_setting_of_the_call() -> None:
    def function(x: Any) -> Any:
        with torch.no_grad():
            return x * 2 if torch.is_grad_enabled() else x * 3

    compiled = graph_compiler.compile(function)
    assert (
        compiled(torch.ones(2)).tolist() == compiled(torch.ones(2)).tolist() == [3, 3]
        and len(compiled.variants) == 1
    )
    assert torch.is_grad_enabled.__name__ == "is_grad_enabled" and not hasattr(
        torch.is_grad_enabled, "__wrapped__"
    )


def test_autocast_has_the_dtype_that_is_set_at_the_call() -> None:
    def function(x: Any) -> Any:
        with torch.autocast("cpu"):
            return x @ x

    compiled, x = graph_compiler.compile(function), torch.ones(2, 2)
    try:
        for dtype in (torch.bfloat16, torch.float16, torch.bfloat16):
            torch.set_autocast_dtype("cpu", dtype)
            assert compiled(x).dtype == dtype
    finally:
        torch.set_autocast_dtype("cpu", torch.bfloat16)
    assert len(compiled.variants) == 2


@pytest.mark.parametrize("source", ["torch", "jax", "numpy"])
def test_a_class_that_is_registered_later_passes_for_a_subclass(source: str) -> None:
    class Scaled(abc.ABC):  # noqa: B024
        pass

    class More(Scaled): ...

    class Item: ...

    make = {"torch": torch, "jax": pytest.importorskip("jax").numpy, "numpy": np}[source].ones
    item = Item()
    compiled = graph_compiler.compile(lambda x: x * (3 if isinstance(item, Scaled) else 2))
    assert float(compiled(make(3))[0]) == 2
    More.register(Item)
    assert float(compiled(make(4))[0]) == 3 and len(compiled.variants) == 2


def _read_by(opened: Any, folder: Path) -> float:
    with opened(folder / "number.txt") as lines:
        return float(lines.read())


def _read_by_own_name(folder: Path) -> float:
    with _open_file(folder / "number.txt", "rb") as lines:
        return float(lines.read())


def _count_in(folder: Path) -> int:
    try:
        return 2 + len(os.listdir(folder))  # noqa: PTH208
    except FileNotFoundError:
        return 1


# Ways to read a file of numbers or of lines from a folder.
READERS: dict[str, Callable[[Path], Any]] = {
    "open": lambda folder: _read_by(open, folder),
    "a name for open": _read_by_own_name,
    "pathlib": lambda folder: float((folder / "number.txt").read_text()),
    "numpy": lambda folder: float(np.load(folder / "number.npy")),
    "numpy by name": lambda folder: float(np.loadtxt(fname=folder / "number.txt")),
    "folder": lambda folder: len(os.listdir(folder)),  # noqa: PTH208
    "folder that is not there yet": lambda folder: _count_in(folder / "made"),
    "two files by a keyword": lambda folder: (
        os.stat(path=folder / "number.txt").st_size + os.stat(path=folder / "number.npy").st_size  # noqa: PTH116
    ),
    "time of writing": lambda folder: (folder / "number.txt").stat().st_size,
    "whether there is one": lambda folder: (folder / "9.txt").exists(),
}


def _write(folder: Path, number: float) -> None:
    (folder / "number.txt").write_text(str(number))
    (folder / f"{number:g}.txt").touch()
    if number > 3:
        (folder / "made").mkdir(exist_ok=True)
    np.save(folder / "number.npy", np.float32(number))


@pytest.mark.parametrize("source", ["torch", "jax", "numpy"])
@pytest.mark.parametrize("name", READERS)
def test_a_file_that_is_read_is_the_one_of_the_call(name: str, source: str, tmp_path: Path) -> None:
    make = {"torch": torch, "jax": pytest.importorskip("jax").numpy, "numpy": np}[source].ones
    read, opened = READERS[name], builtins.open
    graph = graph_compiler.compile(lambda x: x * read(tmp_path))
    _write(tmp_path, 2.0)
    for number in (2.0, 2.0, 3.5, 9.0):
        _write(tmp_path, number)
        assert float(graph(make(3))[0]) == read(tmp_path)
    assert len(graph.variants) in (2, 3) and builtins.open is opened


def test_a_file_that_is_written_to_ties_a_graph_to_nothing(tmp_path: Path) -> None:
    def function(x: Any) -> Any:
        with open(tmp_path / "log.txt", "a") as log:  # noqa: PTH123
            log.write("a line")
        return x * 2

    graph = graph_compiler.compile(function)
    assert [graph(torch.ones(2)).tolist() for _ in range(3)] == [[2, 2]] * 3 and len(graph.variants) == 1


FLEETING: dict[str, Callable[[], Any]] = {
    "uuid": lambda: uuid.uuid4().int % 7,
    "a name for it": lambda: _new_name().int % 7,
    "secrets": lambda: secrets.randbelow(7),
    "bytes": lambda: os.urandom(1)[0],
    "generator of the system": lambda: _of_system.randrange(7),
    "number of the system": lambda: int(_of_system.random() * 7),
    "new generator of the system": lambda: random.SystemRandom().choice([1, 2, 3]),
}
_new_name = uuid.uuid4
_of_system = random.SystemRandom()


@pytest.mark.parametrize("source", ["torch", "jax", "numpy"])
@pytest.mark.parametrize("name", FLEETING)
def test_what_is_another_at_each_call_is_refused(name: str, source: str) -> None:
    make, ask = (
        {"torch": torch, "jax": pytest.importorskip("jax").numpy, "numpy": np}[source].ones,
        FLEETING[name],
    )
    with pytest.raises(
        TracingError,
        match=rf"{re.escape(__file__)}:{ask.__code__.co_firstlineno} gives something else at each call",
    ):
        graph_compiler.compile(lambda x: x * ask())(make(3))
    assert ask() in range(256)


def _counting() -> Any:
    yield from range(1, 9)


ITERATORS: dict[str, Callable[[], Any]] = {
    "list": lambda: iter([1, 2]),
    "generator": _counting,
    "method": lambda: [3, 4].__iter__().__next__,
    "tuple": lambda: (zip([1, 2], [3, 4]), 5),
}


@pytest.mark.parametrize("source", ["torch", "jax", "numpy"])
@pytest.mark.parametrize("name", ITERATORS)
def test_an_iterator_outside_of_the_function_is_refused(name: str, source: str) -> None:
    make, held = (
        {"torch": torch, "jax": pytest.importorskip("jax").numpy, "numpy": np}[source].ones,
        ITERATORS[name](),
    )

    def function(x: Any) -> Any:
        taken = held() if name == "method" else next(held[0])[0] if name == "tuple" else next(held)
        return x * taken

    with pytest.raises(
        TracingError, match=r"is an iterator outside of the recorded function.*test_setting_reads.py:\d+"
    ):
        graph_compiler.compile(function, to="numpy")(make(3))


DRAWS: tuple[Callable[[], Any], ...] = (
    lambda: random.random() + 0,
    lambda: random.choice([1, 2]),
    lambda: float(np.random.rand()),
    lambda: float(np.random.rayleigh()),
    lambda: float(np.random.ranf()),
    lambda: float(np.random.default_rng().random()),
)


@pytest.mark.parametrize("draw", DRAWS)
def test_random_numbers_of_python_and_numpy_are_refused_in_functions_of_jax(draw: Callable[[], Any]) -> None:
    ones = pytest.importorskip("jax").numpy.ones
    with pytest.raises(
        TracingError,
        match=rf"{re.escape(__file__)}:{draw.__code__.co_firstlineno} gives something else at each call",
    ):
        graph_compiler.compile(lambda x: x * draw())(ones(3))
    own = graph_compiler.compile(lambda x: x * random.Random(3).random() * np.random.default_rng(4).random())
    assert float(own(ones(3))[0]) == pytest.approx(
        random.Random(3).random() * np.random.default_rng(4).random()
    )


NAMED: dict[str, Callable[[Any], Any]] = {
    "a name of a scope": lambda x: (f"scope_{uuid.uuid4()}", x * 2)[1],
    "a key of a dict": lambda x: {uuid.uuid4().hex: x * 2}.popitem()[1],
    "a UUID as a key": lambda x: {uuid.uuid4(): x * 2}.popitem()[1],
    "a name that is left out": lambda x: x * 2 if str(uuid.uuid1()) else x,
}
DECIDED: dict[str, Callable[[Any], Any]] = {
    "digits of it": lambda x: x * int(uuid.uuid4().hex[:4], 16),
    "its last digit decides": lambda x: x * 2 if str(uuid.uuid4())[0] < "8" else x,
    "it is the result": lambda x: {"x": x, "name": str(uuid.uuid4())},
    "its number": lambda x: x * (uuid.uuid4().int % 10),
    "its bytes": lambda x: x * uuid.uuid4().bytes[0],
    "its field": lambda x: x * uuid.uuid4().time_low,
}


@pytest.mark.parametrize("source", ["torch", "jax", "numpy", "tensorflow"])
@pytest.mark.parametrize("name", NAMED)
def test_a_new_name_is_no_number(name: str, source: str) -> None:
    library = {
        "torch": torch,
        "jax": pytest.importorskip("jax").numpy,
        "numpy": np,
        "tensorflow": pytest.importorskip("tensorflow"),
    }[source]
    graph = graph_compiler.compile(NAMED[name], source=source)
    for size in (2, 3):
        np.testing.assert_array_equal(np.asarray(graph(library.ones(size))), np.full(size, 2.0))
    assert type(uuid.uuid4()) is uuid.UUID


@pytest.mark.parametrize("source", ["torch", "jax", "numpy"])
@pytest.mark.parametrize("name", DECIDED)
def test_what_depends_on_a_new_name_is_refused(name: str, source: str) -> None:
    make = {"torch": torch, "jax": pytest.importorskip("jax").numpy, "numpy": np}[source].ones
    line = f"{re.escape(__file__)}:{DECIDED[name].__code__.co_firstlineno} gives something else at each call"
    with pytest.raises(TracingError, match=line):
        graph_compiler.compile(DECIDED[name], source=source, args=(make(3),))
