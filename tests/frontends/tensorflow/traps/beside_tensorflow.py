"""Traps with other code: Python's modules, NumPy, context managers, strings, time, files. Errors must name
the user's line.
"""

from __future__ import annotations

import collections
import contextlib
import copy
import dataclasses
import datetime
import functools
import io
import itertools
import json
import logging
import math
import operator
import os
import pickle
import random
import re
import string
import threading
import time
import warnings
from typing import Any

import numpy as np
import tensorflow as tf

from .table import ELSEWHERE, EVERYWHERE, Traps, drawn, whole

TRAPS = Traps()
_HERE = "beside_tensorflow.py"
_SIGNS = (
    lambda: (drawn() + 2.0,),
    lambda: (drawn(seed=1) - 2.0,),
    lambda: (drawn(6, seed=2) + 1.0,),
    lambda: (drawn(5, seed=3) * 0.0,),
)
_LOG = logging.getLogger("traps")
_KEPT = threading.local()
_KEPT.scale = 2.0

TRAPS.rows()(
    constants_of_math=lambda x: x * math.pi + math.e - math.tau,
    table_of_numpy=lambda x: x * np.array([[1.0, 2.0, 3.0]], "float32") + np.float32(0.5),
    window_of_numpy=lambda x: x * np.hamming(3).astype("float32"),
    double_table_of_numpy=lambda x: x + tf.constant(np.linspace(0, 1, 3), tf.float32),
    index_of_numpy=lambda x: tf.gather(x, np.array([2, 0, 1])),
    mask_of_numpy=lambda x: tf.boolean_mask(x, np.array([True, False, True]), axis=1),
    random_of_numpy_of_a_seed=lambda x: x * np.random.default_rng(3).standard_normal(3).astype("float32"),
    random_of_python_of_a_seed=lambda x: x * random.Random(3).random(),
    shuffled_by_a_seed=lambda x: tf.gather(x, random.Random(5).sample(range(3), 3), axis=1),
    function_of_numpy=lambda x: np.exp(x) + np.abs(x),
    reduction_of_numpy=lambda x: np.sum(x, axis=0) * 2.0,
    mean_of_numpy=lambda x: x - np.mean(x, axis=0),
    where_of_numpy=lambda x: np.where(x > 0, x, 0.0),
    maximum_of_numpy=lambda x: np.maximum(x, 0.0),
    product_of_numpy=lambda x: np.dot(x, np.ones((3, 2), "float32")),
    join_of_numpy=lambda x: np.concatenate([x, x]),
    stack_of_numpy=lambda x: np.stack([x[0], x[1]]),
    reshape_of_numpy=lambda x: np.reshape(x, (-1,)),
    transpose_of_numpy=lambda x: np.transpose(x) + 1.0,
    clip_of_numpy=lambda x: np.clip(x, -1.0, 1.0),
    numpy_scalar_on_the_left=lambda x: np.float32(2.0) * x - np.float32(1.0),
    numpy_array_on_the_left=lambda x: np.ones(3, "float32") * x + np.ones((1, 3), "float32"),
    numpy_compared=lambda x: np.zeros(3, "float32") < x,
    converted_to_numpy=lambda x: tf.constant(x.numpy() * 2.0) + x,
    array_of_numpy_is_returned=lambda x: (np.arange(4), np.float32(2.5), x),
    products_of_itertools=lambda x: sum(x[:, a] * x[:, b] for a, b in itertools.product(range(3), range(2))),
    chain_of_itertools=lambda x: tf.add_n(list(itertools.chain([x], [x * 2.0], (x for _ in range(2))))),
    zip_longest=lambda x: [
        a * (b or 1.0) for a, b in itertools.zip_longest(tf.unstack(x, axis=1), [2.0, 3.0])
    ],
    pairwise_differences=lambda x: [b - a for a, b in itertools.pairwise(tf.unstack(x, axis=1))],
    batches_by_islice=lambda x: [
        tf.add_n(list(itertools.islice(tf.unstack(x, axis=1), k, k + 2))) for k in (0, 1)
    ],
    itemgetter=lambda x: operator.itemgetter(0, 2)(tf.unstack(x, axis=1)),
    attrgetter=lambda x: x * operator.attrgetter("shape.rank")(x),
    deep_copies=lambda x: copy.deepcopy({"a": x, "b": [x * 2.0]}),
    shallow_copies=lambda x: copy.copy([x, x + 1.0]),
    json_of_sizes=lambda x: (json.dumps({"rows": int(x.shape[0])}), x),
    pattern_of_a_text=lambda x: x * float(re.match(r"(\d+)", "12ab").group(1)),  # type: ignore[union-attr]
    template_of_a_text=lambda x: string.Template("$n rows").substitute(n=x.shape[0]) + str(x.dtype.name),
    enumeration_of_letters=lambda x: dict(zip(string.ascii_lowercase, tf.unstack(x, axis=1))),
    environment_variable=lambda x: x * float(os.environ.get("NO_SUCH_VARIABLE_OF_TRAPS", "2.5")),
    path_of_a_file=lambda x: x * len(os.path.basename("/a/bc.txt")),  # noqa: PTH119
    text_written_to_memory=lambda x: (_written(x), x),
    thread_local_number=lambda x: x * _KEPT.scale,
    chunked_by_a_generator=lambda x: list(_chunks(x)),
    collected_in_a_deque=lambda x: list(collections.deque((x[:, k] for k in range(3)), maxlen=2)),
    named_tuple_made_inside=lambda x: collections.namedtuple("Made", "a b")(x, x * 2.0).b,
    dataclass_made_inside=lambda x: dataclasses.make_dataclass("Made", ["a"])(x).a * 2.0,
    class_made_inside=lambda x: type("Made", (), {"scale": 2.0, "run": lambda self, y: y * self.scale})().run(
        x
    ),
    evaluated_text=lambda x: eval("x * 2.0 + k", {"x": x, "k": 1.0}),
    executed_text=lambda x: _executed(x),
    sorted_by_names=lambda x: [x[:, {"b": 1, "a": 0}[name]] for name in sorted({"b", "a"})],
    caught_attribute_error=lambda x: _caught(x, lambda: x.no_such_attribute),
    caught_key_error=lambda x: _caught(x, lambda: {}["k"]),
    caught_value_error=lambda x: _caught(x, lambda: int("text")),
    suppressed_error=lambda x: _suppressed(x),
    partial_sums_by_accumulate=lambda x: list(
        itertools.accumulate(tf.unstack(x, axis=1), initial=tf.zeros(x.shape[0]))
    ),
    memory_of_a_view=lambda x: (
        x + np.lib.stride_tricks.sliding_window_view(np.arange(5, dtype="float32"), 3)[1]
    ),
    polynomial_of_numpy=lambda x: x * np.polynomial.polynomial.polyval(2.0, [1.0, 2.0, 3.0]),
    einsum_path_of_numpy=lambda x: tf.einsum(
        "ij,jk->ik", x, tf.constant(np.einsum("i,j->ij", np.ones(3), np.arange(2.0)), tf.float32)
    ),
    inverse_of_numpy=lambda x: x @ np.linalg.inv(np.array([[2.0, 0, 1], [0, 1, 0], [1, 0, 1]], "float32")),
    pickled_tensor=lambda x: pickle.loads(pickle.dumps(x)) * 2.0,
    date_that_is_fixed=lambda x: x * datetime.date(2020, 1, 3).day,
)

