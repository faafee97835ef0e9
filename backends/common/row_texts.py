"""Source text that rows share: keys, transpositions, reshapes and half-precision numbers."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, cast

from ...errors import CallMismatch
from ...sizes import Apply, Size, hint_of, product
from .rows import Operand, operand

# ------------------------------------------------------------------------------------------------------- keys
# Source text of ``getitem`` and ``setitem`` keys in NumPy's syntax, and random keys of ``vmap``.

WHOLE = (None, None, 1)


def key_text(key: tuple[Any, ...], rank: int) -> str:
    """Return the source of the index ``key``, in which slices are tuples, for an array of ``rank`` axes.

    >>> key_text(((None, None, 1), (1, None, 1), None), 2)
    '[:, 1:, None]'
    >>> key_text(((None, None, 1), (None, None, 1), 0), 3), key_text((None, -1), 2)
    ('[..., 0]', '[None, -1]')
    """
    items = _without_trailing(list(key))
    texts = [item_text(item) for item in items]
    leading = next((i for i, item in enumerate(items) if item != WHOLE), len(items))
    covered = sum(item is not None for item in items) == rank
    if covered and 1 < leading < len(items):
        texts = ["...", *texts[leading:]]
    return f"[{', '.join(texts) or '...'}]"


def _without_trailing(items: list[Any]) -> list[Any]:
    # Axes that a key does not mention are taken whole.
    while items and items[-1] == WHOLE:
        items.pop()
    return items


def item_text(item: Any) -> str:
    if not isinstance(item, tuple):
        return repr(item)
    start, stop, step = ("" if bound is None else repr(bound) for bound in item)
    return f"{start}:{stop}" + ("" if step == "1" else f":{step}")


def arrays_text(arrays: tuple[Any, ...], axes: tuple[int, ...], rank: int) -> str:
    """Return the source of an index with ``arrays[i]`` on axis ``axes[i]``, where ``axes`` ascend.

    >>> arrays_text(("i", "j"), (0, 2), 3), arrays_text(("i",), (2,), 3), arrays_text(("i",), (0,), 3)
    ('[i, :, j]', '[..., i]', '[i]')
    """
    at = dict(zip(axes, arrays, strict=False))
    texts = [str(at.get(axis, ":")) for axis in range(axes[-1] + 1)]
    if axes[-1] == rank - 1 and axes[0] > 1:
        texts = ["...", *texts[axes[0] :]]
    return f"[{', '.join(texts)}]"


Draw = Callable[[], Any]
UNSAID = (
    "vmap: the function draws random numbers: say whether they are others for each slice, "
    "randomness='different', or not, randomness='same'"
)


class SliceKeys:
    """Source of random keys for functions under ``vmap``.

    >>> keys = SliceKeys()
    >>> with keys.drawing("different", lambda: 7, lambda key: key + 1):
    ...     keys.next()()
    8
    >>> keys.next() is None
    True
    """

    def __init__(self) -> None:
        self._draw: ContextVar[Draw | None] = ContextVar("keys of slices", default=None)

    def next(self) -> Draw | None:
        return self._draw.get()

    @contextmanager
    def drawing(self, randomness: str, outside: Draw, of_slice: Callable[[Any], Any]) -> Iterator[None]:
        """Let :meth:`next` return a function that draws keys by ``outside`` in this context.

        If ``randomness`` is ``"different"``, ``of_slice`` maps a key to that of one slice. If it is
        ``"error"``, drawing a key raises ``CallMismatch``.
        """

        def draw() -> Any:
            if randomness == "error":
                raise CallMismatch(UNSAID)
            # ``outside`` may draw from another ``drawing`` around this one, and must not call this function
            # again.
            token = self._draw.set(around)
            try:
                key = outside()
            finally:
                self._draw.reset(token)
            return of_slice(key) if randomness == "different" else key

        around = self._draw.get()
        inside = self._draw.set(draw)
        try:
            yield
        finally:
            self._draw.reset(inside)


# ----------------------------------------------------------------------------------------------------- shapes
# Source text of transpositions and reshapes, for all frameworks whose arrays have NumPy's methods.


def permute_text(method: str) -> Callable[..., str]:
    def permute(x: Operand, *, axes: tuple[int, ...]) -> str:
        swapped = (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2)
        if axes == swapped:
            return f"{x}.{'T' if x.ndim == 2 else 'mT'}"
        return f"{x}.{method}({', '.join(map(str, axes))})"

    return permute


def reshape_text(x: Operand, *, shape: tuple[Any, ...], out: Any) -> str:
    """Return the source of a reshape, such as ``x.reshape(2, 3)``, ``x[:, None]`` or ``x.squeeze(1)``."""
    new = added_axes(x.shape, out[0].shape)
    if new and len(new) <= 3:
        return f"{x}{key_text(tuple(None if axis in new else WHOLE for axis in range(len(shape))), x.ndim)}"
    gone = added_axes(out[0].shape, x.shape, symbolic=True)
    if gone:
        return f"{x}.squeeze({gone[0] if len(gone) == 1 else gone})"
    # A vector has the size of all elements, whatever its expression.
    if len(shape) == 1:
        return f"{x}.reshape(-1)"
    return f"{x}.reshape({', '.join(map(repr, _with_free_size(shape, out[0].shape))) or '()'})"


def added_axes(small: tuple[Any, ...], large: tuple[Any, ...], symbolic: bool = False) -> tuple[int, ...]:
    """Return the axes of size 1 whose removal from ``large`` leaves ``small``, or () if there are none.

    With ``symbolic``, symbolic sizes that were 1 while recording count as 1.
    """
    added, place = [], 0
    for axis, dim in enumerate(large):
        if place < len(small) and small[place] == dim:
            place += 1
        elif dim == 1 if isinstance(dim, int) else symbolic and hint_of(dim) == 1:
            added.append(axis)
        else:
            return ()
    return tuple(added) if place == len(small) else ()


def _with_free_size(shape: tuple[Any, ...], sizes: tuple[Any, ...]) -> tuple[Any, ...]:
    if sum(not isinstance(dim, int) for dim in shape) == 1 and 0 not in shape:
        # A size that is a name reads better than -1, but a longer expression does not.
        return tuple(-1 if not isinstance(dim, int) and " " in str(dim) else dim for dim in shape)
    return with_inferred_size(shape, sizes)


def with_inferred_size(shape: tuple[Any, ...], sizes: tuple[Any, ...]) -> tuple[Any, ...]:
    """Replace a size that is a quotient, such as ``n // b`` in ``(b, n // b)``, by -1 if the others imply it.

    ``sizes`` has the same sizes as ints and :class:`Size` objects.
    """
    for axis, dim in enumerate(sizes):
        if (divisor := _divisor(dim)) is None:
            continue
        count = product((*sizes[:axis], *sizes[axis + 1 :])) // divisor
        # An array without elements has any size where the others have a 0, so none can be inferred.
        if isinstance(count, int) and count:
            return (*shape[:axis], -1, *shape[axis + 1 :])
    return shape


def _divisor(dim: Any) -> Size | None:
    call = call_of_function(dim, "floordiv")
    divisor = call.arguments[1] if call is not None else None
    return divisor if isinstance(divisor, Size) else None


def call_of_function(number: Any, function: str) -> Apply | None:
    atom = next(number.atoms(), None) if isinstance(number, Size) else None
    is_call = isinstance(atom, Apply) and atom.function == function and number == Size.of(atom)
    return cast(Apply, atom) if is_call else None


def unstack_texts(x: Operand, axis: int, count: int) -> list[str]:
    return [f"{x}{key_text((*(WHOLE,) * axis, i), x.ndim)}" for i in range(count)]


# ----------------------------------------------------------------------------------------------- half numbers
# Rounding of Python numbers to half precision, for operations on such arrays computed in float32.
#
# Without it ``x == 0.1`` is false for every float32 ``x`` that came from float16, and ``x % 0.1`` has another
# result. Products and quotients are continuous in the number, so they keep it unrounded.

HALF = ("float16", "bfloat16")
_AS_THEY_ARE = frozenset({"multiply", "divide"})


def rounded_literal(item: Any, op: str, dtype: str) -> Any:
    """Return ``item``, rounded to half precision ``dtype`` if it is a number that ``op`` needs rounded."""
    if not isinstance(item, Operand) or item.spec is not None or op in _AS_THEY_ARE:
        return item
    try:
        number = float(item.strip("()"))
    # The text of a symbolic size is no number.
    except ValueError:
        return item
    rounded = in_half(number, dtype)
    written = repr(abs(rounded)) if math.isfinite(rounded) else "math.inf"
    return (
        item
        if rounded == number
        else operand(f"(-{written})" if math.copysign(1, rounded) < 0 else written, None)
    )


def in_half(number: float, dtype: str) -> float:
    """Round ``number`` to the half-precision ``dtype``.

    >>> in_half(0.1, "float16"), in_half(0.1, "bfloat16"), in_half(1e5, "float16")
    (0.0999755859375, 0.10009765625, inf)
    """
    if not math.isfinite(number):
        return number
    try:
        if dtype == "float16":
            return float(struct.unpack("e", struct.pack("e", number))[0])
        # torch and JAX also round to float32 before they round to bfloat16.
        bits = struct.unpack("I", struct.pack("f", number))[0]
    except OverflowError:
        return math.copysign(math.inf, number)
    # The sum of almost half of the lowest bit that remains and of that bit itself rounds to nearest, ties to
    # even.
    return float(struct.unpack("f", struct.pack("I", (bits + 0x7FFF + (bits >> 16 & 1)) >> 16 << 16))[0])
