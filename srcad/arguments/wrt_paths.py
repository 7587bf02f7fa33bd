"""Parts of an argument to differentiate by: ``wrt="params.W"``, ``wrt="net.layers[0].b"``.

>>> path_of("net.layers[-1]['b']")
('net', (('attr', 'layers'), ('item', -1), ('item', 'b')))
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from srcad.errors import WrtError
from srcad.startup.identifiers import printable, shown
from srcad.types.structures import ListOf, TupleOf, Type

Steps = tuple[tuple[str, Any], ...]


def path_of(text: str) -> tuple[str, Steps] | None:
    """Return the name and the steps of a path; None if it is no path."""
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return None
    steps: list[tuple[str, Any]] = []
    while not isinstance(node, ast.Name):
        match node:
            case ast.Attribute(value=inner, attr=name):
                steps.append(("attr", name))
            case ast.Subscript(value=inner, slice=index):
                key = _literal(index)
                if key is None:
                    return None
                steps.append(("item", key))
            case _:
                return None
        node = inner
    return node.id, tuple(reversed(steps))


def _literal(node: ast.expr) -> Any:
    """Return the text or number of a subscript, or a tuple of such; None for anything else."""
    try:
        key = ast.literal_eval(node)
        hash(key)
    except (ValueError, TypeError):
        return None
    return key


def spelled_steps(whole: str, steps: Steps) -> str:
    """How a part is written."""
    for step, key in steps:
        whole += f".{printable(key)}" if step == "attr" else f"[{shown(key)}]"
    return whole


def keys_of(type_: Type, steps: Steps, whole: str) -> tuple[Any, ...]:
    """Return the keys of the parts on the way, as the structures have them.

    Raises
    ------
    WrtError
        There is no such part.
    """
    keys = []
    for k, step in enumerate(steps):
        found = _key(type_, *step)
        if found is None:
            raise _no_part(type_, spelled_steps(whole, steps[:k]), spelled_steps(whole, steps))
        key, type_ = found
        keys.append(key)
    return tuple(keys)


def type_at(type_: Type, keys: Sequence[Any]) -> Type:
    """Return the type of the part behind some keys; the type itself where parts are not known."""
    for key in keys:
        if isinstance(type_, ListOf):
            type_ = type_.item
        elif isinstance(type_, TupleOf):
            type_ = type_.items[key if type_.keys is None else type_.keys.index(key)]
    return type_


def _key(type_: Type, step: str, key: Any) -> tuple[Any, Type] | None:
    """Return the key of a part in a structure, and its type.

    An attribute may be the key of a dict.
    """
    if isinstance(type_, ListOf):
        return (key, type_.item) if step == "item" and type(key) is int else None
    if not isinstance(type_, TupleOf):
        return None
    keys, named = type_.keys, type_.keys is not None and type_.cls is not dict
    if keys is not None and key in keys and (step == "attr" or not named):
        return key, type_.items[keys.index(key)]
    ordered = keys is None or issubclass(type_.cls, tuple | list)
    count = len(type_.items)
    if step == "item" and ordered and type(key) is int and -count <= key < count:
        place = key % count
        return place if not keys else keys[place], type_.items[place]
    return None


def _no_part(type_: Type, holder: str, wanted: str) -> WrtError:
    known = ""
    if isinstance(type_, TupleOf):
        keys = type_.keys or range(len(type_.items))
        known = f"its parts are {', '.join(map(shown, keys))}."
    return WrtError(
        f"wrt={shown(wanted)}: {holder!r} has no such part",
        why=known or f"it is {'a list' if isinstance(type_, ListOf) else f'a {type_}'}.",
        help="name parts as the function reads them:  wrt='params.W', wrt='layers[0].b'",
    )
