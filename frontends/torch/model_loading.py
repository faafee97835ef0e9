"""Models of transformers from a folder, or by the name that they have on the hub."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from ...errors import FrameworkNotInstalled

_SECONDS = 10  # within which a hub has to answer


def pretrained(name: str) -> Any:
    """The model in evaluation mode, of the class that its configuration names."""
    try:
        import transformers
    except ModuleNotFoundError as problem:
        raise FrameworkNotInstalled(
            f"{name} is read by transformers, and {problem.name} is not installed here; install it with: pip install "
            "graph-compiler[huggingface]"
        ) from None
    _require_hub(name)
    config = transformers.AutoConfig.from_pretrained(name)
    named = (getattr(transformers, architecture, None) for architecture in config.architectures or ())
    model_class: Any = next(filter(None, named), transformers.AutoModel)
    return model_class.from_pretrained(name).eval()


def _require_hub(name: str) -> None:
    """Raise ``OSError`` if a model is neither in a folder nor in the cache, and its hub does not answer.

    transformers would try again for half a minute.
    """
    hub: Any = importlib.import_module("huggingface_hub")
    if Path(name).exists() or hub.constants.HF_HUB_OFFLINE or isinstance(hub.try_to_load_from_cache(name, "config.json"), str):
        return
    try:
        hub.HfApi().model_info(name, timeout=_SECONDS)
    except hub.errors.HfHubHTTPError:
        return  # The hub has answered, and transformers says what is wrong better.
    # The class depends on the HTTP client that this version of the hub's library uses.
    except Exception as problem:
        raise OSError(
            f"{hub.constants.ENDPOINT} cannot be reached ({type(problem).__name__}: {problem}), and it is not cached"
        ) from problem
