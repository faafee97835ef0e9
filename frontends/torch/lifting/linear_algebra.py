"""Products, norms, distances, correlation, histograms, integrals and Fourier transforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....ir.node import Value
from ....ops.dtypes import is_complex, is_inexact, real_of
from ....sizes import apply, hint_of
from ...common.indexing import cut, holds_with_guard, pick
from ..basics.tensors import dtype_name
from .elementwise import div, held, mul, sub
from .manipulation import broadcast_all
from .reductions import over, spread_along
from .table import TorchBuilder, assume, axes, axis, rows

# -------------------------------------------------------------------------------------------- products of two
rows.table({
    ("matmul", "__matmul__", "linalg_matmul"): lambda b, input, other: b.matmul(input, other),
    "__rmatmul__": lambda b, input, other: b.matmul(other, input),
    ("mm", "bmm"): lambda b, input, mat2: b.matmul(input, mat2),
    "mv": lambda b, input, vec: b.matmul(input, vec),
    # ``dot`` conjugates nothing, ``vdot`` its first operand.
    "dot": lambda b, input, tensor: b.matmul(input, tensor),
    "vdot": lambda b, input, other: b.vecdot(input, other),
    ("outer", "ger"): lambda b, input, vec2: b.outer(*b.promote(input, vec2)),
    "kron": lambda b, input, other: b.kron(*b.promote(input, other)),
    "linalg_cross": lambda b, input, other, *, dim=-1:
        b.cross(input, other, axis=_from_the_back(dim, input.ndim)),
})  # fmt: skip


@rows.row("linalg_vecdot")
def linalg_vecdot(b: TorchBuilder, x: Any, y: Any, *, dim: int = -1) -> Any:
    axis = _from_the_back(dim, max(x.ndim, y.ndim))
    # An axis of size 1 broadcasts.
    if hint_of(x.shape[axis]) != hint_of(y.shape[axis]):
        x, y = broadcast_all(b, x, y)
    assume(b, "eq", x.shape[axis], y.shape[axis])
    return b.vecdot(x, y, axis=axis)


def _from_the_back(dim: int, rank: int) -> int:
    # Operands of different ranks are aligned at their last axes.
    return dim if dim < 0 else dim - rank


@rows.row("inner")
def inner(b: TorchBuilder, input: Any, other: Any) -> Any:
    if input.ndim == 0 or other.ndim == 0:
        return b.multiply(*b.promote(input, other))
    return b.inner(input, other)


@rows.row("cross")
def cross(b: TorchBuilder, input: Any, other: Any, dim: Any = None) -> Any:
    # Without ``dim``, the axis is the first of size 3.
    if dim is None:
        dim = next(i for i, size in enumerate(input.shape) if hint_of(size) == 3)
        for size in input.shape[: dim + 1]:
            b.fix(size)
    return b.cross(input, other, axis=_from_the_back(dim, input.ndim))


# ---------------------------------------------------------------------------------------- sums with a product
def _scaled(b: TorchBuilder, x: Any, factor: Any) -> Any:
    return x if not hasattr(factor, "spec") and factor == 1 else b.multiply(x, b.operand(factor, x.dtype))


def _added(b: TorchBuilder, input: Any, product: Any, beta: Any, alpha: Any) -> Any:
    if product.dtype == "bool":
        one = b.logical_and(product, bool(alpha))
        return b.logical_or(b.broadcast_to(input, shape=product.shape), one) if beta else one
    result = _scaled(b, product, alpha)
    b.guard_expansion(input, product.shape)
    return (
        result
        if not hasattr(beta, "spec") and beta == 0
        else b.add(_scaled(b, b.cast(input, result.dtype), beta), result)
    )


@rows.row("addr")
def addr(b: TorchBuilder, input: Any, vec1: Any, vec2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    x, product = b.promote(input, b.outer(*b.promote(vec1, vec2)))
    return _added(b, x, product, beta, alpha)


rows.table({
    "addmm": lambda b, input, mat1, mat2, *, beta=1, alpha=1:
        _added(b, input, b.matmul(mat1, mat2), beta, alpha),
    "addmv": lambda b, input, mat, vec, *, beta=1, alpha=1: _added(b, input, b.matmul(mat, vec), beta, alpha),
    "baddbmm": lambda b, input, batch1, batch2, *, beta=1, alpha=1:
        _added(b, input, b.matmul(batch1, batch2), beta, alpha),
    # The sum over a batch of products is one product over both axes.
    "addbmm": lambda b, input, batch1, batch2, *, beta=1, alpha=1: _added(
        b, input, b.einsum(batch1, batch2, equation="bij,bjk->ik"), beta, alpha
    ),
})  # fmt: skip


# ------------------------------------------------------------------------------------------- products of many
@rows.row("einsum")
def einsum(b: TorchBuilder, *args: Any, path: Any = None) -> Any:
    if isinstance(args[0], str):
        equation, *arrays = args
        arrays = list(arrays[0]) if len(arrays) == 1 and isinstance(arrays[0], (list, tuple)) else arrays
    else:
        equation, arrays = _from_lists(args)
    equation = _explicit(equation.replace(" ", ""))
    taken, _, given = equation.partition("->")
    # Without a product this is a sum, which widens integers.
    if len(arrays) == 1 and set(taken) - set(given):
        arrays = [b.cast(arrays[0], b.recorded[0].dtype)]
    return b.einsum(*arrays, equation=equation)


def _from_lists(args: tuple[Any, ...]) -> tuple[str, list[Any]]:
    """Convert ``einsum``'s lists ``(x, [0, 1], y, [1, 2], [0, 2])`` to ``"AB,BC->AC"`` and the operands."""
    result = "->" + _labels(args[-1]) if len(args) % 2 else ""
    count = len(args) // 2
    return ",".join(_labels(args[2 * i + 1]) for i in range(count)) + result, [
        args[2 * i] for i in range(count)
    ]


