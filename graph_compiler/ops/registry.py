"""Declarations of the operations of the canonical vocabulary, and the table of all of them.

An operation is declared by its shape and dtype rule: a function from the metadata of its input arrays
(positional), and its parameters and regions (keyword-only), to the metadata of its outputs. The signature
*is* the operation's signature and the docstring its documentation.

>>> from graph_compiler.ops.registry import ArraySpec, get
>>> get("matmul").infer(ArraySpec((2, 3), "float32"), ArraySpec((3, 4), "float32"))
float32[2, 4]
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from ..errors import DuplicateRow, InvalidGraph, UnknownOperation, nearest
from ..sizes import Dim, Scalar, Size

# For each section, True if its operations may sum products along an axis as matrix products do. Accelerators
# may compute these in lower precision unless told otherwise.
SECTIONS: dict[str, bool] = {
    "activations": False,
    "attention": True,
    "bits": False,
    "collectives": False,
    "control flow": False,
    "convolution": True,
    "creation": False,
    "data types": False,
    "elementwise": False,
    "embedding": False,
    "fft": False,
    "gradients": False,
    "indexing": False,
    "linalg": True,
    "linear algebra": True,
    "linear layers": True,
    "losses": False,
    "manipulation": False,
    "normalisation": False,
    "pooling": False,
    "random": False,
    "recurrent layers": True,
    "resampling": True,
    "searching": False,
    "sets": False,
    "sorting": False,
    "special": False,
    "statistical": False,
    "statistics": True,
    "utility": False,
}


def declare_section(name: str, *, sums_products: bool = False) -> str:
    """Declare a section for operations of your own, and return its name.

    ``sums_products`` is True if its operations may sum products along an axis, as matrix products do. Raise
    ``DuplicateRow`` if the section exists with another value.
    """
    if SECTIONS.setdefault(name, sums_products) is not sums_products:
        raise DuplicateRow(f"the section {name!r} is declared with sums_products={SECTIONS[name]}")
    return name


Rule = TypeVar("Rule", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Unknown:
    """Size that a rule cannot express by the sizes of its inputs, so that it is read from the result.

    hint: the size while recording.
    if_equal: sizes that were broadcast against each other and had the same hint; may be empty. Code that may
        assume that they are equal can use any of them.
    """

    hint: int
    if_equal: tuple[Dim, ...] = ()


@dataclass(frozen=True, slots=True)
class ArraySpec:
    """Shape and dtype of an array.

    shape: ints and sizes; in the result of a rule also ``Unknown(hint)``.
    dtype: the name of the dtype, such as ``"float32"``, or ``"key<fry>"`` for random keys of JAX.
    """

    shape: tuple[Any, ...]
    dtype: str

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def hints(self) -> tuple[int, ...]:
        """Shape of the array while recording, in ints."""
        return tuple([dim.hint if isinstance(dim, (Size, Unknown)) else dim for dim in self.shape])

    def __repr__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"


def check_axis(axis: int, rank: int) -> None:
    """Raise ``InvalidGraph`` unless ``axis`` is one of ``rank`` axes, counted from the front.

    >>> check_axis(-1, 3)
    Traceback (most recent call last):
    graph_compiler.errors.InvalidGraph: axis -1 is not counted from the front, or not below 3
    """
    # Rules, decompositions and backends take such an axis for a position in the shape.
    if not 0 <= axis < rank:
        raise InvalidGraph(f"axis {axis} is not counted from the front, or not below {rank}")


@dataclass(frozen=True, slots=True)
class Op:
    """Declaration of an operation.

    name: its name in graphs.
    section: the section of the vocabulary that it belongs to.
    infer(*specs, **params): the rule, which returns the spec of the output, or a tuple of specs.
    inputs: the names of the array inputs.
    required: the number of inputs without a default, not counting ``*args``.
    variadic: True if the last of the inputs is ``*args``, which takes any number of arrays.
    params: the defaults of the parameters by name; ``REQUIRED`` for a parameter without one.
    doc: the docstring of the rule.
    regions: the names of the blocks that the operation runs, which the rule receives as keyword arguments.
        A single name that starts with ``*`` takes all of them as one tuple.
    """

    name: str
    section: str
    infer: Callable[..., Any]
    inputs: tuple[str, ...]
    required: int
    variadic: bool
    params: dict[str, Any]
    doc: str
    regions: tuple[str, ...] = ()

    def named_regions(self, regions: tuple[Any, ...]) -> dict[str, Any]:
        """Return the regions of a node as keyword arguments of the rule.

        Raise ``InvalidGraph`` if their number is not that of the declaration.
        """
        if self.regions[:1] and self.regions[0].startswith("*"):
            return {self.regions[0][1:]: regions}
        if len(regions) != len(self.regions):
            raise InvalidGraph(
                f"{self.name} runs {', '.join(self.regions) or 'no block'}; {len(regions)} regions were given"
            )
        return dict(zip(self.regions, regions))


_OPS: dict[str, Op] = {}
_DECOMPOSITIONS: dict[str, Callable[..., Any]] = {}
# None is the default of some parameters, so another object marks those without one.
REQUIRED = inspect.Parameter.empty


def declare(
    section: str, *, name: str | None = None, regions: tuple[str, ...] = ()
) -> Callable[[Rule], Rule]:
    """Declare the decorated rule as an operation of ``section``.

    The operation has the name of the rule, without trailing underscores, unless ``name`` is given. Raise
    ``UnknownOperation`` if the section does not exist, and ``DuplicateRow`` if the operation exists already.

    ``regions`` names the arguments of the rule that are blocks (:class:`Op`). The others are arrays, which
    are positional-only or ``*args``, and parameters, which are keyword-only.
    """
    if section not in SECTIONS:
        raise UnknownOperation(
            f"the vocabulary has no section {section!r}{nearest(section, SECTIONS)}; "
            f"declare_section({section!r}) declares one of your own"
        )

    def register(rule: Rule) -> Rule:
        # A rule such as ``sum_`` has the underscore because its operation has the name of a builtin.
        op = _op_of(name or rule.__name__.rstrip("_"), section, rule, regions)
        if op.name in _OPS:
            raise DuplicateRow(
                f"operation {op.name!r} is declared twice: in {_OPS[op.name].section} and in {section}"
            )
        _OPS[op.name] = op
        return rule

    return register


def _op_of(name: str, section: str, rule: Callable[..., Any], regions: tuple[str, ...]) -> Op:
    inputs, params, required, variadic = [], {}, 0, False
    for parameter in inspect.signature(rule).parameters.values():
        # Regions are passed to the rule by name, but belong to the node, not to its parameters.
        if parameter.name in {region.lstrip("*") for region in regions}:
            continue
        if parameter.kind is parameter.KEYWORD_ONLY:
            params[parameter.name] = parameter.default
        elif parameter.kind is parameter.VAR_POSITIONAL:
            variadic = True
            inputs.append(parameter.name)
        elif parameter.kind is parameter.POSITIONAL_ONLY:
            inputs.append(parameter.name)
            required += parameter.default is parameter.empty
        else:
            raise TypeError(
                f"{name}: array inputs come before '/', parameters after '*'; {parameter.name!r} is neither"
            )
    return Op(
        name, section, rule, tuple(inputs), required, variadic, params, inspect.getdoc(rule) or "", regions
    )


def decomposition(name: str) -> Callable[[Rule], Rule]:
    """Register the decorated function as the decomposition of the operation ``name`` into smaller ones.

    It is called as ``f(build, *inputs, **params)`` and returns the outputs. Backends without a row for the
    operation use it.
    """

    def register(function: Rule) -> Rule:
        if name in _DECOMPOSITIONS:
            raise DuplicateRow(f"operation {name!r} has two decompositions")
        # Raises an error if there is no such operation.
        get(name)
        _DECOMPOSITIONS[name] = function
        return function

    return register


def get_decomposition(name: str) -> Callable[..., Any] | None:
    """Return the decomposition of the operation ``name``, or None if it has none."""
    return _DECOMPOSITIONS.get(name)


def get(name: str) -> Op:
    """Return the declaration of an operation. Raise ``UnknownOperation`` if there is none."""
    try:
        return _OPS[name]
    except KeyError:
        raise UnknownOperation(f"the vocabulary has no operation {name!r}{nearest(name, _OPS)}") from None


def find(name: str) -> Op | None:
    return _OPS.get(name)


def all_ops() -> dict[str, Op]:
    """Return a new dict of all operations by name, in the order of their declarations."""
    return dict(_OPS)


def complete_params(op: Op, params: dict[str, Any]) -> dict[str, Any]:
    """Return ``params`` with the defaults of ``op`` filled in, or ``params`` itself if it is complete.

    Raise ``UnknownOperation`` if a parameter is unknown, or if one without a default is missing.
    """
    # Most nodes have all parameters, so the checks below are skipped for them.
    if params.keys() == op.params.keys():
        return params
    for name in params:
        if name not in op.params:
            raise UnknownOperation(
                f"operation {op.name!r} has no parameter {name!r}{nearest(name, op.params)}"
            )
    whole = {name: params.get(name, default) for name, default in op.params.items()}
    missing = [name for name, value in whole.items() if value is REQUIRED]
    if missing:
        raise UnknownOperation(f"operation {op.name!r} needs the parameter(s) {', '.join(missing)}")
    return whole


__all__ = [
    "ArraySpec",
    "Dim",
    "Op",
    "Scalar",
    "Size",
    "Unknown",
    "all_ops",
    "complete_params",
    "declare",
    "decomposition",
    "get",
    "get_decomposition",
]
