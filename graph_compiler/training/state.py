"""Training state of a model: parameters, buffers, random state and optimizer state."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

from ..api import compile
from ..contracts import Training
from ..contracts.training import Arrays, Program, StepState
from ..errors import CallMismatch, InvalidOption, NotCompilable, nearest
from ..ops.dtypes import dtype_name
from ..passes import half_products
from ..registration import backends
from ..runtime import Graph
from ..runtime.boundary import public
from ..runtime.calling.pure import in_mode
from ..runtime.frameworks import backend_of
from ..runtime.kept_state import record_settled_values, state_of
from ..runtime.lazy import DeferredPipeline
from ..runtime.options import path_of
from .files import load, save
from .losses import LossFunction
from .optimizers import rate_of, resolve_optimizer
from .plan import TrainingPlan

_HALF = {
    "float32": None,
    "f32": None,
    "bfloat16": "bfloat16",
    "bf16": "bfloat16",
    "float16": "float16",
    "f16": "float16",
}


def precision_of(name: Any) -> str | None:
    """Return the half-precision dtype of a ``precision=`` option, or None for float32."""
    if not isinstance(name, str) or name not in _HALF:
        raise InvalidOption(f"precision= is {name!r}, and has to be 'float32', 'bf16' or 'f16'")
    return _HALF[name]


def with_precision(graph: Graph, half: str | None) -> Graph:
    """Return ``graph`` with float32 matrix products and convolutions in ``half``, unless that is None."""
    if half is None:
        return graph
    pipeline: Any = graph._pipeline
    options = replace(pipeline.options, passes=(*pipeline.options.passes, half_products(half)))
    # The pass knows canonical operations only, so the recordings are lifted even in their own framework.
    return graph._written_by(replace(pipeline, keeps_calls=False, options=options))


def replace_parameters(plan: TrainingPlan, held: StepState, parameters: Mapping[str, Any]) -> StepState:
    """Return ``held`` with copies of ``parameters`` as its parameters and buffers of the same names.

    In a framework with variables, those in ``held`` may be written to in place.
    """
    engine = plan.engine
    arrays = _convert_parameters(plan, engine.values(held.parameters), parameters)
    fixed, buffers = (
        engine.with_elements(group, _copies_of(plan, group, arrays)) for group in (held.fixed, held.buffers)
    )
    rest = replace(held, fixed=fixed, buffers=buffers)
    if not arrays.keys() & held.trained.keys():
        return rest
    values = {
        **engine.values(held.trained),
        **{name: array for name, array in arrays.items() if name in held.trained},
    }
    trained = {name: engine.trainable(array) for name, array in values.items()}
    optimizer = engine.with_optimizer_arrays(
        plan.make, replace(rest, trained=trained), engine.optimizer_arrays(plan.make, held)
    )
    return replace(rest, trained=trained, optimizer=optimizer)


def _copies_of(plan: TrainingPlan, group: Arrays, arrays: Arrays) -> Arrays:
    return plan.engine.values({name: plan.engine.copied(arrays[name]) for name in group if name in arrays})


def _convert_parameters(plan: TrainingPlan, known: Arrays, parameters: Mapping[str, Any]) -> Arrays:
    found = {name: plan.graph._pipeline.target.target.convert(array) for name, array in parameters.items()}
    wrong = [
        f"{name!r} is none of its parameters{nearest(name, list(known))}"
        for name in found
        if name not in known
    ]
    wrong += [
        f"{name} is {_describe(array)}, and its parameter {_describe(known[name])}"
        for name, array in found.items()
        if name in known and _describe(array) != _describe(known[name])
    ]
    if wrong:
        raise CallMismatch(
            f"these cannot take the place of parameters of {plan.graph.name}: " + "; ".join(wrong)
        )
    return found


def _describe(array: Any) -> str:
    return "no array" if array is None else f"{dtype_name(array)}{list(map(int, array.shape))}"


ExampleInputs = tuple[Sequence[Any] | None, Mapping[str, Any] | None, Any]


def create_state(
    model: Any,
    optimizer: Any,
    loss: Any,
    to: str | None,
    given: ExampleInputs,
    precision: str,
    *,
    accumulate: int,
    clip_norm: float | None,
    schedule: Any,
    ema: float | None,
    freeze: Sequence[str],
) -> tuple[TrainingPlan, StepState]:
    _check(accumulate, clip_norm, ema)
    half = precision_of(precision)
    if loss is None:
        raise InvalidOption(
            "loss= is missing: a function of the outputs and the target, loss=lambda outputs, target: ..."
        )
    graph = with_precision(_graph_of(model, to, given), half)
    target = graph._pipeline.target.name
    engine = _engine_of(target)
    make, name, own_rate = resolve_optimizer(optimizer, engine, target)
    rate = rate_of(schedule, own_rate, own_rate is not None or engine.has_rate(make))
    framed = LossFunction(loss, graph._pipeline.frontend.name, target)
    plan = TrainingPlan(
        graph, engine, make, name, rate, framed, accumulate, clip_norm, ema, is_scaled=half == "float16"
    )
    return plan, _initial_arrays(plan, freeze)


def _check(accumulate: Any, clip_norm: Any, ema: Any) -> None:
    if type(accumulate) is not int or accumulate < 1:
        raise InvalidOption(
            f"accumulate= is {accumulate!r}, and has to be the number of batches of an update, 1 or more"
        )
    is_number = isinstance(clip_norm, (int, float)) and not isinstance(clip_norm, bool)
    if clip_norm is not None and not (is_number and clip_norm > 0):
        raise InvalidOption(f"clip_norm= is {clip_norm!r}, and has to be a number > 0")
    if ema is not None and not (isinstance(ema, float) and 0 < ema < 1):
        raise InvalidOption(f"ema= is {ema!r}, and has to be a decay between 0 and 1, as 0.999")


# ------------------------------------------------------------------------------------- the graph
def _target_name(graph: Graph) -> str | None:
    pipeline: Any = graph._pipeline
    return None if isinstance(pipeline, DeferredPipeline) else pipeline.target.name


def _graph_of(model: Any, to: str | None, given: ExampleInputs) -> Graph:
    """Return ``model`` as a graph for ``to``, with a variant in training mode if example inputs are given."""
    args, kwargs, parameters = given
    if to is not None:
        _engine_of(backends.get(to).name)
    graph: Graph = (
        model
        if isinstance(model, Graph)
        else compile(model, to=to, args=args, kwargs=kwargs, parameters=parameters)
    )
    if not graph.variants and (args is not None or kwargs is not None):
        graph.add_variant(tuple(args or ()), dict(kwargs or {}), "args= of TrainState.create")
    if graph.variants and to not in (None, _target_name(graph)):
        graph = graph.to(to)
    if not graph.variants:
        raise InvalidOption(
            f"{graph.name} is not recorded yet: give an example of its inputs, args=(x,), or call the graph "
            "once before"
        )
    _engine_of(graph._pipeline.target.name)
    with in_mode(graph, True):
        if (args is not None or kwargs is not None) and not any(
            variant.environment.holds() for variant in graph.variants
        ):
            graph.add_variant(tuple(args or ()), dict(kwargs or {}), "training mode")
        if args is not None or kwargs is not None:
            record_settled_values(graph, tuple(args or ()), kwargs or {})
    return graph


def _engine_of(target: str) -> Training:
    engine = backend_of(target).training_engine()
    if engine is None:
        others = ", ".join(repr(entry.name) for entry in backends.own.values() if entry.has_derivatives)
        raise NotCompilable(
            f"{target} has no derivatives, so nothing can be trained in it: train in one of {others}, to=, "
            "and give the weights back with state.to_source()"
        )
    return engine


# ------------------------------------------------------------------------------------- the arrays
def _initial_arrays(plan: TrainingPlan, patterns: Sequence[str]) -> StepState:
    """Copy the graph's arrays into a new ``StepState``, without training those that fit ``patterns``."""
    graph, engine = plan.graph, plan.engine
    places = {name: _state_array(graph, name, item) for name, item in state_of(graph.variants).items()}
    arrays, written = graph.parameters, set(graph.state) - set(places)
    names = [name for name in arrays if name in graph.trained and engine.is_floating(arrays[name])]
    no_reals = [name for name in arrays if name in graph.trained and "complex" in str(arrays[name].dtype)]
    frozen = _matching_names([*names, *no_reals], patterns)
    _refuse_complex(graph, arrays, set(no_reals) - frozen)
    trained = {name: engine.trainable(arrays[name]) for name in names if name not in frozen}
    if not trained:
        raise InvalidOption(f"{graph.name} has no parameter that could be trained: {_why_none(graph, names)}")
    held = StepState(
        trained,
        fixed={
            name: engine.copied(array)
            for name, array in arrays.items()
            if name not in trained and name not in written
        },
        buffers={
            name: engine.copied(arrays[name]) for name in arrays if name in written and name not in trained
        },
        places={name: engine.copied(array) for name, array in places.items()},
        ema={name: engine.copied(array) for name, array in engine.values(trained).items()}
        if plan.ema is not None
        else {},
        accumulated=_zeros(engine, trained) if plan.accumulate > 1 else {},
        scaling={name: engine.copied(array) for name, array in plan.first_scaling().items()},
        rng=engine.generator(next(iter(engine.values(trained).values()))),
    )
    return replace(held, optimizer=engine.new_optimizer_state(plan.make, held.trained))


