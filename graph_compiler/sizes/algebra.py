"""Symbolic sizes (``Size``): their atoms, normal form, arithmetic, and text as Python expressions."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NoReturn, Union


def _if_then_else(condition: bool, yes: Any, no: Any) -> Any:
    return yes if condition else no


# Functions of Python's ``math`` of one number and of two numbers, which return floats.
_OF_ONE = (
    "sqrt", "exp", "expm1", "exp2", "log", "log1p", "log2", "log10", "sin", "cos", "tan",
    "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
    "degrees", "radians", "fabs", "erf", "erfc", "gamma", "lgamma", "cbrt",
)  # fmt: skip
_OF_TWO = ("atan2", "copysign", "fmod", "hypot", "remainder")

# Name -> (function, usual type of the result or None for that of the arguments, template of the expression).
# Older versions of Python lack some functions.
FUNCTIONS: dict[str, tuple[Callable[..., Any], type | None, str]] = {
    **{name: (getattr(math, name), float, f"math.{name}({{}})") for name in _OF_ONE if hasattr(math, name)},
    **{name: (getattr(math, name), float, f"math.{name}({{}}, {{}})") for name in _OF_TWO},
    "log_to": (math.log, float, "math.log({}, {})"),
    "pow_float": (math.pow, float, "math.pow({}, {})"),
    "isqrt": (math.isqrt, int, "math.isqrt({})"),
    "gcd": (math.gcd, int, "math.gcd({}, {})"),
    "lcm": (math.lcm, int, "math.lcm({}, {})"),
    "floordiv": (operator.floordiv, None, "{} // {}"),
    "mod": (operator.mod, None, "{} % {}"),
    "truediv": (operator.truediv, float, "{} / {}"),
    "pow": (operator.pow, None, "{} ** {}"),
    "add": (operator.add, None, "{} + {}"),
    "sub": (operator.sub, None, "{} - {}"),
    "mul": (operator.mul, None, "{} * {}"),
    "neg": (operator.neg, None, "-{}"),
    "abs": (operator.abs, None, "abs({})"),
    "max": (max, None, "max({}, {})"),
    "min": (min, None, "min({}, {})"),
    "float": (float, float, "float({})"),
    "trunc": (int, int, "int({})"),
    "floor": (math.floor, int, "math.floor({})"),
    "ceil": (math.ceil, int, "math.ceil({})"),
    "round": (round, int, "round({})"),
    "round_to": (round, float, "round({}, {})"),
    "lshift": (operator.lshift, int, "{} << {}"),
    "rshift": (operator.rshift, int, "{} >> {}"),
    "bitwise_and": (operator.and_, int, "{} & {}"),
    "bitwise_or": (operator.or_, int, "{} | {}"),
    "bitwise_xor": (operator.xor, int, "{} ^ {}"),
    "eq": (operator.eq, bool, "{} == {}"),
    "ne": (operator.ne, bool, "{} != {}"),
    "lt": (operator.lt, bool, "{} < {}"),
    "le": (operator.le, bool, "{} <= {}"),
    "gt": (operator.gt, bool, "{} > {}"),
    "ge": (operator.ge, bool, "{} >= {}"),
    "and": (lambda a, b: a and b, bool, "({} and {})"),
    "or": (lambda a, b: a or b, bool, "({} or {})"),
    "not": (operator.not_, bool, "not {}"),
    "ite": (_if_then_else, None, "({1} if {0} else {2})"),
}
# Function of Python's ``math`` -> number of arguments -> name in ``FUNCTIONS``.
FUNCTIONS_OF_MATH: dict[str, dict[int, str]] = {
    **{name: {1: name} for name in (*_OF_ONE, "isqrt") if name in FUNCTIONS},
    **{name: {2: name} for name in (*_OF_TWO, "gcd", "lcm")},
    "log": {1: "log", 2: "log_to"},
    "pow": {2: "pow_float"},
}
# Calls of these functions with their two arguments in another order compare equal.
COMMUTATIVE = frozenset({"max", "min", "eq", "ne"})
NEGATED = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "le": "gt", "gt": "le"}


# Product of atoms, and its coefficient.
Term = tuple[tuple[Any, ...], int]
Sum = list[Term]


def factor_into_sums(terms: Sequence[Term]) -> tuple[Sum, Sum] | None:
    """Return two sums whose product equals ``terms``, or None if no such sums are found.

    >>> factor_into_sums([(("a", "b"), 1), (("a",), 1), (("b",), 1), ((), 1)])
    ([(('a',), 1), ((), 1)], [(('b',), 1), ((), 1)])
    """
    # The products that are found below have at least four terms.
    atoms = dict.fromkeys(atom for monomial, _ in terms for atom in monomial) if len(terms) > 3 else {}
    for atom in atoms:
        if any(monomial.count(atom) > 1 for monomial, _ in terms):
            continue
        times = [(without(monomial, (atom,)) or (), count) for monomial, count in terms if atom in monomial]
        beside = [term for term in terms if atom not in term[0]]
        added = _quotient(beside, times) if beside and len(times) > 1 else None
        if added is not None:
            return [((atom,), 1), *added], times
    return None


def _quotient(dividend: Sum, divisor: Sum) -> Sum | None:
    left = {_key(monomial): (monomial, count) for monomial, count in dividend}
    found: Sum = []
    while left:
        factor = _factor_of(next(iter(left.values())), left, divisor)
        if factor is None:
            return None
        found.append(factor)
        for monomial, _ in divisor:
            del left[_key(factor[0] + monomial)]
    return found


def _factor_of(term: Term, left: dict[Any, Term], divisor: Sum) -> Term | None:
    """Return a term whose product with ``divisor`` contains ``term`` and only terms in ``left``, or None."""
    for monomial, count in divisor:
        rest = without(term[0], monomial)
        if rest is not None and term[1] % count == 0:
            times = term[1] // count
            made = [left.get(_key(rest + other), ((), 0))[1] for other, _ in divisor]
            if made == [times * by for _, by in divisor]:
                return rest, times
    return None


def without(monomial: tuple[Any, ...], factors: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Return ``monomial``, a product of atoms, without ``factors``; None if it lacks one of these."""
    left = list(monomial)
    for atom in factors:
        if atom not in left:
            return None
        left.remove(atom)
    return tuple(left)


