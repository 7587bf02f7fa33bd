"""The conditions of a pattern, written as Python expressions."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Mapping
from types import CodeType
from typing import Any

import numpy as np

from srcad.arguments.aliasing import backward_axes, memory_of
from srcad.arguments.request import code_of
from srcad.startup.identifiers import member, plain, quoted
from srcad.types.sizes import Assumption, Extent, Symbol
from srcad.types.sources import EACH, Path, follow, is_filled, read

_NOTHING = object()
_DEEP = 16  # steps that are nested in one expression
_BOUND: dict[str, Any] = {
    "type": type, "len": len, "tuple": tuple, "list": list, "dict": dict, "float": float,
    "int": int, "ndarray": np.ndarray, "memmap": np.memmap, "follow": follow, "getattr": getattr,
    "code_of": code_of, "errors": (AttributeError, LookupError, TypeError, ValueError),
}  # fmt: skip


class Conditions:
    """Collects conditions; `names` says which variable holds what is at a path.

    Every condition may use what the ones before it have named (by ``:=``), since they are tested
    in order.  All names that are not the user's begin with `prefix`.

    With `quick` there is a second list: what suffices where all shapes are those last seen.
    """

    def __init__(
        self,
        parameters: list[str],
        function: Any,
        by_code: Mapping[Path, CodeType | None],
        name: str = "",
    ) -> None:
        self.prefix = "_"
        while any(taken.startswith(self.prefix) for taken in (*parameters, name)):
            self.prefix += "_"
        self.function = function
        self.by_code = by_code
        self.known_codes = dict(by_code)
        self.names: dict[Path, str] = {(("param", name),): name for name in parameters}
        self.constants = {self.prefix + name: value for name, value in _BOUND.items()}
        self.conditions: list[str] = []
        self.functions: list[str] = []
        self.setup: list[str] = []
        self.risky = False
        self.assumptions: list[Assumption] = []
        self.quick: list[str] | None = None
        self.shapes: dict[str, str] = {}
        self.ordered: frozenset[tuple[str, str]] = frozenset()
        self._counter = 0
        self._known: dict[int, str] = {}

    # ------------------------------------------------------------------------- names
    def fresh(self, stem: str) -> str:
        """A new name."""
        self._counter += 1
        return f"{self.prefix}{stem}{self._counter}"

    def constant(self, value: Any) -> str:
        """The name to which an object is bound."""
        name = self._known.get(id(value))
        if name is None:
            name = self._known[id(value)] = self.fresh("k")
            self.constants[name] = value
        return name

    def attribute(self, holder: str, name: str) -> str:
        """How an attribute is read, whatever its name."""
        return member(holder, name, self._own("getattr"))

    def _own(self, name: str) -> str:
        return self.prefix + name

    def expression(self, path: Path) -> str:
        """How what is at a path is read; what has been read already is read by its name."""
        if path in self.names:
            return self.names[path]
        self.risky = True
        if not path:
            return self._own("function")
        self._name_on_the_way(path)
        *before, (kind, key) = path
        if EACH in before or (not before and kind not in ("param", "attr", "item")):
            return self._from_root(path, kind, key)
        inner = self._named(tuple(before)) if before else self._own("function")
        match kind:
            case "attr":
                return self.attribute(inner, key)
            case "item":
                return f"{inner}[{self.constant(key)}]"
            case "shape":
                return f"{inner}.shape[{key}]"
        return self._step(inner, self._code_at(tuple(before)), kind, key)

    def _name_on_the_way(self, path: Path) -> None:
        """Name what is on a long way, so that what is read at its end is not nested deeply."""
        for end in range(_DEEP, len(path), _DEEP):
            part = path[:end]
            if part not in self.names and EACH not in part:
                self.add(f"({self._named(part)}, True)[1]")

    def _code_at(self, path: Path) -> CodeType:
        """The code of the function at a path: guarded, or that of the function itself."""
        if path not in self.known_codes:
            return guarded_code(read(path, self.function))
        code = self.known_codes[path] or code_of(self.function)
        assert code is not None
        return code

    def _from_root(self, path: Path, kind: str, key: Any) -> str:
        if EACH in path:
            at = path.index(EACH)
            inner = self._named(path[:at])
            return f"{self._own('follow')}({inner}, {self.constant(path[at:])})"
        return self._step(self._own("function"), None, kind, key)

    def _named(self, path: Path) -> str:
        """A name for what is at a path, read on the way if need be."""
        if path in self.names:
            return self.names[path]
        name = self.fresh("v")
        expression = self.expression(path)
        self.names[path] = name
        return f"({name} := {expression})"

    def _step(self, holder: str, code: CodeType | None, kind: str, key: Any) -> str:
        """A step from a function: the first one, or one of which the code is known."""
        at_root = code is None
        match kind:
            case "global":
                builtin = getattr(builtins, plain(key), _NOTHING)
                space = f"{holder}.__globals__"
                if at_root:
                    space = self._prepared("space", f"{holder}.__globals__")
                if builtin is _NOTHING:
                    return f"{space}[{quoted(key)}]"
                return f"{space}.get({quoted(key)}, {self.constant(builtin)})"
            case "module":
                return f"{self.constant(sys.modules)}[{quoted(key)}]"
            case "cell":
                names = (code or self.function.__code__).co_freevars
                number = names.index(key)
                cell = f"{holder}.__closure__[{number}]"
                if at_root:
                    cell = self._prepared(f"cell{number}", cell)
                return f"{cell}.cell_contents"
            case "default":
                return f"{holder}.__defaults__[{key}]"
            case "kwdefault":
                return f"{holder}.__kwdefaults__[{quoted(key)}]"
        raise KeyError(kind)

    def _prepared(self, stem: str, expression: str) -> str:
        """A name that is bound once per function object."""
        name = self._own(stem)
        line = f"{name} = {expression}"
        if line not in self.setup:
            self.setup.append(line)
        return name

    # ------------------------------------------------------------------------- types
    def add(self, condition: str, quick: str | None = None) -> None:
        """One more condition; `quick` stands for it where all shapes are those last seen."""
        self.conditions.append(condition)
        if self.quick is not None and quick != "":
            self.quick.append(quick or condition)

    def add_shape(self, array: str, path: Path, rank: int) -> None:
        """The array at a path has this rank; its shape gets a name."""
        shape = self.names[(*path, ("shape",))] = self.fresh("s")
        seen = f"{self.prefix}seen{len(self.shapes) + 1}"
        if self.quick is not None:
            self.shapes[shape] = seen
        self.add(f"{self._own('len')}({shape} := {array}.shape) == {rank}",
                 quick=f"({shape} := {array}.shape) == {seen}")  # fmt: skip

    def is_class(self, first: str, cls: str) -> None:
        """The class is exactly this one."""
        self.add(f"{self._own('type')}({first}) is {cls}")

    def class_name(self, cls: type) -> str:
        """The name by which the text calls a class."""
        own = self._own(plain(cls.__name__))
        return own if self.constants.get(own) is cls else self.constant(cls)

    def inner(self) -> Conditions:
        """Conditions about each item of a list, in a function of their own."""
        made = Conditions([], self.function, self.by_code)
        made.prefix, made._counter, made.ordered = self.prefix, self._counter, self.ordered
        made.constants, made._known, made.functions = self.constants, self._known, self.functions
        return made

    # ------------------------------------------------------------------- guards, assumptions
    def guard(self, path: Path, kind: str, expected: Any) -> None:
        """What is at a path still is what it was."""
        first = self.expression(path)
        if path not in self.names and path:
            name = self.names[path] = self.fresh("v")
            first = f"({name} := {first})"
        match kind:
            case "is":
                self.add(f"{first} is {self.constant(expected)}")
            case "code":
                self.risky = True
                code = None if expected is None else guarded_code(expected)
                self.add(f"{first}.__code__ is {self._code(code)}")
            case "class":
                self.is_class(first, self.class_name(expected))
            case "contiguous":
                self.add(f"{first}.flags.c_contiguous")
            case "backward":
                self.add(f"{self.constant(backward_axes)}({first}) == {expected}")
            case "memory":
                self.add(f"{self.constant(memory_of)}({first}) == {expected!r}")
            case "equals":
                self.equals(first, self.names.get(path, first), expected)
            case "same" | "apart":
                self.add(self._identities((first, *map(self._named, expected)), kind))
            case _:
                self.add(self._presence(first, kind, expected))

    def _text(self, key: Any) -> str:
        """A key of a dict."""
        return quoted(key) if isinstance(key, str) else self.constant(key)

    def _identities(self, objects: tuple[str, ...], kind: str) -> str:
        """Whether some objects still are one, or all different ones."""
        found = ", ".join(f"{self.constant(id)}({one})" for one in objects)
        return f"{self._own('len')}({{{found}}}) == {1 if kind == 'same' else len(objects)}"

    def _presence(self, first: str, kind: str, expected: Any) -> str:
        """Whether something still is there, or still is not."""
        match kind:
            case "has":
                return f"{self.constant(hasattr)}({first}, {quoted(expected)})"
            case "lacks":
                return f"not {self.constant(hasattr)}({first}, {quoted(expected)})"
            case "keys":
                return f"[*{first}] == {self.constant(expected)}"
            case "set":
                return f"{self._text(expected)} in {first}"
            case "unset":
                return f"{self._text(expected)} not in {first}"
            case "empty":
                return f"not {self.constant(is_filled)}({first})"
        raise KeyError(kind)

    def _code(self, code: CodeType | None) -> str:
        """A code object; None is that of the function itself, which must not be held."""
        return self.own_code() if code is None else self.constant(code)

    def own_code(self) -> str:
        """The code that the function had when it was bound."""
        return self._prepared("code", f"{self._own('code_of')}({self._own('function')})")

    def equals(self, first: str, name: str, expected: Any) -> None:
        """A constant has the same type and value."""
        if expected is None or isinstance(expected, bool):
            self.add(f"{first} is {expected}")
        elif type(expected) in (str, bytes, int) or isinstance(expected, np.dtype):
            self.is_class(first, self.class_name(type(expected)))
            self.add(f"{name} == {self.constant(expected)}")
        elif type(expected) in (float, complex):
            self.is_class(first, self.class_name(type(expected)))
            self.add(f"{self.constant(repr)}({name}) == {self.constant(repr(expected))}")
        else:
            self.add(f"{first} is {self.constant(expected)}")

    def assume(self, assumption: Assumption) -> None:
        """An assumption about lengths and integers holds."""
        symbols = _symbols(assumption)
        repeated = [s for s in symbols if EACH in self.source(s)]
        if repeated:
            self._assume_each(assumption, symbols)
        else:
            of_shapes = all((*self.source(s)[:-1], ("shape",)) in self.names for s in symbols)
            self.add(self.relation(assumption, {s: self._symbol(s) for s in symbols}),
                     quick="" if of_shapes else None)  # fmt: skip

    def take_assumptions_of_items(self, items: Conditions, path: Path) -> None:
        """Let conditions about each item of one list test the assumptions that are only theirs."""
        left = []
        for assumption in self.assumptions:
            sources = [self.source(s) for s in _symbols(assumption)]
            if all(s[: len(path)] == path and EACH not in s[len(path) :] for s in sources):
                values = {s: items._symbol(s) for s in _symbols(assumption)}
                items.add(self.relation(assumption, values))
            else:
                left.append(assumption)
        self.assumptions = left

    def _assume_each(self, assumption: Assumption, symbols: list[Symbol]) -> None:
        distinct = list(dict.fromkeys(symbols))
        repeated = [s for s in distinct if EACH in self.source(s)]
        items = {s: self.fresh("n") for s in repeated}
        values = {s: items[s] if s in items else self._symbol(s) for s in distinct}
        test = self.relation(assumption, values)
        columns = ", ".join(self.expression(self.source(s)) for s in repeated)
        self.constants[self._own("columns")] = columns_of
        names = ", ".join([*items.values(), ""])
        rows = self.fresh("c")  # named outside: what is gone through must not name anything
        self.add(f"({rows} := {self._own('columns')}({columns})) is not None")
        self.add(f"[1 for {names} in {rows} if not {test}] == []")

    def source(self, symbol: Symbol) -> Path:
        """Where a symbol is read."""
        source: Path = symbol.source  # type: ignore[assignment]
        return source

    def _symbol(self, symbol: Symbol) -> str:
        source = self.source(symbol)
        shape = self.names.get((*source[:-1], ("shape",)))
        if source[-1][0] == "shape" and shape is not None:
            return f"{shape}[{source[-1][1]}]"
        return self.expression(source)

    def relation(self, assumption: Assumption, values: dict[Symbol, str]) -> str:
        """An assumption as a comparison."""
        left = _sum(assumption.left, values)
        return f"{left} {assumption.relation} {_sum(assumption.right, values)}"


def _symbols(assumption: Assumption) -> list[Symbol]:
    return [symbol for side in (assumption.left, assumption.right) for symbol, _ in side.terms]


def _sum(extent: Extent, values: dict[Symbol, str]) -> str:
    parts = [values[s] if k == 1 else f"{k} * {values[s]}" for s, k in extent.terms]
    if extent.constant or not parts:
        parts.append(str(extent.constant))
    return " + ".join(parts)


def guarded_code(expected: Any) -> CodeType:
    """The code object that a guard is about."""
    code: CodeType = expected if isinstance(expected, CodeType) else expected.__code__
    return code


def columns_of(*columns: list[int]) -> list[tuple[int, ...]]:
    """The lengths of the items of several lists, item by item; a failing row if they differ."""
    if len({len(column) for column in columns}) > 1:
        raise ValueError("lists of different lengths")
    return list(zip(*columns, strict=True))
