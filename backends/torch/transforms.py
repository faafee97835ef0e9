"""Derivatives and vectorization by ``torch.func`` and ``torch.utils.checkpoint``."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from typing import Any, ClassVar

import numpy as np
import torch
from torch._functorch.aot_autograd import aot_function, make_boxed_func
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch._guards import TracingContext, tracing
from torch._higher_order_ops.scan import scan
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional
from torch.overrides import TorchFunctionMode
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

from ...contracts.derivatives import Arrays, Derivatives, Function, Policy, Step, VmapSpec
from ...contracts.parallelism import running_over
from ...errors import CallMismatch, GradientRefused, NotCompilable
from ...recording.control_flow.loops import recomputing_iterations
from ...recording.lock import active
from ..common.row_texts import UNSAID
from .axes import VmapAxis
from .native import CorrectForwardMode, is_without_derivative, target
from .prelude.control import run_again

# --------------------------------------------------------------------------------------------------- composed
# Operations that ``DTensor`` rejects or computes wrongly, composed of others.
#
# It rejects in-place writes that change the layout. It averages the means of a loss on each device, which is
# wrong if classes are ignored, and the gradients of some losses count the elements of one device only.


def rms_norm(
    input: torch.Tensor,
    normalized_shape: Sequence[int],
    weight: torch.Tensor | None = None,
    eps: float | None = None,
) -> torch.Tensor:
    """Compute ``torch.nn.functional.rms_norm``. Half precision is computed in float32.

    >>> x = torch.randn(2, 3)
    >>> torch.allclose(rms_norm(x, (3,)), functional.rms_norm(x, (3,)))
    True
    """
    wide = input.to(torch.promote_types(input.dtype, torch.float32))
    square = wide.pow(2).mean(tuple(range(-len(normalized_shape), 0)), keepdim=True)
    normed = wide * torch.rsqrt(square + (torch.finfo(wide.dtype).eps if eps is None else eps))
    return (normed if weight is None else normed * weight).to(input.dtype)


def _mean_of_elements(losses: torch.Tensor, options: Mapping[str, Any]) -> torch.Tensor:
    return losses.mean()


def _mean_of_classes(losses: torch.Tensor, options: Mapping[str, Any]) -> torch.Tensor:
    target, weight, ignored = options["target"], options["weight"], options["ignore_index"]
    if weight is None:
        total = (target != ignored).sum()
    else:
        # This is the sum of the weights of the classes in ``target``.
        ones = torch.full_like(options["input"], -1.0)
        total = functional.nll_loss(ones, target, weight, ignore_index=ignored, reduction="sum")
    # A sum in half precision may overflow.
    wide = torch.promote_types(losses.dtype, torch.float32)
    return (losses.sum(dtype=wide) / total).to(losses.dtype)


def _has_probabilities(options: Mapping[str, Any]) -> bool:
    return bool(options["target"].is_floating_point())


def _has_weights(options: Mapping[str, Any]) -> bool:
    return options.get("weight") is not None


def _never(options: Mapping[str, Any]) -> bool:
    return False


# Losses, the functions that average their elements, and the conditions under which torch composes the mean
# itself.
_MEANS: tuple[tuple[Any, Callable[..., Any], Callable[[Mapping[str, Any]], bool]], ...] = (
    (functional.binary_cross_entropy, _mean_of_elements, _never),
    (functional.huber_loss, _mean_of_elements, _never),
    (functional.mse_loss, _mean_of_elements, _has_weights),
    (functional.smooth_l1_loss, _mean_of_elements, _never),
    (functional.soft_margin_loss, _mean_of_elements, _never),
    (functional.cross_entropy, _mean_of_classes, _has_probabilities),
    (functional.nll_loss, _mean_of_classes, _has_probabilities),
)


def _with_mean(
    loss: Callable[..., Any],
    mean: Callable[[Any, Mapping[str, Any]], Any],
    is_composed: Callable[[Mapping[str, Any]], bool],
) -> Callable[..., Any]:
    """Wrap ``loss`` so that ``mean`` is its default reduction, unless ``is_composed`` accepts the options."""
    signature = inspect.signature(loss)

    @functools.wraps(loss)
    def composed(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs)
        given.apply_defaults()
        options = given.arguments
        # Old code of torch passes these options instead.
        old = options.get("size_average"), options.get("reduce")
        if options["reduction"] != "mean" or old != (None, None) or is_composed(options):
            return loss(*args, **kwargs)
        options["reduction"] = "none"
        return mean(loss(*given.args, **given.kwargs), options)

    return composed


_COMPOSED: dict[Any, Callable[..., Any]] = {
    functional.rms_norm: rms_norm,
    torch.rms_norm: rms_norm,
    **{loss: _with_mean(loss, mean, is_composed) for loss, mean, is_composed in _MEANS},
}


class ComposingMode(TorchFunctionMode):
    """Context manager that computes the functions in ``_COMPOSED`` by operations that suit ``DTensor``."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _COMPOSED.get(function, function)(*args, **(kwargs or {}))


