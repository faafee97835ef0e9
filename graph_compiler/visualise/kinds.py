"""Classification of recorded and canonical operations by name, for their colour."""

from __future__ import annotations

import functools
import re

# kind -> words that the last part of the name holds; the first that fits counts
_WORDS = (
    ("product", "conv|linear|matmul|mm$|einsum|dot|attention|lstm|gru|^rnn|bilinear|inner|outer|kron|addm"),
    ("normalisation", "norm|normali"),
    ("activation", "relu|gelu|elu$|silu|mish|softmax|softplus|sigmoid|tanh|swish|glu|soft_sign|shrink|threshold"),
    ("random", "random|dropout|bernoulli|rand|multinomial|threefry"),
    ("reduction", "pool|^interpolate|upsample|sum$|mean$|^max|^min|^var|^std|^prod|^all$|^any$|arg(max|min)|logsumexp|cum"),
    ("shape", "reshape|view|permute|transpose|flatten|squeeze|concat|^cat$|stack|split|chunk|expand|broadcast|pad$|flip|roll"
     "|tile|repeat|swapaxes|moveaxis"),
    ("lookup", "embedding|getitem|setitem|take|gather|scatter|index|where|mask|slice|one_hot|nonzero"),
    ("creation", "zeros|ones|full|arange|eye$|empty|linspace|asarray|astype|copy|clone|^to$|^type"),
)  # fmt: skip
_PATTERNS = tuple((kind, re.compile(words)) for kind, words in _WORDS)
KINDS = ("arithmetic", *(kind for kind, _ in _WORDS))


@functools.lru_cache(maxsize=4096)
def kind_of(op: str) -> str:
    """Return the kind of an operation, one of `KINDS`.

    >>> kind_of("torch.nn.functional.linear"), kind_of("add")
    ('product', 'arithmetic')
    """
    name = op.rpartition(".")[2].lower()
    return next((kind for kind, words in _PATTERNS if words.search(name)), "arithmetic")
