"""Raw operations that compute numbers and have no row: with those that have one, they are the denominator of
the coverage of raw operations.

Operations on sparse, ragged and quantised arrays, texts, files, tables, datasets, variables, devices, and
what TensorFlow has removed, are none of them. The reason that a user reads stands in
``frontends/tensorflow/lifting/driver.py``.
"""

from __future__ import annotations

WITHOUT_ROW: frozenset[str] = frozenset(
    [
        "CTCBeamSearchDecoder", "FractionalAvgPool", "FractionalAvgPoolGrad", "FractionalMaxPool", "FractionalMaxPoolGrad",
        "IgammaGradA", "LearnedUnigramCandidateSampler", "RandomGammaGrad", "RandomIndexShuffle", "SampleDistortedBoundingBox",
        "SampleDistortedBoundingBoxV2", "StatefulRandomBinomial", "StatefulStandardNormal", "StatelessSampleDistortedBoundingBox",
        "ThreadUnsafeUnigramCandidateSampler",
    ]
)  # fmt: skip