# ------------------------------------------------------------------------------------------------- transforms
_PRODUCTS = {
    getattr(torch.ops.aten, name).default
    for name in ("mm", "bmm", "addmm", "baddbmm", "mv", "addmv", "dot", "vdot", "convolution")
}


class TorchDerivatives(Derivatives):
    compile_options: ClassVar[dict[str, Any]] = {}

    def array(self, item: Any) -> Any:
        if isinstance(item, (bool, int, float, complex, np.generic)):
            return torch.as_tensor(item)
        # The results of transforms are not connected to parameters by backward().
        found = target.convert(item)
        return found.detach() if isinstance(item, torch.nn.Parameter) else found

    def owns(self, item: Any) -> bool:
        return isinstance(item, torch.Tensor)

    def keeps_derivative(self, item: Any) -> bool:
        return isinstance(item, (torch.Tensor, bool, int, float, complex))

    def is_traced(self, array: Any) -> bool:
        return bool(torch._C._functorch.is_functorch_wrapped_tensor(array))

    def allow_64_bits(self) -> AbstractContextManager[Any]:
        return nullcontext()

    def placed(self, array: Any, device: Any) -> Any:
        try:
            return array.to(device)
        except (RuntimeError, AssertionError) as problem:
            raise ValueError(str(problem).splitlines()[0]) from problem

    def cast(self, array: Any, like: Any) -> Any:
        return array.to(like.dtype)

    def is_differentiable(self, array: Any) -> bool:
        return bool(array.is_floating_point() or array.is_complex())

    def is_complex(self, array: Any) -> bool:
        return bool(array.is_complex())

    def conjugate(self, array: Any) -> Any:
        return array.conj().resolve_conj()

    def zeros_like(self, array: Any, leading: Sequence[int] = ()) -> Any:
        return array.new_zeros((*leading, *array.shape))

    def basis(self, array: Any) -> Any:
        return torch.eye(array.numel(), dtype=array.dtype, device=array.device).reshape(
            array.numel(), *array.shape
        )

    def split(self, array: Any, axis: int, like: Any) -> Any:
        return array.reshape(
            (*like.shape, *array.shape[1:]) if axis == 0 else (*array.shape[:-1], *like.shape)
        )

    def move_axis(self, array: Any, source: int, destination: int) -> Any:
        return array.movedim(source, destination)

    def stop_gradient(self, array: Any) -> Any:
        return array.detach()

    def reshape(self, array: Any, shape: Sequence[int]) -> Any:
        return array.reshape(tuple(shape))

    def concatenate(self, arrays: Sequence[Any]) -> Any:
        return torch.cat(list(arrays))

    def scan(self, step: Step, state: Arrays, rows: Arrays, checkpoint: bool) -> tuple[Arrays, Arrays]:
        # torch's own ``scan`` records the iteration once.
        if active.anywhere and active.recording:
            return _recorded_scan(step, state, rows, checkpoint)
        outputs: list[Arrays] = []
        for row in zip(*(array.unbind(0) for array in rows)):
            state, made = run_again(step, state, list(row)) if checkpoint else step(state, list(row))
            outputs.append(made)
        return state, [torch.stack(each) for each in zip(*outputs)]

    def vjp(self, function: Function, primals: Arrays) -> tuple[Arrays, Arrays, Callable[[Arrays], Arrays]]:
        try:
            results, pull, aux = torch.func.vjp(_with_tuples(function), *primals, has_aux=True)
        except RuntimeError as problem:
            if "is not differentiable with respect to" in str(problem):
                raise GradientRefused(
                    f"{problem} Take the gradient of what is trained alone (graph.trained), not of buffers"
                ) from problem
            if "saved tensor hooks" not in str(problem) and not isinstance(problem, _NeedsAutograd):
                raise
            return _by_autograd(function, primals)
        return list(results), list(aux), lambda cotangents: list(pull(tuple(cotangents)))

    def jvp(self, function: Function, primals: Arrays, tangents: Arrays) -> tuple[Arrays, Arrays, Arrays]:
        try:
            with CorrectForwardMode():
                results, out, aux = torch.func.jvp(
                    _with_tuples(function), tuple(primals), tuple(tangents), has_aux=True
                )
        except RuntimeError as problem:
            if not is_without_derivative(problem):
                raise
            results, aux, push = self.linearize(function, primals)
            return results, aux, push(tangents)
        return list(results), list(aux), list(out)

    def linearize(
        self, function: Function, primals: Arrays
    ) -> tuple[Arrays, Arrays, Callable[[Arrays], Arrays]]:
        results, aux, pull = self.vjp(function, primals)
        # The vjp is linear in the cotangents, so its vjp at any cotangents is the jvp. They are 1, because
        # backward passes that compute logarithms have no derivative at 0.
        ones = tuple(map(torch.ones_like, results))
        _, push = torch.func.vjp(lambda *cotangents: tuple(pull(list(cotangents))), *ones)
        return results, aux, lambda tangents: list(push(tuple(tangents)))

    def is_missing_derivative(self, problem: Exception) -> bool:
        return is_without_derivative(problem)

    def vmap(self, function: Callable[[Arrays], Arrays], how: VmapSpec) -> Callable[[Arrays], Arrays]:
        # The indices of the slices are mapped, too, because collectives recognize this vmap by them.
        size = how.size
        assert size is not None

        def given(index: Any, *arrays: Any) -> tuple[Any, ...]:
            with running_over(how.axis_name, "torch", VmapAxis(index, size)):
                return tuple(function(list(arrays)))

        def over_slices(arrays: Arrays) -> Arrays:
            try:
                mapped = torch.func.vmap(given, in_dims=(0, *how.axes), randomness=how.randomness)
                return list(mapped(torch.arange(size, dtype=torch.int32), *arrays))
            except RuntimeError as problem:
                if "randomness error mode" not in str(problem):
                    raise
                raise CallMismatch(UNSAID) from problem

        return over_slices

    def named(self, array: Any, name: str) -> Any:
        # Checkpoint policies see the name while the view is made.
        before = _checkpoint_name.set(name)
        try:
            return array.view_as(array)
        finally:
            _checkpoint_name.reset(before)

    def checkpoint(self, function: Callable[[Arrays], Arrays], policy: Policy) -> Callable[[Arrays], Arrays]:
        if policy == "everything":
            return function
        if policy == "min_cut":
            return lambda arrays: _with_min_cut(function, arrays)
        keeps = (
            None
            if policy == "nothing"
            else _keep_products
            if policy == "dots"
            else functools.partial(_keep_named, frozenset(policy))
        )
        kept = (
            {"context_fn": functools.partial(create_selective_checkpoint_contexts, keeps)}
            if keeps is not None
            else {}
        )
        # The reentrant kind supports ``backward()`` only, not ``torch.autograd.grad``.
        return lambda arrays: checkpoint(function, arrays, use_reentrant=False, **kept)


