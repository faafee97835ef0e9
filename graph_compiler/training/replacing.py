"""Other arrays in the place of those that a state holds, by the names of the parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..contracts.training import Arrays, Held
from ..errors import CallMismatch, nearest
from ..ops.dtypes import dtype_name
from .plan import Plan


def replaced(plan: Plan, held: Held, parameters: Mapping[str, Any]) -> Held:
    """What is held with copies of these. Trained arrays are new ones, with the optimizer's state of those before; others are where they
    were, so that compiled steps go on with them."""
    engine = plan.engine
    arrays = _like(plan, engine.values(held.parameters), parameters)
    fixed, buffers = (engine.put(group, _kept(plan, group, arrays)) for group in (held.fixed, held.buffers))
    rest = replace(held, fixed=fixed, buffers=buffers)
    if not arrays.keys() & held.trained.keys():
        return rest
    values = {**engine.values(held.trained), **{name: array for name, array in arrays.items() if name in held.trained}}
    trained = {name: engine.trainable(array) for name, array in values.items()}
    optimizer = engine.with_optimizer_arrays(plan.make, replace(rest, trained=trained), engine.optimizer_arrays(plan.make, held))
    return replace(rest, trained=trained, optimizer=optimizer)


def _kept(plan: Plan, group: Arrays, arrays: Arrays) -> Arrays:
    return plan.engine.values({name: plan.engine.kept(arrays[name]) for name in group if name in arrays})


def _like(plan: Plan, known: Arrays, parameters: Mapping[str, Any]) -> Arrays:
    """The given arrays as those of the target. ``CallMismatch`` for a name, a shape or a type that is not that of a parameter."""
    found = {name: plan.graph.pipeline.target.target.convert(array) for name, array in parameters.items()}
    wrong = [f"{name!r} is none of its parameters{nearest(name, list(known))}" for name in found if name not in known]
    wrong += [
        f"{name} is {_shown(array)}, and its parameter {_shown(known[name])}"
        for name, array in found.items()
        if name in known and _shown(array) != _shown(known[name])
    ]
    if wrong:
        raise CallMismatch(f"these cannot take the place of parameters of {plan.graph.name}: " + "; ".join(wrong))
    return found


def _shown(array: Any) -> str:
    return "no array" if array is None else f"{dtype_name(array)}{list(map(int, array.shape))}"
