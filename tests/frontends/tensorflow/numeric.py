"""Raw operations on numbers without a lifting row. Together with those that have one, they are the total for
the coverage of raw operations.

Operations on sparse, ragged and quantised arrays, strings, files, tables, datasets, variables and devices
are not counted, nor those that TensorFlow has removed. ``frontends/tensorflow/lifting/driver.py`` has the
reasons that users see.
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
