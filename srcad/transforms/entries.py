"""Cotangents that a rule returns: read them, and check those of a user's rule.

A cotangent has the shape of the argument that it is for, and is made of real numbers unless the
argument is complex.  Where the shapes are known that is decided here, elsewhere when the code runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from srcad import runtime
from srcad.analysis.arguments import arguments
from srcad.errors import RuleError
from srcad.ir.argument_types import argument_type
from srcad.ir.core import Arg, Atom, Call, Const, Display, Value
from srcad.ir.inference.builder import atom_type
from srcad.ir.text import target_name
from srcad.rules.registry import qualified_name
from srcad.rules.row import NoPartial, Rule
from srcad.startup.identifiers import label
from srcad.startup.records import dataclass
from srcad.transforms.cotangents import ReverseScope
from srcad.types.numeric import Numeric
from srcad.types.sizes import same
from srcad.types.structures import ListOf, Opaque, TupleOf, Type

_WHY = (
    "a cotangent has the shape of the argument that it is for, "
    "and a partial derivative that of the result."
)


def entries_of(scope: ReverseScope, op: Call, rule: Rule, found: Any) -> Sequence[Any]:
    """One entry per active parameter of a rule."""
    if rule.shipped:
        return [found] if rule.single else sequence(scope, found)
    parts = _parts(scope, found)
    if rule.single:
        packed = _is_tuple(found) and parts is not None and len(parts) == 1
        alone = not _takes_sequence(op, rule) or _is_nested(parts)
        return parts if packed and alone and parts is not None else [found]
    if parts is None or len(parts) != len(rule.active):
        what = _spelled(found) if parts is None else f"{len(parts)} entries"
        wanted = f"{len(rule.active)} active parameters ({', '.join(rule.active)})"
        raise _refused(
            op,
            rule,
            f"returns {what} for its {wanted}",
            why="a rule returns a tuple of one entry for each.",
            help="return None where there is no derivative",
        )
    return parts


def sequence(scope: ReverseScope, found: Any) -> list[Any]:
    """Return the items of what a rule returns for several parameters, or for a sequence."""
    return _parts(scope, found) or []


def part_of_rest(scope: ReverseScope, op: Call, rule: Rule, entry: Any, offset: int) -> Any:
    """Return the part of the entry of ``*args`` that is for one of these arguments."""
    parts = _parts(scope, entry)
    if not rule.shipped:
        count = len(op.args) - len(rule.parameters) + 1
        if is_nothing(entry):
            return None
        if parts is None or len(parts) != count:
            what = _spelled(entry) if parts is None else f"{len(parts)} cotangents"
            problem = f"returns {what} for the {count} arguments {rule.parameters[-1]!r}"
            raise _refused(op, rule, problem, help="return a list of one cotangent for each")
    return (parts or [])[offset]


@dataclass(frozen=True)
class Check:
    """The check of one entry that a rule of the user's returns: a number, of the right shape.

    `place` is that of the argument which the entry is for.
    """

    scope: ReverseScope
    op: Call
    rule: Rule
    place: int | str

    @property
    def name(self) -> str:
        """The name of the parameter that takes the argument."""
        if isinstance(self.place, str):
            return self.place
        parameters = self.rule.parameters
        return parameters[min(self.place, len(parameters) - 1)].lstrip("*")

    def entry(self, arg: Arg, entry: Any) -> Any:
        """Return a cotangent, if it fits the argument that it is for."""
        type_ = argument_type(arg)
        if is_nothing(entry) or _is_marker(entry):
            return entry
        if isinstance(type_, TupleOf | ListOf):
            return self._items(arg, type_, entry)
        if not isinstance(type_, Numeric):
            return entry
        self._number(type_, entry)
        return self._shaped(arg, entry)

    def partial(self, partial: Any, operands: Iterable[Arg]) -> Any:
        """Return a partial derivative: a number per entry of the result, or one number for all."""
        if is_nothing(partial):
            return partial
        wanted, atom = self.op.result.type, _atom(partial)
        self._number(wanted, partial, masks=True)
        given = atom_type(atom)
        if isinstance(given, Numeric) and _goes_with(given, operands):
            return partial
        made = given if isinstance(given, Numeric) else Numeric()
        return self._at_run_time(atom, self.op.result, made, partial=Const(True))

    def _number(self, type_: Type, entry: Any, *, masks: bool = False) -> None:
        """Refuse what is no number, complex numbers for real ones, and masks unless allowed."""
        given = atom_type(_atom(entry)) if _is_atom(entry) else None
        if isinstance(given, Opaque) and given.cls is None:
            return
        if not isinstance(given, Numeric):
            raise self._refused(f"is {_spelled(entry)}")
        if given.kind == "b" and not masks:
            raise self._refused("is made of bools")
        is_real = isinstance(type_, Numeric) and type_.dtype is not None and type_.kind != "c"
        if given.kind == "c" and is_real:
            raise self._refused("is complex, where everything else is real")

    def _shaped(self, arg: Arg, entry: Any) -> Any:
        """Return a cotangent of the shape of `arg`, known or checked when the code runs."""
        atom = _atom(entry)
        wanted, given = argument_type(arg), atom_type(atom)
        if not isinstance(wanted, Numeric) or (isinstance(atom, Const) and atom.value == 0):
            return atom
        is_float = isinstance(given, Numeric) and given.kind in "fc" and given.dtype is not None
        agree = _agree(wanted, given)
        if agree is False:
            raise self._refused(f"has {_shape(given)} where {_shape(wanted)} is needed")
        if agree and is_float:
            return atom
        dtype = given.dtype if is_float and isinstance(given, Numeric) else None
        known = isinstance(given, Numeric) and given.form == wanted.form
        made = Numeric(dtype, wanted.shape, wanted.form if known else "any")
        return self._at_run_time(atom, arg, made)

    def _at_run_time(self, atom: Atom, arg: Arg, type_: Numeric, **options: Const) -> Value:
        label = Const(f"{self.name} of {target_name(self.rule.about)}")
        call = self.scope.builder.call
        return call(runtime.checked_cotangent, atom, arg, label, kwargs=options.items(), type=type_)

    def _items(self, arg: Arg, type_: TupleOf | ListOf, entry: Any) -> Any:
        """Return the cotangents of the items of a sequence: as many, each checked."""
        parts = self._by_key(type_, entry)
        if parts is None:
            parts = _parts(self.scope, entry)
        if parts is None:
            if _is_atom(entry) and not isinstance(_atom(entry), Const):
                return entry  # an array of rows, or a list that a loop has made
            raise self._refused(f"is {_spelled(entry)} where a sequence is needed")
        items: Sequence[Arg]
        if isinstance(arg, Display):
            items = arg.items
        elif isinstance(type_, TupleOf) and isinstance(arg, Value):
            items = [self.scope.child(type_, arg, k) for k in range(len(type_.items))]
        else:
            return entry
        if len(parts) != len(items):
            raise self._refused(f"has {len(parts)} items where {len(items)} are needed")
        return [self.entry(item, part) for item, part in zip(items, parts, strict=True)]

    def _by_key(self, type_: TupleOf | ListOf, entry: Any) -> list[Any] | None:
        """Return the items of a dict or record in the order of the argument's; None of others."""
        if not isinstance(type_, TupleOf) or type_.keys is None:
            return None
        match entry:
            case dict():
                found = entry
            case Value(type=TupleOf(items=items, keys=keys)) if keys is not None:
                parts = (self.scope.child(entry.type, entry, k) for k in range(len(items)))
                found = dict(zip(keys, parts, strict=True))
            case _:
                return None
        if set(found) != set(type_.keys):
            given, wanted = (", ".join(map(repr, keys)) for keys in (found, type_.keys))
            raise self._refused(f"has the keys {given} where {wanted} are needed")
        return [found[key] for key in type_.keys]

    def _refused(self, problem: str) -> RuleError:
        problem = f"returns an entry for {self.name!r} that {problem}"
        return _refused(self.op, self.rule, problem, why=_WHY)


