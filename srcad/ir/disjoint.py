"""Which places of an array certainly have no entry in common; which an index may name twice.

An index says where it points by integers and slices; what is known of integers comes from the
ranges that loops run over: in ``for j in range(i)`` neither ``A[j, j]`` nor ``A[i, :j]`` touches
``A[i, j]``.
"""

from __future__ import annotations

from srcad.ir.core import Arg, Call, Const, Display, For, Op, Value
from srcad.ir.traits import law_of_operator
from srcad.startup.records import dataclass
from srcad.types.numeric import Numeric
from srcad.types.sizes import Extent, resolved
from srcad.types.structures import Fixed, ListOf, Opaque, TupleOf, Type

_DEEPEST = 4  # ranges that end where another one's item stands, and so on
_ZERO, _NONE = Const(0), Const(None)


@dataclass(frozen=True, eq=False)
class Integers:
    """Facts about integers: the ranges that they run over, and how they were computed."""

    ranges: dict[Value, Display]
    sums: dict[Value, tuple[Arg, int]]

    def note(self, op: Op) -> None:
        """Look at an op before what it makes is asked about."""
        if isinstance(op, For):
            for item, seq in zip(op.items, op.seqs, strict=True):
                if isinstance(seq, Display) and seq.kind == "range" and _step(seq):
                    self.ranges[item] = seq
        elif isinstance(op, Call) and len(op.args) == 2 and _is_integer(op.result):
            left, right = op.args
            if law_of_operator(op.target) == "sum" and _number(left) is not None:
                left, right = right, left
            number = _number(right)
            if number is not None and law_of_operator(op.target) in ("sum", "difference"):
                self.sums[op.result] = (
                    left,
                    number if law_of_operator(op.target) == "sum" else -number,
                )

    # -------------------------------------------------------------- comparing
    def gap(self, high: Arg, low: Arg, depth: int = _DEEPEST) -> int | None:
        """Return a number that ``high - low`` is certainly not below; None if there is none."""
        a, more = self._sum(high)
        b, less = self._sum(low)
        if a == b:
            return more - less
        between = _difference(a, b)
        if between is None and depth:
            found = [self.gap(bound, b, depth - 1) for bound in self._bounds(a, 0)]
            found += [self.gap(a, bound, depth - 1) for bound in self._bounds(b, 1)]
            between = max((gap for gap in found if gap is not None), default=None)
        return None if between is None else between + more - less

    def _sum(self, arg: Arg) -> tuple[Arg, int]:
        """Return an integer as another one and a number."""
        total = 0
        while isinstance(arg, Value) and arg in self.sums:
            arg, number = self.sums[arg]
            total += number
        number_ = _number(arg)
        return (_ZERO, total + number_) if number_ is not None else (arg, total)

    def _bounds(self, arg: Arg, end: int) -> list[Arg]:
        """Return the lower bound of the items of a range (`end` is 0), or the upper one (1)."""
        seq = self.ranges.get(arg) if isinstance(arg, Value) else None
        if seq is None:
            return []
        start, stop, _ = seq.items
        if (_step(seq) > 0) == (end == 0):
            return [start]
        return self._beside(stop, -1 if end else 1)

    def _beside(self, arg: Arg, number: int) -> list[Arg]:
        base, total = self._sum(arg)
        if base == _ZERO:
            return [Const(total + number)]
        if not isinstance(base, Value):
            return []
        beside = Value(base.type)
        self.sums[beside] = base, total + number
        return [beside]

    def _is_above(self, high: Arg, low: Arg, least: int) -> bool:
        gap = self.gap(high, low)
        return gap is not None and gap >= least

    def _count_from_same_end(self, *positions: Arg) -> bool:
        """Return True if positions are certainly counted from the same end."""
        return all(self._is_above(one, _ZERO, 0) for one in positions) or all(
            self._is_above(_ZERO, one, 1) for one in positions
        )

    # -------------------------------------------------------------- places
    def are_disjoint(self, first: Arg, second: Arg) -> bool:
        """Return True if ``x[first]`` and ``x[second]`` certainly have no entry in common."""
        for a, b in zip(index_parts(first), index_parts(second), strict=False):
            if not _is_plain(a) or not _is_plain(b):
                return False
            if self._is_before(a, b) or self._is_before(b, a):
                return True
        return False

    def _is_before(self, a: Arg, b: Arg) -> bool:
        """Return True if all of one part of an index lies before all of another."""
        if isinstance(a, Display):
            last, least = a.items[1], 0
        else:
            last, least = a, 1
        first = b.items[0] if isinstance(b, Display) else b
        if _NONE in (last, first) or not self._is_above(first, last, least):
            return False
        return self._count_from_same_end(first, last)


def nothing_known() -> Integers:
    """Nothing is known of any integer."""
    return Integers({}, {})


def index_parts(index: Arg) -> tuple[Arg, ...]:
    """Return the parts of an index, as the commas between the brackets separate them."""
    if isinstance(index, Display) and index.kind == "tuple":
        return index.items
    if isinstance(index, Const) and isinstance(index.value, tuple):
        return tuple(Const(part) for part in index.value)
    return (index,)


def is_entry(index: Arg, rank: int) -> bool:
    """Return True if an index names one entry of an array of some rank."""
    parts = index_parts(index)
    return len(parts) == rank and all(_is_integer(part) for part in parts)


def _is_plain(part: Arg) -> bool:
    """Return True if a part of an index is an integer, or a slice that goes forward."""
    if not isinstance(part, Display):
        return _is_integer(part)
    if part.kind != "slice":
        return False
    step = part.items[2]
    return step == _NONE or (_number(step) or 0) > 0


def _is_integer(arg: Arg) -> bool:
    if isinstance(arg, Const):
        return _number(arg) is not None
    if not isinstance(arg, Value):
        return False
    return isinstance(arg.type, Numeric) and arg.type.is_python and arg.type.kind == "i"


def _number(arg: Arg) -> int | None:
    return arg.value if isinstance(arg, Const) and type(arg.value) is int else None


def _step(seq: Display) -> int:
    """By how much a range goes on; 0 if that is not known."""
    return _number(seq.items[2]) or 0


def _difference(a: Arg, b: Arg) -> int | None:
    """Return the difference of two lengths, where that is known."""
    first, second = (_extent(arg) for arg in (a, b))
    if first is None or second is None:
        return None
    found = resolved(first - second)
    return None if found.terms else int(found.constant)


def _extent(arg: Arg) -> Extent | None:
    type_ = arg.type if isinstance(arg, Value | Const) else None
    return type_.value if isinstance(type_, Numeric) else None


# ------------------------------------------------------------------------ repetitions
def may_repeat(index: Arg) -> bool:
    """Return True if an index may name a place twice: integer arrays and lists do, masks do not."""
    if isinstance(index, Display) and index.kind == "tuple":
        return any(map(may_repeat, index.items))
    if isinstance(index, Display):
        return index.kind != "slice"
    return of_type_may_repeat(index.type)


def of_type_may_repeat(type_: Type) -> bool:
    """Return True if an index of a type may name a place twice; a tuple is several indices."""
    match type_:
        case Numeric():
            return type_.kind != "b" and type_.shape != ()
        case TupleOf(items):
            return any(map(of_type_may_repeat, items))
        case ListOf(Numeric() as item):
            return item.kind != "b"
        case Fixed(value):
            return value is not None and value is not Ellipsis
        case Opaque(cls):
            return cls not in (slice, type(None), type(Ellipsis))
    return True