class _NeedsAutograd(RuntimeError):
    """Error for a function compiled together with its gradient, which ``torch.func`` cannot transform."""


def _with_min_cut(function: Callable[[Arrays], Arrays], arrays: Arrays) -> Arrays:
    if torch._C._functorch.maybe_current_level() is not None:
        raise _NeedsAutograd("a function under checkpoint(policy='min_cut') is compiled")
    if active.anywhere and active.recording:
        return function(arrays)

    def compiled(module: Any, _: Any) -> Any:
        held = [node.target for node in module.graph.nodes if node.op == "get_attr"]
        if any(
            isinstance(item := getattr(module, name), torch.Tensor) and item.requires_grad for name in held
        ):
            raise GradientRefused(
                "a function under checkpoint(policy='min_cut') closes over tensors that require gradients, "
                "which it would take for "
                "constants: make them arguments, as graph.functional does with parameters"
            )
        return make_boxed_func(module.forward)

    # The function may close over constants, which are not fake.
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    with tracing(TracingContext(mode)), warnings.catch_warnings():
        # AOTAutograd reads .grad of non-leaf tensors, which warns.
        warnings.simplefilter("ignore")
        return list(
            aot_function(function, compiled, partition_fn=min_cut_rematerialization_partition)(arrays)
        )


