"""Requirements of a program on the framework that it is written for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TargetDemands:
    """Requirements that frontends and lifting note. They are saved with the graph.

    matmul_precision: precision of float32 matrix products in the source framework: `"highest"`, `"high"`
        or `"default"`; None for any.
    source_only: reason why the recording can only run in its own framework; empty if it can be lifted.
    wide: call that returned integers of more than 32 bits; empty if none did. JAX has these only with
        `jax_enable_x64`.
    casts_are_written: True if the casts of torch's autocast are part of the program, so the target must
        not add its own.
    is_lifted: True if the calls as recorded could not be traced, so the graph is lifted for its own framework too.
    """

    matmul_precision: str | None = None
    source_only: str = ""
    wide: str = ""
    casts_are_written: bool = False
    is_lifted: bool = False
