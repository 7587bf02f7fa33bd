"""Guards: checks that something outside the arguments has not changed."""

from __future__ import annotations

from types import CodeType
from typing import Any

import numpy as np

from srcad.arguments.aliasing import argument_memory, backward_axes
from srcad.calling.conditions import Conditions, guarded_code
from srcad.startup.identifiers import quoted
from srcad.types.reading import has
from srcad.types.sources import Path, is_filled


def guard(c: Conditions, path: Path, kind: str, expected: Any) -> None:
    """Check that the value at a path has not changed."""
    first = c.expression(path)
    if path not in c.names and path:
        name = c.names[path] = c.fresh("v")
        first = f"({name} := {first})"
    match kind:
        case "is":
            c.add(f"{first} is {c.constant(expected)}")
        case "code":
            c.risky = True
            code = None if expected is None else guarded_code(expected)
            c.add(f"{first}.__code__ is {_code(c, code)}")
        case "class":
            c.is_class(first, c.class_name(expected))
        case "contiguous":
            c.add(f"{first}.flags.c_contiguous")
        case "backward":
            c.add(f"{c.constant(backward_axes)}({first}) == {expected}")
        case "memory":
            c.add(f"{c.constant(argument_memory)}({first}) == {expected!r}")
        case "equals":
            equals(c, first, c.names.get(path, first), expected)
        case "same" | "apart":
            c.add(_identities(c, (first, *map(c.named, expected)), kind))
        case _:
            c.add(_presence(c, first, kind, expected))


def _text(c: Conditions, key: Any) -> str:
    """Return a key of a dict."""
    return quoted(key) if isinstance(key, str) else c.constant(key)


def _identities(c: Conditions, objects: tuple[str, ...], kind: str) -> str:
    """Return a test that some objects still are one, or all different ones."""
    found = ", ".join(f"{c.constant(id)}({one})" for one in objects)
    return f"{c.own('len')}({{{found}}}) == {1 if kind == 'same' else len(objects)}"


def _presence(c: Conditions, first: str, kind: str, expected: Any) -> str:
    """Return a test that something still is there, or still is not."""
    match kind:
        case "has":
            return f"{c.constant(hasattr)}({first}, {quoted(expected)})"
        case "lacks":
            return f"not {c.constant(hasattr)}({first}, {quoted(expected)})"
        case "absent":
            return f"not {c.constant(has)}({first}, {quoted(expected)})"
        case "keys":
            return f"[*{first}] == {c.constant(expected)}"
        case "length":
            return f"{c.own('len')}({first}) == {expected}"
        case "set":
            return f"{_text(c, expected)} in {first}"
        case "unset":
            return f"{_text(c, expected)} not in {first}"
        case "empty":
            return f"not {c.constant(is_filled)}({first})"
    raise KeyError(kind)


def _code(c: Conditions, code: CodeType | None) -> str:
    """Return a code object; None is that of the function itself, which must not be held."""
    return own_code(c) if code is None else c.constant(code)


def own_code(c: Conditions) -> str:
    """Return the code that the function had when it was bound."""
    return c.prepared("code", f"{c.own('code_of')}({c.own('function')})")


def equals(c: Conditions, first: str, name: str, expected: Any) -> None:
    """Add the condition that a constant has the same type and value."""
    if expected is None or isinstance(expected, bool):
        c.add(f"{first} is {expected}")
    elif type(expected) in (str, bytes, int) or isinstance(expected, np.dtype):
        c.is_class(first, c.class_name(type(expected)))
        c.add(f"{name} == {c.constant(expected)}")
    elif type(expected) in (float, complex):
        c.is_class(first, c.class_name(type(expected)))
        c.add(f"{c.constant(repr)}({name}) == {c.constant(repr(expected))}")
    else:
        c.add(f"{first} is {c.constant(expected)}")
