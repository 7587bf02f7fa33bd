"""Functions of numbers obey the law, give the answer and treat nan as their rows say."""

from __future__ import annotations

import cmath
import itertools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from srcad.rules.registry import declared_result, qualified_name, row_of, rows
from srcad.startup.identifiers import module_of
from tests.rules.samples import CALLS

LIBRARIES = ("numpy", "math", "cmath", "_operator")
OPERANDS = [7.3, -7.3, 0.3, 2.0]
FURTHER = [math.nan, math.inf, -math.inf]


def by_name(f: Any) -> str:
    return qualified_name(f) or f.__name__


def result(f: Any, *operands: Any, **options: Any) -> Any:
    """Return the result of a call; None where it raises."""
    try:
        with np.errstate(all="ignore"):
            return f(*operands, **options)
    except Exception:  # noqa: BLE001 - whatever it says of such operands
        return None


def of_numbers(count: int, *kinds: str) -> list[Any]:
    """Return the functions of so many numbers that have a row of one of these kinds."""
    return [
        row.target for row in rows()
        if module_of(row.target) in LIBRARIES and row.kind in kinds and not row.has_rest
        and row.required == count <= len(row.parameters)
    ]  # fmt: skip


# ------------------------------------------------------------------------ law
OF_ONE: dict[str, Callable[[float], Any]] = {
    "negative": operator.neg, "positive": operator.pos, "exponential": math.exp,
    "logarithm": math.log,
}  # fmt: skip
OF_TWO: dict[str, Callable[[Any, Any], Any]] = {
    "sum": operator.add, "difference": operator.sub, "product": operator.mul,
    "quotient": operator.truediv, "floor": operator.floordiv, "remainder": operator.mod,
    "power": operator.pow,
}  # fmt: skip
# Functions that behave so, and of which it is not asked so far.
MORE_LAWS = {
    math.pow: "power", np.conjugate: "positive", np.real: "positive", np.nan_to_num: "positive",
    np.clip: "positive",
}  # fmt: skip
OBEYING = of_numbers(1, "derivative") + of_numbers(2, "derivative")
OBEYING += [np.conjugate, operator.floordiv, np.floor_divide]


def law_of(f: Any) -> str:
    """Return the law that all results obey."""
    for count, laws in ((1, OF_ONE), (2, OF_TWO)):
        for law, function in laws.items():
            cases = [*itertools.product(OPERANDS, repeat=count)]
            expected = [result(function, *case) for case in cases]
            is_real = [isinstance(y, float) for y in expected]
            found = [result(f, *case) for case in cases]
            if all(
                np.ndim(x) == 0 and isinstance(x, float) and math.isclose(x, y, rel_tol=1e-14)
                for x, y, real in zip(found, expected, is_real, strict=True) if real
            ):  # fmt: skip
                return law
    return ""


@pytest.mark.parametrize("f", OBEYING, ids=by_name)
def test_results_obey_the_law_of_the_row(f):
    told = row_of(f).law or MORE_LAWS.get(f, "")

    assert law_of(f) == told, f"column law of {by_name(f)}"


# ------------------------------------------------------------------------ answers
TRIED = [0.0, 1.0, 2.0, -3.0]
# Functions that behave so, and of which it is not asked so far; of objects, or of whole arrays.
MORE_ANSWERS: dict[Any, str] = {
    np.logical_xor: "connective", operator.not_: "connective", np.isclose: "equality",
    operator.is_: "equality", operator.is_not: "equality", np.array_equal: "equality",
    np.allclose: "equality", np.array_equiv: "equality", np.any: "connective", np.all: "connective",
    np.bool: "connective", operator.truth: "connective", math.isclose: "equality",
    cmath.isclose: "equality",
}  # fmt: skip
ASKING = [
    row.target for row in rows()
    if module_of(row.target) in LIBRARIES and row.kind == "nondifferentiable"
]  # fmt: skip


def decides(f: Any, cases: list[tuple[float, ...]], what: Callable[..., Any]) -> bool:
    """Return True if results are flags that depend on nothing but this of the operands."""
    answers = [result(f, *case) for case in cases]
    if not all(isinstance(answer, bool | np.bool) for answer in answers):
        return False
    by_what = {what(*case): answer for case, answer in zip(cases, answers, strict=True)}
    same = all(by_what[what(*case)] == a for case, a in zip(cases, answers, strict=True))
    return same and len(set(map(bool, answers))) == 2


def answer_of(f: Any) -> str:
    """Return the question that the results answer."""
    pairs = [*itertools.product(TRIED, repeat=2)]
    ones = [(x,) for x in TRIED]
    special = [(x,) for x in (*TRIED, *FURTHER)]
    questions: list[tuple[str, list[tuple[float, ...]], Callable[..., Any]]] = [
        ("connective", ones, bool), ("nan", special, lambda x: "finite" if x - x == 0 else str(x)),
        ("connective", pairs, lambda a, b: (bool(a), bool(b))), ("equality", pairs, operator.eq),
        ("order", pairs, lambda a, b: (a > b) - (a < b)),
    ]  # fmt: skip
    return next((word for word, cases, what in questions if decides(f, cases, what)), "")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("f", ASKING, ids=by_name)
