"""A recording of a function: attempts, until one shows nothing that was not known before it."""

from __future__ import annotations

import contextvars
from dataclasses import replace

from ...tracing import Recording, Request
from ...tracing.attempts import Refuted, Undisturbed, gives_up, recorded
from ...tracing.loops import counting_arguments
from ...tracing.state.places import together
from ..reading import Reading
from .attempt import Attempt, Hypotheses, attempt, leaves_and_tree
from .basics.arguments import given_objects
from .basics.refusals import UnseenDraw, check_outside
from .installing import as_installed, is_hook
from .process.compiler import with_compiler_if_wanted
from .state.awaited import stood_in, with_elements
from .state.known_places import changed_often, converted, outermost
from .state.parameters import Weights

_MOST_ROUNDS = 5  # new places of state are found by recording; they may lead the function to more


def record(request: Request) -> Recording:
    """Runs the function and records it; one whose weights are on ``meta`` with zeros in their places, and in those of such arguments."""
    check_outside(request)
    weights = Weights(request.function, given_objects(request.function, request.args, leaves_and_tree(request)[1]))
    if weights.are_none or not weights.awaited():
        return _recorded(request, weights)
    with stood_in(weights):
        made = _recorded(replace(request, args=with_elements(request.args), kwargs=with_elements(request.kwargs)))
    made.weights.named_again()
    return made


def _recorded(request: Request, weights: Weights | None = None) -> Recording:
    """A recording: again where places turn out to be state that were not known to be. ``weights`` are those of the function, if known."""
    search = _Search(replace(request, places=(*request.places, *converted(request))))
    search.hypotheses.weights = weights
    give_up = (
        Undisturbed[_Search](UnseenDraw),
        _Search.without_lists,
        _Search.without_guesses,
        _Search.without_numbers,
        _Search.without_often,
    )
    return recorded(_Search.attempt, search, give_up, _MOST_ROUNDS, search.too_many, request.name)


class _Search:
    """How the function is recorded next, by what earlier attempts have shown; an attempt that refutes something changes it."""

    def __init__(self, request: Request) -> None:
        self.request, self.often = request, changed_often(request)
        self.known = [*request.places, *self.often]
        self.hypotheses = Hypotheses(not request.same_framework, Reading(request.numbers))
        if request.numbers and request.auto_dynamic is not None:
            given = request.auto_dynamic.numbers_given(leaves_and_tree(request)[1])
            self.hypotheses.numbers = given | counting_arguments(request.function, request.args, request.kwargs)
        if request.auto_dynamic is not None:
            self.hypotheses.grown = request.auto_dynamic.lengths.grown(request.places)

    def attempt(self) -> Recording | Refuted[_Search]:
        """The recording, where the function does the same when it is not told that it is compiled, and keeps no state that is not known."""
        made, hypotheses = self._again(), self.hypotheses
        if not made.left and not made.is_other_code:
            return made.recording
        if any(map(is_hook, made.left)) and (installed := as_installed(made, self._again)):
            return installed
        hypotheses.compiled = hypotheses.compiled and not made.is_other_code
        hypotheses.keys.give_up()
        given = len(self.request.places)
        self.known = [*self.request.places, *together(self.known[given:], list(made.left))]
        return Refuted(self)

    def _again(self) -> Attempt:
        return with_compiler_if_wanted(self._once)

    def _once(self) -> Attempt:
        context = contextvars.copy_context()  # variables that the function sets are as before afterwards
        places = outermost(self.hypotheses.kept_views.without(self.known)) if self.known else ()
        return context.run(attempt, replace(self.request, places=places), self.hypotheses)

    def too_many(self) -> str:
        """What is said where each attempt finds other state."""
        return f"{self.request.name} keeps its state in other places each time it is recorded: {', '.join(p.name for p in self.known[-5:])}"

    # ------------------------------------------------------------------------------ what may be given up, the weakest first
    @gives_up("taking lists to be appended to alone")
    def without_lists(self, problem: Exception) -> _Search | None:
        """Lists are no longer taken to be appended to alone."""
        if not self.hypotheses.grown or self.request.auto_dynamic is None:
            return None
        self.request.auto_dynamic.lengths.give_up(self.hypotheses.grown)
        self.hypotheses.grown = frozenset()
        return self

    @gives_up("keeping sizes in keys, sizes of kernels or views beside their owner symbolic")
    def without_guesses(self, problem: Exception) -> _Search | None:
        """Sizes in keys, kernels taken one by one and kept views have alternatives of their own."""
        guesses = self.hypotheses
        goes_on = guesses.keys.next_attempt(problem) or guesses.by_kernel.next_attempt() or guesses.kept_views.next_attempt()
        return self if goes_on else None

    @gives_up("making numbers that Python reads inputs or symbols")
    def without_numbers(self, problem: Exception) -> _Search | None:
        """Numbers are constants."""
        if not (self.request.numbers and (self.known or self.hypotheses.reading.any or self.hypotheses.numbers)):
            return None
        self.request = replace(self.request, numbers=False)
        self.hypotheses.without_numbers()
        return self

    @gives_up("making numbers that change often inputs")
    def without_often(self, problem: Exception) -> _Search | None:
        """What was often changed may do as constants."""
        if not self.often:
            return None
        self.known, self.often = [place for place in self.known if place not in self.often], []
        return self
