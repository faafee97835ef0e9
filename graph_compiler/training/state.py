"""A model that is trained: parameters, buffers, random numbers and the state of the optimizer."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..contracts.training import Arrays, Held, Program
from ..errors import CallMismatch, InvalidOption
from ..runtime.boundary import public
from .files import load, save
from .plan import Plan


@dataclass(eq=False, repr=False)
class TrainState:
    """Everything that training changes: parameters, buffers, optimizer state, random state and the step.

    A step consumes a state and returns the next one: its memory is reused, as ``jax.jit`` does with donated
    arrays. :meth:`create` makes the first.

    Attributes:
        plan: How the model is trained; it never changes.
        held: Arrays of the target that training changes.
        step: Number of batches so far.
    """

    plan: Plan
    held: Held
    step: int = 0
    programs: dict[Any, Program] = field(default_factory=dict)
    _is_used: bool = False
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

        The model is trained in training mode; parts of a torch model in training mode that are in eval mode
        stay there. It keeps its own weights until :meth:`to_source`.

        Args:
            model: A ``torch.nn.Module``, flax module, Keras model, function with ``parameters``, or graph of
                one.
            optimizer: A name, :func:`graph_compiler.training.optimizer`, or the target's own: an optax
                transformation, a class of ``torch.optim`` or a partial of one, a Keras optimizer.
            loss: Function of outputs and target that returns a number, or that and a dict of metrics. It is
                written for the target, or for the model's framework and recorded. Arguments named ``(y_true,
                y_pred)`` are passed in that order.
            to: ``"torch"``, ``"jax"`` or ``"tensorflow"``. Default: the framework of the model or graph.
            args: Example of the positional inputs; a graph needs none.
            kwargs: Example of the keyword inputs.
            parameters: Names or positions of the arguments of a JAX function that are its parameters, as in
                :func:`graph_compiler.compile`.
            accumulate: Number of batches for one update, with the mean of their gradients.
            clip_norm: Largest norm of all gradients together.
            schedule: :func:`graph_compiler.training.schedule`, or a function from the number of updates to
                the learning rate.
            ema: Decay of a running mean of the parameters (:attr:`ema`).
            freeze: Patterns of names (``fnmatch``) of parameters to keep.
            precision: ``"float32"``, ``"bf16"`` or ``"f16"``: dtype of matrix products, convolutions and
                attention. All else is float32. For float16 the loss is scaled, and updates with non-finite
                gradients are skipped.

        Raises:
            NotCompilable: The target has no derivatives (NumPy), or the model keeps state that is not an
                array.
            InvalidOption: An optimizer, schedule, pattern or precision is invalid; or loss or example inputs
                are missing.

        >>> import torch
        >>> from graph_compiler import training
        >>> model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
        >>> state = training.TrainState.create(
        ...     model, "adamw", loss=torch.nn.MSELoss(), to="jax", args=(torch.ones(1, 2),), freeze=["0.*"], clip_norm=1.0
        ... )
        >>> state
        <TrainState of Sequential in jax: step 0, 2 of 4 parameters trained>
        """
        from .creating import created

        options = {"accumulate": accumulate, "clip_norm": clip_norm, "schedule": schedule, "ema": ema, "freeze": freeze}
        plan, held = created(model, optimizer, loss, to, (args, kwargs, parameters), precision, **options)
        return cls(plan, held)

    # ------------------------------------------------------------------------------ what it holds
    @property
    def parameters(self) -> Arrays:
        """Copies of all parameters and buffers by name, for ``graph.functional``. Later steps do not change
        them.
        """
        return dict(self._copied("parameters", lambda held: held.parameters))

    @property
    def ema(self) -> Arrays:
        """As :attr:`parameters`, with running means instead of the trained parameters. Raises ``InvalidOption``
        without ``ema=``.
        """
        if self.plan.ema is None:
            raise InvalidOption("this state keeps no running mean of its parameters: create it with ema=, as ema=0.999")
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
        """Copies, made once: a state that is used up still has those that were asked for."""
        if name not in self._copies:
            self.require_unused()
            snapshot = self.plan.engine.snapshot
            self._copies[name] = {key: snapshot(array) for key, array in arrays(self.held).items()}
        return self._copies[name]

    # ------------------------------------------------------------------------------ one after the other
    def require_unused(self) -> None:
        """Raise ``CallMismatch`` if a step has consumed this state."""
        if self._is_used:
            raise CallMismatch(
                f"this state of step {self.step} was used up by a training step, which took over its memory: go on with the state that the "
                "step has returned, state, metrics = single_train_step(state, batch)"
            )

    def followed(self, held: Held, step: int) -> TrainState:
        """Return the next state, and mark this one as consumed."""
        self._is_used = True
        return TrainState(self.plan, held, step, self.programs)

    @public
    def to_source(self, ema: bool = False) -> None:
        """Write the trained weights and buffers into the original model, as
        :meth:`graph_compiler.Graph.to_source` does.

        Args:
            ema: Write the running means of the weights instead.

        >>> import torch
        >>> from graph_compiler import training
        >>> model = torch.nn.Linear(1, 1, bias=False)
        >>> rule = training.optimizer("sgd", learning_rate=1.0)
        >>> state = training.TrainState.create(model, rule, loss=lambda y, target: (y - target).sum(), to="jax", args=(torch.ones(1, 1),))
        >>> before = model.weight.item()
        >>> state, _ = training.single_train_step(state, (torch.ones(1, 1), torch.ones(1, 1)))
        >>> state.to_source()
        >>> round(before - model.weight.item(), 4)
        1.0
        """
        self.plan.graph.to_source(self.ema if ema else self.parameters)

    @public
    def with_parameters(self, parameters: Mapping[str, Any]) -> TrainState:
        """Return a state with copies of these arrays as parameters and buffers of their names. All else, such as
        optimizer state, is kept.

        This state is consumed. Two networks that train each other have a state each, in which the other's
        weights are frozen.

        Args:
            parameters: Arrays of any framework by name.

        Raises:
            CallMismatch: A name is unknown, an array has another shape or dtype, or the state was used
                before.

        >>> import torch
        >>> from graph_compiler import training
        >>> options = {"loss": torch.nn.MSELoss(), "args": (torch.ones(1, 2),), "freeze": ["bias"]}
        >>> state = training.TrainState.create(torch.nn.Linear(2, 1), "sgd", **options)
        >>> state = state.with_parameters({"bias": torch.ones(1)})
        >>> state.parameters["bias"]
        tensor([1.])
        """
        from .replacing import replaced

        self.require_unused()
        held = replaced(self.plan, self.held, parameters)
        keeps = self.plan.engine.is_pure or not parameters.keys() & self.held.trained.keys()
        self._is_used = True
        return TrainState(self.plan, held, self.step, self.programs if keeps else {})

    # ------------------------------------------------------------------------------ files
    @public
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the whole state to one safetensors file, with the step and names as JSON in its header. Training
        resumes from it bit by bit.

        The file is written beside ``path`` and renamed once it is on the disk, so a killed process leaves the
        old file whole.

        Args:
            path: File to write.

        >>> import os, tempfile, torch
        >>> from graph_compiler import training
        >>> state = training.TrainState.create(torch.nn.Linear(2, 1), "adam", loss=torch.nn.MSELoss(), args=(torch.ones(1, 2),))
        >>> state, _ = training.single_train_step(state, (torch.ones(3, 2), torch.ones(3, 1)))
        >>> path = os.path.join(tempfile.mkdtemp(), "state.safetensors")
        >>> state.save(path)
        >>> training.TrainState.load(path, like=state).step
        1
        """
        self.require_unused()
        save(self.plan, self.held, self.step, path)

    @classmethod
    @public
    def load(cls, path: str | os.PathLike[str], like: TrainState) -> TrainState:
        """Return the state that :meth:`save` wrote.

        Args:
            path: File to read.
            like: State of the same model, target and optimizer, of any step. It is not changed.

        Raises:
            InvalidFile: The file is damaged, of another kind, or of another training. All names, shapes and
                dtypes that differ are listed.
        """
        if not isinstance(like, TrainState):
            raise InvalidOption(f"like= is a {type(like).__name__}, and has to be a TrainState, created as the saved one was")
        held, step = load(like.plan, like.held, path)
        return cls(like.plan, held, step, like.programs if like.plan.engine.is_pure else {})

    def __repr__(self) -> str:
        graph, held = self.plan.graph, self.held
        known = len(held.trained) + len(held.fixed)
        target = graph.pipeline.target.name
        return f"<TrainState of {graph.name} in {target}: step {self.step}, {len(held.trained)} of {known} parameters trained>"
