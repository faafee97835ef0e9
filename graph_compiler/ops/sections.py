"""The sections of the vocabulary, and which of them hold operations that multiply matrices."""

from __future__ import annotations

from ..errors import DuplicateRow

# section -> whether an operation of it may sum products along an axis, for which accelerators take fewer bits unless they are told
# otherwise
SECTIONS: dict[str, bool] = {
    "activations": False,
    "attention": True,
    "bits": False,
    "collectives": False,
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


def declare_section(name: str, *, sums_products: bool = False) -> str:
    """A section of a vocabulary of one's own, for operations that are declared in it; its name. One that is there must agree."""
    if SECTIONS.setdefault(name, sums_products) is not sums_products:
        raise DuplicateRow(f"the section {name!r} is declared with sums_products={SECTIONS[name]}")
    return name
