"""Detection of writes to tensors and of replaced storages, also by code outside of torch."""

from __future__ import annotations

import copy
import ctypes
import platform
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from ....errors import TracingError
from ....ir.node import Origin
from ....recording.environment_guards import WORD, Words, memory_versions
from ....recording.state.contents import Pieces
from ..basics.tensors import version
from ..compat import negative_view, no_torch_function
from .copies import Snapshot
from .memory import has_memory, reach

# ------------------------------------------------------------------------------------------------------ words
# Words in memory that change whenever torch counts a change of a tensor, read without a call of torch.
#
# After a model has run, a call of torch must be loaded into the cache again: ``data_ptr`` and ``_version``
# take two microseconds each. Comparing twenty words of memory, among many others, takes a tenth of one.

# Offsets in words, as in torch/csrc/autograd/python_variable.h, c10/core/TensorImpl.h (with VariableVersion)
# and StorageImpl.h. If they differ in this torch, ``_is_readable`` returns False, and ``words_of`` None.
# In a Python tensor: the C++ tensor.
_TENSOR = 2
# In the C++ tensor: its storage and its version counter.
_STORAGE, _COUNTER = 2, 5
# In the C++ tensor: shape, strides, offset, dtype and flags for conjugation and negation.
_SHAPE = range(7, 22)
# In the storage: its address.
_ADDRESS = 2
# In the version counter: the count.
_COUNT = 2


def words_of(tensor: torch.Tensor) -> Words | None:
    """Return the words of memory that change when torch counts a write to ``tensor`` or moves it, or None.

    >>> weight = torch.zeros(2)
    >>> words = words_of(weight)
    >>> versions = words and memory_versions([], [], [words])
    >>> before = versions and versions.copy()
    >>> _ = weight.add_(1)
    >>> versions is None or versions.now != before
    True
    """
    return _words(tensor) if is_readable and not tensor.is_inference() and has_memory(tensor) else None


def _words(tensor: torch.Tensor) -> Words:
    with no_torch_function():
        # The alias keeps the storage and the version counter alive.
        alias, storage = (
            tensor.detach(),
            tensor.untyped_storage()._cdata,
        )
    inner = tensor._cdata
    counter = _read(inner, _COUNTER)

    def stand(alive: Any = alias) -> bool:
        return tensor._cdata == inner and (_read(inner, _STORAGE), _read(inner, _COUNTER)) == (
            storage,
            counter,
        )

    noted = (inner + place * WORD for place in (_STORAGE, _COUNTER, *_SHAPE))
    return Words(
        (id(tensor) + _TENSOR * WORD, *noted, storage + _ADDRESS * WORD, counter + _COUNT * WORD), stand
    )


def _read(address: int, place: int) -> int:
    return ctypes.c_uint64.from_address(address + place * WORD).value


# ----------------------------------------------------------------------------------------------- layout check
def _is_known() -> bool:
    tensor, other = torch.zeros(2, 3, device="cpu"), torch.zeros(2, 3, device="cpu")
    alias, storage = tensor.detach(), tensor.untyped_storage()
    one, same, apart = (each._cdata for each in (tensor, alias, other))
    return (
        _read(id(tensor), _TENSOR) == one
        and _read(one, _STORAGE) == storage._cdata
        and _read(storage._cdata, _ADDRESS) == tensor.data_ptr()
        and _read(one, _COUNTER) == _read(same, _COUNTER) != _read(apart, _COUNTER)
    )


def _assign(tensor: torch.Tensor, data: torch.Tensor) -> None:
    tensor.data = data


_CHANGES: tuple[Callable[[torch.Tensor], Any], ...] = (
    lambda tensor: tensor.add_(1),
    lambda tensor: tensor[0].mul_(2),
    lambda tensor: tensor.t_(),
    lambda tensor: tensor.unsqueeze_(0),
    lambda tensor: tensor.resize_(7),
    lambda tensor: tensor.set_(torch.zeros(3, device="cpu")),
    lambda tensor: _assign(tensor, torch.zeros_like(tensor)),
    lambda tensor: _assign(tensor, tensor.data.t()),
    lambda tensor: _assign(tensor, tensor.data[..., :1]),
    lambda tensor: _assign(tensor, tensor.data.view(torch.int32)),
    lambda tensor: _assign(tensor, negative_view(tensor.data)),
    lambda tensor: tensor.untyped_storage().resize_(1024),
    lambda tensor: torch.utils.swap_tensors(tensor, torch.ones(2, device="cpu")),
)