TRAPS.rows(errors={EVERYWHERE: _HERE})(
    strings_of_numbers=lambda x: tf.strings.to_number(tf.strings.as_string(x)),
    strings_are_joined=lambda x: (
        x + tf.cast(tf.strings.length(tf.strings.join(["a", tf.strings.as_string(x[0, 0])])), tf.float32)
    ),
    strings_are_compared=lambda x: tf.where(tf.strings.as_string(x) == "1.0", x, 0.0),
    strings_by_a_pattern=lambda x: (
        x + tf.cast(tf.strings.regex_full_match(tf.strings.as_string(x[0, 0]), ".*"), tf.float32)
    ),
    hash_of_strings=lambda x: tf.strings.to_hash_bucket_fast(tf.strings.as_string(x), 10),
    python_function_with_a_gradient=lambda x: tf.py_function(lambda y: y * 2.0, [x], tf.float32),
    numpy_function_of_two=lambda x: tf.numpy_function(lambda a, b: a + b, [x, x], tf.float32),
    dataset_from_rows=lambda x: list(tf.data.Dataset.from_tensor_slices(x).batch(2)),
    dataset_is_mapped=lambda x: tf.stack(
        list(tf.data.Dataset.from_tensor_slices(x).map(lambda row: row * 2.0))
    ),
    dataset_is_reduced=lambda x: tf.data.Dataset.from_tensor_slices(x).reduce(
        tf.zeros((3,)), lambda s, row: s + row
    ),
    tensor_is_parsed=lambda x: tf.io.parse_tensor(tf.io.serialize_tensor(x), tf.float32),
    file_is_read=lambda x: x + tf.cast(tf.strings.length(tf.io.read_file("/dev/null")), tf.float32),
    base64=lambda x: tf.io.decode_raw(
        tf.io.decode_base64(tf.io.encode_base64(tf.io.serialize_tensor(x))), tf.uint8
    ),
    image_is_encoded=lambda x: tf.image.decode_png(tf.io.encode_png(tf.cast(tf.abs(x)[..., None], tf.uint8))),
    unicode_of_numbers=lambda x: tf.strings.length(
        tf.strings.unicode_encode(tf.cast(tf.abs(x), tf.int32) + 65, "UTF-8")
    ),
    substring=lambda x: tf.strings.length(tf.strings.substr(tf.strings.as_string(x), 0, 2)),
    indexed_rows=lambda x: tf.IndexedSlices(x, tf.range(x.shape[0])),
)

