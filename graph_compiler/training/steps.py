"""Gradients, updates and full training steps for a state and a batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from ..contracts.training import Arrays, StepState
from ..errors import CallMismatch, GuardFailed, NotCompilable
from ..runtime.boundary import public
from ..runtime.calling.pure import in_mode
from .losses import ReportErrors
from .optimizers import evaluate_rate
from .plan import Batch, unflatten_batch
from .state import TrainState


@public
def compute_gradients(state: TrainState, batch: Any) -> tuple[Arrays, Arrays, TrainState]:
    """Compute the gradients for a batch ``(inputs, target)`` and return ``(gradients, metrics, state)``.

    The optimizer does not run. Gradients are arrays of the target by parameter name, without frozen
    parameters. The returned state has the buffers (batch norm) and random state after the call; the given one
    is consumed.

    Args:
        state: State to consume.
        batch: As in :func:`single_train_step`.

    Raises:
        CallMismatch: The batch is not such a pair; the model rejects it; the loss fails, or returns no
            real scalar; or the state was already consumed.
        NotCompilable: For this batch the model uses parameters that the state does not have.
        InvalidOption: The schedule returns no finite number.

    >>> import torch
    >>> from graph_compiler import training
    >>> loss = lambda outputs, target: (outputs - target).square().mean()
    >>> state = training.TrainState.create(torch.nn.Linear(2, 1), "sgd", loss=loss, args=(torch.ones(1, 2),))
    >>> gradients, metrics, state = training.compute_gradients(state, (torch.zeros(3, 2), torch.zeros(3, 1)))
    >>> gradients["weight"].tolist()
    [[0.0, 0.0]]
    """
    taken = _placed_batch(state, batch)
    held, (gradients, metrics) = _run_recorded(state, taken, partial(_run_program, state, "compute", taken))
    return gradients, metrics, state.next_state(held, state.step)


@public
def apply_gradients(state: TrainState, gradients: Arrays) -> TrainState:
    """Take one step with ``gradients`` and return the next state. ``state`` is consumed.

    With ``accumulate=n``, gradients are summed, and every n-th step updates the parameters with their mean.
    In float16, gradients that are not finite leave the parameters unchanged.

    Args:
        state: State to consume.
        gradients: Arrays by parameter name, as :func:`compute_gradients` returns them.

    Raises:
        CallMismatch: Names or shapes are not those of the trained parameters, or the state was already
            consumed.
        InvalidOption: The schedule returns no finite number.

    >>> import torch
    >>> from graph_compiler import training
    >>> rule, layer = training.optimizer("sgd", learning_rate=1.0), torch.nn.Linear(1, 1, bias=False)
    >>> state = training.TrainState.create(layer, rule, loss=torch.nn.MSELoss(), args=(torch.ones(1, 1),))
    >>> before = state.parameters["weight"]
    >>> state = training.apply_gradients(state, {"weight": torch.ones(1, 1)})
    >>> (before - state.parameters["weight"]).item()
    1.0
    """
    state.require_unconsumed()
    _require_like(state, gradients)
    engine, is_last = state.plan.engine, state.is_last
    key = ("apply", is_last)
    if key not in state.programs:
        step: Any = partial(state.plan.apply, is_last=is_last)
        state.programs[key] = engine.compiled(step, True, state.plan.compile_options)
    held, _ = state.programs[key](state.held, dict(gradients), _rate(state))
    return state.next_state(held, state.step + 1)


@public
def single_train_step(state: TrainState, batch: Any) -> tuple[TrainState, Arrays]:
    """Take one step on a batch ``(inputs, target)`` and return ``(state, metrics)``.

    Gradients, clipping, update and running means are one compiled program (``jax.jit``, ``tf.function``). In
    torch they run as written, the model under ``torch.compile`` if its graph was made with
    ``return_backend_compiled_fn=True``. The given state is consumed: its memory may be reused.

    Args:
        state: State to consume.
        batch: ``(inputs, target)``, a tuple or list, with arrays of any framework. ``inputs`` is an array, a
            tuple of arguments or a dict of keywords. ``target`` is what the loss takes, such as None.

    Returns:
        The next state, and metrics as arrays of the target: ``loss`` and those that the loss function
            returns; in steps that update the parameters also ``gradient_norm`` with ``clip_norm=``, and
            ``loss_scale`` in float16.

    Raises:
        CallMismatch: The batch is not such a pair; the model rejects it; the loss fails, or returns no
            real scalar; or the state was already consumed.
        NotCompilable: For this batch the model uses parameters that the state does not have.
        InvalidOption: The schedule returns no finite number.

    >>> import torch
    >>> from graph_compiler import training
    >>> loss = lambda outputs, target: ((outputs - target) ** 2).mean()
    >>> model, rule = torch.nn.Linear(2, 1), training.optimizer("sgd", learning_rate=0.1)
    >>> state = training.TrainState.create(model, rule, loss=loss, to="jax", args=(torch.ones(1, 2),))
    >>> batch = (torch.eye(2), torch.zeros(2, 1))
    >>> state, first = training.single_train_step(state, batch)
    >>> state, second = training.single_train_step(state, batch)
    >>> bool(second["loss"] < first["loss"]), state.step
    (True, 2)
    """
    taken = _placed_batch(state, batch)
    held, metrics = _run_recorded(state, taken, partial(_run_program, state, "step", taken))
    return state.next_state(held, state.step + 1), metrics


def _placed_batch(state: TrainState, batch: Any) -> Batch:
    state.require_unconsumed()
    engine, taken = state.plan.engine, state.plan.batches.flatten(batch)
    if (where := engine.device_of(state.held)) is None:
        return taken
    # The same array object must stay one object.
    placed = {id(array): engine.placed(array, where) for array in taken.arrays}
    return replace(taken, arrays=[placed[id(array)] for array in taken.arrays])


def _run_program(state: TrainState, kind: str, taken: Batch) -> tuple[StepState, Any]:
    plan, is_last = state.plan, state.is_last
    # A program contains the checks of the variants that exist when it is compiled.
    key = (kind, taken.tree, is_last, plan.checked_variants)
    if key not in state.programs:
        step = (
            partial(plan.step, tree=taken.tree, is_last=is_last)
            if kind == "step"
            else partial(plan.compute, tree=taken.tree)
        )
        state.programs[key] = plan.engine.compiled(step, kind == "step", plan.compile_options)
    return state.programs[key](state.held, taken.arrays, _rate(state))


def _rate(state: TrainState) -> float | None:
    plan = state.plan
    return None if plan.rate is None else evaluate_rate(plan.rate, state.step // plan.accumulate)


def _run_recorded(state: TrainState, taken: Batch, run: Callable[[], Any]) -> Any:
    # The program of a whole step cannot raise ``GuardFailed`` for values: it would return NaN, and the state
    # would be lost. So the model and the loss are called once before.
    if not state.plan.engine.compiles_models and state.plan.checked_variants:
        _record(state, taken)
    try:
        return run()
    except GuardFailed:
        _record(state, taken)
    return run()


def _record(state: TrainState, taken: Batch) -> None:
    plan, graph, engine, held = state.plan, state.plan.graph, state.plan.engine, state.held
    # The arrays are copied, so that nothing shares memory with the parameters. The same array object stays
    # one object.
    copies = {id(array): engine.snapshot(array) for array in taken.arrays}
    args, kwargs, wanted = unflatten_batch(taken.tree, [copies[id(array)] for array in taken.arrays])
    # A graph may write to its buffers, so it gets copies.
    parameters = {name: engine.snapshot(array) for name, array in held.parameters.items()}
    # The step must draw the same numbers again, so the recording uses a copy of the generator.
    rng = engine.with_rng_arrays(engine.rng_arrays(held.rng), next(iter(parameters.values())))

    def outputs() -> Any:
        key = engine.key(rng)[0]
        run: Callable[..., Any] = lambda parameters, key: plan.outputs(  # noqa: E731
            parameters, args, kwargs, key, held.places
        )
        return (run if plan.checked_variants else engine.once(run))(parameters, key)[0]

    with in_mode(graph, True), engine.drawing(rng):
        try:
            found = outputs()
        except GuardFailed:
            given = unflatten_batch(taken.tree, taken.unplaced)[:2]
            with ReportErrors(f"the model {graph.name}", [*given[0], *given[1].values()], ""):
                graph.add_variant(*given, "a training step")
            if more := [name for name in graph.parameters if name not in parameters]:
                raise NotCompilable(
                    f"{graph.name}: this batch takes a way through the model that uses {', '.join(more)}, "
                    "which the state does not hold: create it with args= of such a batch, too"
                ) from None
            found = outputs()
        try:
            plan.loss(found, wanted)
        except GuardFailed:
            plan.loss.record_or_widen(found, unflatten_batch(taken.tree, taken.unplaced)[2])


def _shape_text(item: Any) -> str:
    shape = getattr(item, "shape", None)
    return f"is a {type(item).__name__}" if shape is None else f"has the shape {list(shape)}"


def _require_like(state: TrainState, gradients: Arrays) -> None:
    trained = state.held.trained
    wrong = [
        *(f"missing: {name}" for name in trained if name not in gradients),
        *(f"unexpected: {name}" for name in gradients if name not in trained),
        *(
            f"{name} {_shape_text(gradients[name])}, and the parameter has the shape {list(array.shape)}"
            for name, array in trained.items()
            if name in gradients and tuple(getattr(gradients[name], "shape", (None,))) != tuple(array.shape)
        ),
    ]
    if wrong:
        raise CallMismatch("these are not gradients of the parameters that are trained: " + "; ".join(wrong))
