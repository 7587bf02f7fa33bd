"""Which values share a variable, and what the variables are called.

Values that are copies of each other, and versions of the same variable of the user's, become one
variable where their lives do not overlap.  So the reader meets his own names, and most of the
assignments that leaving SSA form would need disappear.
"""

from __future__ import annotations

import bisect
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any

from srcad.backends.python.naming.liveness import is_nested, live_segments, visible_lists
from srcad.backends.python.naming.names import fresh, parameter_name
from srcad.backends.python.plan.expressions import Nesting
from srcad.backends.python.plan.statements import Attempt, Copy, Do, Loop, Statement
from srcad.backends.python.plan.uses import Uses, collected_atom
from srcad.ir.core import Call, Op, Value
from srcad.ir.operations import operation_of
from srcad.ir.traits import (
    is_indexed,
    is_known_part,
)
from srcad.rules.registry import row_of_operator
from srcad.startup.identifiers import identifier, is_name
from srcad.startup.records import dataclass, field
from srcad.types.numeric import Numeric
from srcad.types.structures import ListOf, TupleOf

# A name for a temporary that cannot be nested, from the operation that makes it.

_ARITHMETIC = ("sum", "difference", "product", "quotient", "power", "negative")  # laws


def _is_arithmetic(target: Any) -> bool:
    """Return True for arithmetic operators and array indexing."""
    row = row_of_operator(target)
    if row is None:
        return is_indexed(target)
    return row.law in _ARITHMETIC or row.entries == "contracted"


def derived_name(op: Call, nesting: Nesting) -> str:
    """Return a readable name for the result of a call.

    ``params["W"]`` is ``W``, ``p.scale`` is ``scale``, ``np.exp(z)`` is ``exp_z``; an intermediate
    cotangent is ``g``.
    """
    if is_known_part(op.target):
        key = getattr(op.args[1], "value", None)
        return key if type(key) is str else "n" if _is_length(op) else "part"
    if is_indexed(op.target) and _is_length(op):
        return "n"
    row = operation_of(op.target)
    known = row.called if row is not None else None
    if known is not None and (op.half == "primal" or not _is_arithmetic(op.target)):
        return known
    if op.half != "primal" and not isinstance(op.result.type, ListOf | TupleOf):
        return "g"
    name = getattr(op.target, "__name__", None)
    if not is_name(name):
        return "value"
    if len(op.args) == 1 and isinstance(op.args[0], Value):
        argument = nesting.resolve(op.args[0])
        if isinstance(argument, Value) and argument.hint and argument not in nesting.nested:
            return f"{name}_{argument.hint}"
    return name if name not in _BUILTIN else f"{name}_value"


def _is_length(op: Call) -> bool:
    """Return True if a call reads one length of a shape, which is known to be an int."""
    type_ = op.result.type
    is_int = isinstance(type_, Numeric) and type_.form == "python" and type_.kind == "i"
    return is_int and isinstance(type_, Numeric) and type_.value is not None


_BUILTIN = frozenset({"abs", "sum", "min", "max", "float", "int", "bool", "round", "list", "tuple"})


_TRIES = 4
_DERIVED = 1 << 60
Segment = tuple[int, int]


@dataclass(eq=False)
class Web:
    """Values that share a variable; `segments` are sorted; a primal operation made one of them."""

    segments: list[Segment]
    members: list[Value] = field(default_factory=list)
    hint: tuple[int, str] | None = None
    param: str | None = None
    is_primal: bool = False

    @property
    def start(self) -> int:
        """Where the variable is first written."""
        return self.segments[0][0]

    @property
    def is_derived(self) -> bool:
        """True if the name comes from an operation."""
        return self.param is None and self.hint is not None and self.hint[0] >= _DERIVED

    def follows(self, other: Web) -> bool:
        """Return True if one is written where the other is read last, which would mislead."""
        starts = {start for start, _ in self.segments}
        others = {start for start, _ in other.segments}
        return any(end in starts for _, end in other.segments) or any(
            end in others for _, end in self.segments
        )

    def overlaps(self, other: Web) -> bool:
        """Return True if both are alive at some point."""
        small, large = sorted((self.segments, other.segments), key=len)
        for start, end in small:
            k = bisect.bisect_left(large, (end,))
            if k and large[k - 1][1] > start:
                return True
        return False


@dataclass(eq=False)
class Webs:
    """All variables of a function."""

    params: tuple[Value, ...]
    web: dict[Value, Web] = field(default_factory=dict)
    names: dict[Value, str] = field(default_factory=dict)
    apart: set[Value] = field(default_factory=set)

    def merge(self, a: Value, b: Value) -> bool:
        """Let two values share a variable if they may."""
        first, second = self.web.get(a), self.web.get(b)
        if first is None or second is None:
            return False
        if first is second:
            return True
        if not self.apart.isdisjoint((a, b)):
            return False
        if first.overlaps(second):
            return False
        if len(first.members) < len(second.members):
            first, second = second, first
        for segment in second.segments:
            bisect.insort(first.segments, segment)
        first.members += second.members
        first.param = first.param or second.param
        first.is_primal |= second.is_primal
        hints = [h for h in (first.hint, second.hint) if h is not None]
        first.hint = min(hints, default=None)
        for value in second.members:
            self.web[value] = first
        return True

    def same(self, a: Value, b: Value) -> bool:
        """Return True if two values share a variable."""
        return a is b or (self.web.get(a) is self.web.get(b) is not None)


