"""Derivatives: gradients, vjp, jvp, linearization, Jacobians and Hessians."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

from ..contracts import Derivatives
from ..contracts.derivatives import Arrays, VmapSpec
from ..errors import CallMismatch, InvalidOption
from ..ir.graph import Graph as IRGraph
from ..passes import strong_zero
from ..runtime import Graph
from ..runtime.boundary import public
from ..runtime.frameworks import backend_of
from ..runtime.options import require_function
from ..trees import iterate_structure, map_structure
from .functions import (
    DifferentiatedCall,
    Function,
    FunctionWrapper,
    converter_to,
    default_framework,
    framework_for,
    graph_of,
    is_inside,
    lazy_graph,
    location_text,
    name_of,
    owner_of,
    position_of,
    resolve_function,
    target_of,
)
from .jitting import Jitted
from .transformed import DerivativeOptions, Transformed

Chosen = tuple[Sequence[int], Sequence[str]]


def argument_positions(
    argnums: int | Sequence[int] | None, argnames: str | Sequence[str] | None
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Return ``(positions, names)`` of the differentiated arguments.

    If both options are None, the first argument is differentiated.
    """
    if argnums is None:
        argnums = () if argnames is not None else 0
    numbers = tuple(argnums) if isinstance(argnums, (tuple, list, range)) else (argnums,)
    given: Any = argnames
    is_several = isinstance(given, Iterable) and not isinstance(given, str)
    names = () if given is None else tuple(given) if is_several else (given,)
    if any(type(number) is not int for number in numbers):
        raise InvalidOption(f"argnums= is {argnums!r}, and has to be a position of an argument, or several")
    if any(type(name) is not str for name in names):
        raise InvalidOption(f"argnames= is {argnames!r}, and has to be a name of an argument, or several")
    return numbers, names


def arrange(items: Sequence[Any], argnums: Any, argnames: Any) -> Any:
    """Arrange the derivatives of several arguments as ``argnums`` and ``argnames`` request."""
    numbers, names = argument_positions(argnums, argnames)
    by_position = items[0] if isinstance(argnums, int) or argnums is None else tuple(items[: len(numbers)])
    by_name = items[len(numbers)] if isinstance(argnames, str) else dict(zip(names, items[len(numbers) :]))
    if not names:
        return by_position
    return by_name if not numbers else (by_position, by_name)


