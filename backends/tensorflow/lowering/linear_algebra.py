"""Linear algebra and Fourier transforms in TensorFlow."""

from __future__ import annotations

import string
from typing import Any

from ....sizes import hint_of
from ...common.rows import Operand
from .table import rows

rows.table(
    {
        "vecdot": "vecdot({x1}, {x2}, {axis=})",
        "cross": "cross({x1}, {x2}, {axis=})",
        "outer": "{x1}[:, None] * {x2}",
        "kron": "kron({x1}, {x2})",
        "matrix_power": "matrix_power({x}, {n})",
        "det": "tf.linalg.det({x})",
        "slogdet": "slogdet({x})",
        "inv": "tf.linalg.inv({x})",
        "solve": "solve({x1}, {x2})",
        "svd": "svd({x}, {full_matrices=})",
        "svdvals": "tf.linalg.svd({x}, compute_uv=False)",
        "eig": "tf.linalg.eig({x})",
        "eigvals": "tf.linalg.eigvals({x})",
        "householder_product": "householder_product({x}, {tau})",
        "tridiagonal_solve": 'tf.linalg.tridiagonal_solve(({upper}, {diagonal}, {lower}), {x2}, "sequence")',
        "tensorinv": "tensor_inverse({x}, {ind})",
        "matrix_exp": "tf.linalg.expm({x})",
    }
)


def product_with_matrix(x1: str, x2: str, axis: int) -> str:
    """Return source for the product of 4-D ``x1`` and a matrix or vector, summed over ``axis`` of ``x2``."""
    # A tf.matmul of shapes such as [8, 1, 4, 4] and [4, 4], which it would broadcast, writes outside its
    # memory on CPU (oneDNN in TensorFlow 2.21).
    return f"tf.tensordot({x1}, {x2}, {'1' if axis == 0 else [[3], [axis]]})"


@rows.row("matmul")
def _matmul(x1: Operand, x2: Operand) -> str:
    if x1.ndim == 1 and x2.ndim == 1:
        # `tf.matmul` takes no vectors.
        return f"tf.reduce_sum({x1} * {x2})"
    if x1.ndim == 4 and all(size == 1 for size in x2.shape[:-2]):
        matrix = str(x2) if x2.ndim < 3 else f"tf.squeeze({x2}, {list(range(x2.ndim - 2))})"
        more = f"[{', '.join(['None'] * (x2.ndim - 4))}]" if x2.ndim > 4 else ""
        return product_with_matrix(x1, matrix, 0) + more
    if x2.ndim == 1:
        return f"tf.linalg.matvec({x1}, {x2})"
    if x1.ndim == 1:
        return f"tf.linalg.matvec({x2}, {x1}, transpose_a=True)"
    return f"{x1} @ {x2}"


def _replace_ellipsis(equation: str, arrays: tuple[Operand, ...]) -> str:
    """Return ``equation`` with letters for the ``...`` of the operands."""
    # `tf.einsum` does not sum over the axes of an ellipsis.
    free = [letter for letter in string.ascii_letters if letter not in equation]
    labels, arrow, result = equation.partition("->")
    named = []
    for one, array in zip(labels.split(","), arrays):
        below = len(array.shape) - len(one.replace("...", ""))
        named.append(one.replace("...", "".join(reversed(free[:below]))))
    return f"{','.join(named)}{arrow}{result}"


@rows.row("einsum")
def _einsum(*arrays: Operand, equation: str) -> str:
    equation = equation if "..." in equation.partition("->")[2] else _replace_ellipsis(equation, arrays)
    sizes: dict[str, set[bool]] = {}
    for labels, array in zip(equation.partition("->")[0].split(","), arrays):
        before, _, after = labels.partition("...")
        named = [*zip(before, array.shape), *zip(reversed(after), reversed(array.shape))]
        for label, dim in named:
            sizes.setdefault(label, set()).add(hint_of(dim) == 1)
    function = "broadcast_einsum" if any(len(kinds) > 1 for kinds in sizes.values()) else "tf.einsum"
    return f'{function}("{equation}", {", ".join(arrays)})'


@rows.row("trace")
def _trace(x: Operand, *, offset: int, dtype: Any, out: Any) -> str:
    diagonal = f"diagonal({x}{f', {offset}' if offset else ''})" if offset else f"tf.linalg.diag_part({x})"
    wide = diagonal if out[0].dtype == x.dtype else f"tf.cast({diagonal}, tf.{out[0].dtype})"
    return f"tf.reduce_sum({wide}, -1)"


@rows.row("cholesky")
def _cholesky(x: Operand, *, upper: bool) -> str:
    # `tf.linalg.cholesky` reads the lower triangle only.
    return (
        f"tf.linalg.adjoint(tf.linalg.cholesky(tf.linalg.adjoint({x})))"
        if upper
        else f"tf.linalg.cholesky({x})"
    )


@rows.row("eigh")
def _eigh(x: Operand, *, upper: bool) -> str:
    return f"eigh({x}{', upper=True' if upper else ''})"


rows.table({
    "tensordot": lambda x1, x2, *, axes: f"tf.tensordot({x1}, {x2}, {[list(of_one) for of_one in axes]})",
    "qr": lambda x, *, mode: f"tf.linalg.qr({x}{', full_matrices=True' if mode == 'complete' else ''})",
    "eigvalsh": lambda x, *, upper: f"{_eigh(x, upper=upper)}[0]",
})  # fmt: skip


rows.table(
    {
        name: f"{name}({{x}}, {{n=}}, {{axis=}}, {{norm=}})"
        for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
    }
)
rows.table(
    {name: f"{name}({{x}}, {{s=}}, {{axes=}}, {{norm=}})" for name in ("fftn", "ifftn", "rfftn", "irfftn")}
)
rows.table({
    "fftshift": "tf.signal.fftshift({x}, {axes})",
    "ifftshift": "tf.signal.ifftshift({x}, {axes})",
    "fftfreq": "fftfreq({n}, {d}, {dtype})",
    "rfftfreq": "rfftfreq({n}, {d}, {dtype})",
})  # fmt: skip
