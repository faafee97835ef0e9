"""Python statements traced as ``lax.cond``, ``lax.while_loop`` and ``lax.scan``, and collectives.

See :class:`graph_compiler.recording.control_flow.Regions`.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from ...errors import TracingError
from ...ir.node import Value
from ...ops.collectives import RECORDED_DEVICES, REDUCTIONS
from ...recording.control_flow.regions import ArrayKind, Arrays, Block, Inputs, Regions
from ...sizes import Size, is_symbolic
from .dtypes import dtype_name
from .intercept.loops import symbolic_scan
from .sizes import as_array, current, decided, hints, symbolic

# ------------------------------------------------------------------------------------------------ collectives
# Collectives are primitives. While a function is recorded, a reduction returns its operand, and
# ``all_gather`` stacks copies of it.

_NATIVE: dict[str, Callable[..., Any]] = {
    "psum": jax.lax.psum,
    "pmean": jax.lax.pmean,
    "pmax": jax.lax.pmax,
    "pmin": jax.lax.pmin,
    "all_gather": jax.lax.all_gather,
    "axis_index": jax.lax.axis_index,
    "axis_indices": lambda axis_name: jnp.arange(jax.lax.psum(1, axis_name), dtype="int32"),
}


def collective(name: str, x: Any, **params: Any) -> Any:
    """Return the result of the collective ``name`` while a function is recorded.

    For ``axis_indices`` over the axis of a device mesh, it is a ``ShapeDtypeStruct``.
    """
    operands = () if x is None else (jnp.asarray(x),)
    if name == "sharding_hint":
        return _hint.bind(*operands, **params)
    try:
        return _NATIVE[name](*operands, params["axis_name"])
    # The axis is not one of a transformation inside of the function.
    except NameError:
        pass
    if name == "axis_indices":
        return jax.ShapeDtypeStruct((symbolic(current().size_of_axis(params["axis_name"])),), "int32")
    if name == "all_gather":
        return _gather.bind(*operands, size=current().size_of_axis(params["axis_name"]), **params)
    return (_index if name == "axis_index" else _REDUCTIONS[name]).bind(*operands, **params)


def _primitive(name: str) -> Primitive:
    made = Primitive(f"device_{name}")
    made.def_impl(lambda x, **params: x)
    made.def_abstract_eval(lambda x, **params: x.update(weak_type=False))
    mlir.register_lowering(made, lambda context, x, **params: [x])
    batching.defvectorized(made)
    return made


_REDUCTIONS = {name: _primitive(name) for name in REDUCTIONS}
_hint = _primitive("sharding_hint")
# The transpose of a sum over devices is the sum of the cotangents.
for _linear in (_hint, _REDUCTIONS["psum"], _REDUCTIONS["pmean"]):
    ad.deflinear2(_linear, lambda cotangent, x, made=_linear, **params: [made.bind(cotangent, **params)])

_index = Primitive("device_axis_index")
_index.def_impl(lambda axis_name: jnp.int32(0))
_index.def_abstract_eval(lambda axis_name: jax.core.ShapedArray((), jnp.dtype("int32")))
mlir.register_lowering(_index, mlir.lower_fun(lambda axis_name: jnp.int32(0), multiple_results=False))

_gather = Primitive("device_all_gather")


def _stack_copies(x: Any, *, axis_name: str, size: Size) -> Any:
    return jnp.stack([x] * RECORDED_DEVICES)


def _own_part(cotangent: Any, x: Any, *, axis_name: str, size: Size) -> list[Any]:
    total = _REDUCTIONS["psum"].bind(cotangent, axis_name=axis_name)
    return [jax.lax.dynamic_index_in_dim(total, _index.bind(axis_name=axis_name), keepdims=False)]


_gather.def_impl(_stack_copies)
_gather.def_abstract_eval(
    lambda x, *, axis_name, size: x.update(shape=(symbolic(size), *x.shape), weak_type=False)
)
mlir.register_lowering(_gather, mlir.lower_fun(_stack_copies, multiple_results=False))
batching.primitive_batchers[_gather] = lambda operands, places, **params: (
    _gather.bind(*operands, **params),
    places[0] + 1,
)
ad.deflinear2(_gather, _own_part)


# ---------------------------------------------------------------------------------------------------- regions
class JaxRegions(Regions):
    """Implementation of :class:`Regions` with ``jax.lax`` control flow, for one trace.

    expected: called with the graph value of an asserted condition when the jaxpr is read.
    numbers: graph values of the inputs that are Python numbers.
    """

    module, arrays = jax.numpy, (jax.Array, np.ndarray, np.generic)

    def __init__(self, expected: Callable[[Value], None], numbers: Container[Value]) -> None:
        super().__init__(symbolic, decided, numbers)
        self.expected = expected

    # ------------------------------------------------------------------------------ kinds of objects
    def is_open(self, item: Any) -> bool:
        return isinstance(item, jax.core.Tracer)

    def kind(self, item: Any) -> ArrayKind:
        if is_symbolic(item) or type(item) in (bool, int, float, complex):
            return ArrayKind(dtype_name(_type_of(item).dtype), (), True)
        shape = hints(np.shape(item))
        return ArrayKind(dtype_name(item.dtype), shape, not shape and bool(getattr(item, "weak_type", False)))

    # ------------------------------------------------------------------------------ single operations
    def converted(self, item: Any, kind: ArrayKind) -> Any:
        array = as_array(item.expression) if is_symbolic(item) else jax.numpy.asarray(item)
        dtype = _dtype(kind, array)
        if (array.dtype, bool(getattr(array, "weak_type", False))) == (dtype, kind.number) and isinstance(
            array, jax.core.Tracer
        ):
            return array
        # The public `convert_element_type` cannot set the weak type, so the primitive is bound.
        return jax.lax.convert_element_type_p.bind(
            array, new_dtype=dtype, weak_type=kind.number, sharding=None
        )

    def truth(self, item: Any) -> Any:
        item = item if not np.shape(item) else jax.numpy.reshape(item, ())
        return item if item.dtype == bool else item != 0

    def where(self, truth: Any, one: Any, other: Any) -> Any:
        return jax.numpy.where(truth, one, other)

    def collective(self, name: str, x: Any, **params: Any) -> Any:
        return collective(name, as_array(x.expression) if is_symbolic(x) else x, **params)

    # ------------------------------------------------------------------------------ conditions
    def decide(self, truth: Any) -> bool:
        raise TracingError(
            "an exception is raised on one side of a condition on values, which JAX cannot trace: a compiled "
            "program raises none. Return "
            "what tells of it"
        )

    def expect(self, truth: Any) -> None:
        if self.is_inside:
            raise TracingError(
                "an assertion on values inside of a branch or loop cannot be traced with JAX. Assert what "
                "comes out of it"
            )
        expect_p.bind(truth, note=self.expected)

    # ------------------------------------------------------------------------------ blocks
    def trial(self, function: Block, given: Inputs) -> None:
        def traced(*arrays: Any) -> tuple[()]:
            function(*arrays)
            return ()

        with self.inside():
            jax.make_jaxpr(traced)(*(_stand_in(item, kind) for item, kind in given))

    def branch(self, truth: Any, then: Block, otherwise: Block, names: Sequence[str]) -> Arrays:
        with self.inside():
            return jax.lax.cond(truth, lambda: tuple(then()), lambda: tuple(otherwise()))

    def while_loop(self, test: Block, body: Block, carried: Arrays, kinds: Sequence[ArrayKind]) -> Arrays:
        with self.inside():
            return jax.lax.while_loop(
                lambda arrays: test(*arrays)[0], lambda arrays: tuple(body(*arrays)), tuple(carried)
            )

    def scan(
        self,
        body: Block,
        carried: Arrays,
        kinds: Sequence[ArrayKind],
        rows: Arrays,
        length: Any,
        checkpoint: bool,
    ) -> Arrays:
        def step(arrays: Any, elements: Any) -> Any:
            found = tuple(body(*arrays, *elements))
            return found[: len(carried)], found[len(carried) :]

        run = jax.checkpoint(step) if checkpoint else step
        # With rows, JAX takes the trip count from them, which may be symbolic.
        count = None if rows else symbolic(length)
        with self.inside():
            last, items = symbolic_scan(jax.lax.scan)(run, tuple(carried), tuple(rows), count)
        return [*last, *items]


def _stand_in(item: Any, kind: ArrayKind | None) -> Any:
    shape = np.shape(item)
    if kind is None:
        return jax.ShapeDtypeStruct(shape[1:], item.dtype)
    return jax.ShapeDtypeStruct(shape, _dtype(kind, item), weak_type=kind.number)


def _dtype(kind: ArrayKind, item: Any) -> Any:
    # NumPy does not know the dtype of a random key by its name.
    return item.dtype if kind.dtype == str(getattr(item, "dtype", "")) else jax.numpy.dtype(kind.dtype)


def _type_of(item: Any) -> Any:
    return jax.eval_shape(lambda: jax.numpy.asarray(as_array(item.expression) if is_symbolic(item) else item))


# ------------------------------------------------------------------------------------- assertions
expect_p = Primitive("expect")
expect_p.multiple_results = True
expect_p.def_abstract_eval(lambda truth, *, note: [])


def read_expectation(reader: Any, equation: Any, operands: list[Any]) -> list[Any]:
    if isinstance(operands[0], Value):
        equation.params["note"](operands[0])
    return []
