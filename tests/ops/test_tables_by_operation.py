"""Tests of tables by names of operations: each operation is in the table, or has a reason why not."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import pytest

from graph_compiler.ops import all_ops
from graph_compiler.ops.axes import ROWS
from graph_compiler.passes.masking.dynamic_sizes import BY_ROW
from graph_compiler.passes.masking.ragged import ROWS as PADDED
from graph_compiler.passes.strong_zero import _FORMS, FLAT, HOLOMORPHIC, SINGULAR


@dataclass(frozen=True)
class Table:
    """Operations of a table, and reasons why the others are not in it.

    rows: the operations in the table.
    sections: sections whose operations may be missing, with the reason.
    operations: operations of other sections that are missing, with the reason. Strict: none is in the table.
    """

    rows: Collection[str]
    sections: Mapping[str, str]
    operations: Mapping[str, str]

    def faults(self) -> Iterator[str]:
        known = all_ops()
        for name in sorted({*self.rows, *self.operations} - known.keys()):
            yield f"{name}: no operation"
        for name, op in known.items():
            if name not in self.rows and op.section not in self.sections and name not in self.operations:
                yield f"{name}: not in the table, and no reason why not"
            if name in self.operations and (name in self.rows or op.section in self.sections):
                yield f"{name}: has a reason that it does not need"
        for section in self.sections:
            if section not in {op.section for name, op in known.items() if name not in self.rows}:
                yield f"{section}: has a reason, and no operation that needs it"


def reasons(**names: str) -> dict[str, str]:
    """Return a dict from each of the names, which are separated by spaces, to the reason that names them."""
    return {name: REASONS[key] for key, listed in names.items() for name in listed.split()}


REASONS = {
    "constant": "its derivative is a constant other than 0",
    "step": "it has no derivative, or 0 everywhere",
    "along_an_axis": "it combines elements along an axis",
    "no_derivative_in_torch": "torch has no derivative by the first operand",
    "other_shapes": "its operands have other shapes than its result, which the rewrite does not broadcast",
    "other_types": "of complex numbers it returns real ones, of which the rewrite has no derivative",
    "exponents": "its derivative is a power of 2",
    "refused": "no numbers are known for which results and derivatives are finite, so it is refused",
    "other_kinds": "its operands and results differ in dtype or shape, so it is refused",
}
_MIXES = "it combines elements, and its derivative is a sum of products"
_MOVES = "it selects or moves elements"
_INSIDE = "it runs regions, which are rewritten themselves"
_NO_DERIVATIVE = "it has no derivative"
_REFUSED = "it is refused"
_DEPENDENT = "its rows are taken to depend on each other"
_LEFT = "its arrays keep their axes"
_EXCEPT_ELEMENTS = sorted(
    {op.section for op in all_ops().values()} - {"elementwise", "special", "activations"}
)

TABLES = {
    "strong zeros": Table(
        {*SINGULAR, *FLAT, *_FORMS},
        {
            **dict.fromkeys(_EXCEPT_ELEMENTS, _MIXES),
            **dict.fromkeys(("data types", "indexing", "manipulation", "sorting", "statistical"), _MOVES),
            **dict.fromkeys(("bits", "creation", "random", "searching", "sets"), _NO_DERIVATIVE),
            "control flow": _INSIDE,
            "gradients": "its derivative is given",
        },
        reasons(
            constant="add complex conj copysign imag negative positive real subtract view_as_complex view_as_real",
            step="bitwise_and bitwise_invert bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor ceil "
            "equal floor floor_divide gcd greater greater_equal isclose isfinite isinf isnan lcm less less_equal "
            "logical_and logical_not logical_or logical_xor nextafter not_equal round sign signbit stop_gradient "
            "trunc trunc_divide",
            along_an_axis="log_softmax softmax",
            no_derivative_in_torch="orthogonal_polynomial",
            other_shapes="glu prelu",
            other_types="angle",
            exponents="frexp",
        ),
    ),
    "padded arrays": Table(
        PADDED,
        dict.fromkeys((*(one for one in _EXCEPT_ELEMENTS if one != "data types"), "activations"), _REFUSED),
        reasons(
            refused="airy_ai bessel_j0 bessel_j1 bessel_k0 bessel_k0e bessel_k1 bessel_k1e bessel_y0 bessel_y1 "
            "betainc bitwise_left_shift bitwise_right_shift digamma entr erfc erfcx erfinv gammainc gammaincc i0 "
            "i0e i1 i1e lgamma log_ndtr logit nan_to_num ndtr ndtri nextafter orthogonal_polynomial polygamma "
            "sinc spherical_bessel_j0 xlog1py xlogy zeta",
            other_kinds="angle complex frexp gcd isclose lcm view_as_complex view_as_real",
        ),
    ),
    "rows alone": Table(
        BY_ROW,
        dict.fromkeys((one for one in _EXCEPT_ELEMENTS if one != "data types"), _DEPENDENT),
        reasons(along_an_axis="view_as_complex view_as_real"),
    ),
    "axes": Table(
        ROWS,
        dict.fromkeys((one for one in _EXCEPT_ELEMENTS if one not in ("data types", "statistical")), _LEFT),
        reasons(along_an_axis="view_as_complex view_as_real"),
    ),
}


@pytest.mark.parametrize("name", TABLES)
def test_every_operation_is_in_the_table_or_has_a_reason(name: str) -> None:
    assert not list(TABLES[name].faults())


def test_faults_are_found() -> None:
    whole = all_ops().keys()
    assert not list(Table(whole, {}, {}).faults())
    assert list(Table(whole - {"exp"}, {}, {}).faults()) == ["exp: not in the table, and no reason why not"]
    assert list(Table(whole, {"fft": "a reason"}, {"exp": "a reason"}).faults()) == [
        "exp: has a reason that it does not need",
        "fft: has a reason, and no operation that needs it",
    ]
    assert list(Table([*whole, "expp"], {}, {}).faults()) == ["expp: no operation"]


def test_holomorphic_operations_may_be_singular() -> None:
    assert HOLOMORPHIC <= SINGULAR | FLAT
