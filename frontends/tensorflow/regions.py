"""Python's own statements as TensorFlow's own operations, ``tf.cond`` and ``tf.while_loop``, which are read as all others are; see
:class:`graph_compiler.tracing.control_flow.Regions`."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import ops
from tensorflow.python.framework.func_graph import FuncGraph

from ...errors import TracingError
from ...sizes import is_symbolic
from ...tracing.control_flow.regions import Arrays, Block, Inputs, Kind, Regions
from .collectives import collective
from .sizes import symbolic
from .tracing import Trace

_DTYPES = {bool: tf.bool, int: tf.int32, float: tf.float32, complex: tf.complex128}


class TensorFlowRegions(Regions):
    """The blocks of one tracing."""

    lists_grow = False  # a TensorArray is TensorFlow's own
    module, arrays = tf, (tf.Tensor, np.ndarray, np.generic)

    def __init__(self, trace: Trace) -> None:
        super().__init__(functools.partial(symbolic, trace), trace.decide)
        self.trace = trace

    # ------------------------------------------------------------------------------ what things are
    def is_open(self, item: Any) -> bool:
        if not isinstance(item, ops.SymbolicTensor):
            return False
        return item.graph is not self.trace.graph or not isinstance(self.trace.held(item).item, np.ndarray)

    def kind(self, item: Any) -> Kind:
        if not self.is_array(item):
            return Kind(_DTYPES[type(getattr(item, "hint", item)) if not is_symbolic(item) else int].name, (), True)
        if isinstance(item, ops.SymbolicTensor) and item.graph is self.trace.graph:
            return Kind(item.dtype.name, tuple(self.trace.held(item).made.shape))
        dtype = tf.as_dtype(item.dtype)
        return Kind(dtype.name, tuple(-1 if size is None else size for size in tf.TensorShape(item.shape)))

    # ------------------------------------------------------------------------------ small calls
    def made(self, item: Any, kind: Kind) -> Any:
        if isinstance(item, tf.Tensor):
            return item if item.dtype.name == kind.dtype else tf.cast(item, kind.dtype)
        return tf.convert_to_tensor(item, tf.as_dtype(kind.dtype))

    def truth(self, item: Any) -> Any:
        item = tf.reshape(item, ()) if item.shape.rank else item
        return item if item.dtype == tf.bool else tf.not_equal(item, tf.zeros((), item.dtype))

    def where(self, truth: Any, one: Any, other: Any) -> Any:
        dtype = next(item.dtype for item in (one, other) if isinstance(item, tf.Tensor))
        return tf.where(truth, *(item if isinstance(item, tf.Tensor) else tf.convert_to_tensor(item, dtype) for item in (one, other)))

    def length(self, array: Any) -> Any:
        known = self.trace.length(array)
        static = tf.TensorShape(array.shape)[0] if known is None else known
        return tf.shape(array)[0] if static is None else static

    def collective(self, name: str, x: Any, **params: Any) -> Any:
        if name == "sharding_hint":
            return x
        return collective(name, x if x is None else tf.convert_to_tensor(x), **params)

    # ------------------------------------------------------------------------------ conditions
    def expect(self, truth: Any) -> None:
        tf.debugging.Assert(truth, ["an assertion of the function"])

    # ------------------------------------------------------------------------------ blocks
    def trial(self, function: Block, given: Inputs) -> None:
        graph = FuncGraph("trial")
        with self.inside(), graph.as_default():
            function(*(self._stand_in(item, kind) for item, kind in given))

    def branch(self, truth: Any, then: Block, otherwise: Block) -> Arrays:
        nothing = tf.constant(0)  # tf.cond gives something
        with self.inside():
            found = tf.cond(truth, lambda: [nothing, *then()], lambda: [nothing, *otherwise()])
        return list(found[1:])

    def while_loop(self, test: Block, body: Block, carried: Arrays, kinds: Sequence[Kind]) -> Arrays:
        with self.inside():
            return list(tf.while_loop(lambda *arrays: test(*arrays)[0], lambda *arrays: list(body(*arrays)), list(carried)))

    def scan(self, body: Block, carried: Arrays, kinds: Sequence[Kind], rows: Arrays, length: Any, checkpoint: bool) -> Arrays:
        if checkpoint:
            raise TracingError("checkpointing=True is not for functions of TensorFlow: use tf.recompute_grad inside of the loop")
        count = tf.convert_to_tensor(self.symbolic(length), tf.int32)

        def step(place: Any, *arrays: Any) -> list[Any]:
            return [place + 1, *body(*arrays, *(row[place] for row in rows))]

        with self.inside():
            return list(tf.while_loop(lambda place, *arrays: place < count, step, [tf.constant(0), *carried])[1:])

    def _stand_in(self, item: Any, kind: Kind | None) -> Any:
        shape = tf.TensorShape(item.shape) if self.is_array(item) else tf.TensorShape(())
        dtype = tf.as_dtype(item.dtype if kind is None else kind.dtype)
        return tf.compat.v1.placeholder(dtype, shape[1:] if kind is None else shape)
