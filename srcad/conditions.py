"""The conditions of a pattern, written as Python expressions."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping, Sequence
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from srcad.paths import EACH, Path, follow, read
from srcad.request import code_of
from srcad.signature import is_number
from srcad.types import (
    Assumption,
    Extent,
    Fixed,
    ListOf,
    Numeric,
    Opaque,
    Symbol,
    TupleOf,
    Type,
    Undefined,
)

_NOTHING = object()
_PYTHON_KINDS = {"f": float, "i": int, "c": complex, "b": bool}
_BOUND: dict[str, Any] = {
    "type": type, "len": len, "tuple": tuple, "list": list, "dict": dict, "float": float,
    "int": int, "ndarray": np.ndarray, "memmap": np.memmap, "follow": follow,
    "code_of": code_of, "errors": (AttributeError, LookupError, TypeError, ValueError),
}  # fmt: skip


class Conditions:
    """Collects conditions; `names` says which variable holds what is at a path.

    Every condition may use what the ones before it have named (by ``:=``), since they are tested
    in order.  All names that are not the user's begin with `prefix`.
    """

    def __init__(
        self, parameters: list[str], function: Any, by_code: Mapping[Path, CodeType | None]
    ) -> None:
        self.prefix = "_"
        while any(name.startswith(self.prefix) for name in parameters):
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
        self.shapes: list[tuple[str, int]] | None = None
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

    def _own(self, name: str) -> str:
        return self.prefix + name

    def expression(self, path: Path) -> str:
        """How what is at a path is read; what has been read already is read by its name."""
        if path in self.names:
            return self.names[path]
        self.risky = True
        if not path:
            return self._own("function")
        *before, (kind, key) = path
        if EACH in before or (not before and kind not in ("param", "attr", "item")):
            return self._from_root(path, kind, key)
        inner = self._named(tuple(before)) if before else self._own("function")
        match kind:
            case "attr":
                return f"{inner}.{key}"
            case "item":
                return f"{inner}[{self.constant(key)}]"
            case "shape":
                return f"{inner}.shape[{key}]"
        return self._step(inner, self._code_at(tuple(before)), kind, key)

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
                builtin = getattr(builtins, key, _NOTHING)
                space = f"{holder}.__globals__"
                if at_root:
                    space = self._prepared("space", f"{holder}.__globals__")
                return f"{space}.get({key!r}, {self.constant(builtin)})"
            case "cell":
                names = (code or self.function.__code__).co_freevars
                cell = f"{holder}.__closure__[{names.index(key)}]"
                if at_root:
                    cell = self._prepared(f"cell_{key}", cell)
                return f"{cell}.cell_contents"
            case "default":
                return f"{holder}.__defaults__[{key}]"
            case "kwdefault":
                return f"{holder}.__kwdefaults__[{key!r}]"
        raise KeyError(kind)

    def _prepared(self, stem: str, expression: str) -> str:
        """A name that is bound once per function object."""
        name = self._own(stem)
        line = f"{name} = {expression}"
        if line not in self.setup:
            self.setup.append(line)
        return name

    # ------------------------------------------------------------------------- types
    def check(self, type_: Type, expression: str, path: Path) -> None:
        """What is at a path has this type; afterwards it has a name."""
        if expression.isidentifier():
            first = name = expression
        else:
            name = self.fresh("v")
            first = f"({name} := {expression})"
        self.names[path] = name
        _CHECKS[type(type_)](self, type_, first, name, path)

    def add(self, condition: str) -> None:
        """One more condition."""
        self.conditions.append(condition)

    def is_class(self, first: str, cls: str) -> None:
        """The class is exactly this one."""
        self.add(f"{self._own('type')}({first}) is {cls}")

    def class_name(self, cls: type) -> str:
        """The name by which the text calls a class."""
        own = self._own(cls.__name__)
        return own if self.constants.get(own) is cls else self.constant(cls)

    def inner(self) -> Conditions:
        """Conditions about each item of a list, in a function of their own."""
        made = Conditions([], self.function, self.by_code)
        made.prefix, made._counter = self.prefix, self._counter
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
            case "equals":
                self.equals(first, self.names.get(path, first), expected)

    def _code(self, code: CodeType | None) -> str:
        """A code object; None is that of the function itself, which must not be held."""
        if code is None:
            return self._prepared("code", f"{self._own('code_of')}({self._own('function')})")
        return self.constant(code)

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
        symbols = [s for side in (assumption.left, assumption.right) for s, _ in side.terms]
        repeated = [s for s in symbols if EACH in self.source(s)]
        if repeated:
            self._assume_each(assumption, symbols)
        else:
            self.add(self.relation(assumption, {s: self._symbol(s) for s in symbols}))

    def shapes_at_once(self, assumptions: Sequence[Assumption]) -> list[Assumption]:
        """Test all shapes in one condition, which holds at once where they are those last seen.

        Only if `shapes` was set to a list, so that the arrays met since then are in it.  Returns
        the assumptions that are about more than these shapes.
        """
        if not self.shapes:
            return list(assumptions)
        p = self.prefix
        tests = [f"{p}len({p}shapes[{k}]) == {rank}" for k, (_, rank) in enumerate(self.shapes)]
        left = []
        for assumption in assumptions:
            symbols = [s for side in (assumption.left, assumption.right) for s, _ in side.terms]
            if all((*self.source(s)[:-1], ("shape",)) in self.names for s in symbols):
                tests.append(self.relation(assumption, {s: self._symbol(s) for s in symbols}))
            else:
                left.append(assumption)
        now = ", ".join(expression for expression, _ in self.shapes)
        self.add(f"(({p}shapes := ({now},)) == {p}seen or ({' and '.join(tests)} "
                 f"and ({p}seen := {p}shapes) is not None))")  # fmt: skip
        self.setup.append(f"{p}seen = None")
        return left

    def _assume_each(self, assumption: Assumption, symbols: list[Symbol]) -> None:
        distinct = list(dict.fromkeys(symbols))
        repeated = [s for s in distinct if EACH in self.source(s)]
        items = {s: self.fresh("n") for s in repeated}
        values = {s: items[s] if s in items else self._symbol(s) for s in distinct}
        test = self.relation(assumption, values)
        columns = ", ".join(self.expression(self.source(s)) for s in repeated)
        self.constants[self._own("columns")] = columns_of
        names = ", ".join([*items.values(), ""])
        self.add(f"[1 for {names} in {self._own('columns')}({columns}) if not {test}] == []")

    def source(self, symbol: Symbol) -> Path:
        """Where a symbol is read."""
        source: Path = symbol.source  # type: ignore[assignment]
        return source

    def _symbol(self, symbol: Symbol) -> str:
        source = self.source(symbol)
        kind, axis = source[-1]
        shape = self.names.get((*source[:-1], ("shape",)))
        if kind == "shape" and shape is not None:
            return f"{shape}[{axis}]"
        return self.expression(source)

    def relation(self, assumption: Assumption, values: dict[Symbol, str]) -> str:
        """An assumption as a comparison."""
        left = _sum(assumption.left, values)
        return f"{left} {assumption.relation} {_sum(assumption.right, values)}"


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


# ------------------------------------------------------------------------- one kind of type each
def _is_python_number(value: Any) -> bool:
    return type(value) in (int, float, complex)


def _is_numpy_number(value: Any) -> bool:
    return isinstance(value, np.generic) and is_number(value)


_LOOSE: dict[str, Callable[[Any], bool]] = {
    "any": is_number,
    "python": _is_python_number,
    "numpy": _is_numpy_number,
}


def _numeric(c: Conditions, type_: Any, first: str, name: str, path: Path) -> None:
    if type_.form == "array":
        _array(c, type_, first, name, path)
    elif type_.form == "any" or type_.dtype is None:
        c.add(f"{c.constant(_LOOSE[type_.form])}({first})")
    elif type_.form == "numpy":
        c.is_class(first, c.constant(type_.dtype.type))
    else:
        c.is_class(first, c.class_name(_PYTHON_KINDS[type_.kind]))


def _array(c: Conditions, type_: Numeric, first: str, name: str, path: Path) -> None:
    p = c.prefix
    c.add(f"({p}type({first}) is {p}ndarray or {p}type({name}) is {p}memmap)")
    if type_.dtype is None:
        c.add(f"{c.constant(is_number)}({name})")
    else:
        dtype = c.constant(type_.dtype)
        c.add(f"({name}.dtype is {dtype} or {name}.dtype == {dtype})")
    if type_.shape is None:
        return
    if c.shapes is not None:
        c.names[(*path, ("shape",))] = f"{p}shapes[{len(c.shapes)}]"
        c.shapes.append((f"{name}.shape", len(type_.shape)))
    else:
        shape = c.names[(*path, ("shape",))] = c.fresh("s")
        c.add(f"{p}len({shape} := {name}.shape) == {len(type_.shape)}")


def _structure(c: Conditions, type_: Any, first: str, name: str, path: Path) -> None:
    cls = type_.cls
    c.is_class(first, c.class_name(cls))
    if cls is dict:
        c.add(f"[*{name}] == {c.constant(list(type_.keys))}")
    elif type_.keys is None:
        c.add(f"{c.prefix}len({name}) == {len(type_.items)}")
    fields = type_.keys is not None and cls is not dict
    keys = type_.keys if type_.keys is not None else range(len(type_.items))
    for position, (key, item) in enumerate(zip(keys, type_.items, strict=True)):
        if fields and not issubclass(cls, tuple):
            c.risky = True
            expression = f"{name}.{key}"
        else:
            index = repr(key) if type(key) in (int, str) else c.constant(key)
            expression = f"{name}[{position if fields else index}]"
        c.check(item, expression, (*path, ("attr" if fields else "item", key)))


def _list(c: Conditions, type_: Any, first: str, name: str, path: Path) -> None:
    c.is_class(first, f"{c.prefix}list")
    if isinstance(type_.item, Undefined):
        c.add(f"not {name}")
        return
    c.risky = True
    items, item = c.inner(), f"{c.prefix}item"
    items.check(type_.item, item, (*path, EACH))
    c._counter = items._counter
    checker = c.fresh("each")
    test = " and ".join(items.conditions) or "True"
    c.functions += [
        f"def {checker}({c.prefix}items):",
        f"    for {item} in {c.prefix}items:",
        f"        if not ({test}):",
        "            return False",
        "    return True",
    ]
    c.add(f"{checker}({name})")


def _fixed(c: Conditions, type_: Any, first: str, name: str, path: Path) -> None:
    if path in c.by_code:
        c.add(f"{c.prefix}type({first}) is {c.constant(type(type_.value))}")
    else:
        c.equals(first, name, type_.value)
    if isinstance(type_.value, FunctionType):
        c.known_codes[path] = type_.value.__code__


def _opaque(c: Conditions, type_: Any, first: str, name: str, path: Path) -> None:
    if type_.cls is not None:
        c.is_class(first, c.class_name(type_.cls))
        if type_.cls is np.ndarray:
            c.add(f"not {c.constant(is_number)}({name})")
    elif first != name:
        c.add(f"({first}, True)[1]")


def _undefined(c: Conditions, type_: Any, first: str, name: str, path: Path) -> None:
    c.add("False")


_CHECKS: dict[type, Callable[[Conditions, Any, str, str, Path], None]] = {
    Numeric: _numeric,
    TupleOf: _structure,
    ListOf: _list,
    Fixed: _fixed,
    Opaque: _opaque,
    Undefined: _undefined,
}
