"""Recognition of functions that JAX cannot differentiate in forward mode."""

from __future__ import annotations


def is_without_forward_mode(problem: Exception) -> bool:
    """Return True if ``problem`` says that a function with a ``jax.custom_vjp`` rule has no forward mode.

    JAX raises a ``TypeError``, or a ``NotImplementedError`` inside of another transformation.
    """
    is_refused = (
        isinstance(problem, TypeError) and "forward-mode" in str(problem) and "custom_vjp" in str(problem)
    )
    return is_refused or (isinstance(problem, NotImplementedError) and "'custom_lin'" in str(problem))
