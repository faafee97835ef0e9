"""The one table that the files beside this one fill."""

from ..half import NumpyRows

rows = NumpyRows("numpy")
