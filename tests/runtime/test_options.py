"""Tests of the options of ``compile``: an impossible one is refused before the recording, by an error that
names it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import graph_compiler  # noqa: E402
from graph_compiler.errors import (  # noqa: E402
    CallMismatch,
    GraphCompilerError,
    GuardFailed,
    InvalidOption,
    NotCompilable,
    TooManyVariants,
    UnknownFramework,
)

X = torch.ones(2)


def scaled(x: Any, n: Any = 2) -> Any:
    return x * n


def all_scaled(*arrays: Any, n: Any = 2) -> Any:
    return [x * n for x in arrays]


# Each row: options, class of the error, words of its message.
REFUSED: tuple[tuple[dict[str, Any], type[GraphCompilerError], str], ...] = (
    ({"args": X}, InvalidOption, r"args= .*Tensor.*args=\(x,\)"),
    ({"args": 3}, InvalidOption, "args= is 3"),
    ({"args": "xy"}, InvalidOption, "args= is 'xy'"),
    ({"kwargs": [1]}, InvalidOption, r"kwargs= is \[1\].*a dict"),
    ({"kwargs": {1: X}}, InvalidOption, "kwargs= .*names"),
    ({"on_miss": "retry"}, InvalidOption, "on_miss= is 'retry'.*'retrace' or 'error'"),
    ({"on_limit": "stop"}, InvalidOption, "on_limit= is 'stop'.*'original' or 'raise'"),
    ({"max_variants": 0}, InvalidOption, "max_variants= is 0"),
    ({"max_variants": True}, InvalidOption, "max_variants= is True"),
    ({"max_variants": "2"}, InvalidOption, "max_variants= is '2'"),
    (
        {"compile_options": {"mode": "default"}},
        InvalidOption,
        "compile_options= .*return_backend_compiled_fn=True",
    ),
    (
        {"compile_options": 3, "return_backend_compiled_fn": True},
        InvalidOption,
        "compile_options= is 3.*a dict",
    ),
    ({"stateful": 3}, InvalidOption, "stateful= is 3.*list of objects"),
    ({"stateful": SimpleNamespace()}, InvalidOption, "stateful= .*list of objects"),
    ({"arg_stateful_idxs": 0}, InvalidOption, r"arg_stateful_idxs= is 0.*\[\[0\], \[1, 0\]\]"),
    ({"kwarg_stateful_idxs": "n"}, InvalidOption, "kwarg_stateful_idxs= is 'n'"),
    ({"kwarg_stateful_idxs": [["m"]]}, CallMismatch, "kwarg_stateful_idxs: .*no argument 'm'; it has x, n"),
    ({"arg_stateful_idxs": [["x"]]}, InvalidOption, "arg_stateful_idxs= .*position"),
    ({"static_argnums": 2}, CallMismatch, "static_argnums: .*no argument 2; it has x, n"),
    ({"static_argnums": -3}, CallMismatch, "static_argnums: .*no argument -3"),
    ({"static_argnums": "n"}, InvalidOption, "static_argnums= is 'n'.*static_argnames"),
    ({"static_argnums": [1.0]}, InvalidOption, r"static_argnums= is \[1.0\]"),
    ({"static_argnames": 1}, InvalidOption, "static_argnames= is 1.*static_argnums"),
    ({"to": 3}, UnknownFramework, "to=3"),
    ({"source": "keras"}, UnknownFramework, "source='keras'.*did you mean 'tensorflow'"),
    ({"to": "tf"}, UnknownFramework, "did you mean 'tensorflow'"),
    ({"to": "PyTorch"}, UnknownFramework, "did you mean 'torch'"),
    ({"to": torch}, UnknownFramework, "did you mean 'torch'"),
    ({"arg": (X,)}, InvalidOption, "compile has no option arg=; did you mean 'args'"),
    ({"target": "jax"}, InvalidOption, "compile has no option target=; did you mean 'to'"),
    ({"example_inputs": (X,)}, InvalidOption, "did you mean 'args'"),
    ({"roll": np.ones(2)}, InvalidOption, "roll= is an object of type ndarray"),
    ({"dynamic": True}, InvalidOption, "compile has no option dynamic=; it has .*args, kwargs, source, "),
    ({"to": ""}, UnknownFramework, "to=''"),
    ({"source": ""}, UnknownFramework, "source=''"),
)


@pytest.mark.parametrize(("options", "error", "words"), REFUSED)
def test_refused(options: dict[str, Any], error: type[GraphCompilerError], words: str) -> None:
    with pytest.raises(error, match=words):
        graph_compiler.compile(scaled, **options)


def test_a_target_without_a_name_is_not_the_default_one() -> None:
    with pytest.raises(UnknownFramework, match="to=''"):
        graph_compiler.transpile(scaled, to="")


@pytest.mark.parametrize(
    ("objects", "words"),
    [
        ((scaled, torch.ones(100)), r"^an object of type Tensor cannot be compiled: .*args=\(x,\)"),
        ((scaled, "jax"), "^'jax' cannot be compiled: .*a target as to=$"),
        (
            (torch.nn.Linear,),
            r"^Linear is a class, .*pass no args, or compile an object of it: Linear\(\.\.\.\)",
        ),
        ((inspect,), "^inspect is a module, .*pass no args$"),
    ],
)
def test_what_cannot_be_compiled(objects: tuple[Any, ...], words: str) -> None:
    with pytest.raises(NotCompilable, match=words):
        graph_compiler.compile(*objects, args=(X,))


@pytest.mark.parametrize(
    "options",
    [
        {"args": [X], "kwargs": None},
        {"args": (X,), "max_variants": 1, "on_miss": "error"},
        {"args": (X,), "compile_options": {}},
        {"args": (X,), "stateful": (), "arg_stateful_idxs": (), "kwarg_stateful_idxs": ["n"]},
        {"args": (X,), "static_argnums": (1,), "static_argnames": ()},
        {"function": all_scaled, "args": (X, X), "static_argnums": 5, "static_argnames": "n"},
    ],
)
def test_taken(options: dict[str, Any]) -> None:
    function: Callable[..., Any] = options.pop("function", scaled)
    result = graph_compiler.compile(function, **options)(*options["args"])
    torch.testing.assert_close(result, function(*options["args"]))


@pytest.mark.parametrize(
    ("to", "words"),
    [
        ("torch", "torch.compile .*fullgraph"),
        ("jax", "jax.jit .*donate_argnums"),
        ("tensorflow", "tf.function .*jit_compile"),
    ],
)
def test_the_compiler_of_the_target_says_which_options_it_takes(to: str, words: str) -> None:
    pytest.importorskip(to)
    with pytest.raises(InvalidOption, match=f"has 'nonsense', which {words}"):
        graph_compiler.compile(
            scaled, to=to, args=(X,), return_backend_compiled_fn=True, compile_options={"nonsense": 1}
        )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rtol": "x"}, "rtol= is 'x'"),
        ({"atol": -1}, "atol= is -1"),
        ({"runs": 0}, "runs= is 0"),
        ({"seed": 1.5}, "seed= is 1.5"),
        ({"args": torch.ones(3)}, "args= is an object of type Tensor"),
        ({"kwargs": torch.ones(3)}, "kwargs= is an object of type Tensor"),
    ],
)
def test_what_a_verification_takes(options: dict[str, Any], words: str) -> None:
    graph = graph_compiler.compile(scaled, args=(X,))
    with pytest.raises(InvalidOption, match=words):
        graph.verify(**options)


def test_a_seed_is_a_whole_number() -> None:
    graph = graph_compiler.compile(lambda x: x + torch.rand(3), to="numpy", args=(torch.ones(3),))
    for seed in ("a", 1.5, None, True, -1, 2**31):
        with pytest.raises(InvalidOption, match=r"seed= is .*a whole number"):
            graph.seed(seed)  # type: ignore[arg-type]
    graph.seed(3)
    first = graph(torch.ones(3))
    graph.seed(np.int64(3))  # type: ignore[arg-type]
    assert (graph(torch.ones(3)) == first).all()


def test_unify_takes_what_can_be_called() -> None:
    with pytest.raises(NotCompilable, match=r"^3 cannot be compiled"):
        graph_compiler.unify(3)


def test_unify_runs_where_its_arrays_are() -> None:
    with pytest.raises(InvalidOption, match="takes no to="):
        graph_compiler.unify(scaled, to="jax")
    with pytest.raises(InvalidOption, match="on_miss="):
        graph_compiler.unify(scaled, on_miss="never")
    with pytest.raises(InvalidOption, match="takes no parameters="):
        graph_compiler.unify(scaled, parameters=[0], args=(torch.ones(2),))
    for whole, kind in ((ModuleType("settings"), "module"), (torch.nn.Linear, "class")):
        with pytest.raises(NotCompilable, match=f"is a {kind}: unify"):
            graph_compiler.unify(whole)


@pytest.mark.parametrize("function", [graph_compiler.transpile, graph_compiler.unify])
def test_options_that_do_not_exist_are_refused_at_once(function: Callable[..., Any]) -> None:
    with pytest.raises(
        InvalidOption, match=f"{function.__name__} has no option max_variant=; did you mean 'max_variants'"
    ):
        function(scaled, max_variant=3)


def optional(x: Any, n: Any = 1, *, mask: Any = None, options: Any = None) -> Any:
    return x * n


# Each row: a second call, and why it differs from the first, ``optional(ones(2), options={"a": [1,
# ones(2)]})``.
MISSES: tuple[tuple[tuple[Any, ...], dict[str, Any], str], ...] = (
    ((torch.ones(2, 3),), {"options": {"a": [1, X]}}, "x has 2 axes and was recorded with 1"),
    ((X.double(),), {"options": {"a": [1, X]}}, "x is float64 and was recorded as float32"),
    ((X, 2), {"options": {"a": [1, X]}}, "the call has 2 positional arguments and was recorded with 1"),
    ((3,), {"options": {"a": [1, X]}}, "argument x is 3 and was recorded as an array"),
    (([X],), {"options": {"a": [1, X]}}, "argument x is a list of 1 item and was recorded as an array"),
    ((X,), {}, r"argument options is None and was recorded as dict\(a\)"),
    (
        (X,),
        {"options": {"a": [1]}},
        r"argument options\['a'\] is a list of 1 item and was recorded as a list of 2 items",
    ),
    ((X,), {"options": {"a": [2, X]}}, r"argument options\['a'\]\[0\] is 2 and was recorded as 1"),
    (
        (X,),
        {"options": {"b": 1}},
        r"argument options is dict\(b\) and was recorded as dict\(a\)",
    ),
    (
        (X,),
        {"options": {"a": [1, None]}},
        r"argument options\['a'\]\[1\] is None and was recorded as an array",
    ),
)


@pytest.mark.parametrize(
    ("args", "kwargs", "why"), MISSES, ids=lambda item: item if isinstance(item, str) else ""
)
def test_a_miss_names_the_argument(args: tuple[Any, ...], kwargs: dict[str, Any], why: str) -> None:
    graph = graph_compiler.compile(optional, args=(X,), kwargs={"options": {"a": [1, X]}}, on_miss="error")
    with pytest.raises(GuardFailed, match=why):
        graph(*args, **kwargs)


class Keeping(torch.nn.Module):
    """State that changes from a number to an array."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: Any = 0

    def forward(self, x: Any) -> Any:
        before, self.kept = self.kept, x.sum()
        return x * before