def _labels(axes: Any) -> str:
    return "".join(
        "..." if item is Ellipsis else chr(ord("A") + item) if item < 26 else chr(ord("a") + item - 26)
        for item in axes
    )


def _explicit(equation: str) -> str:
    """Add the implicit result to an ``einsum`` equation without ``->``: ``ij,jk`` -> ``ij,jk->ik``."""
    if "->" in equation:
        return equation
    letters = equation.replace("...", "").replace(",", "")
    once = "".join(sorted(label for label in set(letters) if letters.count(label) == 1))
    return f"{equation}->{'...' if '...' in equation else ''}{once}"


@rows.row("tensordot")
def tensordot(
    build: TorchBuilder, a: Any, b: Any, dims: Any = 2, dims_other: Any = None, out: Any = None
) -> Any:
    if isinstance(dims, int):
        left: Any = tuple(range(a.ndim - dims, a.ndim))
        right: Any = tuple(range(dims))
    else:
        both = dims if dims_other is None else (dims, dims_other)
        left, right = axes(tuple(both[0]), a.ndim) or (), axes(tuple(both[1]), b.ndim) or ()
    return build.tensordot(*_without_broadcasting(build, a, b, left, right), axes=(left, right))


def _without_broadcasting(
    b: TorchBuilder, x: Any, y: Any, left: tuple[int, ...], right: tuple[int, ...]
) -> tuple[Any, Any]:
    # The longer axis is summed, which equals the product with the broadcast one.
    pairs = [(i, j) for i, j in zip(left, right, strict=True) if hint_of(x.shape[i]) != hint_of(y.shape[j])]
    long_left = tuple(i for i, j in pairs if b.fix(y.shape[j]) == 1)
    long_right = tuple(j for i, j in pairs if i not in long_left and b.fix(x.shape[i]) == 1)
    return _summed(b, x, long_left), _summed(b, y, long_right)


