"""Tests of the ``keras.Model`` of a graph: checkpoints, copies, dtype policies, nesting, export."""

from __future__ import annotations

import copy
import pickle
from collections import OrderedDict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

torch = pytest.importorskip("torch")
tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")

import graph_compiler  # noqa: E402
from graph_compiler.errors import InvalidOption, NotSerialisable  # noqa: E402
from tests.support.compare import assert_same  # noqa: E402

# Keras warns of its own variables.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")


def network() -> Any:
    return torch.nn.Sequential(
        torch.nn.Linear(3, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU(), torch.nn.Linear(8, 4)
    ).eval()


def model_of(source: Any, dtype: Any = torch.float32) -> Any:
    return graph_compiler.transpile(
        source, to="tensorflow", args=(torch.randn(4, 3, dtype=dtype),)
    ).as_module()


def batch(count: int) -> Any:
    return np.random.default_rng(count).standard_normal((count, 3)).astype(np.float32)


def expected(source: Any, count: int) -> Any:
    return source(torch.from_numpy(batch(count)))


def test_checkpoints_and_copies_hold_the_weights(tmp_path: Path) -> None:
    source = network()
    model = model_of(source)
    path = tf.train.Checkpoint(model=model).save(str(tmp_path / "checkpoint"))
    model.variable("0.bias").trainable = False
    twin = copy.deepcopy(model)
    assert [weight.name for weight in twin.trainable_weights] == [
        weight.name for weight in model.trainable_weights
    ]
    for each in (model, model_of(network())):
        each.set_weights([0 * array for array in each.get_weights()])
        assert not np.asarray(each(batch(5))).any()
        tf.train.Checkpoint(model=each).restore(path).assert_existing_objects_matched()
        assert_same(each(batch(5)), expected(source, 5))
    assert_same(twin(batch(5)), expected(source, 5))


@pytest.mark.parametrize(
    ("policy", "dtype"),
    [("mixed_float16", torch.float32), ("mixed_bfloat16", torch.float64), ("float32", torch.float64)],
)
def test_types_are_those_of_the_recording_under_every_policy(policy: str, dtype: Any) -> None:
    source = network().to(dtype)
    keras.mixed_precision.set_global_policy(policy)
    try:
        model = model_of(source, dtype)
    finally:
        keras.mixed_precision.set_global_policy("float32")
    for given in (batch(5), batch(5).astype(np.float64), tf.cast(batch(5), tf.bfloat16)):
        wanted = source(torch.tensor(np.asarray(tf.cast(given, tf.float64)), dtype=dtype))
        assert_same(model(given), wanted)
    model.compile(optimizer=keras.optimizers.SGD(0.1), loss="mse")
    losses = model.fit(batch(16), np.zeros((16, 4)), epochs=4, verbose=0).history["loss"]
    assert losses[-1] < losses[0]


class Weighed(torch.nn.Module):
    """A model with several dtypes, which a dtype policy must not unify."""

    def forward(self, x: Any, weights: Any) -> Any:
        return (x.double() * weights).sum(-1), x.dtype == torch.float32


def test_several_types_stay_what_they_are() -> None:
    source, x, weights = Weighed(), torch.randn(4, 3), torch.randn(4, 3, dtype=torch.float64)
    model = graph_compiler.transpile(source, to="tensorflow", args=(x, weights)).as_module()
    assert_same(model(x[:2].numpy(), weights[:2].numpy()), source(x[:2], weights[:2]))


def test_a_model_is_a_part_of_others_and_runs_in_every_mode_of_keras() -> None:
    source = network()
    model = model_of(source)
    entry = keras.Input((3,))
    assert_same(keras.Model(entry, model(entry)).predict(batch(5), verbose=0), expected(source, 5))
    whole = keras.Sequential([keras.Input((3,)), model, keras.layers.Dense(1)])
    assert len(whole.trainable_weights) == len(model.trainable_weights) + 2
    for options in ({"run_eagerly": True}, {"jit_compile": True}, {"jit_compile": False}):
        whole.compile(optimizer=keras.optimizers.SGD(0.05), loss="mse", **options)
        before = np.array(model.variable("0.weight"))
        losses = whole.fit(batch(16), np.ones((16, 1)), epochs=6, verbose=0).history["loss"]
        assert losses[-1] < losses[0] and (np.array(model.variable("0.weight")) != before).any()
    model.trainable = False
    assert len(whole.trainable_weights) == 2
    assert source[1].num_batches_tracked == 0


def test_a_model_is_exported_and_not_configured(tmp_path: Path) -> None:
    source = network()
    model = model_of(source)
    model.export(tmp_path / "exported", verbose=False)
    again = tf.saved_model.load(str(tmp_path / "exported"))
    assert_same(again.serve(batch(5)), expected(source, 5))
    with_number = graph_compiler.transpile(
        lambda x, scale: x * scale, to="tensorflow", args=(torch.randn(4, 3), 2)
    ).as_module()
    with pytest.raises(InvalidOption, match="input_signature="):
        with_number.export(tmp_path / "other", verbose=False)
    for take in (
        model.get_config,
        lambda: model.save(tmp_path / "net.keras"),
        lambda: keras.models.clone_model(model),
    ):
        with pytest.raises(NotSerialisable, match=r"save_weights.*export.*Graph\.save"):
            take()
    assert_same(pickle.loads(pickle.dumps(model))(batch(5)), expected(source, 5))
    model._graph.save(tmp_path / "net.zip")
    assert_same(graph_compiler.load(tmp_path / "net.zip").as_module()(batch(5)), expected(source, 5))


class Pair(torch.nn.Module):
    """A model with keyword arguments that returns a mapping of its own class, as models of transformers do."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.drop, self.head = (
            torch.nn.Embedding(9, 4),
            torch.nn.Dropout(0.1),
            torch.nn.Linear(4, 2),
        )

    def forward(self, tokens: Any = None, mask: Any = None) -> Any:
        hidden = (self.words(tokens) * mask[..., None]).sum(1)
        return Answer(logits=self.head(self.drop(hidden)), hidden=hidden)


class Answer(OrderedDict[str, Any]): ...


def test_a_model_is_fitted_on_a_dict_of_inputs(tmp_path: Path) -> None:
    torch.manual_seed(0)
    source = Pair().eval()
    x = {"tokens": np.arange(24).reshape(8, 3) % 9, "mask": np.ones((8, 3), np.float32)}
    first = {name: torch.from_numpy(array[:2]) for name, array in x.items()}
    model = graph_compiler.transpile(source, to="tensorflow", kwargs=first).as_module()
    assert_same(
        model.predict(x, verbose=0),
        dict(source(**{name: torch.from_numpy(array) for name, array in x.items()})),
    )
    assert type(model(**first)) is Answer
    y = {"logits": (np.arange(8) % 3 == 0).astype(int)}
    model.compile(
        optimizer=keras.optimizers.Adam(0.05),
        loss={"logits": keras.losses.SparseCategoricalCrossentropy(from_logits=True)},
    )
    before = model.evaluate(x, y, verbose=0)
    model.fit(tf.data.Dataset.from_tensor_slices((x, y)).batch(4), epochs=5, shuffle=False, verbose=0)
    assert (
        model.fit(x, y, batch_size=4, verbose=0).history["loss"][0] < before
        and model.evaluate(x, y, verbose=0) < before
    )
    model.export(str(tmp_path), verbose=False)
    # This object keeps the variables alive.
    loaded = tf.saved_model.load(str(tmp_path))
    assert_same(
        loaded.serve({name: array[:5] for name, array in x.items()})["logits"],
        model.predict(x, verbose=0)["logits"][:5],
    )


class Both(NamedTuple):
    answer: Any
    total: Any


class Nested(Pair):
    def forward(self, tokens: Any = None, mask: Any = None) -> Any:
        answer = super().forward(tokens, mask)
        return Both([answer], answer["logits"].sum(1))


def test_mappings_inside_of_named_tuples_are_predicted() -> None:
    source = Nested().eval()
    x = {"tokens": np.arange(24).reshape(8, 3) % 9, "mask": np.ones((8, 3), np.float32)}
    given = {name: torch.from_numpy(array) for name, array in x.items()}
    model = graph_compiler.transpile(source, to="tensorflow", kwargs=given).as_module()
    found, wanted = model.predict(x, batch_size=4, verbose=0), source(**given)
    assert type(found) is Both
    assert_same(found.answer, [dict(wanted.answer[0])])
    assert_same(found.total, wanted.total)


class Largest(Pair):
    def forward(self, tokens: Any = None, mask: Any = None) -> Any:
        return super().forward(tokens, mask)["logits"].max(1)


def test_a_call_in_a_mode_keeps_the_class_of_its_result() -> None:
    x = {"tokens": np.arange(24).reshape(8, 3) % 9, "mask": np.ones((8, 3), np.float32)}
    given = {name: torch.from_numpy(array) for name, array in x.items()}
    model = graph_compiler.transpile(Largest().eval(), to="tensorflow", kwargs=given).as_module()
    assert type(model(x, training=False)) is torch.return_types.max


def test_arguments_in_one_container_are_told_from_one_argument() -> None:
    x = {"a": batch(4), "b": batch(5)[:4]}
    apart, whole = (
        graph_compiler.transpile(source, to="tensorflow", args=given).as_module()
        for source, given in (
            (lambda a, b: a - b, (*x.values(),)),
            (lambda held: held["a"] * held["b"], (x,)),
        )
    )
    assert_same(
        [apart(x), apart([*x.values()]), whole(x)], [x["a"] - x["b"], x["a"] - x["b"], x["a"] * x["b"]]
    )
