"""``Graph``: a callable with one generated function for each variant, which records calls that fit none."""

from __future__ import annotations

import inspect
import os
import threading
import warnings
from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from ..errors import NotCompilable, NotTraced
from ..ir.graph import call_signature
from ..recording import active
from ..recording.lock import recording_lock
from ..recording.request import AbandonedWay
from .boundary import prepare_to_raise, public
from .calling.binding import signature_of, unpack_container
from .calling.matcher import CallMiss
from .calling.nested import call_nested, run_any_traced, tracer_of
from .calling.pure import call_purely
from .kept_state import state_of
from .missing_weights import require_weights
from .options import check_options, require_function
from .over_limit import VariantLimit
from .variant import Variant
from .variants import RecordingMethods
from .verify import Tolerance
from .views import DisplayMethods, forwarded_attribute

if TYPE_CHECKING:
    from ..passes import GraphPass
    from .containers import LazyMethod
    from .pipeline import Pipeline
    from .verify import VerificationSummary


class Graph(RecordingMethods, DisplayMethods):
    """Function or model that was recorded and written for one framework. It is called like the original.

    A graph holds *variants*: functions of the arrays in a call, each with the signature (structure, dtypes,
    ranks, Python arguments) and guards that it was recorded under. A call runs a variant that fits.
    If none fits, the original is recorded again (``on_miss="retrace"``). ``GuardFailed`` is raised instead
    with ``on_miss="error"`` if anything was recorded before, and for a graph that was loaded from a file.
    Beyond ``max_variants`` the original runs, with a warning at the first such call, or ``TooManyVariants``
    is raised.

    Public attributes of an original model that cannot be called (``config``, ``dtype``) are attributes of the
    graph unless it has its own of that name. In the same framework, methods of the model may be, too.

    >>> import torch, graph_compiler
    >>> graph = graph_compiler.compile(lambda x: x.reshape(-1) * 2, args=(torch.ones(2, 3),))
    >>> graph(torch.ones(4, 5)).shape, len(graph.variants)
    (torch.Size([20]), 1)
    """

    # Called to restore a pickle. A package above this one sets it.
    _from_bytes: ClassVar[Callable[[bytes], Graph]]
    # Descriptor that binds a graph of a function as a method.
    _method: LazyMethod | None = None

    def __init__(
        self,
        pipeline: Pipeline,
        name: str,
        on_miss: str = "retrace",
        max_variants: int = 16,
        on_limit: str = "original",
    ) -> None:
        self._pipeline, self.name = pipeline, name
        self._on_miss, self._limit, self._statements_traced = (
            on_miss,
            VariantLimit(max_variants, on_limit),
            None,
        )
        self._variants: list[Variant] = []
        # The reasons of the latest refused calls, and the latest failed ways to record that belong to no
        # variant.
        self._refused, self._gave_up = deque[str](maxlen=16), deque[AbandonedWay](maxlen=16)
        self._written_for = {}
        # Held by the thread that records and runs for the first time. Calls that fit a variant do not need
        # it.
        self._lock = threading.RLock()
        self.__name__, self.__doc__ = name, getattr(pipeline.function, "__doc__", None)
        # ``tf.function`` and others inspect the signature.
        self.__signature__ = signature_of(pipeline.function)

    def __getattr__(self, name: str) -> Any:
        # TensorFlow's AutoGraph does not rewrite the code of an object that has this attribute.
        return None if name == "autograph_info__" else forwarded_attribute(self, name)

    # ------------------------------------------------------------------------------ calling
    def __get__(self, obj: Any, cls: type | None = None) -> Any:
        return self if obj is None or self._method is None else self._method.__get__(obj, cls)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        # ``prepare_to_raise`` replaces the decorator ``public`` here, because a try block costs nothing until
        # something is raised.
        try:
            # A call within the recording of another function records the original with it.
            if active.anywhere and active.recording and self._pipeline.has_original:
                return call_nested(self, args, kwargs)
            # Other threads may add variants while these are tried.
            known = len(self._variants)
            for variant in self._variants:
                result = variant.attempt(args, kwargs)
                # ``CallMiss`` has no subclasses, and every call pays for this test.
                if type(result) is not CallMiss:
                    return result
            return self._miss(known, args, kwargs)
        except Exception as problem:
            prepare_to_raise(problem, self.name)
            raise

    @public
    def explain(self) -> str:
        """Describe each variant: its inputs, why it was recorded, and its guards on sizes and elements.

        The latest abandoned ways to record, and reasons of refused calls, are listed, too.

        >>> import torch, graph_compiler
        >>> print(graph_compiler.compile(torch.relu, args=(torch.ones(2),)).explain())
        relu: 1 variant
        variant 0, recorded because: args= given
          inputs: arg_0 float32[2]
          1 operation, 0 parameters, 0 constants
        """
        from .calling.mismatch import explain

        return explain(self.name, self._variants, self._refused, self._limit.explain(), self._gave_up)

    @public
    def verify(
        self,
        runs: int = 2,
        rtol: float | None = None,
        atol: float | None = None,
        seed: int = 0,
        args: Any = None,
        kwargs: Any = None,
    ) -> VerificationSummary:
        """Run the original and the variants on the same inputs, and compare what they compute.

        Results, arguments and buffers are compared, and buffers are restored after each run. Random inputs
        have the recorded dtypes and ranks, and recorded and other sizes. With these, sizes that the original
        rejects or a guard excludes are skipped, and variants whose environment guards or state no longer
        hold. If both cannot draw the same random numbers, only structure, shapes and dtypes are compared.

        Args:
            runs: Number of inputs with the recorded sizes for each variant. More inputs show which sizes can
                change, and have other sizes where they can.
            rtol: Relative tolerance. Default: that of the dtype.
            atol: Absolute tolerance. Default: that of the dtype.
            seed: Seed of the inputs, an integer from 0 to 2**31 - 1.
            args: Positional arguments of the only input, instead of random ones.
            kwargs: Keyword arguments of the only input, instead of random ones.

        Returns:
            A summary: numbers of runs and of skipped inputs, sizes that were varied, and whether values were
                compared.

        Raises:
            VerificationFailed: Results differ, or only the graph raises. The message names the difference
                and, if it can be found, the first recorded call that shows it, with your line.
            InvalidOption: A tolerance, ``runs``, ``seed``, ``args`` or ``kwargs`` is invalid.
            GuardFailed: All variants were skipped; for one of them, no random input was found that the
                original takes and that meets the guards; or ``args`` and ``kwargs`` fit none.
            NotTraced: The graph was loaded from a file, so there is no original; or nothing was recorded yet.
            WeightsMissing: The model is on the device ``meta`` and has no weights yet.

        >>> import torch, graph_compiler
        >>> function, x = lambda x: torch.relu(x) + x.shape[0], torch.ones(2, 3)
        >>> graph_compiler.transpile(function, to="jax", args=(x,)).verify().sizes
        (2, 3)
        """
        from .verify import verify_graph

        options = {"runs": runs, "rtol": rtol, "atol": atol, "seed": seed, "args": args, "kwargs": kwargs}
        check_options(options)
        require_weights(self._variants)
        with self._locked():
            return verify_graph(self, int(runs), Tolerance(rtol, atol), int(seed), args, kwargs)

    @public
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the graph to a zip file, or to a folder if ``path`` has no suffix or is a folder.

        The contents are JSON and safetensors, no code and no pickle: all variants, and the values of
        parameters and constants. :func:`graph_compiler.load` reads them without the original.

        Args:
            path: Zip file, which is replaced if it exists; or folder, which is created with its parents.

        Raises:
            InvalidFile: The graph holds something that a file cannot, such as state outside buffers.
                Nothing was written.
            FileNotFoundError: The folder that the zip file should be in does not exist.
            FileExistsError: ``path`` has no suffix and is a file.
            InvalidOption: ``path`` is not a path.
            NotTraced: Nothing was recorded yet.
            WeightsMissing: The model is on the device ``meta`` and has no weights yet.

        >>> import os, tempfile, torch, graph_compiler
        >>> graph = graph_compiler.compile(torch.nn.Linear(3, 2), args=(torch.ones(1, 3),))
        >>> path = os.path.join(tempfile.mkdtemp(), "linear.zip")
        >>> graph.save(path)
        >>> os.path.exists(path)
        True
        """
        from .saving.save import save

        with self._locked():
            save(self, path)

    @public
    def load_weights(self, source: str | os.PathLike[str] | Mapping[str, Any]) -> Graph:
        """Load weights into the modules of the original torch model, and return the graph.

        The model may have been built on the device ``meta``. All arrays are checked before one is loaded.

        Args:
            source: A safetensors file, a folder of such files, or a dict of arrays of any framework by
                ``state_dict`` names. It holds all weights and persistent buffers; tied weights need one
                name. A non-persistent buffer is needed only if it is on ``meta`` and its module cannot
                compute it.

        Raises:
            WeightsMismatch: Names all arrays that are missing, unexpected, or of another shape or dtype.
                Nothing was changed.
            InvalidFile: A file is not a safetensors file.
            FileNotFoundError: There is no such file, or no safetensors file in the folder.
            NotTraced: The graph was not recorded in torch or was loaded from a file, or nothing was recorded
                yet.
            InvalidOption: ``source`` is neither a path nor a dict.

        >>> import torch, graph_compiler
        >>> with torch.device("meta"):
        ...     model = torch.nn.Linear(3, 2)
        >>> graph = graph_compiler.transpile(model, to="jax", args=(torch.ones(1, 3),))
        >>> graph.load_weights({"weight": torch.ones(2, 3), "bias": torch.zeros(2)})(torch.ones(4, 3)).shape
        (4, 2)
        """
        from .original_weights import load_weights

        with self._locked():
            load_weights(self, source)
        return self

    @public
    def to_source(self, values: Any) -> None:
        """Write trained values back into the variables of the original model.

        Args:
            values: A module that :meth:`as_module` returned, or a dict of arrays of any framework by the
                names in :attr:`parameters`. All are needed except random keys that no call changes, with the
                shapes and dtypes of the original or those that the target has for them (float32 for float64).

        Raises:
            WeightsMismatch: Names all arrays that are missing, unexpected, or of another shape or dtype.
                Nothing was changed.
            NotTraced: The graph was loaded from a file, or nothing was recorded yet.
            InvalidOption: ``values`` is neither such a module nor a dict.

        >>> import torch, graph_compiler
        >>> linear = torch.nn.Linear(3, 2)
        >>> graph = graph_compiler.transpile(linear, to="jax", args=(torch.ones(1, 3),))
        >>> graph.to_source({name: abs(0 * array) for name, array in graph.parameters.items()})
        >>> linear.bias.tolist()
        [0.0, 0.0]
        """
        from .original_weights import to_source

        with self._locked():
            to_source(self, values)

    # ----------------------------------------------------------------------------- other frameworks and modes
    @public
    def to(self, framework: str) -> Graph:
        """Return a graph of the same recordings, written for ``framework``. Nothing is recorded again.

        Guards on array values stay, although a recording for that framework might not need them.

        Args:
            framework: Name of the target: ``"torch"``, ``"jax"``, ``"tensorflow"``, ``"numpy"``, or a
                registered backend.

        Raises:
            UnsupportedOperation: Calls have no translation to ``framework``; see :meth:`list_missing`.
            UnknownFramework: There is no such backend.
            FrameworkNotInstalled: The framework is not installed.
            NotTraced: Nothing was recorded yet.

        >>> import torch, graph_compiler
        >>> graph = graph_compiler.compile(torch.nn.Linear(3, 2), args=(torch.ones(1, 3),))
        >>> graph.to("jax")
        <graph of Linear for jax, 1 variant>
        """
        return self._written_by(self._pipeline.for_framework(framework))

    def _written_by(self, pipeline: Pipeline) -> Graph:
        made = self._empty_copy(pipeline)
        with recording_lock:
            for variant in self._variants:
                made._adopt(pipeline.rewrite_variant(variant))
        return made

    @public
    def with_passes(self, *passes: GraphPass) -> Graph:
        """Return a graph of the same recordings in canonical operations, with these passes run last.

        Args:
            passes: Functions from a program to ``(program, changed)``, as in :mod:`graph_compiler.passes`.

        Raises:
            NotCompilable: A pass is not callable.
            InvalidOption: A pass returns something else.
            InvalidGraph: A pass returns an invalid program.

        >>> import torch, graph_compiler
        >>> from graph_compiler.passes import strong_zero
        >>> function = lambda x: torch.where(x > 0, x.log(), 0)
        >>> graph = graph_compiler.compile(function, args=(torch.tensor(1.0),))
        >>> torch.func.grad(graph.with_passes(strong_zero))(torch.tensor(0.0))
        tensor(0.)
        """
        for each in passes:
            require_function("with_passes", each)
        return self._written_by(self._pipeline.with_passes(passes))

    @public
    def list_missing(self, framework: str) -> list[str]:
        """Return the problems that keep the graph from being written for ``framework``.

        An example is a call without translation. The list is empty if the graph can be written.

        Args:
            framework: Name of the target.

        Raises:
            UnknownFramework: There is no such backend.
            FrameworkNotInstalled: The framework is not installed.
            NotTraced: Nothing was recorded yet.

        >>> import torch, graph_compiler
        >>> graph_compiler.compile(lambda x: x + 1, args=(torch.ones(2),)).list_missing("jax")
        []
        """
        pipeline = self._pipeline.for_framework(framework)
        with recording_lock:
            return [problem for variant in self._variants for problem in pipeline.missing(variant)]

    @public
    def as_module(self) -> Any:
        """Return the graph as a trainable module of its framework.

        In torch, JAX and TensorFlow, this is a ``torch.nn.Module``, ``flax.nnx.Module`` or ``keras.Model``.
        For NumPy, which has no derivatives, it is a callable whose parameters are read as ``module[name]``
        and replaced as ``module[name] = array``.

        In torch, the module for an original in torch holds the original's own tensors, so training one trains
        both. In JAX and TensorFlow, a module holds variables of its own. Modes (``train()``, ``eval()``,
        ``training=``) are those of the original's modules. In JAX and TensorFlow, each module has its own key
        for graphs that need one for random numbers; in torch and NumPy, a module draws as the graph does.

        Raises:
            NotCompilable: The graph keeps state outside buffers, which a module cannot hold.
            FrameworkNotInstalled: flax is missing for a graph in JAX.
            NotTraced: Nothing was recorded yet.

        >>> import torch, graph_compiler
        >>> graph = graph_compiler.compile(torch.nn.Linear(3, 2), args=(torch.ones(1, 3),))
        >>> sorted(name for name, _ in graph.as_module().named_parameters())
        ['bias', 'weight']
        """
        if kept := state_of(self._variants):
            raise NotCompilable(
                f"{self.name} keeps state in {', '.join(kept)}, which no module of "
                f"{self._pipeline.target.name} holds: call the graph itself, or functional with state=, or "
                "register it as a buffer"
            )
        told = self._pipeline.frontend.where_parameters_are
        if told and not self.parameters:
            warnings.warn(f"the module of {self.name} has no parameters. {told}", stacklevel=2)
        return self._pipeline.module_of(self)

    def _call_signature(self) -> inspect.Signature | None:
        known = self.__signature__
        return (
            call_signature(self._variants[0].graph)
            if known is None and not self._pipeline.has_original
            else known
        )

    def _spread(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return unpack_container(self._variants, self._call_signature(), args, kwargs)

    @public
    def train(self, mode: bool = True) -> Graph:
        """Set the training mode of the recorded modules, and return the graph.

        If no variant fits a call in this mode, ``on_miss`` decides what it does. A graph that was loaded from
        a file raises ``GuardFailed`` for such a call.

        Args:
            mode: True for training, False for evaluation.

        Raises:
            NotTraced: Nothing was recorded yet, or no training mode of the original is known, as for NumPy.
        """
        recordings = [variant.recording for variant in self._variants]
        able = [one.weights for one in recordings if one is not None and one.weights.has_modes]
        if recordings and not able:
            why = (
                "was loaded from a file"
                if not self._pipeline.has_original
                else f"is written in {self._pipeline.frontend.name}"
            )
            raise NotTraced(f"{self.name} {why}: there are no modules of an original whose mode could change")
        # Some variants may have no modules, which come with arguments of other calls.
        for weights in able:
            weights.set_training(mode)
        return self

    def eval(self) -> Graph:
        """Set evaluation mode: ``train(False)``."""
        return self.train(False)

    # -------------------------------------------------------------------------------------- pure calls
    @public
    def functional(self, parameters: Mapping[str, Any], /, *args: Any, rng: Any = None, **kwargs: Any) -> Any:
        """Call the graph with the arrays ``parameters``, and return changed state instead of writing it.

        Nothing is recorded. Use it with ``jax.grad``, ``jax.jit``, ``torch.func`` and optimizers.

        Args:
            parameters: Arrays by name, as in :attr:`parameters`.
            args: Positional arguments of the original.
            rng: Random key of the target; needed if the graph takes one for its random numbers.
            kwargs: Keyword arguments of the original. ``state=`` takes the state that an earlier call
                returned, or :attr:`state`, if the graph keeps state outside buffers.

        Returns:
            The result; or ``(result, state)`` if a call changes state. ``state`` is a dict of new values:
                buffers and other state by name, changed arrays of arguments by index, and new items of
                changed containers under ``"arguments"``.

        Raises:
            GuardFailed: No recorded variant fits, a guard on values does not hold, or a parameter has another
                shape.
            CallMismatch: ``parameters`` is not a dict of the graph's parameters, or ``rng`` is missing or no
                key.
            TargetRefused: The target refuses a value, dtype or size.
            NotTraced: Nothing was recorded yet.

        >>> import torch, graph_compiler
        >>> class Running(torch.nn.Module):
        ...     total = 0
        ...     def forward(self, x):
        ...         self.total = self.total + x.sum()
        ...         return self.total
        >>> graph = graph_compiler.compile(Running())
        >>> [graph(torch.ones(2)).item(), graph(torch.ones(3)).item()]
        [2.0, 5.0]
        >>> graph.functional({}, torch.ones(4))
        (tensor(9.), {'total': tensor(9.)})
        >>> graph.functional({}, torch.ones(4), state={"total": torch.tensor(1.0)})
        (tensor(5.), {'total': tensor(5.)})
        """
        # Without state of its own, the original may have an argument of this name.
        given = kwargs.pop("state", None) if any(variant.state for variant in self._variants) else None
        result, state = self._functional(parameters, args, kwargs, rng, given)
        return (result, state) if state else result

    def _functional(
        self,
        parameters: Mapping[str, Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        rng: Any,
        given: Any = None,
        compiled: bool = False,
        in_place: bool = False,
    ) -> tuple[Any, dict[str, Any]]:
        """Run :meth:`functional`, and return ``(result, state)``.

        given: the state to start from; None for the current state.
        compiled: run the target's compiled program, which not all transforms accept.
        in_place: do not copy passed arrays that the graph writes to.
        """
        return call_purely(self, parameters, args, kwargs, rng, given, compiled, in_place)

    def _call_as_module(
        self,
        held: Callable[[], Mapping[str, Any]],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        *,
        key: Callable[[], Any],
        training: bool | None,
        is_traced: bool,
    ) -> tuple[Any, dict[str, Any]]:
        """Return ``(result, state)`` of a call by a generated module that holds the arrays itself.

        held(): returns the module's arrays by name.
        key(): returns a random key.
        training: training mode of the original's modules during the call; None does not change it.
        is_traced: True while the target traces the call.
        """
        from .calling.pure import call_as_module

        try:
            return call_as_module(self, held, args, kwargs, key, training, is_traced)
        except Exception as problem:
            prepare_to_raise(problem, self.name)
            raise

    def _call_as_module_traced(
        self, held: Mapping[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any], training: bool | None
    ) -> tuple[Any, dict[str, Any]] | None:
        return run_any_traced(self, held, args, kwargs, training)

    def _hide_calls(self) -> None:
        if (tracer := tracer_of(self)) is not None:
            tracer.skip([type(self).__call__, Graph.__call__, Graph._call_as_module])

    # torch.compile runs it while it follows a call, and does not follow it itself.
    _hide_calls._dynamo_marked_constant = True  # type: ignore[attr-defined]

    @public
    def seed(self, number: int) -> None:
        """Seed the keys from which graphs for this framework draw; in torch, the framework's own generators.

        Calls of NumPy's or TensorFlow's own generator that a graph keeps do not use these keys.

        Args:
            number: Seed, an integer from 0 to 2**31 - 1.

        Raises:
            InvalidOption: ``number`` is no such integer.
            NotTraced: The target is not known before the first call.
        """
        check_options({"seed": number})
        self._pipeline.target.target.seed(int(number))

    def __reduce__(self) -> Any:
        from .saving.save import to_bytes

        with self._locked():
            return type(self)._from_bytes, (to_bytes(self),)

    def __copy__(self) -> Graph:
        # Not ``self.__reduce__``, because subclasses override it for graphs without variants.
        restore, args = Graph.__reduce__(self)
        made: Graph = restore(*args)
        return made

    def _empty_copy(self, pipeline: Any) -> Graph:
        made = type(self)(pipeline, self.name, self._on_miss, *self._limit.options)
        # Attributes that were set after construction, such as the static arguments, are copied.
        made.__dict__.update({name: item for name, item in vars(self).items() if name not in vars(made)})
        return made

    def __repr__(self) -> str:
        target = self._variants[0].target.name if self._variants else "?"
        return (
            f"<graph of {self.name} for {target}, {len(self._variants)} "
            f"variant{'s' if len(self._variants) != 1 else ''}>"
        )
