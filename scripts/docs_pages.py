"""Pages of the documentation that are made from code: a hook of mkdocs, and the writer of one page.

``python scripts/docs_pages.py`` writes docs/troubleshooting.md from the docstrings of
``graph_compiler.errors``. When the site is built, mkdocs calls the functions ``on_*``, which add a reference
page for each public name, README.md as the first page, and CHANGELOG.md. Only the standard library is
imported, so that a test can compare the pages with the package without mkdocs.
"""

from __future__ import annotations

import ast
import re
import sys
import textwrap
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TROUBLESHOOTING = ROOT / "docs" / "troubleshooting.md"
# Passes that users name in ``compile(..., passes=[...])``, and what they write their own with; the others
# serve the package itself.
PASSES = ("GraphPass", "Interpreter", "Pass", "segment_scans", "strong_zero", "unroll")
PARTS = ("transforms", "training", "parallel")
# Errors that are of use to authors of passes, rows and packages alone, or never leave the package.
FOR_DEVELOPERS = ("InvalidRegistration", "InvalidGraph", "UnknownOperation", "DuplicateRow")
INTERNAL = ("Signal",)
# Classes whose objects users get from functions: their pages show no constructor.
MADE_BY_FUNCTIONS = (
    "graph_compiler.Graph",
    "graph_compiler.LazyGraph",
    "graph_compiler.parallel.Sharded",
    "graph_compiler.training.Optimizer",
    "graph_compiler.training.Schedule",
    "graph_compiler.training.TrainState",
    "graph_compiler.transforms.Jitted",
    "graph_compiler.transforms.Transformed",
)
NO_CONSTRUCTOR = "    options:\n      merge_init_into_class: false\n"
HEAD = """# Troubleshooting

Written by `python scripts/docs_pages.py` from the docstrings of `graph_compiler.errors`; do not edit. Each example is run by the tests.

A message names your file and line, the reason and the remedy. All errors derive from `graph_compiler.errors.GraphCompilerError`.
Tracebacks show your lines alone; `GRAPH_COMPILER_TRACEBACK=full` in the environment shows all frames.

"""


def names_in(package: str) -> list[str]:
    """Return the names that the ``__init__`` of a package re-exports (``from .x import name as name``).

    The file is parsed, not imported.
    """
    tree = ast.parse((ROOT / "graph_compiler" / package / "__init__.py").read_text("utf-8"))
    imported = [alias for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names]
    return sorted(
        alias.name for alias in imported if alias.asname == alias.name and not alias.name.startswith("_")
    )


def top_names() -> list[str]:
    """Return the functions and classes in ``graph_compiler.__all__``."""
    tree = ast.parse((ROOT / "graph_compiler" / "__init__.py").read_text("utf-8"))
    found = next(
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    )
    return sorted(name for name in ast.literal_eval(found) if name not in {"errors", "__version__"})


def reference() -> dict[str, dict[str, str]]:
    """Return the full name that each page of the reference shows, by section and title."""
    sections = {"graph_compiler": {name: f"graph_compiler.{name}" for name in top_names()}}
    for part in PARTS:
        names = (name for name in names_in(part) if name not in sections["graph_compiler"])
        sections[part] = {name: f"graph_compiler.{part}.{name}" for name in names}
    sections["passes"] = {name: f"graph_compiler.passes.{name}" for name in PASSES}
    return sections


def path_of(full_name: str) -> str:
    """Return the path of the reference page of a name.

    >>> path_of("graph_compiler.transforms.grad")
    'reference/transforms.grad.md'
    """
    return f"reference/{full_name.removeprefix('graph_compiler.')}.md"


# ------------------------------------------------------------------------------------- docstrings as Markdown
def plain(text: str) -> str:
    r"""Return a docstring as Markdown.

    Roles of Sphinx become code, double backquotes single ones, and examples are fenced.

    >>> print(plain("See :func:`compile`.\n\n>>> 1 + 1\n2"))
    See `compile`.
    <BLANKLINE>
    ```pycon
    >>> 1 + 1
    2
    ```
    """
    text = re.sub(r":(?:class|func|meth|attr|mod):`[~.]?([^`]*)`", r"`\1`", text).replace("``", "`")
    parts = re.split(r"\n\s*\n", text)
    return "\n\n".join(_fenced(part) if part.lstrip().startswith(">>>") else part for part in parts)


def _fenced(part: str) -> str:
    indent = part[: len(part) - len(part.lstrip())]
    return f"{indent}```pycon\n{part}\n{indent}```"


def troubleshooting() -> str:
    """Return the text of docs/troubleshooting.md."""
    tree = ast.parse((ROOT / "graph_compiler" / "errors.py").read_text("utf-8"))
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name not in INTERNAL]
    # The sort is stable, so the errors that users meet come first, in the order of the module.
    classes.sort(key=lambda node: node.name in FOR_DEVELOPERS)
    return (
        HEAD
        + "\n\n".join(f"## {node.name}\n\n{_entry(ast.get_docstring(node) or '')}" for node in classes)
        + "\n"
    )


def _entry(docstring: str) -> str:
    paragraphs: list[str] = []
    for part in re.split(r"\n\s*\n|\n(?=(?:Cause|Fix): )", docstring):
        if part.startswith(">>>"):
            paragraphs.append(part)
        else:
            flowing = re.sub(r"^(Cause|Fix):", r"**\1.**", " ".join(part.split()))
            flowing = re.sub(r"docs/(\w+)\.md", r"[\1.md](\1.md)", flowing)
            flowing = re.sub(r"^(\*\*\w+\.\*\* )(\w)", lambda found: found[1] + found[2].upper(), flowing)
            paragraphs.append(textwrap.fill(flowing, 120, break_long_words=False, break_on_hyphens=False))
    return plain("\n\n".join(paragraphs))


# -------------------------------------------------------------------------------------------- hooks of mkdocs
def on_config(config: Any) -> Any:
    """Fill the entry ``API reference`` of the navigation with the pages of the reference."""
    sections = [
        {section: [{title: path_of(full_name)} for title, full_name in pages.items()]}
        for section, pages in reference().items()
    ]
    for entry in config.nav:
        if isinstance(entry, dict) and "API reference" in entry:
            entry["API reference"] = sections
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the pages of the reference, README.md as ``index.md``, and CHANGELOG.md."""
    # Tests import this module without mkdocs, so the import is here.
    from mkdocs.structure.files import File

    readme = (
        (ROOT / "README.md")
        .read_text("utf-8")
        .replace("](docs/", "](")
        .replace("](CHANGELOG.md)", "](changelog.md)")
    )
    readme = readme.replace("](LICENSE)", "](https://www.apache.org/licenses/LICENSE-2.0)")
    made = {
        "index.md": readme,
        "changelog.md": (ROOT / "CHANGELOG.md").read_text("utf-8").replace("](docs/", "]("),
    }
    for pages in reference().values():
        for full_name in pages.values():
            made[path_of(full_name)] = f"::: {full_name}\n" + (
                "" if full_name not in MADE_BY_FUNCTIONS else NO_CONSTRUCTOR
            )
    for path, text in made.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace links to files outside of docs/, which have no page, by their text."""
    return re.sub(r"\[([^\]]+)\]\((?:\.\./){2}[^)]*\)", r"\1", markdown)


if __name__ == "__main__":
    TROUBLESHOOTING.write_text(troubleshooting(), encoding="utf-8")
    sys.exit(0)
