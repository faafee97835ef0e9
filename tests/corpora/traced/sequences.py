"""Traced loops over rows and indices of arrays: sums, recurrences, searches, dynamic programming."""

from __future__ import annotations

from typing import Any

from .table import EQUAL_SIZES, SIZES_IN_KEYS, floats, ints, number, positive, program, whole

_ROWS = ((floats(4, 3),), (floats(7, 5),), (floats(1, 2),))
_LINES = ((floats(5),), (floats(9, seed=4),), (floats(2),))


@program(*_LINES, differentiable=True)
def total(xp: Any, xs: Any) -> Any:
    s = 0.0
    for x in xs:
        s = s + x * x
    return s


@program(*_ROWS, differentiable=True)
def moving_average(xp: Any, xs: Any) -> Any:
    state = xs[0] * 0
    for row in xs:
        state = 0.9 * state + 0.1 * row
    return state


@program(*_ROWS, differentiable=True)
def recurrent(xp: Any, xs: Any) -> Any:
    hidden = xp.zeros(xs.shape[1], dtype=xs.dtype)
    for i in range(len(xs)):
        hidden = xp.tanh(hidden * 0.5 + xs[i])
    return hidden


@program(*_LINES)
def largest(xp: Any, xs: Any) -> Any:
    best, place = xs[0], 0
    for i in range(1, len(xs)):
        if xs[i] > best:
            best, place = xs[i], i
    return best, place


@program(*_LINES)
def two_largest(xp: Any, xs: Any) -> Any:
    first, second = xs[0] - 1e6, xs[0] - 1e6
    for x in xs:
        if x > first:
            first, second = x, first
        elif x > second:
            second = x
    return first, second


@program((floats(3) - 1,), (floats(6) - 1,), (floats(4) * 0 - 1,), (floats(2) * 0 + 1,))
def first_positive(xp: Any, xs: Any) -> Any:
    for i in range(len(xs)):
        if xs[i] > 0:
            return i
    return -1


@program((floats(3) - 1,), (floats(6) - 1,), (floats(4) * 0 - 1,), (floats(2) * 0 + 1,))
def for_else(xp: Any, xs: Any) -> Any:
    for i in range(len(xs)):
        if xs[i] > 0.5:
            found = i
            break
    else:
        found = -1
    return found


@program(*_LINES)
def skipping(xp: Any, xs: Any) -> Any:
    s, count = xs[0] * 0, 0
    for x in xs:
        if x < 0:
            continue
        s = s + x
        count += 1
    return s, count


@program((positive(4),), (positive(9),), (positive(20),))
def early_stop(xp: Any, xs: Any) -> Any:
    s, i = xs[0] * 0, 0
    while i < len(xs) and s < 2.0:
        s = s + xs[i]
        i += 1
    return s, i


@program(
    (floats(4), floats(4, seed=1)),
    (floats(8), floats(8, seed=1)),
    (floats(1), floats(1, seed=1)),
    differentiable=True,
    gives_up={"jax": (EQUAL_SIZES,)},
)
def side_by_side(xp: Any, xs: Any, ys: Any) -> Any:
    s = xs[0] * 0
    for i, (x, y) in enumerate(zip(xs, ys)):
        s = s + (i + 1) * x * y if x > y else s - x
    return s


@program(*_LINES, differentiable=True)
def horner(xp: Any, coefficients: Any) -> Any:
    value = coefficients[0] * 0
    for i in reversed(range(len(coefficients))):
        value = value * 0.5 + coefficients[i]
    return value


@program(*_LINES)
def pairs(xp: Any, xs: Any) -> Any:
    s = 0.0
    for i in range(len(xs)):
        for j in range(i + 1, len(xs)):
            s = s + abs(xs[i] - xs[j])
    return s


@program((floats(4, 2),), (floats(6, 3),), (floats(2, 2),))
def n_body(xp: Any, places: Any) -> Any:
    energy = places[0, 0] * 0
    for i in range(len(places)):
        for j in range(len(places)):
            if i != j:
                offset = places[i] - places[j]
                energy = energy + 1 / ((offset * offset).sum() + 0.1)
    return energy


@program((ints(4),), (ints(11),), (ints(1),))
def adler(xp: Any, data: Any) -> Any:
    a, b = 1, 0
    for byte in data:
        a = (a + byte) % 65521
        b = (b + a) % 65521
    return b * 4 + a


