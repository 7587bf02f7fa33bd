"""Slopes as exact as their functions, from the smallest numbers to the largest, by `mpmath`."""

import itertools
import math
import sys

import numpy as np
import pytest

from srcad.rules import lookup
from srcad.rules.formulas import spelling
from tests.marks import some
from tests.rules import samples
from tests.rules.harness import cotangents

mp = pytest.importorskip("mpmath")
mp.mp.dps = 700  # so that 1e300 and a step of 1e-300 go into one number

TINY = sys.float_info.min
SIZES = [10.0**k for k in (-300, -200, -155, -20, -8, -3, 0, 1, 2, 5, 13, 100, 155, 200, 300)]
NEAR = [10.0**-k for k in (1, 3, 5, 8, 11, 14)]
POINTS = np.array(sorted({
    *SIZES, *(s * 1.37 for s in SIZES), *(1 - d for d in NEAR), *(1 + d for d in NEAR), 0.3, 0.7,
    *(k * math.pi / 2 * (1 + d) for k in (1, 2, 3, 8) for d in (0, 1e-9, -1e-4)), 2.5, 7.0, 30.0,
}))  # fmt: skip
POINTS = np.concatenate((-POINTS[::-1], POINTS))

OTHER = {
    np.arcsin: mp.asin, np.arccos: mp.acos, np.arctan: mp.atan, np.arcsinh: mp.asinh,
    np.arccosh: mp.acosh, np.arctanh: mp.atanh, np.log2: lambda x: mp.log(x) / mp.log(2),
    np.exp2: lambda x: mp.power(2, x),
    np.cbrt: lambda x: mp.sign(x) * mp.cbrt(abs(x)),
    np.square: lambda x: x * x, np.reciprocal: lambda x: 1 / x,
    math.asin: mp.asin, math.acos: mp.acos, math.atan: mp.atan, math.asinh: mp.asinh,
    math.acosh: mp.acosh, math.atanh: mp.atanh, math.log2: lambda x: mp.log(x) / mp.log(2),
    math.exp2: lambda x: mp.power(2, x), np.absolute: abs, np.fabs: abs,
}  # fmt: skip
NAMES = ("sin", "cos", "tan", "sinh", "cosh", "exp", "expm1", "log", "log10", "log1p", "sqrt",
         "erf", "erfc", "tanh")  # fmt: skip
UNARY = OTHER | {
    getattr(library, name): getattr(mp, name)
    for library in (np, math) for name in NAMES if hasattr(library, name)
}  # fmt: skip
# Of what is left out: ``1 - y * y`` costs nothing where exp(2 x) costs as much as the function; it
# is exact to 1e-16 of the largest slope, and 0 from 19 on.  Where the function is 1, -1 or 0 up to
# rounding, what is told by it is lost.
LARGEST = {np.tanh: 2.0, math.tanh: 2.0, math.erf: 9.0, math.erfc: 9.0}


def told(target, x):
    """The slope by the rule, or None where the function has no value."""
    number = float(x) if samples.is_on_numbers(target) else np.float64(x)
    try:
        with np.errstate(all="ignore"):
            if not np.isfinite(target(number)):
                return None
            (slope,) = cotangents(target, (number,), {}, 1.0)
    except (ValueError, OverflowError, ZeroDivisionError):
        return None
    return float(slope)


def is_representable(number):
    """Whether a slope is a number, and not that of a pole."""
    return TINY * 4 < abs(number) < sys.float_info.max / 4


def is_pole(slope, x):
    return not np.isfinite(slope) and abs(x) == 1


@pytest.mark.parametrize(
    "target", some(UNARY, lambda _, f: f in (np.arcsin, np.expm1, np.log10)), ids=spelling
)
def test_unary_slope_accurate_to_few_ulps(target):
    function, wrong = UNARY[target], []
    for x in POINTS:
        found = told(target, x)
        if found is None or is_pole(found, x) or abs(x) > LARGEST.get(target, math.inf):
            continue
        exact = derivative(function, mp.mpf(float(x)))
        if not is_representable(exact):
            continue
        error = abs(found - exact) / abs(exact)
        if not error < 3e-15:
            wrong.append((x, found, float(error)))

    assert wrong == []


def derivative(function, x):
    """A difference quotient of many digits; of real numbers the real part."""
    step = min(abs(x), 1) * mp.mpf(10) ** -200 if x else mp.mpf(10) ** -200
    return mp.re((function(x + step) - function(x - step)) / (2 * step))


def quotient(a, b):
    """The multiple of b that fmod takes away."""
    return mp.sign(a / b) * mp.floor(abs(a / b))


# The formulas, in numbers that do not overflow; that they are the derivatives is tested elsewhere.
PAIRS = {
    np.arctan2: lambda a, b: (b / (a * a + b * b), -a / (a * a + b * b)),
    np.hypot: lambda a, b: (a / mp.hypot(a, b), b / mp.hypot(a, b)),
    np.divide: lambda a, b: (1 / b, -a / b**2), np.fmod: lambda a, b: (1, -quotient(a, b)),
    np.mod: lambda a, b: (1, -mp.floor(a / b)),
    np.logaddexp: lambda a, b: (1 / (1 + mp.exp(b - a)), 1 / (1 + mp.exp(a - b))),
    np.power: lambda a, b: (b * mp.power(a, b - 1), mp.power(a, b) * mp.log(a)),
}  # fmt: skip
PAIRS |= {math.atan2: PAIRS[np.arctan2], math.hypot: PAIRS[np.hypot], math.fmod: PAIRS[np.fmod]}
SCALES = (1e-300, 1e-160, 1e-150, 1e-20, 0.01, 0.3, 1.0, 10.0, 47.0, 1e20, 1e150, 1e160, 1e300)
MODERATE = {np.fmod, math.fmod, np.mod, np.logaddexp, np.power}


@pytest.mark.parametrize("target", PAIRS, ids=spelling)
def test_binary_slopes_accurate(target):
    scales = [s for s in SCALES if target not in MODERATE or 1e-3 < s < 1e3]
    wrong = []
    for a, b in itertools.product(scales, scales):
        numbers = (a, b) if samples.is_on_numbers(target) else (np.float64(a), np.float64(b))
        with np.errstate(all="ignore"):
            found = cotangents(target, numbers, {}, 1.0)
        for k, exact in enumerate(PAIRS[target](mp.mpf(a), mp.mpf(b))):
            sensitive = max(1.0, abs(a), abs(b), abs(math.log(a) * b)) if target in MODERATE else 1
            if is_representable(exact) and abs(found[k] - exact) > 2e-15 * abs(exact) * sensitive:
                wrong.append((a, b, k, float(found[k]), float(exact)))

    assert wrong == []


@pytest.mark.parametrize("target", [np.var, np.std])
@pytest.mark.parametrize("mean", [0.0, 1e8])
def test_variance_slope_with_large_mean_accurate(target, mean):
    a = mean + np.array([1.0, 2.0, 4.0])

    (bar,) = cotangents(target, (a,), {}, 1.0)

    distances = np.array([-4.0, -1.0, 5.0]) / 3
    want = distances / (1.5 if target is np.var else 3 * math.sqrt(np.mean(distances**2)))
    np.testing.assert_allclose(bar, want, rtol=1e-14)


def test_accuracy_sweep_functions_have_rules():
    assert [f for f in (*UNARY, *PAIRS) if lookup(f) is None] == []
