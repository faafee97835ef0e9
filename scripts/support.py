"""Write docs/support.md and the table of shares in README.md.

The page says what share of each source's corpora is right in each target, which operations of the vocabulary
each target has, and why it lacks the others. ``--check`` tells if both files are current. The shares are
those of docs/coverage.json; the rest of the page is computed from the tables alone. An operation for which
every target has a row is one short line, whatever the targets are, so that two branches that each add a
target change only lines about their own.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

# The script also runs in a checkout that is not installed.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from graph_compiler import ops
from graph_compiler.registration import backends
from tests.corpora.coverage import published

ROOT = Path(__file__).resolve().parent.parent
PAGE, README = ROOT / "docs" / "support.md", ROOT / "README.md"
SHARES = re.compile(r"(?<=<!-- written by scripts/support.py -->\n).*?(?=<!-- end -->)", re.DOTALL)
ROW, DECOMPOSITION = "row", "decomposition"
HEAD = """# What goes from where to where

Written by `python scripts/support.py`; do not edit. `tests/ops/test_matrix.py` checks that it is current.

Each case was recorded in its source framework and written for the target, and its values, shapes and data types, at sizes other than
those recorded where the corpus has some, were compared with the source's own. What is not right is refused with an error, or fails when
the graph is called; what gives another number is counted as wrong. `python scripts/coverage.py CORPUS --target TARGET --publish` measures
a share anew.

Counted as wrong are the order of equal elements in sorts that are not stable, and of eigenvalues, which the source leaves open; draws of
gamma, Poisson, binomial and categorical numbers from a seed of TensorFlow, which have the same distribution, and a warning; the type of
`tf.experimental.numpy.size`; in JAX, a shift of int64 beyond 32 bits; and three elements of Keras' `RandomPerspective` in NumPy.

{pairs}

# Which target has which operation

An operation reaches a target by a *row* (the framework's own function, or a helper that is copied into the generated source) or by its
*decomposition* into smaller operations. The last column says "row" where that holds for all targets, and otherwise what differs.

Targets: {targets}.
"""


def targets() -> dict[str, ModuleType]:
    """Return the backends that canonical graphs can be written for, by name."""
    found = {name: importlib.import_module(entry.module) for name, entry in backends.own.items()}
    return {name: backend for name, backend in found.items() if hasattr(backend, "rows")}


def support(backend: ModuleType) -> dict[str, str]:
    """Return, for each operation, how a target gets it, or the reason why it does not.

    An operation that has neither a row, a reason nor a decomposition is left out.
    """
    unsupported: Mapping[str, str] = backend.lowering.UNSUPPORTED
    found = {}
    for name in ops.all_ops():
        if name in backend.rows:
            found[name] = ROW
        elif name in unsupported:
            found[name] = f"no, {unsupported[name]}"
        elif ops.get_decomposition(name):
            found[name] = DECOMPOSITION
    return found


def page() -> str:
    matrix = {name: support(backend) for name, backend in targets().items()}
    pairs = "\n".join(published.section(published.rows_of()))
    lines = [HEAD.format(targets=", ".join(sorted(matrix)), pairs=pairs)]
    sections: dict[str, list[ops.Op]] = {}
    for op in ops.all_ops().values():
        sections.setdefault(op.section, []).append(op)
    for section in sorted(sections):
        lines += [f"## {section.capitalize()}", "", "| operation | gives | by |", "|---|---|---|"]
        lines += [f"| `{op.name}` | {_meaning(op)} | {_how(op.name, matrix)} |" for op in sections[section]]
        lines.append("")
    return "\n".join(lines)


def readme() -> str:
    table = "\n".join(published.summary(published.rows_of()))
    return SHARES.sub(lambda _: f"{table}\n", README.read_text("utf-8"))


def _meaning(op: ops.Op) -> str:
    return " ".join(op.doc.partition("\n\n")[0].split()).replace("``", "`").replace("|", "\\|")


def _how(name: str, matrix: Mapping[str, Mapping[str, str]]) -> str:
    differing = [
        f"{target}: {found.get(name, 'missing')}"
        for target, found in sorted(matrix.items())
        if found.get(name) != ROW
    ]
    return "; ".join(differing) or ROW


def main(arguments: list[str]) -> int:
    """Write both pages, or with ``--check`` only say if they are current; return the exit status."""
    texts = {PAGE: page(), README: readme()}
    if "--check" not in arguments:
        for path, text in texts.items():
            path.write_text(text, encoding="utf-8")
        return 0
    stale = [path.name for path, text in texts.items() if path.read_text(encoding="utf-8") != text]
    if stale:
        print(f"{' and '.join(stale)} not current; run python scripts/support.py")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
