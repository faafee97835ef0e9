"""Samples that a target refuses, and those that are recorded again at other sizes."""

from __future__ import annotations

UNSUPPORTED: dict[tuple[str, str], tuple[type[BaseException], str]] = {}

RECORDED_AGAIN: set[str] = set()