def _summed(b: TorchBuilder, x: Any, axis: tuple[int, ...]) -> Any:
    return b.sum(x, axis=axis, keepdims=True, dtype=x.dtype) if axis else x


@rows.row("chain_matmul")
def chain_matmul(b: TorchBuilder, *matrices: Any, out: Any = None) -> Any:
    arrays = matrices[0] if len(matrices) == 1 and isinstance(matrices[0], (list, tuple)) else matrices
    return linalg_multi_dot(b, arrays)


@rows.row("linalg_multi_dot")
def linalg_multi_dot(b: TorchBuilder, tensors: Any) -> Any:
    if len(tensors) <= 2:
        return b.matmul(*tensors) if len(tensors) == 2 else tensors[0]
    return b.multi_dot(*tensors)


rows.table({
    ("matrix_power", "linalg_matrix_power"): lambda b, input, n: b.matrix_power(input, n=n),
    ("matrix_exp", "linalg_matrix_exp"): lambda b, A: b.matrix_exp(A),
    "trace": lambda b, input:
        # torch sums integers as int64.
        b.trace(input, dtype=None if input.dtype == "int64" or "int" not in input.dtype else "int64"),
})  # fmt: skip


_DRIVERS = (None, "gelsy", "gels", "gelsd", "gelss")
_WITH_SINGULAR_VALUES = ("gelsd", "gelss")


@rows.row("linalg_lstsq")
def linalg_lstsq(build: TorchBuilder, A: Any, b: Any, rcond: Any = None, *, driver: Any = None) -> Any:
    if driver not in _DRIVERS:
        raise NotImplementedError(f"linalg.lstsq with driver={driver!r}")
    vectors = b.ndim == A.ndim - 1
    columns = build.reshape(b, shape=(*b.shape, 1)) if vectors else b
    solution, rank = build.lstsq(A, columns, rcond=rcond)
    nothing = build.zeros(shape=(0,), dtype=real_of(A.dtype))
    # The driver decides which results are empty.
    residuals = (
        _residuals(build, A, columns, solution, None if driver == "gels" else rank)
        if driver not in (None, "gelsy")
        else None
    )
    singular = build.svdvals(A) if driver in _WITH_SINGULAR_VALUES else nothing
    rank = build.zeros(shape=(0,), dtype="int64") if driver == "gels" else rank
    solution = build.reshape(solution, shape=solution.shape[:-1]) if vectors else solution
    return solution, nothing if residuals is None else residuals, rank, singular


def _residuals(b: TorchBuilder, A: Any, right: Any, solution: Any, rank: Any) -> Any:
    """Return the sum of squared residuals of each column, or None if torch returned an empty array."""
    rows_count, columns = A.shape[-2:]
    tall = hint_of(rows_count) > hint_of(columns)
    b.guard(apply("gt" if tall else "le", rows_count, columns))
    if not tall:
        return None
    if rank is not None:
        whole = b.recorded[1].hints != (0,)
        b.expect(b.all(b.equal(rank, b.operand(columns, rank.dtype))), whole)
        if not whole:
            return None
    return b.sum(b.square(b.abs(b.subtract(b.matmul(A, solution), right))), axis=-2)


# ---------------------------------------------------------------------------------------------- norms
def _number(ord: Any) -> Any:
    return 2.0 if ord is None else ord if isinstance(ord, str) else float(ord)


def _vector_norm(b: TorchBuilder, x: Any, ord: Any, dim: Any, keepdim: bool) -> Any:
    return b.vector_norm(x, ord=_number(ord), axis=over(dim, x), keepdims=bool(keepdim))


def _matrix_norm(b: TorchBuilder, x: Any, ord: Any, dim: Any, keepdim: bool) -> Any:
    rows_axis, columns_axis = axes(dim, x.ndim) or (0, 1)
    if ord == "fro":
        return b.vector_norm(x, axis=(rows_axis, columns_axis), keepdims=bool(keepdim))
    rest = tuple(i for i in range(x.ndim) if i not in (rows_axis, columns_axis))
    # The operation takes the matrices from the last two axes.
    norm = b.matrix_norm(b.permute_dims(x, axes=(*rest, rows_axis, columns_axis)), ord=ord)
    if not keepdim:
        return norm
    return b.reshape(
        norm, shape=tuple(1 if i in (rows_axis, columns_axis) else size for i, size in enumerate(x.shape))
    )


