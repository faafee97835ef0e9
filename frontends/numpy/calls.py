"""Names, properties and arguments of NumPy calls, and their source text."""

from __future__ import annotations

import builtins
import cmath
import functools
import inspect
import math
import operator
import re
import sys
from collections.abc import Callable, Container, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.fft
import numpy.lib.stride_tricks
import numpy.linalg

from ...errors import TracingError
from ...ir.node import Node
from ...ops.dtypes import DTYPES
from ...ops.registry import ArraySpec
from ...ops.text import factor, index_text
from ...recording.recorder import is_subclassed
from ...sizes import Size, Symbol
from ...trees import Branch, Leaf, Path, Tree, TypedLeaf, flatten, leaves_at, map_structure, plain_classes
from ..common.lifter import CALLS, RecordedCalls
from ..common.read_numbers import DTYPES as NUMBER_DTYPES
from ..common.read_numbers import with_numbers
from .draws import GENERATORS
from .draws import METHOD as GENERATOR
from .traced import (
    BINARY,
    COMPARISONS,
    UNARY,
    Flags,
    TracedArray,
    TracedScalar,
    is_traced,
    seen_of,
    symbolic,
)

METHOD = "numpy.ndarray."
_HOST = (math.__name__, cmath.__name__, builtins.__name__)
# Functions of Python that raise if they have no result.
HOST_MATH = tuple(f"{name}." for name in _HOST)
_MODULES = (
    "numpy",
    "numpy.linalg",
    "numpy.fft",
    "numpy.lib.stride_tricks",
    "scipy.special",
    "numpy.lib.scimath",
    "scipy.linalg",
    "scipy.fft",
    "scipy.spatial.distance",
    *_HOST,
)
# Functions of SciPy that run compiled code, which are recorded as calls. The rest of SciPy is followed.
SCIPY = {
    "scipy.linalg": (
        "inv", "det", "solve", "solve_triangular", "cholesky", "cho_solve", "lu", "lu_factor",
        "lu_solve", "qr", "svd", "svdvals", "eigh", "eigvalsh", "pinv", "norm", "expm", "toeplitz",
        "circulant", "block_diag",
    ),
    "scipy.fft": (
        "fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn",
        "rfftn", "irfftn",
    ),
    "scipy.spatial.distance": ("cdist",),
}  # fmt: skip
# Calls in the code of these modules are recorded one by one, as in the user's own code.
PYTHON_MODULES = "numpy.polynomial."
# Operators share the rows of the ufuncs that they are.
_OPERATOR_NAMES = {
    **{f"__{name}__": ufunc.__name__ for name, (_, ufunc) in BINARY.items()},
    "__eq__": "equal", "__ne__": "not_equal", "__lt__": "less", "__le__": "less_equal", "__gt__": "greater",
    "__ge__": "greater_equal", "__neg__": "negative", "__pos__": "positive", "__abs__": "absolute",
    "__invert__": "invert",
}  # fmt: skip
OPERATORS = {f"__{name}__": compute for name, (compute, _) in BINARY.items()} | {
    f"__{name}__": compute for name, compute in {**COMPARISONS, **UNARY}.items()
}


@functools.cache
def _names() -> dict[int, str]:
    found: dict[int, str] = {}
    for module in _MODULES[:4]:
        public = dict(vars(sys.modules[module]))
        for name, item in public.items():
            if callable(item) and not isinstance(item, type) and not name.startswith("_"):
                own = str(getattr(item, "__name__", name))
                # If several modules have a function, the first one counts.
                found.setdefault(id(item), f"{module}.{own if public.get(own) is item else name}")
    return found


def name_of(function: Any) -> str | None:
    """Return the public name of a function of NumPy or SciPy, or None.

    >>> name_of(np.linalg.norm)
    'numpy.linalg.norm'
    """
    own = str(getattr(function, "__name__", ""))
    modules = ("scipy.special",) if isinstance(function, np.ufunc) else (m for m in SCIPY if own in SCIPY[m])
    # A function of SciPy exists only after its module was imported, so nothing is imported here. While
    # recording, the module has a proxy that equals the function.
    return _names().get(id(function)) or next(
        (f"{module}.{own}" for module in modules if getattr(sys.modules.get(module), own, None) == function),
        None,
    )


