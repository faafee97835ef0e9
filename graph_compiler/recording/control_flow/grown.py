"""Lists that iterations of a loop have appended to, whose length is a size.

A recorded loop returns what its iterations append as arrays with one row per item, and the variable then
holds such a list. Uses that work for any length use these arrays. Any other use reads the items one by
one, which adds a guard on their number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...sizes import apply, expression_of, hint_of, is_symbolic
from .regions import ArrayKind, Regions
from .variables import AppendableList, ContainerForm, VariableContents, describe_contents, plain


@dataclass(frozen=True, eq=False)
class StackedItems:
    """Consecutive items of a list, stacked. All have the same form.

    form: form of an item.
    arrays: for each leaf of the form, an array with one row per item.
    kinds: kinds of the leaves.
    length: number of items, an int or a size.
    """

    form: ContainerForm
    arrays: tuple[Any, ...]
    kinds: tuple[ArrayKind, ...]
    length: Any

    def item(self, regions: Regions, rows: Sequence[Any]) -> Any:
        return self.form.rebuilt(iter([regions.element(row, kind) for row, kind in zip(rows, self.kinds)]))

    def at(self, regions: Regions, index: Any) -> Any:
        return self.item(regions, [array[index] for array in self.arrays])

    def rows(self, regions: Regions, items: slice) -> StackedItems:
        arrays = tuple(regions.sliced(array, items) for array in self.arrays)
        return replace(self, arrays=arrays, length=expression_of(regions.length(arrays[0])))

    def is_like(self, other: StackedItems) -> bool:
        types, others = ([(kind.dtype, kind.shape) for kind in one.kinds] for one in (self, other))
        return (self.form, types) == (other.form, others)


def join_items(regions: Regions, parts: Sequence[Any]) -> StackedItems | None:
    """Return all items of ``parts``, items and ``StackedItems``, as one ``StackedItems``.

    Return None if their forms, shapes or dtypes differ, if a leaf is neither an array nor a number, or if
    there are no items. If the framework needs a row, a guard decides whether a stacked part is empty.
    """
    # The arrays themselves are returned, so that writes to items reach the list.
    if len(parts) == 1 and isinstance(parts[0], StackedItems):
        return parts[0]
    found = [
        part if isinstance(part, StackedItems) else stacked_item(regions, describe_contents(regions, part))
        for part in parts
        if _is_there(regions, part)
    ]
    stretches = [one for one in found if one is not None]
    if (
        not stretches
        or len(stretches) < len(found)
        or not all(one.is_like(stretches[0]) for one in stretches)
    ):
        return None
    columns = zip(*(one.arrays for one in stretches))
    kinds = tuple(
        min(column, key=lambda kind: kind.number) for column in zip(*(one.kinds for one in stretches))
    )
    return replace(
        stretches[0], arrays=tuple(map(regions.concatenated, columns)), kinds=kinds, length=length_of(parts)
    )


def _is_there(regions: Regions, part: Any) -> bool:
    is_known = not isinstance(part, StackedItems) or not regions.needs_a_row(part.kinds)
    return is_known or regions.decide_size(apply("ge", part.length, 1))


def stacked_item(
    regions: Regions, item: VariableContents, kinds: Sequence[ArrayKind] | None = None
) -> StackedItems | None:
    """Return ``item`` as ``StackedItems`` of length 1, each leaf as an array of its kind in ``kinds``.

    By default, leaves keep their own kinds. Return None if ``item`` has no leaves, or a leaf that is
    neither an array nor a number.
    """
    own = [leaf.kind for leaf in item.leaves if leaf.kind is not None]
    if not own or len(own) < len(item.leaves):
        return None
    found = tuple(kinds or own)
    made = (regions.made(leaf.item, replace(kind, number=False)) for leaf, kind in zip(item.leaves, found))
    return StackedItems(item.form, tuple(map(regions.as_row, made)), found, 1)


def length_of(parts: Iterable[Any]) -> Any:
    return sum((part.length if isinstance(part, StackedItems) else 1 for part in parts), 0)


class GrownList(AppendableList):
    """List that iterations of a loop have appended to, after that loop.

    Its parts are items and ``StackedItems``. What works for any length uses these; :meth:`plain` reads the
    items one by one, under a guard on their number.
    """

    @property
    def pieces(self) -> list[Any]:
        return (
            self.plain()
            if any(isinstance(part, StackedItems) and part.form.may_change for part in self.parts)
            else self.parts
        )

    def symbolic_length(self) -> Any:
        return self.regions.number_of(length_of(self.parts))

    def at_least(self, count: int) -> bool:
        alone = sum(not isinstance(part, StackedItems) for part in self.parts)
        return alone >= count or self.regions.decide_size(apply("ge", length_of(self.parts), count))

    def plain(self) -> list[Any]:
        found: list[Any] = []
        for part in self.parts:
            if isinstance(part, StackedItems):
                count = hint_of(part.length)
                self.regions.decide_size(apply("eq", part.length, count))
                found += [part.at(self.regions, index) for index in range(count)]
            else:
                found.append(part)
        # Later uses see the same items, so that writes to one are kept.
        self.parts[:] = found
        return self.parts

    def whole(self, is_kept: bool = False) -> StackedItems | None:
        """Return all items as one ``StackedItems``, or None if :func:`join_items` does.

        With ``is_kept``, also return None if a write to an item of the result would not be seen in this
        list.
        """
        is_copy = not (len(self.parts) == 1 and isinstance(self.parts[0], StackedItems))
        found = join_items(self.regions, self.parts)
        if (
            found is None
            or is_kept
            and (found.form.may_change or is_copy and any(map(self.regions.may_write, found.kinds)))
        ):
            return None
        return found

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self._slice(index)
        if type(index) is int:
            return self._item(index)
        is_open = is_symbolic(index) or self.regions.is_array(index)
        whole = self.whole(is_kept=True) if is_open and self.regions.may_expect else None
        return self.plain()[index] if whole is None else whole.at(self.regions, index)

    def _item(self, index: int) -> Any:
        parts, ahead = (self.pieces, index) if index >= 0 else (self.pieces[::-1], -index - 1)
        for part in parts:
            if isinstance(part, StackedItems):
                if not self.regions.decide_size(apply("ge", part.length, ahead + 1)):
                    break
                return part.at(self.regions, ahead if index >= 0 else -ahead - 1)
            if not ahead:
                return part
            ahead -= 1
        return self.plain()[index]

    def _slice(self, items: slice) -> Any:
        bounds = (items.start, items.stop, items.step)
        if bounds == (None, None, None):
            return GrownList(self.regions, self.pieces)
        if bounds == (None, None, -1):
            parts = [
                part.rows(self.regions, items) if isinstance(part, StackedItems) else part
                for part in reversed(self.pieces)
            ]
            return GrownList(self.regions, parts)
        is_known = items.step in (None, 1) and all(bound is None or type(bound) is int for bound in bounds)
        whole = self.whole(is_kept=True) if is_known else None
        return (
            self.plain()[items]
            if whole is None
            else GrownList(self.regions, [whole.rows(self.regions, items)])
        )

    def __bool__(self) -> bool:
        return self.at_least(1)

    def reverse(self) -> None:
        self.parts[:] = self[::-1].parts

    def copy(self) -> GrownList:
        return GrownList(self.regions, self.pieces)

    def __add__(self, other: Any) -> Any:
        if isinstance(other, GrownList) or type(other) is list:
            return GrownList(
                self.regions, [*self.pieces, *(other.pieces if isinstance(other, GrownList) else other)]
            )
        return self.plain() + other

    def __radd__(self, other: Any) -> Any:
        return (
            GrownList(self.regions, [*other, *self.pieces]) if type(other) is list else other + self.plain()
        )


def finish_lists(result: Any, *given: Any) -> Any:
    return plain((result, given))[0]
