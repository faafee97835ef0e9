"""Traps with values that Python reads from arrays, and with branches and loops that a later call takes
differently.
"""

from __future__ import annotations

import bisect
import collections
import decimal
import functools
import heapq
import itertools
import math
import operator
import statistics
from typing import Any

import numpy as np
import tensorflow as tf

from .table import Traps, drawn, whole

TRAPS = Traps()
_HERE = "python_reads.py"
_SIGNS = (
    lambda: (drawn() + 2.0,),
    lambda: (drawn(seed=1) - 2.0,),
    lambda: (drawn(6, seed=2) + 1.0,),
    lambda: (drawn(5, seed=3) * 0.0,),
)
_WHOLE = (
    lambda: (whole(4),),
    lambda: (whole(4, seed=1),),
    lambda: (whole(6, seed=2),),
    lambda: (whole(4, seed=3) - 3,),
)
_FLAGS = tuple(lambda seed=seed: (drawn(3, seed=seed), tf.constant(bool(seed % 2))) for seed in range(4))
_NUMBERS = tuple(lambda n=n: (drawn(3, seed=4), tf.constant(n)) for n in (2, 0, 3, 2, -1))
_REALS = tuple(lambda n=n: (drawn(3, seed=5), tf.constant(n)) for n in (0.5, -1.25, 2.0, 0.0))

