"""Execution of every ``python`` block of README.md and docs/, in order, with one namespace per file.

A ``text`` block directly after a ``python`` block is compared with what the block prints (``...`` matches
anything). A block of ``>>>`` examples is run as a doctest.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import linecache
import re
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
BLOCK = re.compile(
    r"^```python\n(?P<code>.*?)^```\n(?:\n*^```text\n(?P<output>.*?)^```$)?", re.DOTALL | re.MULTILINE
)


@dataclass(frozen=True)
class Block:
    """A ``python`` block of a page.

    output: expected output; None if none is given.
    line: number of lines before the code.
    """

    code: str
    output: str | None
    line: int


def blocks_of(text: str) -> list[Block]:
    return [
        Block(found["code"], found["output"], text.count("\n", 0, found.start("code")))
        for found in BLOCK.finditer(text + "\n")
    ]


def compiled(block: Block, path: Path) -> CodeType:
    """Return the code object of a block, with the line numbers of the page.

    Loops are recorded from the source of their function, so the block is registered in ``linecache`` under
    a file name of its own.
    """
    text, name = "\n" * block.line + block.code, str(path.with_name(f"{block.line}-{path.name}"))
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    return compile(text, name, "exec", dont_inherit=True)


def run_block(block: Block, path: Path, namespace: dict[str, Any]) -> None:
    """Execute a block in ``namespace`` and fail the test if its output differs from the expected output."""
    if block.code.startswith(">>>"):
        test = doctest.DocTestParser().get_doctest(block.code, namespace, path.name, str(path), block.line)
        said: list[str] = []
        result = doctest.DocTestRunner(verbose=False, optionflags=OPTIONS).run(
            test, out=said.append, clear_globs=False
        )
        namespace.update(test.globs)
        assert not result.failed, "".join(said)
        return
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compiled(block, path), namespace)
    if block.output is not None and not doctest.OutputChecker().check_output(
        block.output, printed.getvalue(), OPTIONS
    ):
        pytest.fail(
            f"{path.name}:{block.line + 1} should print\n{block.output}\nbut prints\n{printed.getvalue()}"
        )


def documents() -> list[Path]:
    """Return the pages that have ``python`` blocks."""
    pages = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
    return [page for page in pages if page.is_file() and blocks_of(page.read_text("utf-8"))]


@pytest.mark.parametrize("path", documents(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_blocks_run(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks_of(path.read_text("utf-8")):
        run_block(block, path, namespace)


# ----- the testers tested

PAGE = """
```python
x = 1
```

```python
print(x + 1, 0.123)
```

```text
2 0.1...
```

```bash
not python
```

```python
>>> x
1
```
"""


def run_page(page: str) -> None:
    namespace: dict[str, Any] = {}
    for block in blocks_of(page):
        run_block(block, Path("page.md"), namespace)


def test_a_right_page_passes() -> None:
    blocks = blocks_of(PAGE)
    assert [(block.line, block.output) for block in blocks] == [(2, None), (6, "2 0.1...\n"), (18, None)]
    run_page(PAGE)


@pytest.mark.parametrize(
    ("right", "wrong"), [("x + 1, 0", "x + 2, 0"), ("x = 1", "y = 1"), (">>> x\n1", ">>> x\n2")]
)
def test_a_wrong_page_fails(right: str, wrong: str) -> None:
    assert right in PAGE
    with pytest.raises((AssertionError, NameError, pytest.fail.Exception)):
        run_page(PAGE.replace(right, wrong))


@pytest.mark.parametrize(
    "path",
    [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))],
    ids=lambda path: path.relative_to(ROOT).as_posix(),
)
def test_files_that_are_named_exist(path: Path) -> None:
    named = set(re.findall(r"`((?:\w+/)+\w+\.py)`", path.read_text("utf-8")))
    assert [
        name
        for name in sorted(named)
        if not any((ROOT / place / name).is_file() for place in ("", "graph_compiler"))
    ] == []
