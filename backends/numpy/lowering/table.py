"""The table of rows that the other files of this package fill."""

from ....ops.collectives import COLLECTIVES
from ..dialect import NumpyRows, compute_dtype

UNSUPPORTED: dict[str, str] = dict.fromkeys(COLLECTIVES, "NumPy runs on one device")
rows = NumpyRows("numpy", UNSUPPORTED, counts=True, rolls=4, compute_dtype=compute_dtype)
