"""The table of rows that the other files of this package fill."""

from ..compute_dtypes import TorchRows

UNSUPPORTED: dict[str, str] = {}
"""Operations that torch cannot compute, with the reason; see docs/support.md."""

rows = TorchRows("torch", UNSUPPORTED, counts=True)
