"""The sections of the vocabulary, and which of them hold operations that multiply matrices."""

from __future__ import annotations

from typing import Final

# section -> whether an operation of it may sum products along an axis, for which accelerators take fewer bits unless they are told
# otherwise
SECTIONS: Final[dict[str, bool]] = {
    "activations": False,
    "attention": True,
    "bits": False,
    "control flow": False,
    "convolution": True,
    "creation": False,
    "data types": False,
    "elementwise": False,
    "embedding": False,
    "fft": False,
    "gradients": False,
    "indexing": False,
    "linalg": True,
    "linear algebra": True,
    "linear layers": True,
    "losses": False,
    "manipulation": False,
    "normalisation": False,
    "pooling": False,
    "random": False,
    "recurrent layers": True,
    "resampling": True,
    "searching": False,
    "sets": False,
    "sorting": False,
    "special": False,
    "statistical": False,
    "statistics": True,
    "utility": False,
}
