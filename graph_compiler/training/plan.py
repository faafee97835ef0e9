"""One training step as a function of a state and a batch, and the call of the model for a batch."""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..contracts import Target
from ..contracts.training import Arrays, Make, StepState, Training
from ..errors import CallMismatch
from ..ops.dtypes import dtype_name
from ..runtime import Graph
from ..runtime.calling.binding import takes_container
from ..runtime.calling.pure import in_mode
from ..trees import Tree, flatten, likeness, unflatten
from .losses import LossFunction, ReportErrors
from .optimizers import Rate

# ---------------------------------------------------------------------------------------------------- batches
# Conversion of a batch ``(inputs, target)`` to a call of the model with arrays of the target framework.


@dataclass(frozen=True)
class Batch:
    """Flattened batch.

    given: arrays as they were passed.
    arrays: the same arrays, converted to the target framework.
    tree: structure of the model's call and the target.
    """

    given: list[Any]
    arrays: list[Any]
    tree: Tree

    @property
    def unplaced(self) -> list[Any]:
        """Arrays as given, but CPU tensors as NumPy arrays if possible."""
        # The same array object must stay one object.
        plain = {id(leaf): _numpy_if_on_cpu(leaf) for leaf in self.given}
        return [plain[id(leaf)] for leaf in self.given]


class BatchFlattener:
    def __init__(self, graph: Graph) -> None:
        self._graph, self._target = graph, graph._pipeline.target.target
        self._kinds = dict.fromkeys(self._target.array_types, type)
        self._last: tuple[list[Any], int, Tree] | None = None

    def flatten(self, batch: Any) -> Batch:
        arrays: list[Any] = []
        alike, known, last = likeness([batch], self._kinds, arrays), len(self._graph.variants), self._last
        # The recorded variants decide whether a container is one argument, so their number counts too.
        if last is not None and last[0] == alike and last[1] == known:
            return Batch(arrays, arrays, last[2])
        found = _flatten_batch(batch, self._graph, self._target)
        is_as_given = len(arrays) == len(found.arrays) and all(map(operator.is_, arrays, found.arrays))
        self._last = (alike, known, found.tree) if is_as_given else None
        return found


def _flatten_batch(batch: Any, graph: Graph, target: Target) -> Batch:
    if not (isinstance(batch, (tuple, list)) and len(batch) == 2):
        raise CallMismatch(
            f"a batch is (inputs, target), and this one is {_describe(batch)}; inputs are an array, a tuple "
            "of arguments or a dict of keywords, and a model that computes its own loss takes (inputs, None)"
        )
    inputs, wanted = batch
    leaves, tree = flatten((_call_arguments(inputs, graph), wanted), _is_array)
    return Batch(
        leaves,
        [leaf if isinstance(leaf, target.array_types) else _convert(leaf, target) for leaf in leaves],
        tree,
    )


def _convert(leaf: Any, target: Target) -> Any:
    try:
        array = target.convert(leaf)
    except (TypeError, ValueError):
        array = None
    if array is None:
        raise CallMismatch(
            f"a batch holds a {type(leaf).__name__} {dtype_name(leaf)}{list(leaf.shape)}, a type that "
            f"{target.name} has no array for: give arrays of numbers"
        )
    return array


def unflatten_batch(tree: Tree, arrays: list[Any]) -> tuple[tuple[Any, ...], dict[str, Any], Any]:
    (args, kwargs), wanted = unflatten(tree, arrays)
    return args, kwargs, wanted


def _call_arguments(inputs: Any, graph: Graph) -> tuple[tuple[Any, ...], dict[str, Any]]:
    # A Keras model with several inputs takes them in one list or dict.
    if not isinstance(inputs, tuple) and takes_container(graph.variants, inputs):
        return (inputs,), {}
    if isinstance(inputs, (tuple, list)):
        return tuple(inputs), {}
    # Tokenizers return batches of their own mapping class.
    if isinstance(inputs, dict) or hasattr(inputs, "keys"):
        return (), {str(name): inputs[name] for name in inputs}
    return (inputs,), {}


def _numpy_if_on_cpu(leaf: Any) -> Any:
    try:
        return leaf.numpy() if getattr(leaf, "is_cpu", False) else leaf
    except (TypeError, RuntimeError):
        # The tensor has a dtype that NumPy lacks, or requires a gradient.
        return leaf


