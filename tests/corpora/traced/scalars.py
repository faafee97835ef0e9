"""Traced iterations on numbers: root finding, series, adaptive integration, number theory."""

from __future__ import annotations

from typing import Any

from .table import floats, number, program, whole


@program((number(2.0),), (number(1e4),), (number(0.3),))
def newton(xp: Any, a: Any) -> Any:
    x = a
    while abs(x * x - a) > 1e-4 * a:
        x = (x + a / x) / 2
    return x


@program((number(2.0),), (number(9.0),), (number(0.3),))
def newton_with_break(xp: Any, a: Any) -> Any:
    x, steps = a, 0
    for _ in range(50):
        new = (x + a / x) / 2
        steps += 1
        if abs(new - x) < 1e-4:
            break
        x = new
    return x, steps


@program((number(0.7),), (number(2.5),), (number(0.1),))
def bisection(xp: Any, target: Any) -> Any:
    low, high = target * 0, target * 0 + 4.0
    while high - low > 1e-3:
        middle = (low + high) / 2
        if middle * middle * middle < target:
            low = middle
        else:
            high = middle
    return (low + high) / 2


@program((whole(6),), (whole(27),), (whole(1),))
def collatz(xp: Any, n: Any) -> Any:
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


@program((whole(48), whole(18)), (whole(17), whole(5)), (whole(0), whole(7)))
def gcd(xp: Any, a: Any, b: Any) -> Any:
    while b != 0:
        a, b = b, a % b
    return a


@program((whole(13), whole(497)), (whole(5), whole(32)), (whole(0), whole(9)))
def power_modulo(xp: Any, exponent: Any, modulus: Any) -> Any:
    result, base = 1, 4
    while exponent > 0:
        if exponent % 2 == 1:
            result = (result * base) % modulus
        base = (base * base) % modulus
        exponent = exponent // 2
    return result


@program((whole(97),), (whole(91),), (whole(2),))
def is_prime(xp: Any, n: Any) -> Any:
    divisor = 2
    while divisor * divisor <= n:
        if n % divisor == 0:
            return False
        divisor += 1
    return True


@program((number(0.5),), (number(-1.5),), (number(3.0),))
def exponential_series(xp: Any, x: Any) -> Any:
    term, total, n = 1.0, 1.0, 1
    while abs(term) > 1e-5:
        term = term * x / n
        total = total + term
        n += 1
    return total


@program((number(1.0), number(0.5)), (number(2.0), number(3.0)), (number(0.1), number(0.2)))
def arithmetic_geometric_mean(xp: Any, a: Any, b: Any) -> Any:
    while not abs(a - b) <= 1e-4 * a:
        a, b = (a + b) / 2, (a * b) ** 0.5
    return a


@program((number(1.0),), (number(0.2),), (number(3.0),))
def adaptive_ode(xp: Any, y: Any) -> Any:
    t, h, steps = y * 0, y * 0 + 0.5, 0
    while t < 1.0 and steps < 200:
        step = h if t + h <= 1.0 else 1.0 - t
        whole_step = y + step * (-2 * y + t)
        half = y + step / 2 * (-2 * y + t)
        two = half + step / 2 * (-2 * half + t + step / 2)
        error = abs(two - whole_step)
        if error < 1e-2:
            t, y = t + step, two
            if error < 1e-3:
                h = h * 1.5
        else:
            h = h / 2
        steps += 1
    return y, steps


@program((number(0.3), number(0.5)), (number(1.0), number(1.0)), (number(-0.1), number(0.2)))
def mandelbrot(xp: Any, real: Any, imaginary: Any) -> Any:
    x, y, n = real * 0, imaginary * 0, 0
    while n < 40 and x * x + y * y <= 4:
        x, y = x * x - y * y + real, 2 * x * y + imaginary
        n += 1
    return n


@program((number(0.3),), (number(-2.0),), (number(5.0),), differentiable=True)
def early_return(xp: Any, x: Any) -> Any:
    if x < 0:
        return x * x
    if x > 1:
        return 2 * x - 1
    return xp.sqrt(x)


@program((number(0.3),), (number(-2.0),), (number(5.0),), differentiable=True)
def chained(xp: Any, x: Any) -> Any:
    y = x * 3 if 0 <= x <= 1 else x - 1
    return y if y > 0 or x < -1 else -y


@program((number(0.3),), (number(12.0),), (number(100.0),))
def halvings(xp: Any, x: Any) -> Any:
    count = 0
    while True:
        if x < 1:
            break
        x = x / 2
        if x > 20:
            continue
        count += 1
    return count, x


def _logistic(x: Any, rate: Any) -> Any:
    return rate * x * (1 - x) if x < 1 else x * 0


@program(
    (number(0.3), number(3.2)), (number(0.6), number(2.5)), (number(0.2), number(4.5)), differentiable=True
)
def calls_another(xp: Any, x: Any, rate: Any) -> Any:
    for _ in range(5):
        x = _logistic(x, rate)
    return x


@program((number(0.3),), (number(0.9),), (number(1.7),))
def with_assert(xp: Any, x: Any) -> Any:
    assert x > 0, "only positive"
    y = x
    while y < 10:
        y = y * 2
    return y


@program(
    (floats(3, seed=1), number(0.1)),
    (floats(6, seed=2), number(5.0)),
    (floats(2, seed=3), number(-1.0)),
    differentiable=True,
)
def clipped_norm(xp: Any, x: Any, limit: Any) -> Any:
    norm = xp.sqrt((x * x).sum())
    if norm > limit > 0:
        x = x * (limit / norm)
    return x


@program((number(3.0),), (number(99.0),), (number(1.0),), (number(float("nan")),))
def named_in_the_condition(xp: Any, x: Any) -> Any:
    """A variable assigned in the condition has the value of its last evaluation."""
    steps, error = 0, x
    while (error := abs(x - 1.0)) > 1e-2:
        x = 0.5 * (x + 1.0)
        if steps == 5:
            break
        if x > 90:
            continue
        steps += 1
    else:
        steps += 100
    return x, error, steps


@program((whole(13), number(9.0)), (whole(255), number(3.0)), (whole(0), number(3.0)))
def bits_set(xp: Any, n: Any, most: Any) -> Any:
    """Conditions on integers, floats and booleans test whether they are non-zero."""
    count = 0
    while n:
        n = n & (n - 1)
        count += 1
        if count >= most or not most:
            break
    if n and most > 1:
        count = count + 100
    return count, n
