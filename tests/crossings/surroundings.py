"""Surroundings of a call: each is one function from the call to the body of a program.

The calls are the samples of the rule table.  The text of a program is made here, so that a failure
can be pasted and shrunk.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.fft
import scipy.integrate
import scipy.linalg
import scipy.ndimage
import scipy.optimize
import scipy.signal
import scipy.spatial.distance
import scipy.special
import scipy.stats

from srcad.rules import lookup
from srcad.rules.formulas import spelling
from tests.crossings.checker import NotApplicable
from tests.crossings.operands import Operand
from tests.rules.harness import is_float, leaves
from tests.rules.samples import CALLS, SYMMETRIC

SAMPLES = [*CALLS, *SYMMETRIC]
SURROUNDINGS: dict[str, Callable[[Call], str]] = {}
_PUBLIC = (np.linalg, np.fft, np, scipy.special, scipy.linalg, scipy.stats, scipy.fft,
           scipy.integrate, scipy.optimize, scipy.signal, scipy.ndimage,
           scipy.spatial.distance)  # fmt: skip
_HEAD = """import functools
import math
import operator

import numpy as np
import scipy.fft, scipy.integrate, scipy.linalg, scipy.ndimage, scipy.optimize, scipy.signal
import scipy.spatial.distance, scipy.special, scipy.stats