def _key(monomial: tuple[Any, ...]) -> Any:
    return frozenset((atom, monomial.count(atom)) for atom in monomial)


Dim = Union[int, "Size"]
Scalar = Union[bool, int, float, "Size"]


class Symbol:
    """Number that is read from ``source``.

    Symbols are equal if ``source``, ``axis`` and ``kind`` are equal; the hint does not count.

    source: array, or any other object with an identity, that the number is read from.
    axis: axis for the kinds ``"size"`` and ``"stride"``; 0 for the other kinds.
    hint: the number while recording.
    kind: ``"size"`` (length of ``axis``), ``"stride"`` (stride of ``axis`` in elements), ``"item"``
        (``source`` itself is the number) or ``"number"`` (an element that the program reads from an array).
    """

    __slots__ = ("axis", "hint", "kind", "source")
    weight = 1

    def __init__(self, source: Any, axis: int, hint: int | float | bool, kind: str = "size") -> None:
        self.source, self.axis, self.hint, self.kind = source, axis, hint, kind

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Symbol)
            and self.axis == other.axis
            and self.kind == other.kind
            and (self.source is other.source or self.source == other.source)
        )

    def __hash__(self) -> int:
        return hash((self.source, self.axis, self.kind))

    def __repr__(self) -> str:
        read = {"size": f"shape[{self.axis}]", "stride": f"stride({self.axis})"}.get(self.kind)
        return ".".join(filter(None, (str(getattr(self.source, "name", self.source)), read)))

    def of(self, source: Any) -> Symbol:
        return self if source is self.source else Symbol(source, self.axis, self.hint, self.kind)


class Apply:
    """Call of a function of sizes and numbers, used as an atom.

    The constructor calls the function with the hints of the arguments, and raises its exceptions.

    function: name in :data:`FUNCTIONS`.
    arguments: sizes or numbers.
    hint: the number while recording.
    weight: number of symbols and functions in the expression, repetitions included.
    """

    __slots__ = ("_hash", "arguments", "function", "hint", "weight")

    def __init__(self, function: str, arguments: tuple[Scalar, ...]) -> None:
        self.function, self.arguments = function, arguments
        self.hint = FUNCTIONS[function][0](*map(hint_of, arguments))
        self.weight: int = 1 + sum(argument.weight for argument in arguments if isinstance(argument, Size))
        key: Any = frozenset(arguments) if function in COMMUTATIVE else arguments
        self._hash = hash((function, key))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Apply) or self.function != other.function:
            return False
        same = self.arguments == other.arguments
        return same or (self.function in COMMUTATIVE and self.arguments == other.arguments[::-1])

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return self.text(repr)

    def text(self, symbol_text: Callable[[Symbol], str]) -> str:
        template = FUNCTIONS[self.function][2]
        return template.format(*(_operand_text(a, symbol_text, bare=self.is_whole) for a in self.arguments))

    @property
    def is_whole(self) -> bool:
        return FUNCTIONS[self.function][2].endswith(")")


