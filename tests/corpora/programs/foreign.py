"""Torch programs that use other libraries: numpy, scipy, einops, math, logging, dataclasses, scripted code."""

from __future__ import annotations

import contextlib
import copy
import functools
import io
import itertools
import logging
import math
import operator
import pickle
import statistics
from typing import Any

import einops
import einops.layers.torch
import numpy as np
import torch
from torch import nn

from .table import ELSEWHERE, Program, quiet


def _x(*shape: int) -> torch.Tensor:
    return torch.linspace(-2, 3, math.prod(shape)).reshape(shape)


# ---------------------------------------------------------------------------------------------- numpy
_TABLE = np.array([1.0, 2.0, 3.0, 4.0], dtype=np.float32)


def numpy_mean_detached(x: Any) -> Any:
    return x - np.mean(x.detach().numpy())


@quiet
def numpy_sqrt_of_tensor(x: Any) -> Any:
    return np.sqrt(x.abs() + 1)


def numpy_call_and_back(x: Any) -> Any:
    return torch.from_numpy(np.sin(x.numpy())) * 2


def numpy_arithmetic(x: Any) -> Any:
    return torch.from_numpy(x.numpy() + 1) * x


def numpy_asarray(x: Any) -> Any:
    return torch.as_tensor(np.asarray(x) * 2)


@quiet
def numpy_array(x: Any) -> Any:
    return torch.tensor(np.array(x))


def numpy_constant(x: Any) -> Any:
    return x * torch.from_numpy(_TABLE) + torch.tensor(np.arange(4.0, dtype=np.float32))


def numpy_scalar(x: Any) -> Any:
    return x * np.float32(2.5) + np.float64(1.5) - np.int64(3)


def numpy_scalar_left(x: Any) -> Any:
    return np.float32(2.5) * x


def numpy_scalar_left_64(x: Any) -> Any:
    return np.float64(2.5) - x


@quiet
def numpy_array_times_tensor(x: Any) -> Any:
    return x * _TABLE


def numpy_of_item(x: Any) -> Any:
    return x * float(np.exp(x[0].item()))


def numpy_of_shape(x: Any) -> Any:
    return x.reshape(int(np.prod(x.shape)), 1) / np.sqrt(x.shape[-1])


def numpy_of_list(x: Any) -> Any:
    return x + float(np.mean(x.tolist()))


def numpy_pi(x: Any) -> Any:
    return torch.sin(x * np.pi) + np.e


def numpy_constant_computed(x: Any) -> Any:
    window = np.hanning(x.shape[-1])
    return x * torch.from_numpy(window).to(x.dtype)


def numpy_index(x: Any) -> Any:
    return x[np.array([0, 2])]


def numpy_bool_index(x: Any) -> Any:
    return x[np.array([True, False, True, False])]


def numpy_int_index(x: Any) -> Any:
    return x[np.int64(1)]


def numpy_shape(x: Any) -> Any:
    return x.reshape(tuple(np.array([2, 2])))


@quiet
def numpy_where(x: Any) -> Any:
    return x * 2 if np.all(x.numpy() > 0) else x


def numpy_linspace(x: Any) -> Any:
    return x + torch.as_tensor(np.linspace(0, 1, x.shape[0]), dtype=torch.float32)


def numpy_size_tensor(x: Any) -> Any:
    return torch.from_numpy(np.ones(x.shape, dtype=np.float32)) + x


def numpy_isscalar(x: Any) -> Any:
    return x * (1 if np.isscalar(x) else 2)


def numpy_allclose(x: Any) -> Any:
    return x * 2 if np.allclose(x, 1.0) else x * 3


def numpy_stack(x: Any) -> Any:
    return torch.as_tensor(np.stack([x.numpy(), x.numpy()]))


def numpy_writes(x: Any) -> Any:
    y = x.clone()
    y.numpy()[0] = 5.0
    return y


def numpy_detached_cpu(x: Any) -> Any:
    return torch.tensor(x.detach().cpu().numpy().max()) + x


