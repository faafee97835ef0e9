"""Code of libraries that asks whether it is being compiled, and computes the same either way."""

from __future__ import annotations

from types import FrameType

_PASS_ON = frozenset({("transformers.utils.import_utils", "is_torchdynamo_compiling"), ("transformers.utils.import_utils", "is_tracing")})

# By module: functions that were read. With the answer "no" they look at the elements of a mask to leave it out where it hides nothing,
# pack one query's heads, take another kernel for the same product, warn, or keep books that no result depends on.
_SHORTCUTS = {
    "transformers.masking_utils": frozenset({
        "_ignore_causal_mask_sdpa", "_ignore_bidirectional_mask_sdpa", "_can_skip_bidirectional_mask_xpu", "find_packed_sequence_indices",
    }),
    "transformers.integrations.sdpa_attention": frozenset({"sdpa_attention_forward"}),
    "transformers.integrations.moe": frozenset({"_can_use_grouped_mm"}),
    "transformers.modeling_utils": frozenset({"warn_if_padding_and_no_attention_mask"}),
    "transformers.utils.output_capturing": frozenset({"set"}),
    "transformers.utils.generic": frozenset({"_register_model_output_pytree_node"}),
}  # fmt: skip


def asks_for_a_shortcut(frame: FrameType | None) -> bool:
    """Whether the code that asked, or the one that this passes the answer on to, is known to give the same whatever the answer is.

    >>> import sys
    >>> asks_for_a_shortcut(sys._getframe())
    False
    """
    while frame is not None and _place(frame) in _PASS_ON:
        frame = frame.f_back
    if frame is None:
        return False
    module, name = _place(frame)
    return name in _SHORTCUTS.get(module, ())


def _place(frame: FrameType) -> tuple[str, str]:
    return frame.f_globals.get("__name__", ""), frame.f_code.co_name
