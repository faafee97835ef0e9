"""Products, ``jax.numpy.linalg``, and diagonals."""

from __future__ import annotations

from typing import Any

from ..table import JaxBuilder, rows


def _floating(b: JaxBuilder, x: Any) -> Any:
    return b.as_result(x)


rows.table({
    ("jax.numpy.matmul", "jax.numpy.linalg.matmul"): lambda b, a, b_, *, precision=None, preferred_element_type=None: b.matmul(
        b.as_result(a), b.as_result(b_)
    ),
    "jax.numpy.linalg.det": lambda b, a: b.det(_floating(b, a)),
    "jax.numpy.linalg.slogdet": lambda b, a, *, method=None: b.slogdet(_floating(b, a)),
    "jax.numpy.linalg.inv": lambda b, a: b.inv(_floating(b, a)),
    "jax.numpy.linalg.solve": lambda b, a, b_: b.solve(_floating(b, a), _floating(b, b_)),
    ("jax.numpy.diagonal", "jax.Array.diagonal", "jax.numpy.linalg.diagonal"): lambda b, a, offset=0, axis1=0, axis2=1: b.diagonal(
        a, offset=offset, axis1=axis1 % a.ndim, axis2=axis2 % a.ndim
    ),
    "jax.numpy.tril": lambda b, m, k=0: b.tril(m, k=k),
    "jax.numpy.triu": lambda b, m, k=0: b.triu(m, k=k),
})  # fmt: skip


@rows.row("jax.numpy.dot")
def dot(b: JaxBuilder, a: Any, b_: Any, *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """jax.numpy.dot of vectors and matrices."""
    if a.ndim == 0 or b_.ndim == 0 or b_.ndim > 2:
        raise NotImplementedError
    return b.matmul(b.as_result(a), b.as_result(b_))


@rows.row("jax.numpy.tensordot", "jax.numpy.linalg.tensordot")
def tensordot(b: JaxBuilder, a: Any, b_: Any, axes: Any = 2, *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    if isinstance(axes, int):
        pairs = tuple(range(a.ndim - axes, a.ndim)), tuple(range(axes))
    else:
        left, right = ((one,) if isinstance(one, int) else tuple(one) for one in axes)
        pairs = tuple(axis % a.ndim for axis in left), tuple(axis % b_.ndim for axis in right)
    return b.tensordot(b.as_result(a), b.as_result(b_), axes=pairs)


@rows.row("jax.numpy.einsum")
def einsum(
    b: JaxBuilder, subscripts: Any, *operands: Any, optimize: Any = None, precision: Any = None, preferred_element_type: Any = None
) -> Any:
    """jax.numpy.einsum with an equation, letters that are not repeated in one operand, and an explicit result where there are dots."""
    if not isinstance(subscripts, str):
        raise NotImplementedError
    equation = subscripts.replace(" ", "")
    inputs, arrow, result = equation.partition("->")
    if any(len(set(part.replace("...", ""))) != len(part.replace("...", "")) for part in inputs.split(",")):
        raise NotImplementedError
    if not arrow:
        if "." in inputs:
            raise NotImplementedError
        letters = inputs.replace(",", "")
        result = "".join(sorted(letter for letter in set(letters) if letters.count(letter) == 1))
    return b.einsum(*map(b.as_result, operands), equation=f"{inputs}->{result}")


@rows.row("jax.numpy.trace", "jax.Array.trace")
def trace(b: JaxBuilder, a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    found = b.diagonal(a, offset=offset, axis1=axis1 % a.ndim, axis2=axis2 % a.ndim)
    return b.sum(found, axis=found.ndim - 1, dtype=b.result.dtype)


@rows.row("jax.numpy.diag")
def diag(b: JaxBuilder, v: Any, k: int = 0) -> Any:
    """jax.numpy.diag: of a matrix the diagonal, of a vector the matrix."""
    return b.diag_embed(v, offset=k, axis1=0, axis2=1) if v.ndim == 1 else b.diagonal(v, offset=k, axis1=0, axis2=1)


@rows.row("jax.numpy.outer", "jax.numpy.linalg.outer")
def outer(b: JaxBuilder, a: Any, b_: Any) -> Any:
    """jax.numpy.outer of vectors."""
    if a.ndim != 1 or b_.ndim != 1:
        raise NotImplementedError
    return b.outer(b.as_result(a), b.as_result(b_))
