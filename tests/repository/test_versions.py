"""Tests with functions that other versions of a framework lack, and with optional libraries that are not
installed.
"""

from __future__ import annotations

import sys

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("jax")

from jax.scipy import special  # noqa: E402

import graph_compiler  # noqa: E402
from graph_compiler.errors import FrameworkNotInstalled  # noqa: E402
from tests.support.compare import assert_same  # noqa: E402


@pytest.mark.parametrize(("to", "package"), [("jax", "flax"), ("tensorflow", "keras")])
def test_modules_of_a_library_that_is_not_installed(
    to: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(to)
    graph = graph_compiler.transpile(torch.nn.Linear(3, 2), to=to, args=(torch.ones(1, 3),))
    monkeypatch.delitem(sys.modules, f"graph_compiler.backends.{to}.module", raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(
        FrameworkNotInstalled, match=f"Linear: a module of {to} is one of {package}.*pip install {package}$"
    ):
        graph.as_module()


def test_erfcx_where_jax_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(special, "erfcx", raising=False)

    def function(x: torch.Tensor) -> torch.Tensor:
        return torch.special.erfcx(x)

    graph = graph_compiler.transpile(function, to="jax", args=(torch.ones(2),))
    x = torch.cat(
        [torch.linspace(-6, 12, 300), torch.tensor([1e3, 1e30, float("inf"), float("nan"), 0.0, 2.0])]
    )
    assert_same(graph(x), torch.special.erfcx(x))