@program((ints(3, below=256),), (ints(6, below=256),), (ints(1, below=256),))
def crc8(xp: Any, data: Any) -> Any:
    crc = 0
    for byte in data:
        crc = crc ^ byte
        for _ in range(8):
            if crc % 2 == 1:
                crc = (crc // 2) ^ 140
            else:
                crc = crc // 2
    return crc


@program((floats(5),), (floats(9, seed=2),), (floats(1),))
def kadane(xp: Any, xs: Any) -> Any:
    best = current = xs[0]
    for i in range(1, len(xs)):
        current = max(xs[i], current + xs[i])
        best = max(best, current)
    return best


@program((ints(5, below=30),), (ints(8, seed=1, below=30),), (ints(2, below=30),))
def best_sale(xp: Any, prices: Any) -> Any:
    low, profit = prices[0], prices[0] * 0
    for price in prices:
        low = min(low, price)
        profit = max(profit, price - low)
    return profit


@program((ints(6, below=3),), (ints(12, seed=1, below=3),), (ints(1, below=3),))
def longest_run(xp: Any, xs: Any) -> Any:
    best, run = 1, 1
    for i in range(1, len(xs)):
        run = run + 1 if xs[i] == xs[i - 1] else 1
        best = max(best, run)
    return best


@program((ints(6, below=3),), (ints(11, seed=5, below=3),), (ints(3, seed=2, below=1) + 2,))
def majority(xp: Any, xs: Any) -> Any:
    candidate, votes = xs[0], 0
    for x in xs:
        if votes == 0:
            candidate, votes = x, 1
        elif x == candidate:
            votes += 1
        else:
            votes -= 1
    return candidate, votes


@program((floats(6), number(0.5)), (floats(12), number(-0.2)), (floats(3), number(9.0)))
def binary_search(xp: Any, xs: Any, wanted: Any) -> Any:
    xs = xp.cumsum(xs * xs, 0)
    low, high = 0, len(xs)
    while low < high:
        middle = (low + high) // 2
        if xs[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@program((floats(3, 3), floats(3)), (floats(5, 5), floats(5)), (floats(2, 2), floats(2)))
def power_iteration(xp: Any, m: Any, v: Any) -> Any:
    m = m @ m.T
    steps, change = 0, 1.0
    while change > 1e-3 and steps < 60:
        new = m @ v
        new = new / xp.sqrt((new * new).sum())
        change = abs(new - v).max()
        v = new
        steps += 1
    return m @ v - v * ((m @ v) * v).sum(), steps < 61


@program((positive(3, 3), positive(3)), (positive(5, 5), positive(5)), (positive(2, 2), positive(2)))
def jacobi(xp: Any, m: Any, b: Any) -> Any:
    m = m + 10 * xp.eye(len(b), dtype=m.dtype)
    x = b * 0
    d = xp.diag(m)
    for _ in range(100):
        new = (b - m @ x + d * x) / d
        error = abs(new - x).max()
        x = new
        if error < 1e-4:
            break
    return x


@program(
    (floats(4, 3), positive(3)), (floats(7, 3), positive(3)), (floats(2, 3), positive(3)), differentiable=True
)
def viterbi(xp: Any, scores: Any, start: Any) -> Any:
    best = start
    for row in scores:
        best = (best[:, None] + xp.tanh(row)[None, :]).sum(0) * 0.3 + row
    return best.sum()


@program((floats(4, 3),), (floats(8, 3),), (floats(2, 3),))
def greedy_decode(xp: Any, table: Any) -> Any:
    token, score, steps = 0, table[0, 0] * 0, 0
    while steps < 6:
        row = table[token]
        nxt = xp.argmax(row)
        score = score + row[nxt]
        if row[nxt] < 0.3:
            break
        token = (token + nxt + 1) % len(table)
        steps += 1
    return score, steps


@program((whole(4), floats(3)), (whole(9), floats(5)), (whole(0), floats(2)))
def counted_by_a_value(xp: Any, n: Any, x: Any) -> Any:
    for i in range(n):
        x = x * 0.5 + i
    return x


@program((floats(4),), (floats(4, seed=1),), (floats(4, seed=2),), variants=1)
def growing_list(xp: Any, xs: Any) -> Any:
    found, s = [], xs[0] * 0
    for x in xs:
        s = s + x if x > 0 else s - x
        found.append(s)
    return xp.stack(found)


@program(*_LINES)
def growing_list_of_any_length(xp: Any, xs: Any) -> Any:
    found, s = [], xs[0] * 0
    for x in xs:
        s = s + x
        found.append(s)
    return xp.stack(found)


@program((floats(4, 3),), (floats(6, 4),), (floats(1, 2),), variants=3)
def list_that_grows_in_a_step_that_fails(xp: Any, xs: Any) -> Any:
    found, s = [], xs[0]
    for i in range(1, len(xs)):
        found.append(s.argmax())
        # With a single row this index would be out of bounds.
        s = s + xs[i]
    return xp.stack([s.argmax(), *found])


@program((floats(4, 3),), (floats(6, 4),), (floats(1, 2),), variants=3, gives_up={"torch": (SIZES_IN_KEYS,)})
def dictionary_by_the_number_of_the_step(xp: Any, xs: Any) -> Any:
    found = {}
    for i in range(len(xs)):
        found[i] = xs[i] * 2
    return xp.stack([found[i] for i in range(len(xs))])


@program((floats(3) - 1,), (floats(6) - 1,), (floats(0),), variants=2)
def first_positive_of_none(xp: Any, xs: Any) -> Any:
    for i in range(len(xs)):
        if xs[i] > 0:
            return i
    return -1


@program((floats(5),), (floats(9),), (floats(3),), differentiable=True)
def counters(xp: Any, xs: Any) -> Any:
    s, sign = 0.0, 1.0
    for i in range(0, len(xs), 2):
        s, sign = s + sign * xs[i] * (i + 1), -sign
    return s


@program(*_LINES, variants=3, gives_up={"torch": (SIZES_IN_KEYS,)})
def every_other_by_place(xp: Any, xs: Any) -> Any:
    found = {}
    for place, i in enumerate(range(0, len(xs), 2)):
        found[place] = xs[i] * (place + 1)
    return sum(found.values())


@program(*_LINES, variants=3, gives_up={"torch": (SIZES_IN_KEYS,)})
def every_other_from_the_end(xp: Any, xs: Any) -> Any:
    found = {}
    for i, j in zip(range(len(xs) - 1, -1, -2), range(len(xs) - 1, -1, -2)):
        found[i] = xs[j] * (i + 1)
    return sum(found.values())


@program((floats(4, 3),), (floats(6, 4),), (floats(2, 2),), differentiable=True)
def masked(xp: Any, xs: Any) -> Any:
    state = xs[0] * 0
    for row in xs:
        state = state + row if row.sum() > 0 else state * 0.5
    return state


@program((floats(4, 3),), (floats(6, 4),), (floats(2, 2),))
def dictionary_of_state(xp: Any, xs: Any) -> Any:
    state = {"mean": xs[0] * 0, "count": 0}
    for row in xs:
        count = state["count"] + 1
        state = {"mean": state["mean"] + (row - state["mean"]) / count, "count": count}
    return state["mean"], state["count"]


@program((floats(4, 3),), (floats(6, 4),), (floats(2, 2),))
def none_at_first(xp: Any, xs: Any) -> Any:
    best = None
    for row in xs:
        if best is None or row.sum() > best.sum():
            best = row
    return best


@program((floats(4), number(0.5)), (floats(7), number(0.3)), (floats(1), number(2.0)), differentiable=True)
def horner_backwards(xp: Any, coefficients: Any, x: Any) -> Any:
    total = coefficients[0] * 0
    for c in reversed(coefficients):
        total = total * x + c
    return total


@program((floats(4),), (floats(7, seed=1),), (floats(2, seed=2) - 9,))
def list_that_grows_on_both_sides(xp: Any, x: Any) -> Any:
    found, also = [x], [x]
    for _ in range(3):
        if found[-1].sum() > 0:
            found.append(found[-1] * 0.5 - 1)
            also.append(x)
        else:
            also.append(x * 2)
            if found[-1][0] > -1:
                found.append(found[-1] - 2)
            else:
                found.append(found[-1] + 2)
    return xp.stack(found), xp.stack(also), len(found)
