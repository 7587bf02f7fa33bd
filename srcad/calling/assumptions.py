"""Assumptions of a pattern about lengths and integers, as comparisons."""

from __future__ import annotations

from srcad.calling.conditions import Conditions
from srcad.types.sizes import Assumption, Extent, Symbol
from srcad.types.sources import EACH, Path


def assume(c: Conditions, assumption: Assumption) -> None:
    """Add the condition that an assumption about lengths and integers holds."""
    symbols = _symbols(assumption)
    repeated = [s for s in symbols if EACH in _source(s)]
    if repeated:
        _assume_each(c, assumption, symbols)
    else:
        of_shapes = all((*_source(s)[:-1], ("shape",)) in c.names for s in symbols)
        c.add(_relation(assumption, {s: _symbol(c, s) for s in symbols}),
                 quick="" if of_shapes else None)  # fmt: skip


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
