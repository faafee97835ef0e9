"""Tests of calls that would exceed ``max_variants``."""

from __future__ import annotations

import functools
import threading
import warnings
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import graph_compiler  # noqa: E402
from graph_compiler.errors import GuardFailed, TooManyVariants  # noqa: E402
from tests.support.compare import assert_same  # noqa: E402

X = torch.arange(6.0).reshape(2, 3)
TARGETS = ("torch", "jax", "numpy", "tensorflow")


def named(x: Any, name: str, cache: Any = None) -> Any:
    """A function that needs a variant for each name."""
    if cache is not None:
        cache["seen"] = x + cache["seen"]
        cache["log"] = [*cache["log"], x.sum()]
        x = cache["seen"]
    return {"name": name, "y": x * len(name), "n": x.shape[0]}


def filled(to: str, function: Any = named, **options: Any) -> Any:
    """Return a graph that has as many variants as it may have."""
    pytest.importorskip(to)
    return graph_compiler.compile(function, to=to, args=(X, "a"), max_variants=1, **options)


def natively(to: str) -> Any:
    """Return the function that creates an array of a framework."""
    if to == "jax":
        return pytest.importorskip("jax").numpy.asarray
    return {"torch": torch.as_tensor, "numpy": np.asarray}.get(to) or pytest.importorskip(
        "tensorflow"
    ).convert_to_tensor


@pytest.mark.parametrize("to", TARGETS)
def test_the_original_runs_and_says_so_once(to: str) -> None:
    graph, array = filled(to), natively(to)
    for given in (X, array(X.numpy()), X.numpy()):
        for number, name in enumerate(("bb", "ccc", "bb")):
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                found = graph(given, name)
            assert_same(found, named(X, name))
            assert type(found["y"]) is type(graph(X, "a")["y"]) and found["n"] == 2
            expected = [__file__] if given is X and number == 0 else []
            assert [one.filename for one in said if one.category is RuntimeWarning] == expected
            if expected:
                text = (
                    "named was recorded 1 times, which is max_variants.*argument name is 'bb' and was recorded as 'a'.*Raise "
                    "max_variants.*on_limit"
                )
                with pytest.raises(RuntimeWarning, match=text):
                    raise said[0].message  # type: ignore[misc]
    assert len(graph.variants) == 1 and "beyond 1 variants: the original ran 9 calls" in graph.explain()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("to", TARGETS)
def test_containers_among_the_arguments_stay_the_ones_that_they_are(to: str) -> None:
    """What the original writes to them must be arrays of the target, and everything else in them must stay."""
    graph, array = filled(to), natively(to)
    ours: dict[str, Any] = {"seen": array(X.numpy()), "log": [], "kept": (array(X.numpy()), [X])}
    theirs: dict[str, Any] = {"seen": X, "log": [], "kept": (X, [X])}
    kept, first = ours["kept"], array(X.numpy())
    for _ in range(2):
        assert_same(graph(first, "bb", ours), named(X, "bb", theirs))
    assert_same(ours, theirs)
    assert (
        all(type(item) is type(array(X.numpy())) for item in (ours["seen"], *ours["log"], kept[0]))
        and kept[1][0] is X
    )


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("to", TARGETS)
def test_what_is_written_to_an_argument(to: str) -> None:
    def doubled(x: Any, name: str) -> Any:
        x.mul_(2)
        return x + len(name)

    graph = graph_compiler.compile(doubled, to=to, args=(X.clone(), "a"), max_variants=1)
    for make in (torch.Tensor.clone, lambda x: x.numpy().copy()):
        given = make(X)
        assert_same(graph(given, "bb"), X * 2 + 2)
        assert_same(torch.as_tensor(given), X * 2)
    if to in ("jax", "tensorflow"):
        with pytest.raises(GuardFailed, match="writes to its argument"):
            graph(natively(to)(X.numpy()), "bb")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("to", ["jax", "tensorflow"])
