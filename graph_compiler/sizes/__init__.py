"""Symbolic sizes: expressions over the sizes of arrays, and over numbers read from arrays.

A *dimension* (``Dim``) is an ``int`` or a :class:`Size`. A ``Size`` is a sum of products of atoms with
integer coefficients. An atom is a :class:`Symbol` or a function of sizes (:class:`Apply`). Sums and products
of integers are expanded unless they become large, and division by a single product is carried out where it is
exact. So many sizes that are equal for every input compare equal, but not all: ``==`` is a test of structure,
and ``a != b`` means "not known to be equal".

Each size also has a ``hint``, its number while recording. A size whose hint is a float or a bool represents
a number of that type.

>>> n = Size.of(Symbol("x", 0, hint=6))
>>> (n * 64) // 16, (n * 64) // (n * 16), n - n
(x.shape[0] * 4, 4, 0)
>>> ((n + 1) // 2).hint
3
"""

from .algebra import FUNCTIONS as FUNCTIONS
from .algebra import FUNCTIONS_OF_MATH as FUNCTIONS_OF_MATH
from .algebra import Apply as Apply
from .algebra import Dim as Dim
from .algebra import NumberNeeded as NumberNeeded
from .algebra import Scalar as Scalar
from .algebra import Size as Size
from .algebra import Symbol as Symbol
from .algebra import apply as apply
from .algebra import hint_of as hint_of
from .algebra import hints as hints
from .algebra import negate as negate
from .algebra import product as product
from .bounds import Compared as Compared
from .bounds import comparison as comparison
from .bounds import isolate as isolate
from .bounds import substitute as substitute
from .number import Decide as Decide
from .number import SymbolicNumber as SymbolicNumber
from .number import compute_guarded as compute_guarded
from .number import expression_of as expression_of
from .number import is_symbolic as is_symbolic
