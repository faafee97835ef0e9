"""Public functions without samples, with reasons. The first pattern that matches the whole name counts."""

from __future__ import annotations

import re

_BOXES = "draws or proposes boxes by an algorithm that no other framework has"
_FILES = "reads or writes a file format"
_CLASSES = "draws classes by counts that it keeps from call to call"
_MACHINERY = "belongs to TensorFlow's machinery of graphs, and computes nothing"
_STATE = "sets or hands out the state of a generator"
_STRINGS = "takes or gives texts"
_ASKS = "answers with objects of Python"

LEFT_OUT: dict[str, str] = {
    r"tf\.image\.(.*sample_distorted_bounding_box|generate_bounding_box_proposals)": _BOXES,
    r"tf\.image\.((decode|encode)_.*|extract_jpeg_shape|is_jpeg|.*jpeg_quality)": _FILES,
    r"tf\.(nn|random)\.learned_unigram_candidate_sampler": _CLASSES,
    r"tf\.nn\.(ctc_beam_search_decoder|.*embedding_lookup_sparse)": "takes or gives sparse arrays, whose sizes depend on elements",
    r"tf\.nn\.fractional_max_pool": "pools windows whose borders are drawn by an algorithm that no other framework has",
    r"tf\.random\.(experimental\.)?(create_rng_state|[gs]et_global_generator|set_seed)|tnp\.random\.seed": _STATE,
    r"tf\.(as_string|edit_distance|fingerprint|print)": _STRINGS,
    r"tf\.ragged_.*": "makes or takes ragged arrays, whose rows have sizes of their own",
    r"tf\.(py_function|numpy_function|load_.*library)": "runs code that cannot be seen",
    r"tf\.(assert_.*|Assert|debugging.*)": "gives nothing: what it checks is a guard, tested with programs",
    r"tf\.(gradients|hessians)": "is for graphs of TensorFlow 1: tf.GradientTape takes its place",
    r"tf\.(conv2d_backprop_.*_v2)": "has no kernel on a CPU to record it with",
    r"tf\.(fftnd|ifftnd|rfftnd|irfftnd)": "is the raw operation behind tf.signal's function of the name, which has samples",
    r"tf\.parallel_stack": "TensorFlow does not run it eagerly",
    r"tf\.(as_dtype|broadcast_static_shape|executing_eagerly|get_static_value|inside_function|is_symbolic_tensor|is_tensor|make_ndarray|make_tensor_proto|type_spec_from_value)": _ASKS,
    r"tf\.(check_pinned|control_dependencies|convert_to_tensor|device|function|get_current_name_scope|get_logger|group|import_graph_def|init_scope|no_gradient|no_op|nondifferentiable_batch_function|register_tensor_conversion_function|timestamp|tuple|variable_creator_scope)": _MACHINERY,
    r"tnp\.(experimental_enable_numpy_behavior|finfo|issubdtype|promote_types|result_type)|keras\.ops\.(dtype|is_tensor|shape)": _ASKS,
    r"keras\.ops\.convert_to_numpy": "gives an array of numpy",
    r"keras\.ops\.kron": "Keras cannot trace it with unknown sizes",
}


def reason(name: str) -> str | None:
    """Return why a function has no samples, or None if it should have some."""
    return next((why for pattern, why in LEFT_OUT.items() if re.fullmatch(pattern, name)), None)