def coalesce(
    params: tuple[Value, ...], body: list[Statement], nesting: Nesting, uses: Uses
) -> Webs:
    """Find the variables and name them."""
    webs, origins = Webs(params), _origins(body)
    for value, segments in live_segments(params, body, nesting).items():
        web = Web(segments[::-1], [value], is_primal=_is_primal(value, origins))
        if value.hint is not None:
            web.hint = (web.start, identifier(value.hint))
        webs.web[value] = web
    for param in params:
        webs.web[param].param = parameter_name(param.hint)
    webs.apart = set(_caught(body))  # Python unbinds these where their clause ends
    pairs: list[tuple[int, Value, Value]] = []
    _copies(body, nesting, 0, pairs)
    pairs.sort(key=lambda pair: -pair[0])
    own = _own_bars(params, origins)
    for _, target, source in pairs:
        if _may_share(webs, target, source, own):
            webs.merge(target, source)
    for web in dict.fromkeys(webs.web.values()):
        if web.hint is None and web.param is None:
            # Behind all hints of the user's, so that his names win.
            wanted = _derived(web, origins, nesting, uses)
            web.hint = (web.start + _DERIVED, identifier(wanted))
    for item in uses.taken_from:
        saved = collected_atom(item, uses)
        if isinstance(saved, Value) and _have_the_same_derived_name(webs, item, saved):
            webs.merge(saved, item)
    _share_hints(webs)
    _name(webs, uses)
    return webs


def _copies(
    statements: list[Statement], nesting: Nesting, depth: int, pairs: list[tuple[int, Value, Value]]
) -> None:
    for statement in statements:
        if is_nested(statement, nesting):
            continue
        match statement:
            case Copy(targets=targets, sources=sources):
                for target, source in zip(targets, sources, strict=True):
                    atom = nesting.resolve(source)
                    if isinstance(atom, Value) and atom not in nesting.nested:
                        pairs.append((depth, target, atom))
            case Do(op=op, result=Value() as result) if op.in_place:
                first = op.args[0]
                kept = nesting.resolve(first) if isinstance(first, Value) else None
                if isinstance(kept, Value):
                    pairs.append((depth, result, kept))
        deeper = depth + isinstance(statement, Loop)
        for inner in visible_lists(statement):
            _copies(inner, nesting, deeper, pairs)


def _caught(statements: list[Statement]) -> Iterator[Value]:
    for statement in statements:
        if isinstance(statement, Attempt):
            yield statement.error
        for inner in visible_lists(statement):
            yield from _caught(inner)


def _may_share(webs: Webs, target: Value, source: Value, own: Container[str]) -> bool:
    """Return True if two variables may be merged; two user names are kept: ``x = a``.

    A value of the user's function has no name of a cotangent, unless `own` has that name.
    """
    web, other = webs.web.get(source), webs.web.get(target)
    if web is None or other is None:
        return False
    if any(a.is_primal and _is_cotangent(b, own) for a, b in ((web, other), (other, web))):
        return False
    names = {w.param or (w.hint[1] if w.hint is not None else None) for w in (web, other)}
    return len(names - {None}) < 2


def _own_bars(params: Iterable[Value], origins: dict[Value, Do]) -> frozenset[str]:
    """Return the user's names that end like those of cotangents."""
    named = [*params, *(value for value in origins if _is_primal(value, origins))]
    return frozenset(v.hint for v in named if v.hint is not None and v.hint.endswith("_bar"))


def _is_primal(value: Value, origins: dict[Value, Do]) -> bool:
    """Return True if a value is the result of a primal operation."""
    return value in origins and origins[value].op.half == "primal"


def _is_cotangent(web: Web, own: Container[str]) -> bool:
    """Return True if a variable has the name of a cotangent, which no primal value may have."""
    name = web.hint[1] if web.param is None and web.hint is not None else ""
    return name.endswith("_bar") and name not in own


def _origins(statements: list[Statement]) -> dict[Value, Do]:
    found: dict[Value, Do] = {}
    todo = list(reversed(statements))
    while todo:
        statement = todo.pop()
        if isinstance(statement, Do) and statement.result is not None and not statement.parts:
            found[statement.result] = statement
        for inner in visible_lists(statement):
            todo += reversed(inner)
    return found


