"""Tests of ``graph.verify()``: it accepts right graphs, and finds every row that is broken on purpose."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("jax")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

import graph_compiler  # noqa: E402
from graph_compiler.backends.jax.lowering import rows  # noqa: E402
from graph_compiler.backends.torch.lowering import rows as torch_rows  # noqa: E402
from graph_compiler.errors import GuardFailed, VerificationFailed  # noqa: E402
from graph_compiler.frontends.torch.calls import TorchCalls  # noqa: E402
from graph_compiler.runtime.verify import Tolerance, difference  # noqa: E402
from graph_compiler.trees import flatten  # noqa: E402
from tests.support.logs import logged  # noqa: E402

TARGETS = ("torch", "jax", "numpy", "tensorflow")


class Normalised(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear, self.norm = torch.nn.Linear(4, 5), torch.nn.BatchNorm1d(5)

    def forward(self, x: Any, ids: Any) -> dict[str, Any]:
        hidden = self.norm(self.linear(x))
        hidden[0] = 0
        return {"weights": torch.softmax(hidden, -1), "next": ids + 1}


def branching(x: Any) -> Any:
    return x.sum() if x.shape[0] > 2 else x.mean()


def writing(x: Any) -> Any:
    x[:, 0] += 1
    return x.relu()


def writing_to_one_of_two(x: Any, y: Any) -> Any:
    x += 1
    return x * y


def gradient(x: Any) -> Any:
    return x * (2 if x.requires_grad else 3)


def filling(x: np.ndarray[Any, Any]) -> Any:
    x[0] = 5
    return x.sum()


def noisy(key: jax.Array, x: jax.Array) -> Any:
    return x + jax.random.normal(key, x.shape)


class Store:
    """Object with methods, which results of graphs for other frameworks hold as a proxy."""

    def __init__(self, held: Any) -> None:
        self.held, self.sizes = held, [1, 2]

    def doubled(self) -> Any:
        return self.held * 2


ONE = torch.ones(3)
RIGHT: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "module": (Normalised(), (torch.randn(3, 4), torch.arange(3))),
    "branch on a size": (branching, (torch.randn(3, 4),)),
    "write to an argument": (writing, (torch.randn(3, 4),)),
    "domain": (lambda x: torch.log(x).sum(0), (torch.rand(3, 4) + 1,)),
    "indices": (lambda table, i: table[i], (torch.randn(9, 2), torch.tensor([0, 8]))),
    "no arrays": (lambda: torch.arange(4) * 2, ()),
    "floats beyond float32": (lambda x: (x, 1e300, float("inf")), (torch.randn(3),)),
    "an object with methods": (lambda x: {"past": [Store(x + 1), Store(x)]}, (torch.ones(3),)),
    "one array that is given twice": (writing_to_one_of_two, (ONE, ONE)),
    "an array that wants a gradient": (gradient, (torch.ones(3, requires_grad=True),)),
    "a scalar of numpy": (filling, (np.ones((3, 4)),)),
    "a key of JAX": (noisy, (jax.random.key(0), jnp.ones((3, 4)))),
    "numbers of Python's and numpy's generators": (
        lambda x: x + random.random() * np.random.rand(),
        (torch.ones(3),),
    ),
    "half precision that numpy lacks": (
        lambda x: torch.softmax(x * 3, -1) @ x.T,
        (torch.linspace(-2, 2, 64).reshape(4, 16).bfloat16(),),
    ),
}


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("name", RIGHT)
def test_a_right_graph_agrees(name: str, to: str) -> None:
    function, args = RIGHT[name]
    done = graph_compiler.compile(function, to=to, args=args).verify()
    assert done.runs >= 2 and done.numbers


@pytest.mark.parametrize("to", TARGETS)
def test_it_leaves_everything_as_it_was(to: str) -> None:
    module = Normalised()
    graph = graph_compiler.compile(module, to=to, args=(torch.randn(3, 4), torch.arange(3)))
    before, state = (
        {name: tensor.clone() for name, tensor in module.state_dict().items()},
        torch.get_rng_state(),
    )
    graph.verify()
    assert all(torch.equal(tensor, before[name]) for name, tensor in module.state_dict().items())
    assert torch.equal(torch.get_rng_state(), state)
    assert len(graph.variants) == 1


@pytest.mark.parametrize("number", [np.array(2.0), np.float32(2), 2.0])
def test_numbers_of_numpy_are_made_up_as_such(number: Any) -> None:
    graph = graph_compiler.compile(lambda a, x: x * a, args=(number, np.ones(3)))
    assert graph.verify().sizes == (3,)


def test_a_seed_of_numpy() -> None:
    graph = graph_compiler.transpile(lambda x: x * 2, source="torch", args=(torch.ones(2),))
    assert graph.verify(seed=np.int64(3)).runs == graph.verify(seed=3).runs


def test_sizes_that_may_change_are_changed() -> None:
    graph = graph_compiler.transpile(lambda x, y: x @ y, args=(torch.randn(2, 3), torch.randn(3, 4)))
    assert graph.verify().sizes == (2, 3, 4)


@pytest.mark.parametrize("to", TARGETS)
def test_a_variant_of_a_state_that_is_gone_is_left_out(to: str) -> None:
    """Only the first call finds the attribute of the class; no later call can reach that variant."""

    class Remembering(torch.nn.Module):
        last: Any = None

        def forward(self, x: Any) -> Any:
            self.last = x.detach() * (2 if self.last is None else 3)
            return self.last + 1

    graph = graph_compiler.compile(Remembering(), to=to)
    graph(torch.randn(3))
    with pytest.raises(GuardFailed, match="last is an array and was recorded as nothing"):
        graph.verify()
    graph(torch.randn(3))
    assert graph.verify().runs and len(graph.variants) == 2


@pytest.mark.parametrize("is_training", [True, False])
def test_own_inputs_of_the_variants_of_other_modes(is_training: bool) -> None:
    model, x = torch.nn.Sequential(torch.nn.Dropout(1.0)), torch.ones(3)
    graph = graph_compiler.compile(model, to="numpy", args=(x,))
    graph.eval()(x)
    graph.train(is_training)
    assert len(graph.variants) == 2 and graph.verify(args=(x,)).runs == 1


def test_static_arguments() -> None:
    graph = graph_compiler.compile(
        lambda x, axis: x.sum(axis), args=(torch.ones(2, 3), 0), static_argnames="axis"
    )
    assert graph.verify(args=(torch.ones(4, 3), 0)).runs == 1
    with pytest.raises(GuardFailed, match="argument axis is 1 and was recorded as 0"):
        graph.verify(args=(torch.ones(4, 3), 1))


def test_own_inputs_that_want_a_gradient() -> None:
    graph = graph_compiler.compile(gradient, args=(torch.ones(3, requires_grad=True),))
    assert graph.verify(args=(torch.ones(4, requires_grad=True),)).runs == 1


def test_generators_stay_as_they_are() -> None:
    graph = graph_compiler.compile(lambda x: x + random.random() * np.random.rand(), args=(torch.ones(3),))
    before = random.getstate(), np.random.get_state()[1].tolist()
    graph.verify()
    assert before == (random.getstate(), np.random.get_state()[1].tolist())


@pytest.mark.parametrize("to", ["tensorflow", "jax"])
def test_numbers_that_no_seed_repeats_are_not_compared(to: str) -> None:
    tf = pytest.importorskip("tensorflow")
    drawn = graph_compiler.compile(lambda x: x + tf.random.normal((3,)), to=to, args=(tf.ones(3),))
    done = drawn.verify()
    assert done.runs >= 2 and not done.numbers
    seeded = lambda x: x + tf.random.stateless_normal((3,), seed=(1, 2))  # noqa: E731
    assert graph_compiler.compile(seeded, to=to, args=(tf.ones(3),)).verify().numbers


def test_generators_of_other_devices_are_not_seeded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Torch applies a seed for GPUs later if CUDA is not initialized yet."""
    graph = graph_compiler.compile(lambda x: torch.dropout(x, 0.5, True), args=(torch.ones(9),))
    seeds: list[int] = []
    monkeypatch.setattr(torch.cuda, "manual_seed_all", seeds.append)
    assert graph.verify().numbers and not seeds


