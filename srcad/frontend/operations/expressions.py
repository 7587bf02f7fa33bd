"""Names, literals, displays, attributes, text and lambdas.

Operators are in `operators`, indexing in `indexing`, calls in `calls`.
"""

from __future__ import annotations

import ast
import operator
from functools import partial
from typing import Any, NoReturn

from srcad import errors
from srcad.frontend.domain.predicates import is_of_users
from srcad.frontend.domain.values import (
    AbstractValue,
    Constant,
    DictValue,
    FunctionValue,
    IteratorValue,
    ListValue,
    Text,
    TupleValue,
)
from srcad.frontend.machine.constants import is_settled, known, spread, unpacked
from srcad.frontend.machine.dispatch import evaluate, evaluates
from srcad.frontend.machine.machine import Machine
from srcad.frontend.machine.order import evaluate_each
from srcad.frontend.operations import mappings, outside_containers
from srcad.frontend.operations.attributes import read_attribute
from srcad.frontend.operations.definite_assignment import require_bound
from srcad.frontend.operations.operators import operate
from srcad.frontend.store import binding, runtime_keys
from srcad.frontend.store.lookup import value_of_name
from srcad.ir.core import Const
from srcad.types.structures import TEXT, Opaque

_ONCE = ("zip", "reversed")  # what is gone through once; an ``enumerate`` is a ``zip``


@evaluates(ast.Constant)
def constant(state: Machine, node: ast.Constant) -> AbstractValue:
    return Constant(node.value)


@evaluates(ast.Name)
def name(state: Machine, node: ast.Name) -> AbstractValue:
    """Return a name; where one path has not bound it, it raises there as the original call does."""
    box = value_of_name(state, node.id)
    require_bound(state, node.id, box)
    if isinstance(box, IteratorValue) and not state.frame.trusted:
        _use_up(state, box, node)
    return box


def _use_up(state: Machine, box: IteratorValue, node: ast.Name) -> None:
    """Whoever reads the name of a ``zip``, ``enumerate`` or ``reversed`` goes through it: once."""
    if box.kind == "spent":
        state.refuse(
            errors.UnsupportedSyntaxError,
            f"cannot go on with the iterator {node.id!r}",
            node=node,
            why="it was read before, and an iterator is gone through once.",
            help=(f"make a list of it first:  {node.id} = list(...)",),
        )
    if box.kind in _ONCE:
        for frame in state.frames:
            names = [name for name, held in frame.env.items() if held is box]
            frame.env.update(dict.fromkeys(names, IteratorValue("spent", ())))


@evaluates(ast.Attribute)
def attribute_of(state: Machine, node: ast.Attribute) -> AbstractValue:
    return read_attribute(state, evaluate(state, node.value), node.attr)


@evaluates(ast.NamedExpr)
def walrus(state: Machine, node: ast.NamedExpr) -> AbstractValue:
    """``(name := value)``."""
    box = evaluate(state, node.value)
    binding.bind(state, node.target.id, box)
    return box


def starred(state: Machine, nodes: list[ast.expr]) -> tuple[AbstractValue, ...]:
    """Return the boxes of a display's items, ``*more`` spread."""
    items: list[AbstractValue] = []
    for node, box in zip(nodes, evaluate_each(state, nodes), strict=True):
        _check_kept(state, box, node)
        items.extend(spread(state, box, node) if isinstance(node, ast.Starred) else (box,))
    return tuple(items)


def _check_kept(state: Machine, box: AbstractValue, node: ast.expr) -> None:
    """Refuse to keep an iterator in a container: who takes it out goes through it once."""
    is_iterator = isinstance(box, IteratorValue) and box.kind in _ONCE
    if is_iterator and not isinstance(node, ast.Starred) and not state.frame.trusted:
        state.refuse(
            errors.UnsupportedSyntaxError,
            "cannot keep an iterator in a container",
            node=node,
            why="an iterator is gone through once, wherever it is read.",
            help=("make a list of it:  list(...)",),
        )


@evaluates(ast.Starred)
def starred_items(state: Machine, node: ast.Starred) -> AbstractValue:
    """``*items`` of a display or a call: they are asked for where they stand."""
    return unpacked(state, evaluate(state, node.value))


@evaluates(ast.Tuple)
def tuple_display(state: Machine, node: ast.Tuple) -> AbstractValue:
    """Build ``(a, b)``."""
    return TupleValue(starred(state, node.elts))


@evaluates(ast.List)
def list_display(state: Machine, node: ast.List) -> AbstractValue:
    """Build ``[a, b]``; of unknown length if an item ``*more`` is."""
    whole: AbstractValue = ListValue(())
    for item, box in zip(node.elts, evaluate_each(state, node.elts), strict=True):
        _check_kept(state, box, item)
        items = box if isinstance(item, ast.Starred) else TupleValue((box,))
        if isinstance(items, TupleValue) and isinstance(whole, ListValue):
            whole = ListValue((*whole.items, *items.items))
        elif isinstance(whole, ListValue) and not whole.items:
            whole = items
        else:
            more = ListValue(items.items) if isinstance(items, TupleValue) else items
            whole = operate(state, operator.add, whole, more)
    return whole


