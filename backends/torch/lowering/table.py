"""The one table that the files beside this one fill."""

from ..compute_dtypes import TorchRows

UNSUPPORTED: dict[str, str] = {}
"""Operation -> why torch cannot have it; strict, see docs/support.md."""

rows = TorchRows("torch", UNSUPPORTED, counts=True)