@pytest.mark.parametrize("to", ["torch", "numpy"])
def test_a_miss_names_what_is_kept_outside_of_the_arguments(to: str) -> None:
    graph = graph_compiler.compile(Keeping(), to=to, args=(X,), on_miss="error")
    graph(X)
    with pytest.raises(GuardFailed, match="kept is an array and was recorded as an int"):
        graph(X)


def added(x: Any, y: Any) -> Any:
    return x + y


def written(x: Any, y: Any) -> Any:
    return x.add_(1) + y


@pytest.mark.parametrize(
    ("function", "recorded", "other", "why"),
    [
        (
            added,
            lambda x: (x, x.clone()),
            lambda x: (x, x),
            "x and y are one array and were two while recording",
        ),
        (
            added,
            lambda x: (x, x),
            lambda x: (x, x.clone()),
            "x and y are two arrays and were one while recording",
        ),
        (
            written,
            lambda x: (x, x.clone()),
            lambda x: (x, x[:]),
            "an array that is written to shares memory with another one",
        ),
    ],
)
def test_a_miss_names_arrays_that_are_one(function: Any, recorded: Any, other: Any, why: str) -> None:
    graph = graph_compiler.compile(function, args=recorded(torch.ones(3)), on_miss="error")
    with pytest.raises(GuardFailed, match=why):
        graph(*other(torch.ones(3)))


