"""Training by ``torch.optim`` and ``torch.autograd``, which updates arrays in place."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch

from ...contracts.training import Arrays, Make, Program, StepState, Training
from ...errors import InvalidOption
from ...forwarding import forwards
from .native import target

# Optimizer classes, and their own names for options.
_OPTIMIZERS: Mapping[str, tuple[Any, Mapping[str, str]]] = {
    "sgd": (torch.optim.SGD, {}),
    "adam": (torch.optim.Adam, {}),
    "adamw": (torch.optim.AdamW, {}),
    "rmsprop": (torch.optim.RMSprop, {"decay": "alpha"}),
    "adagrad": (torch.optim.Adagrad, {"initial_accumulator": "initial_accumulator_value"}),
    "adadelta": (torch.optim.Adadelta, {"decay": "rho"}),
    "adamax": (torch.optim.Adamax, {}),
    "nadam": (torch.optim.NAdam, {}),
}
# The state of a generator begins with the seed.
_SEED_BYTES = 8


class TorchTraining(Training):
    """Training engine of torch, which updates the trained tensors of the state in place."""

    compiles_models = True

    # ------------------------------------------------------------------------------ optimizers
    def named(self, name: str, options: Mapping[str, Any]) -> Make:
        if name not in _OPTIMIZERS:
            raise InvalidOption(
                f"torch.optim has no {name!r}: train in jax or tensorflow, or pass a class of yours that is "
                "an Optimizer"
            )
        cls, names = _OPTIMIZERS[name]
        given = {
            names.get(option, option): value
            for option, value in options.items()
            if option not in ("learning_rate", "b1", "b2")
        }
        if "b1" in options:
            given["betas"] = (options["b1"], options["b2"])
        # The learning rate is set before each step.
        return partial(cls, lr=0.0, **given)

    def factory_of_own(self, item: Any) -> Make | None:
        if isinstance(item, torch.optim.Optimizer):
            return _same_options(item)
        cls = item.func if isinstance(item, partial) else item
        is_one = inspect.isclass(cls) and issubclass(cls, torch.optim.Optimizer) or inspect.isfunction(cls)
        return item if is_one else None

    def has_rate(self, make: Make) -> bool:
        return True

    def new_optimizer_state(self, make: Make, trained: Arrays) -> Any:
        found = make(list(trained.values()))
        if not isinstance(found, torch.optim.Optimizer):
            raise InvalidOption(
                f"the optimizer gives a {type(found).__name__} for a list of tensors, and has to give a "
                "torch.optim.Optimizer"
            )
        closure = inspect.signature(type(found).step).parameters.get("closure")
        if closure is not None and closure.default is inspect.Parameter.empty:
            raise InvalidOption(
                f"optimizer is torch.{type(found).__name__}, which computes the loss several times in each "
                "of its steps, and a training "
                "step does once: pass another one, or call it in a loop of your own with "
                "graph.as_module().parameters()"
            )
        return found

    def updated(
        self, make: Make, held: StepState, gradients: Arrays, rate: Any, is_finite: Any
    ) -> tuple[Arrays, Any]:
        if is_finite is False:
            return held.trained, held.optimizer
        for group in held.optimizer.param_groups if rate is not None else ():
            group["lr"] = rate
        for name, tensor in held.trained.items():
            tensor.grad = gradients[name]
        held.optimizer.step()
        return held.trained, held.optimizer

    def optimizer_arrays(self, make: Make, held: StepState) -> Arrays:
        return {
            f"{name}/{key}": value
            if isinstance(value, torch.Tensor)
            else torch.tensor(value, dtype=torch.float64)
            for name, tensor in held.trained.items()
            for key, value in held.optimizer.state.get(tensor, {}).items()
            if value is not None
        }

    def with_optimizer_arrays(self, make: Make, held: StepState, arrays: Arrays) -> Any:
        made = self.new_optimizer_state(make, held.trained)
        for name, tensor in held.trained.items():
            of_tensor = {key.rpartition("/")[2]: key for key in arrays if key.rpartition("/")[0] == name}
            if of_tensor:
                # By default, torch counts steps on the CPU, and stores all else where the parameter is.
                made.state[tensor] = {
                    key: arrays[path].to("cpu" if key == "step" else tensor.device, copy=True)
                    for key, path in of_tensor.items()
                }
        return made

    # ------------------------------------------------------------------------------ arrays
    def trainable(self, array: Any) -> Any:
        return array.detach().clone().requires_grad_()

    def copied(self, array: Any) -> Any:
        return array.detach().clone()

    snapshot = copied

    def values(self, arrays: Arrays) -> Arrays:
        return arrays

    def with_elements(self, held: Arrays, new: Arrays) -> Arrays:
        found = {name: new[name].detach() if name in new else array for name, array in held.items()}
        # The optimizer refers to leaves, so these are written to in place.
        for name, leaf in held.items():
            if name in new and leaf.requires_grad:
                with torch.no_grad():
                    found[name] = leaf.copy_(found[name])
        return found

    def zeros_like(self, array: Any) -> Any:
        return torch.zeros_like(array, requires_grad=False)

    def number(self, value: float | int) -> Any:
        return torch.tensor(value, dtype=torch.int32 if isinstance(value, int) else torch.float32)

    def is_floating(self, array: Any) -> bool:
        return bool(array.is_floating_point())

    # ------------------------------------------------------------------------------ gradients
    def gradients(
        self, function: Callable[[Arrays], tuple[Any, Any]], trained: Arrays
    ) -> tuple[Any, Any, Arrays]:
        # Freeing the old gradients here instead of at the end of a step lets the allocator reuse their memory
        # without mapping it again.
        for tensor in trained.values():
            tensor.grad = None
        with torch.enable_grad():
            value, aux = function(trained)
            found = (
                torch.autograd.grad(value, list(trained.values()), allow_unused=True)
                if value.requires_grad
                else [None] * len(trained)
            )
        gradients = {
            name: torch.zeros_like(tensor) if gradient is None else gradient
            for (name, tensor), gradient in zip(trained.items(), found)
        }
        return value.detach(), aux, gradients

    def detached(self, array: Any) -> Any:
        return array.detach()

    def scaled(self, arrays: Arrays, factor: Any) -> Arrays:
        return dict(zip(arrays, torch._foreach_mul(list(arrays.values()), factor))) if arrays else {}

    def added(self, left: Arrays, right: Arrays) -> Arrays:
        return dict(zip(left, torch._foreach_add(list(left.values()), [right[name] for name in left])))

    def mixed(self, left: Arrays, right: Arrays, weight: float) -> Arrays:
        others = [right[name].detach() for name in left]
        return dict(zip(left, torch._foreach_lerp(list(left.values()), others, 1 - weight)))

    def norm(self, arrays: Arrays) -> Any:
        # A norm in float16 would overflow above 65,504.
        wide = [array.to(torch.promote_types(array.dtype, torch.float32)) for array in arrays.values()]
        return torch.nn.utils.get_total_norm(wide)

    def minimum(self, left: Any, right: Any) -> Any:
        return torch.clamp(left, max=right)

    def is_finite(self, arrays: Arrays) -> Any:
        return bool(torch.stack([torch.isfinite(array).all() for array in arrays.values()]).all())

    def where(self, condition: Any, new: Arrays, old: Arrays) -> Arrays:
        return new if condition else old

    def restored(self, array: Any, like: Any) -> Any:
        return array.to(like.device)

    # ------------------------------------------------------------------------------ random numbers
    def generator(self, like: Any) -> Any:
        made = torch.Generator(like.device)
        made.set_state(_default_generator(made).get_state())
        return made

    def key(self, rng: Any) -> tuple[Any, Any]:
        return _default_generator(rng), rng

    @contextmanager
    def drawing(self, rng: Any) -> Iterator[None]:
        default = _default_generator(rng)
        outside = default.get_state()
        default.set_state(rng.get_state())
        try:
            yield
            rng.set_state(default.get_state())
        finally:
            default.set_state(outside)

    def rng_arrays(self, rng: Any) -> Arrays:
        return {"generator": rng.get_state()}

    def with_rng_arrays(self, arrays: Arrays, like: Any) -> Any:
        made, state = torch.Generator(like.device), arrays["generator"]
        if state.numel() == made.get_state().numel():
            made.set_state(state)
        else:
            # A generator of another kind samples other numbers anyway.
            made.manual_seed(int.from_bytes(bytes(state[:_SEED_BYTES].tolist()), "little", signed=True))
        return made

    # ------------------------------------------------------------------------------ running
    def compiled(self, step: Program, is_consuming: bool, options: Mapping[str, Any] | None) -> Program:
        return step

    @forwards
    def placed(self, array: Any, where: Any) -> Any:
        tensor = target.convert(array)
        if where is None or torch.device(where).type == tensor.device.type == "cpu":
            return tensor
        return (tensor.pin_memory() if torch.device(where).type == "cuda" and tensor.is_cpu else tensor).to(
            where, non_blocking=True
        )

    def device_of(self, held: StepState) -> Any:
        tensor = next(iter(held.trained.values()))
        return None if tensor.is_cpu else tensor.device

    def synchronized(self, array: Any) -> Any:
        if array.is_cuda and (own := torch.cuda.current_stream(array.device)) != (
            first := torch.cuda.default_stream(array.device)
        ):
            own.wait_stream(first)
            # The memory is then not reused before the current stream has finished with it.
            array.record_stream(own)
        return array

    def is_device(self, item: Any) -> bool:
        if isinstance(item, str):
            try:
                torch.device(item)
            except RuntimeError:
                return False
            return True
        return isinstance(item, torch.device)


def _default_generator(generator: torch.Generator) -> torch.Generator:
    if generator.device.type == "cpu":
        return torch.default_generator
    found: torch.Generator = torch.cuda.default_generators[generator.device.index or 0]
    return found


def _same_options(item: Any) -> Make:
    """Return a function that makes an optimizer of the class and the options of ``item``."""
    if len(item.param_groups) > 1:
        raise InvalidOption(
            f"the optimizer {type(item).__name__} has {len(item.param_groups)} groups of parameters, of "
            "tensors that are not those of the "
            "state: pass its class, functools.partial(cls, ...), or a function of the list of tensors"
        )
    cls: Any = type(item)
    known = _option_names(cls)
    options = {name: value for name, value in item.param_groups[0].items() if name in known}

    def make(tensors: Any) -> Any:
        try:
            return cls(tensors, **options)
        # A constructor may set an option itself and pass the others on.
        except TypeError as problem:
            raise InvalidOption(
                f"the optimizer {cls.__name__} cannot be created anew with the options {sorted(options)} "
                f"({problem}): pass its class, functools.partial(cls, ...), or a function of the tensors"
            ) from problem

    return make


def _option_names(cls: type) -> set[str]:
    """Return the option names of the constructor of ``cls``, and of those that it may pass options to."""
    names: set[str] = set()
    for constructor in (vars(each)["__init__"] for each in cls.__mro__ if "__init__" in vars(each)):
        parameters = inspect.signature(constructor).parameters
        names.update(parameters)
        if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
            break
    return names - {"params"}


training = TorchTraining()
