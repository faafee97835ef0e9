"""Random numbers, with the distributions of torch but not its numbers."""

from __future__ import annotations

import math
import zlib
from typing import Any

import torch

from ....ir import Value
from ....ops.dtypes import is_complex, real_of
from ....ops.registry import ArraySpec
from ....sizes import apply, product
from ..basics.tensors import dtype_name
from .table import TorchBuilder, rows

# The size of the state of torch's generator on the CPU.
_STATE_BYTES = 5056


def _shape(size: tuple[Any, ...], named: Any = None) -> tuple[Any, ...]:
    if named is not None:
        return (named,) if not isinstance(named, (tuple, list)) else tuple(named)
    return tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else size


# ---------------------------------------------------------------------------------------------- generators
@rows.row("manual_seed")
def manual_seed(b: TorchBuilder, *args: Any) -> None:
    b.seed(args[0] if len(args) > 1 else None, args[-1])


@rows.row("Generator")
def generator(b: TorchBuilder) -> Any:
    made = Value("generator", ArraySpec((), "generator"))
    b.seed(made, 0)
    return made


# The array represents the stream at that moment.
rows.table({"get_rng_state": lambda b: _kept_state(b, None)})


@rows.row("get_state")
def get_state(b: TorchBuilder, generator: Any) -> Any:
    return _kept_state(b, generator)


def _kept_state(b: TorchBuilder, generator: Any) -> Any:
    state = b.zeros(shape=(_STATE_BYTES,), dtype="uint8")
    b.states[state] = b.streams.get(generator) or b.last_key
    return state


@rows.row("set_rng_state")
def set_rng_state(b: TorchBuilder, new_state: Any) -> None:
    _put_state(b, None, new_state)


@rows.row("set_state")
def set_state(b: TorchBuilder, generator: Any, new_state: Any) -> None:
    _put_state(b, generator, new_state)


def _put_state(b: TorchBuilder, generator: Any, state: Any) -> None:
    if state not in b.states:
        # The state comes from outside of the function. Its bytes are the seed, so that equal states lead to
        # equal numbers.
        array = next(array for value, array in b.graph.constants.values() if value is state)
        b.seed(generator, zlib.crc32(bytes(array.tolist())))
    elif isinstance(stream := b.states[state], tuple):
        b.streams[generator] = stream
    # Another generator drew from the key of the graph, so the state is that key.
    else:
        b.streams.pop(generator, None)
        b.last_key = stream


# ---------------------------------------------------------------------------------------------- new arrays
def _new(name: str, op: str) -> None:
    @rows.row(name)
    def row(b: TorchBuilder, *args: Any, size: Any = None, dtype: Any = None, **_: Any) -> Any:
        return getattr(b, op)(b.next_key(), shape=_shape(args, size), dtype=dtype_name(dtype))

    @rows.row(f"{name}_like")
    def like(b: TorchBuilder, input: Any, *, dtype: Any = None, **_: Any) -> Any:
        return getattr(b, op)(b.next_key(), shape=input.shape, dtype=dtype_name(dtype or input.dtype))

    row.__doc__, like.__doc__ = f"torch.{name}.", f"torch.{name}_like."


_new("rand", "random_uniform")
_new("randn", "random_normal")


def _integers(b: TorchBuilder, shape: Any, low: Any, high: Any, dtype: str) -> Any:
    kind = dtype if "int" in dtype else "int64"
    drawn = b.random_integers(b.next_key(), shape=shape, low=low, high=high, dtype=kind)
    return b.cast(drawn, dtype)


@rows.row("randint")
def randint(
    b: TorchBuilder,
    *args: Any,
    low: Any = None,
    high: Any = None,
    size: Any = None,
    dtype: Any = None,
    **_: Any,
) -> Any:
    given = list(args)
    if given and isinstance(given[-1], (tuple, list)):
        size = given.pop()
    bounds = [*([low] if low is not None else []), *given, *([high] if high is not None else [])]
    low, high = bounds if len(bounds) == 2 else (0, bounds[0])
    return _integers(b, tuple(size), low, high, dtype_name(dtype or "int64"))