def test_what_is_written_to_an_array_in_tuples(to: str) -> None:
    """An immutable array can be replaced in a list around the tuple, but not in a tuple that is an argument."""

    def doubled(held: Any, name: str) -> Any:
        held[0][0].mul_(2)
        return held[0][0] + len(name)

    array = natively(to)
    for wrap in (lambda x: [(x,)], lambda x: ([x],)):
        graph = graph_compiler.compile(doubled, to=to, args=(wrap(X.clone()), "a"), max_variants=1)
        given = wrap(array(X.numpy().copy()))
        assert_same(graph(given, "bb"), X * 2 + 2)
        assert_same(given[0][0], X * 2)
    graph = graph_compiler.compile(doubled, to=to, args=(((X.clone(),),), "a"), max_variants=1)
    with pytest.raises(GuardFailed, match="writes to its argument"):
        graph(((array(X.numpy()),),), "bb")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_result_shares_no_memory_with_arrays_of_the_original() -> None:
    weight = pytest.importorskip("jax").numpy.arange(3.0)

    def weights(x: Any, name: str) -> Any:
        return {"x": x * len(name), "weight": weight}

    graph = graph_compiler.compile(weights, source="jax", to="torch", args=(weight, "a"), max_variants=1)
    graph(torch.ones(3), "bb")["weight"].mul_(2)
    assert_same(weight, np.arange(3.0, dtype=np.float32))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("to", TARGETS)
def test_a_module_keeps_its_state(to: str) -> None:
    def model() -> Any:
        torch.manual_seed(0)
        return torch.nn.Sequential(torch.nn.BatchNorm1d(3), torch.nn.Linear(3, 2))

    class Named(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner, self.past = model(), []

        def forward(self, x: Any, name: str) -> Any:
            result = self.inner(x) * len(name)
            self.past = [result.detach(), *self.past[:1]]
            return result, self.past

    ours, theirs = Named(), Named()
    graph = graph_compiler.compile(ours, to=to, max_variants=1)
    for name in ("a", "bb", "a", "ccc", "a"):
        with torch.no_grad():
            assert_same(graph(X, name), theirs(X, name))
    assert all(isinstance(item, torch.Tensor) for item in ours.past)
    assert_same(dict(ours.state_dict()), dict(theirs.state_dict()))


def test_the_error_where_it_is_asked_for_and_where_the_original_cannot_run() -> None:
    import jax

    with pytest.raises(TooManyVariants, match="recorded 1 times"):
        filled("torch", on_limit="raise")(X, "bb")
    with pytest.raises(TooManyVariants, match="freeze="):
        filled("numpy", freeze=True)(X, "bb")
    graph = filled("jax")
    with pytest.raises(TooManyVariants, match="jax traces this call"):
        jax.jit(lambda x: graph(x, "bb")["y"])(X.numpy())
    tf = pytest.importorskip("tensorflow")
    graph, given = filled("tensorflow"), tf.constant(X.numpy())
    with tf.GradientTape() as tape, pytest.raises(TooManyVariants, match="for a gradient"):
        tape.watch(given)
        graph(given, "bb")
    with pytest.raises(TooManyVariants, match="for a gradient"):
        graph_compiler.transpile(
            functools.partial(np.multiply), to="torch", args=(X.numpy(), 2), max_variants=1
        )(X.clone().requires_grad_(), np.ones(2))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_threads_beyond_the_limit_do_not_wait_for_each_other() -> None:
    both = threading.Barrier(2, timeout=20)

    def waiting(x: Any, name: str) -> Any:
        if name != "a":
            both.wait()
        return x * len(name)

    graph = graph_compiler.compile(waiting, args=(X, "a"), max_variants=1)
    threads = [threading.Thread(target=graph, args=(X, "bb")) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not both.broken


# --------------------------------------------------------------------------------- what a target has narrowed
def filled_in(ids: Any, x: Any) -> Any:
    """torch requires equal integer dtypes here; each number of rows needs a variant."""
    places = torch.full((ids.shape[0], 2), 3)
    places[:, 0] = 7
    found = ids[ids > 0]
    merged = places.masked_scatter(torch.ones_like(places, dtype=torch.bool), ids.expand(2, -1).T)
    merged[torch.arange(ids.shape[0]), torch.zeros_like(ids)] = ids
    return (merged * (2 if ids.shape[0] > 3 else 1)).sum() + x.double().sum() + found.sum()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("max_variants", [1, 16])
def test_what_jax_has_narrowed_gets_the_recorded_type_back(max_variants: int) -> None:
    jnp = pytest.importorskip("jax").numpy
    graph = graph_compiler.transpile(
        filled_in, to="jax", args=(torch.tensor([1, 2, 3]), X), max_variants=max_variants
    )
    for ids in ([4, 5], [1, 2, 3, 4], [3, 1, 2, 5, 6]):
        assert_same(graph(jnp.asarray(ids), jnp.asarray(X.numpy())), filled_in(torch.tensor(ids), X).float())
    assert len(graph.variants) == min(max_variants, 2)
    assert graph.verify(args=(jnp.asarray([1, 2]), X)).runs == 1