@functools.cache
def row_key(op: str) -> str:
    """Return the short name by which tables know a call.

    >>> row_key("numpy.linalg.norm"), row_key("numpy.add.reduce")
    ('linalg.norm', 'add.reduce')
    >>> row_key("numpy.ndarray.__rshift__"), row_key("numpy.ndarray.T.__get__")
    ('right_shift', 'T')
    """
    op = op.removesuffix(".__get__").removeprefix(METHOD)
    if op.startswith("__"):
        return _OPERATOR_NAMES.get(op, op)
    for prefix in ("numpy.lib.stride_tricks.", "numpy.", "scipy.special.", CALLS):
        op = op.removeprefix(prefix)
    return op


def resolve(op: str) -> Any:
    """Return the function, method, attribute or operator that the recorded call ``op`` names."""
    if op.startswith(METHOD):
        name = op.removeprefix(METHOD).removesuffix(".__get__")
        return OPERATORS[name] if name in OPERATORS else getattr(np.ndarray, name)
    path, item = op.split("."), None
    for count in range(len(path) - 1, 0, -1):
        if (module := ".".join(path[:count])) in _MODULES and module in sys.modules:
            item = functools.reduce(getattr, path[count:], sys.modules[module])
            break
    if item is None:
        raise AttributeError(op)
    return item


