"""Replacements in user code for NumPy functions without array protocol (``np.zeros``, ``np.array``).

The module ``numpy`` itself is not changed, because compiled code that calls ``np.empty`` would take a traced
array for a real one. In the modules of the recorded functions, ``np`` is replaced by a shim.
"""

from __future__ import annotations

import functools
import inspect
import random
import sys
import threading
import types
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.polynomial

from ...forwarding import forward, forwards
from ...recording import patches as probes
from ...recording.code.names import names_read
from ...recording.loop_marks import loop_shims
from ...recording.patches.builtin_names import builtin_lookups, conversion_replacements, type_replacements
from ...recording.patches.host_math import Symbols
from ...sizes import Size, compute_guarded, expression_of, is_symbolic
from ...trees import iterate_structure
from .calls import PYTHON_MODULES, SCIPY
from .draws import NAMES, draw
from .reading import fits_everywhere, number_in
from .reimplemented import COMPUTED, OPENED, IndexTrick, TracedVectorize
from .traced import TracedScalar, is_traced, symbolic

_OF_ONE = (
    "sqrt", "cbrt", "exp", "expm1", "exp2", "log", "log1p", "log2", "log10", "sin", "cos", "tan", "asin",
    "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "degrees", "radians", "fabs", "erf",
    "erfc", "gamma", "lgamma", "floor", "ceil", "trunc",
)  # fmt: skip
_ROUNDING = frozenset({"math.floor", "math.ceil", "math.trunc"})
_OF_TWO = ("atan2", "copysign", "fmod", "remainder", "pow")
_OF_COMPLEX = (
    "sqrt", "exp", "log", "log10", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh",
    "asinh", "acosh", "atanh", "phase",
)  # fmt: skip
# Numbers of arguments with which functions become recorded calls.
_COUNTS: dict[str, tuple[int, ...]] = {
    **{f"math.{name}": (1,) for name in _OF_ONE},
    **{f"math.{name}": (2,) for name in _OF_TWO},
    "math.hypot": (2,),
    "math.log": (1, 2),
    **{f"cmath.{name}": (1,) for name in _OF_COMPLEX},
    "cmath.log": (1, 2),
    "cmath.rect": (2,),
    "builtins.complex": (1, 2),
}


def is_number(item: Any) -> bool:
    return type(item) is TracedScalar and item._value in item._capture.weak


def record_host_math(
    current: Callable[[], Any], name: str, original: Callable[..., Any], args: tuple[Any, ...]
) -> Any:
    """Return the recorded result of a call of ``math``, ``cmath`` or ``complex``, or NotImplemented."""
    capture = current()
    if capture is None or not all(
        isinstance(leaf, (int, float, complex)) for leaf in iterate_structure(args)
    ):
        return NotImplemented
    # Larger integers would overflow in targets with 32-bit integers.
    if name in _ROUNDING and not fits_everywhere(args[0]):
        return NotImplemented
    if name in _BY_UFUNCS:
        return _BY_UFUNCS[name](*args)
    if name == "builtins.complex" and any(isinstance(item, complex) for item in args):
        return args[0] if len(args) == 1 else NotImplemented
    if name == "math.fsum":
        return _record_number(capture, name, original, args)
    return (
        _record_number(capture, name, original, args)
        if len(args) in _COUNTS.get(name, ())
        else NotImplemented
    )