TRAPS.rows(*_SIGNS)(
    bool_of_a_comparison=lambda x: x * 2.0 if bool(x[0, 0] > 0.0) else x - 1.0,
    truth_by_not=lambda x: x * 2.0 if not x[0, 0] > 0.0 else x - 1.0,
    truth_of_a_number=lambda x: x * 2.0 if tf.round(x[0, 0]) else x - 1.0,
    and_gives_a_tensor=lambda x: x * ((x[0, 0] > 0.0) and x[0, 1]),
    or_gives_a_tensor=lambda x: x * (tf.nn.relu(x[0, 0]) or x[0, 1]),
    comparison_of_three=lambda x: x * 2.0 if -1.0 < x[0, 0] < 5.0 else x - 1.0,
    any_of_a_generator=lambda x: x * 2.0 if any(v > 2.0 for v in x[0]) else x - 1.0,
    all_of_a_list=lambda x: x * 2.0 if all([v > 0.0 for v in tf.unstack(x[:, 0])]) else x - 1.0,  # noqa: C419
    max_of_python=lambda x: max(x[0, 0], x[1, 1]) * x,
    max_with_a_number=lambda x: max(x[0, 0], 0.0) + x,
    max_by_a_key=lambda x: max(tf.unstack(x), key=lambda row: float(tf.reduce_sum(row))),
    sorted_rows=lambda x: tf.stack(sorted(tf.unstack(x), key=lambda row: float(row[0]))),
    sorted_numbers=lambda x: sorted(x[0].numpy().tolist()),
    sorted_in_reverse=lambda x: tf.stack(sorted(tf.unstack(x[0]), reverse=True)),
    sum_of_python=lambda x: sum(x[:, 0].numpy()) + sum(row[1] for row in x),
    float_of_an_element=lambda x: x * float(x[0, 0]) + float(tf.reduce_mean(x)),
    int_truncates=lambda x: x * int(x[0, 0] * 3.0) + int(-x[0, 1] * 3.0),
    round_of_an_element=lambda x: x * round(float(x[0, 0])) + round(float(x[0, 1]), 2),
    floor_and_ceil=lambda x: x * math.floor(x[0, 0]) + math.ceil(x[0, 1]) + math.trunc(float(x[0, 2])),
    sign_of_an_element=lambda x: x * math.copysign(1.0, x[0, 0]),
    math_of_an_element=lambda x: (
        x * math.exp(-abs(x[0, 0])) + math.tanh(x[0, 1]) + math.hypot(x[0, 0], x[0, 1])
    ),
    math_of_a_sum=lambda x: x / math.sqrt(1.0 + float(tf.reduce_sum(x * x))),
    isnan_of_python=lambda x: x * 2.0 if math.isnan(tf.math.log(x[0, 0])) else x - 1.0,
    isclose_of_python=lambda x: x * 2.0 if math.isclose(x[0, 0], 2.0, abs_tol=0.2) else x - 1.0,
    fsum_of_python=lambda x: x * math.fsum(x[0]),
    mean_by_statistics=lambda x: x - statistics.mean(x[0].numpy().tolist()),
    number_in_a_text=lambda x: x * len(f"{x[0, 0]:.3f}"),
    text_of_a_number=lambda x: x * len(str(float(tf.round(x[0, 0] * 100)))),
    text_decides=lambda x: x * 2.0 if str(x[0, 0].numpy()).startswith("-") else x - 1.0,
    text_is_returned=lambda x: (f"{float(x[0, 0]):.2f}", x),
    number_is_returned=lambda x: (float(x[0, 0]), int(x[0, 1]), bool(x[0, 2] > 0), x[0, 0].numpy().item()),
    list_is_returned=lambda x: x[0].numpy().tolist(),
    key_is_returned=lambda x: {int(x[0, 0]): x},
    dict_by_a_sign=lambda x: {True: tf.exp, False: tf.tanh}[bool(x[0, 0] > 0)](x),
    dict_by_an_element=lambda x: x * {0: 1.0, 1: 2.0, 2: 3.0}.get(int(x[0, 0]), 4.0),
    list_by_an_element=lambda x: [x, -x][int(x[0, 0] > 0)],
    slice_by_an_element=lambda x: x[: int(tf.reduce_sum(tf.cast(x[:, 0] > 0, tf.int32)))],
    range_by_an_element=lambda x: sum(range(int(tf.abs(x[0, 0]) * 3))) + x,
    repeat_by_an_element=lambda x: [x[0]] * int(tf.abs(x[0, 0])),
    comparison_in_a_list=lambda x: x * 2.0 if 0.0 in x[0].numpy() else x - 1.0,
    truth_of_numpy=lambda x: x * 2.0 if np.any(x.numpy() > 2.5) else x - 1.0,
    argmax_of_numpy=lambda x: x[int(np.argmax(x.numpy()[:, 0]))],
    argsort_of_numpy=lambda x: tf.gather(x, np.argsort(x.numpy()[:, 0])),
    nonzero_of_numpy=lambda x: tf.gather(x, np.nonzero(x.numpy()[:, 0] > 0)[0]),
    sort_of_numpy=lambda x: x * np.sort(x.numpy()[0]),
    percentile_of_numpy=lambda x: x - np.percentile(x.numpy(), 50).astype("float32"),
    numpy_is_written_to=lambda x: x * _written(np.array(x)),
    numpy_of_a_scalar=lambda x: x * x[0, 0].numpy() + np.float32(x[0, 1]),
    numpy_mean_and_std=lambda x: (x - x.numpy().mean()) / (x.numpy().std() + 1.0),
    numpy_of_a_comparison=lambda x: x * (x.numpy() > 0).astype("float32"),
    operator_index=lambda x: x[operator.index(tf.argmax(x[:, 0]))],
    reduce_of_functools=lambda x: functools.reduce(lambda a, b: a * 0.5 + b, tf.unstack(x)),
    reduce_with_a_choice=lambda x: functools.reduce(
        lambda a, b: a if tf.reduce_sum(a) > tf.reduce_sum(b) else b, tf.unstack(x)
    ),
    accumulate_of_itertools=lambda x: list(itertools.accumulate(tf.unstack(x), lambda a, b: a * 0.5 + b)),
    takewhile_of_itertools=lambda x: list(itertools.takewhile(lambda row: row[0] > 0, tf.unstack(x))),
    groups_of_itertools=lambda x: [
        len(list(g)) for _, g in itertools.groupby(x[:, 0].numpy().tolist(), lambda v: v > 0)
    ],
    pairs_of_itertools=lambda x: sum(a[0] * b[1] for a, b in itertools.combinations(tf.unstack(x), 2)),
    filter_of_python=lambda x: list(filter(lambda row: row[0] > 0.0, tf.unstack(x))),
    map_of_python=lambda x: list(map(float, x[0])),
    counter_of_signs=lambda x: dict(collections.Counter((x[0].numpy() > 0).tolist())),
    heap_of_numbers=lambda x: heapq.nsmallest(2, x[0].numpy().tolist()),
    bisect_of_numbers=lambda x: x * bisect.bisect([-1.0, 0.0, 1.0], float(x[0, 0])),
    decimal_of_a_number=lambda x: x * float(decimal.Decimal(int(x[0, 0] * 4)) / 4),
    hash_of_a_number=lambda x: x * (hash(float(tf.round(x[0, 0]))) % 7),
    complex_of_python=lambda x: x * abs(complex(float(x[0, 0]), float(x[0, 1]))),
    bytes_of_an_array=lambda x: x * len(x.numpy().tobytes()),
    is_the_same_object=lambda x: x * (2.0 if tf.identity(x) is x else 3.0),
    equality_of_objects=lambda x: x * (2.0 if (x == x).numpy().all() else 3.0),
    iterates_by_next=lambda x: next(iter(x)) + next(row for row in x if row[0] != 100.0),
    unpacks_elements=lambda x: (lambda a, b, c: a * b - c)(*x[0]),
    unpacks_into_keywords=lambda x: dict(zip("abc", tf.unstack(x[0]))),
    star_in_a_list=lambda x: tf.stack([*x[0], *x[1]]),
    set_of_numbers=lambda x: len({int(v) for v in x[0]}) * x,
)