def numpy_argmax(x: Any) -> Any:
    return x[int(np.argmax(x.detach().numpy()))]


def numpy_tolist(x: Any) -> Any:
    return x * x.numpy().tolist()[0]


def numpy_float(x: Any) -> Any:
    return x * np.float32(x[1])


def numpy_array_of_items(x: Any) -> Any:
    return x + torch.from_numpy(np.array([float(v) for v in x], dtype=np.float32))


def numpy_dtype(x: Any) -> Any:
    return x.to(torch.from_numpy(np.zeros(1)).dtype)


def numpy_copyto_constant(x: Any) -> Any:
    table = np.zeros(4, dtype=np.float32)
    table[1:] = 3
    return x + torch.from_numpy(table)


def numpy_written_after(x: Any) -> Any:
    table = np.zeros(4, dtype=np.float32)
    shared = torch.from_numpy(table)
    y = x + shared
    table[:] = 7
    return y + shared


def numpy_buffer_view(x: Any) -> Any:
    constant = torch.ones(4)
    constant.numpy()[:] = 3
    return x * constant


def scipy_softmax(x: Any) -> Any:
    from scipy import special

    return torch.from_numpy(special.softmax(x.numpy()))


@quiet
def scipy_of_tensor(x: Any) -> Any:
    from scipy import special

    return torch.as_tensor(special.expit(x))


def scipy_constant(x: Any) -> Any:
    from scipy import signal

    return x * torch.from_numpy(signal.windows.hann(4)).float()


def scipy_number(x: Any) -> Any:
    from scipy import special

    return x * special.gamma(x.shape[0])


# ---------------------------------------------------------------------------------------------- einops
def einops_rearrange(x: Any) -> Any:
    return einops.rearrange(x, "b (h w) c -> b c h w", h=2)


def einops_rearrange_sizes(x: Any) -> Any:
    return einops.rearrange(x, "b n c -> (b n) c", b=x.shape[0]) * x.shape[1]


def einops_reduce(x: Any) -> Any:
    return einops.reduce(x, "b n c -> b c", "mean") + einops.reduce(x, "b n c -> c", "max")


def einops_repeat(x: Any) -> Any:
    return einops.repeat(x, "b n c -> b (n 2) c") + einops.repeat(x, "b n c -> b (n r) c", r=2)


def einops_einsum(x: Any) -> Any:
    return einops.einsum(x, x, "b n c, b m c -> b n m")


def einops_pack(x: Any) -> Any:
    packed, shapes = einops.pack([x, x.mean(1)], "b * c")
    first, second = einops.unpack(packed * 2, shapes, "b * c")
    return first, second


def einops_parse_shape(x: Any) -> Any:
    sizes = einops.parse_shape(x, "b n _")
    return x.reshape(sizes["b"] * sizes["n"], -1)


def einops_layers() -> Any:
    torch.manual_seed(0)
    return nn.Sequential(
        einops.layers.torch.Rearrange("b (h w) c -> b c h w", h=2),
        nn.Conv2d(4, 4, 1),
        einops.layers.torch.Reduce("b c h w -> b c", "sum"),
        einops.layers.torch.EinMix("b c -> b d", weight_shape="c d", bias_shape="d", c=4, d=3),
    )


# --------------------------------------------------------------------------------------- Python's own library
_log = logging.getLogger(__name__)


def math_of_sizes(x: Any) -> Any:
    return (
        x * math.sqrt(x.shape[-1]) / math.pow(x.shape[0], 0.5)
        + math.floor(x.shape[0] / 2)
        - math.prod(x.shape)
    )


def math_of_items(x: Any) -> Any:
    return x * math.tanh(x[0].item()) + math.exp(x.sum())


def math_of_tensor(x: Any) -> Any:
    return x * math.sin(x[1]) + math.isnan(x[0]) + math.floor(x[3])


def math_fsum(x: Any) -> Any:
    return x * math.fsum(x)


def statistics_mean(x: Any) -> Any:
    return x - statistics.mean(x.tolist())


