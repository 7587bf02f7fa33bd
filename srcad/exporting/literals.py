"""Values as Python text: numbers, texts, small arrays, and containers of such."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

MOST_ENTRIES = 1000  # of an array that is written out
_PLAIN = (int, bool, str, bytes, type(None), type(...))


def literal(value: Any) -> str | None:
    """Return the text of a value that evaluates to the same, bit for bit; None where there is none.

    The name ``np`` stands for NumPy in it.

    >>> literal((1, 2.5, float("inf"))), literal(np.float32(0.5)), literal(object())
    ('(1, 2.5, np.inf)', 'np.float32(0.5)', None)
    >>> print(literal(np.array([[1.0, 2.0], [3.0, 4.0]])))
    np.array([[1.0, 2.0], [3.0, 4.0]])
    """
    kind = type(value)
    if kind in _PLAIN:
        return _quoted(value) if kind is str else repr(value)
    if kind in (float, complex):
        return _number(value)
    if isinstance(value, np.dtype):
        return None if dtype_text(value) is None else f"np.dtype({dtype_text(value)})"
    if isinstance(value, np.generic):
        return _scalar(value)
    if kind is np.ndarray:
        return _array(value)
    writer = _CONTAINERS.get(kind)
    return None if writer is None else writer(value)


def size(value: Any) -> int:
    """How many numbers and texts there are in a value."""
    if isinstance(value, np.ndarray):
        return value.size
    if isinstance(value, dict):
        return sum(map(size, value.values()))
    return sum(map(size, value)) if isinstance(value, list | tuple) else 1


def dtype_text(dtype: np.dtype[Any]) -> str | None:
    """Return the text that names a dtype; None for one that has no short name."""
    if dtype.hasobject or dtype.names is not None or dtype.subdtype is not None:
        return None
    name = dtype.name if dtype.isnative and np.dtype(dtype.name) == dtype else dtype.str
    return f'"{name}"'


def _quoted(text: str) -> str:
    plain = repr(text)
    if plain[0] == "'" and '"' not in text:
        return '"' + plain[1:-1].replace("\\'", "'") + '"'
    return plain


def _number(value: Any) -> str | None:
    if type(value) is complex:
        parts = literal(value.real), literal(value.imag)
        return f"complex({parts[0]}, {parts[1]})"
    if math.isfinite(value):
        return repr(value)
    if math.isnan(value):
        return "np.nan" if math.copysign(1.0, value) > 0 else "-np.nan"
    return "np.inf" if value > 0 else "-np.inf"


def _scalar(value: np.generic) -> str | None:
    if value.dtype.kind not in "fiubc" or np.dtype(value.dtype.name) != value.dtype:
        return None
    inner = literal(value.item())
    if inner is None or not _is_exact(np.asarray(value)):
        return None
    return f"np.{type(value).__name__}({inner})"


def _is_exact(array: np.ndarray[Any, Any]) -> bool:
    """Return True if the Python numbers of an array give it back."""
    again = np.array(array.tolist(), dtype=array.dtype)
    return again.shape == array.shape and again.tobytes() == array.tobytes()


def _array(array: np.ndarray[Any, Any]) -> str | None:
    """Return an array that lies in C or Fortran order."""
    dtype = dtype_text(array.dtype)
    if array.dtype.kind not in "fiubc" or dtype is None or array.size > MOST_ENTRIES:
        return None
    if not (array.flags.forc and array.flags.writeable):
        return None
    if not array.size:
        return f"np.zeros({array.shape!r}, dtype={dtype})"
    if not _is_exact(array):
        return None
    inner = literal(array.tolist())
    plain = dtype in ('"float64"', '"int64"', '"bool"', '"complex128"')
    order = "" if array.flags.c_contiguous else ', order="F"'
    return f"np.array({inner}{'' if plain else f', dtype={dtype}'}{order})"


def _items(values: Any) -> list[str] | None:
    texts = [literal(value) for value in values]
    return None if None in texts else [text for text in texts if text is not None]


def _list(value: list[Any]) -> str | None:
    items = _items(value)
    return None if items is None else f"[{', '.join(items)}]"


def _tuple(value: tuple[Any, ...]) -> str | None:
    items = _items(value)
    return None if items is None else f"({', '.join(items)}{',' * (len(items) == 1)})"


def _dict(value: dict[Any, Any]) -> str | None:
    keys, items = _items(value), _items(value.values())
    if keys is None or items is None:
        return None
    return "{" + ", ".join(f"{k}: {v}" for k, v in zip(keys, items, strict=True)) + "}"


def _call(value: Any) -> str | None:
    """Return a slice or a range."""
    parts = [literal(part) for part in (value.start, value.stop, value.step)]
    return None if None in parts else f"{type(value).__name__}({', '.join(map(str, parts))})"


_CONTAINERS: dict[type, Callable[[Any], str | None]] = {
    list: _list,
    tuple: _tuple,
    dict: _dict,
    slice: _call,
    range: _call,
}


def assignment(name: str, text: str, width: int) -> str:
    """Return the lines of ``name = text``, wrapped to a width unless it has several already."""
    line = f"{name} = {text}"
    if len(line) <= width:
        return line + "\n"
    lines, current = [], f"{name} = "
    for piece in _pieces(text):
        if len(current) + len(piece.rstrip()) > width and not current.endswith((" = ", "    ")):
            lines.append(current.rstrip())
            current = "    "
        current += piece
    body = "\n".join([*lines, current])
    return f"# fmt: off\n{body}\n# fmt: on\n"


def _pieces(text: str) -> list[str]:
    """Return a text cut behind its commas, but not inside quotes."""
    pieces, start, quote = [], 0, ""
    for k, character in enumerate(text):
        if quote:
            quote = "" if character == quote and text[k - 1] != "\\" else quote
        elif character in "\"'":
            quote = character
        elif text[k : k + 2] == ", ":
            pieces.append(text[start : k + 2])
            start = k + 2
    return [*pieces, text[start:]]
