"""Traced programs with lists that grow in loops of symbolic length."""

from __future__ import annotations

from typing import Any

from .table import IN_PLACE, WRITTEN_ITEMS, floats, ints, program

_LINES = ((floats(4),), (floats(7, seed=1),), (floats(2, seed=2),))
_ROWS = ((floats(4, 3),), (floats(6, 2, seed=1),), (floats(2, 3, seed=2),))


@program(*_ROWS, differentiable=True)
def states_of_a_recurrence(xp: Any, xs: Any) -> Any:
    h = xs[0] * 0
    states = [h]
    for x in xs:
        h = xp.tanh(h * 0.5 + x)
        states.append(h)
    return xp.stack(states), len(states), states[0], states[-1]


@program(*_LINES, differentiable=True)
def last_item(xp: Any, xs: Any) -> Any:
    found = [xs[0]]
    for x in xs:
        found.append(found[-1] * 0.5 + x * len(found))
    return xp.stack(found)


@program(*_LINES)
def on_both_sides(xp: Any, xs: Any) -> Any:
    found = []
    for x in xs:
        if x > 0:
            found.append(x)
        else:
            found.append(x * 0.1)
    return xp.stack(found)


@program(*_ROWS)
def inner_loops(xp: Any, xs: Any) -> Any:
    rows, elements = [], []
    for x in xs:
        row = []
        for i in range(x.shape[0]):
            row.append(x[i] * 2)
            elements.append(x[i] + len(elements))
        rows.append(xp.stack(row))
        elements.append(x[0])
    return xp.stack(rows), xp.stack(elements), len(elements)


@program(*_LINES)
def walked_back(xp: Any, xs: Any) -> Any:
    steps, best = [], xs[0]
    for i in range(xs.shape[0]):
        steps.append((xs[i], xs[i] * i))
    path = [best]
    for a, b in reversed(steps):
        best = best * 0.5 + a - b
        path.append(best)
    return xp.stack(path[::-1]), best


@program((floats(4), floats(3)), (floats(2), floats(1)), (floats(3), floats(0)), variants=2)
def asked_after_an_inner_loop(xp: Any, xs: Any, ys: Any) -> Any:
    found, total = [], xs[0] * 0
    for x in xs:
        for y in ys:
            found.append(x * y)
        total = total + x if found else total - x
    return total, len(found)


@program(*_LINES)
def asked_by_python(xp: Any, xs: Any) -> Any:
    found, total = [], 0.0
    for x in xs:
        found.append(x * x)
    for i, item in enumerate(found):
        total = total + item * i
    return sum(found), max(found), min(found), total, isinstance(found, list), 1 if found else 0


def _running(xs: Any) -> Any:
    found, s = [], xs[0] * 0
    for x in xs:
        s = s + x
        found.append(s)
    return found


@program(*_LINES)
def made_by_a_function(xp: Any, xs: Any) -> Any:
    found = _running(xs)
    other = found.copy()
    other.append(xs[0])
    return xp.stack(found + other), len(found)


@program(*_ROWS)
def joined(xp: Any, xs: Any) -> Any:
    blocks = []
    for x in xs:
        blocks.append(xp.stack([x, x * 2]))
    return xp.concatenate(blocks), xp.stack(blocks, 1), xp.vstack(blocks), xp.hstack(blocks)


@program((floats(4), ints(4)), (floats(6), ints(6, seed=1)), (floats(1), ints(1)), sources=("numpy",))
def numbers(xp: Any, xs: Any, places: Any) -> Any:
    pairs, steps, large = [], [], []
    for i in range(len(xs)):
        pairs.append([xs[i], xs[i] * 2])
        steps.append(i)
        large.append(places[i] > 4)
    return xp.array(pairs), xp.array(steps), xp.mean(large), sum(steps)


@program(*_ROWS, sources=IN_PLACE, variants=3)
def one_array_again_and_again(xp: Any, xs: Any) -> Any:
    """All items are the same array, to which each iteration writes."""
    found, h = [], xs[0] * 0
    for x in xs:
        h += x
        found.append(h)
    return xp.stack(found)


@program(*_ROWS, sources=IN_PLACE, variants=3, gives_up=WRITTEN_ITEMS)
def written_behind_the_loop(xp: Any, xs: Any) -> Any:
    found, h = [], xs[0] * 0
    for x in xs:
        h = h + x
        found.append(h)
    h[0] = 7
    found[0][1] = 5
    return xp.stack(found), h


@program(*_ROWS, sources=IN_PLACE)
def written_items(xp: Any, xs: Any) -> Any:
    found = []
    for x in xs:
        found.append(x * 2)
    whole = xp.stack(found)
    whole[0] = 9
    found[0][:] = 8
    return whole, found[0], xp.stack(found)


@program(*_ROWS, sources=IN_PLACE, variants=3, gives_up=WRITTEN_ITEMS)
def rows_of_an_array(xp: Any, xs: Any) -> Any:
    xs = xs * 2
    found = []
    for x in xs:
        found.append(x)
    xs[0] = 3
    return xp.stack(found)


@program(*_ROWS, variants=3)
def other_names(xp: Any, xs: Any) -> Any:
    found: Any = []
    same = found
    for x in xs:
        found.append(x.sum())
    return xp.stack(same), len(same)


@program(*_ROWS, variants=3)
def item_before_the_last(xp: Any, xs: Any) -> Any:
    found = [xs[0], xs[0] * 2]
    for x in xs:
        found.append(found[-2] * 0.5 + x)
    return xp.stack(found)


@program(*_LINES, variants=3)
def lists_changed_later(xp: Any, xs: Any) -> Any:
    pairs, state = [], [xs[0], xs[0]]
    for x in xs:
        pairs.append([x, x * 2])
        state = [state[1], x]
        pairs.append(state)
    pairs[0][0] = xs[0] * 9
    state[0] = xs[0] * 7
    return xp.stack([xp.stack(pair) for pair in pairs])


@program(*_LINES)
def comprehensions(xp: Any, xs: Any) -> Any:
    doubled = [x * 2 for x in xs]
    products = [a * b * i for i, (a, b) in enumerate(zip(xs, doubled))]
    return xp.stack(doubled), sum(products), max(xs[i] * i for i in range(xs.shape[0])), len([1 for _ in xs])


@program(*_ROWS)
def comprehensions_inside(xp: Any, xs: Any) -> Any:
    rows = xp.stack([xp.stack([x[i] * 2 for i in range(x.shape[0])]) for x in xs])
    total = rows[0, 0] * 0
    for x in xs:
        total = total * 0.5 + sum([x[i] * i for i in range(x.shape[0])])
    return rows, total


@program(*_ROWS, sources=IN_PLACE, variants=3, gives_up=WRITTEN_ITEMS)
def appended_twice(xp: Any, xs: Any) -> Any:
    """Two items are the same array, and another item is written to."""
    found, h = [], xs[0] * 0
    for x in xs:
        found.append(h)
        found.append(x * 2)
        h = h + x
        found.append(h)
    found[-1][0] = 9
    return xp.stack(found), h


@program(*_LINES, variants=3)
def comprehension_with_effects(xp: Any, xs: Any) -> Any:
    seen: Any = []
    found = [seen.append(i) or xs[i] for i in range(xs.shape[0])]  # type: ignore[func-returns-value]
    return xp.stack(found), len(seen)
