"""Traps with assertions on elements and shapes: they fail in the graph where they fail in TensorFlow."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from .table import EVERYWHERE, Traps, drawn

TRAPS = Traps()
_FAILS = (
    lambda: (tf.abs(drawn()),),
    lambda: (tf.abs(drawn(6)),),
    lambda: (drawn() - 3,),
    lambda: (tf.abs(drawn(5)),),
)


@TRAPS.function(*_FAILS, raises={2: "only positive"})
def elements_are_positive(x: Any) -> Any:
    tf.debugging.assert_positive(x, "only positive")
    return tf.sqrt(x)


@TRAPS.function(*_FAILS, raises={2: "all above 0"})
@tf.function
def asserted_in_a_tf_function(x: Any) -> Any:
    tf.Assert(tf.reduce_all(x > 0), ["all above 0", x])
    return tf.sqrt(x)


@TRAPS.function(*_FAILS, errors={EVERYWHERE: "checks.py"})
@tf.function
def statement_of_python(x: Any) -> Any:
    assert tf.reduce_min(x) > -0.5, "below"
    return x + 1.0


@TRAPS.function(*_FAILS, raises={2: "row is negative"})
@tf.function
def asserted_in_a_loop(x: Any) -> Any:
    total = tf.zeros((3,))
    for row in x:
        tf.debugging.assert_non_negative(row, "row is negative")
        total += tf.sqrt(tf.abs(row))
    return total


@TRAPS.function(*_FAILS, raises={2: "in the branch"})
@tf.function
def asserted_in_a_branch(x: Any) -> Any:
    if tf.reduce_max(tf.abs(x)) > 0.5:
        tf.debugging.assert_greater(x, -1.0, "in the branch")
        x = x * 2.0
    return x


@TRAPS.function(lambda: (tf.abs(drawn()),), lambda: (drawn(seed=1) * 0.01 - 0.001,))
@tf.function
def assertion_of_a_branch_that_is_not_taken(x: Any) -> Any:
    if tf.reduce_max(tf.abs(x)) > 0.5:
        tf.debugging.assert_greater(x, -0.0001, "in the branch")
        x = x * 2.0
    return x


@TRAPS.function(*_FAILS, raises={2: "while it grows"})
@tf.function
def asserted_in_a_while_loop(x: Any) -> Any:
    while tf.reduce_sum(tf.abs(x)) < 200.0:
        tf.debugging.assert_greater_equal(x, 0.0, "while it grows")
        x = x * 1.5
    return x


@TRAPS.function(*_FAILS, raises={2: "in the map"})
def asserted_in_a_map(x: Any) -> Any:
    def one(row: Any) -> Any:
        tf.debugging.assert_greater_equal(row, 0.0, "in the map")
        return tf.sqrt(tf.abs(row))

    return tf.map_fn(one, x)


@TRAPS.function(
    lambda: (drawn(),), lambda: (drawn(6),), lambda: (tf.math.log(drawn()),), raises={2: "finite numbers"}
)
def all_finite(x: Any) -> Any:
    tf.debugging.assert_all_finite(x, "finite numbers")
    return tf.debugging.check_numerics(x * 2.0, "finite products")


@TRAPS.function(
    lambda: (drawn(),), lambda: (drawn(6),), lambda: (tf.math.log(drawn()),), raises={2: "numbers"}
)
def numerics_are_checked(x: Any) -> Any:
    return tf.debugging.check_numerics(x * 2.0, "numbers") + 1.0


@TRAPS.function(*_FAILS, raises={2: "depends"})
@tf.function
def depends_on_a_check(x: Any) -> Any:
    with tf.control_dependencies([tf.debugging.assert_non_negative(x, "depends")]):
        return tf.identity(x) * 2.0


@TRAPS.function(lambda: (drawn(),), lambda: (drawn(6),), lambda: (drawn(4, 2),), raises={2: "three columns"})
def shapes_are_asserted(x: Any) -> Any:
    tf.debugging.assert_shapes([(x, ("N", 3))], message="three columns")
    tf.debugging.assert_rank(x, 2)
    tf.debugging.assert_equal(tf.shape(x)[1], 3, "three columns")
    return x * 2.0


@TRAPS.function(
    lambda: (drawn(), drawn()),
    lambda: (drawn(6), drawn(6)),
    lambda: (drawn(), drawn(seed=1)),
    raises={2: "the same"},
)
def arrays_are_the_same(a: Any, b: Any) -> Any:
    tf.debugging.assert_equal(a, b, "the same")
    tf.debugging.assert_near(a, b + 1e-9)
    return a + b


# The assertion is outside of the ``try``, so TensorFlow's own error is raised.
@TRAPS.function(*_FAILS, raises={2: "Error"})
def caught_and_told(x: Any) -> Any:
    try:
        tf.debugging.assert_positive(x)
    except tf.errors.InvalidArgumentError as problem:
        raise ValueError("it is wrong") from problem
    return x


@TRAPS.function(lambda: (drawn(),), lambda: (drawn(5),), lambda: (drawn(3),), raises={2: "at least four"})
def sizes_are_asserted(x: Any) -> Any:
    tf.debugging.assert_greater_equal(tf.shape(x)[0], 4, "at least four rows")
    return x[:4]


@TRAPS.function(
    lambda: (drawn(), tf.constant([0, 1])),
    lambda: (drawn(6), tf.constant([5, 4])),
    lambda: (drawn(), tf.constant([0, 4])),
    raises={2: "out of range"},
)
def indices_are_in_range(x: Any, places: Any) -> Any:
    tf.debugging.assert_less(places, tf.shape(x)[0], "out of range")
    return tf.gather(x, places)
