"""Tests of the precision of float32 products in JAX, which the source determines. On a CPU only the program
shows it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
jax = pytest.importorskip("jax")

import graph_compiler  # noqa: E402
import graph_compiler.backends.jax as backend  # noqa: E402
from graph_compiler.codegen.source import _helpers  # noqa: E402
from graph_compiler.errors import UnknownOperation  # noqa: E402
from graph_compiler.ops import all_ops, declare, get  # noqa: E402
from graph_compiler.ops.registry import SECTIONS  # noqa: E402

X = torch.ones(3, 3)


@pytest.fixture(autouse=True)
def _precision_kept() -> Iterator[None]:
    before = torch.get_float32_matmul_precision()
    yield
    torch.set_float32_matmul_precision(before)


def precisions(graph: Any, *arrays: Any) -> set[str]:
    """Return the precisions of all products in the traced program."""
    program = jax.make_jaxpr(lambda *given: graph.functional(graph.parameters, *given))(*arrays)
    return {
        str(equation.params["precision"])
        for equation in program.eqns
        if equation.primitive.name in ("dot_general", "conv_general_dilated")
    }


@pytest.mark.parametrize(
    ("setting", "expected"), [("highest", "HIGHEST"), ("high", "HIGH"), ("medium", "DEFAULT")]
)
def test_torch(setting: str, expected: str, tmp_path: Path) -> None:
    torch.set_float32_matmul_precision(setting)
    graph = graph_compiler.transpile(
        lambda x: torch.nn.functional.conv1d((x @ x.T)[None], x[:, :, None]), to="jax", args=(X,)
    )
    torch.set_float32_matmul_precision("highest")
    graph.save(tmp_path / "graph")
    for one in (
        graph,
        graph_compiler.load(tmp_path / "graph"),
        graph_compiler.load(tmp_path / "graph", to="numpy").to("jax"),
    ):
        found = precisions(one, X.numpy())
        assert found and all(expected in text for text in found), found


def test_numpy_and_jax() -> None:
    from_numpy = graph_compiler.transpile(lambda x: x @ x.T, to="jax", args=(X.numpy(),))
    found = precisions(from_numpy, X.numpy())
    assert found and all("HIGHEST" in text for text in found), found
    from_jax = graph_compiler.transpile(
        lambda x: jax.numpy.matmul(x, x), to="jax", args=(jax.numpy.ones((3, 3)),)
    )
    # JAX uses its own default.
    assert precisions(from_jax, X.numpy()) == {"None"}


def test_no_line_for_a_graph_without_products() -> None:
    assert "precision" not in graph_compiler.transpile(lambda x: x.exp() + 1, to="jax", args=(X,)).source
    np.testing.assert_allclose(graph_compiler.transpile(lambda x: x @ x, to="jax", args=(X,))(X), X @ X)


PRODUCT = re.compile(
    r" @ |\b(matmul|inner|outer|einsum|dot|dot_general|tensordot|vdot|vecdot|kron|convolve|correlate|conv_\w+|cov|polyfit|resize|linalg\.(?!\w*norm)|ragged_dot)\b"
)


def test_operations_of_sections_without_products_multiply_no_matrices() -> None:
    found = {name for name in backend.rows.names() if PRODUCT.search(written_for_jax(name))}
    assert {name for name in found if not SECTIONS[get(name).section]} == set()
    # This shows that the search finds anything.
    assert {"matmul", "conv", "affine_grid"} <= found
    assert {op.section for op in all_ops().values()} == set(SECTIONS)


def written_for_jax(name: str) -> str:
    """Return the code of an operation's row and of all helpers that it uses, without words about it."""
    row: Any = backend.rows._rows.get(name) or backend.rows.structured[name]
    template = [cell.cell_contents for cell in row.__closure__ or () if isinstance(cell.cell_contents, str)]
    text = template[0] if template else inspect.getsource(row)
    whole = "\n".join([text, *map(inspect.getsource, _helpers(backend.dialect.prelude, text))])
    return re.sub(r'""".*?"""|#[^\n]*', "", whole, flags=re.DOTALL)


def test_a_section_is_listed_before_it_has_operations() -> None:
    with pytest.raises(
        UnknownOperation, match=r"no section 'convolutions'; did you mean 'convolution'.*declare_section"
    ):
        declare("convolutions")
