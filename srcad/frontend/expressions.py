"""Names, literals, displays, attributes, text and lambdas.

Operators are in `operators`, indexing in `indexing`, calls in `calls`.
"""

from __future__ import annotations

import ast
import operator
from typing import Any, NoReturn

from srcad import errors
from srcad.frontend.attributes import read_attribute
from srcad.frontend.boxes import Box, DictBox, FunctionBox, IterBox, ListBox, Static, TupleBox
from srcad.frontend.forms import bind, lower, lower_each, lowers
from srcad.frontend.holders import as_data
from srcad.frontend.keyed import is_mapping, unless_open
from srcad.frontend.known import is_settled, known, spread, unpacked
from srcad.frontend.names import lookup
from srcad.frontend.operators import operate
from srcad.frontend.questions import is_of_users
from srcad.frontend.rooms import mappings
from srcad.frontend.scope import Session
from srcad.frontend.unsure import require_bound
from srcad.ir.core import Const
from srcad.types.structures import Opaque

_ONCE = ("zip", "reversed")  # what is gone through once; an ``enumerate`` is a ``zip``


@lowers(ast.Constant)
def constant(s: Session, node: ast.Constant) -> Box:
    """A literal."""
    return Static(node.value)


@lowers(ast.Name)
def name(s: Session, node: ast.Name) -> Box:
    """A name; where one path has not bound it, it raises there as the plain call does."""
    box = lookup(s, node.id)
    require_bound(s, node.id, box)
    if isinstance(box, IterBox) and not s.frame.trusted:
        _use_up(s, box, node)
    return box


def _use_up(s: Session, box: IterBox, node: ast.Name) -> None:
    """Whoever reads the name of a ``zip``, ``enumerate`` or ``reversed`` goes through it: once."""
    if box.kind == "spent":
        s.refuse(
            errors.UnsupportedSyntaxError,
            f"cannot go on with the iterator {node.id!r}",
            node=node,
            why="it was read before, and an iterator is gone through once.",
            help=(f"make a list of it first:  {node.id} = list(...)",),
        )
    if box.kind in _ONCE:
        for frame in s.frames:
            names = [name for name, held in frame.env.items() if held is box]
            frame.env.update(dict.fromkeys(names, IterBox("spent", ())))


@lowers(ast.Attribute)
def attribute_of(s: Session, node: ast.Attribute) -> Box:
    """``value.attr``."""
    return read_attribute(s, lower(s, node.value), node.attr)


@lowers(ast.NamedExpr)
def walrus(s: Session, node: ast.NamedExpr) -> Box:
    """``(name := value)``."""
    box = lower(s, node.value)
    bind(s, node.target.id, box)
    return box


def starred(s: Session, nodes: list[ast.expr]) -> tuple[Box, ...]:
    """The boxes of a display's items, ``*more`` spread."""
    items: list[Box] = []
    for node, box in zip(nodes, lower_each(s, nodes), strict=True):
        _check_kept(s, box, node)
        items.extend(spread(s, box, node) if isinstance(node, ast.Starred) else (box,))
    return tuple(items)


def _check_kept(s: Session, box: Box, node: ast.expr) -> None:
    """Refuse to keep an iterator in a container: who takes it out goes through it once."""
    is_iterator = isinstance(box, IterBox) and box.kind in _ONCE
    if is_iterator and not isinstance(node, ast.Starred) and not s.frame.trusted:
        s.refuse(
            errors.UnsupportedSyntaxError,
            "cannot keep an iterator in a container",
            node=node,
            why="an iterator is gone through once, wherever it is read.",
            help=("make a list of it:  list(...)",),
        )


@lowers(ast.Starred)
def starred_items(s: Session, node: ast.Starred) -> Box:
    """``*items`` of a display or a call: they are asked for where they stand."""
    return unpacked(s, lower(s, node.value))


@lowers(ast.Tuple)
def tuple_display(s: Session, node: ast.Tuple) -> Box:
    """``(a, b)``."""
    return TupleBox(starred(s, node.elts))


