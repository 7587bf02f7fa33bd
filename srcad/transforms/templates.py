"""Rules that were written once are written again without being read again.

What an elementwise rule writes depends only on the kinds of its operands and on its constants, so
the calls of its first use serve as a template for the next.  Only shipped rules: they do not
change.
"""

from __future__ import annotations

from typing import Any

from srcad.ir.core import Arg, Atom, Call, Const, Display, Op, Value
from srcad.ir.inference.builder import Builder
from srcad.rules.row import Rule
from srcad.startup.records import dataclass
from srcad.transforms.sweep import Inline
from srcad.types.numeric import Numeric

_MOST = 1024


@dataclass(frozen=True, eq=False)
class _Template:
    """The calls that a rule wrote for some operands, and its result."""

    operands: tuple[Value, ...]
    calls: tuple[Call, ...]
    results: Any


_templates: dict[Any, _Template] = {}


def write_rule(
    inline: Inline, builder: Builder, rule: Rule, args: list[Arg], keywords: dict[str, Arg]
) -> Any:
    """Write the formula of an elementwise rule; return its result."""
    assert rule.function is not None
    key = _key(rule, args, keywords)
    if key is None:
        return inline(builder, rule.function, args, keywords)
    given = tuple(a for a in (*args, *keywords.values()) if isinstance(a, Value))
    known = _templates.get(key)
    if known is not None:
        return _replayed(known, builder, given)
    start = len(builder.ops)
    found = inline(builder, rule.function, args, keywords)
    written = builder.ops[start:]
    if len(_templates) < _MOST and _is_plain(written, given):
        calls = tuple(op for op in written if isinstance(op, Call))
        _templates[key] = _Template(given, calls, found)
    return found


def _key(rule: Rule, args: list[Arg], keywords: dict[str, Arg]) -> Any:
    if not rule.shipped or rule.kind != "derivative":
        return None
    kinds = [_kind(arg) for arg in (*args, *keywords.values())]
    if any(kind is None for kind in kinds):
        return None
    values = [a for a in (*args, *keywords.values()) if isinstance(a, Value)]
    same = tuple(values.index(v) for v in values)
    return (rule.function, *kinds, *keywords, same)


def _kind(arg: Arg) -> Any:
    if isinstance(arg, Const):
        return arg if type(arg.value) in (int, float, bool, type(None)) else None
    if isinstance(arg, Display) or not isinstance(arg.type, Numeric):
        return None
    rank = None if arg.type.shape is None else len(arg.type.shape)
    return (arg.type.dtype, arg.type.form, rank)


def _is_plain(ops: list[Op], given: tuple[Value, ...]) -> bool:
    """Return True if ops are calls that name nothing but the operands and each other."""
    known = set(given)
    for op in ops:
        if not isinstance(op, Call) or op.effect or not known.issuperset(op.operands):
            return False
        known.add(op.result)
    return True


def _replayed(template: _Template, builder: Builder, given: tuple[Value, ...]) -> Any:
    names: dict[Value, Atom] = dict(zip(template.operands, given, strict=True))
    for call in template.calls:
        args = [_renamed(a, names) for a in call.args]
        kwargs = [(k, _renamed(a, names)) for k, a in call.kwargs]
        names[call.result] = builder.call(call.target, *args, kwargs=kwargs)
    return _structure(template.results, names)


def _renamed(arg: Arg, names: dict[Value, Atom]) -> Arg:
    if isinstance(arg, Display):
        return Display(arg.kind, tuple(_renamed(a, names) for a in arg.items))
    return names.get(arg, arg) if isinstance(arg, Value) else arg


def _structure(found: Any, names: dict[Value, Atom]) -> Any:
    if isinstance(found, tuple | list):
        return tuple(_structure(one, names) for one in found)
    return _renamed(found, names) if isinstance(found, Value | Const | Display) else found
