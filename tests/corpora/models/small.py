"""Well-known architectures, a row each: tiny for every test run, in full size with random weights for the
slow tests.

A row creates inputs for given sizes, so that it is recorded at shape A and called at shape B.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable
from typing import Any, cast

import torch
from torch import Tensor, nn

from .torchvision_operators import ensure_torchvision
from .weights import calibrate, isolated, scale_weights, settle

Inputs = dict[str, Tensor]
Config = dict[str, Any]

VOCABULARY = 128
TEXT = {
    "vocab_size": VOCABULARY,
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
}


@dataclasses.dataclass(frozen=True)
class Sizes:
    batch: int = 2
    tokens: int = 12
    height: int = 32
    width: int = 32


@dataclasses.dataclass(frozen=True)
class Case:
    """A model in eval mode and two sets of keyword arguments with different shapes.

    options: keyword arguments that are not arrays, for both calls.
    """

    model: nn.Module
    inputs: Inputs
    other_inputs: Inputs
    options: dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Row:
    """An architecture: how its model and inputs are created, and at which sizes."""

    name: str
    # Takes True for the full size.
    build: Callable[[bool], nn.Module]
    inputs: Callable[[nn.Module, Sizes], Inputs]
    sizes: Sizes = Sizes()
    other_sizes: Sizes = Sizes(3, 17)
    full_sizes: Sizes = Sizes(1, 32, 224, 224)
    other_full_sizes: Sizes = Sizes(2, 48, 224, 224)
    # Keyword arguments that are no arrays.
    options: tuple[tuple[str, Any], ...] = ()
    requires: str = "transformers"
    # Why another shape needs another variant; empty if it must not.
    retraces: str = ""
    only_tiny: bool = False
    # True if torch's own float32 is further from float64 at full size than the table of tolerances allows.
    against_float64: bool = False

    def load(self, *, full: bool = False, seed: int = 0) -> Case:
        """Return the model and its inputs, which are the same in every process for the same seed."""
        ensure_torchvision()
        first, second = (self.full_sizes, self.other_full_sizes) if full else (self.sizes, self.other_sizes)
        with isolated(seed):
            model = self.build(full).eval()
            settle(model, seed)
            if not full:
                scale_weights(model)
            case = Case(model, self.inputs(model, first), self.inputs(model, second), dict(self.options))
            calibrate(model, lambda: model(**case.inputs, **case.options))
        return case


# ---------------------------------------------------------------------------------------------- inputs
def _ids(sizes: Sizes) -> Tensor:
    return torch.randint(3, VOCABULARY - 1, (sizes.batch, sizes.tokens))


def _padding_mask(sizes: Sizes) -> Tensor:
    """Return a mask in which the last three tokens of the last row are padding."""
    mask = torch.ones(sizes.batch, sizes.tokens, dtype=torch.int64)
    mask[-1, -3:] = 0
    return mask


def _text(_: nn.Module, sizes: Sizes) -> Inputs:
    return {"input_ids": _ids(sizes), "attention_mask": _padding_mask(sizes)}


def _text_to_text(model: nn.Module, sizes: Sizes) -> Inputs:
    shorter = dataclasses.replace(sizes, tokens=sizes.tokens - 4)
    return {**_text(model, sizes), "decoder_input_ids": _ids(shorter)}


def _images(_: nn.Module, sizes: Sizes) -> Inputs:
    return {"pixel_values": torch.randn(sizes.batch, 3, sizes.height, sizes.width)}


def _plain_images(model: nn.Module, sizes: Sizes) -> Inputs:
    return {"x": _images(model, sizes)["pixel_values"]}


def _plain_ids(_: nn.Module, sizes: Sizes) -> Inputs:
    return {"ids": _ids(sizes)}


def _speech(model: nn.Module, sizes: Sizes) -> Inputs:
    config: Any = model.config
    # Whisper accepts no other length.
    frames = 2 * config.max_source_positions
    features = torch.randn(sizes.batch, config.num_mel_bins, frames)
    return {"input_features": features, "decoder_input_ids": _ids(sizes)}


def _text_and_images(model: nn.Module, sizes: Sizes) -> Inputs:
    config: Any = model.config
    ids = _ids(sizes)
    ids[:, -1] = config.text_config.eos_token_id
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids), **_images(model, sizes)}


# ---------------------------------------------------------------------------------------------- models
def _transformer(
    cls: str, config_cls: str, tiny: Config, full: Config | None = None
) -> Callable[[bool], nn.Module]:
    """Return a function that creates a transformers model, tiny or in full size (the defaults of the
    configuration if ``full`` is None).
    """

    def build(is_full: bool) -> nn.Module:
        library = importlib.import_module("transformers")
        config = getattr(library, config_cls)(**((full or {}) if is_full else tiny))
        return cast(nn.Module, getattr(library, cls)(config))

    return build


def _torchvision_resnet(full: bool) -> nn.Module:
    models = importlib.import_module("torchvision.models")
    if full:
        return cast(nn.Module, models.resnet50(weights=None))
    resnet = importlib.import_module("torchvision.models.resnet")
    return cast(nn.Module, resnet.ResNet(resnet.Bottleneck, [1, 1, 1, 1], num_classes=10, width_per_group=16))


class TaggerLSTM(nn.Module):
    """A tagger with a bidirectional LSTM."""

    def __init__(self, vocabulary: int, hidden: int, tags: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, hidden)
        self.lstm = nn.LSTM(hidden, hidden, num_layers=2, batch_first=True, dropout=0.1, bidirectional=True)
        self.tags = nn.Linear(2 * hidden, tags)

    def forward(self, ids: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Return the logits of each token's tag, and the last hidden and cell states."""
        states, last = self.lstm(self.embedding(ids))
        return self.tags(states), last


