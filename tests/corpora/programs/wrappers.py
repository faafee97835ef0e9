"""Programs with wrapped functions and modules: context managers, hooks, parametrisations, scripted and
compiled code.
"""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import functools
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn.utils import parametrizations, parametrize

from .table import ELSEWHERE, Keywords, Program


def _x(*shape: int) -> torch.Tensor:
    size = 1
    for n in shape:
        size *= n
    return torch.linspace(-2, 3, size).reshape(shape)


# ------------------------------------------------------------------------------------------- context managers
def no_grad(x: Any) -> Any:
    with torch.no_grad():
        y = x * 2
    return y + x


def enable_grad(x: Any) -> Any:
    with torch.no_grad(), torch.enable_grad():
        return x * 2


def inference_mode(x: Any) -> Any:
    with torch.inference_mode():
        y = x * 2
        z = y + 1
    return z * 3


@torch.no_grad()
def decorated_no_grad(x: Any) -> Any:
    return x * 2


@torch.inference_mode()
def decorated_inference_mode(x: Any) -> Any:
    return x * 2


def set_grad_enabled(x: Any) -> Any:
    before = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    y = x * 2
    torch.set_grad_enabled(before)
    return y + 1


def set_grad_context(x: Any) -> Any:
    with torch.set_grad_enabled(x.shape[0] > 1):
        return x * 2


def autocast(x: Any) -> Any:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return x @ x.mT


def autocast_mixed(x: Any) -> Any:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = x @ x.mT
        z = y.softmax(-1) + y
        w = torch.nn.functional.layer_norm(z, z.shape[-1:])
    return y, z, w, w @ w


def autocast_half(x: Any) -> Any:
    with torch.autocast("cpu", dtype=torch.float16):
        return torch.nn.functional.linear(x, x) + 1


def autocast_nested(x: Any) -> Any:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = x @ x.mT
        with torch.autocast("cpu", enabled=False):
            z = x @ x.mT
        return y, z, torch.bmm(x[None], x.mT[None])


def autocast_disabled(x: Any) -> Any:
    with torch.autocast("cpu", enabled=False):
        return x @ x.mT


def autocast_cat(x: Any) -> Any:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return torch.cat([x @ x.mT, x @ x.mT + x[:, :1]])


def autocast_asks(x: Any) -> Any:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return x * 2 if torch.is_autocast_enabled("cpu") else x * 3


@torch.autocast("cpu", dtype=torch.bfloat16)
def autocast_decorated(x: Any) -> Any:
    return torch.einsum("ij,kj->ik", x, x)


def autocast_written(x: Any) -> Any:
    y = torch.zeros(x.shape[0], x.shape[0])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y += x @ x.mT
    return y


def device_context(x: Any) -> Any:
    with torch.device("cpu"):
        return x + torch.ones(3)


def default_dtype(x: Any) -> Any:
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        return (
            x + torch.ones(3),
            torch.ones(2) / 3,
            torch.tensor([1.5]),
            torch.arange(3) / 2,
            torch.arange(2.0),
        )
    finally:
        torch.set_default_dtype(before)


def default_dtype_after(x: Any) -> Any:
    before = torch.get_default_dtype()
    try:
        torch.set_default_dtype(torch.float64)
        y = torch.ones(3)
    finally:
        torch.set_default_dtype(before)
    return y, torch.ones(3) / x, (x > 0) / 2


@contextlib.contextmanager
def _scaled(x: Any) -> Any:
    yield x * 2


def own_context(x: Any) -> Any:
    with _scaled(x) as y, contextlib.suppress(ValueError):
        return y + 1


class _Timer:
    def __enter__(self) -> _Timer:
        self.calls = 0
        return self

    def __exit__(self, *_: Any) -> None:
        self.calls += 1


def own_context_class(x: Any) -> Any:
    with _Timer() as timer:
        y = x * 2
    return y + timer.calls


