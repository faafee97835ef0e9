"""Functions whose samples do not all come out right, with the reason."""

from __future__ import annotations

_TYPE = "the type follows from whether a size is known (docs/limits.md)"

LIMITS: dict[str, str] = {
    "tf.nn.ctc_unique_labels": "jax.numpy.unique inside of a loop wants a bound",
    "keras.ops.searchsorted": _TYPE,
    "tnp.size": _TYPE,
}