def prints(x: Any) -> Any:
    with contextlib.redirect_stdout(io.StringIO()):
        print("sizes", x.shape, x.shape[0], x.dtype)  # noqa: T201
    return x * 2


def prints_tensor(x: Any) -> Any:
    with contextlib.redirect_stdout(io.StringIO()):
        print(x, f"{x.sum()}")  # noqa: T201
    return x * 2


def reads_what_it_prints(x: Any) -> Any:
    """The printed text is a result, so it must not be left out as messages to the user may."""
    printed, redirected = io.StringIO(), io.StringIO()
    print(x.shape[0], f"{x.sum().item():.1f}", file=printed)
    with contextlib.redirect_stdout(redirected):
        print("rows", x.shape[0])  # noqa: T201
    return x * 2, printed.getvalue(), redirected.getvalue()


def logs(x: Any) -> Any:
    _log.debug("tensor %s of %s", x, x.shape)
    return x * 2


def text_of_sizes(x: Any) -> Any:
    return {
        f"{x.shape[0]}x{tuple(x.shape)}": x,
        "%d" % x.shape[0]: x,  # noqa: UP031
        str(x.shape): x,
    }


def pickled_numbers(x: Any) -> Any:
    return (
        x
        * pickle.loads(pickle.dumps({"rows": x.shape[0], "half": x.shape[0] / 2, "most": x.max().item()}))[
            "rows"
        ]
    )


def text_of_dtype(x: Any) -> Any:
    return {str(x.dtype): x, repr(x.device): x * 2}


def percent_format(x: Any) -> Any:
    return {"%.1f" % x[0]: x}  # noqa: UP031


def zip_and_map(x: Any) -> Any:
    return sum(a * b for a, b in zip(x, map(operator.neg, x)))


def itertools_of_rows(x: Any) -> Any:
    return torch.stack([a * b for a, b in itertools.combinations(x, 2)]) + sum(itertools.accumulate(x))


def itertools_product(x: Any) -> Any:
    return torch.stack([x[i] * x[j] for i, j in itertools.product(range(x.shape[0]), range(2))])


def chain_of_iterables(x: Any) -> Any:
    return torch.stack(list(itertools.chain(x, x * 2, [x[0]])))


def generator_inside(x: Any) -> Any:
    def rows() -> Any:
        for i, row in enumerate(x):
            yield row * i

    return sum(rows())


def generator_with_send(x: Any) -> Any:
    def accumulate() -> Any:
        total = x * 0
        while True:
            given = yield total
            total = total + given

    running = accumulate()
    next(running)
    for factor in (1, 2, 3):
        total = running.send(x * factor)
    return total


def yield_from(x: Any) -> Any:
    def inner() -> Any:
        yield x
        yield x * 2
        return x.sum()

    def outer() -> Any:
        total = yield from inner()
        yield total

    return list(outer())


def returns_generator(x: Any) -> Any:
    return list(y * 2 for y in x)  # noqa: C400


def functools_reduce(x: Any) -> Any:
    return functools.reduce(torch.add, x)


def reduce_operator(x: Any) -> Any:
    return functools.reduce(operator.mul, x.unbind(0))


def sorted_by_size(x: Any) -> Any:
    return sorted([x, x[:1], x[:2]], key=len)[0]


def set_of_sizes(x: Any) -> Any:
    return x * len({x.shape[0], 4, 3})


def dictionary_of_tensors(x: Any) -> Any:
    found = {x: 1, x[0]: 2}
    return x * found[x]


def walrus(x: Any) -> Any:
    return y * 2 if (y := x + 1).shape[0] > 2 else x


def match_statement(x: Any) -> Any:
    shape = tuple(int(n) for n in x.shape)
    return x * {1: 2, 2: 3}.get(len(shape), 4) + (1 if shape == (4,) else 2)


def exceptions(x: Any) -> Any:
    try:
        raise KeyError(x.shape[0])
    except KeyError as problem:
        return x * problem.args[0]


