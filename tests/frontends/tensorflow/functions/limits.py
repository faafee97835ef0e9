"""Functions of which some samples are not right, with reasons."""

from __future__ import annotations

_TYPE = "the type follows from whether a size is known (docs/limits.md)"
_DRAWN = "of a seed, numbers of the same distribution, with a warning"

LIMITS: dict[str, str] = {
    "tf.nn.ctc_unique_labels": "JAX has to know how many elements are unique in each step of a loop, and refuses it",
    "tf.random.stateless_binomial": _DRAWN,
    "tf.random.stateless_categorical": _DRAWN,
    "tf.random.stateless_gamma": _DRAWN,
    "tf.random.stateless_parameterized_truncated_normal": _DRAWN,
    "tf.random.stateless_poisson": _DRAWN,
    "tnp.size": _TYPE,
}