def test_results_answer_the_question_of_the_row(f):
    told = row_of(f).answers or MORE_ANSWERS.get(f, "")

    assert answer_of(f) == told, f"column answers of {by_name(f)}"


# ------------------------------------------------------------------------ nan
KEEPING = of_numbers(1, "derivative") + of_numbers(2, "derivative")
KEEPING = [f for f in KEEPING if module_of(f) in ("numpy", "_operator")]
# Functions that behave so, and of which it is not asked so far.
KEEPS_TOO = {
    operator.mod, np.cbrt, np.reciprocal, np.exp2, np.log2, np.log10, np.tan, np.arcsin, np.arccos,
    np.arctan,
    np.deg2rad, np.radians, np.rad2deg, np.degrees, np.sinc, np.sinh, np.cosh, np.arcsinh,
    np.arccosh, np.arctanh, np.positive, np.real, np.angle, np.clip, np.remainder, np.fmod,
    np.maximum, np.minimum, np.arctan2, np.logaddexp, np.logaddexp2,
}  # fmt: skip


def keeps_nan(f: Any) -> bool:
    """Return True if the result is nan wherever an operand is."""
    if row_of(f).required == 1:
        cases = [(math.nan,)]
    else:
        others = [0.0, 1.0, -1.0, 2.0, *FURTHER]
        cases = [case for x in others for case in ((math.nan, x), (x, math.nan))]
    found = [y for case in cases if (y := result(f, *case)) is not None]
    return found != [] and all(isinstance(y, float) and math.isnan(y) for y in found)


@pytest.mark.parametrize("f", KEEPING, ids=by_name)
def test_nan_stays_just_where_the_row_says_so(f):
    told = row_of(f).nan == "stays"

    assert keeps_nan(f) == (told or f in KEEPS_TOO), f"column nan of {by_name(f)}"


SAMPLES: dict[Any, list[tuple[Any, ...]]] = {}
for function, args, kwargs in CALLS:
    if module_of(function).partition(".")[0] == "numpy" and not kwargs and args:
        if isinstance(args[0], np.ndarray) and args[0].dtype.kind == "f" and args[0].size < 30:
            SAMPLES.setdefault(function, []).append(args)
# Functions that behave so, and of which it is not asked so far.
LEAVES_OUT_TOO = {np.imag}
# Nan stays in front of the first number.
IN_FRONT = {np.fmax.accumulate, np.fmin.accumulate}


def has_nan(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(map(has_nan, value))
    return bool(np.isnan(value).any())


def leaves_out_nan(f: Any) -> bool:
    """Return True if results have no nan though one entry of the first operand is, whichever."""
    for args in SAMPLES[f]:
        for k in range(args[0].size if args[0].size > 1 else 0):
            given = args[0].copy()
            given.flat[k] = math.nan
            found = result(f, given, *args[1:])
            if found is None or has_nan(found):
                return False
    return any(args[0].size > 1 for args in SAMPLES[f])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("f", SAMPLES, ids=by_name)
def test_nan_is_left_out_just_where_the_row_says_so(f):
    told = row_of(f).nan == "left out" and f not in IN_FRONT

    assert leaves_out_nan(f) == (told or f in LEAVES_OUT_TOO), f"column nan of {by_name(f)}"


# ------------------------------------------------------------------------ real numbers
@pytest.mark.parametrize("f", [*of_numbers(1, "derivative"), np.sign], ids=by_name)
def test_result_is_zero_or_a_step_of_real_numbers_where_the_row_says_so(f):
    above = [result(f, x) for x in (0.3, 0.7, 2.3, 5.1)]
    below = [result(f, -x) for x in (0.3, 0.7, 2.3, 5.1)]
    is_step = all(all(isinstance(y, float) and y == ys[0] for y in ys) for ys in (above, below))

    told = row_of(f).of_real == "zero" or row_of(f).steps
    assert is_step == (told or f is cmath.phase), f"column of_real of {by_name(f)}"


# ------------------------------------------------------------------------ ufuncs
UFUNCS = [
    row.target for row in rows()
    if isinstance(row.target, np.ufunc) and getattr(np, row.target.__name__, None) is row.target
    and row.target.signature is None and row.target.nout == 1
]  # fmt: skip
BY_METHOD = {
    "reduce": (np.sum, np.prod, np.max, np.min, np.nanmax, np.nanmin),
    "accumulate": (np.cumsum, np.cumprod),
}


@pytest.mark.parametrize("ufunc", [f for f in UFUNCS if f.nin == 2], ids=by_name)
@pytest.mark.parametrize("name", BY_METHOD)
def test_function_that_does_what_a_method_of_a_ufunc_does_is_told(ufunc, name):
    array = np.array([[2.5, -1.5, 3.25], [0.5, np.nan, 4.0]])
    found = result(getattr(ufunc, name), array, 1)
    same = [f for f in BY_METHOD[name] if np.array_equal(f(array, 1), found, equal_nan=True)]

    told = getattr(row_of(ufunc), name)
    assert [f for f in (told,) if f] == same, f"column {name} of {by_name(ufunc)}"


# Functions that behave so, and of which it is not asked so far.
EXACT_TOO = {np.remainder, np.fmod, np.heaviside, np.conjugate, np.floor_divide}


def is_rounded_correctly(f: np.ufunc) -> bool:
    """Return True if all results are those of a wider dtype, rounded to the nearest number.

    Where that lies between two numbers, the wider dtype does not tell which one is nearer.
    """
    given = np.random.default_rng(11).uniform(0.1, 4, (f.nin, 40000))
    exact, found = result(f, *given.astype(np.longdouble)), result(f, *given)
    if exact is None or found is None or found.dtype != np.float64:
        return False
    error, half = np.abs(exact - found), np.spacing(np.abs(found)).astype(np.longdouble) / 2
    return bool((error <= half * (1 + 2.0**-9)).all())


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 60, reason="no dtype is wider than float64")
@pytest.mark.parametrize("f", UFUNCS, ids=by_name)
def test_results_are_rounded_correctly_just_where_the_row_says_so(f):
    told = row_of(f).rounds == "exactly"

    assert is_rounded_correctly(f) == (told or f in EXACT_TOO), f"column rounds of {by_name(f)}"


