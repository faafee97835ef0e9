"""Comparison of two results within rounding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from ...ops.dtypes import NARROWED

# Item size of a real dtype -> relative tolerance, and absolute tolerance as a fraction of the largest value.
_BY_WIDTH = {2: (2e-2, 2e-2), 4: (1e-4, 2e-5), 8: (1e-7, 1e-9)}
_WIDEST = 8
# NumPy holds values of this dtype as float32.
_TAKEN_FOR_WIDER = "bfloat16"


@dataclass(frozen=True)
class Tolerance:
    """Tolerance of a comparison: ``|actual - expected| <= atol + rtol * |expected|``.

    rtol: relative tolerance; None for that of the less precise dtype.
    atol: absolute tolerance; None for a fraction, given by that dtype, of the largest finite value.
    """

    rtol: float | None = None
    atol: float | None = None

    def allowed(self, actual: Any, expected: Any, width: int) -> Any:
        """Return the largest allowed difference of each element.

        width: upper bound of the item size, in bytes, of the less precise dtype.
        """
        import numpy as np

        width = min(width, *(np.real(array).dtype.itemsize for array in (actual, expected)))
        rtol, part = _BY_WIDTH.get(width, _BY_WIDTH[_WIDEST])
        size = np.abs(expected)
        largest = float(np.max(size, where=np.isfinite(size), initial=0.0))
        atol = part * largest if self.atol is None else self.atol
        return atol + (rtol if self.rtol is None else self.rtol) * size


class Dtypes(dict[str, str]):
    """Names of dtypes by label. In comparisons, a narrowed dtype counts as the 64-bit one."""

    def difference(self, expected: Dtypes) -> str:
        for label, wanted in expected.items():
            if self.get(label) not in (wanted, NARROWED.get(wanted)):
                return f"of {label} is {self.get(label)} where the original gives {wanted}"
        return ""


def difference(
    actual: dict[str, Any],
    expected: dict[str, Any],
    tolerance: Tolerance,
    numbers: bool,
    widths: Mapping[str, int] = MappingProxyType({}),
) -> str:
    """Describe the first part of a result that differs; "" if none does.

    numbers: compare values too, not only structure, shapes and dtypes.
    widths: item size of the narrowest float computed on the way to each part, by label.
    """
    if actual.keys() != expected.keys():
        return f"it gives {len(actual) - 1} arrays where the original gives {len(expected) - 1}"
    types = [kinds for parts in (actual, expected) if isinstance(kinds := parts.get("the type"), Dtypes)]
    for label, wanted in expected.items():
        width = (
            2 if any(kinds.get(label) == _TAKEN_FOR_WIDER for kinds in types) else widths.get(label, _WIDEST)
        )
        found = _part(actual[label], wanted, tolerance, numbers, width)
        if found:
            return f"{label} {found}"
    return ""


def as_float32(number: float) -> Any:
    import numpy as np

    return np.float32(number)


def _part(actual: Any, expected: Any, tolerance: Tolerance, numbers: bool, width: int) -> str:
    if isinstance(expected, Dtypes):
        return str(actual.difference(expected))
    if not hasattr(expected, "shape"):
        return "" if actual == expected else f"is {actual!r} where the original gives {expected!r}"
    if actual.shape != expected.shape:
        return f"has the shape {list(actual.shape)} where the original gives {list(expected.shape)}"
    if actual.dtype.kind != expected.dtype.kind:
        return f"is {actual.dtype} where the original gives {expected.dtype}"
    return _elements(actual, expected, tolerance, width) if numbers else ""


def _elements(actual: Any, expected: Any, tolerance: Tolerance, width: int) -> str:
    import numpy as np

    if expected.dtype.kind in "biu":
        wrong = int(np.count_nonzero(actual != expected))
        return f"differs in {wrong} of {expected.size} elements" if wrong else ""
    # The difference of two equal infinities is NaN, so these are compared by ``==``.
    with np.errstate(invalid="ignore"):
        close = np.abs(actual - expected) <= tolerance.allowed(actual, expected, width)
        same = close | (actual == expected) | (np.isnan(actual) & np.isnan(expected))
        if same.all():
            return ""
        largest = np.nanmax(np.abs(actual - expected)[~same], initial=0.0)
    return f"differs in {int(np.count_nonzero(~same))} of {expected.size} elements, by up to {largest:.3g}"
