"""The assumptions of a derivative about its arguments, as calls that report violations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from srcad.arguments.aliasing import Pairs
from srcad.errors import ExportError
from srcad.exporting import plain
from srcad.exporting.definitions import Definitions
from srcad.exporting.derivative import Derivative, InClass
from srcad.exporting.literals import dtype_text, literal
from srcad.exporting.written_out import call_lines
from srcad.frontend.domain.guards import Guard
from srcad.startup.identifiers import attribute_text, label, quoted
from srcad.startup.records import dataclass, field
from srcad.types.numeric import Numeric
from srcad.types.sizes import Assumption, Extent, Symbol
from srcad.types.sources import EACH, Path, follow, spelled
from srcad.types.structures import Fixed, ListOf, Opaque, TupleOf, Type, Undefined

_PYTHON = {"f": float, "i": int, "c": complex, "b": bool}


@dataclass(eq=False)
class Checks:
    """Collects the lines; `ordered` are the parameters with all arrays in C order.

    `derivative` is what the lines are for, `at` how what is at a path is read, `held` what the
    file holds of what is besides them.  `defined` are the objects and names that classes define.
    """

    definitions: Definitions
    derivative: Derivative
    ordered: frozenset[str]
    lines: list[str] = field(default_factory=list)
    at: dict[Path, str] = field(default_factory=dict)
    held: dict[Path, Any] = field(default_factory=dict)
    defined: set[tuple[Path, str]] = field(default_factory=set)
    indent: str = ""

    def call(self, check: Callable[..., None], *arguments: str) -> None:
        """One more line."""
        name = self.definitions.name_of(check, check.__name__)
        lines = call_lines(name, arguments, 4 + len(self.indent))
        self.lines += [f"{self.indent}{line}" for line in lines]

    def cls(self, value: type) -> str:
        """How a class is written."""
        if issubclass(value, np.generic | np.ndarray):
            return f"{self.definitions.name_of(np, 'np')}.{value.__name__}"
        return self.definitions.name_of(value, value.__name__)

    def refusal(self, what: str, help: str) -> ExportError:
        """Return the refusal of what cannot be checked in a file of its own."""
        return ExportError(
            f"cannot write the derivative of {self.definitions.name!r} to a file: {what}",
            why="the file could not tell whether it serves the arguments of a call.",
            help=help,
        )

    # ------------------------------------------------------------------------- types
    def type(self, type_: Type, text: str, path: Path) -> None:
        self.at[path] = text
        _CHECKS[type(type_)](self, type_, text, path)

    def guard(self, guard: Guard) -> None:
        """Add a condition on the parts of an argument; the file has its own for the rest.

        What the class of an argument holds is part of the rest: the check of the argument's type
        names the class.
        """
        if self.in_class(guard.path) is not None:
            return
        others = guard.expected if guard.kind in ("same", "apart") else ()
        if not any(path and path[0][0] == "param" for path in (guard.path, *others)):
            return
        text = self.at.get(guard.path) or self.read(guard.path)
        checked = _GUARDS.get(guard.kind)
        if checked is None or not guard.path or guard.path[0][0] != "param":
            raise self.refusal(
                f"it depends on what {text} is", help="pass arrays and numbers as arguments"
            )
        checked(self, guard, text)

    def in_class(self, path: Path) -> InClass | None:
        """Return the class member at a path, and check that no object shadows it."""
        found = self.derivative.in_class(path)
        if found is None or found.name is None or (found.holder, found.name) in self.defined:
            return found
        self.defined.add((found.holder, found.name))
        outer, text = self.indent, self._in_loop(found.holder)
        self.call(plain.check_defined, quoted_text(text), text, quoted_text(found.name))
        self.indent = outer
        return found

    def _in_loop(self, path: Path) -> str:
        """Return the expression that reads a part of an argument, inside loops over its lists."""
        if EACH not in path:
            return self.read(path)
        at = path.index(EACH)
        item = self.definitions.fresh("item")
        self.lines.append(f"{self.indent}for {item} in {self.read(path[:at])}:")
        self.indent += "    "
        return self._in_loop((("param", item), *path[at + 1 :]))

    def read(self, path: Path) -> str:
        """How what is in an argument is read."""
        known = next((k for k in range(len(path), 0, -1) if path[:k] in self.at), 0)
        text = self.at[path[:known]] if known else ""
        for kind, *key in path[known:]:
            match kind:
                case "param":
                    text = key[0]
                case "attr":
                    text = attribute_text(text, key[0])
                case "item":
                    text = f"{text}[{literal(key[0])}]"
                case "shape":
                    text = f"{text}.shape[{key[0]}]"
                case _:
                    raise self.refusal(
                        f"it depends on what {spelled(path)} is",
                        help="pass arrays and numbers as arguments",
                    )
        return text

    # ------------------------------------------------------------------------- lengths
    def assumption(self, assumption: Assumption) -> None:
        """Add an assumption about lengths and integers, unless the file's values fulfil it."""
        symbols = [s for side in (assumption.left, assumption.right) for s, _ in side.terms]
        paths = {s: _path(s) for s in symbols}
        if all(self._held(path) is not None for path in paths.values()):
            return
        lists = list(dict.fromkeys(p[: p.index(EACH)] for p in paths.values() if EACH in p))
        items = {path: self.definitions.fresh("item") for path in lists}
        values = {s: self._symbol(path, items) for s, path in paths.items()}
        left, right = _sum(assumption.left, values), _sum(assumption.right, values)
        shown, outer = f"{left} {assumption.relation} {right}", self.indent
        if lists:
            texts = ", ".join(map(self.read, lists))
            zipped = texts if len(lists) == 1 else f"zip({texts}, strict=True)"
            self.lines.append(f"{outer}for {', '.join(items.values())} in {zipped}:")
            self.indent += "    "
        self.call(plain.check_length, shown, quoted_text(shown))
        self.indent = outer

    def _held(self, path: Path) -> int | None:
        """Return a length or integer of what the file holds itself."""
        for k in range(1, len(path) + 1):
            if path[:k] in self.held:
                found = follow(self.held[path[:k]], path[k:])
                return found if isinstance(found, int) else -1
        return None

    def _symbol(self, path: Path, items: Mapping[Path, str]) -> str:
        known = self._held(path)
        if known is not None and EACH not in path:
            return str(known)
        if EACH not in path:
            return self.read(path)
        at = path.index(EACH)
        if EACH in path[at + 1 :] or known is not None:
            raise self.refusal(
                "it depends on the lengths in lists of lists",
                help="pass arrays instead of lists of arrays",
            )
        return self.read((("param", items[path[:at]]), *path[at + 1 :]))

    # ------------------------------------------------------------------------- memory
    def memory(self, names: Sequence[str], written: tuple[int, ...], overlaps: Pairs) -> None:
        """Arguments that are written into share memory as they did."""
        if written and len(names) > 1:
            self.call(plain.check_memory, f"({', '.join(names)})", repr(written), repr(overlaps))


