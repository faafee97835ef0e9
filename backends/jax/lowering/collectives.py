"""What devices exchange, by ``graph_compiler.parallel``."""

from __future__ import annotations

from ....ops.collectives import REDUCTIONS
from .table import rows

rows.table({name: f"parallel.{name}({{x}}, {{axis_name}})" for name in (*REDUCTIONS, "all_gather")})
rows.table(
    {
        "axis_index": "parallel.axis_index({axis_name})",
        "axis_indices": "jnp.arange(parallel.axis_size({axis_name}), dtype=jnp.int32)",
    }
)
rows.table({"sharding_hint": "parallel.hint({x}, {layout})"})