@evaluates(ast.Set)
def set_display(state: Machine, node: ast.Set) -> AbstractValue:
    """Build ``{a, b}`` of constants."""
    items = starred(state, node.elts)
    if all(isinstance(item, Constant) and is_settled(state, item) for item in items):
        return Constant(frozenset(item.value for item in items if isinstance(item, Constant)))
    if state.is_active(*items):
        refuse_set(state, node)
    return state.emit(set, ListValue(items), type=Opaque(set))


def refuse_set(state: Machine, node: ast.expr) -> NoReturn:
    """Refuse a set whose items carry a derivative."""
    state.refuse(
        errors.UnsupportedSyntaxError,
        "cannot differentiate through a set",
        node=node,
        why="the order of a set is not defined.",
        help=("use a list",),
    )


@evaluates(ast.Dict)
def dict_display(state: Machine, node: ast.Dict) -> AbstractValue:
    """``{key: value, **other}``."""
    pairs = list(zip(node.keys, node.values, strict=True))
    boxes = iter(evaluate_each(state, [n for pair in pairs for n in pair if n is not None]))
    rows: list[tuple[AbstractValue | None, AbstractValue]] = []
    for key, value in pairs:
        key_box, box = None if key is None else next(boxes), next(boxes)
        _check_kept(state, box, value)
        rows.append(
            (key_box, box if key_box is not None else outside_containers.as_data(state, box))
        )
    with state.at(node):
        if any(key is None and runtime_keys.is_mapping(box) for key, box in rows):
            return mappings.display(state, rows)
        entries = runtime_keys.unless_open(state, lambda: _entries(state, node, rows))
        if entries is None:
            return mappings.display(state, rows)
    return DictValue(tuple(entries), tuple(entries.values()))


def _entries(
    state: Machine, node: ast.Dict, rows: list[tuple[AbstractValue | None, AbstractValue]]
) -> dict[Any, AbstractValue]:
    """Return the entries of a dict with keys that are known at compile time."""
    entries: dict[Any, AbstractValue] = {}
    for key, value, (box_of_key, box) in zip(node.keys, node.values, rows, strict=True):
        if box_of_key is not None:
            entries[known(state, box_of_key, "a dict key", key)] = box
            continue
        if not isinstance(box, DictValue):
            state.refuse(
                errors.UnsupportedSyntaxError,
                "cannot spread this mapping",
                node=value,
                why="its keys are not known before the call.",
                help=("name the keys",),
            )
        entries.update(zip(box.keys, box.items, strict=True))
    return entries


@evaluates(ast.JoinedStr)
def formatted(state: Machine, node: ast.JoinedStr) -> AbstractValue:
    """Return an f-string, as ``str.format``."""
    values: list[AbstractValue] = []
    template = _template(state, node, values)
    constants = [v for v in values if isinstance(v, Constant) and not is_of_users(v)]
    emit = partial(state.emit, str.format, Const(template), *values, type=TEXT)
    if len(constants) < len(values):
        return emit()
    texts = [v for v in constants if isinstance(v, Text)]
    if not texts:
        return Constant(template.format(*[v.value for v in constants]))
    examples = [v.example if isinstance(v, Text) else v.value for v in constants]
    return Text(template.format(*examples), lambda: [v.assume() for v in texts], emit)


def _template(state: Machine, node: ast.JoinedStr, values: list[AbstractValue]) -> str:
    parts = []
    for part in node.values:
        if isinstance(part, ast.Constant):
            parts.append(str(part.value).replace("{", "{{").replace("}", "}}"))
        elif isinstance(part, ast.FormattedValue):
            values.append(evaluate(state, part.value))
            conversion = f"!{chr(part.conversion)}" if part.conversion > 0 else ""
            inner = part.format_spec
            spec = f":{_template(state, inner, values)}" if isinstance(inner, ast.JoinedStr) else ""
            parts.append("{" + conversion + spec + "}")
    return "".join(parts)


@evaluates(ast.Lambda)
def lambda_(state: Machine, node: ast.Lambda) -> AbstractValue:
    """``lambda args: body``."""
    return function_box(state, node)


def function_box(state: Machine, node: ast.FunctionDef | ast.Lambda) -> FunctionValue:
    """Return a function defined here; its defaults are evaluated now."""
    defaults = tuple(evaluate(state, d) for d in node.args.defaults)
    kw_defaults = tuple(None if d is None else evaluate(state, d) for d in node.args.kw_defaults)
    borrowed = state.frame.hidden if state.in_comprehension else frozenset[str]()
    made = FunctionValue(node, state.frame, defaults, kw_defaults, borrowed)
    state.frame.functions.append(made)
    return made
