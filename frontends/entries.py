"""Registration entries of the built-in frontends, which the core reads before a framework is imported."""

from __future__ import annotations

import sys
from typing import Any

from ..registration import ArrayProperty, FrontendEntry, Traits

_HERE = __name__.rpartition(".")[0]
# Functions of torch that only raise if a condition does not hold.
_ONLY_CHECKS = (
    *("_check", "_check_index", "_check_value", "_check_type", "_check_not_implemented", "_check_with"),
    *("_check_tensor_all", "_check_tensor_all_with", "_assert"),
)


def _is_leaf(array: Any) -> bool:
    # Arrays of other frameworks have no history of gradients.
    return bool(getattr(array, "is_leaf", True))


def _has_grad(array: Any) -> bool:
    return _is_leaf(array) and getattr(array, "grad", None) is not None


def _tensor_class(array: Any) -> str:
    cls = type(array)
    if cls.__module__.partition(".")[0] == "torch" or not hasattr(cls, "__torch_function__"):
        return ""
    # Functions that are written in C may have no module.
    owners = [
        getattr(getattr(cls, name, None), "__module__", None)
        for name in ("__torch_function__", "__torch_dispatch__")
    ]
    # A class with rules of its own for calls cannot be recorded.
    is_plain = all(owner is None or owner.partition(".")[0] == "torch" for owner in owners)
    return f"{cls.__module__}:{cls.__qualname__}" if is_plain else ""


def _device(array: Any) -> str:
    if hasattr(array, "is_cpu"):
        return "cpu" if array.is_cpu else str(array.device)
    devices = (
        [device for device in array.devices() if device.platform != "cpu"]
        if hasattr(array, "devices")
        else []
    )
    return f"cuda:{devices[0].local_hardware_id}" if devices else "cpu"


def _unwrapped(array: Any) -> Any:
    if not hasattr(array, "data_ptr") or "torch" not in sys.modules:
        return array
    functorch = sys.modules["torch"]._C._functorch
    while functorch.is_functorch_wrapped_tensor(array):
        array = functorch.get_unwrapped(array)
    return array


def _of_keras() -> str:
    # It is missing while another thread imports Keras.
    backend = getattr(sys.modules["keras"], "backend", None)
    name = "tensorflow" if backend is None else str(backend.backend())
    # Other backends of Keras have no frontend here.
    return name if name in ("torch", "jax", "numpy") else "tensorflow"


torch = FrontendEntry(
    name="torch",
    module=f"{_HERE}.torch",
    packages=("torch",),
    libraries=("transformers", "torchvision", "torchaudio", "timm"),
    aliases=("pytorch",),
    install="pip install graph-compiler[torch]",
    target="jax",
    takes_unclear=True,
    loads_models=True,
    traits=Traits(
        entry_methods=("forward",),
        module_marks=("state_dict",),
        hooks=("_forward_pre_hooks", "_forward_hooks"),
        # Operators, which keep handles that torch looks up at their first call.
        stateless_modules=frozenset({"torch._ops"}),
        message_functions=frozenset(
            {
                *(f"torch.{name}" for name in _ONLY_CHECKS),
                "transformers.utils.import_utils.torch_compilable_check",
            }
        ),
        skipped_modules=(
            "torch._tensor.",
            "torch.overrides.",
            "torch.utils._device.",
            "torch._compile.",
            "torch._dynamo.",
        ),
        forwarding_packages=frozenset({"torch", "transformers", "accelerate", "peft", "diffusers"}),
        values=frozenset(("torch", name) for name in ("device", "dtype", "layout", "memory_format")),
        results=("transformers.", "torch.return_types"),
        copies=frozenset({"clone"}),
        gradient_stops=frozenset({"detach"}),
        facts={
            "requires_grad": ArrayProperty(
                "requires a gradient, or does not, other than while recording",
                lambda array: bool(getattr(array, "requires_grad", False)),
            ),
            "is_leaf": ArrayProperty(
                "was computed from arrays that require gradients, or was not, other than while recording",
                _is_leaf,
            ),
            "is_parameter": ArrayProperty(
                "is a parameter of a module, or is none, other than while recording",
                lambda array: any(base.__name__ == "Parameter" for base in type(array).__mro__),
            ),
            "tensor_class": ArrayProperty(
                "is a tensor of another class than while recording", _tensor_class, is_of_source=True
            ),
            "has_grad": ArrayProperty("has a gradient, or has none, other than while recording", _has_grad),
            "storage_offset": ArrayProperty(
                "begins at another place of its memory than while recording",
                lambda array: bool(array.storage_offset()) if hasattr(array, "storage_offset") else False,
            ),
            "device": ArrayProperty(
                "is on another device than while recording, for which the function asked",
                _device,
                is_of_source=True,
            ),
        },
        unwrapping=(_unwrapped,),
    ),
)

jax = FrontendEntry(
    name="jax",
    module=f"{_HERE}.jax",
    packages=("jax", "jaxlib", "flax", "optax", "equinox", "haiku"),
    parts=("opt_einsum",),
    aliases=("flax", "jnp"),
    install="pip install graph-compiler[jax]",
    target="torch",
    takes_parameters=True,
    traits=Traits(
        forwarding_packages=frozenset({"jax", "jaxlib", "flax"}),
        is_stateless=True,
        facts={
            "weak_type": ArrayProperty(
                "is of a weak type, or is not, other than while recording",
                lambda array: bool(getattr(array, "weak_type", False)),
            ),
        },
    ),
)

numpy = FrontendEntry(
    name="numpy",
    module=f"{_HERE}.numpy",
    packages=("numpy",),
    parts=("scipy",),
    aliases=("np",),
    install="pip install graph-compiler[numpy]",
    target="jax",
    is_everywhere=True,
    traits=Traits(is_stateless=True),
)

tensorflow = FrontendEntry(
    name="tensorflow",
    module=f"{_HERE}.tensorflow",
    packages=("tensorflow", "keras"),
    computing={"keras": _of_keras},
    aliases=("tf", "keras"),
    install="pip install graph-compiler[tensorflow]",
    target="jax",
    refuses_everywhere=(
        "numpy's functions and tensorflow's operators follow different rules (uint8 / 255 is float64 in "
        "numpy and float32 in tensorflow)"
    ),
    traits=Traits(tracking=("tensorflow.python.trackable.", "keras.src.utils.tracking")),
)

ENTRIES = (torch, jax, numpy, tensorflow)