def _told(tensor: torch.Tensor, change: Callable[[torch.Tensor], Any]) -> bool:
    words = _words(tensor)
    versions, seen = memory_versions([], [], [words]), words.is_readable()
    before = versions.copy()
    held = versions.now == before
    change(tensor)
    return seen and held and versions.now != before


def _is_readable() -> bool:
    if platform.python_implementation() != "CPython" or ctypes.sizeof(ctypes.c_void_p) != WORD:
        return False
    try:
        with torch.inference_mode(False), torch.no_grad():
            return _is_known() and all(
                _told(tensor, change)
                for change in _CHANGES
                for tensor in (torch.zeros(2, 2, device="cpu"), torch.zeros(1, 6, device="cpu")[:, 1:])
            )
    # Some tensors were made without memory by a mode of torch.
    except RuntimeError:
        return False


is_readable = _is_readable()


# --------------------------------------------------------------------------------------------------- watching
class TensorStamp:
    """Layout, version and memory contents (:class:`Pieces`) of a tensor at one moment.

    pieces: the memory, or samples of it above 16 KiB, so that a write between them may be missed; or None, as
        for a tensor on a GPU.

    >>> weight = torch.zeros(2)
    >>> stamp = TensorStamp(weight)
    >>> stamp.fits(weight), weight.data.add_(1), stamp.fits(weight)
    (True, tensor([1., 1.]), False)
    """

    __slots__ = ("layout", "pieces", "version")

    def __init__(self, tensor: torch.Tensor) -> None:
        self.layout, self.version = layout_of(tensor), version(tensor)
        self.pieces = pieces_of(tensor)

    def fits(self, tensor: torch.Tensor) -> bool:
        same = layout_of(tensor) == self.layout and version(tensor) == self.version
        return same and (self.pieces is None or self.pieces.same())


class TensorWatch:
    """Snapshot of many tensors, to detect later that one was written to or got another layout.

    whole: True to compare all elements of large tensors, too, for writes that torch does not count.
    compares_all: False without ``whole``, or if the memory of a tensor cannot be compared, as on a GPU.

    >>> weight = torch.zeros(2)
    >>> watch = TensorWatch([weight])
    >>> watch.changed(), weight.add_(1), watch.changed()
    (False, tensor([1., 1.]), True)
    """

    def __init__(self, tensors: Iterable[torch.Tensor], whole: bool = False) -> None:
        found = [(tensor, words_of(tensor)) for tensor in tensors]
        self._others = [tensor for tensor, words in found if words is None]
        self._layouts = self._layouts_now()
        self._words = memory_versions([], [], [words for _, words in found if words is not None])
        self._noted = self._words.copy()
        pieces = [pieces_of(tensor, whole) for tensor, _ in found]
        self.compares_all = whole and all(
            piece is not None or not tensor.numel() for piece, (tensor, _) in zip(pieces, found)
        )
        self._compare(pieces)

    def _compare(self, pieces: Sequence[Pieces | None]) -> None:
        self._pieces = pieces
        self._before = [piece for one in pieces if one is not None for piece in one.before]
        self._now = [piece for one in pieces if one is not None for piece in one.now]

    def _layouts_now(self) -> list[tuple[Any, ...]]:
        return [(version(tensor), *layout_of(tensor)) for tensor in self._others]

    def changed(self) -> bool:
        return (
            self._words.now != self._noted
            or bool(self._others)
            and self._layouts_now() != self._layouts
            or self._before != self._now
        )

    def of_copies(self, addresses: Sequence[int | None]) -> TensorWatch:
        made = copy.copy(self)
        made._compare(
            [
                None if one is None or one.address == address else one
                for one, address in zip(self._pieces, addresses)
            ]
        )
        return made


def layout_of(tensor: torch.Tensor) -> tuple[Any, ...]:
    with no_torch_function():
        looks = (tensor.dtype, tensor.shape, tensor.stride(), tensor.is_conj(), tensor.is_neg())
        return tensor.data_ptr(), *looks


def pieces_of(tensor: torch.Tensor, whole: bool = False) -> Pieces | None:
    """Return a copy of a tensor's memory for comparison, or samples of it, or None."""
    if not has_memory(tensor) or tensor.numel() == 0:
        return None
    with no_torch_function():
        reached = reach(tensor)
        storage = tensor.untyped_storage()
        return (
            Pieces(storage, tensor.data_ptr(), reached * tensor.itemsize, whole)
            if reached <= tensor.numel()
            else None
        )


# -------------------------------------------------------------------------------------------- exported memory
# Memory of tensors that code outside of torch shares: NumPy arrays, buffers, results of ``.numpy()``.

# ``torch.from_numpy`` passes the tensor that it made through this kernel.
_OF_CONSTRUCTORS = "lift_fresh"