@rows.row("randint_like")
def randint_like(
    b: TorchBuilder, input: Any, *args: Any, low: Any = None, high: Any = None, dtype: Any = None, **_: Any
) -> Any:
    bounds = [*([low] if low is not None else []), *args, *([high] if high is not None else [])]
    low, high = bounds if len(bounds) == 2 else (0, bounds[0])
    return _integers(b, input.shape, low, high, dtype_name(dtype or input.dtype))


rows.table(
    {
        "randperm": lambda b, n, *, dtype=None, **_: b.random_permutation(
            b.next_key(), n=n, dtype=dtype_name(dtype or "int64")
        )
    }
)


@rows.row("normal")
def normal(
    b: TorchBuilder,
    mean: Any = 0.0,
    std: Any = 1.0,
    size: Any = None,
    *,
    generator: Any = None,
    dtype: Any = None,
    **_: Any,
) -> Any:
    if size is not None:
        return _filled(b, tuple(size), dtype_name(dtype), mean, std)
    like = b.promote(*(item for item in (mean, std) if hasattr(item, "ndim")))
    if isinstance(std, Value):
        b.expect(b.all(b.greater_equal(std, 0)), True)
    shape = (b.add(*like) if len(like) == 2 else like[0]).shape
    return _scaled(b, b.random_normal(b.next_key(), shape=shape, dtype=like[0].dtype), mean, std)


def _filled(b: TorchBuilder, shape: Any, dtype: str, mean: Any, std: Any) -> Any:
    drawn = b.random_normal(b.next_key(), shape=shape, dtype=dtype)
    # torch adds the mean to the real and to the imaginary part.
    both = b.multiply(b.array(mean, dtype), 1 + 1j) if is_complex(dtype) and not _is(mean, 0) else mean
    return _scaled(b, drawn, both, std)


def _scaled(b: TorchBuilder, drawn: Any, mean: Any, std: Any) -> Any:
    mean, std = (b.cast(item, drawn.dtype) for item in (mean, std))
    wide = drawn if _is(std, 1) else b.multiply(drawn, std)
    return wide if _is(mean, 0) else b.add(wide, mean)


def _is(number: Any, value: float) -> bool:
    return isinstance(number, (int, float)) and number == value


# ---------------------------------------------------------------------------------------------- fills
# A call such as ``x.uniform_()`` is lifted by the row ``uniform`` of its bare name.


def _float(x: Any) -> str:
    return x.dtype if "float" in x.dtype or "complex" in x.dtype else "float32"


@rows.row("uniform")
def uniform(
    b: TorchBuilder, input: Any, low: Any = 0.0, high: Any = 1.0, *, generator: Any = None, **kwargs: Any
) -> Any:
    low, high = kwargs.get("from", low), kwargs.get("to", high)
    if not is_complex(input.dtype):
        return b.random_uniform(b.next_key(), shape=input.shape, low=low, high=high, dtype=input.dtype)
    parts = b.random_uniform(
        b.next_key(), shape=(*input.shape, 2), low=low, high=high, dtype=real_of(input.dtype)
    )
    return b.view_as_complex(parts)


# The row "normal" does not fit, because its first argument is the mean.
@rows.row("normal_")
def normal_fill(
    b: TorchBuilder, input: Any, mean: Any = 0.0, std: Any = 1.0, *, generator: Any = None
) -> Any:
    return _filled(b, input.shape, input.dtype, mean, std)


rows.table({
    "log_normal": lambda b, input, mean=1.0, std=2.0, *, generator=None:
        b.exp(normal_fill(b, input, mean, std)),
    "nn.init.uniform_": lambda builder, /, tensor, a=0.0, b=1.0, generator=None:
        uniform(builder, tensor, a, b),
    "nn.init.normal_": lambda b, tensor, mean=0.0, std=1.0, generator=None: normal_fill(b, tensor, mean, std),
})  # fmt: skip


@rows.row("exponential")
def exponential(b: TorchBuilder, input: Any, lambd: float = 1.0, *, generator: Any = None) -> Any:
    drawn = b.random_exponential(b.next_key(), shape=input.shape, dtype=input.dtype)
    return drawn if lambd == 1 else b.divide(drawn, lambd)


