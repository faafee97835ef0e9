"""Functions whose samples do not all come out right, with the reason."""

from __future__ import annotations

_LOOKED_UP = "its gradient is a function of TensorFlow that the reader does not find"
_TYPE = "the type follows from whether a size is known (docs/limits.md)"

LIMITS: dict[str, str] = {
    "tf.nn.ctc_loss": _LOOKED_UP,
    "keras.ops.ctc_loss": _LOOKED_UP,
    "tf.linalg.eigh_tridiagonal": "a branch that is not taken reads beyond the end of an array",
    "tf.nn.ctc_unique_labels": "jax.numpy.unique inside of a loop wants a bound",
    "keras.ops.searchsorted": _TYPE,
    "tnp.size": _TYPE,
}
