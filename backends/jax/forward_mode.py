"""Functions without a forward mode in JAX: those with a rule for reverse mode alone."""

from __future__ import annotations


def is_without_forward_mode(problem: Exception) -> bool:
    """Whether JAX says by it that ``jax.custom_vjp`` has no forward mode; inside of reverse mode it says so
    in other words.
    """
    is_refused = (
        isinstance(problem, TypeError) and "forward-mode" in str(problem) and "custom_vjp" in str(problem)
    )
    return is_refused or (isinstance(problem, NotImplementedError) and "'custom_lin'" in str(problem))
