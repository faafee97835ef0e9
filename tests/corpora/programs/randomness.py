"""Programs that draw random numbers: the numbers of the original in torch, the same shapes elsewhere, and
never those of the recording.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from .table import ELSEWHERE, Program


def _x(*shape: int) -> torch.Tensor:
    return torch.linspace(0.05, 0.95, int(np.prod(shape))).reshape(shape)


def calls(*shape: int) -> tuple[Callable[[], tuple[Any, ...]], ...]:
    return tuple(lambda scale=scale: (_x(*shape) * scale,) for scale in (1.0, 0.5, 0.9))


_ROWS, _IMAGES = calls(4, 6), calls(2, 3, 4, 4)


def seeds_itself(x: Any) -> Any:
    torch.manual_seed(7)
    return x + torch.rand(x.shape)


def seeds_in_between(x: Any) -> Any:
    before = torch.rand(3).sum()
    torch.manual_seed(7)
    inside = torch.rand(2).sum()
    torch.manual_seed(7)
    return x + before + inside - torch.rand(2).sum()


def forks(x: Any) -> Any:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        noise = torch.rand(x.shape)
    return x + noise + torch.rand(())


def draws_again(x: Any) -> Any:
    state = torch.get_rng_state()
    first = torch.rand(x.shape)
    torch.set_rng_state(state)
    return x + first - torch.rand(x.shape), torch.rand(2)


def own_generator(x: Any) -> Any:
    generator = torch.Generator().manual_seed(5)
    return x + torch.rand(x.shape, generator=generator) * torch.randn(
        x.shape, generator=generator
    ), torch.rand(2)


def seeded_by_size(x: Any) -> Any:
    return x + torch.rand(x.shape, generator=torch.Generator().manual_seed(int(x.shape[0])))


def given_generator(x: Any, generator: Any) -> Any:
    return (
        x
        + torch.rand(x.shape, generator=generator)
        + torch.randperm(x.shape[0], generator=generator)[:, None]
    )


def given_generator_in_place(x: Any, generator: Any) -> Any:
    return torch.empty_like(x).normal_(generator=generator) + torch.bernoulli(x, generator=generator)


def seeds_given_generator(x: Any, generator: Any) -> Any:
    generator.manual_seed(3)
    return x + torch.rand(x.shape, generator=generator)


class OwnsGenerator:
    def __init__(self) -> None:
        self._generator = torch.Generator().manual_seed(1)

    def __call__(self, x: Any) -> Any:
        return x + torch.rand(x.shape, generator=self._generator)


def branches_on_draw(x: Any) -> Any:
    return x * 2 if torch.rand(()) < 0.5 else x - 1


def scales_by_drawn_item(x: Any) -> Any:
    return x * torch.rand(()).item()


class LayerDrop(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(6, 6) for _ in range(3))

    def forward(self, x: Any) -> Any:
        for layer in self.layers:
            if torch.rand(1) >= 0.5:
                x = layer(x)
        return x


def fills_a_part(x: Any) -> Any:
    filled = x.clone()
    filled[:2].uniform_()
    return filled


def unused_draw(x: Any) -> Any:
    torch.rand(3)
    return x + torch.rand(2)[0]


def python_random(x: Any) -> Any:
    return x * random.random() + random.uniform(1, 2) - random.randint(0, x.shape[0]) + random.gauss(0, 1)


def python_branch(x: Any) -> Any:
    return x * 2 if random.random() < 0.5 else x - 1


def python_guard(x: Any) -> Any:
    """An element selects the variant, after the draws of a variant that does not fit."""
    drawn = random.random() + np.random.rand()
    return x + drawn if x[0, 0] > 0 else x - drawn


def python_sample(x: Any) -> Any:
    return x + sum(random.sample(range(100), 3)) * random.choice([1.5, 2.5, 3.5]) * random.choice(seq=(2, 3))


def python_seeded(x: Any) -> Any:
    random.seed(3)
    return x + random.random()


def python_unused(x: Any) -> Any:
    random.random()
    return x * 2


def own_random(x: Any) -> Any:
    return x + random.Random(3).random() + np.random.RandomState(3).rand() + np.random.default_rng(3).random()


def numpy_random(x: Any) -> Any:
    return x * np.random.rand() + np.random.normal() - np.random.randint(0, 100) + np.random.uniform(1, 2)


def numpy_index(x: Any) -> Any:
    return x[:, np.random.choice(6)] * np.random.randint(1, 5)


def python_shuffle(x: Any) -> Any:
    order = list(range(1, 50))
    random.shuffle(order)
    return x * order[0]


def numpy_array(x: Any) -> Any:
    return x + torch.from_numpy(np.random.randn(4, 6))


def numpy_fresh_generator(x: Any) -> Any:
    return x + np.random.default_rng().random()


_imported = random.random


def python_imported(x: Any) -> Any:
    return x + _imported()


_kept = [random.random]


def python_kept(x: Any) -> Any:
    return x + _kept[0]()


def system_seed(x: Any) -> Any:
    torch.seed()
    return x + torch.rand(1)


def reads_seed(x: Any) -> Any:
    return x + torch.initial_seed() % 10


def reads_seed_of_generator(x: Any) -> Any:
    return x + torch.default_generator.initial_seed() % 10


def reads_seed_of_given(x: Any, generator: Any) -> Any:
    return x + generator.initial_seed() % 10


def reads_state(x: Any) -> Any:
    return x + torch.get_rng_state()[:8].sum()


def reads_state_as_text(x: Any) -> Any:
    return x * len(f"{torch.get_rng_state().tolist()}")


def checked_sample(p: Any) -> Any:
    """The distribution reads the sample only to reject an invalid one."""
    distribution = torch.distributions.Categorical(probs=p)
    sample = distribution.sample()
    return sample, distribution.log_prob(sample)


def sizes_of_distributions(p: Any) -> Any:
    counts = torch.distributions.Multinomial(4, probs=p).sample()
    return (
        counts,
        torch.distributions.Laplace(p, p + 1).rsample((2,)),
        torch.distributions.Geometric(p).sample(),
    )


def keeps_a_generator() -> Callable[[Any], Any]:
    held: dict[str, Any] = {}

    def function(x: Any) -> Any:
        if "generator" not in held:
            held["generator"] = torch.Generator().manual_seed(3)
        return x + torch.rand(1, generator=held["generator"])

    return function


def _function(function: Callable[..., Any], rows: Any = _ROWS, elsewhere: str = "", **errors: str) -> Program:
    return _call(function.__name__, function, rows, elsewhere, **errors)


def _call(
    name: str, function: Callable[..., Any], rows: Any = _ROWS, elsewhere: str = "", **errors: str
) -> Program:
    return Program(name, lambda: function, rows, {**errors, **({ELSEWHERE: elsewhere} if elsewhere else {})})


def _module(make: Callable[[], nn.Module], rows: Any, elsewhere: str = "") -> Program:
    def made() -> nn.Module:
        torch.manual_seed(0)
        return make()

    return Program(type(make()).__name__, made, rows, {ELSEWHERE: elsewhere} if elsewhere else {})


_WITH_GENERATOR = tuple(
    lambda seed=seed: (_x(4, 6), torch.Generator().manual_seed(seed)) for seed in range(3)
)
_PYTHON = "random elements are handed to Python"
_CANNOT = "cannot be recorded"
_HOST = {"torch": _CANNOT, "elsewhere": _CANNOT}
_CONSTANT = dict.fromkeys(("torch", "elsewhere"), "would become a constant")
PROGRAMS = [
    *map(
        _function,
        (seeds_itself, seeds_in_between, forks, draws_again, own_generator, seeded_by_size, unused_draw),
    ),
    *(
        _function(f, _WITH_GENERATOR)
        for f in (given_generator, given_generator_in_place, seeds_given_generator)
    ),
    Program("owns_generator", OwnsGenerator, _ROWS),
    _function(branches_on_draw, elsewhere=_PYTHON),
    _function(scales_by_drawn_item),
    _module(LayerDrop, _ROWS, _PYTHON),
    *map(
        _function,
        (python_random, python_branch, python_sample, python_seeded, python_unused, python_imported),
    ),
    _function(
        python_guard, tuple(lambda sign=sign: (torch.full((4, 6), sign),) for sign in (1.0, -1.0, 2.0))
    ),
    *map(_function, (own_random, numpy_random, numpy_index)),
    *(_function(f, **_HOST) for f in (python_shuffle, numpy_array, python_kept, system_seed)),
    *(_function(f, **_CONSTANT) for f in (numpy_fresh_generator, reads_seed, reads_seed_of_generator)),
    _function(reads_seed_of_given, _WITH_GENERATOR, **_CONSTANT),
    *(
        _function(f, torch="is another at each call", elsewhere="is another at each call")
        for f in (reads_state, reads_state_as_text)
    ),
    _call("rand_like", torch.rand_like),
    _call("multinomial", lambda x: torch.multinomial(x, 2)),
    _call("normal", lambda x: torch.normal(x, x)),
    _call("poisson", torch.poisson),
    _call("exponential", lambda x: torch.empty_like(x).exponential_(2.0)),
    _function(fills_a_part),
    _call("geometric", lambda x: torch.empty_like(x).geometric_(0.4)),
    _call("rrelu", lambda x: F.rrelu(x - 0.5, training=True)),
    _call("gumbel_softmax", lambda x: F.gumbel_softmax(x, hard=True)),
    _call("fractional_max_pool", lambda x: F.fractional_max_pool2d(x, 2, output_size=2), _IMAGES),
    _call("feature_alpha_dropout", lambda x: F.feature_alpha_dropout(x, 0.4, training=True), _IMAGES),
    _call("dropout2d", lambda x: F.dropout2d(x, 0.4, training=True), _IMAGES),
    _call("alpha_dropout_in_place", lambda x: F.alpha_dropout(x * 1, 0.4, training=True, inplace=True)),
    _call("xavier", lambda x: x @ nn.init.xavier_uniform_(torch.empty(6, 6))),
    _call("kaiming", lambda x: x @ nn.init.kaiming_uniform_(torch.empty(6, 6), a=2.0)),
    _call("trunc_normal", lambda x: x @ nn.init.trunc_normal_(torch.empty(6, 6)), elsewhere=_PYTHON),
    _call("fresh_layer", nn.Linear(6, 3)),
    _call("categorical", lambda x: torch.distributions.Categorical(probs=x).sample()),
    *map(_function, (checked_sample, sizes_of_distributions)),
    Program("keeps_a_generator", keeps_a_generator, _ROWS, {ELSEWHERE: "which only torch has"}),
    _call("beta", lambda x: torch.distributions.Beta(x, x + 1).rsample()),
    _call("vmapped", torch.vmap(lambda row: row + torch.rand(6), randomness="different")),
    _module(lambda: nn.LSTM(6, 6, 2, dropout=0.4), calls(3, 4, 6)),
    _module(lambda: nn.TransformerEncoderLayer(6, 2, 8, dropout=0.4, batch_first=True), calls(3, 4, 6)),
]
