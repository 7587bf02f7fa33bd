"""The floats inside a value: where they are, and copies of the value with others in their place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from srcad.arguments.signature import described_parts
from srcad.ir.primitives import rebuilt
from srcad.startup.identifiers import attribute_text, shown
from srcad.types import objects
from srcad.types.numeric import number_base

Steps = tuple[tuple[str, Any], ...]


def leaves(value: Any, steps: Steps = ()) -> Iterator[tuple[Steps, Any]]:
    """Yield the floats, complex numbers and arrays in a value, with the steps to each."""
    if isinstance(value, np.ndarray | np.generic):
        if value.dtype.kind in "fc":
            yield steps, value
    elif type(value) in (float, complex) or number_base(value) in (float, complex):
        yield steps, value
    elif type(value) is list:
        for k, item in enumerate(value):
            yield from leaves(item, (*steps, ("item", k)))
    else:
        parts = described_parts(value, opens=True)
        if parts is not None and not objects.holds_itself(value):
            keys, items, _, step = parts
            for key, item in zip(range(len(items)) if keys is None else keys, items, strict=True):
                yield from leaves(item, (*steps, (step, key)))


def leaf_at(value: Any, steps: Steps) -> Any:
    """Return the part of a value at the end of some steps."""
    for step, key in steps:
        value = getattr(value, key) if step == "attr" else value[key]
    return value


def steps_in(value: Any, steps: Steps) -> Steps:
    """Return the steps as `leaves` gives them: keys for attributes, places from the start."""
    found = []
    for step, key in steps:
        if isinstance(value, dict):
            step = "item"
        elif step == "item" and type(value) is not list and hasattr(value, "_fields"):
            step, key = "attr", value._fields[key]
        elif step == "item" and key < 0:
            key += len(value)
        found.append((step, key))
        value = leaf_at(value, ((step, key),))
    return tuple(found)


def leaf_name(steps: Steps) -> str:
    """Where a leaf is, in a message."""
    return "".join(f".{key}" if step == "attr" else f"[{shown(key)}]" for step, key in steps)


def expression_of(whole: str, steps: Steps, space: dict[str, Any]) -> str:
    """Return the expression of a leaf.

    `space` holds the keys that are no plain texts or numbers.
    """
    for step, key in steps:
        if step == "attr":
            whole = attribute_text(whole, key)
        elif type(key) in (int, str):
            whole = f"{whole}[{shown(key)}]"
        else:
            space[f"key{len(space)}"] = key
            whole = f"{whole}[key{len(space) - 1}]"
    return whole


def with_leaf(value: Any, steps: Steps, leaf: Any) -> Any:
    """Return a copy of a structure with one leaf replaced."""
    if not steps:
        return leaf
    (_, key), *rest = steps
    if type(value) is list:
        return [with_leaf(v, tuple(rest), leaf) if k == key else v for k, v in enumerate(value)]
    parts = described_parts(value, opens=True)
    assert parts is not None
    keys, items, cls, _ = parts
    names = range(len(items)) if keys is None else keys
    pairs = zip(names, items, strict=True)
    new = tuple(with_leaf(v, tuple(rest), leaf) if k == key else v for k, v in pairs)
    return rebuilt(cls, keys, new)


def own_copies(args: Sequence[Any]) -> list[Any]:
    """Return the arguments of one call, which may write into them.

    One array in two places stays one.
    """
    copies: dict[int, Any] = {}
    return [_copied(value, copies) for value in args]


def _copied(value: Any, copies: dict[int, Any]) -> Any:
    if id(value) in copies:
        return copies[id(value)]
    found = value
    if isinstance(value, np.ndarray):
        found = value.copy()
    elif type(value) is list:
        found = [_copied(item, copies) for item in value]
    else:
        parts = described_parts(value, opens=True)
        if parts is not None and not objects.holds_itself(value):
            keys, items, cls, _ = parts
            found = rebuilt(cls, keys, tuple(_copied(item, copies) for item in items))
    copies[id(value)] = found
    return found
