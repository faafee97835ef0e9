"""A recording of a function: attempts, until one shows nothing that was not known before it."""

from __future__ import annotations

import contextvars
import threading
from dataclasses import replace

from ...errors import TracingError
from ...tracing import Recording, Request
from ...tracing.places import together
from ..reading import Reading
from .attempt import Attempt, Hypotheses, attempt, leaves_and_tree
from .basics.arguments import given_objects
from .basics.refusals import UnseenDraw, check_outside
from .installing import as_installed, is_hook
from .process.compiler import with_compiler_if_wanted
from .state.awaited import stood_in, with_elements
from .state.known_places import changed_often, converted, outermost
from .state.parameters import Weights

_MOST_DISTURBED = 4  # other threads draw random numbers, too
_MOST_ROUNDS = 5  # new places of state are found by recording; they may lead the function to more


def record(request: Request) -> Recording:
    """Runs the function and records it; one whose weights are on ``meta`` with zeros in their places, and in those of such arguments."""
    check_outside(request.name)
    weights = Weights(request.function, given_objects(request.function, request.args, leaves_and_tree(request)[1]))
    if not weights.awaited():
        return _recorded(request)
    with stood_in(weights):
        made = _recorded(replace(request, args=with_elements(request.args), kwargs=with_elements(request.kwargs)))
    made.weights.named_again()
    return made


def _recorded(request: Request) -> Recording:
    """A recording: again where places turn out to be state that were not known to be."""
    request = replace(request, places=(*request.places, *converted(request)))
    known, rounds, hypotheses = list(request.places), 0, Hypotheses(not request.same_framework, Reading(request.numbers))
    if request.numbers and request.auto_dynamic is not None:
        hypotheses.numbers = request.auto_dynamic.numbers_given(leaves_and_tree(request)[1])
    if request.auto_dynamic is not None:
        hypotheses.grown = request.auto_dynamic.lengths.grown(request.places)

    def once() -> Attempt:
        context = contextvars.copy_context()  # variables that the function sets are as before afterwards
        return context.run(attempt, replace(request, places=outermost(hypotheses.kept_views.without(known))), hypotheses)

    def again() -> Attempt:
        return with_compiler_if_wanted(once)

    often, disturbed = changed_often(request), 0
    known += often
    while rounds < _MOST_ROUNDS:
        try:
            made = again()
        except UnseenDraw:
            disturbed += 1
            if disturbed < _MOST_DISTURBED and threading.active_count() > 1:
                continue
            raise
        except Exception as problem:
            if hypotheses.grown and request.auto_dynamic is not None:
                request.auto_dynamic.lengths.give_up(hypotheses.grown)
                hypotheses.grown = frozenset()
                continue
            if hypotheses.keys.next_attempt(problem) or hypotheses.by_kernel.next_attempt() or hypotheses.kept_views.next_attempt():
                continue
            if request.numbers and (known or hypotheses.reading.any or hypotheses.numbers):
                request = replace(request, numbers=False)
                hypotheses.without_numbers()
            elif often:
                known, often = [place for place in known if place not in often], []  # as constants they may do
            else:
                raise
            continue
        if not made.left and not made.is_other_code:
            return made.recording
        if any(map(is_hook, made.left)) and (installed := as_installed(made, again)):
            return installed
        hypotheses.compiled = hypotheses.compiled and not made.is_other_code
        hypotheses.keys.give_up()
        known = [*request.places, *together(known[len(request.places) :], list(made.left))]
        rounds += 1
    places = ", ".join(place.name for place in known[-5:])
    raise TracingError(f"{request.name} keeps its state in other places each time it is recorded: {places}")
