"""Tests of graphs in Hugging Face pipelines, which use attributes, methods and result classes of the
original.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tests.corpora.models.torchvision_operators import ensure_torchvision  # noqa: E402

ensure_torchvision()
pytest.importorskip("tokenizers")
transformers = pytest.importorskip("transformers")

from tokenizers import Tokenizer, models, pre_tokenizers, processors  # noqa: E402

import graph_compiler  # noqa: E402
from tests.support.compare import assert_same  # noqa: E402

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "sat", "on", "mat", "a", "dog", "."]
SENTENCES = ["the cat sat on the [MASK] .", "a dog [MASK]"]
TASKS = {
    "text-classification": "BertForSequenceClassification",
    "token-classification": "BertForTokenClassification",
    "feature-extraction": "BertModel",
    "fill-mask": "BertForMaskedLM",
}


def tokenizer() -> Any:
    made = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = {
        "unk_token": "[UNK]",
        "pad_token": "[PAD]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "mask_token": "[MASK]",
    }
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, model_max_length=32, **names)


def model(name: str) -> Any:
    sizes = {
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 32,
        "max_position_embeddings": 40,
    }
    return getattr(transformers, name)(transformers.BertConfig(vocab_size=len(WORDS), **sizes)).eval()


@pytest.mark.parametrize("task", TASKS)
def test_a_pipeline_takes_a_graph_and_its_module(task: str) -> None:
    source, options = model(TASKS[task]), {"tokenizer": tokenizer(), "device": "cpu"}
    expected = transformers.pipeline(task, model=source, **options)(SENTENCES)
    graph = graph_compiler.compile(source)
    assert_same(transformers.pipeline(task, model=graph, **options)(SENTENCES), expected)
    if task == "fill-mask":
        assert_same(transformers.pipeline(task, model=graph.as_module(), **options)(SENTENCES), expected)
    assert (
        graph.variants
        and graph.config is source.config
        and graph.device == source.device
        and graph.dtype is source.dtype
    )


class Encoder(torch.nn.Module):
    width = 4

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(3, self.width)

    @classmethod
    def can_encode(cls) -> bool:
        return True

    def forward(self, x: Any) -> Any:
        return {"embedding": self.layer(x).tanh()}

    def encode(self, rows: Any) -> Any:
        return self(torch.from_numpy(np.asarray(rows, np.float32)))["embedding"].detach().numpy()


def test_methods_of_the_original_run_the_graph() -> None:
    source = Encoder()
    rows = np.random.default_rng(0).standard_normal((5, 3))
    graph = graph_compiler.compile(source)
    assert_same(graph.encode(rows), source.encode(rows))
    assert len(graph.variants) == 1 and graph.width == 4 and graph.can_encode()
    with torch.no_grad():
        source.layer.weight.mul_(2)
    assert_same(graph.encode(rows), source.encode(rows))
    assert len(graph.variants) == 1 and not hasattr(graph.as_module(), "encode")
    for refused in (
        lambda: graph.layer,
        lambda: graph.nothing,
        lambda: graph_compiler.transpile(source, to="numpy").encode,
    ):
        with pytest.raises(AttributeError):
            refused()
    with pytest.raises(AttributeError, match=r"neither the graph Encoder nor its original has .* 'nothing'"):
        _ = graph.nothing
    assert not hasattr(object.__new__(type(graph)), "name")
    assert not hasattr(graph_compiler.compile(torch.relu), "config")


def test_generation_calls_the_graph() -> None:
    config = transformers.GPT2Config(
        vocab_size=20, n_embd=16, n_layer=1, n_head=2, n_positions=32, bos_token_id=0, eos_token_id=19
    )
    source = transformers.GPT2LMHeadModel(config).eval()
    graph, options = (
        graph_compiler.compile(source),
        {"max_new_tokens": 5, "do_sample": False, "pad_token_id": 0},
    )
    tokens = torch.randint(1, 19, (2, 4))
    assert (
        torch.equal(graph.generate(tokens, **options), source.generate(tokens, **options))
        and len(graph.variants) == 2
    )


@pytest.mark.slow
def test_sentence_transformers_encode_over_a_module_and_with_a_graph() -> None:
    sentence_transformers = pytest.importorskip("sentence_transformers")
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling

    class Words(torch.nn.Module):
        def __init__(self, bert: Any) -> None:
            super().__init__()
            self.bert = bert

        def tokenize(self, sentences: Any, **options: Any) -> Any:
            return dict(tokenizer()(sentences, padding=True, return_tensors="pt"))

        preprocess = tokenize

        def forward(self, features: Any, **options: Any) -> Any:
            features["token_embeddings"] = self.bert(
                **{name: features[name] for name in ("input_ids", "attention_mask")}
            )[0]
            return features

    bert = model("BertModel")
    encoder = sentence_transformers.SentenceTransformer(
        modules=[Words(bert), Pooling(16), Normalize()], device="cpu"
    )
    expected = encoder.encode(SENTENCES)
    assert_same(graph_compiler.compile(encoder).encode(SENTENCES), expected)
    encoder[0].bert = graph_compiler.compile(bert, kwargs=bert.dummy_inputs).as_module()
    assert_same(encoder.encode(SENTENCES), expected)