class StrongZeroFunction(FunctionWrapper):
    """Wrapper of a function whose derivatives are those after :func:`~graph_compiler.passes.strong_zero`.

    chosen: positions and names of the differentiated arguments; None for all.
    """

    def __init__(self, function: Any, chosen: Chosen | None) -> None:
        if not isinstance(function, FunctionWrapper):
            require_function("a transform with strong_zero=True", function)
        self.function, self.chosen, self.__name__ = function, chosen, name_of(function)

    def resolve(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Function:
        inner = self.function
        if isinstance(inner, Transformed):
            return Transformed(
                StrongZeroFunction(inner.function, None), inner.rule, inner.words, inner.inner_arguments
            ).resolve(args, kwargs)
        if isinstance(inner, Jitted):
            compiled, args, kwargs = inner.resolve_call(args, kwargs)
            strong = strong_zero_graph(compiled)
            # A static argument stays a number.
            resolve = resolve_function if self.chosen is None else self._resolve_graph
            return resolve(strong, args, kwargs)
        if isinstance(inner, FunctionWrapper):
            return inner.resolve(args, kwargs)
        graph = graph_of(inner)
        if graph is None:
            return self._resolve_plain(args, kwargs)
        strong = strong_zero_graph(graph)
        return self._resolve_graph(
            strong if graph is inner else getattr(strong, inner.__name__), args, kwargs
        )

    @property
    def source(self) -> str:
        graph = graph_of(self.function)
        return super().source if graph is None else strong_zero_graph(graph).source

    def _resolve_plain(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Function:
        framework = framework_for(self.function, args, kwargs)
        # A framework without derivatives (NumPy) has its functions recorded for another one.
        has_derivatives = backend_of(framework).derivatives() is not None
        graph = strong_zero_graph(
            lazy_graph(self.function, framework, framework if has_derivatives else default_framework())
        )
        found = self._resolve_graph(graph, args, kwargs)
        # The recording holds such arrays as constants, outside the trace of the enclosing transform.
        if is_inside() and (
            held := [
                *_arrays_in_closure(self.function),
                *(name for one in graph.variants for name in _stored_arrays(one.graph)),
            ]
        ):
            raise CallMismatch(
                f"{self.__name__} is recorded for strong_zero=True inside of another transform, and holds "
                f"arrays beside its arguments ({', '.join(held)}): a derivative would take them for "
                "constants. Make them arguments, or take strong_zero=True in the outermost "
                f"transform{location_text(self.function)}"
            )
        return found if has_derivatives else replace(found, convert_result=converter_to(graph, framework))

    def _resolve_graph(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Function:
        graph: Any = graph_of(function)
        derivatives = backend_of(target_of(graph, args, kwargs)).derivatives()
        given = self._with_arrays(derivatives, args, kwargs) if derivatives is not None else (args, kwargs)
        return resolve_function(function, *given)

    def _with_arrays(self, derivatives: Derivatives, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        # A recording takes arrays as inputs, but Python numbers as constants.
        numbers, names = self.chosen or (range(len(args)), tuple(kwargs))
        places = {number % len(args) for number in numbers if args} | {
            position_of(self.function, name, args) for name in names
        }
        convert = functools.partial(
            map_structure,
            lambda item: derivatives.array(item) if isinstance(item, (float, complex)) else item,
        )
        given = tuple(convert(item) if place in places else item for place, item in enumerate(args))
        return given, {name: convert(item) if name in names else item for name, item in kwargs.items()}


def _arrays_in_closure(function: Any) -> list[str]:
    code, cells = getattr(function, "__code__", None), getattr(function, "__closure__", None) or ()
    named = zip(code.co_freevars if code is not None else (), cells)
    return [
        name
        for name, cell in named
        if any(owner_of(item) is not None for item in iterate_structure(_cell_contents(cell)))
    ]


def _cell_contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        # The closure variable has no value yet.
        return None


def _stored_arrays(graph: IRGraph) -> tuple[str, ...]:
    return (*graph.parameters, *graph.constants)


# Weak keys, so that the table keeps no graph alive.
_graphs: WeakKeyDictionary[Graph, tuple[int, Graph]] = WeakKeyDictionary()


def strong_zero_graph(graph: Graph) -> Graph:
    count = len(graph.variants)
    before, made = _graphs.get(graph, (-1, graph))
    # Variants that were recorded since get strong zeros, too.
    if before != count:
        made = graph.with_passes(strong_zero)
        _graphs[graph] = count, made
    return made


def with_strong_zero(function: Any, strong_zero: bool, chosen: Chosen | None = None) -> Any:
    return StrongZeroFunction(function, chosen) if strong_zero else function


@public
def grad(
    function: Any,
    argnums: int | Sequence[int] | None = None,
    argnames: str | Sequence[str] | None = None,
    has_aux: bool = False,
    strong_zero: bool = False,
) -> Transformed:
    """Return a function that computes the gradient of ``function``, whose result is one real number.

    The derivative is the framework's own (such as ``jax.vjp`` or ``tf.GradientTape``), and may be transformed
    again. The gradient has the structure of the argument, and is zero for arrays without
    derivatives in it (such as integers, and buffers of ``functional``). With respect to a complex argument it
    is ``df/d(Re z) + i df/d(Im z)`` in every framework, so ``z - rate * gradient`` descends: torch's
    convention, the conjugate of ``jax.grad``'s.

    Args:
        function: Graph, ``functional`` of a graph, or function of torch, JAX, TensorFlow or NumPy. A NumPy
            function is recorded for another framework and returns NumPy arrays.
        argnums: Position of the differentiated argument; the first if ``argnames`` is None, too. For a
            sequence, a tuple of gradients is returned.
        argnames: Name of the argument. For a sequence, a dict of gradients is returned; with ``argnums``, a
            pair of both results.
        has_aux: ``function`` returns ``(value, aux)``, and ``(gradient, aux)`` is returned.
        strong_zero: Zero times infinity or NaN is zero in derivatives of elementwise operations, so that a
            branch that was not taken adds nothing there. The function is recorded for it.

    Raises:
        InvalidOption: ``argnums`` is not an int or a tuple, list or range of ints; ``argnames`` has an item
            that is not a string; or, at the call, no argument is chosen, or an argument twice.
        CallMismatch: At the call, if the result is not a real scalar, or a differentiated argument is missing
            or is an integer, a bool or an array of these.
        GradientRefused: At the call, if the framework reports that an operation has no derivative.
        NotCompilable: ``function`` is not callable; or, at the call, it is a graph written in NumPy.

    >>> import torch
    >>> from graph_compiler import transforms
    >>> transforms.grad(lambda x: (x**3).sum())(torch.tensor([1.0, 2.0]))
    tensor([ 3., 12.])
    >>> transforms.grad(transforms.grad(lambda x: x**3))(torch.tensor(2.0))
    tensor(12.)
    >>> root = lambda x: torch.where(x > 0, torch.sqrt(x), 0.0)
    >>> transforms.grad(root)(torch.tensor(0.0)), transforms.grad(root, strong_zero=True)(torch.tensor(0.0))
    (tensor(nan), tensor(0.))
    """
    function = with_strong_zero(function, strong_zero, chosen := argument_positions(argnums, argnames))
    return Transformed(
        function,
        _rule("grad", argnums, argnames, has_aux, _gradient_alone),
        "grad",
        differences=DerivativeOptions(chosen, has_aux),
    )


@public
def value_and_grad(
    function: Any,
    argnums: int | Sequence[int] | None = None,
    argnames: str | Sequence[str] | None = None,
    has_aux: bool = False,
    strong_zero: bool = False,
) -> Transformed:
    """Return a function that computes ``(value, gradient)``; with ``has_aux``, ``((value, aux), gradient)``.

    Options and errors are those of :func:`grad`.

    >>> import torch
    >>> from graph_compiler import transforms
    >>> function = transforms.value_and_grad(lambda x, y: (x * y).sum(), argnums=(0, 1))
    >>> function(torch.ones(2), torch.full((2,), 3.0))
    (tensor(6.), (tensor([3., 3.]), tensor([1., 1.])))
    """
    function = with_strong_zero(function, strong_zero, chosen := argument_positions(argnums, argnames))
    return Transformed(
        function,
        _rule("value_and_grad", argnums, argnames, has_aux, _value_and_gradient),
        "value_and_grad",
        differences=DerivativeOptions(chosen, has_aux, has_value=True),
    )


@public
def vjp(function: Any, *primals: Any, has_aux: bool = False, strong_zero: bool = False) -> Any:
    """Call ``function`` and return ``(result, pull)``, with ``has_aux`` ``(result, pull, aux)``.

    ``pull`` maps a cotangent with the structure of the result to a tuple with one cotangent for each
    argument: the conjugate transpose of the derivative.

    Args:
        function: As in :func:`grad`.
        primals: Arguments.
        has_aux: ``function`` returns ``(result, aux)``.
        strong_zero: As in :func:`grad`.

    Raises:
        CallMismatch: All arguments are integers, bools or arrays of these; no result has a derivative;
            ``function`` returns no pair with ``has_aux``; or, when ``pull`` is called, the cotangent differs
            from the result in its number of arrays or in the shape of a differentiable one.
        InvalidOption: ``primals`` is empty.
        GradientRefused: As for :func:`grad`.
        NotCompilable: As for :func:`grad`.

    >>> import torch
    >>> from graph_compiler import transforms
    >>> result, pull = transforms.vjp(lambda x, y: x * y, torch.tensor(2.0), torch.tensor(5.0))
    >>> result, pull(torch.tensor(1.0))
    (tensor(10.), (tensor(5.), tensor(2.)))
    """
    found = resolve_function(with_strong_zero(function, strong_zero), primals, {})
    call = DifferentiatedCall(found, "vjp", primals, {}, (range(len(primals)), ()), has_aux)
    results, extras, pull = call.vjp()

    @public
    def pulled(cotangent: Any) -> Any:
        arrays = pull(call.cotangents(cotangent, results))
        return tuple(found.convert_result(call.unflatten_like_arguments(arrays)))

    result = found.convert_result(call.result(results, extras))
    return (result, pulled, found.convert_result(call.aux(extras))) if has_aux else (result, pulled)


Finished = Callable[[DifferentiatedCall, Arrays, Arrays, Any], Any]


def _rule(words: str, argnums: Any, argnames: Any, has_aux: bool, finished: Finished) -> Callable[..., Any]:
    chosen = argument_positions(argnums, argnames)

    def rule(function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        call = DifferentiatedCall(function, words, args, kwargs, chosen, has_aux)
        results, extras, pull = call.vjp()
        gradients = pull([_unit_cotangent(call, results, extras)])
        return finished(
            call, results, extras, arrange(call.unflatten_like_arguments(gradients), argnums, argnames)
        )

    return rule


def _unit_cotangent(call: DifferentiatedCall, results: Arrays, extras: Arrays) -> Any:
    """Return the cotangent 1 of the result, or raise ``CallMismatch`` if it is not one real number."""
    derivatives = call.function.derivatives
    result = call.result(results, extras)
    is_number = len(results) == 1 and result is results[0] and tuple(result.shape) == ()
    if is_number and not derivatives.is_complex(result):
        return derivatives.basis(result)[0]
    remedy = "take jacrev, or sum or mean of it"
    what = f"an array of the shape {list(getattr(result, 'shape', []))}"
    if is_number:
        what, remedy = "a complex number", "take its real part or absolute value, or vjp"
    elif not hasattr(result, "shape"):
        what, remedy = f"a {type(result).__name__}", "return the number alone, and the rest with has_aux=True"
    raise CallMismatch(
        f"{call.words} of {call.function.name}: the result has to be one real number, and is {what}; "
        f"{remedy}{location_text(call.function.call)}"
    )


def _gradient_alone(call: DifferentiatedCall, results: Arrays, extras: Arrays, gradient: Any) -> Any:
    return (gradient, call.aux(extras)) if call.has_aux else gradient


def _value_and_gradient(call: DifferentiatedCall, results: Arrays, extras: Arrays, gradient: Any) -> Any:
    value = call.result(results, extras)
    return ((value, call.aux(extras)), gradient) if call.has_aux else (value, gradient)


@public
def jvp(
    function: Any,
    primals: Sequence[Any],
    tangents: Sequence[Any],
    has_aux: bool = False,
    strong_zero: bool = False,
) -> Any:
    """Call ``function`` and return ``(result, tangent)``, the result and its directional derivative.

    The tangent of a result without a derivative is zero.

    Args:
        function: As in :func:`grad`.
        primals: Tuple or list of the arguments.
        tangents: Tuple or list with a tangent for each argument, of the argument's structure and shapes.
            Tangents of integer arrays are ignored.
        has_aux: ``function`` returns ``(result, aux)``, and ``(result, tangent, aux)`` is returned.
        strong_zero: As in :func:`grad`.

    Raises:
        CallMismatch: ``primals`` or ``tangents`` is not a tuple or list; they differ in the number of arrays
            or in the shape of a differentiable one; all arguments are integers, bools or arrays of these; no
            result has a derivative; or ``function`` returns no pair with ``has_aux``.
        InvalidOption: ``primals`` is empty.
        GradientRefused: As for :func:`grad`.
        NotCompilable: As for :func:`grad`.

    >>> import torch
    >>> from graph_compiler import transforms
    >>> transforms.jvp(lambda x: x**2, (torch.tensor(3.0),), (torch.tensor(1.0),))
    (tensor(9.), tensor(6.))
    """
    args, tangents = _arguments("jvp", function, primals=primals, tangents=tangents)
    found = resolve_function(with_strong_zero(function, strong_zero), args, {})
    call = DifferentiatedCall(found, "jvp", args, {}, (range(len(args)), ()), has_aux)
    results, extras, out = call.jvp(call.tangents(tangents))
    given = call.result(results, extras), call.unflatten_like_result(out, extras)
    return found.convert_result((*given, call.aux(extras)) if has_aux else given)


@public
def linearize(function: Any, *primals: Any, strong_zero: bool = False) -> tuple[Any, Callable[..., Any]]:
    """Call ``function`` and return ``(result, push)``: the result, and the linearization there.

    ``push(*tangents)`` takes one tangent for each argument and returns the tangent of the result.

    Args:
        function: As in :func:`grad`.
        primals: Arguments.
        strong_zero: As in :func:`grad`.

    Raises:
        CallMismatch: All arguments are integers, bools or arrays of these; no result has a derivative; or,
            when ``push`` is called, the tangents differ from the arguments in their number of arrays or in
            the shape of a differentiable one.
        InvalidOption: ``primals`` is empty.
        GradientRefused: As for :func:`grad`.
        NotCompilable: As for :func:`grad`.

    >>> import torch
    >>> from graph_compiler import transforms
    >>> result, push = transforms.linearize(torch.sin, torch.tensor(0.0))
    >>> push(torch.tensor(2.0))
    tensor(2.)
    """
    found = resolve_function(with_strong_zero(function, strong_zero), primals, {})
    call = DifferentiatedCall(found, "linearize", primals, {}, (range(len(primals)), ()), False)
    results, extras, push = call.linearize()

    @public
    def pushed(*tangents: Any) -> Any:
        return found.convert_result(call.unflatten_like_result(push(call.tangents(tangents)), extras))

    return found.convert_result(call.result(results, extras)), pushed


@public
def hvp(function: Any, primals: Sequence[Any], tangents: Sequence[Any], strong_zero: bool = False) -> Any:
    """Return the Hessian of ``function`` at ``primals`` multiplied by ``tangents``.

    ``function`` must return one real number. For several arguments a tuple is returned.

    Args:
        function: As in :func:`grad`.
        primals: Tuple or list of the arguments.
        tangents: Tuple or list with a tangent for each argument.
        strong_zero: As in :func:`grad`.

    Raises:
        CallMismatch: As for :func:`jvp` and :func:`grad`.
        InvalidOption: ``primals`` is empty.
        GradientRefused: As for :func:`grad`.
        NotCompilable: As for :func:`grad`.

    >>> import torch
    >>> from graph_compiler import transforms
    >>> transforms.hvp(lambda x: (x**3).sum(), (torch.tensor([1.0, 2.0]),), (torch.tensor([1.0, 0.0]),))
    tensor([6., 0.])
    """
    primals, tangents = _arguments("hvp", function, primals=primals, tangents=tangents)
    gradient = grad(
        function, argnums=0 if len(primals) == 1 else tuple(range(len(primals))), strong_zero=strong_zero
    )
    return jvp(gradient, primals, tangents)[1]


def _arguments(words: str, function: Any, **given: Any) -> Iterator[tuple[Any, ...]]:
    for option, items in given.items():
        # The rows of an array would be taken for arguments.
        if not isinstance(items, (tuple, list)):
            raise CallMismatch(
                f"{words} of {name_of(function)}: {option} are a tuple with one for each argument, "
                f"({option[0]},) for one, and not a {type(items).__name__}{location_text(function)}"
            )
    return map(tuple, given.values())


@public
def jacrev(
    function: Any,
    argnums: int | Sequence[int] | None = None,
    argnames: str | Sequence[str] | None = None,
    has_aux: bool = False,
    strong_zero: bool = False,
) -> Transformed:
    """Return a function that computes the Jacobian in reverse mode, one pass for each element of the result.

    This is usually cheaper if the result is smaller than the argument. The Jacobian has the structure of the
    result, with the structure of the argument inside, and arrays of shape [*result, *argument]. For a complex
    result it is the derivative of a holomorphic function, not the conjugate.

    Options and errors are those of :func:`grad`, except that the result may be a pytree of
    floating-point or complex arrays. ``CallMismatch`` is raised for a complex result and a real argument.

    >>> import torch
    >>> from graph_compiler import transforms
    >>> transforms.jacrev(lambda x: x * x.sum())(torch.tensor([1.0, 2.0]))
    tensor([[4., 1.],
            [2., 5.]])
    """
    function = with_strong_zero(function, strong_zero, chosen := argument_positions(argnums, argnames))
    return Transformed(
        function,
        _jacobian_rule("jacrev", _by_rows, argnums, argnames, has_aux),
        "jacrev",
        differences=DerivativeOptions(chosen, has_aux, is_jacobian=True),
    )


@public
def jacfwd(
    function: Any,
    argnums: int | Sequence[int] | None = None,
    argnames: str | Sequence[str] | None = None,
    has_aux: bool = False,
    strong_zero: bool = False,
) -> Transformed:
    """Return a function that computes the Jacobian by a Jacobian-vector product for each argument element.

    The products are computed in forward mode or by two reverse passes. This is usually cheaper than
    :func:`jacrev` if the argument is smaller than the result. Structure, options and errors are those of
    :func:`jacrev`, but it is a real result of a complex argument that raises ``CallMismatch``. A complex
    result of a complex argument must be holomorphic.

    >>> import torch
    >>> from graph_compiler import transforms
    >>> transforms.jacfwd(lambda x: x * x.sum())(torch.tensor([1.0, 2.0]))
    tensor([[4., 1.],
            [2., 5.]])
    """
    function = with_strong_zero(function, strong_zero, chosen := argument_positions(argnums, argnames))
    return Transformed(
        function,
        _jacobian_rule("jacfwd", _by_columns, argnums, argnames, has_aux),
        "jacfwd",
        differences=DerivativeOptions(chosen, has_aux, is_jacobian=True),
    )


@public
def hessian(
    function: Any,
    argnums: int | Sequence[int] | None = None,
    argnames: str | Sequence[str] | None = None,
    strong_zero: bool = False,
) -> Transformed:
    """Return a function that computes second derivatives: ``jacfwd(jacrev(function))``.

    For several arguments, the result has the structure of the arguments twice, one inside the other.
    Arguments and results must all be real, or all complex and holomorphic; ``CallMismatch`` is raised for
    a mix. Other errors are those of :func:`jacrev`.

    Args:
        function: As in :func:`grad`.
        argnums: As in :func:`grad`.
        argnames: As in :func:`grad`.
        strong_zero: As in :func:`grad`.

    >>> import torch
    >>> from graph_compiler import transforms
    >>> transforms.hessian(lambda x: (x**3).sum())(torch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    function = with_strong_zero(function, strong_zero, chosen := argument_positions(argnums, argnames))
    gradients = Transformed(
        function,
        _jacobian_rule("hessian", _by_rows, argnums, argnames, has_aux=False),
        "jacrev",
        differences=DerivativeOptions(chosen, has_aux=False, is_jacobian=True),
    )
    return jacfwd(gradients, argnums, argnames)


Columns = list[Arrays]
"""Jacobians of each differentiable result with respect to each differentiated array."""


Shapes = list[tuple[int, ...]]


def _jacobian_rule(
    words: str,
    jacobians: Callable[[DifferentiatedCall], tuple[Columns, Shapes, Arrays]],
    argnums: Any,
    argnames: Any,
    has_aux: bool,
) -> Callable[..., Any]:
    chosen = argument_positions(argnums, argnames)

    def rule(function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        call = DifferentiatedCall(function, words, args, kwargs, chosen, has_aux)
        found, shapes, extras = jacobians(call)
        if call.results_without_derivative():
            raise CallMismatch(
                f"{words} of {function.name}: a result has no derivative, for it is no floating-point "
                f"array{location_text(function.call)}"
            )
        arguments = [call.unflatten_like_arguments(arrays, shape) for arrays, shape in zip(found, shapes)]
        jacobian = call.result([arrange(each, argnums, argnames) for each in arguments], [])
        return (jacobian, call.aux(extras)) if has_aux else jacobian

    return rule


def _by_rows(call: DifferentiatedCall) -> tuple[Columns, Shapes, Arrays]:
    derivatives = call.function.derivatives
    results, extras, pull = call.vjp()
    _require_one_kind(call, results)
    zeros = list(map(derivatives.zeros_like, results))

    def rows(place: int) -> Arrays:
        basis = derivatives.basis(results[place])
        pulled = _vectorized(
            derivatives, lambda given: pull([*zeros[:place], *given, *zeros[place + 1 :]]), basis
        )
        rows = [derivatives.split(array, 0, results[place]) for array in pulled]
        # The pullback returns conjugate derivatives, and a Jacobian holds plain ones.
        return list(map(derivatives.conjugate, rows)) if derivatives.is_complex(results[place]) else rows

    return [rows(place) for place in range(len(results))], _shapes(results), extras


def _by_columns(call: DifferentiatedCall) -> tuple[Columns, Shapes, Arrays]:
    derivatives = call.function.derivatives
    zeros = list(map(derivatives.zeros_like, call.arrays))
    # A call with zero tangents, to know the results and their shapes.
    results, extras, _ = call.jvp(zeros)
    _require_one_kind(call, results)

    def columns(place: int) -> Arrays:
        def pushed(given: Arrays) -> Arrays:
            return call.jvp([*zeros[:place], *given, *zeros[place + 1 :]])[2]

        array = call.arrays[place]
        found = _vectorized(derivatives, pushed, derivatives.basis(array))
        return [derivatives.split(derivatives.move_axis(item, 0, -1), -1, array) for item in found]

    by_argument = [columns(place) for place in range(len(call.arrays))]
    return (
        [[column[place] for column in by_argument] for place in range(len(results))],
        _shapes(results),
        extras,
    )


def _require_one_kind(call: DifferentiatedCall, results: Arrays) -> None:
    """Raise ``CallMismatch`` for a mix of real and complex arrays that the mode cannot differentiate."""
    # A pass for each argument element tells the derivative along the real axis of the argument, and a pass
    # for each result element that of the real part of the result. Both are the whole derivative if all arrays
    # are real, or if the function is holomorphic.
    given, made = (
        set(map(call.function.derivatives.is_complex, arrays)) for arrays in (call.arrays, results)
    )
    remedy = "make real and imaginary parts arguments and results of their own"
    if call.words != "jacrev" and True in given and False in made:
        what = "an argument is complex and a result is real, so the function is not holomorphic"
        remedy += ", or take jacrev" if call.words == "jacfwd" else ""
    elif call.words != "jacfwd" and False in given and True in made:
        what = "an argument is real and a result is complex, and only the real part would be differentiated"
        remedy += ", or take jacfwd" if call.words == "jacrev" else ""
    else:
        return
    raise CallMismatch(
        f"{call.words} of {call.function.name}: {what}; {remedy}{location_text(call.function.call)}"
    )


def _shapes(arrays: Arrays) -> Shapes:
    return [tuple(array.shape) for array in arrays]


def _vectorized(derivatives: Any, function: Callable[[Arrays], Arrays], basis: Any) -> Arrays:
    # A single direction needs no vmap.
    if basis.shape[0] == 1:
        return [array[None] for array in function([basis[0]])]
    found: Arrays = derivatives.vmap(function, VmapSpec((0,), basis.shape[0]))([basis])
    return found