def _is_array(item: Any) -> bool:
    # Classes of arrays have these attributes, too.
    return hasattr(item, "dtype") and hasattr(item, "shape") and not isinstance(item, type)


def _describe(batch: Any) -> str:
    if isinstance(batch, (tuple, list)):
        return f"a {type(batch).__name__} of {len(batch)}"
    return f"an array of the shape {list(batch.shape)}" if _is_array(batch) else f"a {type(batch).__name__}"


# ------------------------------------------------------------------------------------------------------- plan
# The first loss scale, and the number of finite updates after which it doubles, as in
# ``torch.amp.GradScaler``. It halves if a gradient is not finite.
_FIRST_SCALE, _GROWS_AFTER = (
    2.0**16,
    2000,
)
# ``torch.nn.utils.clip_grad_norm_`` adds the same number to the norm.
_NEAR_ZERO = 1e-6


@dataclass(frozen=True, eq=False)
class TrainingPlan:
    """Model, optimizer and options of a training state.

    engine: training engine of the target.
    make: constructor of the optimizer for the engine.
    rate: function from the number of updates to the learning rate; None if the optimizer contains its
        rate.
    accumulate: number of batches for one update.
    clip_norm: largest norm of the gradients, or None.
    ema: decay of the running means of the parameters, or None.
    is_scaled: True if the loss is scaled, for float16.
    """

    graph: Graph
    engine: Training
    make: Make
    optimizer_name: str
    rate: Rate | None
    loss: LossFunction
    accumulate: int = 1
    clip_norm: float | None = None
    ema: float | None = None
    is_scaled: bool = False

    @functools.cached_property
    def batches(self) -> BatchFlattener:
        return BatchFlattener(self.graph)

    @property
    def compile_options(self) -> Mapping[str, Any] | None:
        return self.graph.variants[0].executable.compile_options

    @property
    def checked_variants(self) -> int:
        """Number of recorded variants, of the model and the loss, that check values of arrays."""
        return sum(bool(variant.program.checks) for variant in (*self.graph.variants, *self.loss.variants))

    @property
    def draws(self) -> bool:
        return any(variant.is_random for variant in self.graph.variants)

    # ------------------------------------------------------------------------------ pure functions of arrays
    def step(
        self, held: StepState, arrays: list[Any], rate: Any, tree: Tree, is_last: bool
    ) -> tuple[StepState, Arrays]:
        """Return the next state and the metrics of one training step.

        arrays, tree: those of a :class:`Batch`.
        rate: learning rate; None if the optimizer contains it.
        is_last: True for the last of the batches whose gradients are accumulated for one update.
        """
        held, (gradients, metrics) = self.compute(held, arrays, rate, tree)
        held, more = self.apply(held, gradients, rate, is_last)
        return held, {**metrics, **more}

    def compute(
        self, held: StepState, arrays: list[Any], rate: Any, tree: Tree
    ) -> tuple[StepState, tuple[Arrays, Arrays]]:
        """Return the state after a call of the model, and a pair of the gradients and metrics, by name."""
        engine = self.engine
        args, kwargs, wanted = unflatten_batch(tree, arrays)
        rest = {**engine.values(held.fixed), **engine.values(held.buffers)}
        scale = engine.values(held.scaling).get("scale")

        def value_of(trained: Arrays) -> tuple[Any, Any]:
            outputs, changed = self.outputs({**rest, **trained}, args, kwargs, key, held.places)
            value, metrics = self.loss(outputs, wanted)
            self._require_differentiable(value)
            return value if scale is None else value * scale, (value, metrics, changed)

        with engine.drawing(held.rng):
            key, rng = engine.key(held.rng) if self.draws else (None, held.rng)
            _, (value, metrics, changed), gradients = engine.gradients(value_of, held.trained)
        if scale is not None:
            gradients = engine.scaled(gradients, 1 / scale)
        held = replace(
            held,
            rng=rng,
            buffers=engine.with_elements(held.buffers, changed),
            places=engine.with_elements(held.places, changed),
        )
        # The model may write to trained weights itself, for example in spectral normalization.
        if changed.keys() & held.trained.keys():
            held = replace(held, trained=engine.with_elements(held.trained, changed))
        metrics = {
            "loss": engine.detached(value),
            **{name: self._metric(item) for name, item in metrics.items()},
        }
        return held, engine.averaged(gradients, metrics)

    def apply(self, held: StepState, gradients: Arrays, rate: Any, is_last: bool) -> tuple[StepState, Arrays]:
        """Apply ``gradients``, or accumulate them until ``is_last``; return the next state and metrics.

        If the loss is scaled, gradients that are not finite leave the parameters unchanged.
        """
        engine, metrics = self.engine, {}
        if self.accumulate > 1:
            held, gradients = self._accumulate(held, gradients, is_last)
        if not is_last:
            return held, {}
        is_finite = engine.is_finite(gradients) if self.is_scaled else None
        if self.clip_norm is not None:
            metrics["gradient_norm"] = norm = engine.norm(gradients)
            gradients = engine.scaled(gradients, engine.minimum(self.clip_norm / (norm + _NEAR_ZERO), 1.0))
        trained, optimizer = engine.updated(self.make, held, gradients, rate, is_finite)
        held = replace(held, trained=trained, optimizer=optimizer)
        if self.ema is not None:
            averaged = engine.mixed(held.ema, engine.values(trained), self.ema)
            averaged = averaged if is_finite is None else engine.where(is_finite, averaged, held.ema)
            held = replace(held, ema=engine.with_elements(held.ema, averaged))
        if is_finite is not None:
            metrics["loss_scale"] = engine.values(held.scaling)["scale"]
            held = replace(
                held,
                scaling=engine.with_elements(
                    held.scaling, self._next_scaling(engine.values(held.scaling), is_finite)
                ),
            )
        return held, metrics

    def outputs(
        self, parameters: Arrays, args: tuple[Any, ...], kwargs: dict[str, Any], key: Any, places: Arrays
    ) -> tuple[Any, Arrays]:
        """Return the model's outputs in training mode, and the ``state`` of :meth:`Graph.functional`.

        Raise ``GuardFailed`` if no variant fits.
        """
        compiled = self.engine.compiles_models and self.compile_options is not None
        with in_mode(self.graph, True):
            # Only variants of the training mode count.
            draws = any(variant.is_random for variant in self.graph.variants if variant.environment.holds())
            with ReportErrors(
                f"the model {self.graph.name}",
                (*args, *kwargs.values()),
                "",
                self.graph._pipeline.target.target,
            ):
                return self.graph._functional(
                    parameters, args, kwargs, key if draws else None, places or None, compiled
                )

    # ------------------------------------------------------------------------------ parts of a step
    def _require_differentiable(self, value: Any) -> None:
        # Some frameworks would return gradients of zeros instead of an error.
        if not self.engine.is_floating(value):
            raise CallMismatch(
                f"the loss {self.loss.name} gives a number of the type {dtype_name(value)}, which has no "
                f"gradient: it has to be a real floating-point number{self.loss.place}"
            )

    def _metric(self, item: Any) -> Any:
        return self.engine.number(item) if isinstance(item, (int, float)) else self.engine.detached(item)

    def _accumulate(self, held: StepState, gradients: Arrays, is_last: bool) -> tuple[StepState, Arrays]:
        """Add the gradients to the sum in the state; on the last batch, return the mean and reset the sum."""
        engine = self.engine
        total = engine.added(engine.values(held.accumulated), gradients)
        if not is_last:
            return replace(held, accumulated=engine.with_elements(held.accumulated, total)), gradients
        mean = engine.scaled(total, 1 / self.accumulate)
        nothing = {name: engine.zeros_like(array) for name, array in total.items()}
        return replace(held, accumulated=engine.with_elements(held.accumulated, nothing)), mean

    def _next_scaling(self, scaling: Arrays, is_finite: Any) -> Arrays:
        """Return the next loss scale (``scale``), and how many finite updates it has had (``good``)."""
        where, scale, good = self.engine.where, scaling["scale"], scaling["good"]
        none = good * 0
        due = where(
            good + 1 >= _GROWS_AFTER, {"scale": scale * 2, "good": none}, {"scale": scale, "good": good + 1}
        )
        return where(is_finite, due, {"scale": scale * 0.5, "good": none})

    def first_scaling(self) -> Arrays:
        number = self.engine.number
        return {"scale": number(_FIRST_SCALE), "good": number(0)} if self.is_scaled else {}
