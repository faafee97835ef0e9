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
    """Everything that training changes. A step uses a state up and gives the next one: its memory is taken over, as ``jax.jit`` does with
    donated arrays and the optimizers of torch and Keras with theirs.

    ``plan`` is how it is trained, and never changes; ``held`` what changes, arrays of the target; ``step`` the number of batches so far.
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
        """The state before the first step.

        The model is trained in its training mode, whatever mode it is in (parts of a torch model in training mode that are in eval mode
        stay there); it keeps its own weights until :meth:`to_source`.

        Args:
            model: a ``torch.nn.Module``, a module of flax, a Keras model, a function with ``parameters``, or a graph of one.
            optimizer: a name, :func:`graph_compiler.training.optimizer`, or the target's own: a transformation of optax, a class of
                ``torch.optim`` (or a partial of one), an optimizer of Keras.
            loss: a function of the outputs and the target of a batch that gives one number, or that and a dict of metrics; written in the
                target's words, or in the model's, and recorded then. Arguments called ``(y_true, y_pred)`` are given in that order.
            to: ``"torch"``, ``"jax"`` or ``"tensorflow"``; by itself that of the model, or of the graph.
            args: example of the positional inputs, which the model is recorded with; a graph needs none.
            kwargs: example of the keyword inputs.
            parameters: of a function of JAX: which arguments are its parameters, by name or position (see :func:`graph_compiler.compile`).
            accumulate: how many batches make one update, with the mean of their gradients.
            clip_norm: the largest norm of all gradients together (``torch.nn.utils.clip_grad_norm_``).
            schedule: :func:`graph_compiler.training.schedule`, or a function of the number of updates that gives the learning rate.
            ema: decay of a running mean of the parameters, which begins with them (:attr:`ema`).
            freeze: patterns of names (``fnmatch``) of parameters that stay as they are.
            precision: ``"float32"``, ``"bf16"`` or ``"f16"``: matrix products, convolutions and attention are computed in that type, with
                parameters, sums and all else in float32; the loss is scaled for float16, and updates with gradients that are not finite are
                left out.

        Raises:
            NotCompilable: the target has no derivatives (NumPy), or the model keeps state that is no array.
            InvalidOption: an optimizer, a schedule, a pattern or a precision that is none; no loss; no example of the inputs.

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
        """Copies of all parameters and buffers by name, which later steps leave alone: for ``graph.functional``, and to look at."""
        return dict(self._copied("parameters", lambda held: held.parameters))

    @property
    def ema(self) -> Arrays:
        """As :attr:`parameters`, with the running means in the place of the parameters that are trained. ``InvalidOption`` without
        ``ema=``."""
        if self.plan.ema is None:
            raise InvalidOption("this state keeps no running mean of its parameters: create it with ema=, as ema=0.999")
        return dict(self._copied("ema", lambda held: {**held.parameters, **held.ema}))

    @property
    def graph(self) -> Any:
        """The graph that is trained."""
        return self.plan.graph

    @property
    def is_last(self) -> bool:
        """Whether the next batch is the last one before an update."""
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
        """``CallMismatch`` where a step has used this state up."""
        if self._is_used:
            raise CallMismatch(
                f"this state of step {self.step} was used up by a training step, which took over its memory: go on with the state that the "
                "step has returned, state, metrics = single_train_step(state, batch)"
            )

    def followed(self, held: Held, step: int) -> TrainState:
        """The next state; this one is used up."""
        self._is_used = True
        return TrainState(self.plan, held, step, self.programs)

    @public
    def to_source(self, ema: bool = False) -> None:
        """Gives the original model the trained weights and buffers, under their names (:meth:`graph_compiler.Graph.to_source`): a module of
        torch, flax or Keras is then trained. With ``ema``, the running means of the weights.

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
        """The state with copies of these arrays, of any framework, in the place of parameters and buffers of these names; all else, such
        as the state of the optimizer, goes on. This one is used up.

        So two networks that train each other have a state each, in which the other one is frozen.

        Raises:
            CallMismatch: a name is that of no parameter, or an array has another shape or type; the state was used before.

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
        """Writes everything that is held into one safetensors file: parameters, buffers, the state of the optimizer, random numbers,
        running means, the scale of the loss; the step and what the arrays are stand as JSON in its header. Training goes on from it bit by
        bit as it would have gone on.

        It is written beside, and takes the place of what stood at the path once it is whole on the disk: a process that is killed leaves
        the old file as it was.

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
        """The state that :meth:`save` wrote. ``like`` is a state of the same model, target and optimizer, of any step; it stays as it is.

        Raises:
            InvalidFile: the file is none, is damaged, or holds another training: all names, shapes and types that differ are told.
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
