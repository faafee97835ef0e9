"""Torch functions that depend on devices: constants, new arrays, and queries of an array's device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from .device import DEVICE

TABLE = torch.arange(12.0).reshape(2, 6) / 7
BUFFER = TABLE.to(DEVICE)


def made_beside(x: Any) -> Any:
    positions = torch.arange(x.shape[1], device=x.device)
    mask = torch.tril(torch.ones(x.shape[1], x.shape[1], device=x.device, dtype=torch.bool))
    return (
        x @ (positions * mask).to(x.dtype) + torch.zeros(x.shape, device=x.device),
        x.new_full((3,), 2.0),
        torch.full_like(x, 3.0),
    )


def table_moved(x: Any) -> Any:
    return x * TABLE[1].to(x.device) + TABLE.to(x)[0]


def table_on_the_device(x: Any) -> Any:
    return x.to(DEVICE) * BUFFER[1]


def to_and_fro(x: Any) -> Any:
    held = x.cpu().exp()
    return held.to(x.device) + x, held.numel(), x.to(DEVICE) * 2


def asked(x: Any) -> Any:
    kind = 2.0 if x.is_cuda else 3.0
    other = 5.0 if torch.cuda.is_available() else 7.0
    return x * kind + other, x * (11.0 if x.device.type == "cpu" else 13.0), x.get_device() + 0 * x[0]


def device_of_another(x: Any) -> Any:
    place = x.device
    return torch.stack([torch.linspace(0, 1, 6, device=place), x.sum(0)]), str(place.type)


def under_a_device(x: Any) -> Any:
    with torch.device(x.device):
        return torch.ones(x.shape[0], 1) * x + torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])


def plain_numbers(x: Any) -> Any:
    return (
        x * torch.tensor(2.0) + torch.tensor(3),
        x[:, torch.tensor([0, 2])],
        torch.where(x > 0, torch.tensor(1.0), x),
    )


def read(x: Any) -> Any:
    largest = x.max().item()
    return x / (largest + 3), float(x.sum()) * x[0]


def branched(x: Any) -> Any:
    return x.sin() if x.sum() > 0 else x.cos()


def selected(x: Any) -> Any:
    return x[x > 0].sum(), x[x > 0], torch.nonzero(x > 0.5), torch.unique((x * 2).round())


def counted(x: Any) -> Any:
    counts = torch.arange(x.shape[0], device=x.device)
    return x.repeat_interleave(counts, 0), torch.bincount(counts), F.one_hot(counts)


def written(x: Any) -> Any:
    held = x.clone()
    held[0] = 1
    held[:, 1].mul_(3)
    held.index_put_(
        (torch.tensor([0, 1], device=x.device), torch.tensor([2, 3], device=x.device)),
        torch.tensor(9.0, device=x.device),
    )
    return held.add_(x, alpha=2), held.scatter_add(1, torch.zeros_like(x, dtype=torch.long), x)


def argument_written(x: Any) -> Any:
    x.mul_(2)
    return x.sum()


def sorted_out(x: Any) -> Any:
    return x.sort(1), x.topk(2, 1), x.cumsum(0), x.cummax(1), x.argsort(1), x.median(1)


def halves(x: Any) -> Any:
    h, b = x.half(), x.bfloat16()
    return h @ h.T, F.softmax(b, -1), F.layer_norm(h, (6,)), (b * 3).sum(), h.float().bfloat16()


def attention(x: Any) -> Any:
    q = x.reshape(1, 1, -1, 6).repeat(2, 2, 4, 1)
    places = torch.arange(q.shape[2]).to(x.device)
    kept = (places[:, None] - places) % 3 != 1
    causal = F.scaled_dot_product_attention(q, q, q, is_causal=True)
    return (
        causal,
        F.scaled_dot_product_attention(q, q, q, attn_mask=kept),
        F.scaled_dot_product_attention(q, q, q, scale=0.5),
    )


def attention_kernels(x: Any) -> Any:
    q = x.reshape(1, 1, -1, 6).repeat(1, 2, 4, 1)
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        first = F.scaled_dot_product_attention(q, q, q, is_causal=True)
    return first * 2 if torch.backends.cuda.flash_sdp_enabled() else first


def images(x: Any) -> Any:
    picture = x.reshape(1, 1, -1, 6).repeat(2, 4, 4, 2).contiguous(memory_format=torch.channels_last)
    weight = torch.linspace(-1, 1, 8 * 4 * 9, device=x.device).reshape(8, 4, 3, 3)
    found = F.conv2d(picture, weight, padding=1)
    shrunk = F.interpolate(F.max_pool2d(found, 2), scale_factor=2.0, mode="bilinear")
    return (
        found,
        shrunk,
        F.conv_transpose2d(picture, weight.transpose(0, 1)),
        picture.is_contiguous(memory_format=torch.channels_last),
    )


def algebra(x: Any) -> Any:
    square = x.T @ x + 4 * torch.eye(6, device=x.device)
    return (
        torch.linalg.cholesky(square),
        torch.linalg.solve(square, x.T),
        torch.linalg.eigvalsh(square),
        torch.fft.rfft(x),
        torch.linalg.svdvals(x),
    )


def loops(x: Any) -> Any:
    total = torch.zeros(6, device=x.device)
    for row in x:
        total = total * 0.5 + row
    return total


def pinned(x: Any) -> Any:
    held = x.detach().cpu()
    return (held.pin_memory() if torch.cuda.is_available() else held).to(x.device, non_blocking=True) * 2


def on_a_stream(x: Any) -> Any:
    if not x.is_cuda:
        return x * 2 + 1
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        doubled = x * 2
    torch.cuda.current_stream().wait_stream(stream)
    return doubled + 1


def waited_for(x: Any) -> Any:
    found = x @ x.T
    if x.is_cuda:
        torch.cuda.synchronize()
    return found


def precision_asked(x: Any) -> Any:
    return x * 2 if torch.get_float32_matmul_precision() == "highest" else x * 3, x @ x.T


def cast_bf16(x: Any) -> Any:
    with torch.autocast(x.device.type, torch.bfloat16):
        product = x @ x.T
        return (
            product,
            F.softmax(product, -1),
            F.gelu(F.linear(x, x)),
            F.layer_norm(product @ product, (x.shape[0],)),
        )


def without_casts(x: Any) -> Any:
    with torch.autocast(x.device.type, enabled=False):
        return x @ (x.T @ x)


def cast_f16(x: Any) -> Any:
    with torch.autocast(x.device.type, torch.float16):
        product = x @ x.T
        with torch.autocast(x.device.type, enabled=False):
            exact = product.float() @ x
        return (
            product,
            exact,
            exact + without_casts(x),
            product.exp(),
            torch.nn.functional.mse_loss(product, product * 2),
        )


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    function.__name__: function
    for function in (
        made_beside, table_moved, table_on_the_device, to_and_fro, asked, device_of_another, under_a_device, plain_numbers, read, branched,
        selected, counted, written, argument_written, sorted_out, halves, attention, attention_kernels, images, algebra, loops, pinned,
        on_a_stream, waited_for, precision_asked, cast_bf16, cast_f16,
    )
}  # fmt: skip


# --------------------------------------------------------------------------------------------- random numbers
def dropped(x: Any) -> Any:
    return (
        F.dropout(x, 0.3, training=True),
        torch.randn_like(x),
        torch.rand(2, device=x.device),
        x + torch.empty_like(x).normal_(),
    )


def seeded(x: Any) -> Any:
    torch.manual_seed(7)
    return torch.rand(3, device=x.device) + x[0, :3], torch.rand(2)


def own_generator(x: Any) -> Any:
    generator = torch.Generator(x.device).manual_seed(3)
    return torch.rand(x.shape, generator=generator, device=x.device), torch.randperm(
        5, generator=generator, device=x.device
    )


def drawn_on_the_cpu(x: Any) -> Any:
    return torch.randn(x.shape).to(x.device) + x


def dropped_under_autocast(x: Any) -> Any:
    with torch.autocast(x.device.type, torch.bfloat16):
        q = (x @ x.T).reshape(1, 1, x.shape[0], x.shape[0])
        return F.dropout(q, 0.3), F.linear(F.dropout(x, 0.5), x)


def attention_dropped(x: Any) -> Any:
    q = x.reshape(1, 1, -1, 6)
    return F.scaled_dot_product_attention(q, q, q, dropout_p=0.2)


def fork_of_the_generator(x: Any) -> Any:
    with torch.random.fork_rng():
        first = torch.rand(3, device=x.device)
    return first, torch.rand(3, device=x.device)


def recurrent_dropout(x: Any) -> Any:
    return F.dropout(F.rrelu(x, training=True), 0.5)


RANDOM: dict[str, Callable[[Any], Any]] = {
    function.__name__: function
    for function in (
        dropped, seeded, own_generator, drawn_on_the_cpu, dropped_under_autocast, attention_dropped, fork_of_the_generator, recurrent_dropout,
    )
}  # fmt: skip


def example(rows: int, device: str, seed: int = 0) -> Any:
    return torch.randn(rows, 6, generator=torch.Generator().manual_seed(seed)).to(device)