def _zeros(engine: Training, trained: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: engine.copied(engine.zeros_like(array)) for name, array in engine.values(dict(trained)).items()
    }


def _state_array(graph: Graph, name: str, item: Any) -> Any:
    array = graph._pipeline.target.target.convert(item)
    if array is None or isinstance(item, (bool, int, float)):
        raise NotCompilable(
            f"{graph.name} keeps {name} = {item!r} from call to call, which is no array, so that a compiled "
            "step cannot change it: register it as a buffer, or keep it outside of the model"
        )
    return array


def _matching_names(names: Sequence[str], patterns: Sequence[str]) -> set[str]:
    if isinstance(patterns, str):
        raise InvalidOption(
            f"freeze= is {patterns!r}, and has to be a list of patterns: freeze=[{patterns!r}]"
        )
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise InvalidOption(
                f"freeze= has {pattern!r}, which fits no parameter{nearest(pattern, names)}; they are "
                f"{', '.join(names)}"
            )
    return {name for name in names for pattern in patterns if fnmatchcase(name, pattern)}


def _refuse_complex(graph: Graph, arrays: Mapping[str, Any], names: set[str]) -> None:
    # The optimizers of the targets do not agree on the update of a complex parameter.
    for name in sorted(names):
        raise InvalidOption(
            f"{name} of {graph.name} is {arrays[name].dtype}, and training steps are for real parameters: "
            f"keep its real and imaginary part as two parameters, or leave it as it is, freeze=[{name!r}]"
        )