def test_guards_are_respected() -> None:
    graph = graph_compiler.compile(branching, args=(torch.randn(3, 2),))
    assert 3 in graph.verify().sizes


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda store: store.sizes.append(3), r"structure of ['past'][1].sizes is list(0=1, 1=2, 2=3) where"),
        (lambda store: setattr(store, "name", "a"), "structure of ['past'][1] is Store("),
        (lambda store: setattr(store, "__class__", type("Store", (), {})), "is <class"),
    ],
)
def test_the_part_of_a_structure_that_differs_is_told(change: Callable[[Store], None], words: str) -> None:
    actual, expected = ({"past": [Store(None), Store(None)]} for _ in range(2))
    change(actual["past"][1])
    trees = ({"structure": flatten(result, lambda item: item is None)[1]} for result in (actual, expected))
    told = difference(*trees, Tolerance(), numbers=True)
    assert words in told and "where the original gives" in told


def test_own_inputs() -> None:
    graph = graph_compiler.transpile(branching, args=(torch.randn(3, 2),))
    assert graph.verify(args=(torch.randn(6, 2),)).runs == 1
    with pytest.raises(GuardFailed, match=r"could not be verified: variant 0: `if .* for this call"):
        graph.verify(args=(torch.randn(1, 2),))
    with pytest.raises(
        GuardFailed, match="could not be verified: variant 0: x is float64 and was recorded as float32"
    ):
        graph.verify(args=(torch.randn(3, 2, dtype=torch.float64),))


