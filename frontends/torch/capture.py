"""Records what a function does with torch: every public call, seen by a ``TorchFunctionMode`` on real tensors.

Sizes are answered with symbolic ints, elements handed to Python become guards, writes are noticed by the version counter of
tensors, views by their storage. The mode is local to the thread; tensors that the function writes to and the random state are
put back afterwards, also when it raises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from ...errors import TracingError
from ...ir.graph import Graph, Origin, Value, values_in
from ...ops.dtypes import is_inexact
from ...ops.registry import ArraySpec
from ...sizes import Size, Symbol, product
from ...tracing import Locator, Recorder, Surroundings
from ...trees import Tree, call_of, flatten, iterate_structure, map_structure
from . import reads
from .arguments import input_names, is_array, opens, to_tensor
from .compiling import compiling
from .dtypes import dtype_name
from .names import is_in_place, name_of, row_key
from .parameters import Weights
from .sizes import expression_of, is_symbolic, symbolic
from .structure import STRUCTURE
from .unseen import Unseen


@dataclass
class Recording:
    """A recorded graph with what is needed to run it beside the original: where the parameters live, and what it relies on."""

    graph: Graph
    weights: Weights
    surroundings: Surroundings


def record(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], name: str, for_torch: bool = True) -> Recording:
    """Runs ``function(*args, **kwargs)`` once and records it; ``for_torch`` is whether the graph will run in torch."""
    leaves, tree = flatten((args, kwargs), is_array, opens)
    tensors = [to_tensor(leaf) for leaf in leaves]
    weights = Weights(function)
    recorder = Recorder(name, "torch")
    capture = Capture(recorder, weights)
    for leaf_name, tensor in zip(input_names(function, args, kwargs, tree), tensors):
        capture.add_input(leaf_name, tensor)
    again_args, again_kwargs = call_of(tree, tensors)
    try:
        with capture.isolated(), nullcontext() if for_torch else compiling():
            result = function(*again_args, **again_kwargs)
        graph = capture.finish(result, tree)
    finally:
        recorder.forget_arrays()
    only_without_grad = capture.grad_mode_changed and not torch.is_grad_enabled()
    return Recording(graph, weights, _surroundings(weights, graph, only_without_grad))


def spec_of(tensor: torch.Tensor) -> ArraySpec:
    """Shape as seen, and dtype."""
    return ArraySpec(tuple(tensor.shape), dtype_name(tensor.dtype))


class Capture(TorchFunctionMode):
    """The interceptor of one recording."""

    def __init__(self, recorder: Recorder, weights: Weights) -> None:
        super().__init__()
        self.recorder, self.weights = recorder, weights
        self.locator = Locator(("torch",), torch.nn.Module._call_impl.__code__, weights.path_of)
        self.unseen = Unseen(self)
        self.call = ""
        self.grad_enabled = True
        self._ambient_grad = torch.is_grad_enabled()
        self.grad_mode_changed = False
        self.differentiable: set[Value] = set()
        self._saved: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    # ------------------------------------------------------------------------------ begin and end
    @contextmanager
    def isolated(self) -> Iterator[None]:
        """Records inside of the block; afterwards written tensors and the random state are as before."""
        random_state = torch.get_rng_state()
        try:
            with self.unseen, self:
                yield
        finally:
            torch.set_rng_state(random_state)
            with torch.no_grad():
                for tensor, before in self._saved.values():
                    tensor.copy_(before)

    def finish(self, result: Any, input_tree: Tree) -> Graph:
        """The graph, given what the function returned."""
        leaves, output_tree = flatten(result, lambda item: isinstance(item, torch.Tensor) or is_symbolic(item), opens)
        graph = self.recorder.graph
        graph.outputs = [expression_of(leaf) if is_symbolic(leaf) else self.value(leaf) for leaf in leaves]
        graph.input_tree, graph.output_tree = input_tree, output_tree
        _name_by_module(graph, self._leaf_paths())
        return graph

    def add_input(self, name: str, tensor: torch.Tensor) -> None:
        """One array of the arguments; an array that stands in two places is one input, read in the first."""
        value = self.recorder.add_input(name, tensor, spec_of(tensor))
        if is_inexact(value.dtype):
            self.differentiable.add(value)

    # ------------------------------------------------------------------------------ every call comes here
    def __torch_function__(self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
        kwargs = kwargs or {}
        if torch._C._functorch.peek_interpreter_stack() is not None:
            return function(*_hints(args), **_hints(kwargs))
        name = name_of(function)
        key = row_key(name)
        self.call = name
        answer = _ANSWERS.get(key)
        if answer is not None:
            return answer(self, function, args, kwargs)
        if key in reads.FACTS:
            return self.run(function, args, kwargs)
        return self.record_call(function, name, key, args, kwargs)

    def run(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The real call, on the sizes seen; what its kernels make is hidden unless it gives it back."""
        before, self.unseen.inside_call = self.unseen.inside_call, True
        try:
            return function(*_hints(args), **_hints(kwargs))
        finally:
            self.unseen.inside_call = before

    def record_kernel(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], sized: bool) -> Any:
        """A kernel that runs outside of any public call, as a call of its own."""
        self.call = name = name_of(function)
        if sized:
            self._fix_all_sizes()
        return self.record_call(function, name, row_key(name), args, kwargs)

    def _fix_all_sizes(self) -> None:
        """Sizes went into code that cannot be seen: from here on they are what they are."""
        graph = self.recorder.graph
        depending_on_data = (value for node in graph.nodes if node.facts["key"] in _DATA_SIZED for value in node.outputs)
        for value in (*graph.inputs, *depending_on_data):
            for axis in range(value.ndim):
                size = self.size(value, axis)
                if isinstance(size, Size):
                    self.decide(size)

    def record_call(self, function: Any, name: str, key: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Makes the call, and a node of it where it gives a new tensor or writes to one."""
        args, kwargs = self._numbers_read(key, args, kwargs)
        operands = [item for item in iterate_structure((args, kwargs)) if isinstance(item, torch.Tensor)]
        inputs, params = map_structure(self._recorded, args), map_structure(self._recorded, kwargs)
        self._save_written(key, args, kwargs)
        versions = [None if reads.is_trained(tensor, key, args, kwargs) else _version(tensor) for tensor in operands]
        result = self.run(function, args, kwargs)
        written = [self.value(t) for t, version in zip(operands, versions) if _version(t) != version or (is_in_place(key) and t is operands[0])]
        made = [result] if key in _MAY_COPY and result is operands[0] else self._new_tensors(result, operands)
        if made or written:
            self._add_node(name, key, inputs, params, operands, result, made, written)
        return result

    def _numbers_read(self, key: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Tensors that stand where torch wants an int (bounds of slices, sizes) are read by it: as if the code had called ``int``."""

        def number(item: Any) -> Any:
            is_number = isinstance(item, torch.Tensor) and item.ndim == 0 and not item.is_floating_point() and item.dtype != torch.bool
            return _elements(self, torch.Tensor.item, (item,), {}) if is_number else item

        def bounds(item: Any) -> Any:
            return slice(number(item.start), number(item.stop), number(item.step)) if isinstance(item, slice) else item

        if key in ("__getitem__", "__setitem__"):
            index = tuple(map(bounds, args[1])) if isinstance(args[1], tuple) else bounds(args[1])
            return (args[0], index, *args[2:]), kwargs
        if key not in _TAKES_SIZES:
            return args, kwargs
        first = 0 if key in _CREATES else 1
        return (*args[:first], *map_structure(number, args[first:])), map_structure(number, kwargs)

    def _add_node(self, name: str, key: str, inputs: Any, params: Any, operands: Any, result: Any, made: Any, written: Any) -> None:
        origin = self.locator.locate(name, 4)
        wish = _WISHES.get(key, key.strip("_"))
        facts: dict[str, Any] = {"key": key}
        if written:
            facts["writes"] = tuple(dict.fromkeys(written))
        if not self.grad_enabled and any(value in self.differentiable for value in values_in((inputs, params))):
            facts["no_grad"] = True
        if key in _RANDOM:
            facts["random"] = True
        self._refuse_unseen(operands, origin)
        node = self.recorder.add_call(name, inputs, params, origin, [(wish, tensor, spec_of(tensor)) for tensor in made], facts)
        facts["result"] = map_structure(lambda item: self.recorder.find(item) if isinstance(item, torch.Tensor) else item, result)
        if self.grad_enabled and key not in _CUT and any(value in self.differentiable for value in node.uses):
            self.differentiable.update(value for value in node.outputs if is_inexact(value.dtype))
        self._note_views(made, operands, node.outputs, facts)
        assume = STRUCTURE.get(key)
        if assume is not None:
            assume(self, inputs, params, node.outputs)

    # ------------------------------------------------------------------------------ tensors and sizes
    def value(self, tensor: torch.Tensor) -> Value:
        """The value of a tensor; one that nothing recorded made is a parameter or a constant."""
        value = self.recorder.find(tensor)
        if value is not None:
            return value
        if self.unseen.is_hidden(tensor):
            raise TracingError(
                f"{self.here()}: a tensor is used here that was computed inside of another call and kept aside (by a hook, an autograd rule or a cache), "
                "so the recording did not see where it comes from. Return it from that call, or compute it with public functions"
            )
        name = self.weights.name_of(tensor)
        if name is None or not self.weights.is_persistent(name):
            return self.recorder.add_constant(name or "constant", tensor, spec_of(tensor))
        value = self.recorder.add_parameter(name, tensor, spec_of(tensor))
        self.differentiable.update([value] if is_inexact(value.dtype) else [])
        return value

    def _recorded(self, item: Any) -> Any:
        return self.value(item) if isinstance(item, torch.Tensor) else expression_of(item)

    def sizes_of(self, tensor: torch.Tensor) -> tuple[Any, ...]:
        """The sizes of a tensor as the user's code may hold them: those of weights and constants are plain ints."""
        value = self.value(tensor)
        return tuple(symbolic(self.size(value, axis), self.decide) for axis in range(tensor.ndim))

    def size(self, value: Value, axis: int) -> Any:
        """One size of a value as an expression."""
        seen = value.spec.shape[axis]
        return Size.of(Symbol(value, axis, seen)) if self.recorder.varies(value) and not self._is_weight(value) else seen

    def _is_weight(self, value: Value) -> bool:
        return value.node is None and value not in self.recorder.graph.inputs

    def decide(self, size: Size) -> Any:
        """The number of a size, as a guard."""
        return self.recorder.decide_size(size, self.here())

    def here(self) -> Origin:
        """Where the user's code is now."""
        return self.locator.locate(self.call, 2)

    # ------------------------------------------------------------------------------ writes and views
    def _save_written(self, key: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        targets = [args[0]] if args and (is_in_place(key) or kwargs.get("inplace") or (len(args) > 1 and args[-1] is True)) else []
        targets += [kwargs["out"]] if kwargs.get("out") is not None else []
        for position, keyword in reads.WRITTEN_ARGUMENTS.get(key, ()):
            targets.append(args[position] if position < len(args) else kwargs.get(keyword))
        for tensor in iterate_structure(targets):
            if isinstance(tensor, torch.Tensor):
                self._save(tensor)

    def _save(self, tensor: torch.Tensor) -> None:
        value = self.value(tensor)
        base = self.recorder.base_of(value)
        if base.node is None and id(tensor) not in self._saved:
            self._saved[id(tensor)] = (tensor, self.run(lambda: tensor.detach().clone(), (), {}))

    def _new_tensors(self, result: Any, operands: list[torch.Tensor]) -> list[torch.Tensor]:
        if isinstance(result, torch.Tensor):
            return [] if self._known(result, operands) else [result]
        if not isinstance(result, (tuple, list, dict)):
            return []
        return [item for item in iterate_structure(result) if isinstance(item, torch.Tensor) and not self._known(item, operands)]

    def _known(self, tensor: torch.Tensor, operands: list[torch.Tensor]) -> bool:
        return any(tensor is operand for operand in operands) or self.recorder.find(tensor) is not None

    def _note_views(self, made: list[torch.Tensor], operands: list[torch.Tensor], outputs: tuple[Value, ...], facts: dict[str, Any]) -> None:
        if not made or not operands:
            return
        memory = {_storage(operand): operand for operand in reversed(operands)}
        for index, (tensor, value) in enumerate(zip(made, outputs)):
            viewed = memory.get(_storage(tensor))
            if viewed is not None:
                facts.setdefault("views", {})[index] = self.value(viewed)
                self.recorder.set_base(value, self.value(viewed))

    def _refuse_unseen(self, operands: list[torch.Tensor], origin: Origin) -> None:
        if torch.is_autocast_enabled("cpu"):
            raise TracingError(f"{origin}: torch.autocast inside of a recorded function is not supported yet; cast the model instead")

    def _leaf_paths(self) -> set[str]:
        return {self.weights.path_of(module) or "" for module in self.weights.modules() if not module._modules}


# --------------------------------------------------------------------------------- what the recording relies on
def _surroundings(weights: Weights, graph: Graph, only_without_grad: bool) -> Surroundings:
    """Training flags of the modules, captured tensors nobody has written to or replaced, and the grad mode where it matters."""
    modules = weights.modules()
    flags = [module.training for module in modules]
    captured = [(tensor, _version(tensor)) for _, tensor in graph.constants.values()]
    holders = [(*weights.holder_of(name), tensor) for name, (_, tensor) in graph.constants.items() if weights.knows(name)]

    def reason() -> str:
        if [module.training for module in modules] != flags:
            return "train() or eval() was called on a module since"
        if only_without_grad and torch.is_grad_enabled():
            return "it was recorded under no_grad"
        changed = [name for name, (_, tensor) in graph.constants.items() if _version(tensor) != dict(captured_versions)[name]]
        return f"captured tensors were changed or replaced since: {', '.join(changed) or 'a buffer'}"

    captured_versions = [(name, _version(tensor)) for name, (_, tensor) in graph.constants.items()]

    def holds() -> bool:
        return (
            [module.training for module in modules] == flags
            and all(tensor._version == version for tensor, version in captured)
            and all(held.get(key) is tensor for held, key, tensor in holders)
            and not (only_without_grad and torch.is_grad_enabled())
        )

    return Surroundings(holds, reason)


# --------------------------------------------------------------------------------- answers to reads
def _shape(capture: Capture, function: Any, args: Any, kwargs: Any) -> Any:
    return torch.Size(capture.sizes_of(args[0]))


def _size(capture: Capture, function: Any, args: Any, kwargs: Any) -> Any:
    dim = args[1] if len(args) > 1 else kwargs.get("dim")
    sizes = capture.sizes_of(args[0])
    return torch.Size(sizes) if dim is None else sizes[dim]


def _numel(capture: Capture, function: Any, args: Any, kwargs: Any) -> Any:
    value = capture.value(args[0])
    return symbolic(product(capture.size(value, axis) for axis in range(value.ndim)), capture.decide)


def _len(capture: Capture, function: Any, args: Any, kwargs: Any) -> Any:
    length = function(*args)
    size = capture.size(capture.value(args[0]), 0)
    return capture.decide(size) if isinstance(size, Size) else length


def _stride(capture: Capture, function: Any, args: Any, kwargs: Any) -> Any:
    value, steps = capture.value(args[0]), args[0].stride()
    if not capture.recorder.varies(value) or capture._is_weight(value):
        return function(*args, **kwargs)
    all_steps = tuple(symbolic(Size.of(Symbol(value, axis, step, "stride")), capture.decide) for axis, step in enumerate(steps))
    dim = args[1] if len(args) > 1 else kwargs.get("dim")
    return all_steps if dim is None else all_steps[dim]


def _elements(capture: Capture, function: Any, args: Any, kwargs: Any) -> Any:
    """Elements go to Python: guard on a snapshot of them, since the tensor may be written to later."""
    tensor = args[0]
    value = capture.value(tensor)
    seen = capture.run(function, args, kwargs)
    if capture.recorder.varies(value):
        if tensor.numel() > 4096:
            raise TracingError(f"{capture.here()}: {tensor.numel()} elements of a tensor are handed to Python, which would tie the graph to all of them; compute with the tensor instead")
        with capture:
            snapshot = tensor.detach().clone()
        capture.recorder.decide_value(capture.value(snapshot), capture.run(tensor.tolist, (), {}), capture.here())
    return seen


def _question(capture: Capture, function: Any, args: Any, kwargs: Any) -> Any:
    """``torch.equal`` and ``torch.allclose`` answer with a Python bool: recorded as the tensor of the answer, and guarded."""
    seen = capture.run(function, args, kwargs)
    left, right, *rest = args
    with capture:
        if capture.call.endswith("equal"):
            answer = torch.eq(left, right).all() if tuple(left.shape) == tuple(right.shape) else None
        else:
            answer = torch.isclose(left, right, *rest, **kwargs).all()
    if answer is not None:
        capture.recorder.decide_value(capture.value(answer), seen, capture.here())
    return seen


def _foreign(capture: Capture, function: Any, args: Any, kwargs: Any) -> Any:
    if capture.recorder.varies(capture.value(args[0])):
        raise TracingError(
            f"{capture.here()}: {capture.call} hands the memory of a tensor that depends on the inputs to code that cannot be recorded, "
            "so its result would be baked in. Compute it with torch, or move this line out of the compiled function"
        )
    return capture.run(function, args, kwargs)


def _grad_mode(capture: Capture, function: Any, args: Any, kwargs: Any) -> Any:
    capture.grad_mode_changed = True
    capture.grad_enabled = bool(args[0]) or args[0] == capture._ambient_grad
    return function(*args, **kwargs)


_ANSWERS: dict[str, Callable[[Capture, Any, Any, Any], Any]] = {
    "shape": _shape,
    "size": _size,
    "numel": _numel,
    "nelement": _numel,
    "__len__": _len,
    "stride": _stride,
    reads.GRAD_MODE: _grad_mode,
    **dict.fromkeys(reads.VALUES, _elements),
    **dict.fromkeys(reads.QUESTIONS, _question),
    **dict.fromkeys(reads.FOREIGN, _foreign),
}

_CREATES = frozenset({"arange", "zeros", "ones", "full", "empty", "eye", "linspace"})
_TAKES_SIZES = _CREATES | {
    "split", "split_with_sizes", "tensor_split", "chunk", "view", "reshape", "expand", "repeat", "narrow", "new_zeros", "new_ones", "new_full",
    "new_empty", "unflatten", "tile", "roll", "pad", "topk", "tril", "triu",
}  # fmt: skip
_DATA_SIZED = frozenset({"nonzero", "argwhere", "masked_select", "unique", "unique_consecutive", "_unique2", "__getitem__", "repeat_interleave", "bincount"})
_WISHES = {"scaled_dot_product_attention": "attended", "__getitem__": "part", "matmul": "product", "masked_fill": "masked"}
_MAY_COPY = frozenset({"contiguous", "reshape"})  # give back the tensor itself or a copy, depending on its strides
_CUT = frozenset({"detach", "data"})
_RANDOM = frozenset({
    "rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like", "bernoulli", "bernoulli_", "multinomial", "normal", "normal_",
    "poisson", "uniform_", "exponential_", "geometric_", "cauchy_", "log_normal_", "random_", "dropout", "dropout_", "dropout1d", "dropout2d", "dropout3d",
    "alpha_dropout", "feature_alpha_dropout", "feature_dropout", "rrelu", "rrelu_", "gumbel_softmax", "native_dropout", "_sample_dirichlet",
    "_standard_gamma", "binomial", "fractional_max_pool2d", "fractional_max_pool3d", "kaiming_uniform_", "kaiming_normal_", "xavier_uniform_",
    "xavier_normal_", "trunc_normal_",
})  # fmt: skip


# --------------------------------------------------------------------------------- small helpers
def _name_by_module(graph: Graph, leaf_paths: set[str]) -> None:
    """The last result of a module without children bears the module's name: ``query``, ``LayerNorm``."""
    for node, following in zip(graph.nodes, [*graph.nodes[1:], None]):
        path = node.origin.module
        last = path.rpartition(".")[2]
        ends = following is None or following.origin.module != path
        if ends and path in leaf_paths and last and not last.isdigit() and len(node.outputs) == 1:
            node.outputs[0].name = last


def _hints(structure: Any) -> Any:
    """Arguments for the real call: symbolic sizes replaced by the numbers seen."""
    return map_structure(lambda item: item.node.hint if is_symbolic(item) else item, structure)


def _version(tensor: torch.Tensor) -> int:
    return -1 if tensor.is_inference() else tensor._version


def _storage(tensor: torch.Tensor) -> int:
    try:
        return tensor.untyped_storage()._cdata
    except (NotImplementedError, RuntimeError):  # sparse and other tensors without one storage
        return -id(tensor)