def quoted_text(text: str) -> str:
    """Return the literal of a text as ruff sets it."""
    return literal(text) or quoted(text)


def _path(symbol: Symbol) -> Path:
    """Where a symbol is read."""
    path: Path = symbol.source  # type: ignore[assignment]
    return path


def _sum(extent: Extent, values: dict[Symbol, str]) -> str:
    parts = [values[s] if k == 1 else f"{k} * {values[s]}" for s, k in extent.terms]
    if extent.constant or not parts:
        parts.append(str(extent.constant))
    return " + ".join(parts).replace("+ -", "- ")


# ------------------------------------------------------------------------------- kinds of types
def _numeric(c: Checks, type_: Any, text: str, path: Path) -> None:
    shown = quoted_text(text)
    if type_.form == "array" and type_.dtype is not None:
        rank = None if type_.shape is None else len(type_.shape)
        c.call(plain.check_array, shown, text, str(dtype_text(type_.dtype)), str(rank))
        if path[0][1] in c.ordered and path[0][0] == "param" and (rank is None or rank > 1):
            c.call(plain.check_order, shown, text)
    elif type_.form == "numpy" and type_.dtype is not None:
        c.call(plain.check_class, shown, text, c.cls(type_.dtype.type))
    elif type_.form == "python" and type_.kind in _PYTHON:
        c.call(plain.check_class, shown, text, c.cls(_PYTHON[type_.kind]))
    else:
        dtypes = ", ".join(sorted(str(dtype_text(dtype)) for dtype in type_.dtypes))
        c.call(plain.check_number, shown, text, quoted_text(type_.form), f"[{dtypes}]")


