"""The point at which an exported module checks itself, as text."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcad.exporting.definitions import Definitions
from srcad.exporting.literals import MOST_ENTRIES, dtype_text, literal, size
from srcad.types.numeric import Numeric
from srcad.types.sizes import Extent
from srcad.types.structures import Fixed, ListOf, TupleOf, Type, Undefined

_PYTHON = {"f": "0.7", "c": "(0.7 + 0.2j)", "b": "True"}


def example_text(definitions: Definitions, value: Any, type_: Type) -> str | None:
    """Return an argument as it was given, or one of its type where there is none or it is large.

    ``rng`` is a generator of random numbers and ``np`` NumPy in the text.
    """
    text = None
    if value is not None and size(value) <= MOST_ENTRIES:
        text = literal(value)
    return _of_type(definitions, type_) if text is None else text


def _of_type(d: Definitions, type_: Type) -> str | None:
    if isinstance(type_, Numeric):
        return _number(type_)
    if isinstance(type_, Fixed):
        text = literal(type_.value)
        return text if text is not None else d.importable(type_.value, str(type_)[1:])
    if isinstance(type_, ListOf):
        if isinstance(type_.item, Undefined):
            return "[]"
        item = _of_type(d, type_.item)
        return None if item is None else f"[{', '.join([item] * _count(type_.item))}]"
    if isinstance(type_, TupleOf) and type_.cls in (tuple, dict):
        items = [_of_type(d, item) for item in type_.items]
        if None in items:
            return None
        if type_.keys is None:
            return f"({', '.join(map(str, items))}{',' * (len(items) == 1)})"
        pairs = zip(type_.keys, items, strict=True)
        return "{" + ", ".join(f"{literal(key)}: {item}" for key, item in pairs) + "}"
    return None


def _number(type_: Numeric) -> str | None:
    kind = type_.kind
    if type_.form == "python":
        known = None if type_.value is None else _example(type_.value)
        return str(2 if known is None else known) if kind == "i" else _PYTHON.get(kind)
    if type_.form == "numpy" and type_.dtype is not None:
        return f"np.{type_.dtype.type.__name__}({'2' if kind in 'iu' else '0.7'})"
    if type_.form != "array" or type_.dtype is None or type_.shape is None:
        return None
    lengths = tuple(_example(extent) for extent in type_.shape)
    if None in lengths or kind not in "fiub":
        return None
    if kind == "f":
        text = f"rng.random({lengths!r})"
        plain = type_.dtype == np.float64
        return text if plain else f"{text}.astype({dtype_text(type_.dtype)})"
    return f"rng.integers(0, 2, {lengths!r}).astype({dtype_text(type_.dtype)})"


def _example(extent: Extent) -> int | None:
    """Return the value of an extent in the call that caused the compilation."""
    total = extent.constant
    for symbol, k in extent.terms:
        known = symbol.example[0] if isinstance(symbol.example, tuple) else symbol.example
        if known is None:
            return None
        total += k * known
    return total


def _count(type_: Type) -> int:
    """How many items a list had, where the lengths of their axes tell."""
    if isinstance(type_, Numeric) and type_.shape:
        for extent in type_.shape:
            for symbol, _ in extent.terms:
                if isinstance(symbol.example, tuple):
                    return len(symbol.example)
    return 3