def _record_number(capture: Any, name: str, original: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    return capture.record(name, original, args, {}, lambda: True, reads=True)


def _as_number(item: Any) -> Any:
    number = number_in(item._capture, item) if is_traced(item) else None
    return item if number is None else number


def _modf(x: Any) -> Any:
    return tuple(map(_as_number, np.modf(x)))


def _frexp(x: Any) -> Any:
    return tuple(map(_as_number, np.frexp(x)))


def _polar(x: Any) -> Any:
    # Imported here so that the shim of the module is found.
    import cmath

    return abs(x), cmath.phase(x)


# Functions that are recorded as NumPy functions.
_BY_UFUNCS: dict[str, Callable[..., Any]] = {
    "math.modf": _modf,
    "math.frexp": _frexp,
    "math.nextafter": lambda x, y: _as_number(np.nextafter(x, y)),
    "math.ulp": lambda x: _as_number(np.spacing(np.abs(x))),
    "math.ldexp": lambda x, exponent: _as_number(np.ldexp(x, exponent)),
    "cmath.polar": _polar,
}


_here = threading.local()


def current() -> Any:
    capture = getattr(_here, "capture", None)
    # While a recorded call runs, NumPy's own code must get NumPy's functions.
    if capture is None or capture.call.is_running or not capture.call.is_open:
        return None
    return capture


def _recording_function(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    @forwards
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        capture = current()
        if capture is None or _is_foreign(name, args, kwargs):
            return original(*args, **kwargs)
        # ``like`` selects the class of the result, which is a proxy here anyway.
        kwargs = {key: item for key, item in kwargs.items() if key != "like"}
        return capture.record(name, original, args, kwargs)

    return wrapper


def _is_foreign(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    # Strings after the elements are dtypes or orders.
    # Arrays of strings, objects and dates are not recorded.
    elements = 2 if name.startswith("numpy.full") else 1
    types = (
        kwargs.get("dtype"),
        *(item for item in args[elements:] if isinstance(item, (str, type, np.dtype)) and _is_type(item)),
    )
    items = list(iterate_structure((args, kwargs)))
    if any(isinstance(item, (str, bytes)) for item in iterate_structure(args[:elements])) or any(
        map(_is_no_number, types)
    ):
        return True
    return any(
        _is_no_number(getattr(item, "dtype", None))
        for item in items
        if isinstance(item, (np.ndarray, np.generic)) and not is_traced(item)
    )


def _is_type(item: Any) -> bool:
    try:
        return bool(np.dtype(item))
    except TypeError:
        return False


def _is_no_number(dtype: Any) -> bool:
    return dtype is not None and np.dtype(dtype).kind not in "biufc"


# Functions whose first argument is a pair of an array and its pivots or a flag.
_OF_PAIRS = frozenset({"scipy.linalg.cho_solve", "scipy.linalg.lu_solve"})


def _recording_if_traced(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that records a call of SciPy's function ``original`` if an argument is traced."""
    signature = inspect.signature(original)
    first = next(iter(signature.parameters))

    @functools.wraps(original)
    @forwards
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        capture = current()
        if capture is None or not _holds_traced((args, kwargs)):
            # SciPy's own calls of NumPy are not the user's.
            with unrecorded():
                return original(*args, **kwargs)
        given = signature.bind(*args, **kwargs)
        for key, item in given.arguments.items():
            # A result in the memory of an argument would be taken for the argument.
            if key.startswith("overwrite_"):
                given.arguments[key] = False
            elif isinstance(item, list) and not (name in _OF_PAIRS and key == first):
                (given.arguments[key],) = _with_arrays((item,))
        is_number = False

        def computed(*args: Any, **kwargs: Any) -> Any:
            nonlocal is_number
            result = forward(original, *args, **kwargs)
            is_number = type(result) is float
            return np.float64(result) if is_number else result

        return capture.record(name, computed, given.args, given.kwargs, lambda: is_number)

    return wrapper


def _recording_conversion(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    record = _recording_function(name, original)

    @functools.wraps(original)
    def wrapper(a: Any, *args: Any, **kwargs: Any) -> Any:
        if current() is None or (isinstance(a, np.ndarray) and not is_traced(a)):
            return forward(original, a, *args, **kwargs)
        return record(a, *args, **kwargs)

    return wrapper


def _recording_sampler(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    @forwards
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        capture = current()
        return original(*args, **kwargs) if capture is None else draw(capture, None, name, args, kwargs)

    return wrapper


def _reimplementation(compute: Callable[..., Any], original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    @forwards
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return original(*args, **kwargs) if current() is None else compute(recorded, *args, **kwargs)

    return wrapper


def _expressions(args: tuple[Any, ...]) -> tuple[Any, ...] | None:
    operands = tuple(map(expression_of, args))
    return (
        operands
        if current() is not None and all(isinstance(item, (Size, int, float)) for item in operands)
        else None
    )


def _compute_symbolic(function: Callable[..., Any], operands: tuple[Any, ...]) -> Any:
    capture = current()
    return symbolic(capture, compute_guarded(function, operands, capture.decide))


def _number(item: Any) -> Any:
    number = number_in(item._capture, item) if is_traced(item) and current() is not None else None
    return item if number is None else number


def _length(item: Any) -> Any:
    return item.shape[0] if is_traced(item) and item.ndim and current() is not None else None


def _loops() -> Any:
    capture = current()
    return None if capture is None else capture.loops


SYMBOLS = Symbols(
    is_symbolic,
    _expressions,
    _compute_symbolic,
    _number,
    _length,
    is_number,
    functools.partial(record_host_math, current),
)


_CREATION = (
    "zeros", "ones", "empty", "full", "eye", "identity", "arange", "linspace", "logspace", "geomspace", "tri",
    "array", "indices", "tril_indices", "triu_indices", "hanning", "hamming", "blackman", "bartlett",
    "kaiser", "zeros_like", "ones_like", "empty_like", "full_like", "copy", "diag", "meshgrid",
)  # fmt: skip
_CONVERTING = ("asarray", "asanyarray", "ascontiguousarray", "asfortranarray")
Place = tuple[Any, str]


_MODULES_OF_SCIPY = ("scipy", "scipy.spatial", "scipy.special", *SCIPY)


def _per_loaded_module(make: Callable[[], Any]) -> Callable[[], Any]:
    """Return ``make`` with its result cached for each value of :func:`_loaded`."""
    made = functools.cache(lambda loaded: make())
    return functools.wraps(make)(lambda: made(_loaded()))


def _loaded() -> tuple[str, ...]:
    # Another thread may be importing a module, which is incomplete until then.
    return tuple(
        name
        for name in _MODULES_OF_SCIPY
        if name in sys.modules and not getattr(sys.modules[name].__spec__, "_initializing", False)
    )


@_per_loaded_module
def replacements() -> dict[Place, tuple[Any, Any]]:
    """Return pairs of an original function or object and its replacement, by module and name."""
    found: dict[Place, tuple[Any, Any]] = {}

    def replace(module: Any, name: str, make: Callable[[Callable[..., Any]], Any]) -> None:
        original = _original_of(getattr(module, name))
        found[module, name] = (original, _Proxy(original, make(original)))

    for name in _CREATION:
        replace(np, name, functools.partial(_recording_function, f"numpy.{name}"))
    for name in _CONVERTING:
        replace(np, name, functools.partial(_recording_conversion, f"numpy.{name}"))
    for name in ("fftfreq", "rfftfreq"):
        replace(np.fft, name, functools.partial(_recording_function, f"numpy.fft.{name}"))
    for name in (*NAMES, "shuffle"):
        if hasattr(np.random, name):
            replace(np.random, name, functools.partial(_recording_sampler, name))
    replace(
        np.lib.stride_tricks,
        "as_strided",
        functools.partial(_recording_conversion, "numpy.lib.stride_tricks.as_strided"),
    )
    loaded = _loaded()
    for module, names in SCIPY.items():
        for name in names if module in loaded else ():
            replace(sys.modules[module], name, functools.partial(_recording_if_traced, f"{module}.{name}"))
    for path, opened in OPENED.items():
        module, _, name = path.rpartition(".")
        if module in ("numpy", *loaded):
            replace(sys.modules[module], name, functools.partial(_reimplementation, opened))
    for name, compute in COMPUTED.items():
        found[np, name] = (
            getattr(np, name),
            IndexTrick(getattr(np, name), recorded, lambda: current() is not None, compute),
        )
    return found


class _ModuleShim(types.ModuleType):
    """Shim of a module in the user's code, which has recording functions instead of some of the module's."""

    def __init__(self, module: types.ModuleType) -> None:
        super().__init__(module.__name__)
        self.__dict__["_module"] = module

    def __getattr__(self, name: str) -> Any:
        module = self.__dict__["_module"]
        pair = replacements().get((module, name))
        if pair is not None:
            return pair[1]
        item = _shim_of(_original_of(getattr(module, name)))
        return _of_lists(item) if _takes_lists(name, item) else item


# Functions that get lists as they are; most of them dispatch on the items. Other functions dispatch on the
# list itself, which has no array protocol.
_OF_SEQUENCES = frozenset({
    "concatenate", "concat", "stack", "vstack", "hstack", "dstack", "column_stack", "row_stack", "block",
    "select", "choose", "lexsort", "ix_", "multi_dot", "broadcast_shapes", "broadcast_arrays", "where",
    "ravel_multi_index", "reshape", "full", "pad", "histogramdd",
})  # fmt: skip


def _takes_lists(name: str, item: Any) -> bool:
    return isinstance(item, np.ufunc) or (type(item) is type(np.sum) and name not in _OF_SEQUENCES)


_METHODS_OF_UFUNCS = frozenset({"reduce", "accumulate", "reduceat", "outer"})


class _Proxy:
    """Proxy for ``original``, a function of NumPy or SciPy, that calls ``call`` instead."""

    def __init__(self, original: Any, call: Callable[..., Any]) -> None:
        self._original = self.__wrapped__ = original
        self._call = call
        # Like a wrapped function, it counts as NumPy's where the user's loops are checked for side effects.
        self.__module__ = getattr(original, "__module__", None) or "numpy"

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        # The user's code may ask with ``isinstance`` for a ufunc.
        return type(self._original)

    def __getattr__(self, name: str) -> Any:
        item = getattr(self._original, name)
        return _of_lists(item) if name in _METHODS_OF_UFUNCS else item

    def __repr__(self) -> str:
        return repr(self._original)

    # The user's code may look it up in a dict that holds the original.
    def __eq__(self, other: object) -> bool:
        return _original_of(other) is self._original

    def __hash__(self) -> int:
        return hash(self._original)

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        # NumPy's functions are copied by reference, too.
        return self

    def __reduce__(self) -> Any:
        return _original_of, (self._original,)

    @forwards
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call(*args, **kwargs)


def _original_of(item: Any) -> Any:
    # The class that ``isinstance`` sees is that of the original.
    return item._original if type(item) is _Proxy else item


@functools.cache
def _of_lists(function: Any) -> _Proxy:
    """Return a proxy of ``function`` that, while recording, makes arrays of positional lists of arrays."""

    @forwards
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*_with_arrays(args), **kwargs)

    return _Proxy(function, call)


def _with_arrays(args: tuple[Any, ...]) -> tuple[Any, ...]:
    if current() is None:
        return args
    # An example is ``np.max([x[0], x[1]])``.
    return tuple(
        recorded("array")(item) if isinstance(item, (list, tuple)) and _holds_traced(item) else item
        for item in args
    )


def _make_polynomial(session: Any, original: Any, polynomial: Any, *args: Any, **kwargs: Any) -> None:
    original(polynomial, *_with_arrays(args), **kwargs)


# The class stays NumPy's, which its results are objects of.
POLYNOMIALS = (probes.Patch(np.poly1d, "__init__", probes.replace_call, _make_polynomial),)


def _holds_traced(items: Any) -> bool:
    return any(is_traced(item) for item in iterate_structure(items))


@_per_loaded_module
def _module_shims() -> dict[types.ModuleType, _ModuleShim]:
    modules = [np, np.fft, np.linalg, np.random, np.lib, np.lib.stride_tricks, random]
    modules += [sys.modules[name] for name in _loaded()]
    return {module: _ModuleShim(module) for module in modules}


def _shim_of(item: Any) -> Any:
    return _module_shims().get(item, item) if isinstance(item, types.ModuleType) else item


def replacement_of(item: Any) -> Any:
    """Return the object to use while recording instead of ``item``, or None."""
    if type(item) is np.vectorize:
        return TracedVectorize(recorded, item)
    if isinstance(item, types.ModuleType):
        return _module_shims().get(item)
    # A cache would store traced arrays, or return earlier results to the recording.
    if isinstance(item, functools._lru_cache_wrapper):
        return item.__wrapped__
    return _by_identity().get(id(item))


def replaced_function(item: Any) -> Any:
    return _by_identity().get(id(item), item)


@_per_loaded_module
def _by_identity() -> dict[int, Any]:
    return {id(original): new for original, new in _replaced_functions()}


@_per_loaded_module
def _replaced_functions() -> list[tuple[Any, Any]]:
    of_lists = [
        (_original_of(item), _of_lists(_original_of(item)))
        for module in _module_shims()
        for name, item in list(vars(module).items())
        if _takes_lists(name, item)
    ]
    return [*of_lists, *replacements().values()]


def is_replaced(function: Any) -> bool:
    return any(
        function is original and module is not np.random
        for (module, _), (original, _) in replacements().items()
    )


def recorded(name: str) -> Any:
    return replacements()[np, name][1]


@functools.cache
def _written_in_python() -> list[dict[str, Any]]:
    # Another thread may import a module meanwhile, which would change `sys.modules` during the iteration.
    return [vars(module) for name, module in [*sys.modules.items()] if name.startswith(PYTHON_MODULES)]


@contextmanager
def replaced(
    capture: Any, functions: Iterable[types.FunctionType], others: Iterable[dict[str, Any]] = ()
) -> Iterator[None]:
    """Let ``capture`` record the operations of this thread inside the ``with`` block."""
    before = getattr(_here, "capture", None)
    spaces = [
        (function.__globals__, name) for function in functions for name in names_read(function.__code__)
    ]
    # ``numpy.polynomial`` is written in Python, and calls functions such as ``np.zeros`` as the user's code
    # does.
    spaces += [(space, "np") for space in _written_in_python()]
    modules = [
        (space, name, _shim_of(space[name]))
        for space, name in spaces
        if isinstance(space.get(name), types.ModuleType)
    ]
    _here.capture = capture
    try:
        names = [
            *type_replacements(spaces, lambda item: is_traced(item) or is_symbolic(item)),
            *conversion_replacements(builtin_lookups(functions), SYMBOLS),
        ]
        imported = probes.under_any_name(others, _replaced_functions())
        with probes.replaced((*imported, *modules, *names, *loop_shims(functions, _loops))):
            yield
    finally:
        _here.capture = before


@contextmanager
def unrecorded() -> Iterator[None]:
    before, _here.capture = getattr(_here, "capture", None), None
    try:
        yield
    finally:
        _here.capture = before


__all__ = ["current", "is_symbolic", "replaced", "replacement_of", "unrecorded"]
