"""Collectives in a recorded function, as primitives.

While a function is recorded, a reduction returns its operand, and ``all_gather`` stacks copies of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from ....ops.collectives import RECORDED_DEVICES, REDUCTIONS
from ....sizes import Size
from ..sizes import current, symbolic

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
    """Compute the collective ``name`` of ``x`` over the axis ``params["axis_name"]``.

    If that is an axis of a ``vmap`` in the recorded function, call JAX's own collective, otherwise bind a
    primitive. ``sharding_hint`` always binds its primitive. Over a mesh axis, ``axis_indices`` returns a
    ``ShapeDtypeStruct``, whose size is the symbolic number of devices.
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
    """Create the primitive ``device_<name>``, which computes the identity, also of a batch."""
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