def _why_none(graph: Graph, names: Sequence[str]) -> str:
    if names:
        return "freeze= fits all of them"
    if graph.frozen:
        return (
            f"the model itself keeps all of them from training, {', '.join(sorted(graph.frozen)[:3])} and so "
            "on: let it train some first"
        )
    told: Any = graph._pipeline.frontend.where_parameters_are
    return str(
        told
        or "arrays of numbers that its code refers to are constants; make those that are to be trained "
        "parameters of a module"
    )


@dataclass(eq=False, repr=False)
class TrainState:
    """State of a training: parameters, buffers, optimizer state, random state and the number of the step.

    A step consumes a state, whose memory it may reuse, and returns the next one.

    Attributes:
        plan: Model, optimizer and options.
        held: Arrays and random state of the training.
        step: Number of steps taken so far.
        programs: Compiled steps, which the states after this one may share.
    """

    plan: TrainingPlan
    held: StepState
    step: int = 0
    programs: dict[Any, Program] = field(default_factory=dict)
    _is_consumed: bool = False
    _copies: dict[str, Arrays] = field(default_factory=dict)

    @classmethod
    @public
    def create(
        cls,
        model: Any,
        optimizer: Any,
        loss: Any = None,
        to: str | None = None,
        *,
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
        parameters: Any = None,
        accumulate: int = 1,
        clip_norm: float | None = None,
        schedule: Any = None,
        ema: float | None = None,
        freeze: Sequence[str] = (),
        precision: str = "float32",
    ) -> TrainState:
        """Return the state before the first step.

        The model is trained in training mode. If a torch model is in training mode already, modules in it
        that are in eval mode usually stay so. The model keeps its own weights until :meth:`to_source`.

        Args:
            model: A ``torch.nn.Module``, flax module, Keras model, function with ``parameters``, or graph of
                one.
            optimizer: A name, :func:`graph_compiler.training.optimizer`, or the target's own: an optax
                transformation, a Keras optimizer, or in torch a class, a partial of one, a function from a
                list of tensors to an optimizer, or an optimizer, whose options are copied.
            loss: Function of outputs and target that returns a scalar array, or a tuple of that and a dict of
                metrics. It is written for the target, or for another framework and recorded. Arguments named
                ``(y_true, y_pred)`` are passed in that order.
            to: ``"torch"``, ``"jax"`` or ``"tensorflow"``. Default: the framework of the model or graph.
            args: Example of the positional inputs; a recorded graph needs none.
            kwargs: Example of the keyword inputs.
            parameters: Names or positions of the arguments of a JAX function that are its parameters, as in
                :func:`graph_compiler.compile`.
            accumulate: Number of batches, at least 1, for one update with the mean of their gradients.
            clip_norm: Largest norm of all gradients together; larger gradients are scaled down to it.
            schedule: :func:`graph_compiler.training.schedule`, or a function from the number of updates to
                the learning rate.
            ema: Decay of a running mean of the parameters (:attr:`ema`), a float between 0 and 1.
            freeze: Patterns (``fnmatch``) of the names of parameters that are not trained.
            precision: ``"bf16"`` or ``"f16"`` for float32 matrix products, convolutions and attention in this
                dtype; ``"float32"`` leaves them as they are. For float16 the loss is scaled, and updates with
                non-finite gradients are skipped.

        Raises:
            NotCompilable: The target has no derivatives (NumPy), or the model keeps state that is not an
                array.
            InvalidOption: An option is invalid, loss or example inputs are missing, or no parameter can be
                trained.

        The errors of :func:`graph_compiler.compile` are raised as well.

        >>> import torch
        >>> from graph_compiler import training
        >>> model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
        >>> state = training.TrainState.create(
        ...     model, "adamw", loss=torch.nn.MSELoss(), to="jax", args=(torch.ones(1, 2),), freeze=["0.*"]
        ... )
        >>> state
        <TrainState of Sequential in jax: step 0, 2 of 4 parameters trained>
        """
        options = {
            "accumulate": accumulate,
            "clip_norm": clip_norm,
            "schedule": schedule,
            "ema": ema,
            "freeze": freeze,
        }
        plan, held = create_state(
            model, optimizer, loss, to, (args, kwargs, parameters), precision, **options
        )
        return cls(plan, held)

    # ------------------------------------------------------------------------------ arrays and properties
    @property
    def parameters(self) -> Arrays:
        """Copies of all parameters and buffers by name, for ``graph.functional``.

        Later steps do not change them. Raises ``CallMismatch`` if the state was consumed before the first
        copy.
        """
        return dict(self._copied("parameters", lambda held: held.parameters))

    @property
    def ema(self) -> Arrays:
        """Like :attr:`parameters`, with running means instead of the trained parameters.

        Raises ``InvalidOption`` if the state was created without ``ema=``.
        """
        if self.plan.ema is None:
            raise InvalidOption(
                "this state keeps no running mean of its parameters: create it with ema=, as ema=0.999"
            )
        return dict(self._copied("ema", lambda held: {**held.parameters, **held.ema}))

    @property
    def graph(self) -> Any:
        """Graph that is trained."""
        return self.plan.graph

    @property
    def is_last(self) -> bool:
        """True if the next batch is the last one before an update."""
        return (self.step + 1) % self.plan.accumulate == 0

    def _copied(self, name: str, arrays: Any) -> Arrays:
        # Copies are cached, because a step that consumes the state takes over the memory of its arrays.
        if name not in self._copies:
            self.require_unconsumed()
            snapshot = self.plan.engine.snapshot
            self._copies[name] = {key: snapshot(array) for key, array in arrays(self.held).items()}
        return self._copies[name]

    # ------------------------------------------------------------------------------ succession of states
    def require_unconsumed(self) -> None:
        if self._is_consumed:
            raise CallMismatch(
                f"this state of step {self.step} was used up by a training step, which took over its memory: "
                "go on with the state that the step has returned, state, metrics = single_train_step(state, "
                "batch)"
            )

    def next_state(self, held: StepState, step: int) -> TrainState:
        """Return the next state, and mark this one as consumed."""
        self._is_consumed = True
        return TrainState(self.plan, held, step, self.programs)

    @public
    def to_source(self, ema: bool = False) -> None:
        """Write the trained weights and buffers into the original model.

        See :meth:`graph_compiler.Graph.to_source`.

        Args:
            ema: Write the running means of the weights instead.

        Raises:
            NotTraced: The graph was loaded from a file.
            InvalidOption: ``ema`` is True, and the state was created without ``ema=``.
            CallMismatch: As for :attr:`parameters`.

        >>> import torch
        >>> from graph_compiler import training
        >>> model = torch.nn.Linear(1, 1, bias=False)
        >>> rule = training.optimizer("sgd", learning_rate=1.0)
        >>> loss = lambda y, target: (y - target).sum()
        >>> state = training.TrainState.create(model, rule, loss=loss, to="jax", args=(torch.ones(1, 1),))
        >>> before = model.weight.item()
        >>> state, _ = training.single_train_step(state, (torch.ones(1, 1), torch.ones(1, 1)))
        >>> state.to_source()
        >>> round(before - model.weight.item(), 4)
        1.0
        """
        self.plan.graph.to_source(self.ema if ema else self.parameters)

    @public
    def with_parameters(self, parameters: Mapping[str, Any]) -> TrainState:
        """Return a state with copies of these arrays as its parameters and buffers of the same names.

        This state is consumed. To train two networks against each other, give each a state in which the
        other's weights are frozen.

        Args:
            parameters: Arrays of any framework by name.

        Raises:
            CallMismatch: A name is unknown, an array has another shape or dtype, or the state was already
                consumed.

        >>> import torch
        >>> from graph_compiler import training
        >>> options = {"loss": torch.nn.MSELoss(), "args": (torch.ones(1, 2),), "freeze": ["bias"]}
        >>> state = training.TrainState.create(torch.nn.Linear(2, 1), "sgd", **options)
        >>> state = state.with_parameters({"bias": torch.ones(1)})
        >>> state.parameters["bias"]
        tensor([1.])
        """
        self.require_unconsumed()
        held = replace_parameters(self.plan, self.held, parameters)
        # Programs of torch and TensorFlow refer to the trained arrays that they were compiled for.
        keeps = self.plan.engine.shares_steps or not parameters.keys() & self.held.trained.keys()
        self._is_consumed = True
        return TrainState(self.plan, held, self.step, self.programs if keeps else {})

    # ------------------------------------------------------------------------------ files
    @public
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the whole state, with all bits of its arrays, to one file, from which training resumes.

        The file is in the format safetensors, with the step and the names of the arrays as JSON in the
        header. It is written next to ``path`` and renamed once it is on the disk, so that a killed process
        leaves the old file intact.

        Args:
            path: File to write.

        Raises:
            CallMismatch: The state was already consumed.
            InvalidOption: ``path`` is not a path.
            NotSerialisable: An array has a dtype that such a file cannot store.
            FileNotFoundError: The folder of ``path`` does not exist.

        >>> import os, tempfile, torch
        >>> from graph_compiler import training
        >>> options = {"loss": torch.nn.MSELoss(), "args": (torch.ones(1, 2),)}
        >>> state = training.TrainState.create(torch.nn.Linear(2, 1), "adam", **options)
        >>> state, _ = training.single_train_step(state, (torch.ones(3, 2), torch.ones(3, 1)))
        >>> path = os.path.join(tempfile.mkdtemp(), "state.safetensors")
        >>> state.save(path)
        >>> training.TrainState.load(path, like=state).step
        1
        """
        self.require_unconsumed()
        save(self.plan, self.held, self.step, path_of("path", path))

    @classmethod
    @public
    def load(cls, path: str | os.PathLike[str], like: TrainState) -> TrainState:
        """Return the state that :meth:`save` wrote.

        Args:
            path: File to read.
            like: State of the same model, target and optimizer, of any step. It is not changed.

        Raises:
            FileNotFoundError: There is no such file.
            InvalidFile: The file is no saved state, or its target, optimizer or arrays are not those of
                ``like``.
            InvalidOption: ``like`` is not a ``TrainState``, or ``path`` is not a path.
        """
        if not isinstance(like, TrainState):
            raise InvalidOption(
                f"like= is a {type(like).__name__}, and has to be a TrainState, created as the saved one was"
            )
        held, step = load(like.plan, like.held, path_of("path", path))
        # Programs of torch and TensorFlow hold the arrays that they were compiled for.
        return cls(like.plan, held, step, like.programs if like.plan.engine.shares_steps else {})

    def __repr__(self) -> str:
        graph, held = self.plan.graph, self.held
        known = len(held.trained) + len(held.fixed)
        target = graph._pipeline.target.name
        return (
            f"<TrainState of {graph.name} in {target}: step {self.step}, {len(held.trained)} of {known} "
            "parameters trained>"
        )
