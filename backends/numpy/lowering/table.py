"""The one table that the files beside this one fill."""

from ..half import NumpyRows, compute_dtype

UNSUPPORTED: dict[str, str] = dict.fromkeys(("pmax", "pmean", "pmin", "psum"), "NumPy runs on one device")
rows = NumpyRows("numpy", UNSUPPORTED, counts=True, compute_dtype=compute_dtype)