TRAPS.rows(errors={EVERYWHERE: "RaggedTensor"})(
    ragged_of_lengths=lambda x: tf.RaggedTensor.from_row_lengths(
        tf.reshape(x, [-1]), [1, x.shape[0] * 3 - 1]
    ),
)

TRAPS.rows(*_SIGNS, errors={EVERYWHERE: _HERE})(
    table_that_is_mutable=lambda x: tf.lookup.experimental.DenseHashTable(
        tf.int64, tf.float32, -1.0, -1, -2
    ).lookup(tf.cast(x[:, 0] * 0.0, tf.int64)),
    stream_of_numbers=lambda x: tf.queue.FIFOQueue(2, [tf.float32]).size(),
)


def _written(x: Any) -> str:
    text = io.StringIO()
    print("rows", x.shape[0], x.dtype.name, file=text)
    return text.getvalue()


def _chunks(x: Any) -> Any:
    for start in range(0, x.shape[1], 2):
        yield x[:, start : start + 2]


def _executed(x: Any) -> Any:
    space: dict[str, Any] = {"x": x}
    exec("y = x * 2.0\nfor _ in range(2):\n    y = y + 1.0", space)
    return space["y"]


def _caught(x: Any, function: Any) -> Any:
    try:
        return function()
    except (TypeError, AttributeError, KeyError, ValueError, tf.errors.InvalidArgumentError) as problem:
        return x * (2.0 if isinstance(problem, (TypeError, AttributeError, LookupError)) else 3.0)


