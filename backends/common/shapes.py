"""Source text of transpositions and reshapes, for all frameworks whose arrays have NumPy's methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...sizes import Apply, Size, hint_of, product
from .keys import WHOLE, key_text
from .rows import Operand


def permute_text(method: str) -> Callable[..., str]:
    """Return a row that writes ``x.T`` or ``x.mT`` for swapped last axes, else ``x.<method>(2, 0, 1)``."""

    def permute(x: Operand, *, axes: tuple[int, ...]) -> str:
        swapped = (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2)
        if axes == swapped:
            return f"{x}.{'T' if x.ndim == 2 else 'mT'}"
        return f"{x}.{method}({', '.join(map(str, axes))})"

    return permute


def reshape_text(x: Operand, *, shape: tuple[Any, ...], out: Any) -> str:
    """Write a reshape in its shortest form.

    This is ``x[:, None]`` if it inserts up to three axes of size 1, ``x.squeeze(1)`` if it removes some,
    and otherwise ``x.reshape(...)``, with -1 for one size if the others determine it.
    """
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

    Both shapes have the same number of elements. With ``symbolic``, a symbolic size that was 1 when
    recorded and is only in ``large`` counts too, because then it must always be 1.
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
    return with_what_is_left(shape, sizes)


def with_what_is_left(shape: tuple[Any, ...], sizes: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return ``shape`` with -1 instead of the first size ``n // d`` that the other sizes determine.

    They do if their product is an int multiple of the symbolic size ``d``. ``sizes`` are the sizes of
    ``shape`` as expressions. Return ``shape`` itself if it has no such size.
    """
    for axis, dim in enumerate(sizes):
        divisor = _divisor(dim)
        if divisor is not None and isinstance(product((*sizes[:axis], *sizes[axis + 1 :])) // divisor, int):
            return (*shape[:axis], -1, *shape[axis + 1 :])
    return shape


def _divisor(dim: Any) -> Size | None:
    """Return the divisor if ``dim`` is only a floor division by a symbolic size, else None."""
    atom = next(dim.atoms(), None) if isinstance(dim, Size) else None
    if not isinstance(atom, Apply) or atom.function != "floordiv" or dim != Size.of(atom):
        return None
    divisor = atom.arguments[1]
    return divisor if isinstance(divisor, Size) else None


def unstack_texts(x: Operand, axis: int, count: int) -> list[str]:
    return [f"{x}{key_text((*(WHOLE,) * axis, i), x.ndim)}" for i in range(count)]
