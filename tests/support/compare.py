"""Comparison of what a graph returned with what the source framework returned.

Nothing here imports graph_compiler: the code under test has no part in judging itself. Trees are opened here
with code of its own, arrays are compared as numpy arrays, and every comparison raises: none returns an answer
that a caller could drop.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from .tolerance import NARROWER, tolerance

Path = tuple[Any, ...]
_VALUES = (str, bytes, int, float, complex, bool, type(None))


# ---------------------------------------------------------------------------------------------- trees
def is_array(value: Any) -> bool:
    """Whether this is an array of any framework, or a numpy scalar."""
    return hasattr(value, "dtype") and hasattr(value, "shape")


def _children(value: Any) -> list[tuple[Any, Any]] | None:
    """The named parts of a container; None where this is no container."""
    if is_array(value) or isinstance(value, _VALUES) or callable(value):
        return None
    if isinstance(value, Mapping):
        return list(value.items())
    if isinstance(value, (list, tuple)):
        return list(enumerate(value))
    if dataclasses.is_dataclass(value):
        return [(field.name, getattr(value, field.name)) for field in dataclasses.fields(value)]
    return list(vars(value).items()) if hasattr(value, "__dict__") else None


def nodes(tree: Any, path: Path = ()) -> Iterator[tuple[Path, Any, bool]]:
    """(path, value, is it a leaf?) of every container and leaf; containers come before their parts."""
    children = _children(tree)
    yield path, tree, children is None
    for key, child in children or ():
        yield from nodes(child, (*path, key))


def leaves(tree: Any) -> dict[Path, Any]:
    """Path -> array or plain value."""
    return {path: value for path, value, is_leaf in nodes(tree) if is_leaf}


def arrays(tree: Any) -> dict[Path, Any]:
    """Path -> array."""
    return {path: value for path, value in leaves(tree).items() if is_array(value)}


def _classes(tree: Any) -> dict[Path, type]:
    """A class that stands for another one, whose methods take arrays of the target, counts as that."""
    classes = ((path, type(value)) for path, value, is_leaf in nodes(tree) if not is_leaf)
    return {path: vars(cls).get("_graph_compiler_stands_for", cls) for path, cls in classes}


def _where(path: Path) -> str:
    return "result" + "".join(f"[{key!r}]" for key in path)


# ---------------------------------------------------------------------------------------------- arrays
def dtype_name(array: Any) -> str:
    """The dtype's name without its framework: float32."""
    dtype = array.dtype
    return (
        str(getattr(dtype, "name", dtype)).removeprefix("torch.").removeprefix("<dtype: '").removesuffix("'>")
    )


def to_numpy(array: Any) -> np.ndarray[Any, Any]:
    """The numbers of an array of any framework; bfloat16, which numpy lacks, as float32."""
    if type(array).__module__.startswith("torch"):
        array = array.detach().cpu().to_dense()
        wider = {"bfloat16": "float32", "complex32": "complex64"}.get(
            dtype_name(array), "float32" if "float8" in dtype_name(array) else ""
        )
        array = (
            (array.to(getattr(sys.modules["torch"], wider)) if wider else array).resolve_conj().resolve_neg()
        )
    converted = np.asarray(
        array.numpy() if type(array).__module__.startswith("tensorflow") else array
    )  # a scalar has no __array__ there
    return converted.astype(np.float32) if converted.dtype.name == "bfloat16" else converted


def _is_jax(array: Any) -> bool:
    return type(array).__module__.split(".")[0] in ("jax", "jaxlib")


def _has_x64() -> bool:
    import jax

    return bool(jax.config.jax_enable_x64)


def expected_dtype(actual: Any, expected: Any) -> str:
    """The dtype an array must have: the expected one, or the nearest that jax has without x64."""
    name = dtype_name(expected)
    return NARROWER.get(name, name) if _is_jax(actual) and not _has_x64() else name


def _assert_numbers(actual: Any, expected: Any, dtype: str, where: str) -> None:
    relative, absolute = tolerance(dtype)
    np.testing.assert_allclose(
        to_numpy(actual), to_numpy(expected), rtol=relative, atol=absolute, equal_nan=True, err_msg=where
    )