@lowers(ast.List)
def list_display(s: Session, node: ast.List) -> Box:
    """``[a, b]``; of unknown length if an item ``*more`` is."""
    whole: Box = ListBox(())
    for item, box in zip(node.elts, lower_each(s, node.elts), strict=True):
        _check_kept(s, box, item)
        items = box if isinstance(item, ast.Starred) else TupleBox((box,))
        if isinstance(items, TupleBox) and isinstance(whole, ListBox):
            whole = ListBox((*whole.items, *items.items))
        elif isinstance(whole, ListBox) and not whole.items:
            whole = items
        else:
            more = ListBox(items.items) if isinstance(items, TupleBox) else items
            whole = operate(s, operator.add, whole, more)
    return whole


@lowers(ast.Set)
def set_display(s: Session, node: ast.Set) -> Box:
    """``{a, b}`` of things that are known now."""
    items = starred(s, node.elts)
    if all(isinstance(item, Static) and is_settled(s, item) for item in items):
        return Static(frozenset(item.value for item in items if isinstance(item, Static)))
    if s.is_active(*items):
        refuse_set(s, node)
    return s.emit(set, ListBox(items), type=Opaque(set))


def refuse_set(s: Session, node: ast.expr) -> NoReturn:
    """Refuse a set whose items carry a derivative."""
    s.refuse(
        errors.UnsupportedSyntaxError,
        "cannot differentiate through a set",
        node=node,
        why="the order of a set is not defined.",
        help=("use a list",),
    )


@lowers(ast.Dict)
def dict_display(s: Session, node: ast.Dict) -> Box:
    """``{key: value, **other}``."""
    rows: list[tuple[Box | None, Box]] = []
    for key, value, box in zip(node.keys, node.values, lower_each(s, node.values), strict=True):
        _check_kept(s, box, value)
        rows.append((None, as_data(s, box)) if key is None else (lower(s, key), box))
    with s.at(node):
        if any(key is None and is_mapping(box) for key, box in rows):
            return mappings.display(s, rows)
        entries = unless_open(s, lambda: _entries(s, node, rows))
        if entries is None:
            return mappings.display(s, rows)
    return DictBox(tuple(entries), tuple(entries.values()))


def _entries(s: Session, node: ast.Dict, rows: list[tuple[Box | None, Box]]) -> dict[Any, Box]:
    """The entries of a dict whose keys are known now."""
    entries: dict[Any, Box] = {}
    for key, value, (box_of_key, box) in zip(node.keys, node.values, rows, strict=True):
        if box_of_key is not None:
            entries[known(s, box_of_key, "a dict key", key)] = box
            continue
        if not isinstance(box, DictBox):
            s.refuse(
                errors.UnsupportedSyntaxError,
                "cannot spread this mapping",
                node=value,
                why="its keys are not known before the call.",
                help=("name the keys",),
            )
        entries.update(zip(box.keys, box.items, strict=True))
    return entries


@lowers(ast.JoinedStr)
def formatted(s: Session, node: ast.JoinedStr) -> Box:
    """An f-string, as ``str.format``."""
    values: list[Box] = []
    template = _template(s, node, values)
    if all(isinstance(v, Static) and not is_of_users(v) for v in values):
        return Static(template.format(*[v.value for v in values if isinstance(v, Static)]))
    return s.emit(str.format, Const(template), *values, type=Opaque(str))


def _template(s: Session, node: ast.JoinedStr, values: list[Box]) -> str:
    parts = []
    for part in node.values:
        if isinstance(part, ast.Constant):
            parts.append(str(part.value).replace("{", "{{").replace("}", "}}"))
        elif isinstance(part, ast.FormattedValue):
            values.append(lower(s, part.value))
            conversion = f"!{chr(part.conversion)}" if part.conversion > 0 else ""
            inner = part.format_spec
            spec = f":{_template(s, inner, values)}" if isinstance(inner, ast.JoinedStr) else ""
            parts.append("{" + conversion + spec + "}")
    return "".join(parts)


@lowers(ast.Lambda)
def lambda_(s: Session, node: ast.Lambda) -> Box:
    """``lambda args: body``."""
    return function_box(s, node)


def function_box(s: Session, node: ast.FunctionDef | ast.Lambda) -> FunctionBox:
    """A function defined here; its defaults are evaluated now."""
    defaults = tuple(lower(s, d) for d in node.args.defaults)
    kw_defaults = tuple(None if d is None else lower(s, d) for d in node.args.kw_defaults)
    borrowed = s.frame.hidden if s.in_comprehension else frozenset[str]()
    made = FunctionBox(node, s.frame, defaults, kw_defaults, borrowed)
    s.frame.functions.append(made)
    return made