# Most terms to which a product is expanded; each further factor of two terms doubles their number.
_MOST_TERMS = 32
Atom = Union[Symbol, Apply]
Monomial = tuple[Atom, ...]


def _monomial_key(monomial: Monomial) -> Any:
    return frozenset((atom, monomial.count(atom)) for atom in monomial) if len(monomial) > 1 else monomial


class NumberNeeded(TypeError):
    """Error raised if Python needs the number of a size or array of a graph, for example as an index.

    item: the size or array.
    """

    def __init__(self, item: Any) -> None:
        super().__init__(f"the number {item} is needed, which only a call knows")
        self.item = item


class Size:
    """Sum of products of atoms with integer coefficients.

    Arithmetic returns a plain number if no atom remains. ``==`` compares structure; order comparisons,
    conversions to int and float, ``abs`` and ``round`` raise :class:`NumberNeeded`.

    hint: the number while recording.
    weight: number of symbols and functions in the expression, repetitions included.
    """

    __slots__ = ("_hash", "_terms", "hint", "weight")

    def __init__(self, terms: dict[Any, tuple[Monomial, int]]) -> None:
        self._terms = terms
        self._hash = hash(frozenset((key, coefficient) for key, (_, coefficient) in terms.items()))
        self.weight = 0
        total: Any = 0
        for monomial, coefficient in terms.values():
            product: Any = coefficient
            for atom in monomial:
                self.weight += atom.weight
                # ``1 * True`` would be an int, so the hint of a single atom is not multiplied.
                product = product * atom.hint if coefficient != 1 or len(monomial) > 1 else atom.hint
            total = product if len(terms) == 1 else total + product
        self.hint = total

    # ------------------------------------------------------------------------------ construction
    @classmethod
    def of(cls, atom: Atom) -> Size:
        return cls({(atom,): ((atom,), 1)})

    @staticmethod
    def _make(terms: dict[Any, tuple[Monomial, int]]) -> Dim:
        kept = {key: term for key, term in terms.items() if term[1] != 0}
        if not kept:
            return 0
        if len(kept) == 1 and () in kept:
            return kept[()][1]
        return Size(kept)

    @property
    def type(self) -> type:
        return type(self.hint)

    def atoms(self) -> Iterator[Atom]:
        for monomial, _ in self._terms.values():
            yield from monomial

    def terms(self) -> Iterator[tuple[Monomial, int]]:
        yield from self._terms.values()

    def symbols(self) -> Iterator[Symbol]:
        for atom in self.atoms():
            if isinstance(atom, Symbol):
                yield atom
            else:
                for argument in atom.arguments:
                    if isinstance(argument, Size):
                        yield from argument.symbols()

    def reads_elements(self) -> bool:
        return any(symbol.kind == "number" for symbol in self.symbols())

    # ------------------------------------------------------------------------------ arithmetic
    def __add__(self, other: Scalar) -> Scalar:
        if not (_integral(self) and _integral(other)):
            return apply("add", self, other)
        terms = dict(self._terms)
        for key, (monomial, coefficient) in _terms_of(other).items():
            before = terms[key][1] if key in terms else 0
            terms[key] = (monomial, before + coefficient)
        return self._make(terms)

    __radd__ = __add__

    def __neg__(self) -> Scalar:
        if not _integral(self):
            return apply("neg", self)
        return Size({key: (monomial, -coefficient) for key, (monomial, coefficient) in self._terms.items()})

    def __sub__(self, other: Scalar) -> Scalar:
        return self + (-other) if _integral(self) and _integral(other) else apply("sub", self, other)

    def __rsub__(self, other: Scalar) -> Scalar:
        return (-self) + other if _integral(self) and _integral(other) else apply("sub", other, self)

    def __mul__(self, other: Scalar) -> Scalar:
        if not (_integral(self) and _integral(other)):
            return apply("mul", self, other)
        others = _terms_of(other)
        if (
            len(self._terms) * len(others) > _MOST_TERMS
            or _has_unexpanded_product(self)
            or _has_unexpanded_product(other)
        ):
            return apply("mul", self, other)
        terms: dict[Any, tuple[Monomial, int]] = {}
        for left, p in self._terms.values():
            for right, q in others.values():
                monomial = left + right
                key = _monomial_key(monomial)
                before = terms[key][1] if key in terms else 0
                terms[key] = (monomial, before + p * q)
        return self._make(terms)

    __rmul__ = __mul__

    def __floordiv__(self, other: Scalar) -> Scalar:
        if not (_integral(self) and _integral(other)):
            return apply("floordiv", self, other)
        whole, rest = _divide(self, other)
        quotient: Scalar = whole + (
            rest if isinstance(rest, int) and rest == 0 else apply("floordiv", rest, other)
        )
        return quotient

    def __rfloordiv__(self, other: Scalar) -> Scalar:
        return 0 if other == 0 and type(other) is int else apply("floordiv", other, self)

    def __mod__(self, other: Scalar) -> Scalar:
        if not (_integral(self) and _integral(other)):
            return apply("mod", self, other)
        # Terms that the divisor divides exactly do not change the remainder.
        _, rest = _divide(self, other)
        return 0 if isinstance(rest, int) and rest == 0 else apply("mod", rest, other)

    def __rmod__(self, other: Scalar) -> Scalar:
        return apply("mod", other, self)

    def __truediv__(self, other: Scalar) -> Scalar:
        return apply("truediv", self, other)

    def __rtruediv__(self, other: Scalar) -> Scalar:
        return apply("truediv", other, self)

    def __pow__(self, other: Scalar) -> Scalar:
        # A larger power of a sum has too many terms to expand.
        if type(other) is int and 0 < other < 8 and _integral(self):
            power: Scalar = math.prod([self] * other)
            return power
        return apply("pow", self, other)

    def __rpow__(self, other: Scalar) -> Scalar:
        return apply("pow", other, self)

    # ------------------------------------------------------------------------------ comparison
    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Size):
            return False
        # Different hashes save most comparisons of terms.
        return self is other or (self._hash == other._hash and _comparable(self) == _comparable(other))

    def __hash__(self) -> int:
        return self._hash

    def _need_number(self, *_: object) -> NoReturn:
        raise NumberNeeded(self)

    __lt__ = __le__ = __gt__ = __ge__ = __int__ = __index__ = __float__ = __abs__ = __round__ = _need_number

    # ------------------------------------------------------------------------------ text
    def __repr__(self) -> str:
        return self.text(repr)

    def text(self, symbol_text: Callable[[Symbol], str]) -> str:
        """Return the size as a Python expression. ``symbol_text`` returns the text of a symbol.

        >>> n = Size.of(Symbol("n", 0, hint=5))
        >>> -(-n // 2), -(n // 2) + 1
        (-((-n.shape[0]) // 2), 1 - (n.shape[0] // 2))
        >>> m = Size.of(Symbol("m", 0, hint=7))
        >>> (n + 1) * (m - 2), (n + 1) * m
        ((n.shape[0] + 1) * (m.shape[0] - 2), n.shape[0] * m.shape[0] + m.shape[0])
        """
        if (factors := factor_into_sums(list(self.terms()))) is not None:
            sums: list[Any] = [sum(_term(*term) for term in factor) for factor in factors]
            return " * ".join(f"({size.text(symbol_text)})" for size in sums)
        parts: list[str] = []
        for monomial, coefficient in sorted(self._terms.values(), key=lambda term: term[1] < 0):
            text = _product_text(
                monomial, abs(coefficient), symbol_text, alone=len(self._terms) == 1 and coefficient > 0
            )
            sign = ("- " if parts else "-") if coefficient < 0 else ("+ " if parts else "")
            parts.append(sign + text)
        return " ".join(parts)