def assert_same_array(actual: Any, expected: Any, where: str = "result") -> None:
    """Dtype, shape and numbers are those expected."""
    assert is_array(actual), f"{where}: expected an array, got {actual!r}"
    dtype = expected_dtype(actual, expected)
    assert dtype_name(actual) == dtype, f"{where}: dtype {dtype_name(actual)}, expected {dtype}"
    assert tuple(actual.shape) == tuple(expected.shape), (
        f"{where}: shape {tuple(actual.shape)}, expected {tuple(expected.shape)}"
    )
    _assert_numbers(actual, expected, dtype, where)


def _same_value(actual: Any, expected: Any) -> bool:
    if type(actual) is float is type(expected):  # computed by the target, as the elements of arrays are
        return bool(np.isclose(actual, expected, *tolerance("float32"), equal_nan=True))
    return type(actual) is type(expected) and (actual == expected or repr(actual) == repr(expected) == "nan")


def _assert_same_leaf(actual: Any, expected: Any, where: str) -> None:
    if is_array(expected):
        assert_same_array(actual, expected, where)
    elif isinstance(expected, _VALUES):
        assert _same_value(actual, expected), f"{where}: {actual!r}, expected {expected!r}"


# ---------------------------------------------------------------------------------------------- whole results
def assert_same_structure(actual: Any, expected: Any) -> None:
    """The same leaves at the same places, in containers of the same classes."""
    there, wanted = leaves(actual).keys(), leaves(expected).keys()
    assert _classes(actual) == _classes(expected), (
        f"containers {_classes(actual)}, expected {_classes(expected)}"
    )
    missing, surplus = (
        [path for path in wanted if path not in there],
        [path for path in there if path not in wanted],
    )
    assert not missing, f"missing: {', '.join(map(_where, missing))}"
    assert not surplus, f"not expected: {', '.join(map(_where, surplus))}"
    assert list(there) == list(wanted), f"order {[*map(_where, there)]}, expected {[*map(_where, wanted)]}"


def assert_same(actual: Any, expected: Any) -> None:
    """Structure, container classes, dtypes, shapes and numbers are those expected, within the table of
    tolerances.
    """
    assert_same_structure(actual, expected)
    found = leaves(actual)
    for path, leaf in leaves(expected).items():
        _assert_same_leaf(found[path], leaf, _where(path))


def assert_same_leaves(actual: Any, expected: Any, where: str = "") -> None:
    """Assert that the leaves are those expected one after the other, in whatever containers."""
    for (path, one), other in zip(leaves(actual).items(), leaves(expected).values(), strict=True):
        _assert_same_leaf(one, other, f"{_where(path)} {where}")


# -------------------------------------------------------------------------------------------- against float64
def _largest(array: Any) -> float:
    return float(np.abs(to_numpy(array).astype(np.float64)).max(initial=0.0))


def _error(array: Any, reference: Any) -> float:
    """The largest absolute error; NaN wherever one side alone is not finite."""
    return float(
        np.abs(to_numpy(array).astype(np.float64) - to_numpy(reference).astype(np.float64)).max(initial=0.0)
    )


def _resolution(array: Any) -> float:
    numbers = to_numpy(array)
    return float(np.finfo(numbers.dtype).eps) if np.issubdtype(numbers.dtype, np.floating) else 0.0


def assert_no_further(actual: Any, expected: Any, reference: Any, *, factor: float = 2.0) -> None:
    """No further from a float64 ``reference`` than the source framework's own result ``expected`` is.

    Sums in another order land elsewhere within the same error, hence the factor and a few units in the last
    place. The unit of an array that is nothing but rounding beside the others (a gradient that is zero in
    theory) is taken from the others.
    """
    assert_same_structure(actual, expected)
    results, sources, exact = arrays(actual), arrays(expected), arrays(reference)
    assert sources.keys() == exact.keys(), "the float64 reference has other arrays"
    least = 1e-3 * max(map(_largest, exact.values()), default=0.0)
    for path, source in sources.items():
        last_places = 8 * _resolution(source) * max(_largest(exact[path]), least)
        allowed = factor * _error(source, exact[path]) + last_places
        found = _error(results[path], exact[path])
        assert found <= allowed, (
            f"{_where(path)}: {found:.3g} from float64; the source framework is {_error(source, exact[path]):.3g}"
        )
