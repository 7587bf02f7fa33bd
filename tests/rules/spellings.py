"""Every option of every rule, written in every way that a user writes an option.

Made from the sample calls of the table.  What has floats in it is differentiated; everything else
that a call is given is an option.  ``python -m tests.rules.spellings [word ...]`` runs all of
them, or those with one of the words in their names (some minutes); a test runs a few.  With
``--twice`` the tangent and the second derivative are compared.
"""

from __future__ import annotations

import functools
import linecache
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.fft

import srcad
from srcad.rules import lookup
from srcad.rules.formulas import spelling
from srcad.rules.registry import qualified_name
from tests.rules.harness import is_float, leaves
from tests.rules.samples import CALLS

STEP = 1e-6
TOLERANCE = 2e-4


def is_static(target: Any, place: int | str) -> bool:
    """Whether an option decides which results there are, or which axes meet."""
    if target is np.einsum:
        return place == 0
    rule = lookup(target)
    if rule is None or rule.result is None:
        return False
    name = rule.parameters[place] if isinstance(place, int) else place
    return name in rule.result.options


class Case(NamedTuple):
    """A sample call, the place of one of its options, and how that is written."""

    call: tuple[Any, tuple[Any, ...], dict[str, Any]]
    place: int | str
    manner: str

    @property
    def name(self) -> str:
        """The call's function and what the case is about."""
        target, args, _ = self.call
        option = _option(self)
        shapes = [np.shape(a) if isinstance(a, np.ndarray) else repr(a)[:20] for a in args]
        return f"{spelling(target)}{shapes} {self.place}={option!r} as {self.manner}"


class Settings:
    """Where an option is an attribute."""

    option: Any = None


def _option(case: Case) -> Any:
    _, args, kwargs = case.call
    return args[case.place] if isinstance(case.place, int) else kwargs[case.place]


def _text(value: Any) -> str | None:
    """What a user writes for a value; None for what has no text."""
    match value:
        case np.ndarray():
            return f"np.array({value.tolist()!r})"
        case tuple() | list():
            parts = [_text(part) for part in value]
            if any(part is None for part in parts):
                return None
            inner = ", ".join(map(str, parts)) + ("," if len(parts) == 1 else "")
            return f"({inner})" if isinstance(value, tuple) else f"[{inner}]"
        case type():
            return f"np.{value.__name__}" if issubclass(value, np.generic) else value.__name__
        case float() if not np.isfinite(value):
            return "np.inf" if value > 0 else "-np.inf"
        case np.generic():
            return repr(value)
        case slice() | dict() | str() | int() | float() | None:
            return repr(value)
    return "..." if value is Ellipsis else None


# ------------------------------------------------------------------------ ways of writing
def _as_array(value: Any) -> Any:
    """The integers of an option as NumPy has them; None if it has none."""
    if isinstance(value, int) and not isinstance(value, bool):
        return np.int64(value)
    if not isinstance(value, tuple | list) or not value:
        return None
    try:
        made = np.array(value)
    except ValueError:
        return None
    return made if made.dtype.kind == "i" else None


def _as_other(value: Any) -> Any:
    """A list in place of a tuple, a tuple in place of a list."""
    if isinstance(value, tuple):
        return list(value)
    return tuple(value) if isinstance(value, list) else None


def _as_range(value: Any) -> Any:
    """An option that counts from 0, as axes often do."""
    is_sequence = isinstance(value, tuple | list) and all(type(k) is int for k in value)
    return value if is_sequence and value and [*value] == [*range(len(value))] else None


MANNERS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "a literal": ("", lambda value: value),
    "an argument": ("option", lambda value: value),
    "a global": ("OPTION", lambda value: value),
    "an attribute": ("SETTINGS.option", lambda value: value),
    "an argument's attribute": ("option.option", lambda value: value),
    "an entry": ("TABLE['option']", lambda value: value),
    "an argument's entry": ("option['option']", lambda value: value),
    "an array": ("option", _as_array),
    "a global array": ("OPTION", _as_array),
    "the other sequence": ("option", _as_other),
    "the other sequence outside": ("OPTION", _as_other),
    "an array by a helper": ("kept()", _as_array),
    "a helper's": ("given()", lambda value: value),
    "a helper's that is not read": ("kept()", lambda value: value),
    "a range": ("range(len(OPTION))", _as_range),
    "a new tuple": (
        "tuple(option)",
        lambda value: value if isinstance(value, tuple | list) else None,
    ),
}


