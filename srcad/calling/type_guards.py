"""Conditions that check the type of a value: one function per kind of type."""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from srcad.arguments.aliasing import argument_memory, backward_axes
from srcad.arguments.request import Request
from srcad.arguments.signature import is_number
from srcad.calling.conditions import Conditions, guarded_code
from srcad.startup.identifiers import quoted
from srcad.types import objects
from srcad.types.numeric import INT, Form, Numeric, form_subsumes
from srcad.types.reading import has
from srcad.types.sizes import Assumption, Extent, Symbol
from srcad.types.sources import EACH, Path, is_filled
from srcad.types.structures import Fixed, ListOf, Opaque, TupleOf, Type, Undefined

# Guards: checks that something outside the arguments has not changed.


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
    """Return a test that something still is there, still is not, or has the same contents."""
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
        case "alike":
            return f"{c.constant(expected.fits)}({first})"
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
    elif isinstance(expected, Request):  # another derivative of the same kind has an equal one
        c.add(f"({first} is {c.constant(expected)} or {name} == {c.constant(expected)})")
    else:
        c.add(f"{first} is {c.constant(expected)}")


# Assumptions of a pattern about lengths and integers, as comparisons.


def assume(c: Conditions, assumption: Assumption) -> None:
    """Add the condition that an assumption about lengths and integers holds."""
    symbols = _symbols(assumption)
    repeated = [s for s in symbols if EACH in _source(s)]
    if repeated:
        _assume_each(c, assumption, symbols)
    else:
        of_shapes = all((*_source(s)[:-1], ("shape",)) in c.names for s in symbols)
        is_tested = of_shapes and all(_source(s)[:-1] in c.kernel_arrays for s in symbols)
        if is_tested:
            lengths = {s: _length_in_kernel(c, s) for s in symbols}
            c.kernel_checks.append(_relation(assumption, lengths))
        c.add(
            _relation(assumption, {s: _symbol(c, s) for s in symbols}),
            quick="" if of_shapes else None,
            outside_kernel="" if is_tested else None,
        )


def take_assumptions_of_items(c: Conditions, items: Conditions, path: Path) -> None:
    """Let conditions about each item of one list test the assumptions that are only theirs."""
    left = []
    for assumption in c.assumptions:
        sources = [_source(s) for s in _symbols(assumption)]
        if all(s[: len(path)] == path and EACH not in s[len(path) :] for s in sources):
            values = {s: _symbol(items, s) for s in _symbols(assumption)}
            items.add(_relation(assumption, values))
        else:
            left.append(assumption)
    c.assumptions = left


def _assume_each(c: Conditions, assumption: Assumption, symbols: list[Symbol]) -> None:
    distinct = list(dict.fromkeys(symbols))
    repeated = [s for s in distinct if EACH in _source(s)]
    items = {s: c.fresh("n") for s in repeated}
    values = {s: items[s] if s in items else _symbol(c, s) for s in distinct}
    test = _relation(assumption, values)
    columns = ", ".join(c.expression(_source(s)) for s in repeated)
    c.constants[c.own("columns")] = columns_of
    names = ", ".join([*items.values(), ""])
    rows = c.fresh("c")  # named outside: what is gone through must not name anything
    c.add(f"({rows} := {c.own('columns')}({columns})) is not None")
    c.add(f"[1 for {names} in {rows} if not {test}] == []")


def _source(symbol: Symbol) -> Path:
    """Where a symbol is read."""
    source: Path = symbol.source  # type: ignore[assignment]
    return source


def _symbol(c: Conditions, symbol: Symbol) -> str:
    source = _source(symbol)
    shape = c.names.get((*source[:-1], ("shape",)))
    if source[-1][0] == "shape" and shape is not None:
        return f"{shape}[{source[-1][1]}]"
    return c.expression(source)


def _length_in_kernel(c: Conditions, symbol: Symbol) -> str:
    """Return the length of an axis in terms of a parameter of the kernel."""
    *path, (_, axis) = _source(symbol)
    return f"{c.kernel_arrays[tuple(path)]}.shape[{axis}]"


def _relation(assumption: Assumption, values: dict[Symbol, str]) -> str:
    """Return an assumption as a comparison."""
    left = _sum(assumption.left, values)
    return f"{left} {assumption.relation} {_sum(assumption.right, values)}"


def _symbols(assumption: Assumption) -> list[Symbol]:
    return [symbol for side in (assumption.left, assumption.right) for symbol, _ in side.terms]


def _sum(extent: Extent, values: dict[Symbol, str]) -> str:
    parts = [values[s] if k == 1 else f"{k} * {values[s]}" for s, k in extent.terms]
    if extent.constant or not parts:
        parts.append(str(extent.constant))
    return " + ".join(parts)


def columns_of(*columns: list[int]) -> list[tuple[int, ...]]:
    """Return the lengths of the items of several lists, item by item.

    A failing row if they differ.
    """
    if len({len(column) for column in columns}) > 1:
        raise ValueError("lists of different lengths")
    return list(zip(*columns, strict=True))