# ------------------------------------------------------------------------------- what was returned
def _parts(scope: ReverseScope, found: Any) -> list[Any] | None:
    """Return the items of a tuple or list; None of anything else."""
    match found:
        case tuple() | list():
            return list(found)
        case Display(kind="tuple" | "list", items=items):
            return list(items)
        case Value(type=TupleOf(items=types)):
            return [scope.child(found.type, found, k) for k in range(len(types))]
        case Const(value=tuple() | list() as items):
            return [Const(item) for item in items]
    return None


def _is_tuple(found: Any) -> bool:
    if isinstance(found, Display):
        return found.kind == "tuple"
    if isinstance(found, Value):
        return isinstance(found.type, TupleOf) and found.type.keys is None
    return isinstance(found.value if isinstance(found, Const) else found, tuple)


def _is_nested(parts: Sequence[Any] | None) -> bool:
    """Return True if the first item is a sequence itself."""
    first = parts[0] if parts else None
    if isinstance(first, Value | Const):
        return isinstance(atom_type(first), TupleOf | ListOf)
    return isinstance(first, tuple | list | Display)


def _takes_sequence(op: Call, rule: Rule) -> bool:
    """Return True if the one active parameter takes up a sequence."""
    if rule.active[0].startswith("*"):
        return True
    return any(
        isinstance(argument_type(arg), TupleOf | ListOf)
        for place, arg in arguments(op).items()
        if rule.entry(place) is not None
    )


