"""Grammar of random programs: one table of Python text.

``{x}`` is a hole: the letter says what fits into it, and a digit after it distinguishes holes. Some letters
stand for values that the program already has:

    x array f floats i integers b booleans v at least one axis m at least two axes p Python number l list
    u optional argument

All other letters are rules of the grammar. The first entries of a rule have no holes for rules, which ends
the recursion. Lines that torch rejects for the values at hand are not written, so a row need not say when it
applies.
"""

from __future__ import annotations

DTYPES = (
    "torch.float32", "torch.int64", "torch.bool", "torch.float64", "torch.int32", "torch.uint8", "torch.float16", "torch.bfloat16",
    "torch.int16", "torch.int8", "torch.complex64",
)  # fmt: skip

GRAMMAR: dict[str, tuple[str, ...]] = {
    "a": ("0", "-1", "1", "-2"),  # axis
    "t": DTYPES,
    "c": ("2", "4", "0.5", "3", "-2", "1.5", "True"),  # a number that may divide
    "n": ("2", "0.5", "-1", "0", "1", "3", "-2.5", "True", "1e2", "{p}", "{s}"),  # a number
    "s": (  # a size
        "{v}.shape[0]", "{v}.shape[-1]", "{x}.numel()", "len({v})", "{v}.size(0)", "{x}.dim()", "2", "3",
        "{s} // 2", "int({s} * 0.5)", "round({s} / 4 + 0.25)", "math.floor({s} * 1.5)", "abs(2 - {s})", "-{s} % 3",
        "max({x}.shape, default=1)", "{v}.shape[:1].numel()", "{2: 1, 3: 2}.get({s}, 3)", "int({s} > 2.5) + 1", "len({x}.shape[1:])",
        "{s} // -2 + 3", "range(9)[{s} % 5]", "[4, 3, 2][{s} % 3]", "{s} + 1", "{s} * 2", "{s} - 1", "{s} % 3", "max({s}, {s2})",
        "min({s}, 3)", "({s} + {s2}) // 2", "math.prod({x}.shape)",
        "int({x}.abs().sum()) % 4", "{i}.max().item()",
    ),
    "y": ("{x}", "{x}", "{x}", "{n}", "{v}[0]", "{f}.mean()"),  # the other operand
    "w": ("{x}", "{x}", "{x}", "{v}[{k}]", "{m}.t()", "{m}.diagonal()", "{x}.view(-1)", "{v}.transpose(0, -1)", "{x}.detach()", "{v}.flatten()[1:]",
          "{v}.unbind(0)[-1]", "{v}.unsqueeze(0)", "{x}.data", "{m}.mT[0]", "{v}.split(1)[0]", "{x}.reshape(-1)[:2]"),
    "k": (  # an index
        "0", "-1", "1:", ":2", "::2", "...", "None", ":, 0", "..., -1", ":, 1:", "..., None", "0, 0", "1:, ::2", ":-1", "[0, -1]",
        "[[0], [1]]", "()", "True", "False", "torch.tensor([0, 1])", "torch.tensor([[0, 1], [1, 0]])", ":, [0, 1]", "[0, 1], [1, 0]",
        "0, [0, 1]", "[1, 0], None", "[0, 1], :, [0, 1]", "torch.tensor(1)", "{b}", "{x} > 0", "{i} % 2", "{p}", "{s} - 2", ": {s} // 2",
        "-{s}:", "{s} // 2 :", "..., {s} - 1", "torch.arange({s} // 2)", ":, torch.arange({s} - 1)", "{i}.argmax()",
        "{x}.abs().argmax(0) % 2", "slice(None, {s}, 2)", "[True] * {v}.shape[0]", "{b}, 0", "torch.arange(2), torch.tensor([1, 0])",
        "{x}.flatten()[0].long() % 2", ":, {b}",
    ),
    "q": (  # a condition
        "{v}.shape[0] > 2", "{v}.shape[-1] == 3", "{x}.sum() > 0", "{s} in (2, 4)", "{s} * 0.5 > 1.2", "{x}.shape[-1:] == (3,)",
        "{s} != 3 and {s2} < 4", "{x}.shape > {x2}.shape", "bool({s} - 2)", "{x}.numel() % 2 == 0", "({x} > 0).any()", "({x} > 0).all()",
        "{f}.max() > 1", "{x}.shape == {x2}.shape", "{x}.flatten()[0] < 0", "{x}.dtype == {t}", "{x}.ndim == 2", "torch.equal({x}, {x2})",
        "{x}.is_floating_point()", "{u} is None", "{p} > 1", "{x}.sum().item() > 2", "{i}.max().item() % 2", "len({l}) > 2",
        "{v}.tolist()[0] == {v2}.tolist()[-1]", "{x} is {x2}", "{x}.is_contiguous()", "1 < {v}.shape[0] < 4", "torch.allclose({f}, {f2})",
        "2 in {x}", "{s} > {s2}", "{s} == {s2}", "not {q}", "{q} and {q2}", "{q} or {q2}",
    ),
}  # fmt: skip

