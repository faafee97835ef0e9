"""Raw operations that compute numbers and have no row: with those that have one, they are the denominator of the coverage of raw operations.

Operations on sparse, ragged and quantised arrays, texts, files, tables, datasets, variables, devices, and what TensorFlow has removed, are
none of them. The reason that a user reads stands in ``frontends/tensorflow/lifting/left_out.py``.
"""

from __future__ import annotations

WITHOUT_ROW: frozenset[str] = frozenset(
    [
        "AllCandidateSampler", "BlockLSTM", "BlockLSTMGrad", "BlockLSTMGradV2", "BlockLSTMV2", "CTCBeamSearchDecoder",
        "CTCGreedyDecoder", "CTCLoss", "CTCLossV2", "ComputeAccidentalHits", "CropAndResizeGradBoxes", "CropAndResizeGradImage",
        "ExtractGlimpse", "ExtractGlimpseV2", "FixedUnigramCandidateSampler", "FractionalAvgPool", "FractionalAvgPoolGrad",
        "FractionalMaxPool", "FractionalMaxPoolGrad", "GenerateBoundingBoxProposals", "IgammaGradA", "IsotonicRegression",
        "LearnedUnigramCandidateSampler", "LogUniformCandidateSampler", "MatrixLogarithm", "MatrixSquareRoot", "Mfcc",
        "ParameterizedTruncatedNormal", "RandomGammaGrad", "RandomIndexShuffle", "RngReadAndSkip", "RngSkip",
        "SampleDistortedBoundingBox", "SampleDistortedBoundingBoxV2", "SparseSegmentMeanGradV2", "SparseSegmentSqrtNGradV2",
        "SparseSegmentSumGradV2", "StatefulRandomBinomial", "StatefulStandardNormal", "StatefulStandardNormalV2",
        "StatefulTruncatedNormal", "StatefulUniform", "StatefulUniformFullInt", "StatefulUniformInt", "StatelessMultinomial",
        "StatelessParameterizedTruncatedNormal", "StatelessRandomBinomial", "StatelessRandomGammaV2", "StatelessRandomGammaV3",
        "StatelessRandomPoisson", "StatelessSampleDistortedBoundingBox", "StatelessShuffle", "ThreadUnsafeUnigramCandidateSampler",
        "UniformCandidateSampler",
    ]
)  # fmt: skip
