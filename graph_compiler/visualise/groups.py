"""Groups of operations on a page: modules within modules, and parts of long runs.

A group is a contiguous range in program order. So edges between groups never form a cycle, and the child
that an operation belongs to follows from its number. A module that is called twice appears twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

MOST_CHILDREN = 64  # of one group: what can be laid out in some ten milliseconds, and looked at


@dataclass
class Group:
    """Group of operations.

    path: path of the module; empty for a part of one.
    children: numbers of operations, and groups.
    """

    name: str
    path: str = ""
    children: list[Group | int] = field(default_factory=list)

    def items(self) -> Iterator[int]:
        """Yield the numbers of all operations in the group, in program order."""
        for child in self.children:
            if isinstance(child, Group):
                yield from child.items()
            else:
                yield child

    def to_json(self) -> list[object]:
        """Return ``[name, path, children]``, with runs of operations as ``"first-last"``."""
        return [self.name, self.path, list(_packed(self.children))]


def grouped(name: str, paths: Sequence[str], most: int = MOST_CHILDREN) -> Group:
    """Return the operations ``0 .. len(paths)`` grouped by the path of their module.

    >>> grouped("net", ["", "a", "a.b", "a.b", "", "a"]).to_json()
    ['net', '', ['0-0', ['a', 'a', ['1-1', ['b', 'a.b', ['2-3']]]], '4-5']]
    """
    return _split(Group(name, "", _inside([(number, tuple(filter(None, path.split(".")))) for number, path in enumerate(paths)], 0)), most)


def _inside(items: Iterable[tuple[int, tuple[str, ...]]], depth: int) -> list[Group | int]:
    """Return the children of a group: a group for each run of operations whose paths continue with the same
    name.
    """
    children: list[Group | int] = []
    for parts, run in groupby(items, key=lambda item: item[1][: depth + 1]):
        if len(parts) <= depth:
            children += [number for number, _ in run]
        else:
            children.append(_joined(Group(parts[depth], ".".join(parts), _inside(run, depth + 1))))
    return children


def _joined(group: Group) -> Group | int:
    """Return the only operation of a group instead of the group, or a group merged with its only subgroup:
    ``encoder.layer``.
    """
    if len(group.children) > 1:
        return group
    inner = group.children[0]
    return Group(f"{group.name}.{inner.name}", inner.path, inner.children) if isinstance(inner, Group) else inner


def _split(group: Group, most: int) -> Group:
    """Return a group in which no group has more than `most` children; longer ones are divided into parts."""
    children = [_split(child, most) if isinstance(child, Group) else child for child in group.children]
    while len(children) > most:
        size = max(2, most // 2)  # few parts, each of which is still easy to look at
        starts = range(0, len(children), size)
        children = [_part(children[start : start + size], f"part {start // size + 1} of {len(starts)}") for start in starts]
    return Group(group.name, group.path, children)


def _part(children: list[Group | int], name: str) -> Group | int:
    return children[0] if len(children) == 1 else Group(name, "", children)


def _packed(children: Sequence[Group | int]) -> Iterator[object]:
    run: list[int] = []
    for child in [*children, None]:
        if run and child != run[-1] + 1:
            yield f"{run[0]}-{run[-1]}"
            run = []
        if isinstance(child, Group):
            yield child.to_json()
        elif child is not None:
            run.append(child)