_PYTHON_KINDS = {"f": float, "i": int, "c": complex, "b": bool}


def check(c: Conditions, type_: Type, expression: str, path: Path) -> None:
    """Write the conditions for what is at a path to have a type; afterwards it has a name."""
    if expression.isidentifier():
        first = name = expression
    else:
        name = c.fresh("v")
        first = f"({name} := {expression})"
    c.names[path] = name
    _CHECKS[type(type_)](c, type_, first, name, path)


_PYTHON_DTYPES = {t: np.dtype(t) for t in (float, complex)} | {int: INT.dtype}


def number_test(form: Form, dtypes: frozenset[Any]) -> Callable[[Any], bool]:
    """Return the test that a value is a number of a form, and of one of some dtypes.

    >>> test = number_test("python", frozenset(map(np.dtype, (float, np.int64))))
    >>> test(1.5), test(2), test(1j), test(np.float64(1.5))
    (True, True, False, False)
    """
    of_python = _PYTHON_DTYPES if form_subsumes(form, "python") else {}
    of_numpy = form_subsumes(form, "numpy")

    def test(value: Any) -> bool:
        found = of_python.get(type(value))
        if found is None:
            is_array = isinstance(value, np.ndarray)
            if not is_number(value) or not (form_subsumes(form, "array") if is_array else of_numpy):
                return False
        return found in dtypes

    return test


def _numeric(c: Conditions, type_: Any, first: str, name: str, path: Path) -> None:
    if type_.form == "array":
        _array(c, type_, first, name, path)
    elif type_.form in ("any", "number") or type_.dtype is None:
        c.add(f"{c.constant(number_test(type_.form, type_.dtypes))}({first})")
    elif type_.form == "numpy":
        c.is_class(first, c.constant(type_.dtype.type))
    else:
        c.is_class(first, c.class_name(type_.cls or _PYTHON_KINDS[type_.kind]))


def _array(c: Conditions, type_: Numeric, first: str, name: str, path: Path) -> None:
    p = c.prefix
    exact = f"{p}type({first}) is {p}ndarray"
    c.add(f"({exact} or {p}type({name}) is {p}memmap)", quick=exact, outside_kernel=exact)
    is_tested = "" if path in c.kernel_arrays else None
    if type_.dtype is None:
        c.add(f"{c.constant(number_test('array', type_.dtypes))}({name})")
    else:
        dtype = c.constant(type_.dtype)
        exact = f"{name}.dtype is {dtype}"
        c.add(f"({exact} or {name}.dtype == {dtype})", quick=exact, outside_kernel=is_tested)
    rank = None if type_.shape is None else len(type_.shape)
    if path[0] in c.ordered and (rank is None or rank > 1):
        c.add(f"{name}.flags.c_contiguous", outside_kernel=is_tested)
    if type_.shape is not None:
        c.add_shape(name, path, len(type_.shape))


def _structure(c: Conditions, type_: Any, first: str, name: str, path: Path) -> None:
    cls = type_.cls
    c.is_class(first, c.class_name(cls))
    if cls is dict:
        c.add(f"[*{name}] == {c.constant(list(type_.keys))}")
    elif type_.keys is None:
        c.add(f"{c.prefix}len({name}) == {len(type_.items)}")
    fields = type_.keys is not None and cls is not dict
    if fields and not issubclass(cls, tuple):
        _no_more_attributes(c, cls, type_.keys, name)
    keys = type_.keys if type_.keys is not None else range(len(type_.items))
    for position, (key, item) in enumerate(zip(keys, type_.items, strict=True)):
        if fields and not issubclass(cls, tuple):
            c.risky = True
            expression = c.attribute(name, key)
        else:
            index = quoted(key) if type(key) is str else c.constant(key)
            expression = f"{name}[{position if fields else index}]"
        check(c, item, expression, (*path, ("attr" if fields else "item", key)))


def _no_more_attributes(c: Conditions, cls: type, keys: tuple[str, ...], name: str) -> None:
    """Add the condition that an object has no further attribute, which could hide its class's."""
    slots = objects.slots_of(cls)
    for slot in slots:
        if slot not in keys:
            c.add(f"not {c.constant(hasattr)}({name}, {quoted(slot)})")
    if cls.__dictoffset__:
        known = frozenset(keys) | objects.computed_names(cls)
        c.add(f"{c.constant(known)}.issuperset({name}.__dict__)")


def _list(c: Conditions, type_: Any, first: str, name: str, path: Path) -> None:
    c.is_class(first, f"{c.prefix}list")
    if isinstance(type_.item, Undefined):
        c.add(f"not {name}")
        return
    c.risky = True
    items, item = c.inner(), f"{c.prefix}item"
    check(items, type_.item, item, (*path, EACH))
    take_assumptions_of_items(c, items, (*path, EACH))
    c.add_each(items, item, name)


def _fixed(c: Conditions, type_: Any, first: str, name: str, path: Path) -> None:
    if path in c.by_code:
        c.add(f"{c.prefix}type({first}) is {c.constant(type(type_.value))}")
    else:
        equals(c, first, name, type_.value)
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
