"""The one table that the files beside this one fill."""

from ..rows import Rows

rows = Rows("helper calls")