def _derived(web: Web, origins: dict[Value, Do], nesting: Nesting, uses: Uses) -> str:
    """Return a name for a variable that neither the user nor a transform has named."""
    for value in web.members:
        name = _name_of_collected(value, nesting, uses) or _name_of_item(value, nesting, uses)
        if name is not None:
            return name
    value = next((v for v in web.members if v in origins), web.members[0])
    return _by_operation(value, origins[value].op if value in origins else None, nesting)


_SAVED = "_saved"


def _name_of_collected(value: Value, nesting: Nesting, uses: Uses) -> str | None:
    """Return the name of a list that a loop has collected, or of an item of one, or None."""
    saved = collected_atom(value, uses)
    if not isinstance(saved, Value):
        return None
    name = saved.hint or _name_of_collected(saved, nesting, uses)
    name = name or _by_operation(saved, uses.origin.get(saved), nesting)
    return f"{name}{_SAVED}" if value in uses.collected_by else name


def _name_of_item(value: Value, nesting: Nesting, uses: Uses) -> str | None:
    """Return ``x`` for an item of the list of saved values ``x_saved``, or None."""
    seq = uses.item_of.get(value)
    if seq is None or not isinstance(seq.type, ListOf):
        return None
    listed = seq.hint or _name_of_collected(seq, nesting, uses)
    listed = listed or _name_of_item(seq, nesting, uses) or ""
    name, mark, number = listed.rpartition(_SAVED)
    return name if mark and (not number or number[1:].isdigit()) else None


def _by_operation(value: Value, op: Op | None, nesting: Nesting) -> str:
    return derived_name(op, nesting) if isinstance(op, Call) else _kind(value)


def _kind(value: Value) -> str:
    is_test = isinstance(value.type, Numeric) and value.type.kind == "b"
    return "test" if is_test else "value"


def _share_hints(webs: Webs) -> None:
    groups: dict[str, list[Web]] = {}
    distinct = dict.fromkeys(webs.web.values())
    for web in sorted(distinct, key=lambda w: (w.param is None, w.start)):
        name = _wanted(web)
        known = groups.setdefault(name, [])
        for other in known[:_TRIES]:
            if web.is_derived and other.follows(web):
                continue
            if (other.param is None or web.param is None) and webs.merge(
                other.members[0], web.members[0]
            ):
                break
        else:
            known.append(web)


def _wanted(web: Web) -> str:
    if web.param is not None:
        return web.param
    assert web.hint is not None
    return web.hint[1]


def _have_the_same_derived_name(webs: Webs, a: Value, b: Value) -> bool:
    first, second = webs.web.get(a), webs.web.get(b)
    if first is None or second is None or not first.is_derived or not second.is_derived:
        return False
    return _wanted(first) == _wanted(second)


def _name(webs: Webs, uses: Uses) -> None:
    """Name each variable; a list of residuals is named after their variable."""
    taken: set[str] = set()
    numbers: dict[str, int] = {}
    distinct = dict.fromkeys(webs.web.values())
    lists = {web: saved for web in distinct if (saved := _saved_in(web, uses)) is not None}
    for web in sorted(distinct, key=lambda w: (_depth(w, webs, lists), *_naming_order(w))):
        wanted = webs.names.get(lists[web]) if web in lists else None
        name = fresh(_wanted(web) if wanted is None else f"{wanted}{_SAVED}", taken, numbers)
        taken.add(name)
        for value in web.members:
            webs.names[value] = name


def _depth(web: Web, webs: Webs, lists: Mapping[Web, Value]) -> int:
    """Return the nesting depth of a list of residuals; 0 for other variables."""
    seen: list[Web] = []
    while web in lists and web not in seen:
        seen.append(web)
        inner = webs.web.get(lists[web])
        if inner is None:
            break
        web = inner
    return len(seen)


def _saved_in(web: Web, uses: Uses) -> Value | None:
    """Return the value that a loop collects in a list, if the list is named after it."""
    for value in web.members if web.param is None else ():
        saved = collected_atom(value, uses) if value in uses.collected_by else None
        if isinstance(saved, Value) and _wanted(web).endswith(_SAVED):
            return saved
    return None


def _naming_order(web: Web) -> tuple[bool, int]:
    assert web.hint is not None or web.param is not None
    return (web.param is None, web.hint[0] if web.hint is not None else 0)


def moving_copies(statements: list[Statement], nesting: Nesting, webs: Webs) -> frozenset[Value]:
    """Return values with a variable of their own whose only reader is a copy at the end."""
    moving: set[Value] = set()
    todo = list(statements)
    while todo:
        statement = todo.pop()
        for inner in visible_lists(statement):
            todo += inner
        if not isinstance(statement, Copy):
            continue
        for target, source in zip(statement.targets, statement.sources, strict=True):
            atom = nesting.resolve(source)
            is_variable = isinstance(atom, Value) and atom not in nesting.nested
            if is_variable and isinstance(atom, Value) and not webs.same(atom, target):
                moving.add(atom)
    return frozenset(moving)