def _lstm(full: bool) -> nn.Module:
    return TaggerLSTM(10_000, 512, 50) if full else TaggerLSTM(VOCABULARY, 64, 7)


# --------------------------------------------------------------------------------------------- configurations
BERT = {**TEXT, "max_position_embeddings": 128}
GPT2 = {
    "vocab_size": VOCABULARY,
    "n_positions": 128,
    "n_embd": 64,
    "n_layer": 2,
    "n_head": 4,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
LLAMA = {**TEXT, "num_key_value_heads": 2, "max_position_embeddings": 128}
LLAMA_100M = {
    "vocab_size": 16_000,
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "num_key_value_heads": 4,
    "intermediate_size": 2048,
}
T5 = {"vocab_size": VOCABULARY, "d_model": 64, "d_kv": 16, "d_ff": 128, "num_layers": 2, "num_heads": 4}
VIT = {**TEXT, "image_size": 32, "patch_size": 8}
RESNET = {"embedding_size": 16, "hidden_sizes": [32, 48, 64, 96], "depths": [1, 2, 1, 1], "num_labels": 10}
RESNET_50 = {"num_labels": 1000}
CONVNEXT = {"hidden_sizes": [16, 24, 32, 48], "depths": [1, 1, 2, 1], "num_labels": 10}
WHISPER = {
    "vocab_size": VOCABULARY,
    "d_model": 64,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 128,
    "decoder_ffn_dim": 128,
    "max_source_positions": 40,
    "max_target_positions": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 1,
}
CLIP = {
    "projection_dim": 32,
    "text_config": {
        **TEXT,
        "max_position_embeddings": 64,
        "eos_token_id": VOCABULARY - 1,
        "bos_token_id": 1,
        "pad_token_id": 0,
    },
    "vision_config": {**VIT},
}
MIXTRAL = {**LLAMA, "num_local_experts": 4, "num_experts_per_tok": 2}
MIXTRAL_SMALL = {
    "vocab_size": 8_000,
    "hidden_size": 256,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "intermediate_size": 512,
    "num_local_experts": 8,
}
NO_CACHE = (("use_cache", False),)
PIXELS_DIFFER = {
    "sizes": Sizes(2, 0, 64, 64),
    "other_sizes": Sizes(3, 0, 96, 80),
    "other_full_sizes": Sizes(2, 0, 256, 192),
}

ROWS: tuple[Row, ...] = (
    Row("bert", _transformer("BertModel", "BertConfig", BERT), _text),
    Row("gpt2", _transformer("GPT2LMHeadModel", "GPT2Config", GPT2), _text, options=NO_CACHE),
    Row("llama", _transformer("LlamaForCausalLM", "LlamaConfig", LLAMA, LLAMA_100M), _text, options=NO_CACHE),
    Row("llama_cache", _transformer("LlamaForCausalLM", "LlamaConfig", LLAMA), _text, only_tiny=True),
    Row("t5", _transformer("T5ForConditionalGeneration", "T5Config", T5), _text_to_text, options=NO_CACHE),
    Row("vit", _transformer("ViTModel", "ViTConfig", VIT), _images),
    Row(
        "resnet",
        _transformer("ResNetForImageClassification", "ResNetConfig", RESNET, RESNET_50),
        _images,
        against_float64=True,
        **PIXELS_DIFFER,
    ),
    Row(
        "resnet_torchvision",
        _torchvision_resnet,
        _plain_images,
        requires="torchvision",
        against_float64=True,
        **PIXELS_DIFFER,
    ),
    Row(
        "convnext",
        _transformer("ConvNextForImageClassification", "ConvNextConfig", CONVNEXT),
        _images,
        against_float64=True,
        **PIXELS_DIFFER,
    ),
    Row(
        "whisper",
        _transformer("WhisperForConditionalGeneration", "WhisperConfig", WHISPER),
        _speech,
        options=NO_CACHE,
    ),
    Row("clip", _transformer("CLIPModel", "CLIPConfig", CLIP), _text_and_images),
    Row(
        "mixtral",
        _transformer("MixtralForCausalLM", "MixtralConfig", MIXTRAL, MIXTRAL_SMALL),
        _text,
        options=NO_CACHE,
    ),
    Row("lstm", _lstm, _plain_ids, requires="torch"),
)
BY_NAME = {row.name: row for row in ROWS}


def parameter_count(model: nn.Module) -> int:
    """Return the number of elements of all parameters, tied ones counted once."""
    return sum(weight.numel() for weight in model.parameters())
