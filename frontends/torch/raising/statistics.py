"""Calls that write to other arguments than their first: what those hold afterwards.

A row: bare name -> a function of the call's arguments that gives {position or keyword: new value}.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .table import TorchBuilder

WRITTEN: dict[str, Callable[[TorchBuilder, list[Any], dict[str, Any]], dict[Any, Any]]] = {}
