"""Files whose code differs between a commit and the working tree.

Docstrings, comments and layout do not count as code. Nor does it count if a statement moves to another
file, or if an import follows a name that moved.
"""

from __future__ import annotations

import ast
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

OWN = ("graph_compiler", "backends", "frontends", "tests")


def changed_files(base: str, root: Path) -> list[str]:
    """Return the files whose code differs from the commit ``base``, including untracked files.

    A deleted file is included unless all its statements are in other files now. If a Python file has a
    syntax error, return all files that differ in any way.
    """
    names = _differing_files(base, root)
    python = [name for name in names if name.endswith(".py")]
    try:
        old = {name: code_of(name, _text_at(base, name, root)) for name in python}
        new = {name: code_of(name, _text_now(name, root)) for name in python}
    except SyntaxError:
        return names
    before = sum((code.statements for code in old.values()), Counter[str]())
    after = sum((code.statements for code in new.values()), Counter[str]())
    # A module that is merged into another, or divided, changes how often an import is written.
    for each in (*before, *after):
        if each.startswith("import"):
            before[each], after[each] = before[each] and 1, after[each] and 1

    def is_changed(name: str) -> bool:
        if name not in old:
            return True
        added, removed = (
            new[name].statements - old[name].statements,
            old[name].statements - new[name].statements,
        )
        is_moved = all(after[each] <= before[each] for each in added) and all(
            before[each] <= after[each] for each in removed
        )
        return not is_moved or any(
            _is_defined(*each, root)
            for each in old[name].imports - new[name].imports
            if _is_kept(each[1], new[name])
        )

    return [name for name in names if is_changed(name)]


def moved_files(base: str, root: Path) -> dict[str, str]:
    """Map the old name of each file below ``tests`` that was renamed since the commit ``base`` to the new
    one.
    """
    command = ["git", "diff", "--find-renames", "--diff-filter=R", "--name-status", base, "--", "tests"]
    listing = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
    rows = (line.split("\t") for line in listing.splitlines())
    return {old: new for _, old, new in rows}


@dataclass
class Code:
    """The code of a module as far as it has an effect.

    statements: number of occurrences of each top-level statement, as a dump of its syntax tree; an import
        from this project is represented by the imported name alone.
    imports: (file without suffix, name) of each import from this project.
    """

    statements: Counter[str] = field(default_factory=Counter)
    imports: set[tuple[str, str]] = field(default_factory=set)


def code_of(name: str, text: str) -> Code:
    r"""Return the code of a module, given its file name (to resolve relative imports) and its text.

    >>> code_of("a.py", "x = 1  # one").statements == code_of("b.py", "'''Doc.'''\nx=1").statements
    True
    """
    found = Code()
    for node in _statements(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (module := _module(name, node)).startswith(OWN):
            found.imports |= {(module, alias.name) for alias in node.names}
            found.statements.update(
                {f"import {alias.name} as {alias.asname}" for alias in node.names} - found.statements.keys()
            )
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found.statements[f"import {ast.dump(node)}"] = 1
        else:
            found.statements[ast.dump(node)] += 1
    return found


def _statements(tree: ast.Module) -> Iterator[ast.stmt]:
    """Yield the top-level statements, after removing all docstrings from ``tree`` in place."""
    for node in ast.walk(tree):
        if (
            isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
            and ast.get_docstring(node) is not None
        ):
            del node.body[0]
    yield from tree.body


def _module(name: str, node: ast.ImportFrom) -> str:
    """Return the path, without suffix, of the module that an import in the file ``name`` reads."""
    folder = Path(name).parent.parts
    start = folder[: len(folder) - node.level + 1] if node.level else ()
    return "/".join((*start, *(node.module or "").split("."))).rstrip("/")


def _is_kept(name: str, code: Code) -> bool:
    """Return True if ``code`` imports ``name`` from any module of this project."""
    return any(name == each for _, each in code.imports)


def _is_defined(module: str, name: str, root: Path) -> bool:
    """Return True if the module still defines ``name`` in the working tree, so that an import of ``name``
    from elsewhere imports another object.
    """
    paths = (root / f"{module}.py", root / module / "__init__.py")
    defined = re.compile(rf"^(def|class) {re.escape(name)}\b|^{re.escape(name)}\b.*=", re.MULTILINE)
    return any(defined.search(path.read_text("utf-8")) for path in paths if path.exists())


def _differing_files(base: str, root: Path) -> list[str]:
    commands = [
        ["git", "diff", "--name-only", "--no-renames", base],
        ["git", "ls-files", "--others", "--exclude-standard"],
    ]
    printed = [
        subprocess.run(each, cwd=root, capture_output=True, text=True, check=True).stdout for each in commands
    ]
    return sorted({name for text in printed for name in text.split("\n") if name})


def _text_at(base: str, name: str, root: Path) -> str:
    """Return the text of a file at a commit, or an empty string if the file does not exist there."""
    return subprocess.run(
        ["git", "show", f"{base}:{name}"], cwd=root, capture_output=True, text=True, check=False
    ).stdout


def _text_now(name: str, root: Path) -> str:
    path = root / name
    return path.read_text("utf-8") if path.exists() else ""
