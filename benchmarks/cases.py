"""The models that are measured: rows of tests/corpora/models/small.py at the sizes of a benchmark."""

from __future__ import annotations

import dataclasses

from tests.corpora.models import small
from tests.corpora.models.small import Sizes


@dataclasses.dataclass(frozen=True)
class Case:
    """A row of ``tests/corpora/models/small.py`` at given sizes.

    row: name of the row.
    full: True for the full-size model, False for the tiny one.
    """

    name: str
    row: str
    sizes: Sizes
    full: bool = False

    def load(self) -> small.Case:
        """Build the model, without gradients, and its inputs."""
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
GPT2 = Case("GPT-2", "gpt2", Sizes(1, 64), full=True)
T5_SMALL = Case("T5-small", "t5", Sizes(1, 64), full=True)
WHISPER_TINY = Case("Whisper-tiny", "whisper", Sizes(1, 16), full=True)
CLIP_BASE = Case("CLIP ViT-B/32", "clip", Sizes(1, 16, 224, 224), full=True)
MIXTRAL_SMALL = Case("Mixtral, small", "mixtral", Sizes(1, 64), full=True)
LSTM = Case("LSTM tagger", "lstm", Sizes(4, 64), full=True)
RESNET_50 = Case("ResNet-50", "resnet", Sizes(1, 0, 224, 224), full=True)
CONVNEXT_TINY = Case("ConvNeXt-T", "convnext", Sizes(1, 0, 224, 224), full=True)