def cases() -> Iterator[Case]:
    """All of them."""
    for call in CALLS:
        target, args, kwargs = call
        for place in (*range(len(args)), *kwargs):
            value = args[place] if isinstance(place, int) else kwargs[place]
            if _is_operand(target, place, value):
                continue
            for manner, (_, convert) in MANNERS.items():
                if manner == "a literal" and _text(value) is None:
                    continue
                if value is None or convert(value) is not None:
                    yield Case(call, place, manner)


def _is_operand(target: Any, place: int | str, value: Any) -> bool:
    rule = lookup(target)
    found = leaves(value)
    return rule.entry(place) is not None and bool(found) and all(map(is_float, found))


# ------------------------------------------------------------------------ programs
def program(case: Case) -> tuple[Callable[..., Any], str, list[Any], Any]:
    """A function of the operands and perhaps of the option, its text, and both."""
    expression, convert = MANNERS[case.manner]
    value = convert(_option(case))
    f, text, operands = _written(case.call, case.place, expression, value)
    return f, text, operands, value


def plain_program(call: tuple[Any, tuple[Any, ...], dict[str, Any]]) -> tuple[Any, list[Any]]:
    """A function of the operands of a sample call, its options written out, and the operands."""
    f, _, operands = _written(call, None, "", None)
    return f, operands


def _written(
    call: tuple[Any, tuple[Any, ...], dict[str, Any]], at: int | str | None, expression: str,
    value: Any,
) -> tuple[Callable[..., Any], str, list[Any]]:  # fmt: skip
    target, args, kwargs = call
    operands: list[Any] = []
    outside: dict[str, Any] = {}

    def written(place: int | str, given: Any) -> str:
        if place == at:
            return expression or str(_text(given))
        if _is_operand(target, place, given):
            operands.append(given)
            return f"x{len(operands) - 1}"
        text = _text(given)
        if text is None:
            text = f"OTHER{len(outside)}"
            outside[text] = given
        return text

    inputs = [written(k, a) for k, a in enumerate(args)]
    inputs += [f"{name}={written(name, a)}" for name, a in kwargs.items()]
    takes = [f"x{k}" for k in range(len(operands))] + ["option"] * _is_argument(expression)
    text = (
        f"def f({', '.join(takes)}):\n"
        f"    y = {_call_text(target, inputs)}\n"
        f"    return {total(target(*args, **kwargs))}\n"
    )
    return _compiled(text, target, value, outside), text, operands


def _call_text(target: Any, inputs: list[str]) -> str:
    if spelling(target) == "operator.getitem":
        return f"{inputs[0]}[{inputs[1]}]"
    return f"target({', '.join(inputs)})"


def total(result: Any) -> str:
    """An expression that makes one number of the results `y` of a call."""
    if isinstance(result, list | tuple):
        return " + ".join(f"np.sum(np.sin(y[{k}]))" for k in range(len(result)))
    return "np.sum(np.sin(y.real) + y.imag**2)" if np.iscomplexobj(result) else "np.sum(np.sin(y))"


def _compiled(text: str, target: Any, value: Any, outside: dict[str, Any]) -> Callable[..., Any]:
    namespace = types.ModuleType("options")
    settings = Settings()
    settings.option = value
    namespace.__dict__.update(outside, np=np, target=target, OPTION=value, SETTINGS=settings)
    namespace.__dict__.update(TABLE={"option": value}, functools=functools, inf=np.inf)
    text = (
        f"{text}\n\ndef given():\n    return OPTION\n\n\n"
        "@functools.cache\ndef kept():\n    return OPTION\n"
    )
    name = f"<options {id(namespace)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    exec(compile(text, name, "exec"), namespace.__dict__)
    f: Callable[..., Any] = namespace.f
    return f