EXPRESSIONS: dict[str, tuple[str, ...]] = {
    "arithmetic": (
        "{x} + {y}", "{x} - {y}", "{x} * {y}", "{n} - {x}", "{n} * {x}", "{x} / {c}", "{c} / ({x}.abs() + 1)", "{x} // {c}", "{x} % {c}",
        "-{x}", "abs({x})", "{x}.square()", "torch.maximum({x}, {x2})", "torch.minimum({x}, {x2})", "torch.clamp({x}, min={n})",
        "{x}.clamp({n}, {n2})", "{x}.clamp_max({n})", "{f}.floor()", "{f}.ceil()", "{f}.trunc()", "{f}.round()", "{f}.frac()", "{x}.sign()",
        "torch.fmod({x}, {c})", "torch.remainder({x}, {c})", "torch.div({x}, {c}, rounding_mode='floor')",
        "torch.div({x}, {c}, rounding_mode='trunc')", "torch.add({x}, {x2}, alpha={c})", "torch.sub({x}, {y}, alpha=2)",
        "torch.rsub({x}, {y})", "torch.where({b}, {x}, {y})", "{x}.where({b}, {y})", "torch.where({x} > 0, {n}, {y})",
        "torch.addcmul({f}, {x}, {x2}, value=0.5)", "torch.addcdiv({f}, {f2}, {f3}.abs() + 1)", "torch.lerp({f}, {f2}, 0.5)", "{x} ** 2",
        "{x} ** 3", "2 ** {i}.clamp(0, 4)", "{x}.masked_fill({b}, {n})", "{i} & {i2}", "{i} | {i2}", "{i} ^ {i2}", "~{i}", "~{b}",
        "{i} << 1", "{i} >> 1", "{b} & {b2}", "{b} | {b2}", "{b} ^ {b2}", "torch.copysign({f}, {y})", "torch.heaviside({f}, {f2})",
        "torch.nan_to_num({f})", "{x}.float() / 3", "torch.gcd({i}, {i2})", "{x}.positive()", "torch.logical_xor({x}, {x2})",
        "torch.floor_divide({x}, {c})", "{b} * {x}", "{b} + {y}", "{f}.hypot({f2})", "torch.clamp({x}, {x2}, None)",
        "torch.fmax({x}, {x2})", "{x}.real", "{x}.conj()", "torch.ldexp({f}, torch.tensor(1))", "{p} ** {i}.clamp(0, 3)", "{x}.sgn()",
        "torch.signbit({x})", "torch.bitwise_not({i})", "{x} if {u} is None else {x} + {u}", "{x} * ({u} is None)", "{x} * {s}",
        "{x} * ({s} * 0.5)", "{x} + math.sqrt({s} + 1)", "{f} * {v}.shape[-1] ** -0.5", "{x} + {s} / {s2}" , "{x} * 2 if {q} else {x} - 1",
        "{x}.xlogy({c})",
    ),
    "comparison": (
        "{x} > {y}", "{x} >= {y}", "{x} < {y}", "{x} == {y}", "{x} != {y}", "{n} <= {x}", "torch.logical_and({x}, {x2})",
        "torch.logical_or({x}, {x2})", "torch.logical_not({x})", "torch.isclose({f}, {f2})", "{f}.isnan()", "torch.isfinite({x})",
        "torch.isin({x}, {x2})", "{x}.bool()", "{x}.gt({y})",
    ),
    "smooth": (
        "{x}.sin()", "torch.cos({x})", "torch.tanh({x})", "torch.sigmoid({x})", "torch.exp(-{x}.abs())", "{x}.abs().sqrt()",
        "{x}.abs().log1p()", "torch.erf({x})", "F.gelu({f})", "F.silu({f})", "F.softplus({f})", "torch.relu({x})", "F.leaky_relu({f}, 0.1)",
        "F.elu({f})", "F.relu6({x})", "F.hardtanh({f})", "F.softmax({v}, {a})", "F.log_softmax({v}, {a})", "{v}.logsumexp({a})",
        "torch.atan2({f}, {f2}.abs() + 1)", "({x}.square() + 1).rsqrt()", "F.hardswish({f})", "F.layer_norm({v}, {v}.shape[-1:])",
        "F.normalize({f}, dim={a})", "F.mse_loss({f}, {f2})", "F.l1_loss({f}, {f2}, reduction='sum')", "F.glu({v}, {a})",
        "{x}.softmax({a}, dtype=torch.float32)", "F.prelu({f}, torch.tensor([0.25]))", "{f}.exp2()", "torch.logaddexp({f}, {f2})",
        "F.cosine_similarity({f}, {f2}, dim={a})", "F.hardsigmoid({f})", "F.smooth_l1_loss({f}, {f2})", "F.threshold({x}, 1, -1)",
    ),
    "reduction": (
        "{x}.sum()", "{v}.sum({a})", "{v}.sum({a}, keepdim=True)", "{f}.mean()", "{v}.mean({a})", "{v}.amax({a})",
        "{v}.amin({a}, keepdim=True)", "{v}.max({a}).values", "{v}.min({a})[1]", "{x}.max()", "{x}.argmax()",
        "{v}.argmin({a}, keepdim=True)", "{v}.prod({a})", "{v}.cumsum({a})", "{v}.cumprod({a})", "{x}.all()", "{v}.any({a})",
        "{v}.var({a}, unbiased=False)", "{v}.std({a}, correction=0)", "{x}.sum(dtype={t})", "{m}.sum((0, 1))", "{x}.count_nonzero()",
        "{v}.sort({a}).values", "{v}.argsort({a}, stable=True)", "{v}.sort({a}, descending=True)[0]", "{v}.topk(1, {a})[0]",
        "{v}.gather(-1, {v}.topk(min(2, {v}.shape[-1]))[1])", "{v}.cummax({a})[0]", "{v}.cummin({a})[1]", "{v}.aminmax(dim={a})[0]",
        "{x}.unique()", "{x}.nonzero()", "{v}.norm()", "torch.linalg.vector_norm({v}, dim={a})", "torch.linalg.norm({m}, 1)",
        "{v}.nansum({a})", "{v}.diff(dim={a})", "torch.histc({f}, 4, -4, 4)", "{i}.abs().flatten().bincount()",
        "torch.mean({v}, {a}, dtype=torch.float64)", "{v}.median({a}).values", "{x}.argwhere()",
        "torch.searchsorted({v}.flatten().sort()[0], {x})", "torch.bucketize({x}, torch.tensor([-1.0, 0.0, 2.0]))", "{v}.mode({a})[0]",
        "{v}.kthvalue(1, {a})[0]", "{v}.logcumsumexp({a})", "torch.std_mean({v}, {a}, correction=0)[1]", "{x}.numel() * {x}",
        "torch.trapezoid({v}, dim={a})",
    ),
    "shape": (
        "{x}.reshape(-1)", "{x}.view(-1)", "{x}.flatten()", "{m}.t()", "{m}.transpose({a}, {a2})", "{v}.movedim(0, -1)", "{m}.mT",
        "{x}.unsqueeze({a})", "{x}.squeeze()", "{v}.squeeze({a})", "{x}.expand(2, *{x}.shape)", "{v}.narrow(0, 0, 1)",
        "{v}.select({a}, -1)", "{v}.split(1, {a})[0]", "{v}.split(2)[-1]", "{v}.chunk(2, {a})[-1]", "{v}.unbind({a})[0]", "{m}.diagonal()",
        "{v}.unfold({a}, 2, 1)", "{x}.repeat(2, *[1] * {x}.dim())", "torch.tile({x}, (2,))", "{v}.flip({a})", "{v}.roll(1, {a})",
        "{x}.contiguous()", "{x}.clone()", "{x}.detach()", "{v}.view({v}.shape[0], -1)", "{v}.reshape(-1, {v}.shape[-1])",
        "{x}.view({x}.shape)", "{x}.expand_as({x2})", "torch.broadcast_to({x}, {x2}.shape)", "{m}.permute(1, 0, *range(2, {m}.dim()))",
        "{v}.unflatten(0, (-1, 1))", "{v}.tensor_split(2)[0]", "{m}.flatten(0, 1)", "{v}.repeat_interleave(2, {a})", "torch.rot90({m})",
        "{m}.T if {m}.dim() == 2 else {m}", "torch.atleast_2d({x})", "{x}.reshape({x2}.shape)", "{v}.swapaxes(0, -1)", "{m}.adjoint()",
        "{v}.view(2, -1)", "{v}.fliplr()", "{x}.view_as({x})", "{v}.reshape({s}, -1)", "{v}.unflatten(-1, (1, {v}.shape[-1]))",
        "{x}.reshape(*{x}.shape, 1)", "{x}.ravel()[{s} % 2 :]", "{v}.as_strided((2,), (1,))", "{x}.view(torch.int32)",
        "{x}.unsqueeze(0).expand(3, *[-1] * {x}.dim())", "{v}.view(*{v}.shape[:-1], -1)",
    ),
    "joining": (
        "torch.cat([{v}, {v2}], {a})", "torch.stack([{x}, {x2}], {a})", "torch.hstack([{x}, {x2}])", "torch.vstack([{x}, {x2}])",
        "torch.broadcast_tensors({x}, {x2})[0]", "F.pad({v}, (1, 0))", "F.pad({v}, (1, 1), value={n})", "F.pad({v}, (-1, 1))",
        "torch.meshgrid({v}.flatten(), {v2}.flatten(), indexing='ij')[0]", "torch.cat([{v}, {v}.flip(0)])",
        "torch.column_stack([{v}, {v2}])", "torch.stack(list({v}))", "torch.block_diag({m}, {m2})",
        "torch.cat([{v}.flatten(), {x}.reshape(-1)])", "torch.cartesian_prod({v}.flatten()[:2], {v2}.flatten()[:2])",
        "torch.dstack([{x}, {x2}])",
    ),
    "linear algebra": (
        "{m} @ {m}.mT", "{m}.mT @ {m2}", "{v} @ {v2}", "torch.einsum('ij,kj->ik', {m}, {m2})", "torch.outer({v}.flatten(), {v2}.flatten())",
        "F.linear({v}, {m})", "torch.tril({m})", "torch.triu({m}, 1)", "torch.diag({v})", "torch.matmul({v}, {v2})",
        "torch.kron({x}, {x2})", "{m}.trace()", "torch.tensordot({v}, {v2}, 1)", "torch.cdist({m}, {m2})", "torch.diag_embed({v})",
        "torch.cross({v}, {v2}, dim={a})", "torch.addmm({x}, {m}, {m}.mT)", "torch.bmm({v}, {v2}.mT)", "torch.vdot({v}, {v2})",
        "F.scaled_dot_product_attention({m}, {m2}, {m2})", "torch.baddbmm({x}, {m}, {m2}.mT)",
    ),
    "layers": (
        "F.avg_pool1d({f}, 2)", "F.max_pool1d({f}, 2)", "F.conv1d({f}, torch.ones(2, {f}.shape[-2], 2))",
        "F.interpolate({f}, scale_factor=2)", "F.batch_norm({f}, None, None, training=True)", "F.group_norm({f}, 1)",
        "F.cross_entropy({m}, {i}.flatten() % 2)", "F.embedding({i} % 2, {m})", "F.one_hot({i} % 3, 3)", "F.one_hot({i} % 3)",
        "F.nll_loss({m}, {i} % 2)", "F.adaptive_avg_pool1d({f}, 1)", "F.unfold({f}, 2)", "F.pixel_shuffle({v}, 1)", "F.instance_norm({f})",
        "F.binary_cross_entropy_with_logits({f}, {f2})", "F.adaptive_max_pool1d({f}, 2)", "F.max_pool1d({f}, 2, 1, 1)",
    ),
    "creation": (
        "torch.zeros_like({x})", "torch.ones_like({x}, dtype={t})", "torch.full_like({x}, {n})", "{x}.new_zeros(2)",
        "{x}.new_zeros({x}.shape + (2,))", "{x}.new_ones((2, *{x2}.shape))", "torch.zeros({v}.shape[1:])", "torch.ones(*{x}.shape, {s})",
        "{x}.new_full({x2}.shape, {n})", "torch.zeros({s}, {s2})", "torch.arange({s})", "torch.arange({s}, dtype={t})",
        "torch.arange(0, {s}, 2)", "torch.full(({s},), {n})", "torch.eye({s})", "torch.linspace(0, 1, {s})", "torch.tensor({n})",
        "torch.tensor([{n}, {n2}])", "torch.tensor({x}.shape)", "torch.ones({x}.shape)", "torch.empty({s}).fill_({n})",
        "torch.ones({s}, 1, dtype={t})", "torch.tensor([[1, 2], [3, 4]])", "torch.as_tensor({x})", "torch.zeros({x}.size())",
        "torch.arange(-{s}, {s})", "torch.tensor({v}.tolist())", "torch.tensor({x}.sum().item())", "torch.tensor([1.0, 2.0, 3.0])",
        "torch.scalar_tensor({n})", "torch.tril_indices({s}, 2)", "torch.stack([{x}.sum(), {x2}.max()])", "torch.logspace(0, 1, {s})",
        "{x}.new_tensor([1, 2])",
    ),
    "dtypes": (
        "{x}.to({t})", "{x}.float()", "{x}.long()", "{x}.double()", "{x}.int()", "{x}.half()", "{x}.bool()", "{x}.type_as({x2})",
        "{x}.to({x2})", "{x}.to({x2}.dtype)", "{x}.to({t}, copy=True)", "{x}.type({t})", "{x}.bfloat16()",
        "{x}.to(torch.promote_types({x}.dtype, {t}))", "{x}.to(torch.result_type({x}, {n}))",
    ),
    "index": (
        "{v}[{k}]", "{v}[{k}]", "{v}[{k}]", "{x}[{k}]", "torch.gather({v}, {a}, {i} % 2)",
        "torch.index_select({v}, {a}, torch.tensor([1, 0]))", "torch.take({x}, {i} % 2)", "torch.masked_select({x}, {b})",
        "{v}.scatter({a}, {i} % 2, {n})", "{v}.scatter_add({a}, {i} % 2, {v2})", "{v}.index_add({a}, torch.tensor([0, 1]), {v2})",
        "{v}.index_fill({a}, torch.tensor([0]), {n})", "{v}.index_copy({a}, torch.tensor([1, 0]), {v2})",
        "{v}.index_put((torch.tensor([0, 0]),), {y}, accumulate=True)", "torch.take_along_dim({v}, {v}.argsort({a}, stable=True), {a})",
        "{v}.masked_scatter({b}, {v2})", "{v}.select_scatter({y}, {a}, 0)", "{v}.slice_scatter({v2}, {a}, 0, 1)",
        "{v}.scatter_reduce({a}, {i} % 2, {v2}, 'amax')", "{v}.diagonal_scatter({v2})", "{x}[{x} > {n}]", "{v}[{i} % {v}.shape[0]]",
        "{v}[torch.where({b})]", "{v}[{v2}.flatten().argsort(stable=True)[:1] % 2]",
    ),
    "lists": (
        "[{x}, {x2}]", "{l}[0]", "{l}[-1]", "sum({l})", "torch.stack({l})", "torch.cat({l})", "list({v})",
        "[{x} * i for i in range({s} % 4)]", "{l} + [{x}]", "{l}[::-1]", "list({v}.split(2))", "sorted({v}.flatten())",
        "max({v}.flatten())", "{l}.pop()", "torch.stack([a.sum() for a in {l}])", "dict(a={x}, b={x2})", "{v}.tolist()",
        "[a * b for a, b in zip({v}, {v2})]", "sum({v})", "{l}[: {s} % 2 + 1]", "list({x}.shape)",
    ),
    "python numbers": (
        "{s}", "{s}", "{s}", "{x}.sum().item()", "int({x}.abs().max())", "{x}.shape", "{x}.numel() / 2", "{s} ** 2", "round({s} / 2)",
        "math.ceil({s} / 2)", "{v}.tolist()[0]", "float({x}.flatten()[0])", "{q}", "math.sqrt({s})", "str({s})", "{s} % 2",
        "sum({x}.shape)", "{x}.stride(0)", "({x} > 0).sum().item()", "len({l})", "-{s}",
    ),
}  # fmt: skip

