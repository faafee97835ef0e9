"""The lifter of TensorFlow graphs, and the reasons why some operations have no row."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from ....errors import UnsupportedOperation
from ....ir.graph import Graph
from ....ir.node import Node, Value
from ....ops.registry import ArraySpec
from ....sizes import Size
from ...common.indexing import OF_TENSORFLOW, check_bounds
from ...common.lifter import CALLS, Lifter, lift_collective
from ...common.read_numbers import fix_numbers, is_read, read
from ..known_numbers import RecordedElements, fix_operand
from ..names import CONVERT, READ, REFUSE_GRADIENT, WITH_GRADIENT, row_key, types_of_operands
from ..operations import dtypes_of_operands
from . import (
    convolution,
    elementwise,
    images,
    indexing,
    linear_algebra,
    manipulation,
    nn,
    pooling,
    random,
    recurrent,
    reductions,
    resampling,
)
from .table import ComputedOperand, TensorFlowBuilder, rows

NO_REASON = "no row in the lifting table of tensorflow"


def reason(operation: str) -> str:
    """Return why an operation has no row; ``NO_REASON`` if no reason is known.

    >>> reason("StringJoin")
    'works on strings, which no target has arrays of'
    """
    return next((why for pattern, why in LEFT_OUT.items() if re.fullmatch(pattern, operation)), NO_REASON)


_RECORDED = "is followed while a function is recorded, and is no call of its own"
_GONE = "was removed from TensorFlow, which refuses to run it"
_NO_KERNEL = "has no kernel on a CPU to record it with"
_REFERENCE = "writes to a variable of TensorFlow 1, which functions of TensorFlow 2 do not have"
_MACHINERY = "belongs to TensorFlow's own machinery"
_ESTIMATORS = "belongs to TensorFlow's estimators"
_SHARED = "holds what several steps or threads share"
_FILES = "reads or writes files"
_FORMATS = "reads or writes a file format"
_TPU = "is made for TPUs"
_STRINGS = "works on strings, which no target has arrays of"
_DATA = "belongs to tf.data, which feeds functions and is no part of them"
_SPARSE = "makes or takes sparse arrays, whose sizes depend on elements"
_QUANTISED = "takes or gives quantised integers (qint8), a data type that no target has"

LEFT_OUT: dict[str, str] = {
    # ---- recorded control flow and state
    r"(Stateless)?(If|Case|While)|For|(Stateful)?PartitionedCall": _RECORDED,
    r"SymbolicGradient|RemoteCall|BatchFunction|MapDefun": _RECORDED,
    r"Const|Placeholder(V2)?|NoOp|ControlTrigger|Assert|Print(V2)?": _RECORDED,
    r"FakeParam|DeviceIndex|Timestamp|ImmutableConst": _RECORDED,
    r"VarHandleOp|ReadVariableOp|Assign(Add|Sub)?VariableOp|VarIsInitializedOp": _RECORDED,
    r"VariableShape|DestroyResourceOp|DisableCopyOnRead": _RECORDED,
    r"ResourceGather(Nd)?|ResourceScatter.*|ResourceStridedSliceAssign|ResourceCountUpTo": _RECORDED,
    r"TensorList.*|EmptyTensorList": _RECORDED,
    r"BroadcastGradientArgs|ConcatOffset": _RECORDED,
    r"IdentityN|Rank|Shape(N)?|Size": _RECORDED,
    r"(Ref)?(Enter|Exit|Merge|NextIteration|Switch)|LoopCond": (
        "is control flow of TensorFlow 1; tf.while_loop and tf.cond take its place"
    ),
    r"ResourceApply.*|ResourceSparseApply.*": (
        "is one step of an optimiser on variables in their place; Keras optimisers are written in "
        "plain operations"
    ),
    r"Assign(Add|Sub)?|(Count|)UpTo|CountUpTo|Variable(V2)?|IsVariableInitialized": _REFERENCE,
    r"Scatter(Add|Div|Max|Min|Mul|Sub|Update)|ScatterNd(Add|Sub|Max|Min|Update)": _REFERENCE,
    r"StridedSliceAssign|(Sparse)?Apply.*|RefSelect|Inplace(Add|Sub|Update)": _REFERENCE,
    r"(Destroy)?TemporaryVariable": _REFERENCE,
    r"SegmentSumV2|SegmentProdV2|SegmentMaxV2|SegmentMinV2|FFTND|IFFTND|RFFTND|IRFFTND": _NO_KERNEL,
    r"CudnnRNN.*|ParallelConcat|TopK|MaxPoolGradGradWithArgmax|SyncDevice": _NO_KERNEL,
    r"Conv2DBackprop(Input|Filter)V2|AccumulateNV2|CTCLossV2|GenerateBoundingBoxProposals": _NO_KERNEL,
    # ---- data that no target has
    r".*(String|Regex|Unicode|Substr|Base64|ReduceJoin|AsString|Fingerprint).*": _STRINGS,
    r".*(UnsortedSegmentJoin|EditDistance).*": _STRINGS,
    r".*(Dataset|Iterator|Options|Optional|MemoryCache|Snapshot[A-Z]|WindowOp).*": _DATA,
    r".*(DummyIteration|(Seed|Random)Generator).*": _DATA,
    r".*(Summary|Summaries).*|ImportEvent": "writes a log for TensorBoard",
    r".*(Queue|Barrier|Stage|Stack(V2|Push.*|Pop.*|Close.*)?|Unstage)(V2|Lock|NoKey|.*)?": _SHARED,
    r".*(Accumulator.*|Mutex.*|RecordInput)(V2|Lock|NoKey|.*)?": _SHARED,
    r".*Map(Clear|Peek|Size|IncompleteSize)(V2|Lock|NoKey|.*)?": _SHARED,
    r"Reader|.*Reader(V2)?$|Reader.*|Read.*|Write.*|Save.*|Restore.*|MergeV2Checkpoints": _FILES,
    r"Sharded.*|MatchingFiles|FileSystem.*|LoadAndRemap.*|GenerateVocab.*|DistributedSave": _FILES,
    r"(Decode|Encode|Parse|Serialize|Deserialize|Extract(Jpeg).*|Compress|Uncompress).*": _FORMATS,
    r"DecodeAndCropJpeg|ExtractJpegShape": _FORMATS,
    r".*(HashTable|LookupTable|DenseHash|InitializeTable).*|TensorMap.*|EmptyTensorMap": (
        "looks keys up in a table that is kept between calls"
    ),
    r".*(TPU|Xla(?!DynamicUpdateSlice)|Infeed|Outfeed|Prelinearize|Minibatch|CooTensor).*": _TPU,
    r".*(SparseCore|ReplicaSum|WorkerHeartbeat|GlobalIterId|VariableXla|Dequeue).*": _TPU,
    r"(Collective|Nccl).*|AllToAll|Send|Recv|CollectivePermute": "sends arrays between devices",
    r"BoostedTrees.*|Sdca.*": _ESTIMATORS,
    r".*(Forest|KMC2|KmeansPlusPlus|NearestNeighbors|Skipgram).*": _ESTIMATORS,
    r".*Ragged.*": "makes or takes ragged arrays, whose rows have sizes of their own",
    r"Sparse(?!SoftmaxCross|Segment|MatMul$|ToDense|TensorDense).*": _SPARSE,
    r"(AddSparse|AddManySparse|TakeManySparse|CSR|DenseTo(CSR|Sparse)|DenseCount).*": _SPARSE,
    r"(SetSize|.*SetOperation).*": _SPARSE,
    r"DenseToDenseSetOperation": "makes sparse arrays, whose sizes depend on elements",
    r"(Uniform)?(Quantized|Requantiz|Dequantize|Requantize|RequantizationRange).*": _QUANTISED,
    r"(Uniform)?(UniformQuantize|UniformDequantize|UniformRequantize).*": _QUANTISED,
    r"QuantizeV2|QuantizeDownAndShrinkRange|Dequantize": _QUANTISED,
    r"UniformQuantized.*|UniformDequantize|UniformRequantize|QuantizeAndDequantize": _QUANTISED,
    r".*(PyFunc|EagerPyFunc).*": "runs Python code that cannot be seen",
    r".*(Composite|Variant).*|(Get|Delete)Session.*|Abort|CheckPinned|DebugN.*": _MACHINERY,
    r"StoreMinibatch.*|GetElementAtIndex|AnonymousMulti.*|ComputeBatchSize": _MACHINERY,
    r"NonDeterministicInts|ListDataset|(Un)?[bB]atch|UnbatchGrad": _MACHINERY,
    r"Batch(?!MatMul|ToSpace).*|AdjustContrast|TileGrad|MatrixExponential|SelfAdjointEig": _GONE,
    r"Skipgram|RandomCrop|RandomPoisson|Conv3DBackprop(Input|Filter)": _GONE,
    r"TensorArray.*": (
        "is an array of arrays of TensorFlow 1; tf.TensorArray of TensorFlow 2 makes lists in its place"
    ),
    # ---- numbers
    r"RngReadAndSkip|RngSkip|Stateful(Uniform.*|StandardNormalV2|TruncatedNormal)": _RECORDED,
    r"IgammaGradA|RandomGammaGrad": "is a special function that no target has",
    r"CTCBeamSearchDecoder": "gives the labels of several paths, of which each step keeps others",
    r"(Learned|ThreadUnsafe)UnigramCandidateSampler": (
        "draws classes by counts that it keeps in itself from call to call"
    ),
    r"StatefulRandomBinomial|StatefulStandardNormal": (
        "draws from a state by an algorithm that no other framework has; tf.random.Generator's other "
        "draws are followed"
    ),
    r"RandomIndexShuffle": "enciphers numbers by an algorithm that no other framework has",
    r".*(ThreadPool|StatsAggregator)Handle.*|IsBoostedTrees.*|Fact": _MACHINERY,
    r"DebugGradientRefIdentity|DebugIdentity(V3)?|RefIdentity": _MACHINERY,
    r".*SampleDistortedBoundingBox.*": "draws boxes by an algorithm that no other framework has",
    r"Fractional.*": "pools windows whose borders are drawn by an algorithm that no other framework has",
}


def lift_graph(graph: Graph) -> Graph:
    return _TensorFlowLifter(graph).run()


class _TensorFlowLifter(Lifter):
    framework = "tensorflow"

    def builder(self, graph: Graph) -> TensorFlowBuilder:
        return TensorFlowBuilder(graph)

    def key(self, node: Node) -> str:
        return row_key(node.op)

    def row(self, node: Node) -> Callable[..., Any] | None:
        return rows.get(row_key(node.op))

    def call(self, node: Node) -> Any:
        before = len(self.result.nodes)
        result = self._by_row(node)
        # On a CPU, TensorFlow raises for an index out of bounds. Other frameworks may clamp it or count it
        # from the end.
        if (key := self.key(node)) in OF_TENSORFLOW:
            check_bounds(self.b, key, self.result.nodes[before:])
        return result

    def _by_row(self, node: Node) -> Any:
        self.b.recorded = self.specs_recorded(node)
        operands, attributes = self.arguments(node)
        if node.op == CONVERT:
            return array_of(self.b, operands[0], attributes["dtype"])
        if node.op == REFUSE_GRADIENT:
            return self.b.refuse_gradient(operands[0], operands[0], message=attributes["message"])
        if node.op == WITH_GRADIENT:
            value, source = operands
            return self.b.with_gradient(value, source, self.b.ones(shape=source.shape, dtype=source.dtype))
        if node.op == READ:
            return read(self.b, operands[0])
        if node.op.startswith(CALLS):
            return lift_collective(self.b, row_key(node.op), *operands, **attributes)
        key, row = self.key(node), self.row(node)
        if row is None:
            raise UnsupportedOperation(reason(key))
        named, static = _parameters(row), rows.static(key)
        dtypes = dtypes_of_operands(node)
        arrays = [place for place in range(len(operands)) if named[min(place, len(named) - 1)] not in static]
        for place, operand in enumerate(operands):
            if place in arrays:
                operands[place] = _as_arrays(self.b, operand, dtypes[place])
            elif not rows.takes_read(key):
                operands[place] = fix_numbers(self.b, operand)
        # A row needs at least one array, from which it takes the dtype.
        if arrays and not any(isinstance(operands[place], (Value, tuple)) for place in arrays):
            operands[arrays[0]] = self.b.array(operands[arrays[0]], dtypes[arrays[0]])
        dropped = types_of_operands(key) - {*named}
        options = {name: item for name, item in attributes.items() if name not in dropped}
        # The first attempt leaves static operands that depend on elements as arrays. If the row needs
        # numbers, the recorded elements are used, under guards.
        try:
            return row(self.b, *operands, **options)
        except ComputedOperand:
            if node.record is None or not isinstance(node.record.extra, RecordedElements):
                raise
            return row(self.b, *self._tied(node.record.extra, operands), **options)

    def _tied(self, elements: RecordedElements, operands: list[Any]) -> list[Any]:
        return [
            fix_operand(self.b, elements, place, operand)
            if place in elements.held and isinstance(operand, Value)
            else operand
            for place, operand in enumerate(operands)
        ]


@functools.cache
def static_places(key: str) -> tuple[int, ...]:
    """Return the indices of the operands that the row of an operation takes as numbers; () without a row.

    >>> static_places("Slice")
    (1, 2)
    """
    row = rows.get(key)
    static = rows.static(key) if row is not None else ()
    return tuple(place for place, name in enumerate(_parameters(row)) if name in static) if static else ()


@functools.cache
def _parameters(row: Callable[..., Any]) -> tuple[str, ...]:
    return tuple(inspect.signature(row).parameters)[1:]


def _as_arrays(b: TensorFlowBuilder, operand: Any, dtype: Any) -> Any:
    if isinstance(dtype, tuple):
        return tuple(b.array(_as_arrays(b, item, one), one) for item, one in zip(operand, dtype))
    return array_of(b, operand, dtype) if isinstance(operand, tuple) or is_read(operand) else operand


def array_of(b: TensorFlowBuilder, rows: Any, dtype: str) -> Value:
    """Return numbers and sizes, single or in nested tuples, as an array of ``dtype``."""
    if not isinstance(rows, tuple):
        return b.array(rows, dtype)
    if _has_sizes(rows):
        made: Value = b.stack(*(array_of(b, row, dtype) for row in rows), axis=0)
        return made
    array = np.asarray(rows, dtype)
    return b.constant("constant", ArraySpec(array.shape, dtype), array)


def _has_sizes(rows: Any) -> bool:
    return any(map(_has_sizes, rows)) if isinstance(rows, tuple) else isinstance(rows, Size)


__all__ = [
    "convolution",
    "elementwise",
    "images",
    "indexing",
    "lift_graph",
    "linear_algebra",
    "manipulation",
    "nn",
    "pooling",
    "random",
    "recurrent",
    "reductions",
    "resampling",
    "rows",
]