def _written(array: Any) -> Any:
    array[array < 0] = 5.0
    return array


TRAPS.rows(*_WHOLE)(
    int_of_a_whole_number=lambda x: x * int(x[0]) + int(tf.reduce_max(x)),
    division_of_read_numbers=lambda x: (
        int(x[0]) // 2,
        int(x[0]) % 3,
        -int(x[0]) // 2,
        int(x[0]) / 2,
        divmod(int(x[0]), -2),
    ),
    bits_of_a_read_number=lambda x: (
        int(x[0]) & 3,
        int(x[0]) << 2,
        ~int(x[0]),
        int(x[0]) ^ 5,
        int(x[0]) >> 1,
    ),
    power_of_a_read_number=lambda x: (int(x[0]) ** 2, 2.0 ** int(x[1]), (-1) ** int(x[2])),
    read_number_is_a_size=lambda x: tf.zeros((abs(int(x[0])) + 1,)),
    read_number_is_an_index=lambda x: x[abs(int(x[0])) % 4],
    read_number_is_a_shift=lambda x: tf.roll(x, int(x[0]), 0),
    read_number_repeats=lambda x: tf.repeat(x, abs(int(x[0]))),
    read_number_takes_the_top=lambda x: tf.math.top_k(x, abs(int(x[0])) % 4).values,
    read_number_chooses=lambda x: [x + 1, x * 2, x - 3, x * 0, x * 5][int(x[0])],
    read_numbers_are_equal=lambda x: x * 2 if int(x[0]) == int(x[1]) else x - 1,
    read_number_is_compared_to_a_size=lambda x: x * 2 if int(x[0]) < x.shape[0] - 2 else x - 1,
    read_number_plus_a_size=lambda x: x * (int(x[0]) + x.shape[0]) + int(x[1]) * x.shape[0],
    range_from_a_read_number=lambda x: tf.range(int(x[0]), int(x[0]) + 3),
    range_of_python_from_a_read_number=lambda x: [x * i for i in range(int(x[0]))],
    counts_of_numpy=lambda x: np.bincount(np.abs(x.numpy()), minlength=6),
    unique_of_numpy=lambda x: np.unique(x.numpy()),
    element_as_a_key=lambda x: {int(v): i for i, v in enumerate(x)},
    elements_in_a_set=lambda x: x * len(set(x.numpy().tolist())),
    element_is_in_a_list=lambda x: x * 2 if int(x[0]) in [1, 4] else x - 1,
    element_is_in_an_array=lambda x: x * 2 if 3 in x.numpy().tolist() else x - 1,
    index_of_a_list=lambda x: x.numpy().tolist().index(int(x[1])) + x,
    count_of_a_list=lambda x: x.numpy().tolist().count(int(x[1])) + x,
    boolean_of_a_number=lambda x: x * 2 if int(x[0]) else x - 1,
    bool_of_an_integer_tensor=lambda x: x * 2 if x[0] else x - 1,
    fibonacci_of_a_read_number=lambda x: (
        functools.reduce(lambda p, _: (p[1], p[0] + p[1]), range(int(x[0])), (0, 1))[0] + x
    ),
    chr_of_a_number=lambda x: chr(97 + abs(int(x[0]))) + "x",
)

TRAPS.rows(*_FLAGS)(
    flag_decides=lambda x, flag: x * 2.0 if flag else x - 1.0,
    flag_is_negated=lambda x, flag: x * 2.0 if not flag else x - 1.0,
    flag_as_a_factor=lambda x, flag: x * float(flag) + int(flag),
    flag_by_numpy=lambda x, flag: x * 2.0 if flag.numpy() else x - 1.0,
    flag_is_compared=lambda x, flag: x * 2.0 if flag == True else x - 1.0,  # noqa: E712
    flag_is_true=lambda x, flag: x * 2.0 if flag is True else x - 1.0,
    flag_and_flag=lambda x, flag: x * 2.0 if flag and x[0, 0] > 0 else x - 1.0,
    flag_in_bits=lambda x, flag: x * 2.0 if flag & (x[0, 0] > -100.0) | tf.constant(False) else x - 1.0,
    flag_as_an_index=lambda x, flag: x[int(flag)],
)

