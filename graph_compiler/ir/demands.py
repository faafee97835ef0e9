"""What a program demands of the framework that it is written for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TargetDemands:
    """Written by frontends and lifting, read where a graph is lifted and written for a target; kept in files.

    ``matmul_precision`` is how precisely the source framework multiplies matrices of float32 (``"highest"``, ``"high"``, ``"default"``;
    None: the target may choose). ``source_only`` says why the recording has a meaning in its own framework alone, empty where it has one
    elsewhere. ``wide`` is the call that gave whole numbers of more than 32 bits, empty where none did: JAX has such numbers only where it
    is told to. ``casts_are_written``: what autocast of torch casts is cast in the program, and nothing else is to be.
    """

    matmul_precision: str | None = None
    source_only: str = ""
    wide: str = ""
    casts_are_written: bool = False