def _structure(c: Checks, type_: Any, text: str, path: Path) -> None:
    shown, cls = quoted_text(text), type_.cls
    if cls is dict:
        keys = literal(list(type_.keys))
        if keys is None:
            raise c.refusal(f"the keys of {text} cannot be written", help="use texts as keys")
        c.call(plain.check_keys, shown, text, keys)
    elif type_.keys is None:
        c.call(plain.check_items, shown, text, c.cls(cls), str(len(type_.items)))
    else:
        c.call(plain.check_class, shown, text, c.cls(cls))
    fields = type_.keys is not None and cls is not dict
    keys_ = type_.keys if type_.keys is not None else range(len(type_.items))
    for key, item in zip(keys_, type_.items, strict=True):
        part = attribute_text(text, key) if fields else f"{text}[{literal(key)}]"
        c.type(item, part, (*path, ("attr" if fields else "item", key)))


def _list(c: Checks, type_: Any, text: str, path: Path) -> None:
    c.call(plain.check_class, quoted_text(text), text, c.cls(list))
    if isinstance(type_.item, Undefined):
        c.call(plain.check_length, f"not {text}", quoted_text(f"no items in {text}"))
        return
    item = c.definitions.fresh("item")
    c.lines.append(f"{c.indent}for {item} in {text}:")
    outer, c.indent = c.indent, c.indent + "    "
    c.type(type_.item, item, (*path, EACH))
    c.indent = outer


def _fixed(c: Checks, type_: Any, text: str, path: Path) -> None:
    value, shown = type_.value, quoted_text(text)
    written = literal(value)
    if written is not None:
        c.call(plain.check_value, shown, text, written)
        return
    try:
        name = c.definitions.importable(value, label(value))
    except ExportError:
        raise c.refusal(
            f"{text} is {label(value)!r}, which no file can import",
            help=f"bind it first:  functools.partial({c.definitions.name}, {text}={text})",
        ) from None
    c.call(plain.check_object, shown, text, name)


def _opaque(c: Checks, type_: Any, text: str, path: Path) -> None:
    if type_.cls is not None:
        c.call(plain.check_class, quoted_text(text), text, c.cls(type_.cls))


def _undefined(c: Checks, type_: Any, text: str, path: Path) -> None:
    raise c.refusal(f"nothing is known of {text}", help="pass arrays and numbers as arguments")


_CHECKS: dict[type, Callable[[Checks, Any, str, Path], None]] = {
    Numeric: _numeric,
    TupleOf: _structure,
    ListOf: _list,
    Fixed: _fixed,
    Opaque: _opaque,
    Undefined: _undefined,
}


# ------------------------------------------------------------------------------- kinds of guards
def _class(c: Checks, guard: Guard, text: str) -> None:
    c.call(plain.check_class, quoted_text(text), text, c.cls(guard.expected))


def _contiguous(c: Checks, guard: Guard, text: str) -> None:
    c.call(plain.check_order, quoted_text(text), text)


def _memory(c: Checks, guard: Guard, text: str) -> None:
    c.call(plain.check_writable, quoted_text(text), text, quoted_text(guard.expected))


def _backward(c: Checks, guard: Guard, text: str) -> None:
    c.call(plain.check_strides, quoted_text(text), text, repr(guard.expected))


def _equals(c: Checks, guard: Guard, text: str) -> None:
    _fixed(c, Fixed(guard.expected), text, guard.path)


_GUARDS: dict[str, Callable[[Checks, Guard, str], None]] = {
    "class": _class,
    "contiguous": _contiguous,
    "memory": _memory,
    "backward": _backward,
    "equals": _equals,
    "is": _equals,
}
