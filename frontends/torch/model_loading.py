"""Models of transformers from a folder, or by the name that they have on the hub."""

from __future__ import annotations

from typing import Any

from ...errors import FrameworkNotInstalled


def pretrained(name: str) -> Any:
    """The model in evaluation mode, of the class that its configuration names."""
    try:
        import transformers
    except ModuleNotFoundError as problem:
        raise FrameworkNotInstalled(
            f"{name} is read by transformers, and {problem.name} is not installed here; install it with: pip install "
            "graph-compiler[huggingface]"
        ) from None
    config = transformers.AutoConfig.from_pretrained(name)
    named = (getattr(transformers, architecture, None) for architecture in config.architectures or ())
    model_class: Any = next(filter(None, named), transformers.AutoModel)
    return model_class.from_pretrained(name).eval()
