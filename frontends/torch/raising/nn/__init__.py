"""``torch.nn.functional`` in canonical operations."""

from . import linear as linear
