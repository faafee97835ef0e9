"""Writing of canonical nodes for NumPy.

Every function ignores floating-point warnings, as tensor libraries do.
"""

from __future__ import annotations

from ...ir.graph import Graph
from ..common.dialect import CanonicalDialect


def dtype_text(dtype: str) -> str:
    return {"bool": "np.bool_", "bfloat16": "ml_dtypes.bfloat16"}.get(dtype, f"np.{dtype}")


class NumpyDialect(CanonicalDialect):
    def decorators(self, graph: Graph) -> tuple[str, ...]:
        return ('@np.errstate(all="ignore")',)