def exit_stack(x: Any) -> Any:
    with contextlib.ExitStack() as stack:
        stack.enter_context(torch.no_grad())
        stack.callback(lambda: None)
        return x * 2


def fork_rng(x: Any) -> Any:
    with torch.random.fork_rng():
        torch.manual_seed(0)
    return x * 2


def record_function(x: Any) -> Any:
    with torch.profiler.record_function("part"):
        return x * 2


def sdpa_kernel(x: Any) -> Any:
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        return torch.nn.functional.scaled_dot_product_attention(x[None], x[None], x[None])


def warnings_inside(x: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.warn(f"size {x.shape[0]}", stacklevel=1)
    return x * 2


def detect_anomaly(x: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.autograd.detect_anomaly():
            return x * 2


def saved_tensors_hooks(x: Any) -> Any:
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 2, lambda t: t / 2):
        return x * 2


def deterministic(x: Any) -> Any:
    torch.use_deterministic_algorithms(True)
    try:
        return x.cumsum(0)
    finally:
        torch.use_deterministic_algorithms(False)


def number_of_threads(x: Any) -> Any:
    return x * (1 if torch.get_num_threads() > 0 else 2)


# --------------------------------------------------------------------------------- scripted, compiled, traced
@torch.jit.script
def _scripted(x: torch.Tensor) -> torch.Tensor:
    if x.sum() > 0:
        return x * 2
    return x - 1


def traced_while_recording(x: Any) -> Any:
    return torch.jit.trace(lambda y: y * 2, (x,))(x)


def scripted_inside(x: Any) -> Any:
    return _scripted(x) + 1


class _Linear(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x) * 2


class ScriptedInside(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.jit.script(_Linear())

    def forward(self, x: Any) -> Any:
        return self.inner(x) + 1


class TracedInside(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.jit.trace(_Linear(), torch.ones(2, 3))

    def forward(self, x: Any) -> Any:
        return self.inner(x) + 1


class CompiledInside(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.compile(_Linear(), backend="eager")

    def forward(self, x: Any) -> Any:
        return self.inner(x) + 1


_compiled = torch.compile(lambda x: x.sin() * 2, backend="eager")


def compiled_inside(x: Any) -> Any:
    return _compiled(x) + 1


@torch.compiler.disable
def _disabled(x: Any) -> Any:
    return x * 2


def disabled_inside(x: Any) -> Any:
    return _disabled(x) + 1


class FxInside(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.fx.symbolic_trace(_Linear())

    def forward(self, x: Any) -> Any:
        return self.inner(x) + 1


class ExportedInside(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.export.export(_Linear(), (torch.ones(2, 3),)).module()

    def forward(self, x: Any) -> Any:
        return self.inner(x) + 1


# ---------------------------------------------------------------------------------------------- hooks
class Hooked(nn.Module):
    def __init__(self, register: Callable[[Any], Any] = lambda module: None) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(3, 3), nn.Linear(3, 2)
        register(self)

    def forward(self, x: Any) -> Any:
        return self.second(self.first(x).relu())


def _double_output(module: Any, args: Any, output: Any) -> Any:
    return output * 2


def _double_input(module: Any, args: Any) -> Any:
    return (args[0] * 2,)


def _keyword_hook(module: Any, args: Any, kwargs: Any, output: Any) -> Any:
    return output + args[0].sum()


class Captures(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.kept: dict[str, Any] = {}
        self.layer.register_forward_hook(lambda module, args, output: self.kept.update(value=output))

    def forward(self, x: Any) -> Any:
        y = self.layer(x)
        z = self.kept["value"] + y
        self.kept.clear()
        return z


def _backward_hook(module: Any) -> Any:
    return module.first.register_full_backward_hook(lambda m, gi, go: (gi[0] * 2,))


def tensor_hook(x: Any) -> Any:
    y = x * 2
    if y.requires_grad:
        y.register_hook(lambda g: g * 2)
    return y


# ------------------------------------------------------------------------------------------- parametrisations
class _Symmetric(nn.Module):
    def forward(self, weight: Any) -> Any:
        return weight.triu() + weight.triu(1).mT


def _parametrised() -> Any:
    layer = nn.Linear(3, 3)
    parametrize.register_parametrization(layer, "weight", _Symmetric())
    return layer


def _cached_parametrisation() -> Any:
    layer = _parametrised()

    class Cached(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = layer

        def forward(self, x: Any) -> Any:
            with parametrize.cached():
                return self.layer(self.layer(x))

    return Cached()


def _old_weight_norm() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return nn.utils.weight_norm(nn.Linear(3, 2))


def _old_spectral_norm() -> Any:
    return nn.utils.spectral_norm(nn.Linear(3, 3))


def _pruned() -> Any:
    from torch.nn.utils import prune

    layer = nn.Linear(3, 3)
    prune.l1_unstructured(layer, "weight", amount=3)
    return layer


# ---------------------------------------------------------------------------------------------- odd modules
class Forwarding(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(3, 2)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self.inner, name)

    def forward(self, x: Any) -> Any:
        return x @ self.weight.mT + self.bias


class Containers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleDict({"a": nn.Linear(3, 3), "b": nn.Linear(3, 3)})
        self.weights = nn.ParameterList([nn.Parameter(torch.ones(3) * i) for i in range(2)])
        self.named = nn.ParameterDict({"scale": nn.Parameter(torch.ones(3) * 2)})
        self.more = nn.ModuleList([nn.Linear(3, 3), nn.ReLU()])

    def forward(self, x: Any) -> Any:
        for name, layer in self.layers.items():
            x = layer(x) * self.weights[0 if name == "a" else 1] + 1
        for layer in self.more:
            x = layer(x)
        return x * self.named["scale"] + sum(p.sum() for p in self.parameters())


class Shared(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = self.second = nn.Linear(3, 3)
        self.third = nn.Linear(3, 3)
        self.third.weight = self.first.weight

    def forward(self, x: Any) -> Any:
        return self.third(self.second(self.first(x)))


class NonPersistent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("table", torch.arange(3.0), persistent=False)
        self.register_buffer("other", torch.arange(3.0) * 2)
        self.register_buffer("nothing", None)

    def forward(self, x: Any) -> Any:
        return x * self.table + self.other if self.nothing is None else x


class Lazy(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.LazyLinear(2)

    def forward(self, x: Any) -> Any:
        return self.layer(x)


class PropertyModule(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.raw = nn.Parameter(torch.zeros(3))

    @property
    def scale(self) -> Any:
        return self.raw.exp() + 1

    @functools.cached_property
    def constant(self) -> Any:
        return torch.arange(3.0)

    def forward(self, x: Any) -> Any:
        return x * self.scale + self.constant


class CalledTwice(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x: Any, depth: int = 2) -> Any:
        return self.layer(x) if depth == 0 else self(self.layer(x), depth - 1)


class DynamicChild(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        for i in range(3):
            setattr(self, f"layer_{i}", nn.Linear(3, 3))

    def forward(self, x: Any) -> Any:
        for i in range(3):
            x = getattr(self, f"layer_{i}")(x)
        return x


class UsesStateDict(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x: Any) -> Any:
        state = self.state_dict()
        return x @ state["layer.weight"].mT + dict(self.named_parameters())["layer.bias"]


class ToInside(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x: Any) -> Any:
        return x.to(self.layer.weight.dtype).to(next(self.parameters()).device) @ self.layer.weight.to(x)


class TrainInside(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.dropout = nn.Dropout(0.5)

    def forward(self, x: Any) -> Any:
        self.dropout.eval()
        y = self.dropout(x)
        self.dropout.train()
        return y


class CopiesModule(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x: Any) -> Any:
        import copy

        return copy.deepcopy(self.layer)(x)


class MakesModule(nn.Module):
    def forward(self, x: Any) -> Any:
        self.made = nn.Identity()
        return self.made(x) * 2


class Replicated(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x: Any) -> Any:
        return nn.DataParallel(self.layer)(x)


# ------------------------------------------------------------------------------------ arguments and callables
class Kind(enum.Enum):
    ADD = "add"
    MUL = "mul"


class Level(enum.IntEnum):
    ONE = 1
    TWO = 2


class Flags(enum.Flag):
    A = enum.auto()
    B = enum.auto()


@dataclasses.dataclass(frozen=True)
class Options:
    kind: Kind = Kind.ADD
    scale: float = 2.0


@dataclasses.dataclass
class Outcome:
    value: Any
    kind: Kind


class Pair(NamedTuple):
    left: Any
    right: Any


def enum_argument(x: Any, kind: Kind) -> Any:
    return x + 1 if kind is Kind.ADD else x * 3


def int_enum_argument(x: Any, level: Level) -> Any:
    return x * level


def flag_argument(x: Any, flags: Flags) -> Any:
    return x + (1 if Flags.A in flags else 0) + (2 if Flags.B in flags else 0)


def options_argument(x: Any, options: Options) -> Any:
    return Outcome(x * options.scale if options.kind is Kind.MUL else x + options.scale, options.kind)


def pair_argument(pair: Pair) -> Any:
    return Pair(pair.right + 1, pair.left * 2)


def callable_argument(function: Any, x: Any) -> Any:
    return function(x) + 1


def replaced_dataclass(options: Options, x: Any) -> Any:
    return x * dataclasses.replace(options, scale=3.0).scale


def asdict(outcome: Outcome) -> Any:
    return dataclasses.replace(outcome, value=outcome.value * 2)


def range_argument(x: Any, numbers: Any) -> Any:
    return sum(x * i for i in numbers)


@functools.cache
def _cached_number(n: int) -> float:
    return n * 2.0


def lru_cache_of_numbers(x: Any) -> Any:
    return x * _cached_number(int(x.shape[0]))


@functools.cache
def _cached_mask(n: int) -> Any:
    return torch.ones(n, n).tril()


def lru_cache_of_tensors(x: Any) -> Any:
    return _cached_mask(x.shape[0]) @ x


@functools.cache
def _cached_tensor(x: Any) -> Any:
    return x * 2


def lru_cache_by_tensor(x: Any) -> Any:
    return _cached_tensor(x) + 1


def _logged(function: Any) -> Any:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs) * 2

    return wrapper


@_logged
@_logged
def wrapped(x: Any, y: Any = 1) -> Any:
    return x + y


@functools.singledispatch
def dispatched(x: Any) -> Any:
    raise TypeError


@dispatched.register
def _(x: torch.Tensor) -> Any:
    return x * 2


class Callable_:
    def __call__(self, x: Any) -> Any:
        return x * 2

    def method(self, x: Any) -> Any:
        return x * 3


class Meta(type):
    def __call__(cls, x: Any) -> Any:
        return x * 5


class Metaclassed(metaclass=Meta):
    pass


def metaclass_call(x: Any) -> Any:
    return Metaclassed(x) + 1


class Descriptor:
    def __get__(self, owner: Any, cls: Any) -> Any:
        return owner.x * 2


class Described:
    doubled = Descriptor()

    def __init__(self, x: Any) -> None:
        self.x = x


def descriptor(x: Any) -> Any:
    return Described(x).doubled + 1


class Number:
    def __init__(self, x: Any) -> None:
        self.x = x

    def __add__(self, other: Any) -> Any:
        return Number(self.x - other)

    def __matmul__(self, other: Any) -> Any:
        return self.x * 2

    def __getitem__(self, i: Any) -> Any:
        return self.x[i] * 2

    def __iter__(self) -> Any:
        return iter(self.x)


def own_operators(x: Any) -> Any:
    number = Number(x) + 1
    return number @ x, number[0], sum(number)


def async_inside(x: Any) -> Any:
    import asyncio

    async def run() -> Any:
        await asyncio.sleep(0)
        return x * 2

    return asyncio.run(run())


def recursion(x: Any, depth: int = 3) -> Any:
    return x if depth == 0 else recursion(x * 2, depth - 1) + 1


def seeded(make: Any, train: bool = True) -> Any:
    def made() -> Any:
        torch.manual_seed(0)
        module = make()
        return module if train else module.eval()

    return made


_ROWS = tuple(lambda i=i, n=n: (_x(n, 3) + i,) for i, n in enumerate((2, 4, 2)))
_SQUARE = tuple(lambda i=i: (_x(3, 3) + i,) for i in range(2))


def plain(function: Any, *calls: Any, **options: Any) -> Program:
    return Program(
        function.__name__, lambda: function, calls or _ROWS, _ERRORS.get(function.__name__, {}), **options
    )


def module(make: Any, name: str = "", calls: Any = _ROWS, train: bool = True, **options: Any) -> Program:
    name = name or make.__name__
    return Program(name, seeded(make, train), calls, _ERRORS.get(name, {}), **options)


_DTYPE = dict.fromkeys(("torch", ELSEWHERE), "the default dtype was changed inside")
# The hook puts a weight of its own onto the module, which becomes state: and then it is not known what the
# parameter comes from.
_MADE = dict.fromkeys(("torch", ELSEWHERE), "whose memory was written by this function")
_ERRORS = {
    "default_dtype": _DTYPE,
    "default_dtype_after": _DTYPE,
    "traced_while_recording": dict.fromkeys(("torch", ELSEWHERE), "torch.jit.trace records the function"),
    "Lazy": dict.fromkeys(("torch", ELSEWHERE), "call it once before"),
}


PROGRAMS = [
    *map(plain, (
        no_grad, enable_grad, inference_mode, decorated_no_grad, decorated_inference_mode, set_grad_enabled, set_grad_context, autocast,
        autocast_mixed, autocast_half, autocast_nested, autocast_disabled, autocast_cat, autocast_asks, autocast_decorated,
        autocast_written, device_context, default_dtype, default_dtype_after, own_context, own_context_class, exit_stack, fork_rng,
        record_function, sdpa_kernel, warnings_inside, detect_anomaly, saved_tensors_hooks, deterministic, number_of_threads,
        traced_while_recording, scripted_inside, compiled_inside, disabled_inside, tensor_hook, lru_cache_of_numbers, lru_cache_of_tensors,
        lru_cache_by_tensor, metaclass_call, descriptor, own_operators, async_inside, recursion,
    )),
    module(ScriptedInside), module(TracedInside), module(CompiledInside), module(FxInside), module(ExportedInside, calls=_ROWS[::2]),
    Program("autocast_model", seeded(lambda: torch.autocast("cpu", dtype=torch.bfloat16)(nn.Sequential(nn.Linear(3, 3), nn.LayerNorm(3), nn.GELU(), nn.Linear(3, 2)).forward)), _ROWS),
    module(Hooked, "hooks_none"),
    module(lambda: Hooked(lambda m: m.first.register_forward_hook(_double_output)), "hook_changes_output"),
    module(lambda: Hooked(lambda m: m.first.register_forward_pre_hook(_double_input)), "hook_changes_input"),
    module(lambda: Hooked(lambda m: m.register_forward_hook(_keyword_hook, with_kwargs=True)), "hook_with_keywords"),
    module(lambda: Hooked(lambda m: m.first.register_forward_hook(_double_output, always_call=True)), "hook_always"),
    module(Hooked, "hook_later", changes={1: lambda m: m.first.register_forward_hook(_double_output)}),
    module(Hooked, "pre_hook_later", changes={1: lambda m: m.second.register_forward_pre_hook(_double_input)}),
    module(lambda: Hooked(lambda m: m.first.register_forward_hook(_double_output)), "hook_removed", changes={1: lambda m: m.first._forward_hooks.clear()}),
    module(lambda: Hooked(_backward_hook), "backward_hook"),
    module(Captures),
    module(_parametrised, "parametrised"), module(_cached_parametrisation, "parametrised_cached"),
    module(lambda: nn.Linear(3, 3), "parametrised_later", changes={1: lambda m: parametrize.register_parametrization(m, "weight", _Symmetric())}),
    module(_parametrised, "parametrisation_removed", changes={1: lambda m: parametrize.remove_parametrizations(m, "weight")}),
    module(_old_weight_norm, "old_weight_norm"), module(lambda: parametrizations.weight_norm(nn.Linear(3, 2)), "weight_norm"),
    module(lambda: parametrizations.weight_norm(nn.Conv1d(3, 2, 2), dim=None), "weight_norm_convolution", calls=_SQUARE),
    module(_old_spectral_norm, "old_spectral_norm"), module(_old_spectral_norm, "old_spectral_norm_eval", train=False),
    module(lambda: parametrizations.spectral_norm(nn.Linear(3, 3)), "spectral_norm"),
    module(lambda: parametrizations.spectral_norm(nn.Linear(3, 3)), "spectral_norm_eval", train=False),
    module(lambda: parametrizations.orthogonal(nn.Linear(3, 3)), "orthogonal"),
    module(lambda: parametrizations.orthogonal(nn.Linear(3, 3), orthogonal_map="cayley"), "orthogonal_cayley"),
    module(_pruned, "pruned"),
    module(Forwarding), module(Containers), module(Shared), module(NonPersistent), module(Lazy), module(PropertyModule),
    module(CalledTwice), module(DynamicChild), module(UsesStateDict), module(ToInside), module(TrainInside), module(CopiesModule),
    module(MakesModule), module(Replicated),
    plain(enum_argument, lambda: (_x(2), Kind.ADD), lambda: (_x(2), Kind.MUL), lambda: (_x(3), Kind.ADD)),
    plain(int_enum_argument, lambda: (_x(2), Level.ONE), lambda: (_x(2), Level.TWO), lambda: (_x(2), 1)),
    plain(flag_argument, lambda: (_x(2), Flags.A), lambda: (_x(2), Flags.A | Flags.B), lambda: (_x(2), Flags(0))),
    plain(options_argument, lambda: (_x(2), Options()), lambda: (_x(2), Options(Kind.MUL)), lambda: (_x(2), Options(scale=3.0))),
    plain(pair_argument, lambda: (Pair(_x(2), _x(2)),), lambda: (Pair(_x(3), _x(3) + 1),)),
    plain(callable_argument, lambda: (torch.sin, _x(2)), lambda: (Callable_(), _x(2)), lambda: (Callable_().method, _x(2)), lambda: (functools.partial(torch.mul, 3), _x(2))),
    plain(replaced_dataclass, lambda: (Options(), _x(2)), lambda: (Options(Kind.MUL), _x(3))),
    plain(asdict, lambda: (Outcome(_x(2), Kind.ADD),), lambda: (Outcome(_x(2) + 1, Kind.MUL),)),
    plain(range_argument, lambda: (_x(2), range(3)), lambda: (_x(2), range(4)), lambda: (_x(2), [1, 2]), lambda: (_x(2), {5: 1})),
    plain(wrapped, lambda: (_x(2),), lambda: (_x(2), 3), lambda: (_x(2), Keywords(y=_x(2)))),
    Program("dispatched", lambda: dispatched, _ROWS),
    Program("callable_object", Callable_, _ROWS),
    Program("method_of_object", lambda: Callable_().method, _ROWS),
    Program("partial_positional", lambda: functools.partial(torch.sub, torch.ones(3)), _ROWS),
    Program("partial_of_partial", lambda: functools.partial(functools.partial(wrapped, y=2)), _ROWS),
    Program("partial_method", lambda: functools.partial(Callable_.method, Callable_()), _ROWS),
    Program("builtin", lambda: torch.relu, _ROWS),
    Program("tensor_method", lambda: torch.Tensor.sin, _ROWS),
]  # fmt: skip
