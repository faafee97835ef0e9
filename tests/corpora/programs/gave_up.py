"""The ways to record that programs give up in their own framework, with reasons.

The lists are strict: a listed way must be given up.
"""

from __future__ import annotations

SIZES = "keeping sizes in keys, sizes of kernels or views beside their owner symbolic"
LISTS = "taking lists to be appended to alone"
NUMBERS = "making numbers that Python reads inputs or symbols"
OFTEN = "making numbers that change often inputs"

# Ways that are given up, why, and the programs, as "table-program".
_LISTED: tuple[tuple[frozenset[str], str, tuple[str, ...]], ...] = (
    (
        frozenset({SIZES}),
        "a size is a key, or is given to code that takes numbers alone; or kernels of gradients have sizes that follow from no input",
        (
            "type_queries-seeded_with_a_size",
            "type_queries-written_as_json",
            "guards-size_dict",
            "numbers-as_key",
            "sizes-dictionary_by_shape",
            "sizes-set_of_sizes",
            "computed_sizes-as_keys",
            "proxies-all_of_a_cache",
            "state-adds_to_set_of_module",
            "state-adds_to_set_of_object",
            "state-adds_to_set_of_method",
            "inner_gradients-of_weights",
            "inner_gradients-steps_against_the_gradient",
            "inner_gradients-penalty",
            "inner_gradients-of_attention",
            "inner_gradients-of_losses",
            "foreign-set_of_sizes",
            "control_flow-slope_of_recurrence",
            "control_flow-slope_of_loop",
            "training-momentum",
            "training-foreach",
            "training-adam",
            "training-rms",
            "training-backward_in_forward",
        ),
    ),
    (
        frozenset({LISTS}),
        "the function reads a list that it appended to before",
        (
            "numpy_state-averages_all",
            "transitive_calls-method",
            "transitive_calls-operators",
            "transitive_calls-inherited",
            "transitive_calls-in_a_table",
            "transitive_calls-in_an_attribute",
            "transitive_calls-decorated_method",
            "state-history",
            "state-closure_list",
            "state-closure_tensor_list",
            "places-list_of_class",
            "places-list_of_base_class",
            "places-dataclass_that_cannot_be_hashed",
            "growing-decides_by_length",
            "growing-looks_and_goes_on",
            "growing-gives_it",
            "growing-stacks",
            "growing-unpacks",
            "growing-begins_anew",
            "resets-Cached_removed_entry_small",
            "resets-Cached_entry_shorter_large",
            "resets-Cached_shorter_clear_small",
        ),
    ),
    (
        frozenset({SIZES}),
        "an array that it keeps is a view of one that each call replaces",
        ("kept_views-replaced_row", "kept_views-replaced_transposed", "kept_views-replaced_whole"),
    ),
    (
        frozenset({NUMBERS, OFTEN}),
        "arrays that it keeps share memory, so only one of them can be an input",
        (
            "kept_views-view_of_a_view",
            "kept_views-board",
            "kept_views-tensors_of_one_numpy_array",
        ),
    ),
    (
        frozenset({NUMBERS, SIZES}),
        "json takes numbers of Python alone",
        ("foreign-json_of_items",),
    ),
)
GAVE_UP: dict[str, frozenset[str]] = {name: ways for ways, _, names in _LISTED for name in names}
