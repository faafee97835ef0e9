"""Training loop over epochs (``fit``), and iterator that copies batches to a device (``DeviceIterator``)."""

from __future__ import annotations

import queue
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ..contracts import Training
from ..errors import CallMismatch, InvalidOption
from ..forwarding import forwards, passes_on
from ..ops.dtypes import dtype_name
from ..recording.faults import is_fault
from ..registration import backends
from ..runtime.boundary import public
from ..runtime.frameworks import backend_of
from ..trees import map_leaves
from .state import TrainState
from .steps import single_train_step

# ------------------------------------------------------------------------------------------------------- data
# Batches of any loader as arrays on the target's device, copied by a thread while the step before runs.

_END = object()
# Seconds between two checks of a blocked thread whether it was stopped.
_WAIT = 0.05


class DeviceIterator:
    """Iterator that copies the batches of a loader to a device ahead of their use, in a thread.

    Each loop over it is a loop over the loader. An exception of the loader is raised in the loop.

    Args:
        loader: Any iterable of batches: a torch ``DataLoader``, a ``tf.data.Dataset``, a list, a generator,
            NumPy arrays. A batch is any structure of tuples, lists and plain dicts; items that are not arrays
            are not copied.
        device_or_sharding: A ``torch.device``, a device or sharding of JAX, a device of TensorFlow, or the
            name of a device in torch or TensorFlow (``"cuda:0"``, ``"/GPU:0"``) if that is imported; the name
            of one of these frameworks; or a :class:`TrainState`.
        prefetch: Largest number of batches in the queue between the thread and the loop, at least 1.

    Raises:
        InvalidOption: ``device_or_sharding`` is none of these, ``prefetch`` is invalid, or ``loader`` has no
            ``__iter__``.
        CallMismatch: In the loop, if an array cannot be copied to the device.

    >>> import numpy as np
    >>> from graph_compiler import training
    >>> batches = training.DeviceIterator([(np.ones((2, 3), "float32"), np.zeros(2, "int64"))] * 3, "torch")
    >>> [inputs.shape for inputs, target in batches]
    [torch.Size([2, 3]), torch.Size([2, 3]), torch.Size([2, 3])]
    """

    @public
    def __init__(self, loader: Iterable[Any], device_or_sharding: Any, prefetch: int = 2) -> None:
        if type(prefetch) is not int or prefetch < 1:
            raise InvalidOption(f"prefetch= is {prefetch!r}, and has to be a number of batches, 1 or more")
        if not hasattr(loader, "__iter__"):
            raise InvalidOption(f"the loader is a {type(loader).__name__}, which cannot be looped over")
        self._loader, self._prefetch = loader, prefetch
        self._engine, self._where = _resolve_device(device_or_sharding)
        self._own: _LoaderLoop | None = None

    def __iter__(self) -> Iterator[Any]:
        return _LoaderLoop(self._loader, self._engine, self._where, self._prefetch)

    @passes_on
    def __next__(self) -> Any:
        """Return the next batch of the iterator's own loop, which is started if necessary."""
        if self._own is None:
            self._own = _LoaderLoop(self._loader, self._engine, self._where, self._prefetch)
        return next(self._own)

    def __len__(self) -> int:
        return len(self._loader)  # type: ignore[arg-type]

    def close(self) -> None:
        """End the loop that ``next`` started, and its thread."""
        if self._own is not None:
            self._own.close()
            self._own = None


class _LoaderLoop:
    """Iterator over the batches of a loader, which a thread reads and copies to the device ahead of use."""

    def __init__(self, loader: Iterable[Any], engine: Training, where: Any, prefetch: int) -> None:
        self._batches: queue.Queue[tuple[Any, BaseException | None]] = queue.Queue(prefetch)
        self._stopped, self._engine = threading.Event(), engine
        # The thread gets the queue and not this object, so that it ends when nobody refers to the object any
        # more.
        arguments = (loader, engine, where, self._batches, self._stopped)
        self._thread = threading.Thread(target=_read, args=arguments, name="DeviceIterator", daemon=True)
        self._finalizer = weakref.finalize(self, self._stopped.set)
        self._thread.start()

    def __iter__(self) -> Iterator[Any]:
        return self

    @passes_on
    def __next__(self) -> Any:
        batch = _END if self._stopped.is_set() else self._next_batch()
        if batch is _END:
            raise StopIteration
        return batch

    @public
    def _next_batch(self) -> Any:
        batch, problem = self._batches.get()
        if problem is not None or batch is _END:
            self.close()
        if problem is not None:
            raise problem
        return map_leaves(self._engine.synchronized, batch, _is_array)

    def close(self) -> None:
        self._stopped.set()
        self._thread.join()


