"""Samples of losses."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from tests.support.samples import Array, ErrorSample, Sample, array, ints

_REDUCTIONS = ("none", "mean", "sum")


def quietly(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function with torch's warnings ignored (deprecated spellings, unusual means)."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(*args, **kwargs)

    return call


_TWO = (
    F.mse_loss,
    F.l1_loss,
    F.smooth_l1_loss,
    F.huber_loss,
    F.soft_margin_loss,
    F.poisson_nll_loss,
    quietly(F.kl_div),
)


def _signs(*shape: int) -> torch.Tensor:
    count = torch.Size(shape).numel()
    return (torch.arange(count) % 3 != 0).reshape(shape) * 2.0 - 1


def _labels(*shape: int) -> Array:
    return ints(*shape, low=0, high=5)


def _ignored(*shape: int) -> torch.Tensor:
    labels = torch.arange(torch.Size(shape).numel()).reshape(shape) % 5
    return torch.where(labels == 3, -100, labels)


_ELEMENTWISE = [
    *(
        Sample(
            f,
            (array(3, 4), array(3, 4, kind="positive")),
            {"reduction": reduction},
            other=(array(2, 5), array(2, 5, kind="positive")),
        )
        for f in _TWO
        for reduction in _REDUCTIONS
    ),
    *(Sample(f, (array(), array(kind="positive"))) for f in _TWO),
    Sample(F.mse_loss, (array(3, 4), array(3, 4, dtype="float64"))),
    Sample(F.mse_loss, (array(3, 4), array(3, 4)), {"weight": torch.linspace(0, 1, 12).reshape(3, 4)}),
    Sample(quietly(F.mse_loss), (array(3, 4), array(3, 4), False), name="mse_loss-size_average"),
    Sample(quietly(F.mse_loss), (array(3, 4), array(3, 4)), {"reduce": False}),
    Sample(F.mse_loss, (array(0, 4), array(0, 4)), name="mse_loss-empty"),
    Sample(F.mse_loss, (array(3, 4, dtype="bfloat16"), array(3, 4, dtype="bfloat16"))),
    Sample(F.l1_loss, (array(3, 4), array(3, 4)), {"weight": array(3, 4, kind="positive")}),
    Sample(F.smooth_l1_loss, (array(3, 4), array(3, 4)), {"beta": 0.3}),
    Sample(F.smooth_l1_loss, (array(3, 4), array(3, 4)), {"beta": 0.0}),
    Sample(F.huber_loss, (array(3, 4), array(3, 4)), {"delta": 0.4}),
    Sample(F.huber_loss, (array(3, 4), array(3, 4)), {"weight": torch.linspace(0, 1, 12).reshape(3, 4)}),
    Sample(
        F.kl_div,
        (array(3, 4), array(3, 4)),
        {"log_target": True, "reduction": "batchmean"},
        other=(array(5, 2), array(5, 2)),
    ),
    Sample(
        F.kl_div,
        (array(3, 4), torch.tensor([0.0, 0.5, 0.5, 0.0])),
        {"reduction": "batchmean"},
        name="kl_div-zeros",
    ),
    Sample(F.poisson_nll_loss, (array(3, 4), ints(3, 4, low=0, high=4, dtype="float32")), {"full": True}),
    Sample(
        F.poisson_nll_loss,
        (array(3, 4, kind="positive"), array(3, 4, kind="positive")),
        {"log_input": False, "eps": 1e-3},
    ),
    Sample(F.gaussian_nll_loss, (array(3, 4), array(3, 4), array(3, 4, kind="positive")), {"full": True}),
    Sample(F.gaussian_nll_loss, (array(3, 4), array(3, 4), array(3, kind="positive")), {"reduction": "sum"}),
    Sample(F.gaussian_nll_loss, (array(3, 4), array(3, 4), array(3, 1, kind="positive"))),
    Sample(
        F.gaussian_nll_loss,
        (array(3, 4), array(3, 4), torch.tensor([[0.0]] * 3)),
        {"eps": 0.1},
        name="gaussian_nll_loss-no-variance",
    ),
    *(
        Sample(
            F.binary_cross_entropy,
            (torch.tensor([0.0, 0.2, 0.5, 1.0, 1.0]), torch.tensor([0.0, 1.0, 0.3, 1.0, 0.0])),
            {"reduction": reduction},
        )
        for reduction in _REDUCTIONS
    ),
    Sample(
        F.binary_cross_entropy,
        (torch.tensor([[0.1, 0.5, 0.9]]), torch.tensor([[0.3, 1.0, 0.0]])),
        {"weight": torch.tensor([1.0, 0.0, 2.0])},
        name="bce-weight",
    ),
    *(
        Sample(
            F.binary_cross_entropy_with_logits,
            (array(3, 4), array(3, 4, kind="positive")),
            {"reduction": reduction},
            other=(array(2), array(2, kind="positive")),
        )
        for reduction in _REDUCTIONS
    ),
    Sample(
        F.binary_cross_entropy_with_logits,
        (torch.tensor([[200.0, -200.0, 0.0]]), torch.tensor([[0.0, 1.0, 0.5]])),
        {"pos_weight": torch.tensor([1.0, 3.0, 0.5]), "weight": torch.tensor([2.0, 1.0, 1.0])},
        name="bce_with_logits-large",
    ),
]

_CLASSES = [
    *(
        Sample(f, (array(3, 5), _labels(3)), {"reduction": reduction}, other=(array(6, 5), _labels(6)))
        for f in (F.cross_entropy, F.nll_loss)
        for reduction in _REDUCTIONS
    ),
    *(
        Sample(f, (array(3, 5, 4, 2), _labels(3, 4, 2), array(5, kind="positive")), {"reduction": reduction})
        for f in (F.cross_entropy, F.nll_loss)
        for reduction in _REDUCTIONS
    ),
    *(Sample(f, (array(5), _labels()), name=f"{f.__name__}-one") for f in (F.cross_entropy, F.nll_loss)),
    *(
        Sample(
            f,
            (array(2, 5, 4), _ignored(2, 4), array(5, kind="positive")),
            {"reduction": reduction},
            name=f"{f.__name__}-ignored-{reduction}",
        )
        for f in (F.cross_entropy, F.nll_loss)
        for reduction in _REDUCTIONS
    ),
    Sample(
        F.cross_entropy, (array(3, 5), torch.tensor([-100, -100, -100])), name="cross_entropy-all-ignored"
    ),
    Sample(F.cross_entropy, (array(3, 5), _labels(3)), {"ignore_index": 2}),
    *(
        Sample(
            F.cross_entropy,
            (array(2, 5, 4), _ignored(2, 4), weight),
            {"label_smoothing": 0.2, "reduction": reduction},
        )
        for weight in (None, array(5, kind="positive"))
        for reduction in _REDUCTIONS
    ),
    *(
        Sample(
            F.cross_entropy,
            (array(3, 5), array(3, 5, kind="positive")),
            {"reduction": reduction, "label_smoothing": smoothing},
        )
        for smoothing in (0.0, 0.1)
        for reduction in _REDUCTIONS
    ),
    Sample(F.cross_entropy, (array(3, 5, 2), array(3, 5, 2, kind="positive"), array(5, kind="positive"))),
    Sample(F.cross_entropy, (array(5), array(5, kind="positive")), name="cross_entropy-one-distribution"),
    Sample(F.linear_cross_entropy, (array(3, 4), array(5, 4), _labels(3)), {"label_smoothing": 0.1}),
    Sample(F.cross_entropy, (array(3, 5), _labels(3)), {"label_smoothing": -0.1}),
    Sample(
        F.linear_cross_entropy,
        (array(3, 4), array(5, 2, 4), ints(3, 2, low=0, high=5)),
        {"linear_bias": array(5, 2)},
    ),
    Sample(quietly(F.nll_loss), (array(3, 5), _labels(3), None, False), name="nll_loss-size_average"),
]

_RANKING = [
    *(
        Sample(
            F.hinge_embedding_loss,
            (array(3, 4), _signs(3, 4)),
            {"reduction": reduction, "margin": 0.5},
            name=f"hinge_embedding_loss-{reduction}",
        )
        for reduction in _REDUCTIONS
    ),
    Sample(F.margin_ranking_loss, (array(6), array(6), _signs(6)), {"margin": 0.2}),
    Sample(F.margin_ranking_loss, (array(3, 4), array(3, 4), _signs(3, 4)), {"reduction": "none"}),
    *(
        Sample(
            F.multi_margin_loss,
            (array(3, 5), _labels(3)),
            {"p": p, "margin": 0.7},
            other=(array(2, 5), _labels(2)),
        )
        for p in (1, 2)
    ),
    Sample(
        F.multi_margin_loss,
        (array(3, 5), _labels(3)),
        {"weight": torch.linspace(0.1, 1, 5), "reduction": "none"},
    ),
    Sample(F.multi_margin_loss, (array(5), _labels()), name="multi_margin_loss-one"),
    *(
        Sample(
            F.multilabel_margin_loss,
            (array(2, 4), torch.tensor([[3, 0, -1, 1], [-1, 2, 0, 1]])),
            {"reduction": reduction},
            name=f"multilabel-{reduction}",
        )
        for reduction in _REDUCTIONS
    ),
    Sample(
        F.multilabel_margin_loss, (array(4), torch.tensor([3, 0, -1, 1])), name="multilabel_margin_loss-one"
    ),
    *(
        Sample(
            F.multilabel_soft_margin_loss, (array(3, 4), ints(3, 4, low=0, high=2)), {"reduction": reduction}
        )
        for reduction in _REDUCTIONS
    ),
    Sample(
        F.multilabel_soft_margin_loss, (array(3, 4), array(3, 4, kind="positive"), array(4, kind="positive"))
    ),
    *(
        Sample(
            F.cosine_embedding_loss,
            (array(3, 4), array(3, 4), _signs(3)),
            {"margin": -0.3, "reduction": reduction},
            name=f"cosine-{reduction}",
        )
        for reduction in _REDUCTIONS
    ),
    *(
        Sample(F.triplet_margin_loss, (array(3, 4), array(3, 4), array(3, 4)), {"p": p, "swap": True})
        for p in (1, 2, 3.0)
    ),
    Sample(
        F.triplet_margin_loss,
        (array(3, 4), array(3, 4), array(3, 4)),
        {"reduction": "none"},
        other=(array(2, 6), array(2, 6), array(2, 6)),
    ),
    Sample(F.triplet_margin_with_distance_loss, (array(3, 4), array(3, 4), array(3, 4)), {"margin": 0.4}),
]


def _log_probabilities(*shape: int) -> torch.Tensor:
    return F.log_softmax(torch.sin(torch.arange(torch.Size(shape).numel()).reshape(shape) * 1.7), dim=-1)


_TARGETS = torch.tensor([[1, 2, 2], [3, 1, 4], [1, 1, 1]])
_CTC = [
    *(
        Sample(
            F.ctc_loss,
            (_log_probabilities(7, 3, 5), _TARGETS, (7, 5, 7), (3, 2, 0)),
            {"reduction": reduction},
            name=f"ctc_loss-{reduction}",
        )
        for reduction in _REDUCTIONS
    ),
    Sample(
        F.ctc_loss,
        (_log_probabilities(7, 3, 5), _TARGETS, torch.tensor([7, 6, 5]), torch.tensor([3, 2, 3])),
        name="ctc_loss-arrays",
    ),
    Sample(
        F.ctc_loss,
        (_log_probabilities(7, 3, 5), torch.tensor([1, 2, 2, 4, 3]), (7, 6, 5), (2, 1, 2)),
        name="ctc_loss-one-after-the-other",
    ),
    Sample(
        F.ctc_loss,
        (
            _log_probabilities(7, 3, 5),
            torch.tensor([1, 2, 2, 4, 3]),
            torch.tensor([7, 6, 5]),
            torch.tensor([2, 1, 2]),
        ),
        name="ctc_loss-one-after-the-other-arrays",
    ),
    Sample(
        F.ctc_loss,
        (_log_probabilities(3, 3, 5), _TARGETS, (3, 2, 3), (3, 3, 3)),
        {"zero_infinity": True},
        name="ctc_loss-impossible",
    ),
    Sample(
        F.ctc_loss,
        (_log_probabilities(3, 3, 5), _TARGETS, (3, 2, 3), (3, 3, 3)),
        {"reduction": "none"},
        name="ctc_loss-infinite",
    ),
    Sample(
        F.ctc_loss,
        (_log_probabilities(7, 5), torch.tensor([1, 2]), torch.tensor(7), torch.tensor(2)),
        {"blank": 4},
        name="ctc_loss-one",
    ),
]

SAMPLES = [*_ELEMENTWISE, *_CLASSES, *_RANKING, *_CTC]

ERRORS: list[ErrorSample] = []
