"""What code asks of the numbers of steps, where a recorded loop becomes one of the graph: the answers are those of all further steps."""

from __future__ import annotations

from ..ir.guard import Guard
from ..ir.recorded_loop import RecordedLoop
from ..ir.step_questions import Numbers, Question, always_holds, placed
from ..sizes import Size
from .fold_places import Places, outer_loops
from .fold_values import NotEqual


def answers(places: Places, loop: RecordedLoop, peeled: int) -> list[Guard]:
    """What a loop relies on whose first ``peeled`` steps are written out; ``NotEqual`` where its steps may have other answers."""
    guards = []
    for question in loop.questions:
        is_apart = question.place < peeled
        condition = in_its_step(loop, question) if is_apart else question.condition
        if not always_holds(condition, numbers_in(places, question, {loop: peeled})):
            if not is_apart or not places.sources.issuperset(symbol.source for symbol in condition.symbols()):
                raise NotEqual
            guards.append(Guard(condition, True, question.origin))
    return guards


def in_its_step(loop: RecordedLoop, question: Question) -> Size:
    """The condition with the number of the step in which it was asked for, which is written out."""
    number = loop.marks[question.place].index
    found: Size = question.condition if number is None else placed(question.condition, number, loop.start + question.place * loop.step)
    return found


def numbers_in(places: Places, question: Question, left_out: dict[RecordedLoop, int]) -> Numbers:
    """The numbers of steps that a question reads, or the bounds of whose loops do."""
    read = {symbol.source for symbol in question.condition.symbols()} & places.of_index.keys()
    loops = {places.of_index[number] for number in read}
    loops.update(outer for loop in list(loops) for outer in outer_loops(loop))
    found = [(index, loop) for index, loop in places.of_index.items() if loop in loops]
    found.sort(key=lambda item: len(list(outer_loops(item[1]))))
    return {index: (loop, left_out.get(loop, 0)) for index, loop in found}
