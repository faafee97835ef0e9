"""Comparison of the result of a graph with the result of the source framework.

This module imports nothing of graph_compiler, so that the code under test has no part in judging itself:
it flattens trees with its own code and compares arrays as NumPy arrays. A comparison raises
``AssertionError`` and returns nothing, so that a test cannot forget to check an answer.
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
    """Return True for an array of any framework and for a NumPy scalar."""
    return hasattr(value, "dtype") and hasattr(value, "shape")


def _children(value: Any) -> list[tuple[Any, Any]] | None:
    """Return (key, child) of the parts of a container, or None for a leaf: an array, a plain value, a
    callable, or an object without ``__dict__``.
    """
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
    """Yield (path, value, True if it is a leaf) of every container and leaf of ``tree``, parents first."""
    children = _children(tree)
    yield path, tree, children is None
    for key, child in children or ():
        yield from nodes(child, (*path, key))


def leaves(tree: Any) -> dict[Path, Any]:
    """Map the path of each leaf to the leaf."""
    return {path: value for path, value, is_leaf in nodes(tree) if is_leaf}


def arrays(tree: Any) -> dict[Path, Any]:
    """Map the path of each array leaf to the array."""
    return {path: value for path, value in leaves(tree).items() if is_array(value)}


def _classes(tree: Any) -> dict[Path, type]:
    """Map the path of each container to its class.

    A class that a graph generated for results of another framework counts as the class that it replaces.
    """
    classes = ((path, type(value)) for path, value, is_leaf in nodes(tree) if not is_leaf)
    return {path: vars(cls).get("_graph_compiler_stands_for", cls) for path, cls in classes}


def _where(path: Path) -> str:
    return "result" + "".join(f"[{key!r}]" for key in path)


# ---------------------------------------------------------------------------------------------- arrays
def dtype_name(array: Any) -> str:
    """Return the dtype's name without its framework, such as ``float32``."""
    dtype = array.dtype
    return (
        str(getattr(dtype, "name", dtype)).removeprefix("torch.").removeprefix("<dtype: '").removesuffix("'>")
    )


def to_numpy(array: Any) -> np.ndarray[Any, Any]:
    """Return the elements as a NumPy array; bfloat16 and float8, which NumPy lacks, become float32."""
    if type(array).__module__.startswith("torch"):
        array = array.detach().cpu().to_dense()
        wider = {"bfloat16": "float32", "complex32": "complex64"}.get(
            dtype_name(array), "float32" if "float8" in dtype_name(array) else ""
        )
        array = (
            (array.to(getattr(sys.modules["torch"], wider)) if wider else array).resolve_conj().resolve_neg()
        )
    # A scalar of TensorFlow has no ``__array__``.
    converted = np.asarray(array.numpy() if type(array).__module__.startswith("tensorflow") else array)
    return converted.astype(np.float32) if converted.dtype.name == "bfloat16" else converted


def _is_jax(array: Any) -> bool:
    return type(array).__module__.split(".")[0] in ("jax", "jaxlib")


def _has_x64() -> bool:
    import jax

    return bool(jax.config.jax_enable_x64)


def expected_dtype(actual: Any, expected: Any) -> str:
    """Return the name of the dtype that ``actual`` must have: that of ``expected``, or its 32-bit counterpart
    if ``actual`` is a JAX array and x64 is disabled.
    """
    name = dtype_name(expected)
    return NARROWER.get(name, name) if _is_jax(actual) and not _has_x64() else name


def _assert_numbers(actual: Any, expected: Any, dtype: str, where: str) -> None:
    relative, absolute = tolerance(dtype)
    np.testing.assert_allclose(
        to_numpy(actual), to_numpy(expected), rtol=relative, atol=absolute, equal_nan=True, err_msg=where
    )


def assert_same_array(actual: Any, expected: Any, where: str = "result") -> None:
    """Assert that ``actual`` is an array with the dtype, shape and, within the tolerance of the dtype, the
    elements of ``expected``.
    """
    assert is_array(actual), f"{where}: expected an array, got {actual!r}"
    dtype = expected_dtype(actual, expected)
    assert dtype_name(actual) == dtype, f"{where}: dtype {dtype_name(actual)}, expected {dtype}"
    assert tuple(actual.shape) == tuple(expected.shape), (
        f"{where}: shape {tuple(actual.shape)}, expected {tuple(expected.shape)}"
    )
    _assert_numbers(actual, expected, dtype, where)


def _same_value(actual: Any, expected: Any) -> bool:
    # The target computed this number, like the elements of arrays.
    if type(actual) is float is type(expected):
        return bool(np.isclose(actual, expected, *tolerance("float32"), equal_nan=True))
    return type(actual) is type(expected) and (actual == expected or repr(actual) == repr(expected) == "nan")


def _assert_same_leaf(actual: Any, expected: Any, where: str) -> None:
    if is_array(expected):
        assert_same_array(actual, expected, where)
    elif isinstance(expected, _VALUES):
        assert _same_value(actual, expected), f"{where}: {actual!r}, expected {expected!r}"


# ---------------------------------------------------------------------------------------------- whole results
def assert_same_structure(actual: Any, expected: Any) -> None:
    """Assert that both trees have leaves at the same paths, in containers of the same classes."""
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
    """Assert that both trees have the same structure and container classes, and that their leaves agree.

    Arrays are compared as in ``assert_same_array``. Strings, numbers and None must be equal, floats only
    within the tolerance of float32. Other objects are not compared.
    """
    assert_same_structure(actual, expected)
    found = leaves(actual)
    for path, leaf in leaves(expected).items():
        _assert_same_leaf(found[path], leaf, _where(path))


def assert_same_leaves(actual: Any, expected: Any, where: str = "") -> None:
    """Assert that the leaves agree in order, whatever containers they are in."""
    for (path, one), other in zip(leaves(actual).items(), leaves(expected).values(), strict=True):
        _assert_same_leaf(one, other, f"{_where(path)} {where}")


# -------------------------------------------------------------------------------------------- against float64
def _largest(array: Any) -> float:
    return float(np.abs(to_numpy(array).astype(np.float64)).max(initial=0.0))


def _error(array: Any, reference: Any) -> float:
    """Return the largest absolute difference; NaN, which no bound allows, if only one side is finite
    somewhere.
    """
    return float(
        np.abs(to_numpy(array).astype(np.float64) - to_numpy(reference).astype(np.float64)).max(initial=0.0)
    )


def _resolution(array: Any) -> float:
    numbers = to_numpy(array)
    return float(np.finfo(numbers.dtype).eps) if np.issubdtype(numbers.dtype, np.floating) else 0.0


def assert_no_further(actual: Any, expected: Any, reference: Any, *, factor: float = 2.0) -> None:
    """Assert that no array of ``actual`` is further from the float64 ``reference`` than ``factor`` times the
    error of ``expected``, the result of the source framework.

    Sums in another order have another error of the same size, hence ``factor`` and an allowance of 8 units
    in the last place. The unit follows the largest element of the array, but is at least 1e-3 of that of
    the largest array, because the error of a gradient that is zero in theory comes from the other arrays.
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
