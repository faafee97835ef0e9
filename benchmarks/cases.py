"""The models that are measured: rows of tests/models/small.py at the sizes of a benchmark."""

from __future__ import annotations

import dataclasses

from tests.models import small
from tests.models.small import Sizes


@dataclasses.dataclass(frozen=True)
class Case:
    """A row, tiny or full, at given sizes."""

    name: str
    row: str
    sizes: Sizes
    full: bool = False

    def load(self) -> small.Case:
        """The model and its inputs."""
        row = dataclasses.replace(small.BY_NAME[self.row], sizes=self.sizes, full_sizes=self.sizes)
        case = row.load(full=self.full)
        case.model.requires_grad_(False)
        return dataclasses.replace(case, other_inputs={})


TINY_BERT = Case("tiny BERT", "bert", Sizes(2, 12))
TINY_LLAMA = Case("tiny Llama", "llama", Sizes(2, 12))
TINY_VIT = Case("tiny ViT", "vit", Sizes(2))
BERT_BASE = Case("BERT-base", "bert", Sizes(1, 128), full=True)
LLAMA_100M = Case("Llama 100M", "llama", Sizes(1, 64), full=True)
VIT_BASE = Case("ViT-B/16", "vit", Sizes(1, 0, 224, 224), full=True)