def is_nothing(entry: Any) -> bool:
    """Return True if an entry says that there is no derivative."""
    return entry is None or (isinstance(entry, Const) and entry.value is None)


def _is_marker(entry: Any) -> bool:
    return isinstance(entry.value if isinstance(entry, Const) else entry, NoPartial)


def _is_atom(entry: Any) -> bool:
    return not isinstance(entry, tuple | list | dict | Display)


def _atom(entry: Any) -> Atom:
    return entry if isinstance(entry, Value | Const) else Const(entry)


# ------------------------------------------------------------------------------- shapes
def _agree(wanted: Numeric, given: Type) -> bool | None:
    """Return True if two shapes are the same: True, False, or None where that is not known."""
    if not isinstance(given, Numeric) or wanted.shape is None or given.shape is None:
        return None
    if len(wanted.shape) != len(given.shape):
        return False
    found = [same(m, n) for m, n in zip(wanted.shape, given.shape, strict=True)]
    if False in found:
        return False
    return None if None in found else True


def _goes_with(partial: Numeric, operands: Iterable[Arg]) -> bool:
    """Return True if a partial derivative fits the result: it has an operand's shape, or none."""
    return partial.shape == () or any(
        isinstance(type_, Numeric) and _agree(type_, partial)
        for type_ in map(argument_type, operands)
    )


def _shape(type_: Type) -> str:
    shape = type_.shape if isinstance(type_, Numeric) else None
    assert shape is not None
    known = tuple(n.constant if not n.terms else str(n) for n in shape)
    return f"shape {known}".replace("'", "")


def _spelled(entry: Any) -> str:
    """Describe an entry in a few words."""
    if isinstance(entry, Value):
        match entry.type:
            case TupleOf(keys=keys, cls=cls):
                return "a tuple" if keys is None else f"a {label(cls) if cls else 'dict'}"
            case ListOf():
                return "a list"
            case Opaque(cls):
                return f"a {label(cls)}" if cls else "an object"
        return "one number or array"
    if isinstance(entry, Display):
        return f"a {entry.kind}"
    value = entry.value if isinstance(entry, Const) else entry
    if value is None or value is ...:
        return "None" if value is None else "'...': its formula is still to be written"
    if isinstance(value, int | float | complex):
        return "one number"
    kind = label(type(value))
    return f"{'an' if kind[:1] in tuple('aeiou') else 'a'} {kind}"


def _refused(
    op: Call, rule: Rule, problem: str, *, why: str | None = None, help: str = ""
) -> RuleError:
    return RuleError(
        f"the rule of {qualified_name(rule.about)} {problem}",
        where=op.where,
        second=rule.place,
        why=why,
        help=help
        or f"check it by itself:  srcad.testing.check_rule({target_name(rule.about)}, ...)",
    )
