"""Tests of files: a saved graph computes the same after loading; damaged, foreign and malicious files raise
one clear error.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import pickle
import random
import re
import subprocess
import zipfile
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("jax")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

import graph_compiler  # noqa: E402
from graph_compiler.errors import (  # noqa: E402
    GuardFailed,
    InvalidFile,
    NotSerialisable,
    NotTraced,
    TracingError,
)
from tests.support.compare import assert_same, to_numpy  # noqa: E402
from tests.support.logs import logged  # noqa: E402
from tests.support.threads import several  # noqa: E402

Pair = namedtuple("Pair", ["first", "second"])
Pair.__module__ = "a.module.that.is.not.here"
TARGETS = ("torch", "jax", "numpy", "tensorflow")


class Ring(deque[Any]):
    pass


class Table(defaultdict[str, Any]):
    pass


@dataclass(slots=True)
class Slotted:
    first: Any


class Small(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear, self.norm = torch.nn.Linear(4, 5), torch.nn.BatchNorm1d(5)
        self.table = torch.arange(5.0)

    def forward(self, x: Any) -> dict[str, Any]:
        hidden = self.norm(self.linear(x))
        hidden[0] = math.inf
        return {
            "a": torch.softmax(hidden, -1)[1:],
            "b": (self.table.to(torch.bfloat16), x.shape[0], None, 2.5, "x"),
        }


def sized(x: Any, scale: float = 2.0, *, mode: str = "nearest") -> Any:
    n = x.shape[0]
    y = torch.nn.functional.interpolate(x[None, None], scale_factor=2, mode=mode)[0, 0]
    return y[: n // 2 + 1].reshape(-1, 1) * scale, [torch.zeros(n, dtype=torch.complex64), x[..., None, 1:-1]]


def experts(x: Any, ends: Any) -> Any:
    """Use a product with a private name in torch, and ``detach``."""
    y = x.detach().requires_grad_()
    return torch.nn.functional.grouped_mm(x, torch.eye(16).expand(3, 16, 16) * 2, offs=ends), (y * 2).detach()


PROGRAMS: dict[str, tuple[Any, tuple[Any, ...], tuple[Any, ...]]] = {
    "module": (Small().eval(), (torch.randn(3, 4),), (torch.randn(6, 4),)),
    "sizes": (sized, (torch.randn(4, 6),), (torch.randn(5, 8),)),
    "integers": (
        lambda x, i: x[i].sum(0),
        (torch.randn(4, 3), torch.tensor([0, 2])),
        (torch.randn(6, 3), torch.tensor([5, 5, 1])),
    ),
    "tree of arguments": (
        lambda d: d["x"] + d["y"][0],
        ({"x": torch.ones(2), "y": [torch.ones(2)]},),
        ({"x": torch.ones(3), "y": [torch.ones(3)]},),
    ),
    "a device and a type": (
        lambda x: {
            "device": x.device,
            "type": x.dtype,
            "made": torch.arange(x.shape[0], device=x.device, dtype=torch.float16),
        },
        (torch.ones(2),),
        (torch.ones(3),),
    ),
    "calls that torch's list of overridable functions lacks": (
        lambda x: [
            x.new_ones(x.shape[0]),
            torch.nn.functional.hardswish(x),
            x.unflatten(0, (-1, 1)),
            torch.vander(x),
        ],
        (torch.ones(2),),
        (torch.ones(3),),
    ),
    "private names": (
        experts,
        (torch.randn(6, 16), torch.tensor([1, 4, 6], dtype=torch.int32)),
        (torch.randn(8, 16), torch.tensor([3, 3, 8], dtype=torch.int32)),
    ),
    "nothing in": (lambda: torch.eye(3), (), ()),
}


def saved(graph: Any, path: Path) -> Path:
    graph.save(path)
    return path


@pytest.mark.parametrize("form", ["graph.zip", "folder"])
@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_round_trip(name: str, to: str, form: str, tmp_path: Path) -> None:
    function, args, others = PROGRAMS[name]
    graph = graph_compiler.compile(function, to=to, args=args)
    again = graph_compiler.load(saved(graph, tmp_path / form))
    assert again.parameters.keys() == graph.parameters.keys()
    for given in (args, others):
        assert_same(again(*given), graph(*given))


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_torch_graph_is_written_for_jax_when_loaded(name: str, tmp_path: Path) -> None:
    function, args, others = PROGRAMS[name]
    path = saved(graph_compiler.compile(function, args=args), tmp_path / "graph.zip")
    again = graph_compiler.load(path, to="jax")
    assert_same(again(*others), graph_compiler.transpile(function, args=args)(*others))


@pytest.mark.parametrize("form", ["graph.zip", "folder"])
def test_what_was_saved_stays_where_saving_fails(form: str, tmp_path: Path) -> None:
    """A donated JAX array has no elements, which is noticed only while they are written."""
    graph = graph_compiler.transpile(Small().eval(), args=(torch.ones(2, 4),))
    expected = graph(torch.ones(3, 4))
    saved(graph, tmp_path / form)
    array = graph.parameters["linear.weight"]
    array.delete()
    with pytest.raises(InvalidFile, match=r"linear\.weight cannot be written: .*deleted"):
        graph.save(tmp_path / form)
    assert [path.name for path in tmp_path.iterdir()] == [form] and not list(tmp_path.rglob(".*"))
    assert_same(graph_compiler.load(tmp_path / form)(torch.ones(3, 4)), expected)


def of_a_key() -> Any:
    key = jax.random.key(0)
    return graph_compiler.compile(lambda x: x + jax.random.normal(key, x.shape), args=(jnp.ones(2),))


def of_small_floats() -> Any:
    model = torch.nn.Module()
    model.register_buffer("scale", torch.ones(2).to(torch.float8_e4m3fn))
    model.forward = lambda x: x * model.scale.float()
    return graph_compiler.compile(model, args=(torch.ones(2),))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (of_a_key, r"constants/0/\w+ cannot be written: files have no dtype key<fry>"),
        (of_small_floats, r"parameters/scale cannot be written: files have no dtype float8_e4m3fn"),
    ],
)
def test_an_array_of_a_dtype_that_files_lack_is_named(
    make: Callable[[], Any], words: str, tmp_path: Path
) -> None:
    graph = make()
    with pytest.raises(InvalidFile, match=words):
        graph.save(tmp_path / "graph.zip")
    with pytest.raises(NotSerialisable, match=words):
        pickle.dumps(graph)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("form", ["graph.zip", "folder"])
def test_threads_that_save_to_one_path(form: str, tmp_path: Path) -> None:
    graphs = [graph_compiler.compile(lambda x, k=k: x * k, args=(torch.ones(3),)) for k in (1.0, 2.0, 3.0)]
    several(lambda number: [graphs[number].save(tmp_path / form) for _ in range(10)], 3)
    assert (
        graph_compiler.load(tmp_path / form)(torch.ones(1)).item() in (1, 2, 3)
        and len(list(tmp_path.iterdir())) == 1
    )


def test_saving_follows_no_link_that_stands_beside(tmp_path: Path) -> None:
    (tmp_path / "other.txt").write_text("kept")
    (tmp_path / "graph.zip.partial").symlink_to(tmp_path / "other.txt")
    saved(graph_compiler.compile(Small().eval(), args=(torch.ones(2, 4),)), tmp_path / "graph.zip")
    assert (tmp_path / "other.txt").read_text() == "kept"


def test_an_existing_folder_with_a_suffix_is_saved_into(tmp_path: Path) -> None:
    (tmp_path / "model.v1").mkdir()
    graph = graph_compiler.compile(Small().eval(), args=(torch.ones(2, 4),))
    assert_same(
        graph_compiler.load(saved(graph, tmp_path / "model.v1"))(torch.ones(3, 4)), graph(torch.ones(3, 4))
    )


@pytest.mark.parametrize("to", TARGETS)
def test_the_source_of_a_file_is_the_same(to: str, tmp_path: Path) -> None:
    graph = graph_compiler.compile(Small().eval(), to=to, args=(torch.ones(2, 4),))
    again = graph_compiler.load(saved(graph, tmp_path / "graph.zip"))
    assert again.source == re.sub(r" \d+ calls recorded,", "", graph.source)


@pytest.mark.parametrize("name", ["\uff46oo", "x\u00b2", "\u0bf0", "class", "a b", "x\ny", "'; import os"])
def test_names_that_python_reads_as_others(name: str, tmp_path: Path) -> None:
    def function(x: Any) -> Any:
        return x * 2

    function.__name__ = function.__qualname__ = name
    graph = graph_compiler.compile(function, args=(torch.ones(2),))
    assert graph_compiler.load(saved(graph, tmp_path / "graph.zip"))(torch.ones(3)).tolist() == [2, 2, 2]


class Accented(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.länge = torch.nn.Parameter(torch.ones(2) * 3)

    def forward(self, x: Any, größe: int = 1) -> Any:  # noqa: PLC2401
        return x * self.länge * größe


def test_names_with_letters_beyond_ascii(tmp_path: Path) -> None:
    graph = graph_compiler.compile(Accented(), args=(torch.ones(2),), kwargs={"größe": 2})
    again = graph_compiler.load(saved(graph, tmp_path / "graph.zip"))
    assert again(torch.ones(2), größe=2).tolist() == [6, 6] and list(again.parameters) == ["länge"]


def test_a_call_that_fits_nothing(tmp_path: Path) -> None:
    again = graph_compiler.load(
        saved(graph_compiler.compile(Small().eval(), args=(torch.ones(2, 4),)), tmp_path / "graph.zip")
    )
    with pytest.raises(GuardFailed, match=r"loaded from a file.*3 axes and was recorded with 2"):
        again(torch.ones(2, 4, 1))
    with pytest.raises(NotTraced, match="no original"):
        again.verify()


def test_statistics_go_on(tmp_path: Path) -> None:
    again = graph_compiler.load(
        saved(graph_compiler.transpile(Small().train(), args=(torch.randn(3, 4),)), tmp_path / "graph.zip")
    )
    again(torch.randn(3, 4)), again(torch.randn(3, 4))
    assert int(again.parameters["norm.num_batches_tracked"]) == 2


def test_an_unknown_class_becomes_a_plain_one(tmp_path: Path) -> None:
    graph = graph_compiler.compile(lambda x: Pair(x, x + 1), args=(torch.ones(2),))
    with logged() as messages:
        result = graph_compiler.load(saved(graph, tmp_path / "graph.zip"))(torch.ones(2))
    assert (
        type(result) is not Pair
        and to_numpy(result.first).tolist() == [1, 1]
        and to_numpy(result.second).tolist() == [2, 2]
    )
    assert any("Pair, which is not known here" in message for message in messages)


@pytest.mark.parametrize("to", TARGETS)
def test_an_unknown_named_tuple_is_an_argument(to: str, tmp_path: Path) -> None:
    """The class cannot be imported, so a named tuple with the same name and fields must be accepted."""
    graph = graph_compiler.transpile(
        lambda pair: pair.first - pair.second * 2, to=to, args=(Pair(torch.ones(2), torch.ones(2)),)
    )
    again = graph_compiler.load(
        saved(graph_compiler.load(saved(graph, tmp_path / "graph.zip")), tmp_path / "again.zip")
    )
    assert to_numpy(again(Pair(torch.ones(3), torch.zeros(3)))).tolist() == [1, 1, 1]
    for other in (
        namedtuple("Pair", ["first", "last"]),
        namedtuple("Two", ["first", "second"]),
        lambda *parts: parts,
    ):
        with pytest.raises(GuardFailed, match=r"argument \w+ is"):
            again(other(torch.ones(3), torch.zeros(3)))  # type: ignore[operator]


def test_a_known_class_comes_back(tmp_path: Path) -> None:
    outputs = pytest.importorskip("transformers.modeling_outputs")
    graph = graph_compiler.transpile(
        lambda x: outputs.BaseModelOutput(last_hidden_state=x + 1), args=(torch.ones(2),)
    )
    result = graph_compiler.load(saved(graph, tmp_path / "graph.zip"))(torch.ones(2))
    assert type(result) is outputs.BaseModelOutput and to_numpy(result.last_hidden_state).tolist() == [2, 2]


@pytest.mark.parametrize(
    "made",
    [
        Ring(),
        Ring([1.0, 2.0]),
        deque([1.0, 2.0], 3),
        Table(list, first=1.0),
        Table(None, first=1.0),
        defaultdict(Fraction, first=1.0),
    ],
)
def test_settings_of_containers_come_back(made: Any, tmp_path: Path) -> None:
    graph = graph_compiler.compile(lambda x, held: (x + 1, held), args=(np.ones(2), made))
    _, held = graph_compiler.load(saved(graph, tmp_path / "graph.zip"))(np.ones(2), made)
    assert type(held) is type(made) and held == made
    assert [getattr(held, name, None) for name in ("maxlen", "default_factory")] == [
        getattr(made, name, None) for name in ("maxlen", "default_factory")
    ]


def test_a_factory_that_is_code_is_left_out(tmp_path: Path) -> None:
    graph = graph_compiler.compile(lambda x: defaultdict(lambda: 1.0, first=x), args=(np.ones(2),))
    held = graph_compiler.load(saved(graph, tmp_path / "graph.zip"))(np.ones(2))
    assert held.default_factory is None and held["first"].tolist() == [1, 1]


@pytest.mark.parametrize("setting", [-1, "list", True, [3]])
def test_a_length_of_a_deque_that_is_none(setting: Any, tmp_path: Path) -> None:
    graph = graph_compiler.compile(lambda x: deque([x], 3), args=(np.ones(2),))
    path = changed(
        saved(graph, tmp_path / "graph.zip"), lambda data: first(data)["output_tree"].update(setting=setting)
    )
    with pytest.raises(InvalidFile, match="no length of a deque"):
        graph_compiler.load(path)


def test_code_as_the_name_of_a_field(tmp_path: Path) -> None:
    graph = graph_compiler.compile(lambda held: held.first + 1, args=(Slotted(np.ones(2)),))
    path = changed(
        saved(graph, tmp_path / "graph.zip"),
        lambda data: first(data)["input_tree"]["children"][0]["children"][0].update(
            keys=["first if evil() else 1"]
        ),
    )
    with pytest.raises(InvalidFile, match="names that are none"):
        graph_compiler.load(path)


@pytest.mark.parametrize("cls", [int, OSError, deque, Fraction, np.float32, OrderedDict])
def test_a_class_is_an_argument(cls: type, tmp_path: Path) -> None:
    graph = graph_compiler.compile(lambda x, kind: (x * 2, kind), args=(np.ones(2), cls))
    result, kind = graph_compiler.load(saved(graph, tmp_path / "graph.zip"))(np.ones(2), cls)
    assert result.tolist() == [2, 2] and kind is cls


def test_a_class_that_acts_is_not_loaded(tmp_path: Path) -> None:
    graph = graph_compiler.compile(lambda x, kind: (x * 2, kind), args=(np.ones(2), subprocess.Popen))
    with pytest.raises(InvalidFile, match="class Popen of subprocess"):
        graph.save(tmp_path / "graph.zip")


def test_errors_that_numpy_raises_are_raised_after_loading(tmp_path: Path) -> None:
    def inverse(x: Any) -> Any:
        with np.errstate(divide="raise"):
            return 1.0 / x

    graph = graph_compiler.compile(inverse, args=(np.ones(2),))
    again = graph_compiler.load(saved(graph, tmp_path / "graph.zip"))
    assert again(np.array([1.0, 2.0])).tolist() == [1.0, 0.5]
    with pytest.raises(GuardFailed, match="fails with FloatingPointError"):
        again(np.array([0.0, 2.0]))

    def put_code(data: dict[str, Any]) -> None:
        record = first(data)["nodes"][0][4]
        record["errstate"] = {"!": "tuple", "v": [{"!": "tuple", "v": ["divide", 'warn", over=evil("']}]}

    with pytest.raises(InvalidFile, match="is none of ignore"):
        graph_compiler.load(changed(tmp_path / "graph.zip", put_code))


def test_what_a_file_cannot_hold(tmp_path: Path) -> None:
    marker = object()
    graph = graph_compiler.compile(lambda x, m: x + 1, args=(torch.ones(2), marker))
    with pytest.raises(InvalidFile, match=r"cannot be saved.*object"):
        graph.save(tmp_path / "graph.zip")


# --------------------------------------------------------------------------------- files that must be refused
def changed(path: Path, change: Callable[[dict[str, Any]], Any]) -> Path:
    """Change the JSON of a file in place and fix its digest, as an attacker would."""

    def altered(text: bytes) -> bytes:
        data = json.loads(text)
        return json.dumps(change(data) or data).encode()

    return replaced(path, "graph.json", altered)


def replaced(path: Path, part: str, change: Callable[[bytes], bytes]) -> Path:
    """Change one part of a file in place, fix its digest, and return the path."""
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    files[part] = change(files[part])
    names = ("graph.json", "arrays.safetensors")
    files["digest.json"] = json.dumps(
        {name: hashlib.sha256(files[name]).hexdigest() for name in names}
    ).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def first(data: dict[str, Any]) -> Any:
    return data["variants"][0]


def call(op: str, inputs: Any = None) -> Callable[[dict[str, Any]], None]:
    def change(data: dict[str, Any]) -> None:
        node = first(data)["nodes"][0]
        node[0] = op
        if inputs is not None:
            node[1] = {"!": "tuple", "v": inputs}

    return change


def put(*path: Any, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(data: dict[str, Any]) -> None:
        holder = first(data)
        for key in path[:-1]:
            holder = holder[key]
        holder[path[-1]] = value

    return change


def renamed(data: dict[str, Any]) -> None:
    body = first(data)
    body["parameters"] = dict.fromkeys(['x"] + __import__("os").system("false") + ["'], 0)


EVIL = '"""\nimport os\nos.abort()\n"""'
HOSTILE: dict[str, Callable[[dict[str, Any]], Any]] = {
    **{
        f"calls {op}": call(op)
        for op in (
            "torch.load",
            "torch.hub.load",
            "torch.serialization.load",
            "os.system",
            "torch.os.system",
            "torch.Tensor.__class__",
            "torch.from_file",
            "torch.utils.cpp_extension.load",
            "torch.nn.functional.torch.load",
            "torch.ops.aten.from_file",
            "torch.ops.aten.from_file.default",
            "torch.ops.load_library",
            "torch.Tensor.data_ptr",
            "torch.Tensor.set_",
            "torch.Tensor.numpy",
            "torch.Tensor.apply_",
            "torch._C._nn.__dict__",
            "builtins.eval",
            "torch.compile",
            "torch.add(1);__import__",
            "torch.sys.exit",
            "torch.set_default_dtype",
            "torch.save",
            "torch.jit.load",
            "torch.nn.functional.__builtins__",
            "torch.zeros\n",
        )
    },
    "call of too few arguments": call("torch.Tensor.add", []),
    "code as the name of the graph": put("name", value=EVIL),
    "code as the name of a value": put("values", 0, 0, value=EVIL),
    "code as a dtype": put("values", 0, 1, value="float32 or __import__('os').abort()"),
    "code as the name of a parameter": renamed,
    "code as a module path": put("nodes", 0, 3, value=["f", 1, "m\n__import__('os').abort()", "c"]),
    "code as a keyword": put(
        "nodes", 0, 2, value={"!": "dict", "v": [["a=1, **__import__('os').abort()", 1]]}
    ),
    "code as an object": put(
        "nodes", 0, 1, value={"!": "tuple", "v": [{"!": "object", "v": "__import__('os').abort()"}]}
    ),
    "an object that is no dtype": put(
        "nodes", 0, 1, value={"!": "tuple", "v": [{"!": "object", "v": "torch.load"}]}
    ),
    "modes in a text": lambda data: data.update(modes=[""]),
    "modes in an object": lambda data: data.update(modes=[{}]),
    "an unknown tag": put("outputs", value=[{"!": "pickle", "v": "x"}]),
    "a value that does not exist": put("outputs", value=[{"!": "value", "v": 99999}]),
    "a value used before it is made": lambda data: first(data)["nodes"].reverse(),
    "a size of nothing": put("outputs", value=[{"!": "size", "v": [[[["symbol", 0, 77, 1, "size"]], 1]]}]),
    "a size that fills the memory": put(
        "outputs", value=[{"!": "size", "v": [[[["apply", "lshift", [1, 1 << 40]]], 1]]}]
    ),
    "a power that never ends": put(
        "outputs",
        value=[
            {
                "!": "size",
                "v": [
                    [
                        [
                            [
                                "apply",
                                "pow",
                                [9, {"!": "size", "v": [[[["symbol", 0, 0, 1 << 40, "size"]], 1]]}],
                            ]
                        ],
                        1,
                    ]
                ],
            }
        ],
    ),
    "a size of a hundred thousand terms": put(
        "outputs",
        value=[{"!": "size", "v": [[[["symbol", 0, 0, 1, "size"]] * i, 1] for i in range(5)] * 20_000}],
    ),
    "a size of a hundred thousand factors": put(
        "outputs", value=[{"!": "size", "v": [[[["symbol", 0, 0, 1, "size"]] * 100_000, 1]]}]
    ),
    "an unknown function of sizes": put(
        "outputs", value=[{"!": "size", "v": [[[["apply", "__import__", ["os"]]], 1]]}]
    ),
    "arguments that are no call": put("input_tree", value="*"),
    "a number of no class": put("input_tree", value={"number": "os"}),
    "a number of many classes": put("input_tree", value={"number": ["int"]}),
    "an effect on what is not there": put("effects", value=[["buffer", "nothing", 0]]),
    "an effect of an unknown kind": put("effects", value=[["file", "/etc/passwd", 0]]),
    "code as the number of an input": put(
        "assumptions", value=[["same_array", ["0 or __import__('os').abort()"]]]
    ),
    "code as a fact": put(
        "assumptions", value=[["input_fact", ["packing", ["True or __import__('os').abort()"]]]]
    ),
    "an input that is not there": put("assumptions", value=[["disjoint_memory", [[0, 7], [7]]]]),
    "an unknown kind of assumption": put("assumptions", value=[["__import__('os').abort()", []]]),
    "an assumption without a kind": put("assumptions", value=[[]]),
    "assumptions that are no list": put("assumptions", value={"same_array": [0]}),
    "code as a precision": put("demands", value=['highest")\nevil()', "", ""]),
    "code as the call of wide numbers": put("demands", value=[None, "", EVIL]),
    "a number where there is no output": put("number_outputs", value=[7]),
    "code as the place of a number": put("number_outputs", value=["evil()"]),
    "a result that is not its node's": lambda data: first(data)["nodes"][0][4].update(result=3),
    "no nodes": put("nodes", value=None),
    "nodes without inputs": put("nodes", value=[[]]),
    "another dialect": put("dialect", value="canonical"),
    "another version": lambda data: {**data, "version": 1},
    "a version that only equals this one": lambda data: {**data, "version": True},
    "another format": lambda data: {**data, "format": "pickle"},
    "another framework": lambda data: {**data, "target": "os"},
    "no variants": lambda data: {**data, "variants": []},
    "a list": lambda data: [1, 2],
    "an array of another shape": lambda data: {
        **data,
        "array_shapes": {name: [1 << 60] for name in data["array_shapes"]},
    },
    "a missing array": lambda data: first(data)["constants"].update(missing=0),
    "no name": lambda data: data.pop("name") and None,
    "NaN in a size": put("values", 0, 2, value=[float("nan")]),
    "infinity in a constant": put("outputs", value=[float("inf")]),
    "a fact on what is not there": lambda data: (
        [
            node[4].update(views={"!": "dict", "v": [[{"!": "ellipsis", "v": None}, 0]]})
            for node in first(data)["nodes"]
        ]
        and None
    ),
    "keywords that are no names": put("assumptions", value=[["keyword_order", [1, 2]]]),
    "bounds of nothing": put("assumptions", value=[["index_bounds", [7, 0, 4, None]]]),
    "code as a bound": put("assumptions", value=[["index_bounds", [0, 0, "evil()", None]]]),
    "a parameter of a name that is none": lambda data: data["signature"]["parameters"].append(
        ["x, y=evil()", "KEYWORD_ONLY"]
    ),
    "a parameter of no kind": lambda data: data["signature"]["parameters"].append(["y", "os"]),
    "a parameter that stands twice": lambda data: data["signature"]["parameters"].extend(
        [["y", "KEYWORD_ONLY"]] * 2
    ),
    "a default that is no plain value": lambda data: data["signature"]["parameters"].append(
        ["y", "KEYWORD_ONLY", [[1]]]
    ),
    "a signature that is none": lambda data: {**data, "signature": [1]},
    "a static argument of no place": lambda data: {**data, "static": [[], ["0"]]},
    "a static argument of no name": lambda data: {**data, "static": [["evil()"], []]},
    "deep nesting": put("outputs", value=json.loads("[" * 900 + "]" * 900)),
}


@pytest.fixture(scope="module")
def hostile_base(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("saved") / "graph.zip"
    graph_compiler.compile(Small().eval(), args=(torch.randn(3, 4),)).save(path)
    return path.read_bytes()


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused(name: str, hostile_base: bytes, tmp_path: Path) -> None:
    path = tmp_path / "graph.zip"
    path.write_bytes(hostile_base)
    with pytest.raises(InvalidFile):
        graph_compiler.load(changed(path, HOSTILE[name]))


CANONICAL: dict[str, Callable[[dict[str, Any]], Any]] = {
    "an unknown operation": call("system"),
    "an unknown parameter": put("nodes", 0, 2, value={"!": "dict", "v": [["command", "false"]]}),
    "code as a dtype": lambda data: (
        [node[2]["v"].append(["dtype", "float32)+evil("]) for node in first(data)["nodes"]] and None
    ),
    "code as a parameter": lambda data: (
        [node[2]["v"].append(["axis", "0)+evil("]) for node in first(data)["nodes"]] and None
    ),
    "another shape than the rule's": lambda data: (
        [put("values", i, 2, value=[7, 7, 7])(data) for i in range(len(first(data)["values"]))] and None
    ),
    "calls of torch": put("dialect", value="torch"),
}


@pytest.mark.parametrize("name", CANONICAL)
def test_a_hostile_canonical_file_is_refused(name: str, tmp_path: Path) -> None:
    graph = graph_compiler.transpile(lambda x: torch.softmax(x @ x.T, -1).sum(0), args=(torch.randn(3, 4),))
    with pytest.raises(InvalidFile):
        graph_compiler.load(changed(saved(graph, tmp_path / "graph.zip"), CANONICAL[name]))


def test_a_key_or_file_that_stands_twice_is_refused(hostile_base: bytes, tmp_path: Path) -> None:
    path = tmp_path / "graph.zip"
    path.write_bytes(hostile_base)
    replaced(path, "graph.json", lambda text: text.replace(b'{"format"', b'{"version": 1, "format"', 1))
    with pytest.raises(InvalidFile, match="twice"):
        graph_compiler.load(path)
    path.write_bytes(hostile_base)
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("graph.json", b"{}")
    with pytest.raises(InvalidFile, match="it holds"):
        graph_compiler.load(path)


@pytest.mark.parametrize("name", ["../graph.json", "/etc/passwd", "graph.json/../x", "C:\\x"])
def test_names_that_lead_out_of_the_file_are_refused(name: str, hostile_base: bytes, tmp_path: Path) -> None:
    path = tmp_path / "graph.zip"
    path.write_bytes(hostile_base)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(name, b"x")
    with pytest.raises(InvalidFile, match="it holds"):
        graph_compiler.load(path)
    assert list(tmp_path.iterdir()) == [path]


def test_arrays_of_another_type_are_refused(hostile_base: bytes, tmp_path: Path) -> None:
    """The dtypes have the same width, so that the number of bytes fits."""
    path = tmp_path / "graph.zip"
    path.write_bytes(hostile_base)
    replaced(path, "arrays.safetensors", lambda data: data.replace(b'"F32"', b'"I32"', 1))
    with pytest.raises(InvalidFile, match="type float32 is stored as I32"):
        graph_compiler.load(path)


@pytest.mark.parametrize("text", ["[" * 100_000, "[1]", "torch.os"])
def test_what_is_no_object_of_torch_is_refused(text: str) -> None:
    from graph_compiler.frontends.torch import files

    with pytest.raises(InvalidFile, match="is no object that a saved torch graph may hold"):
        files.read(text)


def test_a_function_without_a_signature_has_none_when_loaded(tmp_path: Path) -> None:
    graph = graph_compiler.compile(torch.add, args=(torch.ones(2), torch.ones(2)))
    loaded = graph_compiler.load(saved(graph, tmp_path / "graph.zip"))
    assert graph.__signature__ is None and loaded.__signature__ is None
    assert torch.equal(loaded(torch.ones(2), torch.ones(2)), torch.full((2,), 2.0))


def test_a_device_that_torch_cannot_read_is_refused(tmp_path: Path) -> None:
    graph = graph_compiler.compile(lambda x: (x + 1, torch.device("cpu")), args=(torch.ones(2),))
    path, device = saved(graph, tmp_path / "graph.zip"), rb"torch.device(\"cpu"
    replaced(path, "graph.json", lambda text: text.replace(device, device + b":01"))
    with pytest.raises(InvalidFile, match="device string"):
        graph_compiler.load(path)


def test_a_bomb_is_refused_unopened(hostile_base: bytes, tmp_path: Path) -> None:
    path = tmp_path / "graph.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("graph.json", "arrays.safetensors", "digest.json"):
            archive.writestr(name, b" " * (1 << 26))
    with pytest.raises(InvalidFile, match="it holds"):
        graph_compiler.load(path)


def test_what_a_graph_demands_of_a_target_is_in_its_file(tmp_path: Path) -> None:
    """JAX without x64 lacks integers of more than 32 bits, which ``load`` must notice too."""
    graph = graph_compiler.transpile(lambda x: x * 2**40, to="numpy", args=(torch.arange(3),))
    again = graph_compiler.load(saved(graph, tmp_path / "graph.zip"))
    assert again.variants[0].graph.demands == graph.variants[0].graph.demands
    assert again(torch.arange(4)).tolist() == [0, 2**40, 2 * 2**40, 3 * 2**40]
    with pytest.raises(graph_compiler.errors.UnsupportedOperation, match="more than 32 bits"):
        graph_compiler.load(tmp_path / "graph.zip", to="jax")


def test_reads_of_memory_stay_refused_outside_of_torch(tmp_path: Path) -> None:
    graph = graph_compiler.compile(lambda x: x.t().as_strided((2, 2), (1, 2)), args=(torch.randn(3, 4),))
    with pytest.raises(graph_compiler.errors.UnsupportedOperation, match="only torch has"):
        graph_compiler.load(saved(graph, tmp_path / "graph.zip"), to="jax")


@pytest.mark.parametrize("to", TARGETS)
def test_random_changes_are_refused_or_harmless(to: str, tmp_path: Path) -> None:
    """Each change of one place in the JSON must give ``InvalidFile`` or a graph, and no other error."""
    path = saved(graph_compiler.compile(sized, to=to, args=(torch.randn(4, 6),)), tmp_path / "graph.zip")
    original, draw, refused = path.read_bytes(), random.Random(0), 0
    for _ in range(150):
        path.write_bytes(original)
        try:
            graph_compiler.load(changed(path, lambda data: changed_somewhere(data, draw)))
        except InvalidFile:
            refused += 1
    assert refused > 75


STRANGE: tuple[Any, ...] = (
    None, True, -1, 7, 1 << 70, 1.5, "", "x\n", '"', "torch.load", "*", [], {}, {"!": "value", "v": 10**6}, {"!": "tuple", "v": []},
    {"!": "object", "v": "os"},
)  # fmt: skip


def changed_somewhere(data: Any, draw: random.Random) -> None:
    """Replace a random part of nested JSON by an unexpected value, in place."""
    holder, key = data, draw.choice(list(data))
    while isinstance(holder[key], (dict, list)) and holder[key] and draw.random() < 0.9:
        holder = holder[key]
        key = draw.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
    holder[key] = draw.choice(STRANGE)


def test_truncated_and_altered_files_are_refused(hostile_base: bytes, tmp_path: Path) -> None:
    path = tmp_path / "graph.zip"
    for length in range(0, len(hostile_base), max(len(hostile_base) // 40, 1)):
        path.write_bytes(hostile_base[:length])
        with pytest.raises(InvalidFile):
            graph_compiler.load(path)
    # A checksum covers every byte before the central directory.
    start = hostile_base.index(b"PK\x01\x02")
    for place in range(60, start, start // 40):
        path.write_bytes(hostile_base[:place] + bytes([hostile_base[place] ^ 1]) + hostile_base[place + 1 :])
        try:
            again = graph_compiler.load(path)
        except InvalidFile:
            continue
        assert again.variants, "only bytes without a meaning may be changed"


def test_an_altered_folder_and_foreign_files_are_refused(tmp_path: Path) -> None:
    folder = saved(graph_compiler.compile(Small().eval(), args=(torch.randn(3, 4),)), tmp_path / "folder")
    arrays = folder / "arrays.safetensors"
    arrays.write_bytes(arrays.read_bytes()[:-1] + b"\x01")
    with pytest.raises(InvalidFile, match="altered or damaged"):
        graph_compiler.load(folder)
    arrays.unlink()
    with pytest.raises(InvalidFile, match="missing"):
        graph_compiler.load(folder)
    torch.save({"x": torch.ones(2)}, tmp_path / "model.pt")
    with pytest.raises(InvalidFile):
        graph_compiler.load(tmp_path / "model.pt")
    with pytest.raises(FileNotFoundError):
        graph_compiler.load(tmp_path / "nothing.zip")
    with pytest.raises(FileNotFoundError, match=r"no folder .*absent to save graph.zip in"):
        graph_compiler.compile(lambda x: x, args=(torch.ones(2),)).save(tmp_path / "absent" / "graph.zip")


def test_errors_are_ours() -> None:
    assert issubclass(InvalidFile, graph_compiler.errors.GraphCompilerError) and not issubclass(
        InvalidFile, TracingError
    )


def test_the_changes_themselves_are_harmless(hostile_base: bytes, tmp_path: Path) -> None:
    path = tmp_path / "graph.zip"
    path.write_bytes(hostile_base)
    assert graph_compiler.load(changed(path, lambda data: None)).variants


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InvalidFile, match="is no file"):
        graph_compiler.load(tmp_path / "pipe")