def repeated(x: Any) -> Any:
    negative = x.neg()
    for _ in [None] * x.shape[0]:
        negative = negative + 1
    return negative.expand(2, *x.shape) if x.shape[1] > 2 else negative


def test_a_size_that_decides_in_python_is_told_with_the_line() -> None:
    explained = graph_compiler.compile(repeated, to="numpy", args=(torch.ones(3, 4),)).explain()
    first = repeated.__code__.co_firstlineno
    assert (
        f"x.shape[0] == 3, assumed by `for _ in [None] * x.shape[0]` at {__file__}:{first + 2}" in explained
    )
    assert f"x.shape[1] > 2, assumed by `if x.shape[1] > 2` at {__file__}:{first + 4}" in explained


def test_every_miss_is_explained() -> None:
    table: dict[str, int] = {}

    def looked_up(x: Any, n: Any) -> Any:
        return x * n + table.get("a", 0)

    graph = graph_compiler.compile(looked_up, static_argnums=1, max_variants=3, on_limit="raise")
    graph(X, 2)
    graph(X, 3)
    table["a"] = 1
    torch.testing.assert_close(graph(X, 2), X * 3)
    with pytest.raises(TooManyVariants, match="3 times"):
        graph(X, 4)
    explained = graph.explain().splitlines()
    assert (
        explained[0] == "looked_up: 3 variants" and explained[1] == "variant 0, recorded because: first call"
    )
    assert "variant 1, recorded because: variant 0: argument n is 3 and was recorded as 2" in explained
    assert "an item of the variable table of an enclosing function changed since" in graph.variants[2].why
    assert (
        explained[-1].startswith("refused: variant 0: ")
        and "argument n is 4 and was recorded as 2" in explained[-1]
    )


def test_a_graph_looks_like_its_function() -> None:
    def documented(x: Any, /, *, n: int = 2) -> Any:
        """Scales."""
        return x * n

    for graph in (graph_compiler.compile(documented), graph_compiler.compile(documented, args=(X,))):
        assert inspect.signature(graph) == inspect.signature(documented)
        assert (graph.__doc__, graph.__name__) == ("Scales.", "documented")
    assert str(inspect.signature(graph_compiler.compile(torch.nn.ReLU(), args=(X,)))).startswith("(input")
