"""Tests of Hugging Face models as users call them: without example arguments, with tokenizer outputs, with
flags of ``forward``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tests.corpora.models.torchvision_operators import ensure_torchvision  # noqa: E402

# With the CPU build of torch, transformers cannot import an installed torchvision otherwise.
ensure_torchvision()
pytest.importorskip("transformers")

from transformers import BatchEncoding  # noqa: E402
from transformers.image_processing_base import BatchFeature  # noqa: E402

import graph_compiler  # noqa: E402
from graph_compiler.frontends.torch.reference import example_inputs  # noqa: E402
from tests.corpora.models import small, zoo  # noqa: E402
from tests.support.compare import assert_same  # noqa: E402

EXAMPLES = {
    "bert": {"input_ids", "attention_mask"},
    "t5": {"input_ids", "attention_mask", "decoder_input_ids"},
    "vit": {"pixel_values"},
    "whisper": {"input_features", "decoder_input_ids"},
    "clip": {"input_ids", "attention_mask", "pixel_values"},
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_model_is_converted_with_its_own_inputs(name: str) -> None:
    case = small.BY_NAME[name].load()
    graph = graph_compiler.transpile(case.model, to="jax")
    assert len(graph.variants) == 1 and set(example_inputs(case.model)) >= EXAMPLES[name]
    with torch.no_grad():
        assert_same(graph(**case.inputs, **case.options), case.model(**case.inputs, **case.options))


def test_images_beside_text_have_the_dtype_of_the_model() -> None:
    model = small.BY_NAME["clip"].load().model.to(torch.bfloat16)
    examples = example_inputs(model)
    assert examples is not None and examples["pixel_values"].dtype is torch.bfloat16


def test_what_cannot_tell_its_inputs_is_recorded_at_the_first_call() -> None:
    graph = graph_compiler.transpile(torch.nn.Linear(2, 3), to="jax")
    assert not graph.variants
    assert example_inputs(torch.nn.Linear(2, 3)) is None
    model, *_ = zoo.load(zoo.entry_named("timesfm-TimesFmModel"))
    assert example_inputs(model) is None and not graph_compiler.transpile(model, to="jax").variants


def test_trial_runs_leave_the_model_and_the_random_state_as_they_were() -> None:
    model = small.BY_NAME["bert"].load().model.train()
    state, before = (
        torch.get_rng_state(),
        {name: tensor.clone() for name, tensor in model.state_dict().items()},
    )
    example_inputs(model)
    assert torch.equal(state, torch.get_rng_state()) and model.training
    assert_same(dict(model.state_dict()), before)


@pytest.mark.parametrize(
    "to_array", [lambda tensor: tensor, lambda tensor: tensor.numpy()], ids=["torch", "numpy"]
)
@pytest.mark.parametrize("cls", [BatchEncoding, BatchFeature])
def test_outputs_of_tokenizers_are_taken_as_they_are(cls: Any, to_array: Any) -> None:
    case = small.BY_NAME["bert"].load()
    graph = graph_compiler.transpile(case.model, to="jax")
    batch = cls({name: to_array(tensor) for name, tensor in case.other_inputs.items()})
    with torch.no_grad():
        assert_same(graph(**batch), case.model(**case.other_inputs))


@pytest.mark.parametrize("flag", ["return_dict"])
def test_flags_are_static(flag: str) -> None:
    model = small.BY_NAME["bert"].load().model
    graph = graph_compiler.transpile(model, to="jax")
    inputs = {"input_ids": torch.tensor(np.arange(14).reshape(2, 7))}
    for value in (True, False, True):
        with torch.no_grad():
            assert_same(graph(**inputs, **{flag: value}), model(**inputs, **{flag: value}))
    assert len(graph.variants) == 3


@pytest.mark.parametrize(
    ("name", "to"),
    [("bert", "torch"), ("gpt2", "jax"), ("llama", "tensorflow"), ("vit", "numpy"), ("llama", "torch")],
)
def test_hidden_states_and_attentions(name: str, to: str) -> None:
    """With these flags models install hooks on their layers in the first call."""
    model, original = (small.BY_NAME[name].load().model for _ in range(2))
    case = small.BY_NAME[name].load()
    for one in (model, original):
        one.set_attn_implementation("eager")
    graph = graph_compiler.transpile(model, to=to)
    for inputs in (case.inputs, case.other_inputs, case.inputs):
        options = {"output_hidden_states": True, "output_attentions": True}
        with torch.no_grad():
            found, expected = graph(**inputs, **options), original(**inputs, **options)
        assert len(expected["hidden_states"]) > 1 and len(expected["attentions"]) > 0
        assert_same(found, expected)
    assert not any(variant.state for variant in graph.variants)


@pytest.mark.parametrize("to", ["torch", "jax", "tensorflow"])
def test_a_static_cache_is_written_to_step_by_step(to: str) -> None:
    """After the first step the cache contains immutable arrays of the target."""
    from transformers import StaticCache

    model, original = (small.BY_NAME["llama"].load().model for _ in range(2))
    graph = graph_compiler.compile(model, to=to)
    caches = [StaticCache(config=model.config, max_cache_len=16) for _ in range(2)]
    for ids in ([[1, 2, 3]], [[4]], [[5]]):
        with torch.no_grad():
            found = graph(input_ids=torch.tensor(ids), past_key_values=caches[0]).logits
            assert_same(found, original(input_ids=torch.tensor(ids), past_key_values=caches[1]).logits)


def _caches(kind: str, config: Any) -> Any:
    """Return an empty cache of the given kind."""
    from transformers import DynamicCache, EncoderDecoderCache, QuantizedCache

    if kind == "encoder and decoder":
        return EncoderDecoderCache(_caches("dynamic", config), _caches("dynamic", config))
    return QuantizedCache("fp8", config) if kind == "quantised" else DynamicCache(config=config)


@pytest.mark.parametrize(
    ("kind", "name"), [("dynamic", "llama"), ("encoder and decoder", "t5"), ("quantised", "llama")]
)
def test_a_new_cache_for_each_generation_is_no_new_variant(kind: str, name: str) -> None:
    case = small.BY_NAME[name].load()
    graph, others = (
        graph_compiler.compile(case.model),
        {"decoder_input_ids": torch.tensor([[1]])} if name == "t5" else {},
    )
    recorded = []
    for length in (3, 4, 5):
        cache = _caches(kind, case.model.config)
        for step in range(3):
            ids = torch.arange(1, 1 + length if step == 0 or others else 2)[None]
            with torch.no_grad():
                graph(input_ids=ids, past_key_values=cache, use_cache=True, **others)
        recorded.append(len(graph.variants))
    assert recorded[0] == recorded[-1] <= 3


def test_a_generation_by_hand_in_another_framework() -> None:
    """The cache of each call is an argument of the next one, and is queried, cropped and reordered in
    between.
    """
    from transformers import DynamicCache

    case = small.BY_NAME["llama"].load()
    graph, ids = graph_compiler.compile(case.model, to="jax"), torch.tensor([[1, 2, 3], [4, 5, 6]])
    caches = [DynamicCache(config=case.model.config) for _ in range(2)]
    for step in range(4):
        with torch.no_grad():
            found, expected = (
                one(input_ids=ids, past_key_values=cache) for one, cache in zip((graph, case.model), caches)
            )
        assert_same(found.logits, expected.logits)
        caches, ids = [found.past_key_values, expected.past_key_values], ids[:, :1] + step
        if step == 1:
            for cache in caches:
                cache.crop(-1)
                cache.reorder_cache(torch.tensor([1, 0]))
        assert caches[0].get_seq_length() == caches[1].get_seq_length() == (3, 3, 4, 5)[step]


@pytest.mark.parametrize("to", ["torch", "numpy"])
def test_a_cache_that_counts_in_python_grows_without_further_recordings(to: str) -> None:
    """Sliding-window layers count the tokens in a Python number, which changes at each step."""
    from transformers import DynamicCache, MistralConfig, MistralForCausalLM

    torch.manual_seed(0)
    config = MistralConfig(
        vocab_size=20,
        hidden_size=8,
        intermediate_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        sliding_window=4,
    )
    model = MistralForCausalLM(config).eval()
    graph, counts = graph_compiler.compile(model, to=to), []
    ours, theirs = DynamicCache(config=config), DynamicCache(config=config)
    ids = torch.tensor([[3, 4, 5, 6, 7]])
    for _ in range(10):
        with torch.no_grad():
            expected = model(input_ids=ids, past_key_values=theirs).logits
        assert_same(graph(input_ids=ids, past_key_values=ours).logits, expected)
        assert ours.get_seq_length() == theirs.get_seq_length()
        ids = expected[:, -1:].argmax(-1)
        counts.append(len(graph.variants))
    assert counts[4:] == counts[4:5] * 6, graph.explain()


def test_a_mask_that_is_left_out_only_where_nobody_compiles() -> None:
    """The text model of AIMv2 omits its causal mask unless it is compiled, and relies on an attention that is
    not causal.
    """
    from transformers import Aimv2TextConfig, Aimv2TextModel

    torch.manual_seed(0)
    config = Aimv2TextConfig(
        vocab_size=20,
        hidden_size=8,
        intermediate_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        eos_token_id=2,
    )
    model = Aimv2TextModel(config).eval()
    calls = [torch.tensor(ids) for ids in ([[3, 4, 5, 2]], [[6, 3, 7, 8, 2], [9, 9, 1, 2, 2]])]
    graph = graph_compiler.transpile(model, to="numpy")
    for ids in calls:
        inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
        with torch.no_grad():
            assert_same(graph(**inputs), model(**inputs))


def test_greedy_generation() -> None:
    model = small.BY_NAME["llama"].load().model
    graph = graph_compiler.compile(
        lambda ids: model.generate(ids, max_new_tokens=3, do_sample=False, pad_token_id=0), to="torch"
    )
    for ids in (torch.tensor([[1, 2, 3]]), torch.tensor([[4, 5, 6]])):
        assert_same(graph(ids), model.generate(ids, max_new_tokens=3, do_sample=False, pad_token_id=0))
