"""Code shared by the files ``native.py``: conversion of arrays to NumPy and back, and failures of functions.

Arrays of other frameworks than NumPy are recognized by duck typing, without importing the framework.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from ...errors import CallMismatch, FrameworkNotInstalled, GuardFailed
from ...trees import Tree, statics

# Classes that users know by another name.
_NAMES = {"ArrayImpl": "jax.Array", "EagerTensor": "tf.Tensor"}


# Exceptions of conversions of an array whose dtype, layout or device has no counterpart.
INCONVERTIBLE = (TypeError, ValueError, RuntimeError, NotImplementedError, BufferError)
_REMEDIES = {
    "torch.sparse": "pass it as a dense array, x.to_dense()",
    "torch.jagged": "pass it as a padded array, x.to_padded_tensor(0.0)",
    "meta": "an array on the device meta has no elements; pass one that has",
    "object": "pass an array of numbers, of one data type",
    "qint": "pass it as floats, x.dequantize()",
    "quint": "pass it as floats, x.dequantize()",
    "Tracer": "JAX differentiates or traces this call, and a graph for another framework cannot take part; "
    'transpile(..., to="jax") can',
}


def refuse_array(array: Any, framework: str, problem: Exception) -> NoReturn:
    """Raise ``CallMismatch`` for ``array``, which ``framework`` cannot represent, and say what to pass."""
    dtype, layout, device = (str(getattr(array, name, "")) for name in ("dtype", "layout", "device"))
    layout = "torch.jagged" if getattr(array, "is_nested", False) else layout
    told = " ".join((layout, device, dtype, type(array).__name__))
    remedy = next(
        (remedy for word, remedy in _REMEDIES.items() if word in told),
        "pass an array of numbers, of a data type that it has",
    )
    words = ", ".join(
        filter(None, (dtype, layout if layout != "torch.strided" else "", device if device == "meta" else ""))
    )
    reason = next((line.strip() for line in str(problem).splitlines() if line.strip()), "")
    raise CallMismatch(
        f"an argument is an array ({words}) that cannot become one of {framework} ({reason}); {remedy}"
    ) from problem


def bfloat16() -> np.dtype[Any]:
    try:
        import ml_dtypes
    except ModuleNotFoundError:
        raise FrameworkNotInstalled(
            "bfloat16 in numpy needs ml_dtypes; install it with: pip install graph-compiler[numpy]"
        ) from None
    return np.dtype(ml_dtypes.bfloat16)


def as_numpy(array: Any) -> np.ndarray[Any, Any] | None:
    """Convert an array of any framework to NumPy, or return None if ``array`` is not recognized as one.

    The result may share storage with ``array``. Raise ``CallMismatch`` for a recognized array that NumPy
    cannot represent, such as a nested or sparse tensor of torch.

    >>> import torch
    >>> tensor = torch.ones(2, dtype=torch.bfloat16)
    >>> array = as_numpy(tensor)
    >>> array[0] = 3
    >>> array.dtype.name, tensor.tolist()
    ('bfloat16', [3.0, 1.0])
    """
    if isinstance(array, np.ndarray):
        return array
    # A tensor whose rows have several lengths raises if its shape is read.
    if getattr(array, "is_nested", False) is True:
        refuse_array(array, "numpy", ValueError("its rows have several lengths"))
    # Attributes of a class of arrays are descriptors.
    if isinstance(array, (np.generic, type)) or not (
        hasattr(array, "__array__") and hasattr(array, "dtype") and hasattr(array, "shape")
    ):
        return None
    if not hasattr(array, "detach"):
        plain = underlying_array(array)
        try:
            # ``__array__`` of a bfloat16 scalar of TensorFlow returns a scalar, so the result is converted
            # again.
            return np.asarray(plain if tuple(array.shape) else plain.__array__())
        except INCONVERTIBLE as problem:
            refuse_array(array, "numpy", problem)
    try:
        plain = array.detach().cpu().resolve_conj().resolve_neg()
        if str(plain.dtype) == "torch.bfloat16":
            # torch has no conversion of bfloat16 to NumPy, so the bits are passed as int16.
            return plain.view(dtype=_torch_int16(plain)).numpy().view(bfloat16())
        return plain.numpy()
    except INCONVERTIBLE as problem:
        refuse_array(array, "numpy", problem)


def is_plain(array: np.ndarray[Any, Any]) -> bool:
    """Return False if ``array`` is of a subclass that may give it another meaning (mask, unit, matrix).

    >>> is_plain(np.ones(2)), is_plain(np.ma.masked_array([1, 2], mask=[True, False]))
    (True, False)
    """
    cls = type(array)
    return cls is np.ndarray or cls is np.memmap or cls.__module__.startswith("jax.")


def underlying_array(array: Any) -> Any:
    # A ``tf.Variable`` has ``read_value``, and a key of ``jax.random`` has ``_base_array``.
    return array.read_value() if hasattr(type(array), "read_value") else getattr(array, "_base_array", array)


def _torch_int16(tensor: Any) -> Any:
    # torch is not imported here, so its dtype comes from a tensor.
    return tensor.new_empty(0).short().dtype


def write_into(array: Any, value: np.ndarray[Any, Any]) -> None:
    """Copy ``value`` into ``array``, a NumPy array or torch tensor, in place.

    Raise ``GuardFailed`` for an array of another class and for a read-only NumPy array.
    """
    if isinstance(array, np.ndarray):
        if not array.flags.writeable:
            raise GuardFailed(
                "the original function writes to its argument, but this numpy array is read-only; pass a "
                "copy of it"
            )
        array[...] = value
        return
    if not hasattr(array, "detach"):
        name = type(array).__name__
        raise GuardFailed(
            f"the original function writes to its argument, but a {_NAMES.get(name, name)} cannot be written "
            "to; pass a numpy array or a "
            "torch tensor, or use graph.functional"
        )
    plain = np.asarray(value.astype(np.float32) if value.dtype.name == "bfloat16" else value, order="C")
    # NumPy allows negative strides of axes of length 1 in row-major arrays, and torch rejects them.
    if min(plain.strides, default=0) < 0:
        plain = plain.copy()
    # The detached tensor shares storage and version counter, so autograd notices the write.
    tensor = array.detach()
    tensor.copy_(tensor.new_tensor(plain))


# --------------------------------------------------------------------------------------------------- failures
# Failures of framework functions: which exceptions are reported, and which results show them as NaN.


def shows_as_nan(tree: Tree, floating: Sequence[bool]) -> bool:
    """Return True if a result has arrays, all of them are floating, and it has no Python number.

    >>> from graph_compiler.trees import flatten
    >>> trees = [flatten(result, lambda item: False)[1] for result in ((1.5j, 2), ("name", None))]
    >>> [shows_as_nan(tree, [True]) for tree in trees]
    [False, True]
    """
    return (
        bool(floating)
        and all(floating)
        and not any(isinstance(item, (bool, int, float, complex)) for item in statics(tree))
    )


_KINDS = (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError)


def failure_text(
    problem: Exception, more: tuple[type[Exception], ...] = (), but: tuple[type[Exception], ...] = ()
) -> str | None:
    """Return the class and first line of an exception that bad arguments may cause in a framework, else None.

    ``more`` adds classes of such exceptions, and ``but`` excludes some.

    >>> failure_text(ValueError("no such axis")), failure_text(StopIteration())
    ('ValueError: no such axis', None)
    """
    if isinstance(problem, but) or not isinstance(problem, (*_KINDS, *more)):
        return None
    return f"{type(problem).__name__}: {str(problem).strip().partition(chr(10))[0]}"