def _given(b: TorchBuilder, x: Any, dtype: Any) -> Any:
    return x if dtype is None else b.cast(x, dtype)


@rows.row("norm")
def norm(
    b: TorchBuilder,
    input: Any,
    p: Any = "fro",
    dim: Any = None,
    keepdim: bool = False,
    out: Any = None,
    dtype: Any = None,
) -> Any:
    x = _given(b, input, dtype)
    if p == "nuc":
        return _matrix_norm(b, x, p, dim, keepdim)
    return _vector_norm(b, x, None if p == "fro" else p, dim, keepdim)


@rows.row("linalg_norm")
def linalg_norm(
    b: TorchBuilder, A: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Any:
    x = _given(b, A, dtype)
    count = len(axes(dim, x.ndim) or ()) if dim is not None else x.ndim
    if ord is None or count == 1:
        return _vector_norm(b, x, ord, dim, keepdim)
    return _matrix_norm(b, x, ord if isinstance(ord, str) else _short(ord), dim, keepdim)


def _short(ord: Any) -> Any:
    return int(ord) if ord in (1, -1, 2, -2) else float(ord)


rows.table({
    "linalg_vector_norm": lambda b, x, ord=2, dim=None, keepdim=False, *, dtype=None: _vector_norm(
        b, _given(b, x, dtype), ord, dim, keepdim
    ),
    "linalg_matrix_norm": lambda b, A, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None: _matrix_norm(
        b, _given(b, A, dtype), ord if isinstance(ord, str) else _short(ord), dim, keepdim
    ),
})  # fmt: skip


@rows.row("renorm")
def renorm(b: TorchBuilder, input: Any, p: Any, dim: int, maxnorm: Any) -> Any:
    place = axis(dim, input.ndim)
    others = tuple(i for i in range(input.ndim) if i != place)
    wide = b.cast(input, "float32") if input.dtype in ("float16", "bfloat16") else input
    norms = b.vector_norm(wide, ord=float(p), axis=others, keepdims=True)
    # torch adds this number to the norm, so that it divides by no 0.
    factor = b.divide(b.full(shape=(), fill_value=float(maxnorm), dtype=norms.dtype), b.add(norms, 1e-7))
    return b.cast(
        b.multiply(wide, b.cast(b.where(b.greater(norms, float(maxnorm)), factor, 1.0), wide.dtype)),
        input.dtype,
    )


# ---------------------------------------------------------------------------------------------- distances
@rows.row("dist")
def dist(b: TorchBuilder, input: Any, other: Any, p: Any = 2) -> Any:
    x, y = b.promote(input, other)
    return b.vector_norm(b.subtract(x, y), ord=float(p))


rows.table({
    ("cdist", "_cdist_forward"): lambda b, x1, x2, p=2.0, compute_mode=None:
        b.cdist(*b.promote(x1, x2), p=float(p)),
    ("pdist", "_pdist_forward"): lambda b, input, p=2: b.pdist(input, p=float(p)),
})  # fmt: skip


@rows.row("cosine_similarity")
def cosine_similarity(b: TorchBuilder, x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    if x1.ndim == x2.ndim == 0:
        x1, x2 = b.reshape(x1, shape=(1,)), b.reshape(x2, shape=(1,))
    x, y = b.promote(x1, x2)
    return b.cosine_similarity(x, y, axis=axis(dim, max(x1.ndim, x2.ndim)), epsilon=held(eps, x.dtype))


@rows.row("pairwise_distance")
def pairwise_distance(
    b: TorchBuilder, x1: Any, x2: Any, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Any:
    difference = b.combined("add", b.combined("subtract", x1, x2), float(eps))
    return b.vector_norm(difference, ord=float(p), axis=difference.ndim - 1, keepdims=bool(keepdim))


# ---------------------------------------------------------------------------------------------- correlation
@rows.row("cov")
def cov(
    b: TorchBuilder, input: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None
) -> Any:
    # Weights of a wider dtype widen the result.
    return b.cov(
        b.cast(b.floating(_variables(b, input)), b.recorded[0].dtype),
        fweights,
        aweights,
        correction=correction,
    )


# A single variable has a 0-d result.
rows.table({"corrcoef": lambda b, input: b.corrcoef(b.floating(_variables(b, input)))})


def _variables(b: TorchBuilder, input: Any) -> Any:
    # torch has a 0-d result for a matrix of a single row, as for a vector.
    if input.ndim == 2 and hint_of(input.shape[0]) == 1 and b.fix(input.shape[0]) == 1:
        return b.reshape(input, shape=(input.shape[1],))
    if input.ndim == 2:
        assume(b, "ne", input.shape[0], 1)
    return input


# ---------------------------------------------------------------------------------------------- counting
@rows.row("bincount")
def bincount(b: TorchBuilder, input: Any, weights: Any = None, minlength: Any = 0) -> Any:
    # torch sums weights of every other dtype as float64.
    if weights is not None and weights.dtype != "float32":
        weights = b.cast(weights, "float64")
    return b.bincount(input, weights, minlength=minlength, hint=b.recorded[0].shape[0])


rows.table(
    {"histc": lambda b, input, bins=100, min=0, max=0: b.histc(input, bins=b.fix(bins), min=min, max=max)}
)


@rows.row("histogram")
def histogram(
    b: TorchBuilder,
    input: Any,
    bins: Any = 100,
    *,
    range: Any = None,
    weight: Any = None,
    density: bool = False,
) -> Any:
    if isinstance(bins, Value):
        edges = bins
    else:
        edges = b.histogram_bin_edges(input, bins=b.fix(bins), range=None if range is None else tuple(range))
    return b.histogram(input, edges, weight, density=bool(density)), edges


# ---------------------------------------------------------------------------------------------- integrals
def _integral(name: str) -> Callable[..., Any]:
    def row(b: TorchBuilder, y: Any, x: Any = None, *, dx: Any = 1, dim: int = -1) -> Any:
        place = axis(dim, y.ndim)
        if x is not None and 1 < x.ndim < y.ndim:
            x = b.reshape(x, shape=(1,) * (y.ndim - x.ndim) + x.shape)
        if not is_inexact(y.dtype) or (x is not None and not is_inexact(x.dtype)):
            return _integral_of_integers(b, name, y, x, dx, place)
        if name == "cumulative_trapezoid":
            # The size of the result is negative for no elements.
            holds_with_guard(b, 1, y.shape[place])
        if x is None:
            return getattr(b, name)(y, dx=dx, axis=place)
        return getattr(b, name)(y, b.cast(x, y.dtype), axis=place)

    return row


def _integral_of_integers(b: TorchBuilder, name: str, y: Any, x: Any, dx: Any, place: int) -> Any:
    # These are torch's own operations, because those on integers may wrap around.
    is_total = name == "trapezoid"
    if x is None and is_total:
        ends = b.add(pick(b, y, place, 0), pick(b, y, place, -1))
        return mul(b, sub(b, b.sum(y, axis=place), mul(b, ends, 0.5)), dx)
    heights = b.add(cut(b, y, place, 1), cut(b, y, place, None, -1))
    if x is None:
        return b.cumulative_sum(mul(b, heights, dx / 2), axis=place)
    along = place if x.ndim > 1 else 0
    assume(b, "eq", x.shape[along], y.shape[place])
    steps = b.diff(x, axis=along)
    areas = mul(b, heights, steps if x.ndim > 1 else spread_along(b, steps, y, place))
    # torch sums all integers as int64.
    areas = areas if is_inexact(areas.dtype) else b.cast(areas, "int64")
    return div(b, b.sum(areas, axis=place) if is_total else b.cumulative_sum(areas, axis=place), 2)


rows.row("trapezoid", "trapz")(_integral("trapezoid"))
rows.row("cumulative_trapezoid")(_integral("cumulative_trapezoid"))


_OPPOSITE = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


def _norm(norm: Any) -> str:
    return "backward" if norm is None else str(norm)


def _nonempty(b: TorchBuilder, x: Any, place: int, name: str) -> Any:
    # torch pads an empty axis with zeros, and NumPy's inverse transform would read out of bounds.
    if name.rstrip("n") not in ("irfft", "hfft"):
        return x
    size = x.shape[place]
    is_empty = hint_of(size) == 0
    b.guard(apply("eq" if is_empty else "ne", size, 0))
    return (
        b.full(shape=(*x.shape[:place], 1, *x.shape[place + 1 :]), fill_value=0.0, dtype=x.dtype)
        if is_empty
        else x
    )


# ---------------------------------------------------------------------------------------------- one axis
def _along_one(name: str) -> Callable[..., Any]:
    def row(b: TorchBuilder, input: Any, n: Any = None, dim: int = -1, norm: Any = None) -> Any:
        x, place = b.floating(input), axis(dim, input.ndim)
        return getattr(b, name)(_nonempty(b, x, place, name), n=n, axis=place, norm=_norm(norm))

    return row


for _name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    rows.row(f"fft_{_name}")(_along_one(_name))


# ---------------------------------------------------------------------------------------------- several axes
def _sizes_and_axes(b: TorchBuilder, x: Any, s: Any, dim: Any) -> dict[str, Any]:
    if isinstance(s, int):
        s = (s,)
    if dim is None:
        found = tuple(range(x.ndim)) if s is None else tuple(range(x.ndim - len(s), x.ndim))
    else:
        found = axes(dim, x.ndim) or ()
    if s is not None:
        s = tuple(
            x.shape[i] if isinstance(size, int) and size == -1 else size
            for size, i in zip(b.fix_negative(s), found, strict=True)
        )
    return {"s": s, "axes": found}


def _conj(b: TorchBuilder, x: Any) -> Any:
    return b.conj(x) if is_complex(x.dtype) else x


def _over_several(name: str, two: bool) -> Callable[..., Any]:
    def transform(b: TorchBuilder, input: Any, s: Any, dim: Any, norm: Any) -> Any:
        x, where = b.floating(input), _sizes_and_axes(b, input, s, dim)
        if not where["axes"]:
            return b.cast(x, b.recorded[0].dtype)
        x = _nonempty(b, x, where["axes"][-1], name)
        # ``hfftn`` is the inverse transform of the conjugate, without its scaling.
        if name == "hfftn":
            return b.irfftn(_conj(b, x), **where, norm=_OPPOSITE[_norm(norm)])
        if name == "ihfftn":
            return b.conj(b.rfftn(x, **where, norm=_OPPOSITE[_norm(norm)]))
        return getattr(b, name)(x, **where, norm=_norm(norm))

    places = (-2, -1) if two else None
    return lambda b, input, s=None, dim=places, norm=None: transform(b, input, s, dim, norm)


for _name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    rows.row(f"fft_{_name}2")(_over_several(f"{_name}n", two=True))
    rows.row(f"fft_{_name}n")(_over_several(f"{_name}n", two=False))


# ---------------------------------------------------------------------------------------------- ATen kernels
# ATen's numbers for the scaling: 0 for none, 1 by the root of the size, 2 by the size.
_FORWARD = ("backward", "ortho", "forward")
_INVERSE = ("forward", "ortho", "backward")


@rows.row("_fft_c2c")
def fft_c2c(b: TorchBuilder, input: Any, dim: Any, normalization: int, forward: bool) -> Any:
    transform, norms = (b.fftn, _FORWARD) if forward else (b.ifftn, _INVERSE)
    return transform(input, axes=axes(dim, input.ndim), norm=norms[normalization])


@rows.row("_fft_r2c")
def fft_r2c(b: TorchBuilder, input: Any, dim: Any, normalization: int, onesided: bool) -> Any:
    return (b.rfftn if onesided else b.fftn)(input, axes=axes(dim, input.ndim), norm=_FORWARD[normalization])


@rows.row("_fft_c2r")
def fft_c2r(b: TorchBuilder, input: Any, dim: Any, normalization: int, last_dim_size: Any) -> Any:
    where = axes(dim, input.ndim) or ()
    sizes = (*(input.shape[i] for i in where[:-1]), last_dim_size)
    return b.irfftn(input, s=sizes, axes=where, norm=_INVERSE[normalization])


# ---------------------------------------------------------------------------------------------- frequencies
def _frequencies(name: str) -> Callable[..., Any]:
    return lambda b, n, d=1.0, *, dtype=None, **_options: getattr(b, name)(
        n=n, d=float(d), dtype=dtype_name(dtype)
    )


def _shifted(name: str) -> Callable[..., Any]:
    return lambda b, input, dim=None: getattr(b, name)(
        input, axes=axes(dim, input.ndim) or tuple(range(input.ndim))
    )


for _name in ("fftfreq", "rfftfreq"):
    rows.row(f"fft_{_name}")(_frequencies(_name))
for _name in ("fftshift", "ifftshift"):
    rows.row(f"fft_{_name}")(_shifted(_name))


# ---------------------------------------------------------------------------------------------- signals
def _window(b: TorchBuilder, window: Any, n_fft: int, win_length: Any, dtype: str) -> Any:
    if window is None and win_length is not None and b.fix(win_length) != n_fft:
        return b.ones(shape=(b.fix(win_length),), dtype=dtype)
    return window


@rows.row("stft")
def stft(
    b: TorchBuilder,
    input: Any,
    n_fft: Any,
    hop_length: Any = None,
    win_length: Any = None,
    window: Any = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: Any = None,
    return_complex: Any = None,
    align_to_window: Any = None,
) -> Any:
    if align_to_window:
        raise NotImplementedError("stft with align_to_window")
    size = b.fix(n_fft)
    window = _window(b, window, size, win_length, real_of(input.dtype))
    # By default torch returns half of a spectrum if both the signal and the window are real.
    halves = (
        not is_complex(input.dtype)
        and (window is None or not is_complex(window.dtype))
        and onesided is not False
    )
    hop = size // 4 if hop_length is None else b.fix(hop_length)
    options: dict[str, Any] = {
        "center": bool(center),
        "pad_mode": pad_mode,
        "normalized": bool(normalized),
        "onesided": halves,
    }
    result = b.stft(input, window, n_fft=size, hop_length=hop, **options)
    if return_complex or (return_complex is None and is_complex(input.dtype)):
        return result
    return b.stack(b.real(result), b.imag(result), axis=result.ndim)


@rows.row("istft")
def istft(
    b: TorchBuilder,
    input: Any,
    n_fft: Any,
    hop_length: Any = None,
    win_length: Any = None,
    window: Any = None,
    center: bool = True,
    normalized: bool = False,
    onesided: Any = None,
    length: Any = None,
    return_complex: bool = False,
) -> Any:
    size = b.fix(n_fft)
    window = _window(b, window, size, win_length, real_of(input.dtype))
    hop = size // 4 if hop_length is None else b.fix(hop_length)
    one_sided = b.fix(input.shape[-2]) != size if onesided is None else bool(onesided)
    options: dict[str, Any] = {
        "center": bool(center),
        "normalized": bool(normalized),
        "as_complex": bool(return_complex),
    }
    return b.istft(input, window, n_fft=size, hop_length=hop, onesided=one_sided, length=length, **options)