def eval_inside(x: Any) -> Any:
    return eval("x * 2 + y", {"x": x, "y": 3})


def getattr_by_name(x: Any) -> Any:
    return getattr(x, "si" + "n")() + getattr(torch, "cos")(x)  # noqa: B009


def deepcopy_of_tensor(x: Any) -> Any:
    y = copy.deepcopy(x)
    y.add_(1)
    return x, y


def copy_of_tensor(x: Any) -> Any:
    y = copy.copy(x)
    y.add_(1)
    return x + y


def deepcopy_of_list(x: Any) -> Any:
    ys = copy.deepcopy([x * 2, {"a": x}])
    return ys[0] + ys[1]["a"]


def deepcopy_of_parts(x: Any) -> Any:
    first, second = copy.deepcopy((x * 2).chunk(2))
    first.add_(1)
    return first, second


def deepcopy_of_views(x: Any) -> Any:
    y = x * 2
    whole, part = copy.deepcopy([y, y[:1]])
    whole.add_(1)
    return whole, part


def tensor_of_items(x: Any) -> Any:
    return torch.tensor([v.item() for v in x]) * 2


def tensor_of_rows(x: Any) -> Any:
    return torch.tensor([[v, v * 2] for v in x])


def tensor_of_sizes(x: Any) -> Any:
    return torch.tensor([x.shape[0], 2, x.numel()]) * 2


def as_tensor_of_list(x: Any) -> Any:
    return torch.as_tensor([x[0], x[1]]) + 1


def tensor_from_tensor(x: Any) -> Any:
    return x.new_tensor([x[0], 2.0])


def float_tensor(x: Any) -> Any:
    return torch.FloatTensor([1.0, 2.0]) + x[:2]


def float_tensor_of_sizes(x: Any) -> Any:
    return torch.FloatTensor(x.shape[0]).fill_(2) + x


def float_tensor_of_items(x: Any) -> Any:
    return torch.FloatTensor([x[0], x[1]]) * 2


def legacy_tensor(x: Any) -> Any:
    return torch.Tensor([3.0, 4.0]) * x[:2]


def legacy_tensor_of_items(x: Any) -> Any:
    return torch.Tensor(x.tolist()) * 2


def from_buffer(x: Any) -> Any:
    return torch.frombuffer(bytearray(b"\x00\x00\x80?" * 4), dtype=torch.float32) + x


def from_dlpack(x: Any) -> Any:
    return torch.from_dlpack(x) * 2


def memoryview_of_tensor(x: Any) -> Any:
    return x * memoryview(x.numpy())[0]


def bytes_of_tensor(x: Any) -> Any:
    return x * x.numpy().tobytes()[0]


def to_list_and_back(x: Any) -> Any:
    return torch.tensor(list(x))


def map_in_place(x: Any) -> Any:
    return x.clone().map_(x, lambda a, b: a + b)


def apply_in_place(x: Any) -> Any:
    return x.clone().apply_(lambda v: v * 2)


def storage_of_tensor(x: Any) -> Any:
    return x * x.untyped_storage()[0]


def pickle_of_tensor(x: Any) -> Any:
    import pickle

    return pickle.loads(pickle.dumps(x)) * 2


def save_and_load(x: Any) -> Any:
    buffer = io.BytesIO()
    torch.save(x, buffer)
    buffer.seek(0)
    return torch.load(buffer) * 2


def json_of_items(x: Any) -> Any:
    import json

    return torch.tensor(json.loads(json.dumps(x.tolist()))) * 2


def hash_of_tensor(x: Any) -> Any:
    return x * (1 + (hash(x) == hash(x)))


def id_of_tensor(x: Any) -> Any:
    return x * (1 if id(x) == id(x.view(-1)) else 2)


def sparse(x: Any) -> Any:
    return torch.sparse.mm(torch.diag(x).to_sparse(), x[:, None])


@quiet
def sparse_made(x: Any) -> Any:
    made = torch.sparse_coo_tensor(torch.tensor([[0, 1], [1, 0]]), x[:2], (2, 2))
    return made.to_dense() + 1


