"""Functions with loops that are recorded as statements. pytest would change those of a test file."""

from __future__ import annotations

from typing import Any

import numpy as np


def distances(a: Any, b: Any) -> Any:
    table = np.zeros((len(a) + 1, len(b) + 1))
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            table[i, j] = min(table[i - 1, j], table[i, j - 1]) + (a[i - 1] != b[j - 1])
    return table
