"""Tests of the commands: what they print and write, exit codes, and messages for wrong input."""

from __future__ import annotations

import configparser
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graph_compiler

typer = pytest.importorskip("typer")
pytest.importorskip("rich")

from typer.testing import CliRunner  # noqa: E402

from graph_compiler import __main__ as main  # noqa: E402
from graph_compiler.cli import doctor, sources  # noqa: E402
from graph_compiler.cli import files as outputs  # noqa: E402
from graph_compiler.cli.app import app  # noqa: E402
from graph_compiler.cli.exits import CODES, Exit  # noqa: E402
from graph_compiler.errors import InvalidRegistration  # noqa: E402

PROGRAM = """
import numpy as np

print("printed by the user's file")
table = np.arange(12.0).reshape(3, 4)


def scores(x, scale=2.0):
    return {"scores": x @ table * scale, "best": (x.sum(), x.argmax(-1))}


def masked(x):
    return np.ma.masked_less(x, 0).sum()


def raises(x):
    raise ValueError("no such thing\\nsecond line")


class Scaled:
    def __init__(self):
        self.factor = np.full(3, 2.0)

    def __call__(self, x):
        return x * self.factor


class Needs:
    def __init__(self, size):
        self.size = size

    def __call__(self, x):
        return x


number = 3
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "net.py").write_text(PROGRAM, "utf-8")
    monkeypatch.chdir(tmp_path)
    before, path = set(sys.modules), list(sys.path)
    yield tmp_path
    sys.path[:] = path
    for name in set(sys.modules) - before:
        if name in ("net", "given_net"):
            del sys.modules[name]


def invoke(*words: str) -> Any:
    return CliRunner().invoke(app, [*words])


def done(*words: str) -> Any:
    """Run a command, assert that it succeeds, and return its result."""
    result = invoke(*words)
    assert result.exit_code == 0, (result.output, result.exception)
    return result


def saved(folder: Path) -> Path:
    file = folder / "scores.zip"
    done("convert", "net.py:scores", "--to", "numpy", "-i", "x=float64[2,3]", "-o", str(file), "--no-verify")
    return file


# ----- what commands do


def test_convert_verifies_and_saves(folder: Path) -> None:
    result = done(
        "convert", "net.py:scores", "--to", "numpy", "--input", "x=float64[2,3]", "--output", "scores.zip"
    )
    assert (
        "scores, numpy to numpy" in result.stdout
        and "runs agree" in result.stdout
        and "saved as scores.zip" in result.stdout
    )
    x = np.ones((4, 3))
    found = graph_compiler.load("scores.zip")(x=x)
    np.testing.assert_allclose(found["scores"], x @ np.arange(12.0).reshape(3, 4) * 2)


def test_json_is_one_object_whatever_the_file_prints(folder: Path) -> None:
    result = done(
        "convert",
        "net.py:scores",
        "--to",
        "numpy",
        "-i",
        "float64[2,3]",
        "-i",
        "scale=3.0",
        "-o",
        "folder",
        "--json",
    )
    found = json.loads(result.stdout)
    assert (
        found["verified"]["runs"] > 2 and found["target"] == "numpy" and found["multiply_adds"] == 2 * 3 * 4
    )
    assert (
        found["bytes"] > 500
        and (folder / "folder" / "graph.json").is_file()
        and "printed by" in result.stderr
    )


def test_a_graph_goes_from_file_to_file(folder: Path) -> None:
    result = done("convert", str(saved(folder)), "-o", "again.zip")
    assert "not verified: it was loaded from a file, without its original" in result.stdout


def test_modules_classes_and_attributes_are_sources(folder: Path) -> None:
    for source in ("net:Scaled", "net.py:Scaled", "./net.py:Scaled"):
        assert (
            "numpy to numpy"
            in done("convert", source, "--to", "numpy", "-i", "float64[3]", "-o", "a.zip", "--force").stdout
        )
    assert "tanh" in done("inspect", "numpy:tanh", "--from", "numpy", "-i", "float64[3]", "--source").stdout


def test_inspect_and_show(folder: Path) -> None:
    file = saved(folder)
    text = done("inspect", str(file)).stdout
    assert "multiply-adds" in text and "variant 0, recorded because: loaded" in text
    assert done("inspect", str(file), "--source").stdout == graph_compiler.load(file).source
    found = json.loads(done("inspect", str(file), "--json").stdout)
    assert (
        found["modules"][0]["operations"] == found["operations"] > 0 and "def scores" in found["source_text"]
    )
    assert done("show", str(file), "-o", "page.html", "--no-open").stdout.strip() == str(folder / "page.html")
    assert "<!doctype html>" in (folder / "page.html").read_text("utf-8")


@pytest.mark.parametrize("form", ["npz", "named npz", "npy", "json", "json list", "input"])
def test_run_reads_inputs_in_every_form(folder: Path, form: str) -> None:
    file, x = saved(folder), np.arange(6.0).reshape(2, 3)
    files = {
        "npz": "x.npz",
        "named npz": "x.npz",
        "npy": "x.npy",
        "json": "x.json",
        "json list": "x.json",
        "input": "x.npy",
    }
    if form in ("npz", "named npz"):
        np.savez(files[form], **({"arr_0": x} if form == "npz" else {"x": x}))  # type: ignore[arg-type]
    elif form.startswith("json"):
        Path("x.json").write_text(json.dumps({"x": x.tolist()} if form == "json" else [x.tolist()]), "utf-8")
    else:
        np.save("x.npy", x)
    words = ["-i", "x=x.npy"] if form == "input" else [files[form]]
    found = json.loads(done("run", str(file), *words).stdout)
    assert list(found) == ["scores", "best.0", "best.1"] and found["best.1"] == [2, 2]
    np.testing.assert_allclose(found["scores"], x @ np.arange(12.0).reshape(3, 4) * 2)


@pytest.mark.parametrize("suffix", ["npz", "json"])
def test_run_writes_results(folder: Path, suffix: str) -> None:
    file = saved(folder)
    result = done("run", str(file), "-i", "x=float64[2,3]", "-o", f"out.{suffix}")
    assert "scores  float64[2, 4]" in result.stdout
    if suffix == "npz":
        with np.load("out.npz") as found:
            assert found["scores"].shape == (2, 4)
    else:
        assert np.shape(json.loads(Path("out.json").read_text("utf-8"))["scores"]) == (2, 4)


@pytest.mark.parametrize("name", ["file", "allow_pickle", "layers/0.weight"])
def test_results_in_npz_have_any_name(folder: Path, name: str) -> None:
    arrays = {name: np.arange(3.0).astype(">f8"), "scores": np.ones((2, 4), np.float16), "": np.array(True)}
    outputs.write(arrays, Path("out.npz"))
    with np.load("out.npz") as found:
        assert found.files == list(arrays)
        for own, array in arrays.items():
            np.testing.assert_array_equal(found[own], array)
            assert found[own].dtype == array.dtype


def test_code_that_names_no_framework_is_of_the_one_that_its_file_imports(folder: Path) -> None:
    pytest.importorskip("torch")
    Path("small.py").write_text(
        "import numpy as np\nimport torch\n\ndef halves(x):\n    return x.chunk(2)[0]\n\ndef roots(x):\n    return np.sqrt(x)\n",
        "utf-8",
    )
    assert (
        "roots, numpy to numpy"
        in done("convert", "small.py:roots", "--to", "numpy", "-i", "bool[4]", "-o", "b.zip").stdout
    )
    assert (
        "halves, torch to numpy"
        in done("convert", "small.py:halves", "--to", "numpy", "-i", "float32[4]", "-o", "a.zip").stdout
    )


def test_a_model_of_hugging_face_needs_no_inputs(folder: Path) -> None:
    pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    sizes = {
        "vocab_size": 40,
        "hidden_size": 8,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 8,
    }
    transformers.BertModel(transformers.BertConfig(**sizes)).save_pretrained("bert")
    found = json.loads(done("convert", "bert", "--to", "numpy", "-o", "bert.zip", "--json").stdout)
    assert (found["name"], found["source"], found["target"]) == ("BertModel", "torch", "numpy") and found[
        "verified"
    ]["numbers"]
    assert any(text.startswith("input_ids int64") for text in found["inputs"])


def test_arguments_are_given_by_position_or_by_name(folder: Path) -> None:
    for recorded in (
        ["-i", "float64[2,3]", "-i", "float64[]"],
        ["-i", "x=float64[2,3]", "-i", "scale=float64[]"],
    ):
        done("convert", "net.py:scores", "--to", "numpy", *recorded, "-o", "a.zip", "--force", "--no-verify")
        spelled = [("", ""), ("x=", "scale="), ("", "scale=")]
        found = {
            done("run", "a.zip", "-i", f"{x}float64[2,3]", "-i", f"{scale}float64[]").stdout
            for x, scale in spelled
        }
        assert len(found) == 1


def test_containers_and_numbers_count_as_positional_arguments(folder: Path) -> None:
    """Arrays after them belong to the recorded keyword arguments."""
    graph = graph_compiler.compile(
        lambda pair, weight, *, mask: pair["a"] * weight - mask,
        source="numpy",
        args=({"a": np.ones(3)}, True),
        kwargs={"mask": np.ones(3)},
    )
    pair, mask = {"a": np.arange(3.0)}, np.full(3, 2.0)
    for given in (((pair, True, mask), {}), ((pair, True), {"mask": mask})):
        assert outputs.fit_to_graph(given, graph.variants[0].graph) == ((pair, True), {"mask": mask})


def test_arguments_after_a_number_keep_their_names(folder: Path) -> None:
    """The graph has no name for the number, so no later argument may take its place."""
    graph = graph_compiler.compile(
        lambda x, n, y: x * n - y, source="numpy", args=(np.ones(3), 3, np.ones(3))
    )
    graph.save("named.zip")
    x, y = np.arange(3.0), np.full(3, 2.0)
    given = outputs.fit_to_graph(((), {"x": x, "n": 3, "y": y}), graph.variants[0].graph)
    assert given == ((x,), {"n": 3, "y": y})
    assert np.array_equal(graph_compiler.load("named.zip")(*given[0], **given[1]), x * 3 - y)


# ----- wrong input: one line, and the right exit code

X = ("-i", "x=float64[3]")
WRONG = {
    "no such target": (("convert", "net.py:scores", "--to", "jaxx", *X, "-o", "a.zip"), 2, "did you mean 'jax'"),
    "no such object": (("convert", "net.py:score", *X, "-o", "a.zip"), 2, "net.py has no score; did you mean 'scores'?"),
    "no such file": (("inspect", "nett.py:scores", *X), 2, "there is no file nett.py"),
    "no such module": (("inspect", "nett:scores", *X), 2, "there is no module nett"),
    "no object": (("inspect", "net.py"), 2, "name the object in it, net.py:NAME"),
    "nothing to call": (("inspect", "net.py:number", *X), 2, "which cannot be called"),
    "a class that needs arguments": (("inspect", "net.py:Needs", *X), 2, "is a class, and making an object of it without arguments fails"),
    "no inputs": (("inspect", "net.py:scores"), 2, "needs example inputs, --input x=float32[2,3]: its arguments are x, scale"),
    "no such type": (("inspect", "net.py:scores", "-i", "x=flot32[3]"), 2, "did you mean 'float32'"),
    "a bound beyond the type": (("inspect", "net.py:scores", "-i", "x=int8[3]:129"), 2, "--input x=int8[3]:129: the bound of int8 is from 1 to 128"),
    "a bound of truth values": (("inspect", "net.py:scores", "-i", "x=bool[3]:5"), 2, "the bound of bool is from 1 to 2"),
    "a bound of floats": (("inspect", "net.py:scores", "-i", "x=float32[3]:5"), 2, "only integers have a bound; leave out :5"),
    "no value": (("inspect", "net.py:scores", "-i", "x=three"), 2, "--input x=three is none"),
    "twice": (("inspect", "net.py:scores", *X, *X), 2, "--input x is given twice"),
    "no such array": (("inspect", "net.py:scores", "-i", "x=none.npy"), 2, "there is no file none.npy"),
    "no file of a suffix": (("inspect", "nothing.zip"), 2, "there is no file or folder nothing.zip"),
    "no file in a folder": (("convert", "folder/nothing.zip", "-o", "a.zip"), 2, "there is no file or folder folder/nothing.zip"),
    "no file by its path": (("show", "./nothing"), 2, "there is no file or folder ./nothing"),
    "no file at the end of a path": (("inspect", "models/of/nothing"), 2, "there is no file or folder models/of/nothing"),
    "no folder": (("inspect", "nothing/"), 2, "there is no file or folder nothing/"),
    "no file of another suffix": (("inspect", "nothing.weights"), 2, "there is no file or folder nothing.weights"),
    "nothing in a folder that is there": (("inspect", "models/nothing"), 2, "there is no file or folder models/nothing"),
    "an empty folder": (("inspect", "."), 2, "is a folder, and neither a saved graph"),
    "no graph to run": (("run", "none.zip"), 2, "there is no file none.zip"),
    "what is no graph": (("run", "net.py"), 2, "net.py is no saved graph; convert makes one"),
    "a damaged graph": (("inspect", "damaged.zip"), 2, "damaged.zip is no saved graph"),
    "inputs of no form": (("run", "scores.zip", "net.py"), 2, "net.py is none of .npz, .npy, .json"),
    "inputs that are no JSON": (("run", "scores.zip", "damaged.json"), 2, "damaged.json is no JSON"),
    "an array that is named as an archive": (("run", "scores.zip", "array.npz"), 2, "array.npz holds one array and no archive"),
    "a damaged archive of arrays": (("run", "scores.zip", "damaged.npz"), 2, "damaged.npz holds no arrays that can be read"),
    "an output of no form": (("run", "scores.zip", *X, "-o", "a.txt"), 2, "a.txt is to be one of .npz, .npy, .json"),
    "what is there already": (("convert", "net.py:scores", *X, "-o", "scores.zip"), 2, "scores.zip is there already; --force replaces it"),
    "no folder for it": (("convert", "net.py:scores", *X, "-o", "none/a.zip"), 2, "there is no folder none"),
    "several arrays as one": (("run", "scores.zip", "-i", "x=float64[2,3]", "-o", "a.npy"), 2, "the result has 3"),
    "what cannot be converted": (("inspect", "net.py:masked", *X, "--to", "numpy"), 3, "net.py:13"),
    "a call that does not fit": (("run", "scores.zip", "-i", "x=float64[2,3]", "-i", "scale=7"), 3, "there is no original to record again"),
    "an exception of the user's": (("inspect", "net.py:raises", *X), 1, "net.py:17: ValueError: no such thing"),
    "inputs of a saved graph": (("inspect", "scores.zip", *X), 2, "which is recorded already: --input is"),
    "the framework of a saved graph": (("show", "scores.zip", "--from", "torch"), 2, "recorded already: --from is"),
    "constants of a saved graph": (("convert", "scores.zip", "--freeze", "-o", "a.zip"), 2, "already: --freeze is"),
    "sizes without commas": (("inspect", "net.py:scores", "-i", "x=float32[2 3]"), 2, "--input x=float32[2 3] is none: an array is written float32[2,3]"),
    "a bound of zero": (("inspect", "net.py:scores", "-i", "x=int64[2]:0"), 2, "--input x=int64[2]:0: the bound of int64 is from 1 to"),
    "an input without a name": (("run", "scores.zip", "unnamed.json"), 3, "the call has the keywords x, "),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_input_is_one_line(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if "scores.zip" in WRONG[name][0]:
        saved(folder)
    monkeypatch.setattr(sources, "pretrained", lambda source: pytest.fail(f"a hub is asked for {source}"))
    (folder / "damaged.zip").write_bytes(b"PK nothing")
    (folder / "models").mkdir()
    (folder / "damaged.json").write_bytes(b"{")
    (folder / "unnamed.json").write_text('{"x": [1.0, 2.0, 3.0], "": 1}')
    np.savez_compressed(folder / "damaged.npz", x=np.random.default_rng(0).random(999))
    with (folder / "damaged.npz").open("r+b") as file:
        file.seek(200)
        file.write(b"\xff" * 99)
    with (folder / "array.npz").open("wb") as file:
        np.save(file, np.ones(3))
    words, code, expected = WRONG[name]
    result = invoke(*words)
    said = [line for line in result.stderr.splitlines() if not line.startswith("printed by")]
    assert expected in result.stderr and result.exit_code == code, result.stderr
    assert len(said) == 1 and said[0].startswith("graph-compiler: ") and "Traceback" not in result.stderr


@pytest.mark.parametrize(
    "name", ["gpt2", "openai/whisper-tiny.en", "Qwen/Qwen2.5-0.5B", "lmsys/vicuna-7b-v1.5"]
)
def test_names_of_models_are_asked_of_the_hub(
    folder: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def pretrained(source: str) -> Any:
        asked.append(source)
        raise OSError("the hub cannot be reached")

    monkeypatch.setattr(sources, "pretrained", pretrained)
    result = invoke("inspect", name)
    assert (
        asked == [name]
        and result.exit_code == Exit.WRONG_INPUT
        and "the hub cannot be reached" in result.stderr
    )


def test_a_hub_that_does_not_answer_is_asked_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    hub = pytest.importorskip("huggingface_hub")
    monkeypatch.setattr(hub.constants, "HF_HUB_OFFLINE", False)
    asked: list[str] = []

    def unreachable(self: Any, name: str, timeout: float) -> Any:
        asked.append(name)
        raise ConnectionError("Name or service not known")

    monkeypatch.setattr(hub.HfApi, "model_info", unreachable)
    result = invoke("inspect", "nobody/nothing")
    assert asked == ["nobody/nothing"] and result.exit_code == Exit.WRONG_INPUT
    assert "cannot be reached (ConnectionError: Name or service not known)" in result.stderr


def test_problems_are_json_too(folder: Path) -> None:
    result = invoke("inspect", "net.py:raises", *X, "--json")
    assert json.loads(result.stdout) == {
        "error": "ValueError", "message": f"{folder / 'net.py'}:17: ValueError: no such thing", "problems": [], "exit": 1,
    }  # fmt: skip
    assert "Traceback" in invoke("inspect", "net.py:raises", *X, "--debug").stderr


def test_a_wrong_graph_does_not_pass(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(function: Any, **options: Any) -> Any:
        graph = right(lambda x: function(x * 1.01), **options)
        graph._pipeline.function = function
        return graph

    right = sources.api.compile
    monkeypatch.setattr(sources.api, "compile", wrong)
    result = invoke("convert", "net.py:scores", "--to", "numpy", "-i", "x=float64[2,3]", "-o", "a.zip")
    assert result.exit_code == Exit.DIFFERS and not Path("a.zip").exists()


# ----- help, versions, the installation


@pytest.mark.parametrize("command", ["", "convert", "inspect", "show", "run", "doctor"])
def test_help_says_what_a_command_takes(command: str) -> None:
    text = done(*filter(None, [command]), "--help").stdout
    assert "--help" in text and ("Exit codes:" in text if not command else "--json" in text)


def test_exit_codes_are_documented(checkout: Path) -> None:
    table = re.findall(r"^\| (\d+) \|", (checkout / "docs/command_line.md").read_text("utf-8"), re.MULTILINE)
    assert [int(code) for code in table] == [int(code) for code in Exit]
    assert re.findall(r"(\d+) [a-z]", CODES) == table


def test_the_version_is_the_packages() -> None:
    assert done("--version").stdout.strip() == graph_compiler.__version__


def test_without_typer_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(main.importlib.util, "find_spec", lambda name: None if name == "typer" else name)  # type: ignore[attr-defined]
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert ended.value.code == Exit.MISSING and "pip install graph-compiler[cli]" in capsys.readouterr().err


def test_the_doctor_finds_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        doctor,
        "PACKAGES",
        {
            "numpy": ("1.26", "import numpy"),
            "networkx": ("999", None),
            "rich": ("13", "raise ValueError('broken')"),
            "none-such": ("1", None),
        },
    )
    monkeypatch.setattr(doctor, "_PROBES", {"numpy": doctor._PROBES["numpy"]})
    monkeypatch.setitem(doctor._REGISTRIES["backend"].problems, "mine", InvalidRegistration("mine is none"))
    result = invoke("doctor", "--json")
    found = json.loads(result.stdout)
    assert result.exit_code == Exit.MISSING and found["conversions"] == {"numpy to numpy": "works"}
    assert found["registered"]["backend"]["jax"] == "graph_compiler.backends.jax"
    assert [text.partition(":")[0] for text in found["problems"]] == [
        "networkx",
        "rich",
        "mine",
    ] and "ValueError: broken" in found["problems"][1]


CONFLICTS = [
    ({"torch": "2.13.0+cpu", "torchvision": "0.27.0"}, {}, "torchvision 0.27.0 was built for another torch"),
    ({"jax": "0.6.0", "jaxlib": "0.6.1"}, {}, "jaxlib 0.6.1 is newer"),
    ({"numpy": "2.1", "tensorflow": "2.17.1"}, {}, "built for numpy 1"),
    ({"tensorflow": "2.18"}, {"KERAS_BACKEND": "jax"}, "KERAS_BACKEND is jax"),
    ({"tensorflow": "2.18"}, {"TF_USE_LEGACY_KERAS": "1"}, "needs Keras 3"),
    ({"tensorflow-cpu": "2.18", "tensorflow-gpu": "2.18"}, {}, "over each other"),
]


@pytest.mark.parametrize(("versions", "environment", "expected"), CONFLICTS)
def test_known_conflicts_are_told(
    versions: dict[str, str], environment: dict[str, str], expected: str
) -> None:
    assert [expected in text for text in doctor.conflicts(versions, environment)] == [True]


def test_what_goes_together_is_no_conflict() -> None:
    assert (
        doctor.conflicts(
            {
                "torch": "2.13.0",
                "torchvision": "0.28.1",
                "jax": "0.10.2",
                "jaxlib": "0.10.2",
                "numpy": "2.4",
                "tensorflow": "2.21",
            },
            {},
        )
        == []
    )
    assert len(CONFLICTS) == len(doctor.CONFLICTS)


def test_least_versions_are_those_of_the_setup(checkout: Path) -> None:
    setup = configparser.ConfigParser()
    setup.read(checkout / "setup.cfg", "utf-8")
    wanted = setup["options"]["install_requires"] + "".join(setup["options.extras_require"].values())
    for name, (least, _) in doctor.PACKAGES.items():
        # The target needs a newer NumPy than the core.
        if name != "numpy":
            assert f"\n{name}>={least}" in wanted, name


def test_results_of_saved_graphs_may_be_bfloat16(folder: Path) -> None:
    torch = pytest.importorskip("torch")
    graph = graph_compiler.compile(lambda x: x.to(torch.bfloat16) * 2, args=(torch.ones(2),))
    graph.save(folder / "half.zip")
    np.save(folder / "x.npy", np.float32([1.0, 2.5]))
    result = invoke("run", "half.zip", "x.npy", "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["result"] == {"result": [2.0, 5.0]}


def test_results_are_named_by_their_path() -> None:
    leaves = dict(outputs.named_leaves({"a": (np.ones(2), [1, "x"]), "b": np.complex64(1 + 2j)}))
    assert outputs.as_json(leaves) == {
        "a.0": [1.0, 1.0],
        "a.1.0": 1,
        "a.1.1": "x",
        "b": {"real": 1.0, "imag": 2.0},
    }


# ----- as a process


def start(folder: Path, *words: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(Path(graph_compiler.__file__).parents[1])}
    command = [sys.executable, "-m", "graph_compiler", *words]
    return subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_it_runs_as_a_process(folder: Path) -> None:
    process = start(folder, "inspect", "net.py:scores", "-i", "x=float64[2,3]", "--source")
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0 and "def scores(" in out and err == ""
