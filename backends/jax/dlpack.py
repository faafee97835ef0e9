"""Arrays of other frameworks as JAX arrays without a way over the host: by DLPack, where JAX computes on the device that they are on."""

from __future__ import annotations

from typing import Any

import jax

_CPU = 1  # in DLPack's numbers of kinds of devices
_ALIGNMENT = 16  # XLA takes an array of a GPU only at a multiple of this; on a CPU it copies others by itself


def over_dlpack(array: Any, is_copied: bool = False) -> Any:
    """A JAX array in the memory of an array, or in that of a copy on its device; None where layout or device do not allow that.

    The device has to be the one that JAX computes on: an array elsewhere would take the computation there, or mix devices.

    >>> import numpy as np
    >>> over_dlpack(np.arange(3, dtype="int32")).tolist()
    [0, 1, 2]
    """
    plain = array.detach().resolve_conj().resolve_neg() if hasattr(array, "detach") else array  # DLPack says nothing of a pending sign
    try:
        kind, number = plain.__dlpack_device__()
        if (kind != _CPU, number) != default_place():
            return None
        if is_copied or kind != _CPU and plain.data_ptr() % _ALIGNMENT:
            plain = plain.clone()
        return jax.dlpack.from_dlpack(plain.contiguous() if hasattr(plain, "contiguous") else plain)
    except (AttributeError, BufferError, RuntimeError, TypeError, ValueError):  # layouts and dtypes that DLPack does not carry
        return None


def default_place() -> tuple[bool, int]:
    """Whether JAX computes elsewhere than on a CPU, and the number of the device among its kind."""
    chosen = jax.config.jax_default_device
    device = chosen if isinstance(chosen, jax.Device) else jax.local_devices(backend=chosen)[0]
    return device.platform != "cpu", device.id if device.platform == "cpu" else device.local_hardware_id
