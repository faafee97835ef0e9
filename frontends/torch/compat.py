"""Private names of torch, collected here because a new version of torch may change them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import _ops, overrides
from torch.utils import _python_dispatch

# Classes of kernels and of modes
OpOverload: Any = _ops.OpOverload
OpOverloadPacket: Any = _ops.OpOverloadPacket
HigherOrderOperator: Any = _ops.HigherOrderOperator
TorchDispatchMode: Any = _python_dispatch.TorchDispatchMode

# Modes and overrides
# Context manager: calls skip function modes and tensor subclasses.
no_torch_function: Callable[[], Any] = torch._C.DisableTorchFunction
# Context manager: dispatch modes see no kernels.
no_torch_dispatch: Callable[[], Any] = torch._C._DisableTorchDispatch
count_function_modes: Callable[[], int] = torch._C._len_torch_function_stack
count_dispatch_modes: Callable[[], int] = torch._C._len_torch_dispatch_stack
function_mode_at: Callable[[int], Any] = torch._C._get_function_stack_at
dispatch_mode_at: Callable[[int], Any] = torch._C._get_dispatch_stack_at
pop_function_mode: Callable[[], Any] = overrides._pop_mode
# Context manager: the innermost function mode sees no calls.
without_function_mode: Callable[[], Any] = overrides._pop_mode_temporarily
push_function_mode: Callable[[Any], None] = overrides._push_mode
pop_dispatch_mode: Callable[[], Any] = _python_dispatch._pop_mode
push_dispatch_mode: Callable[[Any], None] = _python_dispatch._push_mode
# Context manager: no dispatch mode sees calls.
no_modes: Callable[[], Any] = _python_dispatch._disable_current_modes
function_modes: Callable[[], list[Any]] = overrides._get_current_function_mode_stack
disabled_torch_function: Any = torch._C._disabled_torch_function_impl
disabled_torch_dispatch: Any = torch._C._disabled_torch_dispatch_impl
is_any_autocast_enabled: Callable[[], bool] = torch._C._is_any_autocast_enabled
# Types of devices whose autocast is looked at.
AUTOCAST_DEVICES = ("cpu", "cuda", "mps", "xpu")
is_deterministic: Callable[[], bool] = torch._C._get_deterministic_algorithms
print_options: Callable[[], dict[str, Any]] = torch._tensor_str.get_printoptions
deterministic_warns: Callable[[], bool] = torch._C._get_deterministic_algorithms_warn_only
# Its attribute ``device_context`` is thread-local.
default_device: Any = torch._GLOBAL_DEVICE_CONTEXT

# Transforms (torch.func, torch.vmap) and tracing
# Returns None outside of transforms.
current_transform: Callable[[], Any] = torch._C._functorch.peek_interpreter_stack
has_transforms: Callable[[], bool] = torch._C._are_functorch_transforms_active
is_wrapped: Callable[[torch.Tensor], bool] = torch._C._functorch.is_functorch_wrapped_tensor
is_batched: Callable[[torch.Tensor], bool] = torch._C._functorch.is_batchedtensor
unwrapped: Callable[[torch.Tensor], torch.Tensor] = torch._C._functorch.get_unwrapped
batch_axis: Callable[[torch.Tensor], Any] = torch._C._functorch.maybe_get_bdim
jit_trace: Callable[[], Any] = torch._C._get_tracing_state
set_jit_trace: Callable[[Any], None] = torch._C._set_tracing_state

# Autograd
# ``torch.is_grad_enabled`` is replaced by a shim while recording, so the C function is used.
is_grad_enabled: Callable[[], bool] = torch._C.is_grad_enabled
is_inference_mode_enabled: Callable[[], bool] = torch._C.is_inference_mode_enabled
current_autograd_node: Callable[[], Any] = torch._C._current_autograd_node
set_versions: Callable[[tuple[torch.Tensor, ...], tuple[int, ...]], None] = (
    torch._C._autograd._unsafe_set_version_counter
)

versions_preserved: Callable[[tuple[torch.Tensor, ...]], Any] = (
    torch.autograd._unsafe_preserve_version_counter
)

# Modules whose functions are public under other names
NN_KERNELS: Any = torch._C._nn
VARIABLE_FUNCTIONS: Any = torch._VF
is_left_aligned: Callable[[torch.Tensor, torch.Tensor], bool] = torch._nested_tensor_from_mask_left_aligned
negative_view: Callable[[torch.Tensor], torch.Tensor] = torch._neg_view


def holders_of_memory(tensor: torch.Tensor) -> int:
    storage = tensor.untyped_storage()
    # The storage object made here counts as a user, but is not a tensor.
    return torch._C._storage_Use_Count(storage._cdata) - 1


def fake_mode() -> Any:
    return torch._C._get_dispatch_mode(torch._C._TorchDispatchModeKey.FAKE)


def compiling_flag() -> Any:
    return torch.compiler._is_compiling_flag


def set_compiling_flag(flag: Any) -> None:
    torch.compiler._is_compiling_flag = flag


def drop_compiled() -> None:
    torch._dynamo.reset()


def dict_version() -> Any:
    from torch._C._dynamo.guards import dict_version

    return dict_version


def core_aten_decompositions() -> Any:
    # The module takes a while to load.
    from torch._decomp import core_aten_decompositions

    return core_aten_decompositions()