def _is_argument(expression: str) -> bool:
    return expression.startswith("option") or expression == "tuple(option)"


def _given(case: Case, value: Any) -> list[Any]:
    """What the function takes besides its operands."""
    expression, _ = MANNERS[case.manner]
    if expression.startswith("option["):
        return [{"option": value}]
    if expression.startswith("option."):
        settings = Settings()
        settings.option = value
        return [settings]
    return [value] if _is_argument(expression) else []


def outcome(case: Case, rng: np.random.Generator) -> str:
    """``right``, ``raises`` as the plain call does, or what is wrong."""
    f, text, operands, value = program(case)
    given = _given(case, value)
    wrt = tuple(range(len(operands)))
    try:
        want: Any = f(*operands, *given)
    except Exception as error:
        want = error
    try:
        got, bars = srcad.value_and_grad(f, wrt=wrt)(*operands, *given)
    except srcad.errors.SrcadError as error:
        if isinstance(want, Exception):
            return "raises"
        if error.where is None or not error.where.file.startswith("<options"):
            return f"refused without a place: {error.sentence}"
        return f"refused: {error.sentence}"
    except Exception as error:
        same = isinstance(want, Exception) and type(want) is type(error)
        return "raises" if same else f"crashes: {error!r}"
    if isinstance(want, Exception):
        return f"does not raise: {want!r}"
    if not np.array_equal(got, want, equal_nan=True):
        return f"wrong value: {got!r} is not {want!r}"
    return _compared(f, operands, given, bars, rng)


def _compared(f: Any, operands: list[Any], given: list[Any], bars: Any, rng: Any) -> str:
    """Whether a derivative along some direction is that of differences."""
    flat, parts = [], []
    for operand, bar in zip(operands, bars, strict=True):
        flat += leaves(operand)
        parts += leaves(bar) if isinstance(operand, list | tuple) else [bar]
    moves = [rng.normal(size=np.shape(leaf)) for leaf in flat]

    def at(step: float) -> float:
        moved = iter([leaf + step * v for leaf, v in zip(flat, moves, strict=True)])
        return float(f(*(_rebuilt(operand, moved) for operand in operands), *given))

    want = (at(STEP) - at(-STEP)) / (2 * STEP)
    found = sum(np.sum(bar * v) for bar, v in zip(parts, moves, strict=True) if bar is not None)
    if abs(found - want) <= TOLERANCE * (1 + abs(want)):
        return "right"
    return f"wrong gradient: {found} is not {want}"


def _rebuilt(structure: Any, parts: Iterator[Any]) -> Any:
    if isinstance(structure, list | tuple):
        return type(structure)([_rebuilt(item, parts) for item in structure])
    made = next(parts)
    return made if isinstance(structure, np.ndarray) else float(made)


def outcome_twice(case: Case, rng: np.random.Generator) -> str:
    """The same for the tangent by `jvp`, and for the gradient of a gradient."""
    f, _, operands, value = program(case)
    given = _given(case, value)
    if not all(isinstance(operand, np.ndarray | float) for operand in operands):
        return "right"  # operands in lists: the other outcomes tell
    wrt = tuple(range(len(operands)))
    try:
        bars = srcad.grad(f, wrt=wrt)(*operands, *given)
    except Exception:
        return "right"  # what this is, `outcome` tells
    moves = [rng.normal(size=np.shape(operand)) for operand in operands]
    moves = [v if np.ndim(v) else float(v) for v in moves]
    try:
        (_, dot) = srcad.jvp(f, (*operands, *given), (*moves, *[None] * len(given)))
    except Exception as error:
        return f"jvp {_said(error)}"
    want = sum(np.sum(bar * v) for bar, v in zip(bars, moves, strict=True))
    if not abs(dot - want) <= TOLERANCE * (1 + abs(want)):
        return f"wrong tangent: {dot} is not {want}"
    return _compared_twice(f, operands, given, moves)


