"""Records what a function does with torch: every public call, seen by a ``TorchFunctionMode`` on real tensors.

Sizes are answered with symbolic ints, elements handed to Python become guards, writes are noticed by the version counter of
tensors, views by their storage. The mode is local to the thread; tensors that the function writes to and the random state are
put back afterwards, also when it raises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from ....assumptions.input_fact import assume_fact
from ....errors import TracingError
from ....forwarding import forward
from ....ir import Graph, Node, Origin, Value
from ....ir.aliases import Aliases
from ....ir.randomness import Randomness
from ....ir.state import GraphState
from ....sizes import Size
from ....tracing import Locator, Recorder, refuse_escapes
from ....tracing.state.updates import Containers
from ....trees import Tree, flatten, iterate_structure, map_structure
from ...open_numbers import DTYPES
from ...reading import Reading
from ..basics import kinds, reads
from ..basics.arguments import as_recorded, opens
from ..basics.names import is_in_place, name_by_module, name_of, row_key
from ..basics.refusals import Refusals, check_classes
from ..basics.tensors import PLAIN, TENSORS, hints, spec_of, version
from ..basics.writing import versions_before
from ..compat import current_transform, no_torch_function
from ..gradients.gradients import Gradients
from ..gradients.history import History
from ..gradients.kernel_by_kernel import KernelByKernel
from ..gradients.rules import Rules
from ..memory import reshaping
from ..memory.empty_out import filled, is_empty_out
from ..memory.exported_memory import ExportedMemory
from ..memory.kept_views import KeptViews
from ..memory.layouts import Layouts
from ..memory.memory import Memory
from ..memory.overlapping import refuse_out, refuse_overlap
from ..memory.sharing import note_aliases, note_sharing, same_outputs
from ..memory.strides import on_owner
from ..memory.written import Written
from ..numbers import numbers
from ..numbers.keys import KeySizes
from ..numbers.sizes import expression_of, is_symbolic
from ..process.autocasting import device_under_autocast, record_cast
from ..process.generators import SPEC as GENERATOR
from ..process.generators import Generators, is_generator
from ..process.host_draws import HostDraws
from ..process.modes import is_listening, unwound, without
from ..process.settings import settings_kept
from ..state.parameters import Weights
from ..state.state import State
from .answers import ANSWERS, elements, hand_over
from .backward_sizes import BackwardSizes
from .call_nodes import add_node
from .control_flow import OPERATORS, in_eager
from .first_run import FirstRun, TakingOver
from .indices import with_numbers
from .known_calls import Call, KnownCalls, outcome_of
from .loops import loops_of
from .made import tensors_made
from .made_again import made_again, note_again
from .needs import backward_pass, hold_to_failure
from .opened import Opened, same_sizes
from .outer_writes import OuterWrites
from .resolve_captured import resolve_captured
from .structure import STRUCTURE, size_of
from .unseen import Unseen
from .vmapped import Vmapped


def unrecorded() -> AbstractContextManager[None]:
    """Inside of the block no recording of this thread sees what is done."""
    return without(Capture, Unseen)


class Capture(TorchFunctionMode):
    """The interceptor of one recording."""

    def __init__(
        self,
        recorder: Recorder,
        weights: Weights,
        for_torch: bool = True,
        draws: bool = True,
        keys: KeySizes | None = None,
        reading: Reading | None = None,
        by_kernel: KernelByKernel | None = None,
        kept_views: KeptViews | None = None,
    ) -> None:
        super().__init__()
        self.reading = reading or Reading()
        self.for_torch = for_torch
        self.keys, self.by_kernel, self.kept_views = keys or KeySizes(), by_kernel or KernelByKernel(), kept_views or KeptViews()
        self.fixed: set[Size] = set()
        self.own_modes = (Capture, TakingOver)
        self.spaces: frozenset[int] = frozenset()  # identities of the globals of the code that is recorded
        self.host_draws, self.generators = HostDraws(self, bakes=not draws), Generators(self, ())
        self.recorder, self.weights = recorder, weights
        self.locator = Locator(torch.nn.Module._call_impl.__code__, weights.path_of)
        self.unseen, self.has_started_threads = Unseen(self), False
        self.memory, self.exported, self.refusals, self.gradients = Memory(), ExportedMemory(), Refusals(), Gradients(weights)
        self.history, self.first_run, self.known = History(self), FirstRun(), KnownCalls()
        self.input_tensors: list[torch.Tensor | None] = []  # None for a number
        self.call, self.count_call_inputs = "", 0
        self.count_decided = 0  # calls whose numbers are what they are
        self.arrays: dict[int, Any] = {}  # given array -> its tensor
        self.written, self.rules, self.layouts, self.vmapped = Written(self), Rules(self), Layouts(self), Vmapped(self)
        self.outer_writes = OuterWrites(self)
        self.backward_sizes, self.opened, self.loops = BackwardSizes(self), Opened(self), loops_of(self)

    # ------------------------------------------------------------------------------ begin and end
    @contextmanager
    def isolated(self) -> Iterator[None]:
        """Records inside of the block; afterwards written tensors and the random state are as before."""
        try:
            with torch.jit.optimized_execution(False), self.host_draws.checked(), self.generators.following(), self.rules.seen():
                with settings_kept(self.recorder.graph.name), in_eager(self), self.unseen, self, unwound():
                    yield
                self.generators.finish()
            self.refusals.check(self.here)
            self.exported.check(self.recorder.graph.name, self.written)
            note_aliases(self)
            self.gradients.check(self.recorder.graph.name)
        finally:
            self.gradients.restore()
            self.refusals.restore()
            self.written.restore()

    def finish(self, result: Any, input_tree: Tree, containers: Containers, state: State) -> Graph:
        """The graph, given what the function returned and what it did to containers and places."""
        graph = self.recorder.graph
        updates = containers.updates(self.rewritten_state())
        changes = bool(updates or state.replaced)
        result = (result, tuple(containers.new)) if changes else result
        if self.host_draws.bakes:
            graph.randomness = Randomness(recorded_from=self.generators.state_before)
        places = state.recorded(self, containers) if state.places or self.host_draws.draws else None
        made = self.generators.is_made
        leaves, output_tree = flatten(result, lambda item: isinstance(item, torch.Tensor) or is_symbolic(item) or made(item), opens)
        refuse_escapes(graph.name, output_tree, input_tree, self._is_recorded)
        graph.outputs = [expression_of(leaf) if is_symbolic(leaf) else self.value(leaf) for leaf in leaves]
        graph.input_tree, graph.output_tree = input_tree, output_tree
        note_aliases(self)  # once more: of what is only given back
        # arrays in places that are written to are returned for other frameworks; torch writes to them itself
        graph.state = GraphState(places, tuple(updates) if changes else None, same_outputs(graph), returns_written=not self.for_torch)
        note_sharing(self, graph)
        if not self.weights.are_none:
            name_by_module(graph, {self.weights.path_of(module) or "" for module in self.weights.modules() if not module._modules})
        return graph

    def rewritten_state(self) -> frozenset[int]:
        """Identities of tensors in places that were written to, where the graph runs in a framework whose arrays cannot be."""
        pairs = list(zip(self.input_tensors, self.recorder.graph.inputs))[self.count_call_inputs :]
        if self.for_torch or not pairs:
            return frozenset()
        written = Aliases(self.recorder.graph).written
        return frozenset(id(tensor) for tensor, value in pairs if value in written)

    def _is_recorded(self, item: Any) -> bool:
        """Whether an object is, or stands for, something that differs between calls."""
        if not isinstance(item, torch.Tensor):
            return is_symbolic(item) and isinstance(expression_of(item), Size)
        value = self.recorder.find(item)
        return self.unseen.made(item) if value is None else self.recorder.varies(value) and not self.is_weight(value)

    def forget_arrays(self) -> None:
        """Drops every reference to arrays, so that they go with their last user and wait for no collector."""
        self.recorder.forget_arrays()
        self.input_tensors.clear()
        self.written.forget()
        self.backward_sizes.note(())
        del self.loops  # which refers to this capture
        for part in list(vars(self).values()):
            if getattr(part, "capture", None) is self:
                part.capture = None

    def add_number(self, name: str, number: Any) -> Value:
        """One number that is an input."""
        self.input_tensors.append(None)
        return self.recorder.add_number(name, DTYPES[type(number)])

    def add_input(self, name: str, tensor: Any) -> None:
        """One array of the arguments (in two places it is one input, read in the first), or a generator."""
        if is_generator(tensor):
            self.recorder.add_input(name, tensor, GENERATOR)
            self.input_tensors.append(None)
            return
        value = self.recorder.add_input(name, tensor, spec_of(tensor))
        for size in self.keys.of(self.recorder.graph, value):
            self.decide(size)
            self.fixed.add(size)
        self.input_tensors.append(tensor)
        self.unseen.note(tensor)
        self.memory.note(tensor, value)
        self.gradients.add(tensor)
        self.history.add(value)
        self.layouts.add_input(value, tensor)
        self.quietly(self.backward_sizes.note, [tensor])

    # ------------------------------------------------------------------------------ every call comes here
    def __torch_function__(self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
        kwargs = kwargs or {}
        if current_transform() is not None:
            return self.vmapped.run(function, args, kwargs)
        check_classes(types, self.here)
        name = name_of(function)
        key = row_key(name)
        self.call = self.call if key in reads.SYMBOLIC else name
        if name in reads.BACKWARD:  # its kernels are recorded one by one
            return backward_pass(self, function, args, kwargs)
        if name in self.by_kernel.names and key not in OPERATORS:
            return self.opened.run(function, args, kwargs)
        answer = ANSWERS.get(key)
        if answer is not None:
            return answer(self, function, args, kwargs)
        if key in reads.FACTS:
            return self.run(function, args, kwargs)
        return self.record_call(function, name, key, args, kwargs)

    def run(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The real call, on the sizes seen; what its kernels make is hidden unless it gives it back."""
        before, self.unseen.inside_call = self.unseen.inside_call, True
        try:
            return forward(function, *hints(args), **(hints(kwargs) if kwargs else kwargs))
        finally:
            self.unseen.inside_call = before

    def record_kernel(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], sized: bool) -> Any:
        """A kernel that runs outside of any public call, as a call of its own."""
        self.call = name = name_of(function)
        if sized:
            self.fix_all_sizes()
        if row_key(name) in reads.FACTS or sized and row_key(name) in reads.SAME_SIZES:
            return self.run(function, args, kwargs)
        if row_key(name) in reads.SAME_SIZES:
            return same_sizes(self, function, args)
        if row_key(name) in reads.VALUES:
            return elements(self, function, args, kwargs)
        if row_key(name) in reshaping.VIEWS:
            return reshaping.reshape_in_place(self, function, args, kwargs)
        return self.record_call(function, name, row_key(name), args, kwargs)

    def fix_all_sizes(self, origin: Origin | None = None) -> None:
        """Sizes went into code that cannot be seen: from here on they are what they are."""
        if self.rules.is_following:  # a gradient that nobody may take is not worth the sizes of the whole recording
            raise TracingError("it runs kernels of torch outside of public calls")
        self.recorder.refuse_any_length()
        nodes = self.recorder.graph.nodes
        depending_on_data = (value for node in self.recorder.all_nodes() if node.key in kinds.DATA_SIZED for value in node.outputs)
        for value in (*self.recorder.graph.inputs, *depending_on_data):
            numbers.decide_sizes(self, value, origin)
        numbers.decide_read(self, [(node.inputs, node.params) for node in nodes[self.count_decided :]])
        self.count_decided = len(nodes)

    def record_call(self, function: Any, name: str, key: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Makes the call, and a node of it where it gives a new tensor or writes to one."""
        self.refusals.check(self.here)
        operands: list[torch.Tensor] = []
        alike = self.known.key_of(name, key, function, args, kwargs, operands)
        outcome = self.known.outcome(alike)
        if outcome is not None and self.generators.are_unseeded():
            call = made_again(self, function, name, key, operands, args, kwargs, outcome)
            if outcome.fits(call):
                note_again(self, call, outcome)
                self.first_run.note(function, args, kwargs, operands, call.result, outcome)
                return call.result
            self.known.forget(alike)  # it has done nothing, and is made once more
        if "out" in kwargs and is_empty_out(self, args, kwargs):
            return filled(self, function, args, kwargs)
        generators = self.quietly(self.generators.before, (args, kwargs))
        args, kwargs = with_numbers(self, key, args, kwargs)
        if key == "as_strided" and not self.for_torch:
            args, kwargs = on_owner(self, args, kwargs)
        operands = [item for item in iterate_structure((args, kwargs)) if isinstance(item, torch.Tensor)]
        if device := device_under_autocast(self, operands):
            return record_cast(self, function, name, key, args, kwargs, device)
        inputs, params = self.arguments_of(args, kwargs)
        self.exported.look(self.recorder.graph.name, key, operands)
        self.written.save(key, args, kwargs)
        self.outer_writes.save(key, args, kwargs)
        versions = versions_before(key, operands, args, kwargs)
        result = self.attempt(function, key, operands, args, kwargs)
        refuse_out(self, kwargs.get("out"), operands)
        refuse_overlap(self, key, args, operands)
        touched = [tensor for tensor, before in zip(operands, versions) if version(tensor) != before]
        if "out" in kwargs:  # before the operands that share its memory, whose versions count this write as well
            touched = [tensor for tensor in iterate_structure(kwargs["out"]) if isinstance(tensor, torch.Tensor)] + touched
        written = list(map(self.value, (*touched, *(operands[:1] if is_in_place(key) else ()))))
        made = tensors_made(self, key, result, operands)
        if made and operands and made[0] is operands[0] and self.recorder.base_of(self.value(made[0])) in self.recorder.graph.inputs:
            self.depends_on("layout", made[0])
        drew = self.quietly(self.generators.drew, generators)
        call, node = Call(name, key, (inputs, params), operands, result), None
        if made or written or drew:
            node = add_node(self, call, made, written, drew)
            if written:
                self.exported.written(
                    self.here, [item for item in operands if self.value(item) in written], any(map(self.recorder.varies, written))
                )
        else:
            hand_over(self, result, operands, (args, kwargs))
        if key in STRUCTURE:
            STRUCTURE[key](self, inputs, params, made)
        self.first_run.note(function, args, kwargs, operands, result, self.known.note(alike, outcome_of(call, node)))
        return result

    def quietly(self, function: Callable[..., Any], *args: Any) -> Any:
        """A look at something of which no kernel is to be seen, nor any call by modes of torch's own that are on besides."""
        before, self.unseen.inside_call = self.unseen.inside_call, True
        try:
            with no_torch_function():
                return forward(function, *args)
        finally:
            self.unseen.inside_call = before

    def attempt(self, function: Any, key: str, operands: list[torch.Tensor], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The real call, which may fail."""
        try:
            return self.run(function, args, kwargs)
        except Exception as problem:
            hold_to_failure(self, problem, operands, args, kwargs)
            raise

    def depends_on(self, fact: str, tensor: torch.Tensor) -> None:
        """From here on the recording holds only for arrays of which this fact (``requires_grad``, ``layout``) is as it is now."""
        if self.recorder.varies(value := self.value(tensor)) and not self.is_weight(value):
            self.note_fact(fact)

    def note_fact(self, fact: str, count: int | None = None) -> None:
        """As :meth:`depends_on`, of the first ``count`` inputs, or of all."""
        facts = [self.gradients.fact(given, fact) for given in self.input_tensors[:count]]
        assume_fact(self.recorder.graph, fact, facts)

    # ------------------------------------------------------------------------------ tensors and sizes
    def value(self, tensor: torch.Tensor) -> Value:
        """The value of a tensor; one that nothing recorded made is a parameter or a constant."""
        value = self.recorder.find(tensor)
        return resolve_captured(self, tensor) if value is None else value

    def arguments_of(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of a call as they are recorded."""
        named = {name: self._argument(item) for name, item in kwargs.items()} if kwargs else {}
        return tuple(map(self._argument, args)), named

    def _argument(self, item: Any) -> Any:
        cls = type(item)  # most are tensors and numbers
        return self.value(item) if cls in TENSORS else item if cls in PLAIN else map_structure(self._recorded, item)

    def _recorded(self, item: Any) -> Any:
        if is_generator(item):
            return self.recorder.find(item) or item
        return self.value(item) if isinstance(item, torch.Tensor) else expression_of(as_recorded(item))

    def sizes_of(self, tensor: torch.Tensor) -> tuple[Any, ...]:
        """The sizes of a tensor as the user's code may hold them: those of weights and constants are plain ints."""
        maker, shape = self.recorder.maker(value := self.value(tensor)), value.spec.shape
        sizes = shape if self._is_fixed(value, maker) else [self._size(value, axis, maker) for axis in range(value.ndim)]
        return tuple([self.keys.number(size, self.decide) for size in sizes])

    def size(self, value: Value, axis: int) -> Any:
        """One size of a value as an expression."""
        maker = self.recorder.maker(value)
        return value.spec.shape[axis] if self._is_fixed(value, maker) else self._size(value, axis, maker)

    def _size(self, value: Value, axis: int, maker: Node | None) -> Any:
        size = size_of(maker, value, axis)
        return value.spec.shape[axis] if size in self.fixed else size

    def _is_fixed(self, value: Value, maker: Node | None) -> bool:
        """Whether the sizes of a value, which this node has made, are those of its spec: also of an argument of a block."""
        return not self.recorder.varies(value) or value in self.recorder.arguments or maker is None and self.is_weight(value)

    def is_weight(self, value: Value) -> bool:
        """Whether the value is a parameter or a constant, whose sizes are fixed."""
        return self.recorder.maker(value) is None and value not in (*self.recorder.graph.inputs, *self.recorder.arguments)

    def decide(self, size: Size, key: bool = False, text: bool = False, compared: bool = False) -> Any:
        """The number of a size, as a guard, but for the ``text`` of a message. As a ``key`` the size itself, or ``UnhashableSize``, where
        there is a next attempt. What was ``compared`` with a number that a loop carries is given as it is."""
        if compared and any(symbol.kind != "size" and self.recorder.is_inside(symbol.source) for symbol in size.symbols()):
            return size
        if text and self.locator.in_message():
            return size.hint
        if key and self.keys.stays_open(self.recorder.graph, size, self.here(), self.locator.function_called()):
            return size
        return numbers.decide(self, size, self.locator.locate("Python", 2) if is_listening(self) else None)

    def here(self) -> Origin:
        """Where the user's code is now."""
        return self.locator.locate(self.call, 2)