# ------------------------------------------------------------------------ partials
SINGULAR = [
    f for f in of_numbers(1, "derivative") + of_numbers(2, "derivative")
    if len(row_of(f).parameters) == row_of(f).required
]  # fmt: skip
# Derivatives that are nan at infinite operands, and of which it is not asked so far.
NOT_AT_INFINITY = {np.sin, np.cos, np.i0, math.gamma, math.lgamma}
LARGE = [0.0, 1.0, -1.0, 2.0, -2.0, 1e3, -1e3, 1.7e308, -1.7e308]


def is_finite(f: Any, operands: tuple[float, ...], y: Any) -> bool:
    """Return True if all partials of a function are finite numbers there."""
    partials = result(row_of(f).function, *operands, **({"y": y} if row_of(f).wants_result else {}))
    entries = partials if isinstance(partials, tuple) else (partials,)
    return all(np.isfinite(complex(x)) for x in entries if x is not None)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("f", SINGULAR, ids=by_name)
def test_partials_are_finite_at_the_safe_number_that_they_need(f):
    row = row_of(f)
    cases = [*itertools.product(LARGE, repeat=row.required)]
    results = [result(f, *case) for case in cases]
    tried = [pair for pair in zip(cases, results, strict=True) if isinstance(pair[1], float)]
    singular = not all(is_finite(f, case, y) for case, y in tried if not math.isnan(y))

    if row.safe is not None:
        safe = (row.safe,) * row.required
        assert is_finite(f, safe, row.safe), f"column safe of {by_name(f)}"
    assert not singular or row.safe is not None, f"column safe of {by_name(f)}"
    if row.required == 1 and module_of(f) != "cmath" and f not in NOT_AT_INFINITY:
        ends = [(x, y) for x in FURTHER[1:] if (y := result(f, x)) is not None]
        singular |= not all(is_finite(f, (x,), y) for x, y in ends)
        assert not singular or row.safe is not None, f"column safe of {by_name(f)}"


# ------------------------------------------------------------------------ dtype
REAL: dict[Any, list[Any]] = {}


def leaves(value: Any) -> list[np.ndarray]:
    if isinstance(value, list | tuple):
        return [leaf for item in value for leaf in leaves(item)]
    return [np.asarray(value)] if isinstance(value, np.ndarray | float | complex) else []


for function, args, kwargs in CALLS:
    kinds = {leaf.dtype.kind for leaf in leaves([*args, *kwargs.values()])}
    is_inferred = row_of(function).kind == "derivative" or module_of(function).startswith("srcad")
    if "f" in kinds and "c" not in kinds and not is_inferred:
        REAL.setdefault(function, []).append((args, kwargs))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("f", REAL, ids=by_name)
def test_results_for_real_operands_are_complex_where_the_row_says_so(f):
    found = {leaf.dtype.kind for args, kwargs in REAL[f] for leaf in leaves(f(*args, **kwargs))}
    told = declared_result(f).dtype

    if told == "complex" or (told != "real or complex" and "c" in found):
        assert (told, found) == ("complex", {"c"}), f"column result, dtype of {by_name(f)}"
