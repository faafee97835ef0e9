"""The one table that the files beside this one fill."""

from ..half import NumpyRows, compute_dtype

rows = NumpyRows("numpy", counts=True, compute_dtype=compute_dtype)
