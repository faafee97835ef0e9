"""Tests of the documentation site without mkdocs: navigation, links, and a page for each public name.

``scripts/docs`` builds the site.
"""

from __future__ import annotations

import importlib
import re
import runpy
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
# The hook makes these pages from files outside of docs/.
MADE = {
    "index.md": ROOT / "README.md",
    "changelog.md": ROOT / "CHANGELOG.md",
}
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md"))]
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")


@pytest.fixture(scope="module")
def hook() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "scripts" / "docs_pages.py"))


def navigation() -> list[str]:
    """Return the pages in the navigation of mkdocs.yml, in order."""
    text = (ROOT / "mkdocs.yml").read_text("utf-8")
    return re.findall(r"^ +- [^:\n]+: (\S+\.md)$", text[text.index("\nnav:") :], re.MULTILINE)


def anchors_of(text: str) -> set[str]:
    """Return the anchors that GitHub and mkdocs generate for the headings of a page."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", heading.lower()).strip()) for heading in headings}


def broken_links(path: Path, text: str) -> Iterator[str]:
    """Yield the links of a page to files or headings that do not exist. Web addresses and links in code are
    not checked.
    """
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    for link in (first or second for first, second in LINK.findall(re.sub(r"`[^`\n]*`", "", text))):
        if re.match(r"https?://|mailto:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        if not target.exists() or (anchor and anchor not in anchors_of(target.read_text("utf-8"))):
            yield link


def test_each_page_is_in_the_navigation_once() -> None:
    found = navigation()
    pages = {
        page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md") if not re.match(r"\d", page.name)
    }
    assert len(found) == len(set(found))
    assert set(found) == pages | MADE.keys()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(path: Path) -> None:
    assert list(broken_links(path, path.read_text("utf-8"))) == []


def test_broken_links_are_found() -> None:
    text = "[a](guards.md) [b](gone.md) [c](guards.md#gone) ![d](gone.png) [e](https://x.org) `[f](gone.md)`\n```\n[g](gone.md)\n```\n"
    assert list(broken_links(DOCS / "page.md", text)) == ["gone.md", "guards.md#gone", "gone.png"]


def test_each_public_name_has_a_page(hook: dict[str, Any]) -> None:
    pages = {full_name for section in hook["reference"]().values() for full_name in section.values()}
    top = importlib.import_module("graph_compiler")
    assert {f"graph_compiler.{name}" for name in top.__all__} - pages == {
        "graph_compiler.errors",
        "graph_compiler.__version__",
    }
    for part in hook["PARTS"]:
        names = vars(importlib.import_module(f"graph_compiler.{part}"))
        package = f"graph_compiler.{part}"
        # The modules of a package are attributes of it as well.
        own = {
            name
            for name, item in names.items()
            if not name.startswith("_") and getattr(item, "__name__", "") != f"{package}.{name}"
        }
        assert {
            f"{package}.{name}"
            for name in own
            if not hasattr(top, name) or getattr(top, name) is not names[name]
        } <= pages


def test_reference_names_exist_and_have_docstrings(hook: dict[str, Any]) -> None:
    for section in hook["reference"]().values():
        for full_name in section.values():
            module, _, name = full_name.rpartition(".")
            item = getattr(importlib.import_module(module), name)
            assert item.__doc__ or not isinstance(item, (type, FunctionType)), full_name


def test_troubleshooting_is_current_and_has_each_error(hook: dict[str, Any]) -> None:
    text = hook["TROUBLESHOOTING"].read_text("utf-8")
    assert text == hook["troubleshooting"](), "run python scripts/docs_pages.py"
    errors = importlib.import_module("graph_compiler.errors")
    classes = {
        name for name, item in vars(errors).items() if isinstance(item, type) and issubclass(item, Exception)
    }
    assert {line.removeprefix("## ") for line in text.splitlines() if line.startswith("## ")} == classes - {
        *hook["INTERNAL"]
    }


def test_each_error_says_its_cause_and_fix() -> None:
    errors = importlib.import_module("graph_compiler.errors")
    classes = {
        name: item
        for name, item in vars(errors).items()
        if isinstance(item, type) and issubclass(item, Exception)
    }
    lacking = [
        name
        for name, item in classes.items()
        if "Cause: " not in (item.__doc__ or "") or "Fix: " not in (item.__doc__ or "")
    ]
    assert lacking == ["GraphCompilerError", "Signal"]


def test_table_cells_of_the_readme_fit_two_lines() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    # Readers see only the text of a link.
    shown = re.sub(r"\]\([^)]*\)", "]", text)
    assert [
        cell
        for line in shown.splitlines()
        if line.startswith("|")
        for cell in line.split("|")
        if len(cell) > 160
    ] == []
    assert len(text.splitlines()) <= 150
