"""What devices exchange, by ``graph_compiler.parallel``."""

from __future__ import annotations

from .table import rows

rows.table({name: f"parallel.{name}({{x}}, {{axis_name}})" for name in ("pmax", "pmean", "pmin", "psum")})
