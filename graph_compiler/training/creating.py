"""The state before the first step: a model becomes a graph of the target, and its arrays are sorted by what training does with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

from ..api import compile
from ..contracts import Training
from ..contracts.training import Held
from ..errors import InvalidOption, NotCompilable, nearest
from ..registration import backends
from ..runtime import Graph
from ..runtime.frameworks import backend_of
from ..runtime.module_calls import in_mode
from ..runtime.settling import settle, state_of
from .losses import FramedLoss
from .optimizers import made
from .plan import Plan
from .precision import precision_of, with_precision
from .schedules import rate_of

Given = tuple[Sequence[Any] | None, Mapping[str, Any] | None, Any]


def created(
    model: Any,
    optimizer: Any,
    loss: Any,
    to: str | None,
    given: Given,
    precision: str,
    *,
    accumulate: int,
    clip_norm: float | None,
    schedule: Any,
    ema: float | None,
    freeze: Sequence[str],
) -> tuple[Plan, Held]:
    """See :meth:`TrainState.create`."""
    _check(accumulate, clip_norm, ema)
    half = precision_of(precision)
    if loss is None:
        raise InvalidOption("loss= is missing: a function of the outputs and the target, loss=lambda outputs, target: ...")
    graph = with_precision(_graph_of(model, to, given), half)
    target = graph.pipeline.target.name
    engine = _engine_of(target)
    make, name, own_rate = made(optimizer, engine, target)
    rate = rate_of(schedule, own_rate, own_rate is not None or engine.has_rate(make))
    framed = FramedLoss(loss, graph.pipeline.frontend.name, target)
    plan = Plan(graph, engine, make, name, rate, framed, accumulate, clip_norm, ema, is_scaled=half == "float16")
    return plan, _held(plan, freeze)


def _check(accumulate: Any, clip_norm: Any, ema: Any) -> None:
    if type(accumulate) is not int or accumulate < 1:
        raise InvalidOption(f"accumulate= is {accumulate!r}, and has to be the number of batches of an update, 1 or more")
    if clip_norm is not None and not (isinstance(clip_norm, (int, float)) and clip_norm > 0):
        raise InvalidOption(f"clip_norm= is {clip_norm!r}, and has to be a number > 0")
    if ema is not None and not (isinstance(ema, float) and 0 < ema < 1):
        raise InvalidOption(f"ema= is {ema!r}, and has to be a decay between 0 and 1, as 0.999")


# ------------------------------------------------------------------------------------- the graph
def _graph_of(model: Any, to: str | None, given: Given) -> Graph:
    """The model as a graph of the target, with a variant for training."""
    args, kwargs, parameters = given
    if to is not None:
        _engine_of(backends.get(to).name)
    if isinstance(model, Graph):
        graph = model if to is None or to == model.pipeline.target.name else model.to(to)
    else:
        graph = compile(model, to=to, args=args, kwargs=kwargs, parameters=parameters)
    if not graph.variants and (args is not None or kwargs is not None):
        graph.add_variant(tuple(args or ()), dict(kwargs or {}), "args= of TrainState.create")
    if not graph.variants:
        raise InvalidOption(f"{graph.name} is not recorded yet: give an example of its inputs, args=(x,), or call the graph once before")
    _engine_of(graph.pipeline.target.name)
    with in_mode(graph, True):
        if (args is not None or kwargs is not None) and not any(variant.environment.holds() for variant in graph.variants):
            graph.add_variant(tuple(args or ()), dict(kwargs or {}), "training mode")
        if args is not None or kwargs is not None:
            settle(graph, tuple(args or ()), kwargs or {})
    return graph


def _engine_of(target: str) -> Training:
    """``NotCompilable`` of a target without derivatives."""
    engine = backend_of(target).training_engine()
    if engine is None:
        others = ", ".join(repr(entry.name) for entry in backends.own.values() if entry.has_derivatives)
        raise NotCompilable(
            f"{target} has no derivatives, so nothing can be trained in it: train in one of {others}, to=, and give the weights back with "
            "state.to_source()"
        )
    return engine


# ------------------------------------------------------------------------------------- its arrays
def _held(plan: Plan, patterns: Sequence[str]) -> Held:
    """The arrays of a graph, copied."""
    graph, engine = plan.graph, plan.engine
    places = {name: _place(graph, name, item) for name, item in state_of(graph.variants).items()}
    arrays, written = graph.parameters, set(graph.state) - set(places)
    names = [name for name in arrays if name in graph.trained and engine.is_floating(arrays[name])]
    no_reals = [name for name in arrays if name in graph.trained and "complex" in str(arrays[name].dtype)]
    frozen = _frozen([*names, *no_reals], patterns)
    _refuse_complex(graph, arrays, set(no_reals) - frozen)
    trained = {name: engine.trainable(arrays[name]) for name in names if name not in frozen}
    if not trained:
        raise InvalidOption(f"{graph.name} has no parameter that could be trained: {_why_none(graph, names)}")
    held = Held(
        trained,
        fixed={name: engine.kept(array) for name, array in arrays.items() if name not in trained and name not in written},
        buffers={name: engine.kept(arrays[name]) for name in arrays if name in written and name not in trained},
        places={name: engine.kept(array) for name, array in places.items()},
        ema={name: engine.kept(array) for name, array in engine.values(trained).items()} if plan.ema is not None else {},
        accumulated=_zeros(engine, trained) if plan.accumulate > 1 else {},
        scaling={name: engine.kept(array) for name, array in plan.first_scaling().items()},
        rng=engine.generator(next(iter(engine.values(trained).values()))),
    )
    return replace(held, optimizer=engine.begun(plan.make, held.trained))


def _zeros(engine: Training, trained: Mapping[str, Any]) -> dict[str, Any]:
    return {name: engine.kept(engine.zeros_like(array)) for name, array in engine.values(dict(trained)).items()}


def _place(graph: Graph, name: str, item: Any) -> Any:
    array = graph.pipeline.target.target.convert(item)
    if array is None or isinstance(item, (bool, int, float)):
        raise NotCompilable(
            f"{graph.name} keeps {name} = {item!r} from call to call, which is no array, so that a compiled step cannot change it: "
            "register it as a buffer, or keep it outside of the model"
        )
    return array


def _frozen(names: Sequence[str], patterns: Sequence[str]) -> set[str]:
    """The names that a pattern fits. ``InvalidOption`` for one that fits none."""
    if isinstance(patterns, str):
        raise InvalidOption(f"freeze= is {patterns!r}, and has to be a list of patterns: freeze=[{patterns!r}]")
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise InvalidOption(f"freeze= has {pattern!r}, which fits no parameter{nearest(pattern, names)}; they are {', '.join(names)}")
    return {name for name in names for pattern in patterns if fnmatchcase(name, pattern)}


def _refuse_complex(graph: Graph, arrays: Mapping[str, Any], names: set[str]) -> None:
    """``InvalidOption`` for parameters of complex numbers: optimizers of the targets do not agree on a step of one."""
    for name in sorted(names):
        raise InvalidOption(
            f"{name} of {graph.name} is {arrays[name].dtype}, and training steps are for real parameters: keep its real and imaginary part "
            f"as two parameters, or leave it as it is, freeze=[{name!r}]"
        )


def _why_none(graph: Graph, names: Sequence[str]) -> str:
    if names:
        return "freeze= fits all of them"
    if graph.frozen:
        return f"the model itself keeps all of them from training, {', '.join(sorted(graph.frozen)[:3])} and so on: let it train some first"
    told: Any = graph.pipeline.frontend.where_parameters_are
    return str(told or "arrays of numbers that its code refers to are constants; make those that are to be trained parameters of a module")
