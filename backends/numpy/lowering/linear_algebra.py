"""Rows of linear algebra and Fourier transforms."""

from __future__ import annotations

from typing import Any

from ...common.rows import Operand
from .table import rows

_TRIANGLE = {True: ', UPLO="U"', False: ""}

rows.table(
    {
        "matmul": "{x1} @ {x2}",
        "tensordot": "np.tensordot({x1}, {x2}, {axes=})",
        "vecdot": "np.vecdot({x1}, {x2}, {axis=})",
        "cross": "np.cross({x1}, {x2}, {axis=})",
        "outer": "np.outer({x1}, {x2})",
        "inner": "np.inner({x1}, {x2})",
        "kron": "np.kron({x1}, {x2})",
        "multi_dot": "np.linalg.multi_dot([{*arrays}])",
        "matrix_power": "np.linalg.matrix_power({x}, {n})",
        "matrix_exp": "linalg.expm({x})",
        "det": "np.linalg.det({x})",
        "slogdet": "np.linalg.slogdet({x})",
        "inv": "np.linalg.inv({x})",
        "solve": "np.linalg.solve({x1}, {x2})",
        "cholesky": "np.linalg.cholesky({x}, {upper=})",
        "qr": "np.linalg.qr({x}, {mode=})",
        "svd": "np.linalg.svd({x}, {full_matrices=})",
        "svdvals": "np.linalg.svdvals({x})",
        "eig": "complex_eig({x})",
        "eigvals": "complex_eig({x})[0]",
        "householder_product": "householder_product({x}, {tau})",
        "tensorinv": "np.linalg.tensorinv({x}, {ind=})",
    }
)


@rows.row("einsum")
def _einsum(*arrays: Operand, equation: str) -> str:
    # By default NumPy computes the sum in one loop over all indices, without BLAS.
    optimize = ", optimize=True" if len(arrays) > 1 else ""
    return f'np.einsum("{equation}", {", ".join(arrays)}{optimize})'


@rows.row("trace")
def _trace(x: Operand, *, offset: int, dtype: Any) -> str:
    axes = "" if x.ndim == 2 else ", axis1=-2, axis2=-1"
    start = f", offset={offset}" if offset else ""
    return f"np.trace({x}{start}{axes}{'' if dtype is None else f', dtype={dtype!r}'})"


rows.table({
    "eigh": lambda x, *, upper: f"np.linalg.eigh({x}{_TRIANGLE[upper]})",
    "eigvalsh": lambda x, *, upper: f"np.linalg.eigvalsh({x}{_TRIANGLE[upper]})",
})  # fmt: skip


rows.table(
    {
        name: f"np.fft.{name}({{x}}, {{n=}}, {{axis=}}, {{norm=}})"
        for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
    }
)
rows.table(
    {
        name: f"np.fft.{name}({{x}}, {{s=}}, {{axes=}}, {{norm=}})"
        for name in ("fftn", "ifftn", "rfftn", "irfftn")
    }
)
rows.table({name: f"np.fft.{name}({{x}}, {{axes=}})" for name in ("fftshift", "ifftshift")})
rows.table({name: f"np.fft.{name}({{n}}, {{d=}}).astype({{dtype}})" for name in ("fftfreq", "rfftfreq")})
