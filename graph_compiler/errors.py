"""Errors and warnings of graph_compiler.

The page docs/troubleshooting.md is written from the docstrings of the classes.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class GraphCompilerError(Exception):
    """Base class of the errors of this package.

    Most exceptions that your own code raises are not wrapped.

    >>> import graph_compiler
    >>> try:
    ...     graph_compiler.compile(3)
    ... except graph_compiler.errors.GraphCompilerError as problem:
    ...     print(type(problem).__name__)
    NotCompilable
    """


class UnsupportedOperation(GraphCompilerError):
    """Raised when something in a function has no translation to the target framework.

    ``problems`` may list the calls, one string for each.

    Cause: for example, no row of the source framework's frontend, or of the target's backend, covers the
        call, and it has no decomposition; or the target lacks a dtype that the graph needs.
    Fix: replace the call, or add a row for it as docs/adding_an_operation.md describes.
        ``graph.list_missing(target)`` lists calls without a row beforehand.

    >>> import torch, graph_compiler
    >>> graph_compiler.transpile(lambda x: x.to_mkldnn(), to="jax", args=(torch.ones(2, 2),))
    Traceback (most recent call last):
        ...
    graph_compiler.errors.UnsupportedOperation: function makes 1 call that cannot be translated:
      1. torch.Tensor.to_mkldnn: no row for it...
        torch.Tensor.to_mkldnn at ...
    Replace these calls, or add a row for each (docs/adding_an_operation.md).
    """

    def __init__(self, message: str, problems: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.problems = tuple(problems)


class UnknownFramework(GraphCompilerError, ValueError):
    """Raised when a framework that is asked for, as by ``to=`` or ``source=``, has no backend or frontend.

    Cause: for example, a misspelled name, or a package with the backend or frontend that is not installed.
    Fix: use one of the names in the message, or install the package that registers the name.

    >>> import torch, graph_compiler
    >>> graph_compiler.transpile(torch.relu, to="jaxx", args=(torch.ones(2),))
    Traceback (most recent call last):
        ...
    graph_compiler.errors.UnknownFramework: to='jaxx' is not supported; known are ...; did you mean 'jax'?
    """


class InvalidRegistration(GraphCompilerError, TypeError):
    """Raised for a registered frontend or backend that is invalid, or whose name is taken.

    It may be raised late, when the frontend or backend is used.

    Cause: for example, the entry point cannot be imported, is of the wrong type, or has another name than its
        entry; the name is taken; the module of the entry does not exist; or the frontend, the backend or an
        array of the framework lacks a member of the contract.
    Fix: do what the message says; docs/extending.md has a complete example.

    >>> import types
    >>> from graph_compiler.contracts import Backend
    >>> from graph_compiler.contracts.modules import require
    >>> require(Backend, types.ModuleType("mine"), "mine")
    Traceback (most recent call last):
        ...
    graph_compiler.errors.InvalidRegistration: ...
    """


class FrameworkNotInstalled(GraphCompilerError, ImportError):
    """Raised when a framework or optional package that is needed is not installed, or is too old.

    Cause: ``to=``, ``source=`` or a saved graph names a framework that is missing or too old, or a function
        needs an optional package, such as optax.
    Fix: run the installation command in the message.
    """


class NotCompilable(GraphCompilerError, TypeError):
    """Raised when an object cannot be recorded, or cannot be used as was asked for.

    Cause: for example, the object is no function, method, module or other callable; ``trace`` found no
        source; ``as_module`` met state that a module has no place for; or a framework has no compiler.
    Fix: pass a callable, and its example arguments as ``args=``; otherwise do what the message says.

    >>> import graph_compiler
    >>> graph_compiler.compile(3)
    Traceback (most recent call last):
        ...
    graph_compiler.errors.NotCompilable: 3 cannot be compiled: a function, a method or a module object is ...
    """


class InvalidOption(GraphCompilerError, ValueError):
    """Raised when an option is unknown, missing or invalid, or conflicts with another option.

    Cause: for example, a misspelled name.
    Fix: correct the option as the message says.

    >>> import torch, graph_compiler
    >>> graph_compiler.compile(torch.relu, static_argnum=0)
    Traceback (most recent call last):
        ...
    graph_compiler.errors.InvalidOption: compile has no option static_argnum=; did you mean ...
    """


class SourceNotFound(GraphCompilerError, ValueError):
    """Raised when the framework that a function is written in is unknown or ambiguous.

    Cause: neither the function nor its arguments name a framework, or they name different ones.
    Fix: pass ``source=``.

    >>> import numpy as np, tensorflow as tf, graph_compiler
    >>> graph_compiler.transpile(lambda x: np.sort(x), to="jax", args=(tf.ones(2),))
    Traceback (most recent call last):
        ...
    graph_compiler.errors.SourceNotFound: function names numpy alone, and is called with arrays of ...
    """


class CallMismatch(GraphCompilerError, TypeError):
    """Raised when a call cannot be made with its arguments, options or state, or its result does not fit.

    Cause: for example, ``functional`` was called without its parameters, with those of another framework, or
        without a random key it needs; an option names an argument that the function does not have; a
        transformation of the target traces a call that changes state or fits no recorded variant; a training
        state was already used up by a step; batches differ between processes.
    Fix: do what the message says.

    >>> import torch, graph_compiler
    >>> graph = graph_compiler.transpile(torch.nn.Dropout(0.5), to="jax", args=(torch.ones(2),))
    >>> graph.functional(graph.parameters, torch.ones(2))
    Traceback (most recent call last):
        ...
    graph_compiler.errors.CallMismatch: Dropout draws random numbers: pass a key, rng=jax.random.key(0), ...
    """


class GuardFailed(GraphCompilerError, ValueError):
    """Raised when a call fits no recorded variant and none is recorded for it.

    It is also raised for an argument that the graph cannot write to, for integers that the target cannot
    hold, for arrays of several frameworks in a call of ``unify``, and by ``verify`` if no input fits.

    Cause: for example, the structure, a dtype, a guard on sizes or values, or something else that the
        recording relied on differs, and the graph has ``on_miss="error"``, was loaded from a file, is called
        as ``functional``, or is traced by the target's compiler; or a guard fails even for the call that was
        just recorded.
    Fix: record a variant with ``graph.add_variant(args, kwargs)``, allow ``on_miss="retrace"``, or call the
        graph itself instead of ``functional``. For a branch on values, decorate the function with
        ``graph_compiler.trace``.

    >>> import torch, graph_compiler
    >>> absolute = lambda x: x if x.sum() > 0 else -x
    >>> graph = graph_compiler.transpile(absolute, to="jax", args=(torch.ones(2),), on_miss="error")
    >>> graph(-torch.ones(2))
    Traceback (most recent call last):
        ...
    graph_compiler.errors.GuardFailed: function: this call fits no recorded variant: variant 0:
    ... was True when recorded and is False for this call. Record one for it with ...
    """


class WeightsMissing(GraphCompilerError):
    """Raised when a graph of a model on the device ``meta`` is used before it has weights.

    Cause: the model was built without memory (``torch.device("meta")``), and no weights were loaded since.
    Fix: call ``graph.load_weights(source)``.

    >>> import torch, graph_compiler
    >>> with torch.device("meta"):
    ...     model = torch.nn.Linear(3, 2)
    >>> graph_compiler.transpile(model, to="jax", args=(torch.ones(1, 3),)).parameters
    Traceback (most recent call last):
        ...
    graph_compiler.errors.WeightsMissing: Linear was recorded with its model on the device meta, and its ...
    """


class WeightsMismatch(GraphCompilerError, ValueError):
    """Raised when arrays given to ``load_weights`` or ``to_source`` are not those of the model.

    Cause: names are missing or unexpected, or shapes or dtypes differ. No weight was changed.
    Fix: pass arrays with the names, shapes and dtypes of the model's own. In torch, the names are those of
        ``state_dict``.

    >>> import torch, graph_compiler
    >>> graph = graph_compiler.transpile(torch.nn.Linear(3, 2), to="jax", args=(torch.ones(1, 3),))
    >>> graph.load_weights({"weight": torch.ones(2, 4)})
    Traceback (most recent call last):
        ...
    graph_compiler.errors.WeightsMismatch: Linear: these are not the weights of the model; nothing was ...
      missing: bias
      weight is float32[2, 4], and the model has float32[2, 3]
    """


class TargetRefused(GraphCompilerError):
    """Raised when the target framework refuses a value, dtype or size when a graph runs.

    ``__cause__`` is the framework's own exception. A call of the graph itself may raise the exception of the
    original instead.
    Cause: for example, a singular matrix, an index out of range, or a dtype that the target's function does
        not take.
    Fix: check the input at the line in the message; convert dtypes before the call.

    >>> import numpy as np, torch, graph_compiler
    >>> graph = graph_compiler.transpile(torch.linalg.inv, to="numpy", args=(torch.eye(2),))
    >>> graph.functional({}, np.zeros((2, 2), np.float32))
    Traceback (most recent call last):
        ...
    graph_compiler.errors.TargetRefused: torch.linalg.inv at ...: numpy refuses what was recorded there: ...
    """


class TooManyVariants(GraphCompilerError):
    """Raised when a call needs a recording beyond ``max_variants`` and the original does not run instead.

    By default the original runs, after one warning.

    Cause: something that the graph is guarded on changes from call to call; the message names it. The
        original does not run under ``on_limit="raise"``, with ``freeze=True`` or
        ``include_generators=False``, or if a target other than the source framework traces or differentiates
        the call.
    Fix: pass it as an array, compute the branch with ``where`` or under ``graph_compiler.trace``, or raise
        ``max_variants``.

    >>> import torch, graph_compiler
    >>> absolute = lambda x: x if x.sum() > 0 else -x
    >>> graph = graph_compiler.compile(absolute, args=(torch.ones(2),), max_variants=1, on_limit="raise")
    >>> graph(-torch.ones(2))
    Traceback (most recent call last):
        ...
    graph_compiler.errors.TooManyVariants: function was recorded 1 times and this call fits none: variant 0:
    ... was True when recorded and is False for this call. Raise max_variants, or ...
    """


class TracingError(GraphCompilerError):
    """Raised when a function does something that cannot be recorded.

    Cause: for example, values leave the framework (``x.numpy()`` into a C extension), memory is reached
        behind the framework's back, state changes that no graph can repeat, or statements under ``trace``
        make values of other shapes or dtypes.
    Fix: compute the line with the framework's own functions, or move it out of the function.

    >>> import numpy as np, torch, graph_compiler
    >>> graph_compiler.compile(lambda x: torch.from_numpy(np.sort(x.numpy())), args=(torch.ones(2),))
    Traceback (most recent call last):
        ...
    graph_compiler.errors.TracingError: torch.Tensor.numpy at ...: torch.Tensor.numpy hands the memory of a
    tensor that depends on the inputs to code that cannot be recorded, so its result would be baked in.
    Compute it with torch, or move this line out ...
    """


class GradientRefused(GraphCompilerError):
    """Raised when a gradient is taken that would be wrong or that the target does not have.

    Results are not affected.

    Cause: for example, the gradient goes through a rule of yours (``torch.autograd.Function``,
        ``custom_vjp``, a backward hook) that decides by values in Python, changes state or has no
        translation; or the target has no derivative for an operation.
    Fix: take the gradient in the source framework, or write the rule without Python decisions on values.

    >>> import jax, torch, graph_compiler
    >>> class Flip(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return x * 1
    ...
    ...     @staticmethod
    ...     def backward(ctx, gradient):
    ...         return gradient if gradient.sum() > 0 else -gradient
    >>> graph = graph_compiler.transpile(lambda x: Flip.apply(x).sum(), to="jax", args=(torch.ones(2),))
    >>> jax.grad(lambda x: graph.functional({}, x))(jax.numpy.ones(2))
    Traceback (most recent call last):
        ...
    graph_compiler.errors.GradientRefused: a gradient is taken through the rule of Flip at ..., which the ...
    """


class NotTraced(GraphCompilerError):
    """Raised when a graph lacks something because of its original, or because nothing was recorded yet.

    Cause: for example, a lazy graph was not recorded yet; a graph from a file is asked for its original
        (``verify``, ``load_weights``, ``to_source``); the original has no modules (``train``); or it is not
        written in torch (``load_weights``).
    Fix: call a lazy graph once, or compile with ``args=``. Use the graph of the original instead of that from
        a file. An original without modules has no mode to set.

    >>> import torch, graph_compiler
    >>> graph_compiler.compile(torch.relu).source
    Traceback (most recent call last):
        ...
    graph_compiler.errors.NotTraced: relu has not been recorded yet, so it has no source; pass args= ...
    """


class VerificationFailed(GraphCompilerError, AssertionError):
    """Raised when ``verify`` finds that results of graph and original differ, or that only the graph raises.

    ``verify`` of a derivative raises it if the derivative differs from central differences.

    Cause: rounding beyond the tolerance, a result that the source framework leaves open (order of equal
        elements, signs of eigenvectors), something outside the arguments that is a constant of the graph (the
        date), or a bug; for a derivative also a kink or a jump.
    Fix: loosen ``rtol`` and ``atol`` for rounding; pass what changes as an argument; verify a derivative at
        other arguments; report anything else.

    >>> import datetime, torch, graph_compiler
    >>> now = datetime.datetime.now
    >>> graph = graph_compiler.compile(lambda x: x + now().microsecond, args=(torch.ones(2),))
    >>> graph.verify()
    Traceback (most recent call last):
        ...
    graph_compiler.errors.VerificationFailed: function: graph and original differ: ...
    """


class InvalidFile(GraphCompilerError, ValueError):
    """Raised when a saved graph, state or weights cannot be read, or when a graph cannot be saved.

    Cause: for example, the file is truncated, altered, of another kind or of another format version; or the
        graph has something that a file cannot hold, such as state outside its buffers.
    Fix: pass another file, or save the graph again with this version, without what the message names.

    >>> import pathlib, tempfile, graph_compiler
    >>> path = pathlib.Path(tempfile.mkdtemp(), "model.zip")
    >>> _ = path.write_text("not a graph")
    >>> graph_compiler.load(path)
    Traceback (most recent call last):
        ...
    graph_compiler.errors.InvalidFile: ...model.zip is no saved graph, or a damaged one: ...
    """


class CollectiveFailed(GraphCompilerError):
    """Raised when a computation of several processes fails, such as an exchange of arrays.

    ``__cause__`` is the framework's own exception.

    Cause: for example, a process has ended, waits elsewhere, or sends arrays of other shapes.
    Fix: look at the first process that failed; start all processes with the same program.
    """


class NotSerialisable(GraphCompilerError, TypeError):
    """Raised when a graph cannot be pickled or copied, or a training state or Keras model cannot be saved.

    Cause: for example, a lazy graph was not recorded yet; a graph holds what ``save`` refuses; a Keras model
        of a graph is saved by ``model.save``; an array has a dtype that safetensors lacks.
    Fix: call the graph once before, or use ``graph.save`` and ``graph_compiler.load``.

    >>> import pickle, torch, graph_compiler
    >>> pickle.dumps(graph_compiler.compile(lambda x: torch.relu(x)))
    Traceback (most recent call last):
        ...
    graph_compiler.errors.NotSerialisable: function has not been recorded yet, so it cannot be pickled; ...
    """


class NarrowedNumbers(UserWarning):
    """Warning that the target computes 64-bit floats of the arguments or parameters in 32 bits.

    It is given at most once per graph.

    Cause: JAX has 32-bit types unless ``jax_enable_x64`` is set.
    Fix: ``jax.config.update("jax_enable_x64", True)`` before anything is compiled, or pass 32-bit arrays.
        ``numbers="strict"`` makes it an ``UnsupportedOperation``.

    >>> import warnings, numpy as np, graph_compiler
    >>> with warnings.catch_warnings(record=True) as seen:
    ...     warnings.simplefilter("always")
    ...     graph = graph_compiler.transpile(lambda x: x * 2, source="numpy", to="jax", args=(np.ones(3),))
    >>> print(seen[0].message)
    function: x has 64-bit floats, with which jax computes in 32 bits. ...
    """


class InvalidGraph(GraphCompilerError):
    """Raised when a graph breaks a rule of the intermediate representation.

    Cause: for example, a pass, also one of your own (``passes=``), returned a block that the verifier
        rejects, or a row applies an operation to operands that do not fit it.
    Fix: mend the pass or row; the message names the rule.
    """


class InternalError(GraphCompilerError):
    """Raised for a bug of graph_compiler.

    ``__cause__`` is the exception that the bug raised.

    Cause: a mistake in this package.
    Fix: report it as the message says. Until it is mended, write the line in the message in another way.
    """


class Signal(Exception):
    """Base class of exceptions that control the flow inside this package."""


class UnknownOperation(GraphCompilerError, LookupError):
    """Raised for an unknown operation, section or parameter, or a missing parameter, in a pass, row or graph.

    Cause: for example, a misspelled name in a pass, a row or a graph, or a template that does not name a
        parameter.
    Fix: correct the name; docs/support.md lists the operations.

    >>> from graph_compiler import ops
    >>> ops.get("matmull")
    Traceback (most recent call last):
        ...
    graph_compiler.errors.UnknownOperation: the vocabulary has no operation 'matmull'; did you mean ...
    """


class DuplicateRow(GraphCompilerError, ValueError):
    """Raised when two declarations, rows, decompositions or helpers are registered under one name.

    Cause: for example, a frontend or backend, also of another package, repeats a row.
    Fix: remove one of the two.
    """


def nearest(name: str, known: Iterable[str]) -> str:
    """Return ``"; did you mean ...?"`` with up to three names of ``known`` that resemble ``name``.

    Return an empty string if none does.

    >>> nearest("matmull", ["matmul", "exp"])
    "; did you mean 'matmul'?"
    """
    close = get_close_matches(name, list(dict.fromkeys(known)), n=3, cutoff=0.6)
    return f"; did you mean {' or '.join(map(repr, close))}?" if close else ""