STATEMENTS: dict[str, tuple[str, ...]] = {
    "writes": (
        "{w}.add_({y})", "{w}.mul_({y})", "{w}.sub_({y})", "{x} += {y}", "{x} *= {y}", "{x} -= {y}", "{w}.copy_({y})", "{w}.copy_({x})",
        "{w}.zero_()", "{w}.fill_({n})", "{w}.masked_fill_({b}, {n})", "{w}.clamp_(-1, 1)", "{w}.neg_()", "{w}.relu_()", "{w}.abs_()",
        "{x} //= {c}", "{x} %= {c}", "{x} /= {c}", "{x} |= {x2}", "F.relu({w}, inplace=True)", "{w}.div_({c})",
        "{w}.index_fill_({a}, torch.tensor([0]), {n})", "{w}.index_add_({a}, torch.tensor([0, 1]), {v})",
        "{w}.index_copy_({a}, torch.tensor([1, 0]), {v})", "{w}.scatter_({a}, {i} % 2, {n})", "{w}.cumsum_({a})", "{w}.tril_()", "{x}.t_()",
        "{x}.unsqueeze_({a})", "{x}.squeeze_()", "{x}.transpose_(0, -1)", "{w}.fill_diagonal_({n})", "{w}.copy_({w}.flip(0))",
        "{w}.lerp_({f}, 0.5)", "{w}.masked_scatter_({b}, {x})", "{w}.index_put_((torch.tensor([0, 0]),), {y}, accumulate=True)",
        "{w}.floor_()", "{w}.pow_(2)", "{w}.addcmul_({x}, {x2})", "{w}.where({b}, {y}).add_(1)",
        "{w}.put_({i}.flatten()[:1] % 2, {x}.flatten()[:1])", "{w}.sigmoid_()", "{w}.eq_({y})", "{w}.logical_not_()", "{w}.data = {x}",
        "{w}.sort()[0].add_(1)", "{w}.swapaxes_(0, -1)", "{w}.clamp_min_({n})", "{w}.scatter_add_({a}, {i} % 2, {v})",
        "{w}.bitwise_and_({i})", "{x} **= 2", "{x} <<= 1",
    ),
    "setitem": (
        "{v}[{k}] = {y}", "{v}[{k}] = {y}", "{v}[{k}] += {y}", "{v}[{k}] *= {y}", "{w}[{k}] = {y}", "{v}[{k}][{k2}] = {y}",
        "{v}[{k}] = {v}[{k2}]", "{v}[{v} > 0] = {n}", "{v}[{x} < 0] *= -1", "{v}[{k}, ...] = {y}", "{x}[...] = {y}",
        "{v}[{k}] = [{n}, {n2}]", "{x}[{k}] -= {y}",
        "{v}[0], {v}[1] = {v}[1], {v}[0]", "{v}[{i} % 2] = {y}", "{v}[{b}] = {x}[{b}]",
    ),
    "out": (
        "torch.add({x}, {y}, out={w})", "torch.mul({x}, {x2}, out={w})", "torch.neg({x}, out={w})", "torch.sub({x}, {y}, out={w})",
        "torch.sum({v}, {a}, out={w})", "torch.cumsum({v}, {a}, out={w})", "torch.where({b}, {x}, {x2}, out={w})",
        "torch.clamp({x}, 0, 1, out={w})", "torch.cat([{v}, {v2}], out={w})", "torch.stack([{x}, {x2}], out={w})",
        "torch.gt({x}, {y}, out={w})", "torch.matmul({m}, {m2}, out={w})", "torch.maximum({x}, {x2}, out={w})", "torch.abs({w}, out={w})",
        "torch.mean({v}, {a}, out={w})", "torch.sqrt({x}.abs(), out={w})", "torch.index_select({v}, 0, torch.tensor([1, 0]), out={w})",
        "torch.arange({s}, out={w})", "torch.amax({v}, {a}, out={w})",
    ),
    "list writes": (
        "{l}.append({x})", "{l}[0] = {x}", "{l}[-1] = {y}", "{l}.reverse()", "{l}.extend([{x}, {x2}])", "{l}.insert(0, {x})",
        "{l}[0].add_({n})", "{l} += [{x}]", "{l}[0] += {n}", "{l}.append({s})", "del {l}[0]",
    ),
}  # fmt: skip