@dataclass
class _SharedTensor:
    """Tensor whose memory other code shares, with its contents at an earlier moment.

    start, end: addresses of its first byte and after its last.
    origin: the line that shared it.
    is_read: True if other code is assumed to read the memory.
    is_weight: True for a weight, of which pieces may be compared instead of all elements.
    is_used: True if changes by other code are refused: torch has used the tensor, or ``is_read``.
    number: its version at that moment.
    same: returns True while no change of the contents is noticed.
    """

    tensor: torch.Tensor
    start: int
    end: int
    origin: Origin
    is_read: bool
    is_weight: bool
    is_used: bool
    number: int = 0
    same: Callable[[], bool] = bool

    def refresh(self) -> None:
        pieces = pieces_of(self.tensor) if self.is_weight else None
        self.number, self.same = (
            version(self.tensor),
            pieces.same if pieces else partial(Snapshot(self.tensor).is_of, self.tensor),
        )

    def changed(self) -> bool:
        return version(self.tensor) == self.number and not self.same()


class ExportedMemory:
    """Tensors of a recording whose memory other code may read, or write without incrementing the version."""

    def __init__(self) -> None:
        # Sorted by address, because there may be thousands.
        self._shared: list[_SharedTensor] = []
        # The size of the largest one in bytes.
        self._longest = 0

    def share(
        self, tensor: torch.Tensor, origin: Origin, is_read: bool = False, is_weight: bool = False
    ) -> None:
        """Register a tensor whose memory other code may access, unless :func:`has_memory` is False for it.

        With ``is_read``, it is checked for changes by other code from now on, else once torch uses it.
        """
        if has_memory(tensor):
            with no_torch_function():
                start, end = _place(tensor)
            one = _SharedTensor(tensor, start, end, origin, is_read, is_weight, is_used=is_read)
            one.refresh()
            insort(self._shared, one, key=_start)
            self._longest = max(self._longest, end - start)

    def look(self, name: str, key: str, operands: Sequence[torch.Tensor]) -> None:
        """Check the operands of a call that is about to run for writes by other code.

        Raise ``TracingError`` if such a write is found that the recording cannot account for.
        """
        for one in self._in(operands):
            if one.is_used:
                _refuse_changed(name, one)
            else:
                one.refresh()
                one.is_used = key != _OF_CONSTRUCTORS

    def written(self, here: Callable[[], Any], tensors: Sequence[torch.Tensor], varies: bool) -> None:
        for one in self._in(tensors):
            if varies and one.is_read:
                raise TracingError(
                    f"{here()}: elements that depend on the inputs are written to memory that {one.origin} "
                    "has handed to code that cannot be recorded (numpy, or a pointer), so what that code "
                    "reads would be baked in. Write to a copy (clone)"
                )
            one.refresh()

    def check(self, name: str, written: Container[int]) -> None:
        for one in self._shared:
            if one.is_used and id(one.tensor) not in written:
                _refuse_changed(name, one)

    def _in(self, tensors: Sequence[torch.Tensor]) -> Iterable[_SharedTensor]:
        if not self._shared:
            return ()
        # Comparing addresses is not a read by the user's code.
        with no_torch_function():
            places = [
                _place(tensor) for tensor in tensors if self._begins_before_end(tensor) and has_memory(tensor)
            ]
        # Few remain if most weights are in torch's own memory.
        near = [place for place in places if self._shared[0].start < place[1]]
        return {id(one): one for place in near for one in self._around(*place)}.values()

    def _begins_before_end(self, tensor: torch.Tensor) -> bool:
        try:
            # This comparison is cheap, and rules out most tensors.
            return tensor.data_ptr() < self._shared[-1].start + self._longest
        except (NotImplementedError, RuntimeError):
            return False

    def _around(self, start: int, end: int) -> Iterable[_SharedTensor]:
        first, last = (
            bisect_right(self._shared, start - self._longest, key=_start),
            bisect_left(self._shared, end, key=_start),
        )
        return (one for one in self._shared[first:last] if start < one.end)


def _start(one: _SharedTensor) -> int:
    return one.start


def _place(tensor: torch.Tensor) -> tuple[int, int]:
    start = tensor.data_ptr()
    return start, start + reach(tensor) * tensor.itemsize


def _refuse_changed(name: str, one: _SharedTensor) -> None:
    if one.changed():
        raise TracingError(
            f"{name}: code outside of torch (numpy, or a pointer) writes to memory of a tensor that "
            f"{one.origin} shares with it, which cannot be recorded. Write to the tensor with torch, or pass "
            "on a copy (torch.tensor, clone)"
        )
