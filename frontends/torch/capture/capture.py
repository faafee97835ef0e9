"""Recording of torch calls: a ``TorchFunctionMode`` intercepts public calls, on concrete tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from ....assumptions import assume_fact
from ....errors import TracingError
from ....forwarding import forward
from ....ir import Graph, Origin
from ....ir.graph import Aliases, GraphState, Randomness
from ....ir.node import Node, Value
from ....recording import Locator, Recorder, refuse_escapes
from ....recording.state.container_updates import Containers
from ....sizes import Size
from ....trees import Tree, flatten, iterate_structure, map_structure
from ...common.read_numbers import DTYPES, Reading
from .. import numbers
from ..basics import tensors as kinds
from ..basics import tensors as reads
from ..basics.arguments import as_recorded, opens, operand_first, without_deprecated_order
from ..basics.names import is_in_place, name_by_module, name_of, row_key, versions_before
from ..basics.refusals import InitialSettings, check_classes
from ..basics.tensors import PLAIN, TENSORS, hints, spec_of, version
from ..compat import current_transform, no_torch_function
from ..generators import SPEC as GENERATOR
from ..generators import Generators, HostDrawRecorder, is_generator
from ..gradient_rules import GradientRules
from ..gradients import AutogradHistory, CallsByKernel, Gradients
from ..memory import layouts as reshaping
from ..memory.copies import filled, is_empty_out
from ..memory.layouts import Layouts
from ..memory.memory import StorageTable, StoredTensorViews, WrittenTensors, on_owner
from ..memory.sharing import check_overlap, note_sharing, refuse_out, restrict_or_refuse_aliases, same_outputs
from ..memory.watching import ExportedMemory
from ..numbers import KeySizes
from ..settings import (
    device_under_autocast,
    is_listening,
    pop_new_modes,
    record_cast,
    restore_settings,
    without_modes,
)
from ..sizes import expression_of, is_symbolic
from ..state.parameters import TorchWeights
from ..state.state import ReachableState
from .answers import ANSWERS, elements, guard_untracked_result, with_numbers
from .backward_sizes import BackwardSizes
from .call_nodes import (
    add_node,
    backward_pass,
    guard_failed_call,
    record_known_call,
    run_known_call,
    tensors_made,
)
from .control_flow import OPERATORS, without_compilation
from .kernel_sizes import Vmapped
from .known_calls import CallOutcomes, CompletedCall, FirstRunResults, ResultReuse, outcome_of
from .nodes import STRUCTURE, size_of
from .outer_writes import OuterWrites
from .regions import loops_of
from .unrecorded import KernelMode, KernelwiseSizes, resolve_captured, same_sizes


def unrecorded() -> AbstractContextManager[None]:
    return without_modes(Capture, KernelMode)


class Capture(TorchFunctionMode):
    """Torch function mode that records one run of a function into ``recorder.graph``.

    fixed: sizes that are plain numbers from the beginning.
    spaces: ids of the global namespaces of the recorded code.
    own_modes: classes of function modes that belong to a recording.
    """

    def __init__(
        self,
        recorder: Recorder,
        weights: TorchWeights,
        for_torch: bool = True,
        draws: bool = True,
        keys: KeySizes | None = None,
        reading: Reading | None = None,
        by_kernel: CallsByKernel | None = None,
        kept_views: StoredTensorViews | None = None,
    ) -> None:
        super().__init__()
        self.reading = reading or Reading()
        self.for_torch = for_torch
        self.keys, self.by_kernel, self.kept_views = (
            keys or KeySizes(),
            by_kernel or CallsByKernel(),
            kept_views or StoredTensorViews(),
        )
        self.fixed: set[Size] = set()
        self.own_modes = (Capture, ResultReuse)
        self.spaces: frozenset[int] = frozenset()
        self.host_draws, self.generators = HostDrawRecorder(self, bakes=not draws), Generators(self, ())
        self.recorder, self.weights = recorder, weights
        self.locator = Locator(torch.nn.Module._call_impl.__code__, weights.modules.path_of)
        self.kernels, self.has_started_threads = KernelMode(self), False
        self.memory, self.exported, self.initial_settings, self.gradients = (
            StorageTable(),
            ExportedMemory(),
            InitialSettings(),
            Gradients(weights),
        )
        self.history, self.first_run, self.known = AutogradHistory(self), FirstRunResults(), CallOutcomes()
        self.input_tensors: list[torch.Tensor | None] = []
        self.call, self.call_input_count = "", 0
        self.count_decided = 0
        self.arrays: dict[int, Any] = {}
        self.written, self.rules, self.layouts, self.vmapped = (
            WrittenTensors(self),
            GradientRules(self),
            Layouts(self),
            Vmapped(self),
        )
        self.outer_writes = OuterWrites(self)
        self.backward_sizes, self.kernelwise_sizes, self.loops = (
            BackwardSizes(self),
            KernelwiseSizes(self),
            loops_of(self),
        )

    # ------------------------------------------------------------------------------ begin and end
    @contextmanager
    def isolated(self) -> Iterator[None]:
        try:
            with (
                torch.jit.optimized_execution(False),
                self.host_draws.checked(),
                self.generators.following(),
                self.rules.patches_undone(),
            ):
                with (
                    restore_settings(self.recorder.graph.name),
                    without_compilation(self),
                    self.kernels,
                    self,
                    pop_new_modes(),
                ):
                    yield
                self.generators.finish()
            self.initial_settings.check(self.here)
            self.exported.check(self.recorder.graph.name, self.written)
            restrict_or_refuse_aliases(self)
            self.gradients.check(self.recorder.graph.name)
        finally:
            self.gradients.restore()
            self.initial_settings.restore_dtype()
            self.written.restore()

    def finish(self, result: Any, input_tree: Tree, containers: Containers, state: ReachableState) -> Graph:
        graph = self.recorder.graph
        updates = containers.updates(self.rewritten_state())
        changes = bool(updates or state.replaced)
        result = (result, tuple(containers.new)) if changes else result
        if self.host_draws.bakes:
            graph.randomness = Randomness(recorded_from=self.generators.state_before)
        places = state.recorded(self, containers) if state.places or self.host_draws.draws else None
        made = self.generators.is_made
        leaves, output_tree = flatten(
            result, lambda item: isinstance(item, torch.Tensor) or is_symbolic(item) or made(item), opens
        )
        refuse_escapes(graph.name, output_tree, input_tree, self._is_recorded)
        graph.outputs = [expression_of(leaf) if is_symbolic(leaf) else self.value(leaf) for leaf in leaves]
        graph.input_tree, graph.output_tree = input_tree, output_tree
        # The outputs may have been met only now, so aliases are checked again.
        restrict_or_refuse_aliases(self)
        # A graph for another framework returns the arrays of state that it changes, while torch writes to
        # them in place.
        graph.state = GraphState(
            places,
            tuple(updates) if changes else None,
            same_outputs(graph),
            returns_written=not self.for_torch,
        )
        note_sharing(self, graph)
        if not self.weights.are_none:
            name_by_module(
                graph,
                {
                    self.weights.modules.path_of(module) or ""
                    for module in self.weights.modules
                    if not module._modules
                },
            )
        return graph

    def rewritten_state(self) -> frozenset[int]:
        pairs = list(zip(self.input_tensors, self.recorder.graph.inputs))[self.call_input_count :]
        if self.for_torch or not pairs:
            return frozenset()
        written = Aliases(self.recorder.graph).written
        return frozenset(id(tensor) for tensor, value in pairs if value in written)

    def _is_recorded(self, item: Any) -> bool:
        if not isinstance(item, torch.Tensor):
            return is_symbolic(item) and isinstance(expression_of(item), Size)
        value = self.recorder.find(item)
        return (
            self.kernels.owns(item)
            if value is None
            else self.recorder.varies(value) and not self.is_weight(value)
        )

    def forget_arrays(self) -> None:
        self.recorder.forget_arrays()
        self.input_tensors.clear()
        self.written.forget()
        self.backward_sizes.note(())
        # The loops refer to this capture, and a cycle would have to wait for the garbage collector.
        del self.loops
        for part in list(vars(self).values()):
            if getattr(part, "capture", None) is self:
                part.capture = None

    def add_number(self, name: str, number: Any) -> Value:
        self.input_tensors.append(None)
        return self.recorder.add_number(name, DTYPES[type(number)])

    def add_input(self, name: str, tensor: Any) -> None:
        if is_generator(tensor):
            self.recorder.add_input(name, tensor, GENERATOR)
            self.input_tensors.append(None)
            return
        value = self.recorder.add_input(name, tensor, spec_of(tensor))
        for size, origin in self.keys.of(self.recorder.graph, value):
            numbers.decide(self, size, origin)
            self.fixed.add(size)
        self.input_tensors.append(tensor)
        self.kernels.note(tensor)
        self.memory.note(tensor, value)
        self.gradients.add(tensor)
        self.history.add(value)
        self.layouts.add_input(value, tensor)
        self.quietly(self.backward_sizes.note, [tensor])

    # ------------------------------------------------------------------------------ interception
    def __torch_function__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        # Inside of a transform, tensors may have no concrete elements, so the kernels below are recorded.
        if current_transform() is not None:
            return self.vmapped.run(function, args, kwargs)
        check_classes(types, self.here)
        name = name_of(function)
        key = row_key(name)
        self.call = self.call if key in reads.SYMBOLIC else name
        # Kernels of a backward pass are recorded one by one.
        if name in reads.BACKWARD:
            return backward_pass(self, function, args, kwargs)
        if name in self.by_kernel.names and key not in OPERATORS:
            return self.kernelwise_sizes.run(function, args, kwargs)
        # Answers, checks of writes and sizes read the operand at position 0.
        args, kwargs = operand_first(function, args, kwargs)
        if len(args) > 2:
            args, kwargs = without_deprecated_order(key, args, kwargs)
        answer = ANSWERS.get(key)
        if answer is not None:
            return answer(self, function, args, kwargs)
        if key in reads.PROPERTIES:
            return self.run(function, args, kwargs)
        return self.record_call(function, name, key, args, kwargs)

    def run(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        before, self.kernels.inside_call = self.kernels.inside_call, True
        try:
            return forward(function, *hints(args), **(hints(kwargs) if kwargs else kwargs))
        finally:
            self.kernels.inside_call = before

    def record_kernel(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], sized: bool) -> Any:
        self.call = name = name_of(function)
        if sized:
            self.fix_all_sizes()
        if row_key(name) in reads.PROPERTIES or sized and row_key(name) in reads.SAME_SIZES:
            return self.run(function, args, kwargs)
        if row_key(name) in reads.SAME_SIZES:
            return same_sizes(self, function, args)
        if row_key(name) in reads.VALUES:
            return elements(self, function, args, kwargs)
        if row_key(name) in reshaping.VIEWS:
            return reshaping.reshape_in_place(self, function, args, kwargs)
        return self.record_call(function, name, row_key(name), args, kwargs)

    def fix_all_sizes(self, origin: Origin | None = None) -> None:
        # Nobody may ever take this gradient, so it is not worth fixing the sizes of the whole recording.
        if self.rules.is_torchs_rule:
            raise TracingError("it runs kernels of torch outside of public calls")
        self.recorder.refuse_any_length()
        nodes = self.recorder.graph.nodes
        depending_on_data = (
            value
            for node in self.recorder.all_nodes()
            if node.key in kinds.DATA_SIZED
            for value in node.outputs
        )
        for value in (*self.recorder.graph.inputs, *depending_on_data):
            numbers.decide_sizes(self, value, origin)
        numbers.decide_read(self, [(node.inputs, node.params) for node in nodes[self.count_decided :]])
        self.count_decided = len(nodes)

    def record_call(
        self, function: Any, name: str, key: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        self.initial_settings.check(self.here)
        operands: list[torch.Tensor] = []
        alike = self.known.key_of(name, key, function, args, kwargs, operands)
        outcome = self.known.outcome(alike)
        # A seed is recorded before the next call, which this short path does not do.
        if outcome is not None and self.generators.are_unseeded():
            call = run_known_call(self, function, name, key, operands, args, kwargs, outcome)
            if outcome.fits(call):
                record_known_call(self, call, outcome)
                self.first_run.note(function, args, kwargs, operands, call.result, outcome)
                return call.result
            # The call had no effects, so it can be made again.
            self.known.forget(alike)
        if "out" in kwargs and is_empty_out(self, args, kwargs):
            return filled(self, function, args, kwargs)
        generators = self.quietly(self.generators.before, (args, kwargs))
        args, kwargs = with_numbers(self, key, args, kwargs)
        if key == "as_strided" and not self.for_torch:
            args, kwargs = on_owner(self, args, kwargs)
        operands = [item for item in iterate_structure((args, kwargs)) if isinstance(item, torch.Tensor)]
        if device := device_under_autocast(self, operands):
            return record_cast(self, function, name, key, args, kwargs, device)
        call, node = self._run_and_record(function, name, key, args, kwargs, operands, generators)
        outcome = self.known.note(alike, outcome_of(call, node))
        self.first_run.note(function, args, kwargs, operands, call.result, outcome)
        return call.result

    def _run_and_record(
        self,
        function: Any,
        name: str,
        key: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        operands: list[torch.Tensor],
        generators: Any,
    ) -> tuple[CompletedCall, Node | None]:
        inputs, params = self.arguments_of(args, kwargs)
        self.exported.look(self.recorder.graph.name, key, operands)
        self.written.save(key, args, kwargs)
        self.outer_writes.save(key, args, kwargs)
        # Versions are compared instead of relying on names, because C++ code and ``inplace=`` write to
        # tensors, too.
        versions = versions_before(key, operands, args, kwargs)
        result = self.run_guarded(function, key, operands, args, kwargs)
        refuse_out(self, kwargs.get("out"), operands)
        check_overlap(self, key, args, operands)
        touched = [tensor for tensor, before in zip(operands, versions) if version(tensor) != before]
        # ``out`` comes before the operands that share its storage, whose versions count this write as well.
        if "out" in kwargs:
            out = [item for item in iterate_structure(kwargs["out"]) if isinstance(item, torch.Tensor)]
            touched = [*out, *touched]
        written = list(map(self.value, (*touched, *(operands[:1] if is_in_place(key) else ()))))
        made = tensors_made(self, key, result, operands)
        if made and operands and made[0] is operands[0]:
            self._note_returned_operand(made[0])
        drew = self.quietly(self.generators.drew, generators)
        call, node = CompletedCall(name, key, (inputs, params), operands, result), None
        if made or written or drew:
            node = add_node(self, call, made, written, drew)
        else:
            guard_untracked_result(self, result, operands, (args, kwargs))
        if written:
            self.exported.written(
                self.here,
                [item for item in operands if self.value(item) in written],
                any(map(self.recorder.varies, written)),
            )
        if key in STRUCTURE:
            STRUCTURE[key](self, inputs, params, made)
        return call, node

    def _note_returned_operand(self, tensor: torch.Tensor) -> None:
        # At other strides the call would return a copy, to which writes do not show in the input.
        if self.recorder.base_of(self.value(tensor)) in self.recorder.graph.inputs:
            self.guard_fact_if_varying("layout", tensor)

    # Without this, the kernels of ``function`` would be recorded, and other modes would see its calls.
    def quietly(self, function: Callable[..., Any], *args: Any) -> Any:
        before, self.kernels.inside_call = self.kernels.inside_call, True
        try:
            with no_torch_function():
                return forward(function, *args)
        finally:
            self.kernels.inside_call = before

    def run_guarded(
        self,
        function: Any,
        key: str,
        operands: list[torch.Tensor],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        try:
            return self.run(function, args, kwargs)
        except Exception as problem:
            guard_failed_call(self, problem, operands, args, kwargs)
            raise

    def guard_fact_if_varying(self, fact: str, tensor: torch.Tensor) -> None:
        if self.recorder.varies(value := self.value(tensor)) and not self.is_weight(value):
            self.note_fact(fact)

    def note_fact(self, fact: str, count: int | None = None) -> None:
        facts = [self.gradients.fact(given, fact) for given in self.input_tensors[:count]]
        assume_fact(self.recorder.graph, fact, facts)

    # ------------------------------------------------------------------------------ tensors and sizes
    def value(self, tensor: torch.Tensor) -> Value:
        value = self.recorder.find(tensor)
        return resolve_captured(self, tensor) if value is None else value

    def arguments_of(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        named = {name: self._argument(item) for name, item in kwargs.items()} if kwargs else {}
        return tuple(map(self._argument, args)), named

    def _argument(self, item: Any) -> Any:
        # Most arguments are tensors and numbers.
        cls = type(item)
        return (
            self.value(item)
            if cls in TENSORS
            else item
            if cls in PLAIN
            else map_structure(self._recorded, item)
        )

    def _recorded(self, item: Any) -> Any:
        if is_generator(item):
            return self.recorder.find(item) or item
        return self.value(item) if isinstance(item, torch.Tensor) else expression_of(as_recorded(item))

    def sizes_of(self, tensor: torch.Tensor) -> tuple[Any, ...]:
        maker, shape = self.recorder.maker(value := self.value(tensor)), value.spec.shape
        sizes = (
            shape
            if self._is_fixed(value, maker)
            else [self._size(value, axis, maker) for axis in range(value.ndim)]
        )
        return tuple([self.keys.number(size, self.decide) for size in sizes])

    def size(self, value: Value, axis: int) -> Any:
        maker = self.recorder.maker(value)
        return value.spec.shape[axis] if self._is_fixed(value, maker) else self._size(value, axis, maker)

    def _size(self, value: Value, axis: int, maker: Node | None) -> Any:
        size = size_of(maker, value, axis)
        return value.spec.shape[axis] if size in self.fixed else size

    def _is_fixed(self, value: Value, maker: Node | None) -> bool:
        return (
            not self.recorder.varies(value)
            or value in self.recorder.arguments
            or maker is None
            and self.is_weight(value)
        )

    def is_weight(self, value: Value) -> bool:
        return self.recorder.maker(value) is None and value not in (
            *self.recorder.graph.inputs,
            *self.recorder.arguments,
        )

    def decide(self, size: Size, key: bool = False, text: bool = False, compared: bool = False) -> Any:
        if compared and any(
            symbol.kind != "size" and self.recorder.is_inside(symbol.source) for symbol in size.symbols()
        ):
            return size
        if text and self.locator.in_message():
            return size.hint
        if key and self.keys.may_hash_symbol(
            self.recorder.graph, size, self.here(), self.locator.current_callee()
        ):
            return size
        return numbers.decide(self, size, self.locator.locate("Python", 2) if is_listening(self) else None)

    def here(self) -> Origin:
        return self.locator.locate(self.call, 2)
