"""Functions as arguments of rules: cotangents of captured values."""

from __future__ import annotations

import itertools
import linecache
from collections.abc import Mapping, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from srcad.rules.declare import adjoint
from srcad.rules.row import Rule


class ActiveFunction:
    """A function argument of a rule, or the cotangent of its captured values.

    Parameters
    ----------
    closure : callable
        Returns the function, from its captured values.
    values : tuple
        The active captured values, or their cotangents.
    others : tuple
        The other captured values.

    Notes
    -----
    ``srcad.pullback(operator.call, fun, x)[1](seed)[0]`` is the cotangent of its captured values.
    A rule adds and scales cotangents, and returns them as the entry of the function.
    """

    def __init__(self, closure: Any, values: tuple[Any, ...], others: tuple[Any, ...]) -> None:
        self.closure, self.values, self.others = closure, values, others

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        return self.closure(self.values, self.others)(*args, **kwargs)

    def __add__(self, other: ActiveFunction) -> ActiveFunction:
        """Return the sum of two cotangents."""
        pairs = zip(self.values, other.values, strict=True)
        values = tuple(b if a is None else a if b is None else a + b for a, b in pairs)
        return ActiveFunction(self.closure, values, self.others)

    def __mul__(self, factor: Any) -> ActiveFunction:
        """Return a cotangent times a number."""
        values = tuple(None if a is None else a * factor for a in self.values)
        return ActiveFunction(self.closure, values, self.others)

    def __rmul__(self, factor: Any) -> ActiveFunction:
        """Return a cotangent times a number."""
        return self.__mul__(factor)

    def __neg__(self) -> ActiveFunction:
        """Return a cotangent with the other sign."""
        return self * -1.0

    def __sub__(self, other: ActiveFunction) -> ActiveFunction:
        """Return the difference of two cotangents."""
        return self + other * -1.0


def given_cotangents_of(entry: Any, values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the same; the front end refuses None where a function captures active values."""
    return cotangents_of(entry, values)


def cotangents_of(entry: Any, values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the cotangents of captured values, zeros where there is none."""
    if entry is None:
        return tuple(zero_like(value) for value in values)
    pairs = zip(entry.values, values, strict=True)
    return tuple(zero_like(value) if bar is None else bar for bar, value in pairs)


def zero_like(value: Any) -> Any:
    """Return a zero cotangent."""
    return 0.0 if np.ndim(value) == 0 else np.zeros(np.shape(value))


_COUNT = itertools.count()


def made(text: str, name: str, space: Mapping[str, Any]) -> FunctionType:
    """Return a function of a text that srcad can read."""
    file = f"<srcad {name} {next(_COUNT)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    found = {**space, "__name__": __name__}
    exec(compile(text, file, "exec"), found)
    function: FunctionType = found[name]
    return function


def name_of_solver(target: Any) -> str:
    """Return the name of a solver for generated code; a lambda or an object has none."""
    name = getattr(target, "__name__", "")
    return name if name.isidentifier() else "solver"


def with_captured(
    rule: Rule, functions: Sequence[str], count: int, keywords: Sequence[str]
) -> FunctionType:
    """Return the target of a rule with captured values as arguments, and register its rule.

    Parameters
    ----------
    rule : Rule
        The rule of a solver.
    functions : sequence of str
        The parameters that are functions.  Each becomes three: a closure, its active values and
        its others.
    count : int
        The number of arguments by position.
    keywords : sequence of str
        The names of the arguments by keyword.
    """
    given = [p for k, p in enumerate(rule.parameters) if k < count]
    active = [p for p in rule.active if p in (*given, *keywords)]

    def listed(form: str, *, by_name: bool = False) -> str:
        """Return the arguments; `form` is that of a function."""
        names = [form.format(p) if p in functions else p for p in given]
        if not by_name:
            stars = ["*"] if keywords and not any(p.startswith("*") for p in given) else []
            return ", ".join(names + stars + [form.format(p) for p in keywords if p in functions]
                             + [p for p in keywords if p not in functions])  # fmt: skip
        named = [f"{p}={form.format(p) if p in functions else p}" for p in keywords]
        return ", ".join(names + named)

    space: dict[str, Any] = {
        "_target": rule.target,
        "_rule": rule.function,
        "ActiveFunction": ActiveFunction,
        "cotangents_of": cotangents_of,
        "given_cotangents_of": given_cotangents_of,
    }
    name = name_of_solver(rule.target)
    parameters = listed("{0}, {0}_values, {0}_others")
    call = listed("{0}({0}_values, {0}_others)", by_name=True)
    target = made(f"def {name}({parameters}):\n    return _target({call})\n", name, space)
    entries = [f"bar_of_{p.lstrip('*')}" if p in active else "_" for p in rule.active]
    cotangents = "cotangents_of" if rule.shipped else "given_cotangents_of"  # of `implicit`
    bars = [
        f"{cotangents}({entry}, {p}_values)" if p in functions else entry
        for p, entry in zip(rule.active, entries, strict=True)
        if p in active
    ]
    call = listed("ActiveFunction({0}, {0}_values, {0}_others)", by_name=True)
    text = (
        f"def {name}_rule(y_bar, y, {parameters}):\n"
        f"    {', '.join(entries)} = _rule(y_bar, y, {call})\n"
        f"    return {', '.join(bars)}\n"
    )
    names = tuple(f"{p}_values" if p in functions else p for p in active)
    adjoint(target, active=names)(made(text, f"{name}_rule", space))
    return target