def _comparable(size: Size) -> dict[Any, int]:
    return {key: coefficient for key, (_, coefficient) in size._terms.items()}


def _integral(value: Scalar) -> bool:
    return type(hint_of(value)) is int


def _has_unexpanded_product(value: Scalar) -> bool:
    # Multiplication by further factors would repeat an unexpanded product.
    return isinstance(value, Size) and any(
        isinstance(atom, Apply) and atom.function == "mul" for atom in value.atoms()
    )


def _terms_of(value: Scalar) -> dict[Any, tuple[Monomial, int]]:
    if isinstance(value, Size):
        return value._terms
    return {(): ((), int(value))}


def _divide(dividend: Size, divisor: Scalar) -> tuple[Any, Any]:
    """Return ``(whole, rest)`` with ``dividend == whole * divisor + rest``."""
    terms = list(_terms_of(divisor).values())
    if len(terms) != 1:
        return (1, 0) if dividend == divisor else (0, dividend)
    by, factor = terms[0]
    whole: Any = 0
    rest: Any = 0
    for monomial, coefficient in dividend._terms.values():
        left = without(monomial, by)
        term = _term(monomial, coefficient)
        if left is None or coefficient % factor:
            rest = rest + term
        else:
            whole = whole + _term(left, coefficient // factor)
    return whole, rest


def without_common_factors(dividend: Scalar, divisor: Scalar) -> tuple[Scalar, Scalar, tuple[Atom, ...]]:
    """Remove common atoms that are found in an integer ``dividend`` and ``divisor``.

    Return both, and the removed atoms.

    The quotient of the results is that of the arguments unless one of the atoms is 0.

    >>> n, m = Size.of(Symbol("n", 0, hint=5)), Size.of(Symbol("m", 0, hint=7))
    >>> without_common_factors(n * m * 4, n * -2)
    (m.shape[0] * 4, -2, (n.shape[0],))
    """
    terms = list(_terms_of(divisor).values())
    if len(terms) != 1:
        return dividend, divisor, ()
    by, factor = terms[0]
    common: Monomial = ()
    for atom in by:
        if all(
            without(monomial, (*common, atom)) is not None for monomial, _ in _terms_of(dividend).values()
        ):
            common = (*common, atom)
    left = [(without(monomial, common) or (), count) for monomial, count in _terms_of(dividend).values()]
    return sum(_term(*term) for term in left), _term(without(by, common) or (), factor), common


def _term(monomial: Monomial, coefficient: int) -> Dim:
    return Size._make({_monomial_key(monomial): (monomial, coefficient)})


def _operand_text(value: Scalar, symbol_text: Callable[[Symbol], str], bare: bool) -> str:
    if not isinstance(value, Size):
        text = (
            repr(value)
            if isinstance(value, int) or math.isfinite(value)
            else f"math.{value!r}".replace("math.-", "-math.")
        )
        return text if bare or not text.startswith("-") else f"({text})"
    text = value.text(symbol_text)
    return text if bare or _is_call(value) or " " not in text and not text.startswith("-") else f"({text})"


def _is_call(size: Size) -> bool:
    (_, coefficient), *more = size.terms()
    atoms = list(size.atoms())
    return (
        not more
        and coefficient == 1
        and len(atoms) == 1
        and isinstance(atoms[0], Apply)
        and atoms[0].is_whole
    )


def _product_text(
    monomial: Monomial, coefficient: int, symbol_text: Callable[[Symbol], str], alone: bool
) -> str:
    factors = []
    for atom in monomial:
        text = symbol_text(atom) if isinstance(atom, Symbol) else atom.text(symbol_text)
        lone = len(monomial) == 1 and coefficient == 1 and alone
        factors.append(text if lone or isinstance(atom, Symbol) or atom.is_whole else f"({text})")
    if coefficient != 1 or not factors:
        factors.append(str(coefficient))
    return " * ".join(factors)


def hint_of(value: Any) -> Any:
    return value.hint if isinstance(value, Size) else value


def hints(shape: Iterable[Dim]) -> tuple[int, ...]:
    """Return the sizes that ``shape`` had while recording.

    >>> hints((Size.of(Symbol("x", 0, hint=6)), 4))
    (6, 4)
    """
    return tuple(hint_of(dim) for dim in shape)


def apply(function: str, *arguments: Scalar) -> Scalar:
    """Apply ``function`` to numbers or sizes.

    >>> n = Size.of(Symbol("x", 0, hint=6))
    >>> apply("max", n, 1), apply("max", 2, 1), apply("eq", n, n)
    (max(x.shape[0], 1), 2, True)
    """
    if not any(isinstance(argument, Size) for argument in arguments):
        return FUNCTIONS[function][0](*arguments)  # type: ignore[no-any-return]
    # A float that is NaN does not equal itself, so only integers are folded.
    if len(arguments) == 2 and arguments[0] == arguments[1] and _integral(arguments[0]):
        if function in ("eq", "le", "ge"):
            return True
        if function in ("ne", "lt", "gt"):
            return False
        if function in ("max", "min"):
            return arguments[0]
    # The text of a member of an ``IntEnum`` is no expression.
    plain = (int(item) if isinstance(item, int) and type(item) is not bool else item for item in arguments)
    return Size.of(Apply(function, tuple(plain)))


def negate(condition: Scalar) -> Scalar:
    if not isinstance(condition, Size):
        return not condition
    atom = next(condition.atoms())
    # An order comparison with NaN is False, and so is its opposite.
    if isinstance(atom, Apply) and atom.function in NEGATED and all(map(_integral, atom.arguments)):
        return apply(NEGATED[atom.function], *atom.arguments)
    return apply("not", condition)


def product(shape: Iterable[Dim]) -> Any:
    return math.prod(shape)