@quiet
def sparse_csr(x: Any) -> Any:
    return torch.diag(x).to_sparse_csr() @ x


@quiet
def nested(x: Any) -> Any:
    return torch.nested.to_padded_tensor(torch.nested.nested_tensor([x, x[:2]]), 0.0)


def nested_jagged(x: Any) -> Any:
    return torch.nested.as_nested_tensor([x, x[:2]], layout=torch.jagged).sin().values()


@quiet
def quantised(x: Any) -> Any:
    return torch.quantize_per_tensor(x, 0.1, 0, torch.qint8).dequantize()


@quiet
def masked(x: Any) -> Any:
    from torch.masked import masked_tensor

    return masked_tensor(x, x > 0).sum().get_data()


def parameter_inside(x: Any) -> Any:
    weight = nn.Parameter(torch.ones(4) * 2)
    return x * weight


def parameter_of_input(x: Any) -> Any:
    return nn.Parameter(x) * 2


def buffer_inside(x: Any) -> Any:
    return nn.Buffer(x * 2) + 1


def module_inside(x: Any) -> Any:
    layer = nn.Linear(4, 2)
    nn.init.constant_(layer.weight, 0.5)
    nn.init.zeros_(layer.bias)
    return layer(x)


def sequential_inside(x: Any) -> Any:
    return nn.Sequential(nn.ReLU(), nn.LayerNorm(x.shape[-1]))(x)


def complex_views(x: Any) -> Any:
    z = torch.view_as_complex(x.reshape(2, 2))
    z = z * 2j + z.conj()
    return torch.view_as_real(z).reshape(-1), z.real, z.imag, z.abs()


def complex_written(x: Any) -> Any:
    z = torch.view_as_complex(x.clone().reshape(2, 2))
    z.real.add_(1)
    z.imag.mul_(2)
    return z, z.conj().resolve_conj()


def negative_view(x: Any) -> Any:
    z = torch.complex(x, x * 2)
    return z.conj().imag + 1


def data_attribute(x: Any) -> Any:
    y = x.clone()
    y.data.add_(1)
    return y * 2


def data_read(x: Any) -> Any:
    return x.data * 2


def set_in_place(x: Any) -> Any:
    y = torch.zeros(4)
    y.set_(x * 2)
    return y


def resize(x: Any) -> Any:
    y = x.clone()
    y.resize_(2, 2)
    return y


def share_memory(x: Any) -> Any:
    return (x * 2).share_memory_() + 1


class Subclass(torch.Tensor): ...


