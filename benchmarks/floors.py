"""The floor of each figure: the limit that it has to reach."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Floor:
    """Limit of a figure.

    limit: the worst value that is still good.
    unit: unit of ``limit``, for tables.
    at_least: True for a lower bound, False for an upper bound.
    """

    limit: float
    unit: str
    at_least: bool = False

    def holds(self, value: float) -> bool:
        return value >= self.limit if self.at_least else value <= self.limit

    def __str__(self) -> str:
        return f"{'≥' if self.at_least else '≤'} {self.limit:g} {self.unit}"


FLOORS: dict[str, Floor] = {
    "speed-up over eager": Floor(1.3, "x", at_least=True),
    "guards and dispatch, a call": Floor(15, "µs"),
    "against hand-flattened": Floor(1.03, "x"),
    "conversion beyond one eager forward": Floor(0.6, "s"),
    "first jitted call against torchax": Floor(1.0, "x"),
    "steady jitted call against torchax": Floor(1.05, "x"),
    "steady against torchax, transformer": Floor(1.0, "x"),
    "steady against torchax, convolutional": Floor(0.75, "x"),
    "first call by default against the target's compiler": Floor(1.1, "x"),
    "later call by default against the target's compiler": Floor(1.05, "x"),
    "tf.function against jax.jit": Floor(1.3, "x"),
    "LSTM, forward, against hand-written": Floor(1.05, "x"),
    "LSTM, gradient, against hand-written": Floor(1.05, "x"),
    "steady call of a kernel against hand-written": Floor(1.1, "x"),
    "first call of a kernel against hand-written": Floor(2.0, "x"),
    "flat graph against its function": Floor(1.0, "x"),
    "jax.jit against Keras on JAX": Floor(1.0, "x"),
    "tf.function against predict_on_batch": Floor(1.0, "x"),
    "tf.function with XLA against predict_on_batch with XLA": Floor(1.0, "x"),
    "conversion of Keras ResNet-50": Floor(1.5, "s"),
    "permutations, jax": Floor(0, ""),
    "peak memory above the model": Floor(0.2, "GB"),
    "call against eager": Floor(1.0, "x"),
    "compiled call against torch.compile": Floor(1.0, "x"),
    "step against optax by hand": Floor(1.03, "x"),
    "step against an eager loop": Floor(1.0, "x"),
    "step against a compiled loop": Floor(1.05, "x"),
    "time for 10x the nodes": Floor(12, "x"),
    "time for 20x the nodes": Floor(24, "x"),
}
