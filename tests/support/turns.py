"""Whose turn it is this week: of what is too much for every run, each run takes a share, and the shares of some weeks are the whole.

A share follows from names, so that what is added or removed changes no other one's turn, and from the number of the week.
"""

from __future__ import annotations

import datetime
import hashlib
import os
import zlib
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

WEEK = "GRAPH_COMPILER_TEST_WEEK"  # all processes of a run take the same one; set it to repeat a run of another week


def this_week() -> str:
    """The number of the week since the year 1, Mondays first."""
    return str((datetime.date.today().toordinal() - 1) // 7)


def turn(name: str, count: int, weeks: int = 1) -> int:
    """A number below ``count``, another one for each of so many names, that goes up by one after each of so many ``weeks``."""
    return (zlib.crc32(name.encode()) + int(os.environ.get(WEEK) or this_week()) // weeks) % count


# Tables of many cases, of which each week takes a half to a sixth that is drawn anew: what follows from ``turn`` may share
# their period.
SHARES = {
    "tests/control_flow/test_gradients.py": {"test_gradients": 3},
    "tests/control_flow/test_values.py": {"test_values": 3, "test_inside_of_tf_function": 4, "test_inside_of_jit": 3},
    "tests/jax_source/test_jax_gradients.py": {"test_gradients": 2},
    "tests/jax_source/test_jax_harnesses.py": {"test_harness": 2},
    "tests/jax_source/test_jax_programs.py": {"test_program": 2, "test_module": 2},
    "tests/jax_source/test_jax_samples.py": {"test_sample": 3},
    "tests/keras_source/test_keras_policies.py": {
        "test_policy": 3,
        "test_gradients_under_a_policy": 3,
        "test_parts_that_are_not_trained": 3,
        "test_channels_first": 2,
    },
    "tests/keras_source/test_keras_programs.py": {"test_program": 3, "test_step_of_an_optimizer": 3},
    "tests/keras_source/test_keras_samples.py": {"test_layer": 6},
    "tests/keras_source/test_keras_training.py": {"test_three_steps_and_back": 4},
    "tests/lengths/test_lengths.py": {
        "test_the_recording_serves_all_lengths_inside_of_compilers": 2,
        "test_gradients_are_those_of_the_steps": 2,
    },
    "tests/tensorflow_source/test_keras_layers.py": {"test_layer": 3, "test_gradient": 3},
    "tests/tensorflow_source/test_saved_models.py": {"test_saved_model": 3},
    "tests/tensorflow_source/test_tensorflow_functions.py": {"test_function": 4},
    "tests/tensorflow_source/test_tensorflow_sample_gradients.py": {"test_gradients": 6},
    "tests/tensorflow_source/test_tensorflow_samples.py": {"test_sample": 3},
    "tests/tensorflow_source/test_tensorflow_traps.py": {"test_trap": 4},
    "tests/test_dtypes.py": {"test_dtypes": 3},
    "tests/test_huggingface.py": {"test_a_model_is_converted_with_its_own_inputs": 2},
    "tests/test_inner_gradient_sizes.py": {"test_gradients_are_right_at_other_sizes": 3},
    "tests/test_kinks.py": {"test_derivatives": 4},
    "tests/test_models.py": {
        "test_outputs_at_another_shape_without_another_trace": 4,
        "test_outputs_at_the_recorded_shape": 3,
        "test_jit": 2,
    },
    "tests/test_numpy_samples.py": {"test_sample": 3},
    "tests/test_padded_sizes.py": {"test_programs_are_compiled": 3},
    "tests/test_programs.py": {"test_recorded_at_the_first_call": 4, "test_recorded_before": 3},
    "tests/test_randomness.py": {"test_draws": 2},
    "tests/test_samples.py": {"test_sample": 4},
    "tests/test_torch_control_flow.py": {
        "test_gradients_in_jax": 2,
        "test_one_variant_serves_all_calls": 2,
        "test_saved_graphs_keep_their_blocks": 2,
        "test_the_compiler_of_torch_takes_the_graph_whole": 2,
    },
    "tests/traced/test_programs.py": {"test_inside_of_a_compiler": 2, "test_one_recording_serves_all_calls": 2},
    "tests/training/test_optimizers.py": {"test_the_same_steps_as_torch": 2},
    "tests/training/test_steps.py": {"test_three_targets_train_alike": 2},
    "tests/transforms/test_derivatives.py": {"test_first_derivatives": 3, "test_second_derivatives": 3},
}
# Of these JAX compiles many cases as one program, which a share of them would not shorten.
_COMPILED_TOGETHER = frozenset({"tests/test_numpy_samples.py", "tests/test_kinks.py"})


def rests(file: str, test: str, case: str) -> bool:
    """Whether a case of a table in :data:`SHARES` rests this week.

    >>> rests("tests/test_kinks.py", "test_derivatives", "abs-jax"), rests("tests/test_api.py", "test_sample", "abs-torch")
    (False, False)
    """
    shares = SHARES.get(file, {}).get(test, 1)
    if file in _COMPILED_TOGETHER and "jax" in case.split("-"):
        return False
    drawn = hashlib.blake2b(f"{os.environ.get(WEEK) or this_week()} {file} {case}".encode(), digest_size=2)
    return int.from_bytes(drawn.digest(), "big") % shares != 0


def is_jitted(name: str, to: str) -> bool:
    """Whether a test of ``name`` runs as one compiled function: JAX takes half the time for it, or less, that it takes to compile operation
    by operation.

    Three of four do; which ones changes after four weeks, when each of them has been the turn of each target.
    """
    return to == "jax" and turn(f"{name} operation by operation", 4, weeks=4) != 0


def marks(name: str, target: str, targets: Sequence[str]) -> list[Any]:
    """The marks of a test of ``name`` in one of these targets, of which a run takes one, another one each week."""
    return [] if target == targets[turn(name, len(targets))] else [pytest.mark.out_of_turn]


def in_turn(what: str, names: Iterable[str], targets: Sequence[str], always: Sequence[str] = ()) -> list[Any]:
    """Tests of ``what``: (name, target), of each name in one of the targets in turn, and in those where it is ``always`` taken."""
    taken = (
        (name, target, [] if target in always else marks(f"{what} {name}", target, targets))
        for name in names
        for target in (*always, *targets)
    )
    return [pytest.param(name, target, marks=marks) for name, target, marks in taken]


def a_share(what: str, names: Iterable[str], weeks: int) -> list[Any]:
    """Tests of ``what``, of which each of so many ``weeks`` takes a share."""
    return [pytest.param(name, marks=[] if turn(f"{what} {name}", weeks) == 0 else [pytest.mark.out_of_turn]) for name in names]