TRAPS.rows(*_NUMBERS)(
    steps_of_a_tensor=lambda x, n: functools.reduce(lambda y, _: y * 0.5 + 1.0, range(int(n)), x),
    power_of_a_tensor=lambda x, n: x ** float(n) if int(n) > 0 else x,
    tensor_as_a_range=lambda x, n: [x + i for i in range(n)],
    tensor_as_an_index=lambda x, n: [1.0, 2.0, 3.0, 4.0][n] * x,
    tensor_as_a_key=lambda x, n: {2: "two", 0: "none"}.get(int(n), "many"),
    tensor_in_a_comprehension=lambda x, n: {k: x[k] for k in range(max(int(n), 0)) if k % 2 == 0},
    tensor_as_a_slice=lambda x, n: x[: int(n)] if n > 0 else x[int(n) :],
)

TRAPS.rows(*_REALS)(
    number_as_a_factor=lambda x, v: x * float(v) - float(v) ** 2,
    number_decides=lambda x, v: x * 2.0 if v > 0.25 else x - v,
    number_as_a_threshold=lambda x, v: tf.where(x > float(v), x, float(v)),
    number_is_rounded=lambda x, v: x * round(float(v), 1) + math.floor(float(v)),
    number_is_whole=lambda x, v: x * 2.0 if float(v).is_integer() else x - 1.0,
    number_as_a_ratio=lambda x, v: x * float(v).as_integer_ratio()[1],
    number_is_zero=lambda x, v: x / float(v) if float(v) else x,
    number_floor_division=lambda x, v: x * (float(v) // 0.3) + float(v) % 0.3,
    number_in_a_linspace=lambda x, v: x + tf.linspace(0.0, float(v), 3),
    number_in_a_constant=lambda x, v: x + tf.constant([float(v), 1.0, 2.0]),
    number_in_clip=lambda x, v: tf.clip_by_value(x, -abs(float(v)), abs(float(v))),
)


@TRAPS.function(*_SIGNS)
def branches_in_branches(x: Any) -> Any:
    if x[0, 0] > 0:
        if x[0, 1] > 1.5:
            return x * 2.0
        y = x + 1.0
    elif x[0, 0] == 0:
        y = x + 2.0
    else:
        y = tf.exp(x)
    return y - x[0]


@TRAPS.function(*_SIGNS)
def breaks_at_an_element(x: Any) -> Any:
    total = tf.zeros((3,))
    for row in x:
        if row[0] < 1.0:
            break
        total = total + row
    else:
        total = total * 10.0
    return total


@TRAPS.function(*_SIGNS)
def continues_at_an_element(x: Any) -> Any:
    kept = []
    for place, row in enumerate(x):
        if row[1] < 0.5:
            continue
        kept.append(row * place)
    return kept, len(kept)


@TRAPS.function(*_SIGNS)
def first_row_that_fits(x: Any) -> Any:
    return next((row for row in x if row[2] > 2.5), x[-1] * 0.0)


@TRAPS.function(*_SIGNS)
def while_with_an_else(x: Any) -> Any:
    steps = 0
    while tf.norm(x) > 1.0:
        x, steps = x * 0.5, steps + 1
        if steps == 3:
            break
    else:
        x = x + 100.0
    return x, steps


@TRAPS.function(*_SIGNS)
def list_grows_by_elements(x: Any) -> Any:
    kept: list[Any] = []
    while len(kept) < 5 and tf.reduce_max(x) > 0.2:
        kept.append(tf.reduce_max(x))
        x = x * 0.6
    return kept


@TRAPS.function(*_SIGNS)
def stack_of_python(x: Any) -> Any:
    stack = []
    for value in x[0]:
        if value > 0:
            stack.append(value)
        elif stack:
            stack.pop()
    return stack


@TRAPS.function(*_SIGNS)
def bubble_sort(x: Any) -> Any:
    values = list(tf.unstack(x[0]))
    for end in range(len(values) - 1, 0, -1):
        for place in range(end):
            if values[place] > values[place + 1]:
                values[place], values[place + 1] = values[place + 1], values[place]
    return tf.stack(values)


@TRAPS.function(*_SIGNS)
def binary_search(x: Any) -> Any:
    edges, low, high = tf.sort(x[:, 0]), 0, x.shape[0]
    while low < high:
        middle = (low + high) // 2
        if edges[middle] < 1.0:
            low = middle + 1
        else:
            high = middle
    return low


@TRAPS.function(*_SIGNS)
def match_of_an_element(x: Any) -> Any:
    match int(tf.sign(x[0, 0])):
        case 1:
            return x * 2.0
        case -1:
            return x - 1.0
        case other:
            return x + other


@TRAPS.function(*_SIGNS)
def returns_in_a_loop(x: Any) -> Any:
    for number, row in enumerate(x):
        if row[0] < 0:
            return row, number
    return x, None


@TRAPS.function(*_SIGNS)
def recursion_to_an_element(x: Any) -> Any:
    def shrunk(y: Any, depth: int) -> Any:
        return (y, depth) if tf.reduce_max(tf.abs(y)) < 0.5 or depth > 6 else shrunk(y * 0.5, depth + 1)

    return shrunk(x, 0)


@TRAPS.function(*_SIGNS, raises={1: "negative"})
def raises_of_an_element(x: Any) -> Any:
    if float(x[0, 0]) < -0.5:
        raise ValueError(f"negative: {float(x[0, 0]) < 0}")
    return x * 2.0


@TRAPS.function(*_SIGNS)
def caught_division_by_zero(x: Any) -> Any:
    try:
        return x * (1.0 / float(tf.round(x[0, 0])))
    except ZeroDivisionError:
        return x + 7.0


@TRAPS.function(*_SIGNS)
def caught_error_of_math(x: Any) -> Any:
    try:
        return x * math.log(float(x[0, 0]))
    except ValueError:
        return x + 7.0


@TRAPS.function(*_SIGNS)
def caught_key(x: Any) -> Any:
    try:
        return x * {2: 1.5, 1: 2.5}[int(x[0, 0])]
    except KeyError as problem:
        return x * len(problem.args)


@TRAPS.function(*_SIGNS)
def finally_is_run(x: Any) -> Any:
    found = []
    try:
        if x[0, 0] > 0:
            return x * 2.0, found
        found.append(1)
    finally:
        found.append(2)
    return x, found


@TRAPS.function(*_SIGNS)
def line_search(x: Any) -> Any:
    step, value = 1.0, tf.reduce_sum(x * x)
    while tf.reduce_sum((x - step * 3.0 * x) ** 2) > value and step > 1e-3:
        step *= 0.5
    return x - step * x, step


@TRAPS.function(*_SIGNS)
def newton_of_python(x: Any) -> Any:
    root = 1.0
    for _ in range(20):
        step = (root * root - abs(float(x[0, 0]))) / (2 * root)
        root -= step
        if abs(step) < 1e-3:
            break
    return x * root


@TRAPS.function(*_WHOLE)
def collatz(x: Any) -> Any:
    number, steps = abs(int(x[0])) + 1, 0
    while number != 1:
        number = number // 2 if number % 2 == 0 else 3 * number + 1
        steps += 1
    return x + steps


@TRAPS.function(*_WHOLE)
def greatest_common_divisor(x: Any) -> Any:
    a, b = abs(int(x[0])) + 2, abs(int(x[1])) + 3
    while b:
        a, b = b, a % b
    return x * a, math.gcd(int(x[0]), int(x[2]))


@TRAPS.function(*_WHOLE)
def ordered_by_elements(x: Any) -> Any:
    order = sorted(range(4), key=lambda place: (int(x[place]), place))
    return tf.gather(x, order), order


@TRAPS.function(*_WHOLE)
def groups_by_elements(x: Any) -> Any:
    groups = collections.defaultdict(list)
    for place, value in enumerate(x.numpy().tolist()):
        groups[value].append(place)
    return dict(groups)


@TRAPS.function(*_WHOLE)
def machine_of_states(x: Any) -> Any:
    state, total = "even", 0
    for value in x:
        state = {"even": "odd", "odd": "even"}[state] if value % 2 == 1 else state
        total += int(value) if state == "odd" else -int(value)
    return total, state


@TRAPS.function(*_SIGNS)
def identity_of_an_object(x: Any) -> Any:
    return {id(x): x}[id(x)], x.ref() in {x.ref()}


@TRAPS.function(*_SIGNS)
def repr_decides(x: Any) -> Any:
    return x * 2.0 if "shape=(4, 3)" in repr(x) else x - 1.0
