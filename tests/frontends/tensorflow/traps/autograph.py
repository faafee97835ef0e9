"""Traps with statements that AutoGraph converts, and with ``tf.function`` in all its forms."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import tensorflow as tf

from .table import EVERYWHERE, Keywords, Trap, Traps, drawn, whole

TRAPS = Traps()
_HERE = "autograph.py"
_SIGNS = (
    lambda: (drawn() + 2.0,),
    lambda: (drawn(seed=1) - 2.0,),
    lambda: (drawn(6, seed=2) + 1.0,),
    lambda: (drawn(5, seed=3) * 0.0,),
)
_ROWS = (lambda: (drawn(),), lambda: (drawn(1),), lambda: (drawn(7, seed=2),), lambda: (drawn(0),))
_SPEC = tf.TensorSpec((None, 3), tf.float32)
_COUNTS = tuple(lambda n=n: (drawn(3, seed=4), tf.constant(n)) for n in (2, 0, 5, 1))


# ---------------------------------------------------------------------------------------------- branches
@TRAPS.function(*_SIGNS)
@tf.function
def branch_that_sets_one_name(x: Any) -> Any:
    y = x
    if tf.reduce_sum(x) > 0:
        y = x * 2.0
    return y + x


@TRAPS.function(*_SIGNS)
@tf.function
def branches_that_return(x: Any) -> Any:
    if x[0, 0] > 1.0:
        return x * 2.0
    elif x[0, 0] < -1.0:
        return x - 1.0
    else:
        if x[0, 1] > 0:
            return x * 5.0
        return x


@TRAPS.function(*_SIGNS)
@tf.function
def conditional_expression(x: Any) -> Any:
    return (x * 2.0 if tf.reduce_max(x) > 2.0 else x - 1.0) + (1.0 if x.shape[1] == 3 else 2.0)


@TRAPS.function(*_SIGNS)
@tf.function
def and_or_not_of_tensors(x: Any) -> Any:
    positive, large = tf.reduce_sum(x) > 0, tf.reduce_max(x) > 3.0
    if positive and not large:
        x = x * 2.0
    elif large or x[0, 0] < -1.0:
        x = x - 1.0
    return x


@TRAPS.function(*_SIGNS)
@tf.function
def comparison_in_a_chain(x: Any) -> Any:
    if 0.0 < x[0, 0] < 3.0:
        return x * 2.0
    return x - 1.0


@TRAPS.function(*_SIGNS)
@tf.function
def short_circuit(x: Any) -> Any:
    if x.shape[0] > 4 and x[4, 0] > 0.0:
        return x * 2.0
    return x - 1.0


@TRAPS.function(*_SIGNS)
@tf.function
def branch_on_a_size(x: Any) -> Any:
    if tf.shape(x)[0] > 4:
        x = x[:4]
    return x * tf.cast(tf.shape(x)[0], tf.float32)


@TRAPS.function(*_SIGNS)
@tf.function
def branch_that_changes_a_structure(x: Any) -> Any:
    tree = {"a": x, "b": [tf.zeros(()), 1.0]}
    if tf.reduce_sum(x) > 0:
        tree = {"a": x * 2.0, "b": [tf.reduce_max(x), 2.0]}
    return tree


@TRAPS.function(*_SIGNS)
@tf.function
def branch_that_sets_an_element_of_a_dict(x: Any) -> Any:
    tree = {"a": x, "n": tf.constant(0)}
    if tf.reduce_sum(x) > 0:
        tree["a"] = x * 2.0
        tree["n"] += 1
    return tree


@TRAPS.function(*_SIGNS)
@tf.function
def branch_of_numbers_of_python(x: Any) -> Any:
    if tf.reduce_sum(x) > 0:
        scale, shift = 2.0, 1
    else:
        scale, shift = 3.0, 5
    return x * scale, shift


@TRAPS.function(*_SIGNS)
@tf.function
def branch_with_a_nested_function(x: Any) -> Any:
    def chosen(y: Any) -> Any:
        if tf.reduce_sum(y) > 0:
            return tf.exp(-y)
        return y * 0.5

    return chosen(x) + chosen(-x)


@TRAPS.function(*_SIGNS, raises={0: "", 1: "", 2: "", 3: ""})
@tf.function
def branch_that_leaves_a_name_undefined(x: Any) -> Any:
    if tf.reduce_sum(x) > 0:
        y = x * 2.0
    return y


@TRAPS.function(*_SIGNS, raises={0: "", 1: "", 2: "", 3: ""})
@tf.function
def branches_of_two_types(x: Any) -> Any:
    if tf.reduce_sum(x) > 0:
        y = x
    else:
        y = tf.cast(x, tf.int32)
    return y


@TRAPS.function(*_SIGNS)
@tf.function
def lambda_with_a_condition(x: Any) -> Any:
    f = lambda y: y * 2.0 if tf.reduce_sum(y) > 0 else y - 1.0  # noqa: E731
    return f(x), f(-x)


@TRAPS.function(*_SIGNS)
@tf.function
def comprehension_over_columns(x: Any) -> Any:
    return [tf.reduce_sum(x[:, k]) if k else x[0] for k in range(3)], {k: x[:, k] for k in range(2)}


@TRAPS.function(*_SIGNS)
@tf.function
def asserts_in_a_branch(x: Any) -> Any:
    if tf.reduce_sum(x) > 1000.0:
        tf.debugging.assert_less(x, 0.0)
    return x * 2.0


# ---------------------------------------------------------------------------------------------- loops
@TRAPS.function(*_ROWS)
@tf.function
def loop_over_rows_of_a_tensor(x: Any) -> Any:
    total = tf.zeros((3,))
    for row in x:
        total = total * 0.5 + row
    return total


@TRAPS.function(*_ROWS)
@tf.function
def loop_with_enumerate(x: Any) -> Any:
    total = tf.zeros((3,))
    for place, row in enumerate(tf.unstack(tf.transpose(x))):
        total += tf.reduce_sum(row) * float(place)
    return total


# JAX traces the body even if it never runs.
@TRAPS.function(*_ROWS, errors={"jax": "index is out of bounds for axis 0 with size 0"})
@tf.function
def loop_with_a_step_over_no_rows(x: Any) -> Any:
    total = tf.zeros((3,))
    for place in tf.range(tf.shape(x)[0] - 1, -1, -2):
        total = total * 0.5 + x[place]
    return total


@TRAPS.function(*_ROWS[:3])
@tf.function
def loop_with_a_step(x: Any) -> Any:
    total = tf.zeros((3,))
    for place in tf.range(tf.shape(x)[0] - 1, -1, -2):
        total = total * 0.5 + x[place]
    return total


@TRAPS.function(*_ROWS)
@tf.function
def loop_over_a_static_size(x: Any) -> Any:
    total = tf.zeros(())
    for place in range(x.shape[1]):
        total = total * 0.5 + tf.reduce_sum(x[:, place]) * place
    return total


@TRAPS.function(*_COUNTS)
@tf.function
def loop_to_a_tensor(x: Any, n: Any) -> Any:
    for k in tf.range(n):
        x = x * 0.5 + tf.cast(k, tf.float32)
    return x


@TRAPS.function(*_COUNTS)
@tf.function
def loop_of_floats(x: Any, n: Any) -> Any:
    for t in tf.range(0.0, tf.cast(n, tf.float32), 0.5):
        x = x + t
    return x


@TRAPS.function(*_COUNTS)
@tf.function
def while_of_a_tensor(x: Any, n: Any) -> Any:
    k = tf.constant(0)
    while k < n:
        k += 1
        x = x + tf.cast(k, tf.float32)
    return x, k


@TRAPS.function(*_COUNTS)
@tf.function
def while_with_two_conditions(x: Any, n: Any) -> Any:
    k = 0
    while k < n and tf.reduce_sum(tf.abs(x)) < 20.0:
        x, k = x * 1.5, k + 1
    return x, k


@TRAPS.function(*_COUNTS)
@tf.function
def break_in_a_loop(x: Any, n: Any) -> Any:
    steps = 0
    for k in tf.range(10):
        if k >= n:
            break
        x = x * 0.9
        steps += 1
    return x, steps


@TRAPS.function(*_COUNTS)
@tf.function
def continue_in_a_loop(x: Any, n: Any) -> Any:
    for k in tf.range(6):
        if k % 2 == 0:
            continue
        if k == n:
            continue
        x = x + tf.cast(k, tf.float32)
    return x


@TRAPS.function(*_COUNTS)
@tf.function
def loops_in_loops(x: Any, n: Any) -> Any:
    total = 0.0
    for i in tf.range(n):
        for j in tf.range(i + 1):
            if (i + j) % 2 == 0:
                total += x[j % 3, i % 3]
    return total


@TRAPS.function(*_COUNTS)
@tf.function
def break_of_an_inner_loop(x: Any, n: Any) -> Any:
    count = 0
    for i in tf.range(n):
        for j in tf.range(5):
            if j > i:
                break
            count += 1
    return count, x


@TRAPS.function(*_COUNTS)
@tf.function
def loop_variable_stays(x: Any, n: Any) -> Any:
    k = -5
    for k in tf.range(n):  # noqa: B007
        pass
    return k, x


@TRAPS.function(*_COUNTS)
@tf.function
def number_of_python_becomes_a_tensor(x: Any, n: Any) -> Any:
    a, b = 0, 1.0
    for _ in tf.range(n):
        a, b = a + 1, b * 0.5
    return a, b, x


@TRAPS.function(*_COUNTS)
@tf.function
def carries_a_tuple_and_a_dict(x: Any, n: Any) -> Any:
    state, pair = {"x": x, "n": 0}, (x[0], 1)
    for _ in tf.range(n):
        state = {"x": state["x"] * 0.5, "n": state["n"] + 1}
        pair = (pair[0] + 1.0, pair[1] * 2)
    return state, pair


@TRAPS.function(*_COUNTS)
@tf.function
def shape_invariants_of_autograph(x: Any, n: Any) -> Any:
    rows = x[:1]
    for _ in tf.range(n):
        tf.autograph.experimental.set_loop_options(shape_invariants=[(rows, tf.TensorShape([None, 3]))])
        rows = rows * 1.0 + 1.0
    return rows


@TRAPS.function(*_COUNTS, errors={EVERYWHERE: "keeps its shape"})
@tf.function
def rows_that_grow_in_a_loop(x: Any, n: Any) -> Any:
    rows = x[:1]
    for _ in tf.range(n):
        tf.autograph.experimental.set_loop_options(shape_invariants=[(rows, tf.TensorShape([None, 3]))])
        rows = tf.concat([rows, rows[-1:] * 0.5], 0)
    return rows


@TRAPS.function(*_COUNTS)
@tf.function
def options_of_a_loop(x: Any, n: Any) -> Any:
    k = 0
    while k < n:
        tf.autograph.experimental.set_loop_options(
            parallel_iterations=1, maximum_iterations=3, swap_memory=True
        )
        x, k = x + 1.0, k + 1
    return x, k


@TRAPS.function(*_ROWS)
@tf.function
def builtins_of_autograph(x: Any) -> Any:
    return (
        abs(x),
        len(x),
        max(tf.reduce_max(x), 0.0) if False else x,
        sum([x, x]),
        int(x.shape[1]),
        float(x.shape[1]),
    )


@TRAPS.function(*_SIGNS)
@tf.function
def int_and_float_of_tensors(x: Any) -> Any:
    return int(x[0, 0]), float(tf.cast(x[0, 1], tf.int32))


@TRAPS.function(*_SIGNS)
@tf.function
def prints_in_a_tf_function(x: Any) -> Any:
    if tf.reduce_sum(x) > 0:
        tf.print("positive", x, output_stream="file:///dev/null")
    return x * 2.0


@TRAPS.function(*_SIGNS, raises={1: "negative"})
@tf.function
def raises_by_an_assertion(x: Any) -> Any:
    tf.debugging.Assert(tf.reduce_sum(x) >= 0, ["negative"])
    return tf.sqrt(tf.abs(x))


@TRAPS.function(*_SIGNS)
@tf.function
def with_in_a_tf_function(x: Any) -> Any:
    with tf.name_scope("a"), tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(x * x)
    return tape.gradient(y, x)


@TRAPS.function(*_SIGNS)
@tf.function
def delete_and_rebind(x: Any) -> Any:
    y = x * 2.0
    del x
    x = y + 1.0
    y = x
    return x, y


@TRAPS.function(*_SIGNS)
@tf.function
def recursion_in_a_tf_function(x: Any) -> Any:
    def power(y: Any, n: int) -> Any:
        return y if n == 0 else power(y * x, n - 1)

    return power(tf.ones_like(x), 3)


@TRAPS.function(*_SIGNS)
@tf.function
def steps_in_python_and_in_tensors(x: Any) -> Any:
    for k in range(2):
        for j in tf.range(2):
            x = x + float(k) + tf.cast(j, tf.float32)
        while tf.reduce_max(x) > 3.0:
            x = x - 1.0
    return x


@TRAPS.function(*_SIGNS)
@tf.function
@tf.autograph.experimental.do_not_convert
def not_converted(x: Any) -> Any:
    return tf.cond(tf.reduce_sum(x) > 0, lambda: x * 2.0, lambda: x - 1.0)


@TRAPS.made(*_SIGNS)
def converted_function_of_another() -> Any:
    def helper(y: Any) -> Any:
        if tf.reduce_sum(y) > 0:
            return y * 2.0
        return y - 1.0

    converted = tf.autograph.to_graph(helper)
    return tf.function(
        lambda x: converted(x) + tf.autograph.experimental.do_not_convert(lambda z: z * 3.0)(x)
    )


@TRAPS.made(*_SIGNS)
def method_in_a_loop() -> Any:
    class Model:
        def __init__(self) -> None:
            self.scale = 0.5

        def step(self, x: Any) -> Any:
            if tf.reduce_sum(x) > 1.0:
                return x * self.scale
            return x + 1.0

        @tf.function
        def __call__(self, x: Any) -> Any:
            for _ in tf.range(3):
                x = self.step(x)
            return x

    return Model()


@TRAPS.made(
    lambda: (drawn(),),
    lambda: (drawn(),),
    lambda: (drawn(seed=2),),
    changes={1: lambda m: setattr(m, "scale", 0.25)},
)
def attribute_of_python_is_kept_by_a_tf_function() -> Any:
    class Model:
        def __init__(self) -> None:
            self.scale = 0.5

        @tf.function
        def __call__(self, x: Any) -> Any:
            return x * self.scale

    return Model()


# --------------------------------------------------------------------------------------- forms of tf.function
_FORMS: dict[str, Any] = {
    "form_compiled": lambda f: tf.function(f, jit_compile=True),
    "form_relaxed": lambda f: tf.function(f, reduce_retracing=True),
    "form_named": lambda f: tf.function(f, autograph=True, experimental_implements="mine"),
    "form_with_a_signature": lambda f: tf.function(f, input_signature=[_SPEC]),
    "form_with_an_open_signature": lambda f: tf.function(
        f, input_signature=[tf.TensorSpec(None, tf.float32)]
    ),
    "form_with_open_sizes": lambda f: tf.function(
        f, input_signature=[tf.TensorSpec((None, None), tf.float32)]
    ),
    "form_concrete": lambda f: tf.function(f).get_concrete_function(_SPEC),
    "form_of_a_form": lambda f: tf.function(tf.function(f), jit_compile=True),
    "form_in_a_lambda": lambda f: (lambda g: lambda x: g(x) * 2.0)(tf.function(f)),
    "form_in_a_partial": lambda f: functools.partial(tf.function(lambda k, x: f(x) * k), 2.0),
    "form_called_twice": lambda f: (lambda g: lambda x: (g(x), g(x[:2]), g(-x)))(tf.function(f)),
    "form_of_a_callable": lambda f: tf.function(type("Owner", (), {"__call__": lambda self, x: f(x)})()),
    "form_of_a_partial": lambda f: tf.function(functools.partial(lambda k, x: f(x) * k, 3.0)),
    "form_with_a_prefix": lambda f: (
        lambda g: lambda x: g(x) + tf.cast(len(g.pretty_printed_concrete_signatures()) * 0, tf.float32)
    )(tf.function(f)),
}


def _formed(x: Any) -> Any:
    rows = tf.shape(x)[0]
    if tf.reduce_sum(x) > 0:
        return x * tf.cast(rows, tf.float32)
    return x - tf.cast(rows, tf.float32)


def _of_a_form(form: Any) -> Any:
    return lambda: form(_formed)


TRAPS.update({name: Trap(_of_a_form(form), _SIGNS) for name, form in _FORMS.items()})


@TRAPS.made(
    lambda: (drawn(), 2),
    lambda: (drawn(), 3),
    lambda: (drawn(), 2.5),
    lambda: (drawn(), tf.constant(2.5)),
    lambda: (drawn(6), 2),
)
def retraces_by_class() -> Any:
    @tf.function
    def function(x: Any, n: Any) -> Any:
        return x * float(n) if isinstance(n, (int, float)) else x - n

    return function


@TRAPS.made(
    lambda: (drawn(), Keywords(flag=True)), lambda: (drawn(), Keywords(flag=False)), lambda: (drawn(5),)
)
def retraces_by_a_flag() -> Any:
    return tf.function(lambda x, flag=None: x * (2.0 if flag else 3.0 if flag is None else 5.0))


@TRAPS.made(
    lambda: (drawn(),), lambda: (tf.cast(drawn(), tf.float64),), lambda: (whole(4, 3),), lambda: (drawn(5),)
)
def retraces_by_type() -> Any:
    return tf.function(lambda x: (x * 2, tf.reduce_sum(x, 0), tf.zeros((x.dtype.size,))))


@TRAPS.made(lambda: (drawn(),), lambda: (drawn()[0],), lambda: (drawn()[0, 0],), lambda: (drawn(5),))
def retraces_by_rank() -> Any:
    return tf.function(lambda x: x * len(x.shape) + tf.reduce_sum(x))


@TRAPS.made(lambda: (drawn(), None), lambda: (drawn(), drawn()), lambda: (drawn(5), None))
def retraces_by_none() -> Any:
    return tf.function(lambda x, y: x * 2.0 if y is None else x + y)


@TRAPS.made(lambda: ([drawn()],), lambda: ([drawn(), drawn(seed=1)],), lambda: ((drawn(5), drawn(5)),))
def retraces_by_structure() -> Any:
    return tf.function(lambda items: tf.add_n(list(items)) * len(items))


@TRAPS.made(
    lambda: (np.ones((4, 3), "float32"),),
    lambda: (np.zeros((4, 3), "float32"),),
    lambda: (np.ones((5, 3), "float32"),),
)
def array_of_numpy_for_a_tf_function() -> Any:
    return tf.function(lambda x: tf.exp(x) * x.shape[1])


@TRAPS.made(
    lambda: (drawn(), 2.0),
    lambda: (drawn(), 3.0),
    lambda: (drawn(), tf.constant(2.0)),
    lambda: (drawn(6), np.float32(4.0)),
)
def numbers_become_tensors_of_a_signature() -> Any:
    return tf.function(lambda x, n: x * n, input_signature=[_SPEC, tf.TensorSpec((), tf.float32)])


@TRAPS.made(lambda: (drawn(),), lambda: (drawn(), tf.constant(2.0)), lambda: (drawn(5),))
def default_in_a_signature() -> Any:
    @tf.function(input_signature=[_SPEC, tf.TensorSpec((), tf.float32)])
    def function(x: Any, n: Any = 3.0) -> Any:
        return x * n

    return function


@TRAPS.made(
    lambda: ({"a": drawn(), "b": (whole(3), tf.constant(1.0))},), lambda: ({"b": (whole(5), tf.constant(2.0)), "a": drawn(6)},), lambda: ({"a": drawn(1), "b": (whole(0), 3.0)},),
)  # fmt: skip
def structure_in_a_signature() -> Any:
    spec = {"a": _SPEC, "b": (tf.TensorSpec((None,), tf.int32), tf.TensorSpec((), tf.float32))}
    return tf.function(lambda tree: (tree["a"] * tree["b"][1], tree["b"][0] + 1), input_signature=[spec])


@TRAPS.made(lambda: (drawn(),), lambda: (drawn(6),), lambda: (tf.cast(drawn(), tf.float64),), raises={2: ""})
def other_type_than_the_signature() -> Any:
    return tf.function(lambda x: x * 2.0, input_signature=[_SPEC])


@TRAPS.made(lambda: (drawn(4, 4),), lambda: (drawn(4, 4, seed=1),), lambda: (drawn(4, 5),), raises={2: ""})
def fixed_size_in_a_signature() -> Any:
    return tf.function(lambda x: x @ x + x.shape[1], input_signature=[tf.TensorSpec((4, 4), tf.float32)])


@TRAPS.made(lambda: (drawn(4, 4),), lambda: (drawn(5, 5, seed=1),), lambda: (drawn(1, 1),))
def square_of_open_sizes() -> Any:
    return tf.function(
        lambda x: x @ tf.transpose(x) + tf.transpose(x),
        input_signature=[tf.TensorSpec((None, None), tf.float32)],
    )


@TRAPS.made(lambda: (drawn(), drawn(1)), lambda: (drawn(5), drawn(5)), lambda: (drawn(1), drawn(3)))
def broadcast_of_open_sizes() -> Any:
    return tf.function(
        lambda x, y: (x + y, tf.shape(x + y), tf.where(x > y, x, y)), input_signature=[_SPEC, _SPEC]
    )


@TRAPS.made(lambda: (drawn(),), lambda: (drawn(2),), lambda: (drawn(9),))
def static_size_is_none() -> Any:
    return tf.function(lambda x: x * (1.0 if x.shape[0] is None else 2.0), input_signature=[_SPEC])


@TRAPS.made(lambda: (drawn(),), lambda: (drawn(2),), lambda: (drawn(4, seed=1),))
def static_size_is_a_number() -> Any:
    return tf.function(lambda x: x * (1.0 if x.shape[0] is None else float(x.shape[0])))


@TRAPS.made(lambda: (drawn(),), lambda: (drawn(2),), lambda: (drawn(9),))
def rank_is_not_known() -> Any:
    spec = [tf.TensorSpec(None, tf.float32)]
    return tf.function(
        lambda x: tf.reduce_sum(x) * (1.0 if x.shape.rank is None else 2.0) + tf.cast(tf.rank(x), tf.float32),
        input_signature=spec,
    )


@TRAPS.made(lambda: (drawn(),), lambda: (drawn(5),))
def eager_inside_of_a_tf_function() -> Any:
    @tf.function
    def function(x: Any) -> Any:
        with tf.init_scope():
            table = tf.constant([1.0, 2.0, 3.0]) * 2.0
            eager = tf.executing_eagerly()
        return (
            x * table
            + (1.0 if eager else 0.0)
            + (10.0 if tf.executing_eagerly() else 20.0)
            + (100.0 if tf.inside_function() else 0.0)
        )

    return function


@TRAPS.made(lambda: (drawn(),), lambda: (drawn(5),))
def functions_of_a_list() -> Any:
    steps = [tf.function(lambda x, k=k: x * k + 1.0) for k in range(3)]
    return lambda x: functools.reduce(lambda y, f: f(y), steps, x)


@TRAPS.made(lambda: (drawn(),), lambda: (drawn(5),))
def side_effect_of_the_trace_alone() -> Any:
    @tf.function
    def function(x: Any) -> Any:
        print("", end="")
        return x + 1.0

    return function


@TRAPS.made(lambda: (drawn(), tf.exp), lambda: (drawn(), tf.tanh), lambda: (drawn(5), tf.exp))
def function_for_a_tf_function() -> Any:
    return tf.function(lambda x, f: f(x) * 2.0)


@TRAPS.made(lambda: (drawn(),), lambda: (drawn(5),))
def variable_made_once() -> Any:
    class Model(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.v = None

        @tf.function
        def __call__(self, x: Any) -> Any:
            if self.v is None:
                self.v = tf.Variable(2.0)
            return x * self.v

    return Model()


@TRAPS.function(errors={EVERYWHERE: _HERE})
@tf.function
def python_function_inside(x: Any) -> Any:
    return tf.py_function(lambda y: y * 2.0, [x], tf.float32)


@TRAPS.function(errors={EVERYWHERE: _HERE})
@tf.function
def numpy_function_inside(x: Any) -> Any:
    return tf.numpy_function(lambda y: y * 2.0, [x], tf.float32) + x


@TRAPS.function(raises={0: "", 1: "", 2: "", 3: ""})
@tf.function
def numpy_of_a_traced_tensor(x: Any) -> Any:
    return x * x.numpy()
