"""Rows of linear algebra and Fourier transforms."""

from __future__ import annotations

from typing import Any

from ...common.rows import Operand
from .table import rows

rows.table(
    {
        "matmul": "{x1} @ {x2}",
        "tensordot": "jnp.tensordot({x1}, {x2}, {axes=})",
        "vecdot": "jnp.vecdot({x1}, {x2}, {axis=})",
        "cross": "jnp.cross({x1}, {x2}, {axis=})",
        "outer": "jnp.outer({x1}, {x2})",
        "inner": "jnp.inner({x1}, {x2})",
        "multi_dot": "jnp.linalg.multi_dot([{*arrays}])",
        "matrix_power": "jnp.linalg.matrix_power({x}, {n})",
        "det": "jnp.linalg.det({x})",
        "slogdet": "jnp.linalg.slogdet({x})",
        "inv": "jnp.linalg.inv({x})",
        "solve": "jnp.linalg.solve({x1}, {x2})",
        "cholesky": "cholesky({x}, {upper=})",
        "qr": "jnp.linalg.qr({x}, {mode=})",
        "svd": "jnp.linalg.svd({x}, {full_matrices=})",
        "svdvals": "jnp.linalg.svdvals({x})",
        "eig": "jnp.linalg.eig({x})",
        "eigvals": "jnp.linalg.eigvals({x})",
        "householder_product": "lax.linalg.householder_product({x}, {tau})",
        "tridiagonal_solve": "lax.linalg.tridiagonal_solve({lower}, {diagonal}, {upper}, {x2})",
        "tensorinv": "jnp.linalg.tensorinv({x}, {ind=})",
    }
)


@rows.row("kron")
def _kron(x1: Operand, x2: Operand) -> str:
    if x1.dtype == "bool":
        # ``jnp.kron`` accepts no booleans.
        return f"jnp.kron({x1}.astype(jnp.uint8), {x2}.astype(jnp.uint8)).astype(jnp.bool_)"
    return f"jnp.kron({x1}, {x2})"


@rows.row("matrix_exp")
def _matrix_exp(x: Operand) -> str:
    # XLA solves no linear systems in half precision.
    half = x.dtype in ("float16", "bfloat16")
    return (
        f"jax.scipy.linalg.expm({x}.astype(jnp.float32)).astype({x}.dtype)"
        if half
        else f"jax.scipy.linalg.expm({x})"
    )


@rows.row("trace")
def _trace(x: Operand, *, offset: int, dtype: Any) -> str:
    axes = "" if x.ndim == 2 else ", axis1=-2, axis2=-1"
    start = f", offset={offset}" if offset else ""
    return f"jnp.trace({x}{start}{axes}{'' if dtype is None else f', dtype={dtype!r}'})"


@rows.row("eigh")
def _eigh(x: Operand, *, upper: bool) -> str:
    return f"jnp.linalg.eigh(hermitian_matrix({x}{', upper=True' if upper else ''}), symmetrize_input=False)"


rows.table({
    "einsum": lambda *arrays, equation: f'jnp.einsum("{equation}", {", ".join(arrays)})',
    "eigvalsh": lambda x, *, upper: f"{_eigh(x, upper=upper)}[0]",
})  # fmt: skip


rows.table(
    {
        name: f"jnp.fft.{name}({{x}}, {{n=}}, {{axis=}}, {{norm=}})"
        for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
    }
)
rows.table(
    {
        name: f"jnp.fft.{name}({{x}}, {{s=}}, {{axes=}}, {{norm=}})"
        for name in ("fftn", "ifftn", "rfftn", "irfftn")
    }
)
rows.table({name: f"jnp.fft.{name}({{x}}, {{axes=}})" for name in ("fftshift", "ifftshift")})
rows.table({name: f"jnp.fft.{name}({{n}}, {{d=}}, dtype={{dtype}})" for name in ("fftfreq", "rfftfreq")})