def _by_autograd(function: Function, primals: Arrays) -> tuple[Arrays, Arrays, Callable[[Arrays], Arrays]]:
    if torch._C._functorch.maybe_current_level() is not None:
        raise NotCompilable(
            "a function under checkpoint is differentiated inside of vmap or forward mode, which torch "
            "cannot: put checkpoint outside, or "
            "transform a graph that is written for jax"
        )
    is_inner = any(array.requires_grad for array in primals)
    with torch.enable_grad():
        inputs = [
            array.view_as(array) if array.requires_grad else array.detach().requires_grad_()
            for array in primals
        ]
        results, aux = function(inputs)

    def pull(cotangents: Arrays) -> Arrays:
        followed = [(result, given) for result, given in zip(results, cotangents) if result.requires_grad]
        roots, given = zip(*followed) if followed else ((), ())
        found = torch.autograd.grad(
            roots, inputs, given, retain_graph=True, create_graph=is_inner, allow_unused=True
        )
        return [
            torch.zeros_like(array) if gradient is None else gradient
            for array, gradient in zip(inputs, found)
        ]

    return results if is_inner else [array.detach() for array in results], aux, pull


def _recorded_scan(step: Step, state: Arrays, rows: Arrays, checkpoint: bool) -> tuple[Arrays, Arrays]:
    def combine(carry: Arrays, row: Arrays) -> tuple[Arrays, Arrays]:
        new, made = step(carry, row)
        # torch's scan does not support results that alias others.
        return [array.clone() for array in new], [array.clone() for array in made]

    with recomputing_iterations(checkpoint):
        last, outputs = scan(combine, state, rows)
    return last, outputs


_checkpoint_name: ContextVar[str | None] = ContextVar("name of the value that is made", default=None)


def _keep_named(
    names: frozenset[str], context: Any, operation: Any, *args: Any, **kwargs: Any
) -> CheckpointPolicy:
    return (
        CheckpointPolicy.MUST_SAVE if _checkpoint_name.get() in names else CheckpointPolicy.PREFER_RECOMPUTE
    )


def _keep_products(context: Any, operation: Any, *args: Any, **kwargs: Any) -> CheckpointPolicy:
    return CheckpointPolicy.MUST_SAVE if operation in _PRODUCTS else CheckpointPolicy.PREFER_RECOMPUTE


# ``torch.func`` requires separate arguments, and tuples as results.
def _with_tuples(function: Function) -> Callable[..., tuple[tuple[Any, ...], tuple[Any, ...]]]:
    def given(*arrays: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        results, aux = function(list(arrays))
        return tuple(results), tuple(aux)

    return given


derivatives = TorchDerivatives()
