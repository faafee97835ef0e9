"""Linear algebra and Fourier transforms in torch."""

from __future__ import annotations

from typing import Any

from ....ops.dtypes import is_integer, real_of
from ....ops.text import Text
from ...common.rows import Operand, call, unless
from .nn import tensor
from .table import rows

_LINALG = ("det", "inv", "lu", "matrix_exp", "slogdet", "svdvals")

rows.table({name: f"torch.linalg.{name}({{x}})" for name in _LINALG})
rows.table({"eig": "eig({x})", "eigvals": "eigvals({x})"})
rows.table(
    {
        "matmul": "{x1} @ {x2}",
        "tensordot": "torch.tensordot({x1}, {x2}, {dims=axes})",
        "cross": "torch.linalg.cross({x1}, {x2}, {dim=axis})",
        "outer": "torch.outer({x1}, {x2})",
        "inner": "torch.inner({x1}, {x2})",
        "kron": "torch.kron({x1}, {x2})",
        "multi_dot": "torch.linalg.multi_dot([{*arrays}])",
        "matrix_power": "torch.linalg.matrix_power({x}, {n})",
        "vector_norm": "torch.linalg.vector_norm({x}, {ord=}, {dim=axis}, {keepdim=keepdims})",
        "matrix_norm": "torch.linalg.matrix_norm({x}, {ord=}, {keepdim=keepdims})",
        "cholesky": "torch.linalg.cholesky({x}, {upper=})",
        "qr": "torch.linalg.qr({x}, {mode=})",
        "svd": "torch.linalg.svd({x}, {full_matrices=})",
        "householder_product": "torch.linalg.householder_product({x}, {tau})",
        "geqrf": "torch.geqrf({x})",
        "ormqr": "torch.ormqr({x}, {tau}, {x2}, {left=}, {transpose=})",
        "cholesky_ex": "torch.linalg.cholesky_ex({x}, {upper=})",
        "cholesky_solve": "torch.cholesky_solve({x2}, {x1}, {upper=})",
        "cholesky_inverse": "torch.cholesky_inverse({x}, {upper=})",
        "tensorsolve": "torch.linalg.tensorsolve({x1}, {x2})",
        "lu_factor": "torch.linalg.lu_factor_ex({x})[:2]",
        "tensorinv": "torch.linalg.tensorinv({x}, {ind=})",
        "lu_unpack": "torch.lu_unpack({lu}, {pivots})",
        "lu_solve": "torch.linalg.lu_solve({lu}, {pivots}, {x2}, {left=}, {adjoint=})",
    }
)


@rows.row("vecdot")
def _vecdot(x1: Operand, x2: Operand, *, axis: int) -> str:
    # torch.linalg.vecdot does not support integers.
    along = "" if axis == -1 else f", dim={axis}"
    return (
        f"({x1} * {x2}).sum({axis}, dtype={x1}.dtype)"
        if is_integer(x1.dtype or "")
        else f"torch.linalg.vecdot({x1}, {x2}{along})"
    )


@rows.row("einsum")
def _einsum(*arrays: Operand, equation: str) -> str:
    text, dtype = f'torch.einsum("{equation}", {", ".join(arrays)})', arrays[0].dtype
    # A sum without a product has dtype int64.
    return f"{text}.to(torch.{dtype})" if is_integer(dtype or "") and dtype != "int64" else text


@rows.row("trace")
def _trace(x: Operand, *, offset: int, dtype: Any) -> str:
    # torch.trace supports neither batches nor other diagonals.
    if x.ndim == 2 and offset == 0 and dtype is None:
        return f"torch.trace({x})"
    return f"torch.diagonal({x}, {offset}, -2, -1).sum(-1{'' if dtype is None else f', dtype={dtype!r}'})"