def _strides(array: Any) -> tuple[Any, ...]:
    symbols = [
        Symbol(array._value, axis, step // array.itemsize, "stride")
        for axis, step in enumerate(array._seen.strides)
    ]
    return tuple(symbolic(array._capture, Size.of(symbol) * array.itemsize) for symbol in symbols)


def _flat(array: Any) -> Any:
    # Writes to such a reshaped array would go to a copy.
    if not array._seen.flags.c_contiguous:
        raise TracingError(
            f"{array._capture.here()}: flat of an array that is not contiguous cannot be recorded; use "
            "ravel, or np.copyto"
        )
    return array.reshape(-1)


# Attributes that follow from the shape and dtype, or are computed from the traced array.
ATTRIBUTES: dict[str, Callable[[Any], Any]] = {
    "size": lambda x: functools.reduce(operator.mul, x.shape, 1),
    "itemsize": lambda x: int(x.dtype.itemsize),
    "nbytes": lambda x: x.size * int(x.dtype.itemsize),
    "strides": _strides,
    "flags": Flags,
    "flat": _flat,
    # NumPy has no other device.
    "device": lambda x: "cpu",
}
GETTERS = frozenset({"T", "mT", "real", "imag"})
REFUSED = frozenset({
    "tobytes", "tofile", "dump", "dumps", "data", "ctypes", "base", "resize", "setflags", "setfield",
    "getfield", "byteswap", "newbyteorder", "to_device", "is_integer", "hex", "as_integer_ratio", "fromhex",
    "choose",
})  # fmt: skip
# Calls that write to their first argument, or may, and the name of that parameter.
_WRITTEN = {
    **{f"{METHOD}{name}": "self" for name in ("__setitem__", "fill", "put", "sort", "partition")},
    "numpy.copyto": "dst", "numpy.put": "a", "numpy.place": "arr", "numpy.putmask": "a",
    "numpy.fill_diagonal": "a", "numpy.put_along_axis": "arr", "numpy.nan_to_num": "x",
}  # fmt: skip
# Calls that return a view or a copy, depending on the strides of their argument.
BY_STRIDES = frozenset(
    {"reshape", "ravel", "ascontiguousarray", "asfortranarray", "asarray", "array", "require"}
)
# Calls that read the memory of their argument, whatever its shape and strides are.
BY_MEMORY = frozenset({"as_strided"})
# Calls that return their argument or another array, depending on sizes or elements.
BY_SIZES = frozenset({"squeeze", "real_if_close"})
# Functions other than ufuncs whose numbers are operands with a dtype.
_OPERANDS = frozenset(
    {
        "where",
        "full",
        "full_like",
        "array",
        "asarray",
        "clip",
        "append",
        "select",
        "interp",
        "digitize",
        "searchsorted",
        "isin",
    }
)
# Functions in C whose parameters some versions of NumPy do not tell.
_POSITIONAL = {"dot": ("a", "b", "out"), "concatenate": ("arrays", "axis", "out")}
_TAKES_FUNCTIONS = (type(lambda: None), type(len), functools.partial)


@functools.cache
def proposed_name(key: str) -> str:
    """Return the name that is proposed for the result of a call.

    >>> proposed_name("linalg.norm"), proposed_name("add.outer"), proposed_name("linalg.outer")
    ('norm', 'add', 'outer')
    """
    owner, _, last = key.rpartition(".")
    is_of_ufunc = last in ("reduce", "accumulate", "outer") and owner and f"numpy.{owner}" not in _MODULES
    return (owner if is_of_ufunc else last).strip("_")


def is_operand_call(key: str) -> bool:
    """Return True if NumPy takes the arguments of ``key`` as operands with dtypes, as its ufuncs do."""
    return (
        key in _OPERANDS
        or isinstance(getattr(np, key.partition(".")[0], None), np.ufunc)
        or key == "__setitem__"
    )


def normalize_arguments(
    capture: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    key = row_key(name)
    args, kwargs = map_structure(_scalar, args), map_structure(_scalar, kwargs)
    names = _positional_names(key)
    if "out" in names[: len(args)]:
        place = names.index("out")
        args, kwargs = args[:place], {**dict(zip(names[place:], args[place:])), **kwargs}
    written = _WRITTEN.get(name)
    if written in kwargs:
        args = (kwargs[written], *args)
        kwargs = {each: item for each, item in kwargs.items() if each != written}
    if _argument(key, "overwrite_input", args, kwargs, default=False):
        raise TracingError(
            f"{capture.here()}: with overwrite_input=True, {name} leaves its array in an order that NumPy "
            "does not define, so it cannot be recorded; leave overwrite_input out"
        )
    if any(isinstance(item, _TAKES_FUNCTIONS) for item in (*args, *kwargs.values())):
        raise TracingError(
            f"{capture.here()}: {name} calls a function of Python for each element, which cannot be "
            "recorded; use ufuncs"
        )
    if is_operand_call(key) or key == "__getitem__" or name.startswith("scipy.special."):
        return args, kwargs

    def number(item: Any) -> Any:
        is_whole = isinstance(item, np.integer) and not isinstance(item, np.timedelta64)
        return (
            operator.index(item) if is_whole and (type(item) is TracedScalar or not is_traced(item)) else item
        )

    first = 0 if key in _NUMBERS_ONLY else 1
    return (*args[:first], *map_structure(number, args[first:])), map_structure(number, kwargs)


def _scalar(item: Any) -> Any:
    # NumPy promotes with the dtype of such an instance, unlike with a plain Python number.
    return np.asarray(item)[()] if is_subclassed(item) and not isinstance(item, str) else item


_NUMBERS_ONLY = frozenset(
    {"zeros", "ones", "empty", "eye", "identity", "arange", "tri", "indices", "fft.fftfreq", "fft.rfftfreq"}
)


@functools.cache
def _positional_names(key: str) -> tuple[str, ...]:
    if key in _POSITIONAL:
        return _POSITIONAL[key]
    try:
        parameters = inspect.signature(operator.attrgetter(key)(np)).parameters.values()
    except (AttributeError, TypeError, ValueError):
        return ()
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return ()
    return tuple(p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD))


def _argument(key: str, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], default: Any) -> Any:
    given = {**dict(zip(_positional_names(key), args)), **kwargs}
    return given.get(name, default)