from tests.crossings.operands import Box, Thing
from tests.crossings.surroundings import SAMPLES
"""


def _paths() -> dict[int, str]:
    found: dict[int, str] = {}
    for module in _PUBLIC:
        path = "np" + module.__name__[5:] if module.__name__ != "numpy" else "np"
        path = path if module.__name__.startswith("numpy") else module.__name__
        for name in dir(module):
            if not name.startswith("_"):
                found.setdefault(id(getattr(module, name)), f"{path}.{name}")
    return found


_PATHS = _paths()


def path_of(target: Any) -> str | None:
    """The text that names a function; None for those without a public name."""
    path = _PATHS.get(id(target))
    if path is None and isinstance(target, types.MethodType):
        owner = _PATHS.get(id(target.__self__))
        path = owner and f"{owner}.{target.__name__}"
    path = path or spelling(target)
    space = {"np": np, "scipy": scipy, "math": __import__("math")}
    space["operator"] = __import__("operator")
    try:
        return path if eval(path, space) == target else None
    except (NameError, AttributeError, SyntaxError):
        return None


@dataclass(frozen=True)
class Call:
    """A sample of the rule table as text: its function, and an expression for each argument."""

    number: int
    operand: Operand

    @cached_property
    def target(self) -> str:
        """The text that names the function."""
        path = path_of(SAMPLES[self.number][0])
        if path is None:
            raise NotApplicable("the function has no public name")
        return path

    @cached_property
    def _split(self) -> tuple[list[str], dict[str, str], dict[str, Any]]:
        target, args, kwargs = SAMPLES[self.number]
        rule = lookup(target)
        active: dict[str, Any] = {}
        texts: list[str] = []
        for place, value in [*enumerate(args), *kwargs.items()]:
            if rule.entry(place) is not None and any(map(is_float, leaves(value))):
                name = f"x{len(active)}"
                active[name] = value
                texts.append(name)
            else:
                source = f"SAMPLES[{self.number}][{1 if isinstance(place, int) else 2}][{place!r}]"
                texts.append(literal(value) or source)
        positional = texts[: len(args)]
        return positional, dict(zip(kwargs, texts[len(args) :], strict=True)), active

    @property
    def positional(self) -> list[str]:
        """The expressions of the arguments by position."""
        return self._split[0]

    @property
    def keywords(self) -> dict[str, str]:
        """Those of the arguments by keyword."""
        return self._split[1]

    @property
    def names(self) -> list[str]:
        """The parameters of the program: what is differentiated."""
        return list(self._split[2])

    def __str__(self) -> str:
        return written(self.target, self.positional, self.keywords)

    def arguments(self) -> list[str]:
        """The expressions of what the program is called with."""
        return [self._made(value) for value in self._split[2].values()]

    def _made(self, value: Any) -> str:
        if isinstance(value, list | tuple):
            inner = ", ".join(self._made(part) for part in value)
            return f"[{inner}]" if isinstance(value, list) else f"({inner},)"
        text = literal(value)
        if text is None:
            raise NotApplicable("an argument has no text")
        if self.operand.make == "{0}" or not is_float(value):
            return text
        if not isinstance(value, np.ndarray):
            raise NotApplicable("an argument is no array")
        return self.operand.make.format(text)

    def program(self, surrounding: str) -> str:
        """The text of the program in one of the surroundings."""
        if not self.names:
            raise NotApplicable("the call has no argument to differentiate")
        body = SURROUNDINGS[surrounding](self)
        names = [name.replace("x", "p") for name in self.names]
        reads = []
        for name, parameter in zip(self.names, names, strict=True):
            if isinstance(self._split[2][name], np.ndarray):
                reads.append(f"    {name} = {self.operand.read.format(parameter)}")
            else:
                reads.append(f"    {name} = {parameter}")
        if all(line.strip() == f"x{k} = p{k}" for k, line in enumerate(reads)):
            names, reads = self.names, []
        lines = [*reads, *(f"    {line}" for line in body.strip("\n").split("\n"))]
        made = ", ".join(self.arguments())
        return "\n".join([
            _HEAD, "", f"def make_arguments():\n    return ({made},)", "", "",
            f"def f({', '.join(names)}):", *lines, "",
        ])  # fmt: skip


def written(target: str, positional: list[str], keywords: dict[str, str]) -> str:
    """The text of a call."""
    named = [f"{name}={text}" for name, text in keywords.items()]
    return f"{target}({', '.join([*positional, *named])})"


def literal(value: Any) -> str | None:
    """The text that makes a value; None if it has none."""
    match value:
        case np.ndarray() if value.dtype.kind in "fciub":
            return f"np.array({value.tolist()!r}, np.{value.dtype.name})".replace("nan", "np.nan")
        case tuple() | list() if type(value) in (tuple, list):
            parts = [literal(part) for part in value]
            if any(part is None for part in parts):
                return None
            inner = ", ".join(map(str, parts)) + ("," if len(parts) == 1 else "")
            return f"({inner})" if isinstance(value, tuple) else f"[{inner}]"
        case float() if not np.isfinite(value):
            return f"np.float64({str(value)!r})"
        case np.bool_():
            return repr(bool(value))
        case np.generic():
            return f"np.{value.dtype.name}({value.item()!r})"
        case bool() | int() | float() | complex() | str() | None | slice():
            return repr(value)
    return "..." if value is Ellipsis else None


def surrounding(function: Callable[[Call], str]) -> Callable[[Call], str]:
    """Register a surrounding under the name of its function."""
    SURROUNDINGS[function.__name__] = function
    return function


@surrounding
def plain(call: Call) -> str:
    """The call alone."""
    return f"return {call}"


@surrounding
def as_operand(call: Call) -> str:
    """Between other operations, and its operand is used beside it."""
    return f"return np.sin({call}) * 2.0 + np.sum({call.names[0]})"


@surrounding
def written_afterwards(call: Call) -> str:
    """The result is written into."""
    return f"r = {call}\nr[:1] = 7.0\nr *= 2.0\nreturn r"


@surrounding
def transpose_written(call: Call) -> str:
    """The transpose of the result is written into."""
    return f"r = {call}\nv = r.T\nv[0] = 7.0\nreturn r"


@surrounding
def reshape_written(call: Call) -> str:
    """A reshaped result is written into; it may be a view."""
    return f"r = {call}\nv = r.reshape(-1)\nv[0] = 7.0\nreturn r"


@surrounding
def ravel_written(call: Call) -> str:
    """A raveled result is written into; it may be a view."""
    return f"r = {call}\nv = r.ravel()\nv[0] = 7.0\nreturn r"


@surrounding
def slice_written(call: Call) -> str:
    """A slice of the result is written into."""
    return f"r = {call}\nv = r[::2]\nv += 7.0\nreturn r * r"


@surrounding
def operand_written(call: Call) -> str:
    """The operand is written into after the call."""
    x = call.names[0]
    return f"{x} = np.array({x})\nr = {call}\n{x}[:1] = 3.0\nreturn r, {x} * 2.0"


def _with_first_entry(call: Call, number: str) -> str:
    """Statements that replace the first entry of an operand."""
    x = call.names[0]
    return f"n = np.arange({x}.size).reshape({x}.shape)\n{x} = np.where(n == 0, {number}, {x})\n"


@surrounding
def behind_mask(call: Call) -> str:
    """An operand has a nan that a mask cuts from the result."""
    first = _with_first_entry(call, "np.nan")
    return f"{first}r = {call}\nreturn np.where(np.isfinite(r), r, 0.0)"


@surrounding
def behind_index(call: Call) -> str:
    """An operand has an infinity, and a boolean index cuts what is not finite from the result."""
    return f"{_with_first_entry(call, 'np.inf')}r = {call}\nreturn r[np.isfinite(r)]"


@surrounding
def behind_question(call: Call) -> str:
    """An operand has an infinity, and those of the result are cut by isinf."""
    first = _with_first_entry(call, "np.inf")
    return f"{first}r = {call}\nreturn np.where(np.isinf(r), 0.0, r)"


@surrounding
def behind_branch(call: Call) -> str:
    """A nan is cut by a branch on each entry."""
    return (
        f"{_with_first_entry(call, 'np.nan')}total = 0.0\nfor v in np.ravel({call}):\n"
        "    if not np.isnan(v):\n        total = total + v\nreturn total"
    )


@surrounding
def behind_select(call: Call) -> str:
    """A nan is cut by np.select."""
    first = _with_first_entry(call, "np.nan")
    return f"{first}r = {call}\nreturn np.select([np.isnan(r)], [0.0], r)"


@surrounding
def with_where(call: Call) -> str:
    """A ufunc with a list as its mask."""
    if not isinstance(SAMPLES[call.number][0], np.ufunc) or call.keywords:
        raise NotApplicable("no ufunc")
    return f"return {written(call.target, call.positional, {'where': '[True]'})}"


@surrounding
def with_complex_factor(call: Call) -> str:
    """Times a number that is complex on one path."""
    x = call.names[0]
    return f"k = 1.0\nif np.sum({x}) < 1e9:\n    k = 0.5 + 1j\nreturn np.abs({call} * k)"


@surrounding
def in_loop(call: Call) -> str:
    """Twice, with a result that is carried."""
    return f"total = 0.0\nfor k in range(2):\n    total = total + {call} * (k + 1.0)\nreturn total"


@surrounding
def in_branch(call: Call) -> str:
    """On one path that the data decide."""
    x = call.names[0]
    return f"if np.sum({x}) > 1e9:\n    r = np.sum({x})\nelse:\n    r = {call}\nreturn r"


@surrounding
def in_helper(call: Call) -> str:
    """In a function that is called twice."""
    names = ", ".join(call.names)
    return f"def helper({names}):\n    return {call}\nreturn helper({names}), helper({names})"


@surrounding
def by_keyword(call: Call) -> str:
    """All arguments by keyword."""
    parameters = lookup(SAMPLES[call.number][0]).parameters
    names = dict(zip(parameters, call.positional, strict=False))
    if len(names) < len(call.positional) or not all(name.isidentifier() for name in names):
        raise NotApplicable("an argument has no keyword")
    return f"return {written(call.target, [], {**names, **call.keywords})}"


@surrounding
def by_position(call: Call) -> str:
    """All arguments by position."""
    parameters = list(lookup(SAMPLES[call.number][0]).parameters)
    following = parameters[len(call.positional) : len(call.positional) + len(call.keywords)]
    if not call.keywords or set(following) != set(call.keywords):
        raise NotApplicable("arguments that cannot be given by position")
    texts = [*call.positional, *(call.keywords[name] for name in following)]
    return f"return {written(call.target, texts, {})}"


@surrounding
def through_partial(call: Call) -> str:
    """Through a partial that holds the last arguments."""
    held = written("functools.partial", [call.target], call.keywords)
    return f"g = {held}\nreturn {written('g', call.positional, {})}"


@surrounding
def through_map(call: Call) -> str:
    """Through map, over two operands."""
    x = call.names[0]
    return f"return list(map(lambda {x}: {call}, [{x}, {x}]))"


@surrounding
def in_comprehension(call: Call) -> str:
    """In a comprehension."""
    x = call.names[0]
    return f"return [{call} for {x} in ({x}, {x})]"


@surrounding
def as_method(call: Call) -> str:
    """As a method of its first argument."""
    name = call.target.rpartition(".")[2]
    if call.positional[:1] != ["x0"] or not hasattr(np.ndarray, name):
        raise NotApplicable("no method")
    return f"return {written(f'x0.{name}', call.positional[1:], call.keywords)}"


@surrounding
def through_unpacking(call: Call) -> str:
    """With arguments from a list and a dict."""
    held = ", ".join(f"{name!r}: {text}" for name, text in call.keywords.items())
    return f"a = [{', '.join(call.positional)}]\no = {{{held}}}\nreturn {call.target}(*a, **o)"
