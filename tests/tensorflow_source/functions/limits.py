"""Functions whose samples do not all come out right, with the reason."""

from __future__ import annotations

_TYPE = "the type follows from whether a size is known (docs/limits.md)"

LIMITS: dict[str, str] = {
    "tf.nn.ctc_unique_labels": "JAX has to know how many elements are unique in each step of a loop, and refuses it",
    "tnp.size": _TYPE,
}
