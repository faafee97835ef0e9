"""Functions and models whose gradients are compared with JAX's own, with zeros and equal elements among the
arguments.

A row: a function, and a function that returns its arguments; gradients are taken of all float arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, nn
from jax.scipy import special

Row = tuple[Callable[..., Any], Callable[[], tuple[Any, ...]]]


# ------------------------------------------------------------------------------------ rules of the user's own
@jax.custom_jvp
def hundred(x: Any) -> Any:
    return x**2


hundred.defjvp(lambda primals, tangents: (hundred(*primals), 100 * tangents[0]))


@jax.custom_jvp
def logistic(x: Any) -> Any:
    """Its rule calls the function itself."""
    return 1 / (1 + jnp.exp(-x))


@logistic.defjvp
def _logistic_rule(primals: Any, tangents: Any) -> Any:
    y = logistic(*primals)
    return y, tangents[0] * y * (1 - y)


@jax.custom_vjp
def straight_through(x: Any) -> Any:
    return jnp.round(x)


straight_through.defvjp(lambda x: (jnp.round(x), None), lambda _, cotangent: (cotangent,))


@jax.custom_vjp
def sine_for_slope(x: Any) -> Any:
    return x**2


sine_for_slope.defvjp(lambda x: (x**2, x), lambda x, cotangent: (cotangent * jnp.sin(x),))


@jax.custom_jvp
def product(a: Any, b: Any) -> Any:
    return a @ b.T


@product.defjvp
def _product_rule(primals: Any, tangents: Any) -> Any:
    (a, b), (along_a, along_b) = primals, tangents
    return product(a, b), 2 * (along_a @ b.T) + 3 * (a @ along_b.T)


@jax.custom_vjp
def product_backwards(a: Any, b: Any) -> Any:
    return a @ b.T


product_backwards.defvjp(
    lambda a, b: (a @ b.T, (a, b)),
    lambda held, cotangent: (2 * cotangent @ held[1], 3 * cotangent.T @ held[0]),
)


@jax.custom_vjp
def scaled(x: Any, scale: Any) -> Any:
    return x * scale


scaled.defvjp(
    lambda x, scale: (x * scale, (x, scale)), lambda held, g: (5 * g * held[1], (g * held[0]).sum())
)


def powered(x: Any, power: int) -> Any:
    @jax.custom_jvp
    def run(x: Any) -> Any:
        return x**power

    run.defjvp(lambda primals, tangents: (run(*primals), power * tangents[0] * jnp.abs(primals[0])))
    return run(x)


def _raised_to(x: Any, power: int) -> Any:
    return x**power


raised_to = jax.custom_jvp(_raised_to, nondiff_argnums=(1,))
raised_to.defjvp(lambda power, primals, tangents: (raised_to(primals[0], power), 7 * tangents[0]))


@jax.custom_vjp
def of_trees(items: Any) -> Any:
    return {"sum": items["a"] + items["b"], "difference": items["a"] - items["b"]}


of_trees.defvjp(
    lambda items: (of_trees(items), items["a"]),
    lambda a, cotangents: ({"a": cotangents["sum"] * a, "b": cotangents["difference"] * 3},),
)


@jax.custom_vjp
def looping(x: Any) -> Any:
    return x * 2


looping.defvjp(
    lambda x: (x * 2, x),
    lambda x, g: (lax.scan(lambda state, row: (state + row * x[0], state), x[0] * 0, g)[1],),
)


@jax.custom_gradient
def by_custom_gradient(x: Any) -> Any:
    return x**3, lambda cotangent: cotangent * x


@jax.custom_jvp
def without_gradient(x: Any) -> Any:
    return x * 3


without_gradient.defjvp(lambda primals, tangents: (primals[0] * 3, jnp.zeros_like(primals[0])))


@jax.custom_vjp
def clipped(x: Any) -> Any:
    return x * 1


clipped.defvjp(lambda x: (x * 1, None), lambda _, cotangent: (jnp.clip(cotangent, -1, 1),))


@jax.custom_vjp
def decayed(x: Any) -> Any:
    return x * 1


decayed.defvjp(lambda x: (x * 1, None), lambda _, cotangent: (cotangent + 1,))


@jax.custom_jvp
def untraceable(x: Any) -> Any:
    return x * 1


@untraceable.defjvp
def _untraceable_rule(primals: Any, tangents: Any) -> Any:
    raise RuntimeError("not differentiable")


ZEROS = np.array([[0.0, 1.0, -1.0], [2.0, 0.0, 0.5]])
# These functions are reached as values, not by their names in JAX.
HELD = [nn.relu, nn.relu6]


def zeros() -> tuple[Any, ...]:
    return (jnp.asarray(ZEROS),)


def equal() -> tuple[Any, ...]:
    return jnp.asarray(ZEROS), jnp.asarray(np.where(ZEROS > 0, ZEROS, -ZEROS))


def edges() -> tuple[Any, ...]:
    """Points at which activations have a kink or no derivative."""
    return (jnp.asarray([[0.0, 1.0, -1.0, 0.5], [3.0, -3.0, 6.0, -0.5]]),)


def unit() -> tuple[Any, ...]:
    return (jnp.asarray(ZEROS / 5 + 0.5),)


OWN: dict[str, Row] = {
    "rule of jvp": (hundred, zeros),
    "rule of jvp under vmap": (jax.vmap(hundred), zeros),
    "rule of jvp that uses itself": (logistic, zeros),
    "rule of vjp": (straight_through, zeros),
    "rule of vjp under vmap": (jax.vmap(jax.vmap(sine_for_slope), in_axes=1), zeros),
    "rule of vjp with another slope": (sine_for_slope, zeros),
    "rule of matrices": (lambda x, y: product(jnp.sin(x), y), equal),
    "rule of matrices under vmap": (lambda x, y: jax.vmap(product, in_axes=(None, 0))(x, y[:, None]), equal),
    "rule of vjp of matrices": (product_backwards, equal),
    "rule of two shapes": (lambda x: scaled(x, x.max()), zeros),
    "rule of a closure": (lambda x: powered(x, 3), zeros),
    "rule with a static argument": (lambda x: raised_to(x, 2), zeros),
    "rule of trees": (lambda x, y: of_trees({"a": x, "b": y}), equal),
    "rule in scan": (
        lambda x: lax.scan(lambda state, row: (logistic(state) + row, straight_through(row)), x[0], x),
        zeros,
    ),
    "rule in a checkpoint": (jax.checkpoint(lambda x: logistic(x) * hundred(x)), zeros),
    "rule in jit": (jax.jit(lambda x: logistic(x) * hundred(x)), zeros),
    "rule inside of grad": (jax.grad(lambda y: (hundred(y) ** 2).sum()), zeros),
    "rule with a loop": (looping, zeros),
    "custom_gradient": (by_custom_gradient, zeros),
    "rule of zero": (lambda x: without_gradient(x) + x, zeros),
    "clipped": (clipped, zeros),
    "clipped under vmap": (jax.vmap(clipped), zeros),
    "decayed": (decayed, zeros),
}
REFUSED: dict[str, tuple[Row, str]] = {
    "untraceable": ((untraceable, zeros), r"untraceable at .*custom_jvp.*not differentiable"),
}


# ------------------------------------------------------------------------------------- branches
def root(x: Any) -> Any:
    """The branch that is not taken has no derivative at 0."""
    return lax.cond(x.sum() > 0, lambda y: jnp.sqrt(y).sum() / y.sum(), lambda y: y.sum() * 3, x)


def of_each(x: Any) -> Any:
    return jnp.stack([lax.cond(item > 0, jnp.log, lambda y: y * 2, item) for item in x.ravel()])


def switched(x: Any, scale: Any) -> Any:
    branches = [
        lambda y: y / scale,
        lambda y: y,
        lambda y: jnp.linalg.norm(y) * scale + y,
        lambda y: jnp.sqrt(y * scale),
    ]
    return [lax.switch(number, branches, x[0]).sum() for number in (0, 1, 2)]


def in_scan(x: Any) -> Any:
    def step(state: Any, row: Any) -> Any:
        state = state + lax.cond(row.min() > 0, lambda y: jnp.sqrt(y).sum(), lambda y: y.sum(), row)
        return state, state**2

    return lax.scan(step, jnp.zeros(()), x)


def nested(x: Any) -> Any:
    inner = lambda y: lax.cond(y.max() > 0, lambda z: z * 2, lambda z: 1 / z, y)  # noqa: E731
    return lax.cond(x.sum() > 100, lambda y: inner(jnp.log(y)), inner, x)


def of_integers(x: Any) -> Any:
    numbers = jnp.arange(x.shape[1])
    return lax.cond(numbers.sum() > 0, lambda y, n: y * n, lambda y, n: (y / n) ** 0.5, x, numbers)


def nothing() -> tuple[Any, ...]:
    return (jnp.zeros((2, 3)),)


def shapes_and_bounds() -> tuple[Any, ...]:
    return jnp.asarray([0.05, 0.7, 3.0, 40.0]), jnp.asarray([[0.0], [0.3], [3.5], [45.0]])


# ------------------------------------------------------------------------------------- linear solves
def definite(x: Any) -> Any:
    return x @ x.T + 2 * jnp.eye(len(x))


def by_conjugate_gradients(x: Any, right: Any) -> Any:
    return jax.scipy.sparse.linalg.cg(lambda v: definite(x) @ v, right)[0]


def from_the_solution(x: Any, right: Any) -> Any:
    """The first guess is the solution, so nothing is iterated."""
    guess = lax.stop_gradient(jnp.linalg.solve(definite(x), right))
    return jax.scipy.sparse.linalg.bicgstab(lambda v: definite(x) @ v, right, x0=guess, tol=1e-3)[0]


def by_counted_steps(x: Any, right: Any) -> Any:
    """The solver divides by the residual."""

    def solve(matvec: Any, right: Any) -> Any:
        def step(_: Any, found: Any) -> Any:
            rest = right - matvec(found)
            return found + rest * jnp.vdot(rest, rest) / jnp.vdot(rest, matvec(rest))

        return lax.fori_loop(0, 2, step, jnp.zeros_like(right))

    return lax.custom_linear_solve(lambda v: definite(x) @ v, right, solve, symmetric=True)


def equations() -> tuple[Any, ...]:
    return jnp.asarray(ZEROS), jnp.asarray([0.5, -2.0])


BRANCHES: dict[str, Row] = {
    "cond": (root, nothing),
    "cond that is taken": (root, lambda: (jnp.ones((2, 3)),)),
    "cond of each": (of_each, zeros),
    "switch": (switched, lambda: (jnp.zeros((2, 3)), jnp.asarray(2.0))),
    "cond in scan": (in_scan, zeros),
    "cond in cond": (nested, zeros),
    "cond with integers": (of_integers, nothing),
    "cond with a rule": (lambda x: lax.cond(x.sum() > 100, lambda y: logistic(1 / y), hundred, x), nothing),
    "cond under vmap": (
        lambda x: jax.vmap(lambda row: lax.cond(x[0, 0] > 0, jnp.log, jnp.sin, row))(x),
        nothing,
    ),
    "gradient of a gradient of cond": (jax.grad(lambda y: (root(y) ** 2).sum()), nothing),
}
SOLVES: dict[str, Row] = {
    "conjugate gradients": (by_conjugate_gradients, equations),
    "conjugate gradients of zeros": (
        by_conjugate_gradients,
        lambda: (jnp.asarray(ZEROS), jnp.zeros(2)),
    ),
    "gradient of a gradient of conjugate gradients": (
        jax.grad(lambda x, right: (by_conjugate_gradients(x, right) ** 2).sum(), argnums=(0, 1)),
        equations,
    ),
    "solve from the solution": (from_the_solution, equations),
    "solve by counted steps": (by_counted_steps, equations),
}
FUNCTIONS: dict[str, Row] = {
    "relu held": (lambda x: HELD[0](x) * x, zeros),
    "relu6 held": (lambda x: HELD[1](x * 3), zeros),
    **{
        name: (getattr(nn, name), edges)
        for name in (
            "relu", "relu6", "softplus", "silu", "gelu", "elu", "celu", "selu", "leaky_relu", "hard_tanh", "hard_sigmoid", "hard_silu",
            "log_sigmoid", "mish", "soft_sign", "squareplus", "softmax", "log_softmax", "logsumexp", "standardize", "sparse_plus",
        )
    },
    "softmax where": (lambda x: nn.softmax(x, where=x > -1), zeros),
    "logaddexp": (jnp.logaddexp, equal),
    "logaddexp2": (jnp.logaddexp2, equal),
    "log1mexp": (lambda x: nn.log1mexp(x + 2), zeros),
    "sinc": (jnp.sinc, zeros),
    "i0": (jnp.i0, zeros),
    "frexp": (lambda x: jnp.frexp(x)[0], zeros),
    "logit": (special.logit, unit),
    "xlogy": (lambda x: special.xlogy(x, x * x + 0.5), zeros),
    "xlog1py": (lambda x: special.xlog1py(x, x * x), zeros),
    "entr": (lambda x: special.entr(x + 2), zeros),
    "log_ndtr": (special.log_ndtr, zeros),
    "expi": (lambda x: special.expi(x + 2.5), zeros),
    "det": (lambda x: jnp.linalg.det(x @ x.T + jnp.eye(2)), zeros),
    "slogdet": (lambda x: jnp.linalg.slogdet(x @ x.T + jnp.eye(2)), zeros),
    "pinv": (jnp.linalg.pinv, zeros),
    "gammainc": (special.gammainc, shapes_and_bounds),
    "gammaincc": (special.gammaincc, shapes_and_bounds),
}  # fmt: skip
