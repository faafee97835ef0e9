"""Training loop over epochs and batches, with a progress bar and the metrics of each epoch."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ..errors import InvalidOption
from ..runtime.boundary import public
from ..runtime.frameworks import backend_of
from .state import TrainState
from .steps import single_train_step

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
    """Train on all batches of ``data``, ``epochs`` times, and return ``(state, history)``.

    ``history`` has one dict for each epoch: ``epoch``, from 1 on, ``seconds``, ``steps``, and the mean of
    each metric over the batches.

    Args:
        state: State to start from.
        data: Batches ``(inputs, target)`` that can be iterated once for each epoch: a list, a ``DataLoader``,
            a ``tf.data.Dataset`` or a :class:`DeviceIterator`.
        epochs: Number of epochs.
        callbacks: Functions ``callback(state, metrics)`` that run after each epoch. One that returns True
            ends the training.
        progress: Show a progress bar if ``rich`` is installed.

    Raises:
        InvalidOption: ``epochs`` is invalid, a callback is not callable, or ``data`` is empty, also from the
            second epoch on.

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
    derivatives = backend_of(state.graph.pipeline.target.name).derivatives()
    # Only targets with derivatives train.
    assert derivatives is not None
    return derivatives.cast(value, state.plan.engine.number(0.0))


class _NoProgress:
    """Progress bar that shows nothing."""

    def over(self, data: Iterable[Any], words: str, history: list[Metrics]) -> Iterator[Any]:
        return iter(data)


class _ProgressBar(_NoProgress):
    """Progress bar with one line for each epoch."""

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
    """Context manager that displays ``rich`` progress and returns a :class:`_ProgressBar`."""

    def __init__(self, progress: Any) -> None:
        self._progress = progress

    def __enter__(self) -> _NoProgress:
        self._progress.__enter__()
        return _ProgressBar(self._progress)

    def __exit__(self, *problem: Any) -> None:
        self._progress.__exit__(*problem)
