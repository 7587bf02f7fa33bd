"""Memoised lowering of rules: the calls of a rule's first use are the template of the next.

The calls that a shipped rule emits depend on the types of its operands, on its constants, and on
whether numbers of unknown dtype may be complex.  An elementwise rule does not depend on lengths.
For other rules the key contains the lengths, with symbolic ones numbered, and the calls become a
template only if no decision, of the rule or of type inference, used the lengths of the example.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from srcad.ir.core import Arg, Atom, Call, Const, Display, Op, Routine, Value, values_in
from srcad.ir.inference.builder import Builder, result_type
from srcad.rules import gaps
from srcad.rules.row import Rule
from srcad.startup.records import dataclass
from srcad.transforms.sweep import Inline, is_for_complex
from srcad.types import sizes
from srcad.types.numeric import Numeric
from srcad.types.sizes import Extent, Symbol, resolved
from srcad.types.structures import ListOf, TupleOf, Type

_MOST = 4096
_SIMPLE = (int, float, bool, str, type(None))


@dataclass(frozen=True, eq=False)
class _Template:
    """Calls of a rule for some operands, name hints of their results, and the rule's result."""

    operands: tuple[Value, ...]
    calls: tuple[Call, ...]
    hints: tuple[str | None, ...]
    results: Any


_templates: dict[Any, _Template] = {}


def write_rule(
    inline: Inline, builder: Builder, rule: Rule, args: list[Arg], keywords: dict[str, Arg]
) -> Any:
    """Emit the calls of a rule, and return its result."""
    assert rule.function is not None
    given = tuple(v for a in (*args, *keywords.values()) for v in values_in(a))
    key = _key(rule, args, keywords, given)
    if key is None:
        return inline(builder, rule.function, args, keywords)
    key = (is_for_complex(inline), *key)
    known = _templates.get(key)
    if known is not None:
        return _replayed(known, builder, given)
    start, asked = len(builder.ops), sizes.count_of_examples()
    found = inline(builder, rule.function, args, keywords)
    written = builder.ops[start:]
    is_general = rule.kind == "derivative" or sizes.count_of_examples() == asked
    if is_general and len(_templates) < _MOST and _is_plain(written, given, rule, found):
        calls = tuple(op for op in written if isinstance(op, Call))
        hints = tuple(call.result.hint for call in calls)
        _templates[key] = _Template(given, calls, hints, found)
    return found


# ------------------------------------------------------------------------------------- keys
def _key(
    rule: Rule, args: list[Arg], keywords: dict[str, Arg], given: tuple[Value, ...]
) -> tuple[Any, ...] | None:
    """Return the key of a template; None if an operand has none."""
    if not rule.shipped or any(value.selected is not None for value in given):
        return None
    symbols: dict[Symbol, int] | None = None if rule.kind == "derivative" else {}
    kinds = [_kind(arg, symbols) for arg in (*args, *keywords.values())]
    if any(map(_is_open, kinds)):
        return None
    first = {value: k for k, value in reversed(list(enumerate(given)))}
    return (rule.function, *kinds, *keywords, tuple(first[value] for value in given))


def _is_open(kind: Any) -> bool:
    return kind is None or (isinstance(kind, tuple) and any(map(_is_open, kind)))


def _kind(arg: Arg, symbols: dict[Symbol, int] | None) -> Any:
    if isinstance(arg, Const):
        return arg if type(arg.value) in _SIMPLE else None
    if isinstance(arg, Display):
        if symbols is None:
            return None
        return (arg.kind, *[_kind(item, symbols) for item in arg.items])
    return _kind_of_type(arg.type, symbols)


