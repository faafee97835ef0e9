"""Raw operations that have no row, with the reason that a user reads. Patterns are tried from the top."""

from __future__ import annotations

import re

NO_REASON = "no row in the lifting table of tensorflow"


def reason(operation: str) -> str:
    """Why an operation has no row.

    >>> reason("StringJoin")
    'works on strings, which no target has arrays of'
    """
    return next((why for pattern, why in LEFT_OUT.items() if re.fullmatch(pattern, operation)), NO_REASON)


_RECORDED = "is followed while a function is recorded, and is no call of its own"
_GONE = "was removed from TensorFlow, which refuses to run it"
_NO_KERNEL = "has no kernel on a CPU to record it with"
_REFERENCE = "writes to a variable of TensorFlow 1, which functions of TensorFlow 2 do not have"

LEFT_OUT: dict[str, str] = {
    # ---- what the recorder follows
    r"(Stateless)?(If|Case|While)|For|(Stateful)?PartitionedCall|SymbolicGradient|RemoteCall|BatchFunction|MapDefun": _RECORDED,
    r"Const|Placeholder(V2)?|NoOp|ControlTrigger|Assert|Print(V2)?|FakeParam|DeviceIndex|Timestamp|ImmutableConst": _RECORDED,
    r"VarHandleOp|ReadVariableOp|Assign(Add|Sub)?VariableOp|VarIsInitializedOp|VariableShape|DestroyResourceOp|DisableCopyOnRead": _RECORDED,
    r"ResourceGather(Nd)?|ResourceScatter.*|ResourceStridedSliceAssign|ResourceCountUpTo": _RECORDED,
    r"TensorList.*|EmptyTensorList": _RECORDED,
    r"BroadcastGradientArgs|ConcatOffset": _RECORDED,
    r"IdentityN|Rank|Shape(N)?|Size": _RECORDED,
    r"(Ref)?(Enter|Exit|Merge|NextIteration|Switch)|LoopCond": "is control flow of TensorFlow 1; tf.while_loop and tf.cond take its place",
    r"ResourceApply.*|ResourceSparseApply.*": (
        "is one step of an optimiser on variables in their place; Keras optimisers are written in plain operations"
    ),
    r"Assign(Add|Sub)?|(Count|)UpTo|CountUpTo|Variable(V2)?|IsVariableInitialized|Scatter(Add|Div|Max|Min|Mul|Sub|Update)": _REFERENCE,
    r"ScatterNd(Add|Sub|Max|Min|Update)|StridedSliceAssign|(Sparse)?Apply.*|RefSelect|Inplace(Add|Sub|Update)|(Destroy)?TemporaryVariable": _REFERENCE,
    r"SegmentSumV2|SegmentProdV2|SegmentMaxV2|SegmentMinV2|FFTND|IFFTND|RFFTND|IRFFTND|CudnnRNN.*|ParallelConcat|TopK|MaxPoolGradGradWithArgmax|SyncDevice|Conv2DBackprop(Input|Filter)V2|AccumulateNV2|CTCLossV2|GenerateBoundingBoxProposals": _NO_KERNEL,
    # ---- what no target has
    r".*(String|Regex|Unicode|Substr|Base64|ReduceJoin|AsString|Fingerprint|UnsortedSegmentJoin|EditDistance).*": (
        "works on strings, which no target has arrays of"
    ),
    r".*(Dataset|Iterator|Options|Optional|MemoryCache|Snapshot[A-Z]|WindowOp|DummyIteration|(Seed|Random)Generator).*": (
        "belongs to tf.data, which feeds functions and is no part of them"
    ),
    r".*(Summary|Summaries).*|ImportEvent": "writes a log for TensorBoard",
    r".*(Queue|Barrier|Stage|Stack(V2|Push.*|Pop.*|Close.*)?|Unstage|Accumulator.*|Mutex.*|RecordInput|Map(Clear|Peek|Size|IncompleteSize))(V2|Lock|NoKey|.*)?": "holds what several steps or threads share",
    r"(Reader|.*Reader(V2)?$|Reader.*|Read.*|Write.*|Save.*|Restore.*|MergeV2Checkpoints|Sharded.*|MatchingFiles|FileSystem.*|LoadAndRemap.*|GenerateVocab.*|DistributedSave)": "reads or writes files",
    r"(Decode|Encode|Parse|Serialize|Deserialize|Extract(Jpeg).*|Compress|Uncompress).*|DecodeAndCropJpeg|ExtractJpegShape": "reads or writes a file format",
    r".*(HashTable|LookupTable|DenseHash|InitializeTable).*|TensorMap.*|EmptyTensorMap": (
        "looks keys up in a table that is kept between calls"
    ),
    r".*(TPU|Xla(?!DynamicUpdateSlice)|Infeed|Outfeed|Prelinearize|Minibatch|CooTensor|SparseCore|ReplicaSum|WorkerHeartbeat|GlobalIterId|VariableXla|Dequeue).*": "is made for TPUs",
    r"(Collective|Nccl).*|AllToAll|Send|Recv|CollectivePermute": "sends arrays between devices",
    r"BoostedTrees.*|Sdca.*|.*(Forest|KMC2|KmeansPlusPlus|NearestNeighbors|Skipgram).*": "belongs to TensorFlow's estimators",
    r".*Ragged.*": "makes or takes ragged arrays, whose rows have sizes of their own",
    r"(Sparse(?!SoftmaxCross|Segment|MatMul$|ToDense|TensorDense)|AddSparse|AddManySparse|TakeManySparse|CSR|DenseTo(CSR|Sparse)|DenseCount|SetSize|.*SetOperation).*": "makes or takes sparse arrays, whose sizes depend on elements",
    r"DenseToDenseSetOperation": "makes sparse arrays, whose sizes depend on elements",
    r"(Uniform)?(Quantized|Requantiz|Dequantize|Requantize|RequantizationRange|UniformQuantize|UniformDequantize|UniformRequantize).*|QuantizeV2|QuantizeDownAndShrinkRange|Dequantize": "takes or gives quantised integers (qint8), a data type that no target has",
    r"UniformQuantized.*|UniformDequantize|UniformRequantize|QuantizeAndDequantize": (
        "takes or gives quantised integers (qint8), a data type that no target has"
    ),
    r".*(PyFunc|EagerPyFunc).*": "runs Python code that cannot be seen",
    r".*(Composite|Variant).*|(Get|Delete)Session.*|Abort|CheckPinned|DebugN.*|StoreMinibatch.*|GetElementAtIndex|AnonymousMulti.*|ComputeBatchSize|NonDeterministicInts|ListDataset|(Un)?[bB]atch|UnbatchGrad": "belongs to TensorFlow's own machinery",
    r"Batch(?!MatMul|ToSpace).*|AdjustContrast|TileGrad|MatrixExponential|SelfAdjointEig|Skipgram|RandomCrop|RandomPoisson|Conv3DBackprop(Input|Filter)": _GONE,
    r"TensorArray.*": "is an array of arrays of TensorFlow 1; tf.TensorArray of TensorFlow 2 makes lists in its place",
    # ---- numbers
    r"RngReadAndSkip|RngSkip|Stateful(Uniform.*|StandardNormalV2|TruncatedNormal)": _RECORDED,
    r"IgammaGradA|RandomGammaGrad": "is a special function that no target has",
    r"CTCBeamSearchDecoder": "gives the labels of several paths, of which each step keeps others",
    r"(Learned|ThreadUnsafe)UnigramCandidateSampler": "draws classes by counts that it keeps in itself from call to call",
    r"StatefulRandomBinomial|StatefulStandardNormal": "draws from a state by an algorithm that no other framework has; tf.random.Generator's other draws are followed",
    r"RandomIndexShuffle": "enciphers numbers by an algorithm that no other framework has",
    r".*(ThreadPool|StatsAggregator)Handle.*|IsBoostedTrees.*|Fact|DebugGradientRefIdentity|DebugIdentity(V3)?|RefIdentity": "belongs to TensorFlow's own machinery",
    r".*SampleDistortedBoundingBox.*": "draws boxes by an algorithm that no other framework has",
    r"Fractional.*": "pools windows whose borders are drawn by an algorithm that no other framework has",
}