@rows.row("cauchy")
def cauchy(
    b: TorchBuilder, input: Any, median: float = 0.0, sigma: float = 1.0, *, generator: Any = None
) -> Any:
    return _scaled(b, b.random_cauchy(b.next_key(), shape=input.shape, dtype=input.dtype), median, sigma)


@rows.row("geometric")
def geometric(b: TorchBuilder, input: Any, p: float, *, generator: Any = None) -> Any:
    if p >= 1:
        return b.ones(shape=input.shape, dtype=input.dtype)
    # An exponential sample divided by ``-log(1 - p)`` and rounded up has this distribution.
    waited = b.random_exponential(b.next_key(), shape=input.shape, dtype=_float(input))
    return b.cast(b.add(b.floor(b.divide(waited, -_log1p(-p))), 1.0), input.dtype)


def _log1p(x: float) -> float:
    return math.log1p(x)


# The default upper bounds of ``random_``. For floats, all integers below the bound are exact.
_LIMITS = {"uint8": 2**8, "int8": 2**7, "int16": 2**15, "int32": 2**31 - 1, "int64": 2**63 - 1}
_EXACT = {"float16": 2**11, "bfloat16": 2**8, "float32": 2**24, "float64": 2**53, "bool": 2}


@rows.row("random")
def random(
    b: TorchBuilder, input: Any, low: Any = None, high: Any = None, *, generator: Any = None, **kwargs: Any
) -> Any:
    low, high = kwargs.get("from", low), kwargs.get("to", high)
    if high is None:
        low, high = (0, low) if low is not None and "from" not in kwargs else (low or 0, None)
    if high is None:
        high = {**_LIMITS, **_EXACT}[input.dtype]
    wide = "int64" if isinstance(high, int) and high > 2**31 - 1 else "int32"
    kind = input.dtype if "int" in input.dtype else wide
    return b.cast(
        b.random_integers(b.next_key(), shape=input.shape, low=low, high=high, dtype=kind), input.dtype
    )


@rows.row("nn.init.kaiming_uniform_")
def initial_kaiming_uniform(
    b: TorchBuilder,
    tensor: Any,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Any:
    fan = product((tensor.shape[1 if mode == "fan_in" else 0], *tensor.shape[2:]))
    bound = torch.nn.init.calculate_gain(nonlinearity, a) * math.sqrt(3.0) / math.sqrt(b.fix(fan))
    return uniform(b, tensor, -bound, bound)


# -------------------------------------------------------------------------------- parameters given as arrays
@rows.row("bernoulli")
def bernoulli(b: TorchBuilder, input: Any, p: Any = None, *, generator: Any = None) -> Any:
    probability = input if p is None else p
    return b.cast(b.random_bernoulli(b.next_key(), probability, shape=input.shape), input.dtype)


rows.table({
    "bernoulli_": lambda b, input, p=0.5, *, generator=None: bernoulli(b, input, p),
    "poisson": lambda b, input, generator=None: b.random_poisson(b.next_key(), input),
    "binomial": lambda b, count, prob, generator=None: b.random_binomial(b.next_key(), count, prob),
    "_standard_gamma": lambda b, input, generator=None:
        # ``torch.distributions.Gamma`` calls this function.
        b.random_gamma(b.next_key(), input),
})  # fmt: skip


@rows.row("multinomial")
def multinomial(
    b: TorchBuilder, input: Any, num_samples: Any, replacement: bool = False, *, generator: Any = None
) -> Any:
    # torch raises for more categories.
    b.guard(apply("le", input.shape[-1], 2**24))
    if not replacement:
        b.guard(apply("le", num_samples, input.shape[-1]))
    return b.random_categorical(b.next_key(), input, samples=num_samples, replacement=replacement)


@rows.row("_sample_dirichlet")
def sample_dirichlet(b: TorchBuilder, input: Any, generator: Any = None) -> Any:
    drawn = b.random_gamma(b.next_key(), input)
    return b.divide(drawn, b.sum(drawn, axis=input.ndim - 1, keepdims=True))