def written_arrays(capture: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """Return the arrays that a call writes to.

    Raise :class:`TracingError` if one of them is not traced.
    """
    out = kwargs.get("out")
    targets = [item for item in (out if isinstance(out, tuple) else (out,)) if item is not None]
    in_place = name in _WRITTEN or name.endswith(".at")
    if name == "numpy.nan_to_num":
        in_place = not _argument("nan_to_num", "copy", args, kwargs, default=True)
    targets += args[:1] if in_place else ()
    for item in targets:
        if type(item) is not TracedArray:
            raise TracingError(
                f"{capture.here()}: {name} writes to an array that the recording does not follow: it was "
                "made outside of the function, or "
                "by a function that was imported by name. Make it in the function with numpy (np.zeros), or "
                "pass it as an argument"
            )
    return targets


@functools.cache
def dtype_name(dtype: Any) -> str | None:
    return dtype.name if dtype.name in DTYPES and dtype.isnative else None


def spec_of(capture: Any, array: Any) -> ArraySpec:
    name = dtype_name(array.dtype)
    if name is None:
        raise TracingError(
            f"{capture.here()}: arrays of {array.dtype!r} cannot be recorded: no other framework has this "
            "data type"
        )
    if isinstance(array, np.ndarray) and type(array) not in (np.ndarray, np.memmap):
        raise TracingError(
            f"{capture.here()}: {type(array).__name__} is a class of arrays of its own; pass np.asarray of it"
        )
    return ArraySpec(tuple(map(int, array.shape)), name)


def is_strided(capture: Any, x: Any, *args: Any, **kwargs: Any) -> bool:
    """Return True unless ``x`` has the strides of row-major order. Set ``capture.reads_layout``."""
    capture.reads_layout = True
    seen = np.asarray(seen_of(x))
    # At other sizes the strides of axes of size 1 matter, too, which NumPy's flags ignore.
    return seen.strides != np.empty_like(seen, order="C").strides


def as_scalar(capture: Any, number: Any) -> Any:
    scalar: Any = np.asarray(number)[()]
    if not isinstance(scalar, np.generic):
        raise TracingError(
            f"{capture.here()}: {number} is larger than any whole number of an array, so it cannot be "
            "computed with as one"
        )
    return scalar


def errstate() -> tuple[tuple[str, str], ...]:
    found = np.geterr()
    if found == _DEFAULT_ERRSTATE:
        return ()
    return tuple((kind, str(how)) for kind, how in found.items() if how != _DEFAULT_ERRSTATE[kind])


_DEFAULT_ERRSTATE = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}


def is_array(item: Any) -> bool:
    if isinstance(item, (np.ndarray, np.generic)):
        return True
    return (
        # A class such as ``np.float64`` has these attributes, too.
        not isinstance(item, type)
        and hasattr(item, "dtype")
        and hasattr(item, "shape")
        and hasattr(item, "__array__")
    )


def as_array(item: Any) -> Any:
    """Return ``item``; convert an array of another framework to a writeable NumPy array."""
    if isinstance(item, (np.ndarray, np.generic, *GENERATORS, *NUMBER_DTYPES)):
        return item
    # torch does not convert a tensor that requires a gradient or is on a GPU.
    array = np.asarray(item.detach().cpu() if hasattr(item, "detach") else item)
    return array if array.flags.writeable else array.copy()


def flatten_arguments(
    args: tuple[Any, ...], kwargs: dict[str, Any], open_numbers: Container[Path]
) -> tuple[list[Any], Tree]:
    leaves, tree = flatten((args, kwargs), lambda item: is_array(item) or isinstance(item, GENERATORS))
    tree = with_numbers(with_leaf_types(plain_classes(tree), iter(leaves)), open_numbers)
    return leaves_at(tree, (args, kwargs)), tree


def with_leaf_types(tree: Tree, leaves: Iterator[Any]) -> Tree:
    """Return ``tree`` with typed leaves for scalars, numbers, generators, and 0-d arrays of numbers or bools.

    ``leaves`` yields the object of each leaf, and is consumed.
    """
    if isinstance(tree, Leaf):
        leaf = next(leaves)
        if isinstance(leaf, (np.generic, *GENERATORS, *NUMBER_DTYPES)):
            return TypedLeaf(type(leaf))
        is_scalar = isinstance(leaf, np.ndarray) and leaf.ndim == 0 and leaf.dtype.kind in "biufc"
        return TypedLeaf(leaf.dtype.type) if is_scalar else tree
    return (
        Branch(tree.type, tree.keys, tuple(with_leaf_types(child, leaves) for child in tree.children))
        if isinstance(tree, Branch)
        else tree
    )