@forwards
def _iterated(loader: Iterable[Any]) -> Iterator[Any]:
    # Loaders of C code have no frame of their own: they raise in this one.
    yield from loader


def _read(
    loader: Iterable[Any], engine: Training, where: Any, batches: queue.Queue[Any], stopped: threading.Event
) -> None:
    try:
        for batch in _iterated(loader):
            placed = map_leaves(lambda item: _place_array(engine, item, where), batch, _is_array)
            if not _put(batches, (placed, None), stopped):
                return
        _put(batches, (_END, None), stopped)
    # Whatever ends the loader is raised again in the thread that asks for batches.
    except BaseException as problem:
        _put(batches, (None, problem), stopped)


def _place_array(engine: Training, item: Any, where: Any) -> Any:
    try:
        return engine.placed(item, where)
    # Frameworks refuse devices and layouts by exceptions of all kinds.
    except Exception as problem:
        if is_fault(problem):
            raise
        raise CallMismatch(
            f"an array {dtype_name(item)}{list(item.shape)} of a batch cannot be put on "
            f"{'a device' if where is None else where}: {type(problem).__name__}: {problem}; give a device "
            "of this machine, and arrays of numbers whose sizes a sharding divides"
        ) from problem


def _put(batches: queue.Queue[Any], item: Any, stopped: threading.Event) -> bool:
    while not stopped.is_set():
        try:
            batches.put(item, timeout=_WAIT)
        except queue.Full:
            continue
        return True
    return False


def _is_array(item: Any) -> bool:
    # Classes of arrays have these attributes, too.
    return hasattr(item, "dtype") and hasattr(item, "shape") and not isinstance(item, type)


def _resolve_device(where: Any) -> tuple[Training, Any]:
    """Return the training engine for ``where``, and the device, or None if the framework decides."""
    if isinstance(where, TrainState):
        return where.plan.engine, where.plan.engine.device_of(where.held)
    known = [entry for entry in backends.own.values() if entry.has_derivatives]
    if isinstance(where, str) and (
        entry := next((entry for entry in known if where in (entry.name, *entry.aliases)), None)
    ):
        engine = backend_of(entry.name).training_engine()
        assert engine is not None
        return engine, None
    for name in (entry.name for entry in known if entry.is_loaded):
        engine = backend_of(name).training_engine()
        if engine is not None and engine.is_device(where):
            return engine, where
    raise InvalidOption(
        f"{where!r} is no device: give a device of a framework that is imported, or its name as that "
        "framework writes it, a sharding, the name of a framework "
        f"({', '.join(entry.name for entry in known)}), or a TrainState"
    )


# ---------------------------------------------------------------------------------------------------- fitting
Metrics = dict[str, float]
# Substrings of dtype names; "float16" is part of "bfloat16", too.
_NARROW_DTYPES = ("bool", "float16")
Callback = Callable[[TrainState, Metrics], Any]