def doubled_if_three(x: Any) -> Any:
    return x * 2 if float(x.sum()) == 3 else x


def test_it_is_told_if_random_arguments_fit_no_variant() -> None:
    with logged(logging.INFO) as told:
        graph_compiler.compile(doubled_if_three, args=(torch.ones(3),), verify=True)
    assert [line for line in told if "verified" in line] == [
        "doubled_if_three: only the arguments it was recorded with could be verified"
    ]


BROKEN: dict[str, tuple[Callable[[Any], Any], str]] = {
    "tanh": (lambda x: torch.exp(torch.tanh(x) + 1), "torch.tanh"),
    "softmax": (lambda x: torch.softmax(x * 2, -1) + x, "softmax"),
    "exp": (lambda x: torch.sin(torch.exp(x)).sum(), "torch.exp"),
    "matmul": (lambda x: (x @ x.T).relu(), "matmul"),
}


@pytest.mark.parametrize("op", BROKEN)
def test_a_row_broken_by_a_tenth_of_a_percent_is_found(op: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function, call = BROKEN[op]
    whole = rows.expression

    def wrong(name: str, *rest: Any) -> str:
        text = whole(name, *rest)
        return f"({text}) * 1.001" if name == op else text

    monkeypatch.setattr(rows, "expression", wrong)
    graph = graph_compiler.transpile(function, args=(torch.randn(3, 4),))
    with pytest.raises(
        VerificationFailed,
        match=rf"first call that differs is .*{call} at .*test_verify.py:\d+, written as .*{op}",
    ):
        graph.verify()
    with pytest.raises(VerificationFailed):
        graph_compiler.transpile(function, args=(torch.randn(3, 4),), verify=True)
    with pytest.raises(VerificationFailed):
        graph_compiler.transpile(function, verify=True)(torch.randn(3, 4))


# operation -> (function, what its row gives, what verify says)
MISTAKES: dict[str, tuple[str, Callable[[Any], Any], str, str]] = {
    "a narrower float": (
        "add",
        lambda x: x + 1,
        "({}).astype('float16')",
        "the type of the result is float16 where the original gives float32",
    ),
    "another float": (
        "add",
        lambda x: x + 1,
        "({}).astype('bfloat16')",
        "the type of the result is bfloat16",
    ),
    "a narrower integer": (
        "argmax",
        lambda x: x.argmax(0),
        "({}).astype('int16')",
        "the type of the result is int16",
    ),
    "an integer for a truth value": (
        "greater",
        lambda x: x > 0,
        "({}).astype('int32')",
        "the type of the result is int32",
    ),
    "one element": ("add", lambda x: x + 1, "({}).at[-1, -1].multiply(1.001)", "differs in 1 of"),
    "a write that is lost": (
        "setitem",
        lambda x: x[0].fill_(2) * 0,
        "x",
        "argument 0 after the call differs",
    ),
    "a truth value": ("greater", lambda x: x > 0, "~({})", "differs in"),
    "small numbers": ("multiply", lambda x: x * 1e-12, "({}) * 1.001", "differs in"),
    "NaN for infinity": (
        "exp",
        lambda x: torch.exp(x * 1000),
        "jnp.where(jnp.isinf({0}), jnp.nan, {0})",
        "differs in",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_of_every_kind_are_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    op, function, template, words = MISTAKES[name]
    whole = rows.expression
    monkeypatch.setattr(
        rows,
        "expression",
        lambda name, *rest: template.format(whole(name, *rest)) if name == op else whole(name, *rest),
    )
    with pytest.raises(VerificationFailed, match=words):
        graph_compiler.transpile(function, args=(torch.randn(3, 4),)).verify()


DECOMPOSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "eigh": (lambda x: torch.linalg.eigh(x @ x.T)[1] * 2, "its vectors are unique only up to a sign"),
    "svd": (lambda x: torch.linalg.svd(x)[0] * 2, "its vectors are unique only up to a sign"),
    "qr": (lambda x: torch.linalg.qr(x)[1] * 2, "the rows of R are unique only up to a sign"),
}


@pytest.mark.parametrize("op", DECOMPOSED)
def test_signs_that_are_open_are_told(op: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function, words = DECOMPOSED[op]
    whole = rows.expression

    def negated(name: str, *rest: Any) -> str:
        text = whole(name, *rest)
        return f"tuple(-part if part.ndim == 2 else part for part in {text})" if name == op else text

    monkeypatch.setattr(rows, "expression", negated)
    graph = graph_compiler.transpile(
        function, to="jax", args=(torch.rand(3, 3, generator=torch.Generator().manual_seed(0)),)
    )
    with pytest.raises(
        VerificationFailed, match=rf"first call that differs is torch.linalg.{op} .*{words}.*known limits"
    ):
        graph.verify()


def test_a_recorded_call_that_is_written_wrongly_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = TorchCalls.expression

    def wrong(self: Any, node: Any, text: Any) -> str:
        return whole(self, node, text) + (" * 1.001" if node.op == "torch.exp" else "")

    monkeypatch.setattr(TorchCalls, "expression", wrong)
    graph = graph_compiler.compile(lambda x: torch.exp(x.sin()) - 1, args=(torch.randn(3, 4),))
    with pytest.raises(
        VerificationFailed, match=r"first call that differs is torch.exp at .*test_verify.py:\d+"
    ):
        graph.verify()


@pytest.mark.parametrize(
    "function",
    [lambda x, number: x * number, lambda x, number: number, lambda x, number: number * 1e300],
    ids=["in an array", "a float", "a float beyond float32"],
)
def test_a_value_that_was_baked_is_found(function: Callable[[Any, float], Any]) -> None:
    # A bound method that was stored before is not noticed while recording.
    drawn = random.SystemRandom().random
    graph = graph_compiler.transpile(lambda x: function(x, 1 + drawn()), args=(torch.randn(3),))
    with pytest.raises(VerificationFailed, match="differ"):
        graph.verify()


def in_halves_of_the_precision(x: Any) -> Any:
    narrow = x.astype(np.float32)
    centres = narrow[:3]
    for _ in range(3):
        nearest = ((narrow[:, None] - centres[None]) ** 2).sum(-1)
        weights = np.exp(-nearest) / np.exp(-nearest).sum(0)
        centres = np.stack([(narrow * weights[:, [k]]).sum(0) / 3 for k in range(3)])
    return centres.astype(np.float64), np.exp(x).sum(0)


def summed_in_place(x: Any) -> Any:
    total = np.zeros(x.shape[1], np.float32)
    view = total[:]
    total += np.exp(np.sin(x.astype(np.float32))).sum(0)
    return view.astype(np.float64), np.exp(x).sum(0)


def beside_a_plain_float(x: Any) -> Any:
    return 1.5, np.exp(np.sin(x.astype(np.float32))).sum(0).astype(np.float64), np.exp(x).sum(0)


MIXED = (in_halves_of_the_precision, summed_in_place, beside_a_plain_float)
GRID = np.random.default_rng(0).random((20, 3)) * 3


@pytest.mark.parametrize("to", ("numpy", "tensorflow", "torch"))
@pytest.mark.parametrize("function", MIXED, ids=lambda function: function.__name__)
def test_the_tolerance_follows_the_lowest_precision_on_the_way(
    function: Callable[[Any], Any], to: str
) -> None:
    assert graph_compiler.compile(function, to=to, source="numpy", args=(GRID,)).verify().runs >= 2


@pytest.mark.parametrize("function", MIXED, ids=lambda function: function.__name__)
def test_what_is_computed_in_float64_is_compared_as_such(
    function: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = torch_rows.expression

    def wrong(name: str, *rest: Any) -> str:
        text = whole(name, *rest)
        return f"({text}) * (1 + 1e-6 * (({text}).dtype.itemsize // 8))" if name == "exp" else text

    monkeypatch.setattr(torch_rows, "expression", wrong)
    graph = graph_compiler.transpile(function, to="torch", source="numpy", args=(torch.tensor(GRID),))
    with pytest.raises(
        VerificationFailed,
        match=r"result [12] differs(.|\n)*first call that differs is numpy.exp at .*test_verify.py:\d+",
    ):
        graph.verify()
