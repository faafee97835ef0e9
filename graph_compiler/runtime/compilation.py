"""Compilation of generated functions by the target's own compiler."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..contracts import Target


@dataclass(frozen=True)
class Compilation:
    """The options ``return_backend_compiled_fn`` and ``compile_options``.

    is_wanted: True or False; None for the target's default.
    options: options of the target's compiler.
    """

    is_wanted: bool | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def is_compiled(self, target: Target) -> bool:
        return target.compiles_by_default if self.is_wanted is None else self.is_wanted

    def options_for(self, target: Target) -> dict[str, Any] | None:
        return dict(self.options) if self.is_compiled(target) else None

    def compile(
        self,
        target: Target,
        function: Callable[..., Any],
        static: tuple[int, ...] = (),
        text: str | None = None,
    ) -> Callable[..., Any]:
        """Return ``function`` compiled for ``target``, or unchanged if it is to run operation by operation.

        `static` and `text` are those of :meth:`Target.compile`.
        """
        options = self.options_for(target)
        if options is None:
            return function
        if self.is_wanted is None:
            return target.compile_by_default(function, static, text)
        return target.compile(function, options, static, text)


def describe_compilation(function: Callable[..., Any]) -> str:
    describe: Callable[[], str] | None = getattr(function, "describe_compilation", None)
    return "" if describe is None else describe()