class Scaled(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function is torch.Tensor.add:
            return super().__torch_function__(torch.Tensor.mul, types, args, kwargs or {})
        return super().__torch_function__(function, types, args, kwargs or {})


def subclass_made(x: Any) -> Any:
    return (x.as_subclass(Subclass) * 2).as_subclass(torch.Tensor)


def subclass_overriding(x: Any) -> Any:
    return (x.as_subclass(Scaled) + 3).as_subclass(torch.Tensor)


class Mode(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function is torch.Tensor.add:
            return torch.sub(*args)
        return function(*args, **(kwargs or {}))


def own_mode(x: Any) -> Any:
    with Mode():
        return x + 3


class Dispatch(torch.utils._python_dispatch.TorchDispatchMode):
    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function is torch.ops.aten.add.Tensor:
            return torch.ops.aten.mul.Tensor(*args)
        return function(*args, **(kwargs or {}))


def own_dispatch_mode(x: Any) -> Any:
    with Dispatch():
        return x + 3


def ufunc_at(x: Any) -> Any:
    total = np.zeros(4, dtype=np.float32)
    np.add.at(total, [0, 1, 1], 1.0)
    return x + torch.from_numpy(total)


def aten_direct(x: Any) -> Any:
    return torch.ops.aten.mul.Tensor(x, 3.0) + torch.ops.aten.relu(x)


def varfunctions(x: Any) -> Any:
    return torch._C._VariableFunctions.sin(x) + torch._VF.cos(x)


def thread_inside(x: Any) -> Any:
    import threading

    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(x * 2))
    thread.start()
    thread.join()
    return found[0] + 1


def pool_inside(x: Any) -> Any:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        return sum(pool.map(torch.sin, [x, x * 2]))


def fork_inside(x: Any) -> Any:
    return torch.jit.wait(torch.jit.fork(torch.sin, x)) + 1


def time_inside(x: Any) -> Any:
    import time

    return x * (1 if time.time() > 0 else 2)


def environment(x: Any) -> Any:
    import os

    return x * int(os.environ.get("GRAPH_COMPILER_NO_SUCH", "2"))


def histogram(x: Any) -> Any:
    return torch.histogram(x, bins=4, range=(-3.0, 3.0)).hist


def numpy_random_array(x: Any) -> Any:
    return x + torch.from_numpy(np.random.RandomState(0).randn(4)).float()


_BY_SHAPE = {
    **{
        f.__name__: ((2, 6, 4), (3, 4, 4))
        for f in (
            einops_rearrange,
            einops_rearrange_sizes,
            einops_reduce,
            einops_repeat,
            einops_einsum,
            einops_pack,
            einops_parse_shape,
        )
    },
    "itertools_of_rows": ((3, 2), (4, 3)),
    "generator_inside": ((3, 2), (4, 3)),
    "numpy_of_shape": ((3, 2), (4, 3)),
}
_FIXED = ((4,), (4,), (4,))


def calls_of(name: str) -> tuple[Any, ...]:
    shapes = _BY_SHAPE.get(name, _FIXED)
    return tuple(lambda shape=shape, i=i: (_x(*shape) + i,) for i, shape in enumerate(shapes))


_NOT_PROGRAMS = ("calls_of", "_x", "einops_layers", "Subclass", "Scaled", "Mode", "Dispatch", "Program")
_FUNCTIONS = [
    f
    for name, f in list(globals().items())
    if callable(f) and getattr(f, "__module__", "") == __name__ and name not in _NOT_PROGRAMS
]
_HANDED, _WRITTEN, _NO_ROW = (
    "hands the memory of a tensor",
    "writes to memory of a tensor",
    "cannot be translated",
)
_RULES, _NESTED = "is a class of tensors with rules of its own", "nested tensors cannot be recorded"
_IN_BOTH = {
    _HANDED: (
        "numpy_mean_detached numpy_sqrt_of_tensor numpy_call_and_back numpy_arithmetic numpy_asarray numpy_array numpy_array_times_tensor "
        "numpy_where "
        "numpy_allclose numpy_stack numpy_writes numpy_detached_cpu numpy_argmax numpy_tolist numpy_float scipy_softmax scipy_of_tensor "
        "copy_of_tensor "
        "memoryview_of_tensor bytes_of_tensor map_in_place apply_in_place storage_of_tensor pickle_of_tensor save_and_load"
    ),
    _WRITTEN: "numpy_written_after numpy_buffer_view",
    _NESTED: "nested",
    _RULES: "nested_jagged subclass_overriding masked",
    "changes what kernels do": "own_dispatch_mode",
    "puts other memory under a tensor": "resize set_in_place",
    "of a tensor that depends on the inputs": "from_dlpack",
    "views of one memory": "deepcopy_of_views",
    "may come from a thread": "thread_inside pool_inside",
}
_IN_JAX = "sparse_csr quantised complex_written"
_ERRORS = {
    **{
        name: dict.fromkeys(("torch", ELSEWHERE), words)
        for words, names in _IN_BOTH.items()
        for name in names.split()
    },
    **{name: {ELSEWHERE: "translated"} for name in _IN_JAX.split()},
}
PROGRAMS = [
    *(
        Program(f.__name__, lambda f=f: f, calls_of(f.__name__), _ERRORS.get(f.__name__, {}))
        for f in _FUNCTIONS
    ),
    Program("einops_layers", einops_layers, (lambda: (_x(2, 6, 4),), lambda: (_x(3, 4, 4),))),
]
