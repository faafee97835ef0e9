"""Samples that a target refuses, those that are recorded again at other sizes, and those whose gradients are
not compared.
"""

from __future__ import annotations

UNSUPPORTED: dict[tuple[str, str], tuple[type[BaseException], str]] = {}

RECORDED_AGAIN: set[str] = {"reductions-ApproxTopK"}  # for which TensorFlow wants to know the sizes

_NOT_EXACT = (
    "sequences-BlockLSTM-1",  # TensorFlow leaves the clipping out
    "sequences-BlockLSTMV2-2",  # and takes the gates of this version for those of the first
    "sequences-BlockLSTMV2-3",
    "sequences-BlockLSTMV2-gates",
    "images-CropAndResize-nearest-3",
    "images-CropAndResize-nearest-1",
    "elementwise-SoftmaxCrossEntropyWithLogits-broadcast",
    "windows-DepthwiseConv2dNative-1-SAME-2",
)  # in TensorFlow itself

WITHOUT_GRADIENTS = (
    frozenset(  # operations that TensorFlow takes no gradient of, or another one (projections)
        [
            "AudioSpectrogram",
            "BlockLSTMGrad",
            "BlockLSTMGradV2",
            "CTCGreedyDecoder",
            "CropAndResizeGradBoxes",
            "CropAndResizeGradImage",
            "ExtractGlimpse",
            "ExtractGlimpseV2",
            "Mfcc",
            "SparseSegmentMeanGradV2",
            "SparseSegmentSqrtNGradV2",
            "SparseSegmentSumGradV2",
            "StatelessRandomGammaV2",
            "StatelessRandomGammaV3",
            "StatelessShuffle",
            "CombinedNonMaxSuppression",
            "DrawBoundingBoxesV2",
            "GRUBlockCellGrad",
            "GuaranteeConst",
            "LSTMBlockCellGrad",
            "NonMaxSuppressionV5",
            "XlaDynamicUpdateSlice",
            "ImageProjectiveTransformV2",
            "ImageProjectiveTransformV3",
            "AdjustContrastv2",
            "DebugGradientIdentity",
            "MaxPoolGradGradV2",
            "ToBool",
            "AdjustHue",
            "AdjustSaturation",
            "ApproximateEqual",
            "ArgMax",
            "ArgMin",
            "Bincount",
            "Bitcast",
            "BroadcastArgs",
            "Bucketize",
            "CholeskyGrad",
            "Conv",
            "Copy",
            "CopyHost",
            "DebugIdentityV2",
            "DeepCopy",
            "DenseBincount",
            "Dilation2DBackpropFilter",
            "Dilation2DBackpropInput",
            "FusedPadConv2D",
            "FusedResizeAndPadConv2D",
            "GRUBlockCell",
            "Greater",
            "GreaterEqual",
            "HistogramFixedWidth",
            "InTopK",
            "InTopKV2",
            "IsFinite",
            "IsInf",
            "IsNan",
            "LRNGrad",
            "LSTMBlockCell",
            "Less",
            "LessEqual",
            "LowerBound",
            "Lu",
            "MatrixSolveLs",
            "MaxPoolGradWithArgmax",
            "Mod",
            "PreventGradient",
            "QuantizeAndDequantizeV4Grad",
            "RFFT",
            "RFFT2D",
            "RFFT3D",
            "Range",
            "Rank",
            "ResizeArea",
            "ResizeBicubicGrad",
            "ResizeNearestNeighborGrad",
            "ScaleAndTranslateGrad",
            "Shape",
            "ShapeN",
            "Size",
            "Snapshot",
            "SoftsignGrad",
            "SparseSegmentMeanGrad",
            "SparseSegmentSqrtNGrad",
            "SparseSegmentSumGrad",
            "StatelessRandomUniformFullInt",
            "StatelessRandomUniformFullIntV2",
            "StatelessRandomUniformInt",
            "StatelessRandomUniformIntV2",
            "StatelessRandomUniformV2",
            "TruncateMod",
            "UpperBound",
        ]
    )
)

WITHOUT_FLOATS = (  # samples that give none, and one that TensorFlow's own kernel refuses
    "elementwise-Cast-float32-bfloat16",
    "elementwise-Cast-float32-bool",
    "elementwise-Cast-float32-complex64",
    "elementwise-Cast-float32-float16",
    "elementwise-Cast-float32-int16",
    "elementwise-Cast-float32-int32",
    "elementwise-Cast-float32-int64",
    "elementwise-Cast-float32-int8",
    "elementwise-Cast-float32-uint16",
    "elementwise-Cast-float32-uint8",
    "elementwise-Complex",
    "elementwise-Complex-float64",
    "gathering-Unique-int64",
    "gathering-Where-numbers",
    "windows-DepthwiseConv2dNative-1-VALID-2",
)

OTHER_GRADIENTS: set[tuple[str, str]] = {
    *((name, to) for name in (*_NOT_EXACT, *WITHOUT_FLOATS) for to in ("torch", "jax")),
    ("linear_algebra-Eig", "jax"),  # refuses
    ("elementwise-NextAfter", "jax"),  # refuses
    ("elementwise-NextAfter-scalar", "jax"),
}
