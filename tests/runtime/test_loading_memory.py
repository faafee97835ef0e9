"""Tests of the memory that ``load`` needs: it reads each array into its final memory, and does not trust
headers.
"""

from __future__ import annotations

import importlib
import io
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
jax = pytest.importorskip("jax")
tf = pytest.importorskip("tensorflow")

import numpy as np  # noqa: E402

import graph_compiler  # noqa: E402
from graph_compiler.errors import InvalidFile  # noqa: E402
from graph_compiler.runtime.saving.stored_arrays import HashedFile, stored_arrays  # noqa: E402

TARGETS = ("torch", "jax", "tensorflow", "numpy")
WIDTH, LAYERS = 1024, 8


class Stack(torch.nn.Module):
    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(width, width) for _ in range(layers))
        self.low = torch.nn.Parameter(torch.ones(width * width, dtype=torch.bfloat16))

    def forward(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        return x * self.low[0]


def _address(array: Any) -> int:
    """Return the address of the first element of an array of any target in host memory."""
    if hasattr(array, "data_ptr"):
        return int(array.data_ptr())
    if hasattr(array, "unsafe_buffer_pointer"):
        return int(array.unsafe_buffer_pointer())
    if isinstance(array, np.ndarray):
        return int(array.ctypes.data)
    # NumPy has no bfloat16 to export TensorFlow's memory as.
    held = tf.bitcast(array, tf.uint16) if array.dtype == tf.bfloat16 else array
    return int(np.asarray(memoryview(held)).ctypes.data)


@pytest.mark.parametrize("target", TARGETS)
def test_the_weights_stand_in_memory_once(
    target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The memory of the process is no measure: the system reclaims pages of files meanwhile."""
    file = tmp_path / "stack.zip"
    model = Stack(WIDTH, LAYERS).eval()
    graph_compiler.transpile(model, to="jax", args=(torch.ones(1, WIDTH),)).save(file)
    graph_compiler.load(file, to=target)  # what is imported meanwhile counts for nothing
    read = dict[int, int]()

    def memory(reader: HashedFile, count: int) -> Any:
        filled = original(reader, count)
        read[filled.ctypes.data] = count
        return filled

    original = HashedFile.memory
    monkeypatch.setattr(HashedFile, "memory", memory)
    tracemalloc.start()
    try:
        graph = graph_compiler.load(file, to=target)
        kept, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    size = file.stat().st_size
    assert 0.9 * size < kept <= peak < 1.1 * size
    parameters = model.state_dict()
    assert graph.parameters.keys() == parameters.keys()
    for name, array in graph.parameters.items():
        assert read[_address(array)] == parameters[name].nbytes, name


@pytest.mark.parametrize("target", TARGETS)
def test_arrays_of_every_type_and_shape_come_back(target: str, tmp_path: Path) -> None:
    """Empty arrays, scalars, and arrays that are not aligned in the file are included."""
    held = {
        "flag": torch.tensor([True, False, True]),
        "scalar": torch.tensor(2.5),
        "none": torch.zeros(0, 3),
        "low": torch.tensor([1.5, -2.0], dtype=torch.bfloat16),
        "bytes": torch.arange(7, dtype=torch.uint8),
        "complex": torch.tensor([1 + 2j]),
        "long": torch.tensor([[1, -(2**20)]]),
    }
    graph = graph_compiler.transpile(lambda: dict(held), to=target, args=())
    graph.save(tmp_path / "graph.zip")
    for name, array in graph_compiler.load(tmp_path / "graph.zip")().items():
        assert tuple(array.shape) == tuple(held[name].shape)
        expected = held[name].float() if name == "low" else held[name]
        np.testing.assert_array_equal(
            np.asarray(array.float() if hasattr(array, "float") and name == "low" else array),
            expected.numpy(),
        )


@pytest.mark.parametrize("target", TARGETS)
def test_bytes_that_begin_anywhere_are_taken(target: str) -> None:
    """TensorFlow used to abort on memory that is not aligned."""
    native = importlib.import_module(f"graph_compiler.backends.{target}").target
    for begin in range(0, 64, 8):
        memory = np.zeros(192, np.uint8)
        first = -memory.ctypes.data % 64 + begin
        held = memory[first : first + 64]
        held[:] = np.arange(16, dtype=np.int32).view(np.uint8)
        made = native.from_bytes(held, "int32", (2, 8))
        assert np.asarray(made + made).sum() == 240


def test_a_loaded_graph_has_memory_of_its_own(tmp_path: Path) -> None:
    model = Stack(4, 1)
    graph_compiler.compile(model, args=(torch.ones(1, 4),)).save(tmp_path / "graph.zip")
    first, second = (graph_compiler.load(tmp_path / "graph.zip") for _ in range(2))
    with torch.no_grad():
        first.parameters["low"].zero_()
    (tmp_path / "graph.zip").write_bytes(b"")
    assert not first(torch.ones(1, 4)).any() and second(torch.ones(1, 4)).any()


def _file(header: Any, data: bytes = bytes(8)) -> bytes:
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def _entry(begin: int, end: int, shape: Any = (1,), dtype: str = "F32") -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(lambda: _file({"a": _entry(0, 4), "b": _entry(0, 4)}), id="two arrays in one place"),
        pytest.param(lambda: _file({"a": _entry(0, 4), "b": _entry(5, 9)}), id="a hole"),
        pytest.param(lambda: _file({"a": _entry(0, 8)}), id="a shape of another size"),
        pytest.param(lambda: _file({"a": _entry(0, 16, [4])}), id="fewer bytes than the header says"),
        pytest.param(lambda: _file({"a": _entry(0, -4, [-1])}), id="a size below 0"),
        pytest.param(lambda: _file({"a": _entry(4, 8)}), id="an array that does not begin at the beginning"),
        pytest.param(lambda: (1 << 60).to_bytes(8, "little") + b"{}", id="a header without end"),
        pytest.param(lambda: _file({})[:9], id="half a header"),
    ],
)
def test_no_header_is_believed(text: Callable[[], bytes]) -> None:
    with pytest.raises(InvalidFile):
        list(stored_arrays(HashedFile(io.BytesIO(text()))))


def test_what_follows_the_arrays_is_refused() -> None:
    file = HashedFile(io.BytesIO(_file({"a": _entry(0, 4)})))
    assert [(name, encoded, len(data)) for name, encoded, data in stored_arrays(file)] == [("a", "F32", 4)]
    with pytest.raises(InvalidFile, match="altered"):
        file.require("", "arrays")