def _compared_twice(f: Any, operands: list[Any], given: list[Any], moves: list[Any]) -> str:
    """Whether the derivative of the squares of a gradient is that of differences."""
    wrt = tuple(range(len(operands)))
    gradient = srcad.grad(f, wrt=wrt)

    squares = _squares(gradient)

    def at(step: float) -> float:
        moved = [x + step * v for x, v in zip(operands, moves, strict=True)]
        return float(squares(*moved, *given))

    want = (at(STEP) - at(-STEP)) / (2 * STEP)
    try:
        bars = srcad.grad(squares, wrt=wrt)(*operands, *given)
    except Exception as error:
        return f"second {_said(error)}"
    found = sum(np.sum(bar * v) for bar, v in zip(bars, moves, strict=True) if bar is not None)
    if abs(found - want) <= TOLERANCE * (1 + abs(want)) or not np.isfinite(want):
        return "right"
    return f"wrong second derivative: {found} is not {want}"


def _squares(gradient: Any) -> Callable[..., Any]:
    """The sum of the squares of gradients, each time of code of its own."""
    text = (
        "def squares(*args):\n"
        "    total = 0.0\n"
        "    for bar in gradient(*args):\n"
        "        total = total + np.sum(bar * bar)\n"
        "    return total\n"
    )
    namespace = types.ModuleType("squares")
    namespace.__dict__.update(np=np, gradient=gradient)
    name = f"<squares {id(namespace)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    exec(compile(text, name, "exec"), namespace.__dict__)
    made: Callable[..., Any] = namespace.squares
    return made


def _said(error: Exception) -> str:
    if isinstance(error, srcad.errors.SrcadError):
        return f"refused: {error.sentence}"
    return f"crashes: {error!r}"


# What decides the results is a number or a tuple.
AS_SEQUENCE = ("an array", "a global array", "the other sequence", "the other sequence outside")


def is_expected(case: Case, found: str) -> bool:
    """Whether an outcome is right, or a refusal of what has to be known before the call."""
    if found in ("right", "raises"):
        return True
    unread = MANNERS[case.manner][0] == "kept()" or case.manner in AS_SEQUENCE
    return unread and found.startswith("refused:") and is_static(case.call[0], case.place)


# With a dynamic norm, axis or place these have no second derivative yet.
REFUSED_TWICE = (
    np.fft.rfft, np.fft.ihfft, np.fft.rfftn, np.fft.rfft2, np.sort, np.partition,
    scipy.fft.rfft, scipy.fft.ihfft, scipy.fft.rfftn, scipy.fft.rfft2,
)  # fmt: skip


def is_expected_twice(case: Case, found: str) -> bool:
    """The same of tangents and second derivatives."""
    is_missing = "is not differentiable wrt argument" in found  # the rule says that it has none
    is_refused = case.call[0] in REFUSED_TWICE or is_missing
    return found == "right" or (found.startswith("second refused:") and is_refused)


def options() -> dict[str, list[Case]]:
    """The cases of every option of every function, by the names of both."""
    found: dict[str, list[Case]] = {}
    for case in cases():
        target = case.call[0]
        found.setdefault(f"{qualified_name(target) or spelling(target)} {case.place}", []).append(
            case
        )
    return found


def main() -> int:
    """Run all; print what is not as expected."""
    rng = np.random.default_rng(0)
    counts: dict[str, int] = {}
    twice = "--twice" in sys.argv
    wanted, wrong = [word for word in sys.argv[1:] if word != "--twice"], 0
    for case in cases():
        if wanted and not any(word in case.name for word in wanted):
            continue
        with np.errstate(all="ignore"):
            found = outcome_twice(case, rng) if twice else outcome(case, rng)
        kind = found.partition(":")[0]
        counts[kind] = counts.get(kind, 0) + 1
        if not (is_expected_twice if twice else is_expected)(case, found):
            wrong += 1
            print(f"{case.name}\n    {found}")
    print(counts)
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