def _kind_of_type(type_: Type, symbols: dict[Symbol, int] | None) -> Any:
    if isinstance(type_, Numeric):
        if symbols is None:
            rank = -1 if type_.shape is None else len(type_.shape)
            return type_.dtype_key, type_.form, rank
        unknown = type_.shape is None
        lengths = tuple(_kind_of_length(e, symbols) for e in type_.shape or ())
        value = "" if type_.value is None else _kind_of_length(type_.value, symbols)
        cls = type_.cls or ""
        dtype = type_.dtype_key
        return type_.form, unknown, lengths, value, cls, "" if dtype is None else dtype
    if symbols is None:
        return None
    if isinstance(type_, TupleOf) and type_.keys is None and type_.cls in (None, tuple):
        return (tuple, *[_kind_of_type(item, symbols) for item in type_.items])
    if type(type_) is ListOf:
        return list, _kind_of_type(type_.item, symbols)
    return None


def _kind_of_length(extent: Extent, symbols: dict[Symbol, int]) -> Any:
    """Return a length with numbered symbols; None if it contains a loop index."""
    extent = resolved(extent)
    if any(isinstance(symbol, sizes.IndexSymbol) for symbol, _ in extent.terms):
        return None
    terms = tuple(
        (symbols.setdefault(s, len(symbols)), sizes.is_length(s), k) for s, k in extent.terms
    )
    return extent.constant, terms


# -------------------------------------------------------------------------------- templates
def _is_plain(ops: list[Op], given: tuple[Value, ...], rule: Rule, found: Any) -> bool:
    """Return True if ops are calls without other free values than the operands."""
    known = set(given)
    for op in ops:
        if not isinstance(op, Call) or op.effect or not known.issuperset(op.operands):
            return False
        if rule.kind != "derivative" and not _is_repeatable(op):
            return False
        known.add(op.result)
    return _is_known(found, known)


def _is_known(found: Any, known: set[Value]) -> bool:
    """Return True if a result consists of these values, constants and None."""
    if isinstance(found, tuple | list):
        return all(_is_known(one, known) for one in found)
    if isinstance(found, Value | Const | Display):
        return known.issuperset(values_in(found))
    return found is None


def _is_repeatable(call: Call) -> bool:
    """Return True if a call depends on its arguments only, and its type is inferred.

    Calls of `over_gaps` contain the user's line.
    """
    is_placed = isinstance(call.target, Routine) or call.target is gaps.over_gaps
    if is_placed or call.result.selected is not None:
        return False
    constants = (c for a in (*call.args, *dict(call.kwargs).values()) for c in _constants(a))
    if any(isinstance(c.value, np.ndarray | list | dict) for c in constants):
        return False
    found = result_type(call.target, call.args, call.kwargs)
    mine, theirs = _kind_of_type(call.result.type, {}), _kind_of_type(found, {})
    return not _is_open(mine) and bool(mine == theirs)


def _constants(arg: Arg) -> Iterator[Const]:
    if isinstance(arg, Display):
        for item in arg.items:
            yield from _constants(item)
    elif isinstance(arg, Const):
        yield arg


def _replayed(template: _Template, builder: Builder, given: tuple[Value, ...]) -> Any:
    names: dict[Value, Atom] = dict(zip(template.operands, given, strict=True))
    for call, hint in zip(template.calls, template.hints, strict=True):
        args = [_renamed(a, names) for a in call.args]
        kwargs = [(k, _renamed(a, names)) for k, a in call.kwargs]
        names[call.result] = builder.call(call.target, *args, kwargs=kwargs, hint=hint)
    return _structure(template.results, names)


def _renamed(arg: Arg, names: dict[Value, Atom]) -> Arg:
    if isinstance(arg, Display):
        return Display(arg.kind, tuple(_renamed(a, names) for a in arg.items))
    return names.get(arg, arg) if isinstance(arg, Value) else arg


def _structure(found: Any, names: dict[Value, Atom]) -> Any:
    if isinstance(found, tuple | list):
        return type(found)(_structure(one, names) for one in found)
    return _renamed(found, names) if isinstance(found, Value | Const | Display) else found
