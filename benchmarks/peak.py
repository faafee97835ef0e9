"""Process in which one contender converts a large model and its memory is watched.

Run it by ``python -m benchmarks.peak graph``.
"""

from __future__ import annotations

import importlib
import json
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import torch

from . import cases, peers

LARGE = {
    "vocab_size": 9_000,
    "hidden_size": 1536,
    "num_hidden_layers": 9,
    "num_attention_heads": 16,
    "num_key_value_heads": 4,
    "intermediate_size": 4096,
}
CLEAR_REFS = Path("/proc/self/clear_refs")


class Peak:
    """Context manager that measures the highest resident memory inside its block, in bytes.

    It is the kernel's own mark if that can be reset (Linux), and otherwise that of a sampling thread.

    before, after: resident memory at the beginning and at the end.
    highest: the peak.
    """

    def __enter__(self) -> Peak:
        self.process, self.highest, self.done = psutil.Process(), 0, threading.Event()
        self.before = self.process.memory_info().rss
        self.by_kernel = _reset_high_water_mark()
        self.thread = threading.Thread(target=self._sample, daemon=True)
        self.thread.start()
        return self

    def _sample(self) -> None:
        while not self.done.is_set():
            self.highest = max(self.highest, self.process.memory_info().rss)
            # A pause leaves the processor to the conversion.
            time.sleep(0.002)

    def __exit__(self, *_: object) -> None:
        self.done.set()
        self.thread.join()
        self.after = self.process.memory_info().rss
        self.highest = max(self.highest, self.after, _high_water_mark() if self.by_kernel else 0)


def _reset_high_water_mark() -> bool:
    try:
        # The kernel resets its mark of the highest memory for the number 5.
        CLEAR_REFS.write_text("5", encoding="ascii")
    except OSError:
        return False
    return True


def _high_water_mark() -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def _large_model() -> Any:
    """Build a Llama with 1 GB of weights that are read from a file, as those of users are.

    The memory of such weights is not torch's own.
    """
    transformers: Any = importlib.import_module("transformers")
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**LARGE))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "weights.pt"
        torch.save(model.state_dict(), path)
        # Without ``assign``, the weights would be copied into memory of torch.
        model.load_state_dict(torch.load(path), assign=True)
    return model.eval().requires_grad_(False)


def _nothing(model: Any, inputs: dict[str, Any]) -> Any:
    """Run one eager forward, the least that a conversion by running the model needs."""
    return model(**inputs)


CONTENDERS: dict[str, Callable[[Any, dict[str, Any]], Any]] = {"torch eager": _nothing, **peers.JAX}


@torch.no_grad()
def measure(contender: str) -> dict[str, float]:
    """Measure a conversion in this process, and return bytes.

    They are those of the weights, and of the memory beyond them at the peak and after the conversion.
    """
    warnings.simplefilter("ignore")
    convert = CONTENDERS[contender]
    warm = cases.TINY_LLAMA.load()
    # The memory of imports and of the contender's tables must not count.
    convert(warm.model, {**warm.inputs, **warm.options})
    inputs = {"input_ids": torch.randint(3, 100, (1, 16)), "use_cache": False}
    model = _large_model()
    weights = sum(weight.numel() * weight.element_size() for weight in model.parameters())
    with Peak() as peak:
        kept = convert(model, inputs)
    # The result had to be alive when the memory after the conversion was read.
    del kept
    return {"weights": weights, "peak": peak.highest - peak.before, "kept": peak.after - peak.before}


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1])))