@public
def fit(
    state: TrainState,
    data: Iterable[Any],
    epochs: int = 1,
    callbacks: Sequence[Callback] = (),
    progress: bool = True,
) -> tuple[TrainState, list[Metrics]]:
    """Train on all batches of ``data``, up to ``epochs`` times, and return ``(state, history)``.

    ``history`` has one dict for each epoch: ``epoch``, from 1 on, ``seconds``, ``steps``, and the mean of
    each metric over the batches that have it.

    Args:
        state: State to start from. It is consumed.
        data: Batches ``(inputs, target)`` that can be iterated once for each epoch: a list, a ``DataLoader``,
            a ``tf.data.Dataset`` or a :class:`DeviceIterator`.
        epochs: Number of epochs.
        callbacks: Functions ``callback(state, metrics)`` that run after each epoch. One that returns True
            ends the training, after the others have run.
        progress: Show a progress bar if ``rich`` is installed.

    Raises:
        InvalidOption: ``epochs`` is invalid, a callback is not callable, ``data`` is empty, also from the
            second epoch on, or the schedule returns no finite number.
        CallMismatch: As for :func:`single_train_step`.
        NotCompilable: As for :func:`single_train_step`.

    >>> import torch
    >>> from graph_compiler import training
    >>> options = {"loss": torch.nn.MSELoss(), "args": (torch.ones(1, 2),)}
    >>> state = training.TrainState.create(torch.nn.Linear(2, 1), "adam", **options)
    >>> batches = [(torch.ones(4, 2), torch.ones(4, 1))] * 5
    >>> state, history = training.fit(state, batches, epochs=2, progress=False)
    >>> [epoch["steps"] for epoch in history], history[1]["loss"] < history[0]["loss"]
    ([5, 5], True)
    """
    if type(epochs) is not int or epochs < 1:
        raise InvalidOption(f"epochs= is {epochs!r}, and has to be a number of epochs, 1 or more")
    given: Sequence[Any] = callbacks
    for callback in given:
        if not callable(callback):
            raise InvalidOption(
                f"callbacks= has {callback!r}, which cannot be called: a callback is a function of the state "
                "and the metrics"
            )
    history: list[Metrics] = []
    with _bar(progress) as bar:
        for epoch in range(1, epochs + 1):
            state, metrics = _epoch(state, bar.over(data, f"epoch {epoch}/{epochs}", history), epoch)
            history.append(metrics)
            # A copy, because callbacks may change the metrics.
            answers = [callback(state, dict(metrics)) for callback in callbacks]
            if any(answer is True for answer in answers):
                break
    return state, history


def _epoch(state: TrainState, batches: Iterator[Any], epoch: int) -> tuple[TrainState, Metrics]:
    begin, steps = time.perf_counter(), 0
    # Sums stay on the device, so that no step waits for the metrics of the step before.
    sums: dict[str, Any] = {}
    counts: dict[str, int] = {}
    for batch in batches:
        state, metrics = single_train_step(state, batch)
        steps += 1
        for name, value in metrics.items():
            number = _summand(state, value)
            sums[name] = sums[name] + number if name in sums else number
            counts[name] = counts.get(name, 0) + 1
    if not steps:
        raise InvalidOption(
            f"the data of epoch {epoch} is empty; a generator can be looped over only once: give a list or a "
            "loader, or one epoch"
        )
    means = {name: float(value) / counts[name] for name, value in sums.items()}
    return state, {"epoch": epoch, "steps": steps, "seconds": time.perf_counter() - begin, **means}


def _summand(state: TrainState, value: Any) -> Any:
    # A sum over an epoch loses digits in half precision, and booleans cannot be summed.
    if not any(name in str(value.dtype) for name in _NARROW_DTYPES):
        return value
    derivatives = backend_of(state.graph._pipeline.target.name).derivatives()
    # Only targets with derivatives train.
    assert derivatives is not None
    return derivatives.cast(value, state.plan.engine.number(0.0))


class _NoProgress:
    def over(self, data: Iterable[Any], words: str, history: list[Metrics]) -> Iterator[Any]:
        return iter(data)


class _ProgressBar(_NoProgress):
    def __init__(self, progress: Any) -> None:
        self._progress = progress

    def over(self, data: Iterable[Any], words: str, history: list[Metrics]) -> Iterator[Any]:
        told = f", loss {history[-1]['loss']:.4g} before" if history else ""
        yield from self._progress.track(data, total=_length(data), description=words + told)


def _length(data: Any) -> int | None:
    try:
        return len(data)
    except TypeError:
        return None


def _bar(is_shown: bool) -> AbstractContextManager[_NoProgress]:
    try:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    except ImportError:
        is_shown = False
    if not is_shown:
        return nullcontext(_NoProgress())
    return _ProgressDisplay(
        Progress(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    )


class _ProgressDisplay(AbstractContextManager[_NoProgress]):
    def __init__(self, progress: Any) -> None:
        self._progress = progress

    def __enter__(self) -> _NoProgress:
        self._progress.__enter__()
        return _ProgressBar(self._progress)

    def __exit__(self, *problem: Any) -> None:
        self._progress.__exit__(*problem)