rows.table({
    "cond": lambda x, *, ord: call("torch.linalg.cond", x, p=unless(ord, 2)),
    "solve": lambda x1, x2: f"torch.linalg.solve({x1}, {_matrices(x1, x2)})",
    # torch returns the residuals between the solution and the rank.
    "lstsq": lambda x1, x2, *, rcond: (
        f"{call('torch.linalg.lstsq', x1, _matrices(x1, x2), rcond=rcond)}[:3:2]"
    ),
})  # fmt: skip


@rows.row("eigh", "eigvalsh")
def _eigh(x: Operand, *, upper: bool, out: Any) -> str:
    return call(f"torch.linalg.{'eigh' if len(out) == 2 else 'eigvalsh'}", x, UPLO="U" if upper else None)


@rows.row("matrix_rank", "pinv")
def _by_singular_values(x: Operand, rtol: Any = None, atol: Any = None, *, hermitian: bool, out: Any) -> str:
    # Tolerances are two numbers or two tensors.
    given = {name: value for name, value in (("rtol", rtol), ("atol", atol)) if value is not None}
    if len({value.spec is None for value in given.values()}) == 2:
        given = {name: Operand(tensor(value, x)) for name, value in given.items()}
    return call(
        f"torch.linalg.{'matrix_rank' if out[0].dtype == 'int64' else 'pinv'}",
        x,
        **given,
        hermitian=hermitian or None,
    )


def _matrices(x1: Operand, x2: Operand) -> str:
    # torch would take an array with one axis less than ``x1`` for a batch of vectors.
    return f"{x2}[None]" if 1 < x2.ndim == x1.ndim - 1 else str(x2)


@rows.row("solve_triangular")
def _solve_triangular(
    x1: Operand, x2: Operand, *, upper: bool, left: bool, transpose: bool, unit_diagonal: bool
) -> str:
    options = {
        "upper": upper != transpose,
        "left": unless(left, True),
        "unitriangular": unit_diagonal or None,
    }
    # The function of torch has no option for the transpose, which swaps the triangles.
    return call("torch.linalg.solve_triangular", f"{x1}.mT" if transpose else x1, x2, **options)


rows.table({
    name: f"torch.fft.{name}({{x}}, {{n=}}, {{dim=axis}}, {{norm=}})"
    for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
})  # fmt: skip
rows.table(
    {
        name: f"torch.fft.{name}({{x}}, {{s=}}, {{dim=axes}}, {{norm=}})"
        for name in ("fftn", "ifftn", "rfftn", "irfftn")
    }
)
rows.table({name: f"torch.fft.{name}({{x}}, {{dim=axes}})" for name in ("fftshift", "ifftshift")})
rows.table({name: f"torch.fft.{name}({{n}}, {{d=}}, dtype={{dtype}})" for name in ("fftfreq", "rfftfreq")})
_DEFAULTS = {"center": True, "pad_mode": "reflect", "normalized": False, "length": None}


def _transform(
    function: str, x: Operand, window: Operand | None, n_fft: int, hop_length: int, options: dict[str, Any]
) -> str:
    # torch centres a window that is shorter than `n_fft` in the frame.
    width = None if window is None or window.shape[0] == n_fft else Text(f"{window}.shape[0]")
    ones = Text(f"torch.ones({n_fft!r}, dtype=torch.{real_of(x.dtype or '')})")
    changed = {name: unless(value, _DEFAULTS.get(name)) for name, value in options.items()}
    return call(
        function,
        x,
        n_fft,
        hop_length,
        win_length=width,
        window=window if window is not None else ones,
        **changed,
    )


rows.table({
    "stft": lambda x, window=None, *, n_fft, hop_length, **options: _transform(
        "torch.stft", x, window, n_fft, hop_length, {**options, "return_complex": True}
    ),
    "istft": lambda x, window=None, *, n_fft, hop_length, as_complex, **options: _transform(
        "torch.istft", x, window, n_fft, hop_length, {**options, "return_complex": as_complex}
    ),
})  # fmt: skip