STATE = (
    "self.total.add_({n})", "self.total += {y}", "self.total = self.total + {n}", "self.total[{k}] = {n}",
    "self.total.mul_(0.5).add_({f}.mean())", "self.steps += 1", "self.total = {f}.mean() + self.total",
    "torch.add(self.total, {n}, out=self.total)",
    "self.steps.add_({v}.shape[0])", "self.total.copy_(self.total.flip(0))",
)  # fmt: skip

RANDOM = (
    "torch.rand_like({f})", "torch.randn({s}, {s2})", "torch.rand({s})", "torch.randint(0, 5, ({s},))",
    "torch.bernoulli(torch.sigmoid({f}))", "F.dropout({f}, 0.5)", "torch.randperm({s})", "torch.empty({s}).uniform_()",
    "torch.normal({f}, 1.0)", "torch.randint_like({x}, 3)", "{f}.clone().normal_()", "torch.rand({x}.shape) < 0.5",
    "{v}[torch.randperm({v}.shape[0])]", "torch.multinomial({f}.abs() + 0.5, 1)",
)  # fmt: skip

# The second text of each may follow the block at the same depth.
BLOCKS = (
    ("if {q}:", "else:"), ("if {q}:", ""), ("for i in range({s} % 5):", ""), ("for row in {v}:", ""), ("for i, row in enumerate({v}):", ""),
    ("with torch.no_grad():", ""), ("for i in range({v}.shape[0] - 1):", ""), ("for item in list({l}):", ""),
    ("for a, b in zip({v}, {v2}):", ""),
    ("for i in range(min({s}, 3), 0, -1):", ""), ("if {q}:", "else:"),
)  # fmt: skip
EXITS = ("return {x}", "return {x}, {y}", "break")