def _suppressed(x: Any) -> Any:
    with contextlib.suppress(ZeroDivisionError):
        x = x * 2.0
        x = x / (1 // 0)
    return x + 1.0


# ----------------------------------------------------------------------------------- messages, time, contexts
@TRAPS.function(*_SIGNS, variants=1)
def prints_what_it_has(x: Any) -> Any:
    with contextlib.redirect_stdout(open(os.devnull, "w")):  # noqa: PTH123
        print("x is", x.dtype, len(x.shape))
    return x * 2.0


@TRAPS.function(*_SIGNS, variants=1)
def logs_a_tensor(x: Any) -> Any:
    _LOG.debug("x is %s", x)
    _LOG.debug(f"the first row is {x[0]}")
    return x * 2.0


@TRAPS.function(*_SIGNS, variants=1)
def warns_of_a_tensor(x: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.warn(f"the sum is {tf.reduce_sum(x)}", stacklevel=1)
    return x * 2.0


@TRAPS.function(*_SIGNS)
def keeps_what_it_prints(x: Any) -> Any:
    text = io.StringIO()
    print(x[0, 0] > 0, file=text)
    return x * len(text.getvalue())


@TRAPS.function(*_SIGNS)
def text_of_a_tensor_decides(x: Any) -> Any:
    return x * (2.0 if str(tf.sign(x[0, 0]).numpy()) == "1.0" else 3.0)


@TRAPS.function(*_SIGNS)
def text_of_a_tensor_is_read(x: Any) -> Any:
    return x * (2.0 if "-" in f"{x[0]}" else 3.0)


@TRAPS.function(*_SIGNS)
def raises_with_a_tensor_in_the_message(x: Any) -> Any:
    try:
        if x[0, 0] < 0:
            raise ValueError(f"negative: {x[0, 0]}")
    except ValueError as problem:
        return x * (2.0 if "negative" in str(problem) else 3.0)
    return x


@TRAPS.function(*_SIGNS, variants=1)
def measures_its_time(x: Any) -> Any:
    start = time.perf_counter()
    y = tf.exp(-tf.abs(x))
    _LOG.debug("took %s", time.perf_counter() - start)
    return y


@TRAPS.function(errors={EVERYWHERE: "gives something else at each call"})
def draws_by_python(x: Any) -> Any:
    return x * random.random()


@TRAPS.function(errors={EVERYWHERE: "gives something else at each call"})
def draws_by_numpy(x: Any) -> Any:
    return x + np.random.normal(size=3).astype("float32")


@TRAPS.function(*_SIGNS)
def context_manager_of_ones_own(x: Any) -> Any:
    scales = [1.0]

    @contextlib.contextmanager
    def scaled(by: float) -> Any:
        scales.append(by)
        yield len(scales)
        scales.pop()

    with scaled(2.0) as depth, scaled(3.0):
        y = x * scales[-1] * depth
    return y + scales[-1]


@TRAPS.function(*_SIGNS)
def stack_of_contexts(x: Any) -> Any:
    with contextlib.ExitStack() as stack:
        for name in ("a", "b"):
            stack.enter_context(tf.name_scope(name))
        tape = stack.enter_context(tf.GradientTape())
        tape.watch(x)
        y = tf.reduce_sum(x**3)
    return tape.gradient(y, x)


@TRAPS.function(*_SIGNS)
def cleans_up_behind_an_error(x: Any) -> Any:
    steps = []
    for value in (1.0, 0.0):
        try:
            steps.append(1.0 / value)
        except ZeroDivisionError:
            steps.append(-1.0)
        else:
            steps.append(7.0)
        finally:
            steps.append(9.0)
    return x * sum(steps), steps


@TRAPS.function(*_SIGNS)
def runs_in_another_thread(x: Any) -> Any:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(2.5))
    thread.start()
    thread.join()
    return x * found[0]


@TRAPS.function(*_SIGNS)
def singledispatch_on_tensors(x: Any) -> Any:
    @functools.singledispatch
    def scaled(item: Any) -> Any:
        return item * 2.0

    @scaled.register
    def _(item: int) -> Any:
        return item * 3

    return scaled(x) + scaled(2)


@TRAPS.function(*_SIGNS, errors={ELSEWHERE: "makes or takes sparse arrays"})
def sparse_in_between(x: Any) -> Any:
    sparse = tf.sparse.from_dense(tf.nn.relu(x))
    return tf.sparse.reduce_sum(sparse, 1), tf.sparse.to_dense(tf.sparse.transpose(sparse))


@TRAPS.function(*_SIGNS)
def sparse_of_places(x: Any) -> Any:
    sparse = tf.SparseTensor([[0, 1], [2, 0]], x[0, :2], (3, 3))
    return tf.sparse.to_dense(sparse), tf.sparse.sparse_dense_matmul(sparse, tf.eye(3))


@TRAPS.function(*_SIGNS, errors={ELSEWHERE: _HERE})
def ragged_in_between(x: Any) -> Any:
    return tf.reduce_sum(tf.RaggedTensor.from_row_splits(x, [0, 1, x.shape[0]]).to_tensor(), 1)


@TRAPS.function(lambda: (drawn(), whole(3)), lambda: (drawn(6), whole(3, seed=1)), errors={ELSEWHERE: _HERE})
def ragged_range(x: Any, n: Any) -> Any:
    return tf.ragged.range(n).to_tensor()


@TRAPS.function(*_SIGNS)
def profiler_around(x: Any) -> Any:
    with tf.profiler.experimental.Trace("step", step_num=1):
        return x * 2.0