class Inputs:
    """Traced inputs of a recording, in the order of the graph's inputs.

    known: proxies by the ``id`` of the objects that they replace, without those of scalars.
    made: proxies in the order of the inputs; None for numbers.
    """

    def __init__(self, capture: Any) -> None:
        self._capture = capture
        self.known: dict[int, Any] = {}
        self.made: list[Any] = []

    def enter(self, name: str, item: Any) -> Any:
        if type(item) in NUMBER_DTYPES:
            self.made.append(None)
            value = self._capture.recorder.add_number(name, NUMBER_DTYPES[type(item)])
            return symbolic(self._capture, Size.of(Symbol(value, 0, item, "item")))
        array = as_array(item)
        made = (
            self._capture.add_generator(name, array)
            if isinstance(array, GENERATORS)
            else self._capture.add_input(name, array)
        )
        if not isinstance(array, np.generic):
            # The id is that of the user's object, because `as_array` may return a new array each time.
            made = self.known.setdefault(id(item), made)
        self.made.append(made)
        return made


_OPERATORS = {
    "__add__": "{} + {}", "__sub__": "{} - {}", "__mul__": "{} * {}", "__truediv__": "{} / {}",
    "__floordiv__": "{} // {}", "__mod__": "{} % {}", "__pow__": "{} ** {}", "__matmul__": "{} @ {}",
    "__and__": "{} & {}", "__or__": "{} | {}", "__xor__": "{} ^ {}", "__lshift__": "{} << {}",
    "__rshift__": "{} >> {}", "__eq__": "{} == {}", "__ne__": "{} != {}", "__lt__": "{} < {}",
    "__le__": "{} <= {}", "__gt__": "{} > {}", "__ge__": "{} >= {}", "__neg__": "-{}", "__pos__": "+{}",
    "__abs__": "abs({})", "__invert__": "~{}",
}  # fmt: skip


class NumpyCalls(RecordedCalls):
    """Dialect that writes recorded NumPy calls as source text."""

    imports: Mapping[str, str] = {
        "cmath": "import cmath",
        "np": "import numpy as np",
        "parallel": "from graph_compiler import parallel",
        # SciPy imports its modules when they are read.
        "scipy": "import scipy",
        "special": "from scipy import special",
        "stride_tricks": "from numpy.lib import stride_tricks",
    }

    def expression(self, node: Node, text: Callable[[Any], Any]) -> str:
        inputs = [text(item) for item in node.inputs]
        params = {key: text(item) for key, item in node.params.items()}
        if node.op.startswith(GENERATOR):
            return _call(f"{inputs[0]!r}.{node.op.removeprefix(GENERATOR)}", inputs[1:], params)
        if not node.op.startswith(METHOD):
            name = re.sub(r"^numpy\.lib\.stride_tricks\.", "stride_tricks.", node.op)
            return _call(
                re.sub(
                    r"^(scipy\.(?=special)|graph_compiler\.|builtins\.)", "", re.sub(r"^numpy\.", "np.", name)
                ),
                inputs,
                params,
            )
        name = node.op.removeprefix(METHOD)
        if name == "__getitem__":
            return f"{factor(repr(inputs[0]))}[{index_text(inputs[1])}]"
        if name == "__setitem__":
            return f"{inputs[0]!r}[{index_text(inputs[1])}] = {inputs[2]!r}"
        if name.endswith(".__get__"):
            return f"{factor(repr(inputs[0]))}.{name.removesuffix('.__get__')}"
        if name in _OPERATORS:
            return _OPERATORS[name].format(*(factor(repr(item)) for item in inputs))
        return _call(f"{factor(repr(inputs[0]))}.{name}", inputs[1:], params)

    def size(self, array: str, symbol: Symbol) -> str:
        return (
            f"{array}.shape[{symbol.axis}]"
            if symbol.kind == "size"
            else f"{array}.strides[{symbol.axis}] // {array}.itemsize"
        )

    def context(self, node: Node) -> str:
        changed = ", ".join(
            f'{kind}="{how}"' for kind, how in (node.record.errstate if node.record is not None else ())
        )
        return f"np.errstate({changed})" if changed else ""

    def spell(self, item: Any) -> str | None:
        if isinstance(item, np.dtype):
            return f'np.dtype("{item.name}")'
        if isinstance(item, type) and issubclass(item, np.generic):
            return f"np.{np.dtype(item).name}" if item is not np.bool_ else "np.bool_"
        return item.__name__ if item in (bool, int, float, complex) else None


def _call(name: str, inputs: list[Any], params: dict[str, Any]) -> str:
    return (
        f"{name}({', '.join([*map(repr, inputs), *(f'{key}={value!r}' for key, value in params.items())])})"
    )
