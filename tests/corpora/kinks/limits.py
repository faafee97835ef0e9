"""Derivatives that differ from the source's, with reasons. The list is strict: an entry that is right must be
removed.

``LIMITS``: (source, row, target, order of the derivative) -> reason.
"""

from __future__ import annotations

_NAN = "NaN in the source, a number or an infinity in the target"
_NAN_IN_TARGET = "a number in the source, NaN in the target"
_MINUS_ZERO = "the sign of an infinite derivative at -0.0"
_SIDE = "the second derivative jumps here, and each framework takes a side of its own"
_POLE = "at its poles the function is infinite, and the derivative is the target's"
_SHARE = "the source shares the gradient of equal elements by a rule of its kernel alone"
_KERNEL = "the second derivative of torch's kernel leaves out a part that is not 0"
_STEPS = "JAX shares the gradient of equal elements as its steps in parallel meet them"
_TWICE = "the second derivative of products that are scattered over zeros is not written"

_ROOT = "TensorFlow's gradient of a root is 0 where a zero meets it, also where the root is NaN"
_EXPONENT = "TensorFlow takes a logarithm of 0 and of negative bases for 0"

_Row = tuple[str, str, str]
# (source, targets, orders) -> reason -> rows
_TABLE: dict[_Row, dict[str, tuple[str, ...]]] = {
    ("torch", "jax tensorflow", "1"): {_SHARE: ("scatter_reduce-amax-alone", "cdist-inf", "pdist-inf")},
    ("torch", "jax tensorflow", "2"): {
        _NAN: (
            "sinc", "atan2", "copysign", "pow", "logit-eps", "complex-sgn", "complex-angle", "norm-0.5", "norm-1.5", "norm-2",
            "matrix_norm", "renorm", "dist", "pairwise_distance", "cosine_similarity", "normalize", "triplet_margin", "logaddexp-infinite",
        ),
        _NAN_IN_TARGET: ("lp_pool1d",),
        _MINUS_ZERO: ("pow-half", "pow-fraction"),
        _SIDE: ("softplus-threshold",),
        _KERNEL: ("prelu",),
    },
    ("torch", "jax tensorflow", "12"): {_NAN: ("poisson_nll",), _POLE: ("lgamma-poles", "digamma-poles", "pow-of-0"), _KERNEL: ("polar",)},
    ("torch", "jax", "1"): {_MINUS_ZERO: ("rsqrt",)},
    ("torch", "jax", "2"): {_NAN_IN_TARGET: ("atanh",), _SIDE: ("complex-abs",)},
    ("torch", "tensorflow", "1"): {_NAN: ("where-nan",)},
    ("torch", "tensorflow", "2"): {_NAN: ("log-times-0",), _TWICE: ("scatter_reduce-prod",)},
    ("jax", "torch", "2"): {_MINUS_ZERO: ("power-fraction",), _NAN_IN_TARGET: ("sinc", "softplus", "logaddexp-infinite")},
    ("jax", "torch tensorflow", "1"): {_MINUS_ZERO: ("cbrt", "rsqrt"), _STEPS: ("lax.cummax", "lax.cummin")},
    ("jax", "torch tensorflow", "2"): {_NAN: ("arctanh",), _SIDE: ("elu", "elu-2", "selu", "celu", "celu-2", "soft_sign", "complex-abs")},
    ("jax", "torch tensorflow", "12"): {_NAN: ("power", "float_power")},
    ("jax", "torch", "1"): {_NAN: ("angle", "arctan2", "complex-angle"), _MINUS_ZERO: ("power-half",)},
    ("jax", "torch", "12"): {_NAN: ("power-of-0",)},
    ("jax", "tensorflow", "1"): {_NAN: ("where-nan", "norm-0.5")},
    ("jax", "tensorflow", "2"): {_NAN: ("log-times-0",), _NAN_IN_TARGET: ("at.multiply",)},
    ("tensorflow", "jax torch", "1"): {
        _NAN: ("atan2", "pow-0"), _EXPONENT: ("pow",), _ROOT: ("where-root",), _MINUS_ZERO: ("pow-half",),
    },
    ("tensorflow", "jax", "1"): {_MINUS_ZERO: ("rsqrt",)},
    ("tensorflow", "torch", "1"): {_NAN: ("pow-of-0",)},
    ("jax", "tensorflow", "12"): {_NAN: ("angle", "arctan2", "complex-angle"), _MINUS_ZERO: ("power-half",)},
}  # fmt: skip

LIMITS: dict[tuple[str, str, str, int], str] = {
    (source, row, target, int(order)): reason
    for (source, targets, orders), reasons in _TABLE.items()
    for reason, rows in reasons.items()
    for row in rows
    for target in targets.split()
    for order in orders
}
