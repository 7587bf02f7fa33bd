"""Slopes of elementwise functions as exact as their functions, by `mpmath`.

The unit of an error is 2**-52 of the exact number.  Where NumPy, `math` or SciPy computes a value
within 4 units times its condition (the sensitivity to relative changes of all moved arguments), its
slopes have to be within 4 units times theirs.  Values and slopes outside of the range from 1e-300
to 1e300 are left out.
"""

import functools
import itertools
import math
import types

import numpy as np
import pytest
import scipy
from scipy import special, stats

from srcad.rules import NoPartial
from srcad.rules.registry import qualified_name
from srcad.startup.identifiers import module_of
from tests.marks import some
from tests.rules import samples
from tests.rules.counterparts import COUNTERPARTS, Argument, mp
from tests.rules.harness import cotangents

UNIT = mp.mpf(2) ** -52
LARGEST = 4
RAISED = float("inf")  # the slopes where a rule overflows, as Python's ``**`` does


# ------------------------------------------------------------------------ points
def calls_of(row):
    """The arguments of the calls: each one is moved with the others fixed at a few values."""
    arguments = row.arguments
    found = {}
    for k, moved in enumerate(arguments):
        if isinstance(moved, Argument):
            others = [a.fixed if isinstance(a, Argument) else a for a in arguments]
            found |= dict.fromkeys(itertools.product(*others[:k], moved.points, *others[k + 1 :]))
    return list(found)


# ------------------------------------------------------------------------ exact numbers
@functools.lru_cache(maxsize=None)
def exact(function, call, moved):
    """The value, its condition, and for each moved argument the slope and its condition.

    They are differences of many digits; None where a neighbour of the point has no real value.
    """
    size = max(abs(math.log10(abs(call[k]))) for k in moved)
    digits = at_least(80 + 2.2 * size)
    try:
        for _ in range(5):
            with mp.workdps(digits):
                steps = {k: min(abs(mp.mpf(call[k])), 1) * mp.mpf(10) ** -30 for k in moved}
                found = quotients(function, call, steps)
                needed = digits_for(found, call, steps)
            if needed <= digits:
                break
            digits = at_least(needed)
        return found
    except (ValueError, ZeroDivisionError, OverflowError, mp.NoConvergence):
        return None


def at_least(digits):
    """One of a few precisions: `mpmath` keeps its constants and coefficients for each of them."""
    return next(n for n in (90, 120, 200, 300, 450, 600, 780, 1600) if n >= digits)


def digits_for(found, call, steps):
    """How many digits the second differences need, if they are about ``slope / x``."""
    value, _, slopes, _, _ = found
    ratios = [
        abs(slopes[k] / value / call[k]) * step**2
        for k, step in steps.items()
        if value and slopes[k]
    ]
    return 20 + int(-mp.log10(max(min(ratios), mp.mpf(10) ** -700))) if ratios else 0


def quotients(function, call, steps):
    """The same, of a function that may refuse its arguments."""
    numbers = [mp.mpf(x) if isinstance(x, float) else x for x in call]

    def at(*places):
        shifted = list(numbers)
        for k, sign in places:
            shifted[k] = shifted[k] + sign * steps[k]
        return mp.mpmathify(function(*shifted))

    def sensitivity(changes, whole):
        return sum(abs(numbers[k] * change) for k, change in changes) / abs(whole) if whole else 0

    value = at()
    above, below = {k: at((k, 1)) for k in steps}, {k: at((k, -1)) for k in steps}
    slopes = {k: (above[k] - below[k]) / (2 * steps[k]) for k in steps}
    bends = {(k, k): (above[k] - 2 * value + below[k]) / steps[k] ** 2 for k in steps}
    for j, k in itertools.combinations(steps, 2):
        mixed = at((j, 1), (k, 1)) - above[j] - above[k] + value
        bends[j, k] = bends[k, j] = mixed / (steps[j] * steps[k])
    conditions = {
        k: sensitivity([(j, bends[j, k]) for j in steps], slopes[k]) for k in steps if slopes[k]
    }
    is_real = all(mp.im(y) == 0 for y in (*above.values(), *below.values()))
    return value, sensitivity(slopes.items(), value), slopes, conditions, is_real


def is_in_range(number):
    return 1e-300 < abs(number) < 1e300


def error(found, wanted):
    """The distance in units; infinite where a number is none."""
    found = complex(found)
    if not (math.isfinite(found.real) and math.isfinite(found.imag)):
        return math.inf
    return float(abs(mp.mpmathify(found) - wanted) / abs(wanted) / UNIT)


# ------------------------------------------------------------------------ rules
def told(target, row, calls):
    """The values, and the slopes by the rule: None for an argument without one."""
    with np.errstate(all="ignore"):
        if not samples.is_on_numbers(target):
            columns = [np.array(c) if len(set(c)) > 1 else c[0] for c in zip(*calls, strict=True)]
            values = target(*columns)
            bar = 1.0
            if row.part is not None:
                bar = [1.0 if k == row.part else None for k in range(len(values))]
                values = values[row.part]
            slopes = cotangents(target, tuple(columns), {}, bar)
            return values, [
                None if s is None or isinstance(s, NoPartial) else np.broadcast_to(s, values.shape)
                for s in slopes
            ]
    found = [on_numbers(target, call) for call in calls]
    return [value for value, _ in found], list(zip(*(slopes for _, slopes in found), strict=True))


def on_numbers(target, call):
    """The same for one call of a function of Python numbers, whose rule may overflow."""
    try:
        value = target(*call)
    except (ValueError, OverflowError, ZeroDivisionError):
        return math.nan, [RAISED] * len(call)
    try:
        return value, cotangents(target, call, {}, 1.0)
    except OverflowError:
        return value, [RAISED] * len(call)


def errors_of(target, row):
    """For each call and moved argument: the call, the place, the error and the condition."""
    calls = calls_of(row)
    moved = tuple(k for k, a in enumerate(row.arguments) if isinstance(a, Argument))
    values, slopes = told(target, row, calls)
    for n, call in enumerate(calls):
        if not is_in_range(values[n]):
            continue
        found = exact(row.function, call, moved)
        if found is None:
            continue
        value, condition, wanted, conditions, is_real = found
        if not (is_real or np.iscomplexobj(values)) or not value:
            continue
        if not error(values[n], value) <= LARGEST * max(1, condition):
            continue
        if slopes[moved[0]][n] is RAISED and not all(is_in_range(wanted[k]) for k in moved):
            continue
        for k in moved:
            if (
                is_in_range(wanted[k])
                and k in conditions
                and slopes[k] is not None
                and slopes[k][n] is not None
            ):
                slope = np.conjugate(slopes[k][n])
                yield call, k, error(slope, wanted[k]), float(max(1, conditions[k]))


# ------------------------------------------------------------------------ the sweep
# Points where a rule, or SciPy's function in it, is known to lose more digits.
APART = {
    np.tanh: (lambda x: abs(x) > 3, "1 - y**2 has an absolute error, and is 0 from 19 on"),
    math.tanh: (lambda x: abs(x) > 3, "1 - y**2 has an absolute error, and is 0 from 19 on"),
    special.inv_boxcox: (lambda x, power: power < 1e-150,
                         "SciPy's inv_boxcox1p(x, power) is x where power * x < 1e-154"),
    special.iv: (lambda v, x: x < 1e-100, "SciPy's iv(-1, x) is 0"),
    special.ivp: (lambda v, x: x < 1e-100, "SciPy's iv(-1, x) is 0"),
    special.ive: (lambda v, x: x > 30, "terms cancel as 1 / x"),
    special.kve: (lambda v, x: x > 30, "terms cancel as 1 / x"),
    special.hankel1e: (lambda v, x: x > 30, "terms cancel as 1 / x"),
    special.hankel2e: (lambda v, x: x > 30, "terms cancel as 1 / x"),
    special.struve: (lambda v, x: x > 30, "terms cancel as 1 / x**2"),
    special.jv: (lambda v, x: x < 1e-10, "SciPy's jv(-1, x)"),
    special.jve: (lambda v, x: x < 1e-10, "SciPy's jve(-1, x)"),
    special.jvp: (lambda v, x: x < 1e-10, "SciPy's jv(-1, x)"),
    special.spherical_jn: (lambda n, x: x < 1e-10, "SciPy's derivative of spherical_jn"),
    special.kei: (lambda x: x < 1e-20, "SciPy's keip has 12 digits, later 3"),
    special.stdtr: (lambda df, t: abs(t) < 1e-100, "the square of t vanishes"),
    special.betainccinv: (lambda a, b, p: p < 0.01, "the result is 1 up to rounding"),
    special.eval_legendre: (lambda n, x: abs(x) < 0.1, "SciPy's values near their zero at 0"),
    special.eval_chebyu: (lambda n, x: abs(x) < 0.1, "SciPy's values near their zero at 0"),
    special.eval_chebys: (lambda n, x: abs(x) < 0.1, "SciPy's values near their zero at 0"),
    special.eval_gegenbauer: (lambda n, a, x: abs(x) < 0.1, "SciPy's values near their zero at 0"),
    special.eval_jacobi: (lambda n, a, b, x: abs(x) < 0.1, "SciPy's values near their zero at 0"),
    special.lpmv: (lambda m, v, x: not 0.1 < abs(x) < 0.999,
                   "SciPy's values near their zeros at -1, 0 and 1"),
    special.hyperu: (lambda a, b, x: x < 1e-4, "SciPy's hyperu overflows"),
}  # fmt: skip
# The largest error in units times the condition, as measured, and its reason.
LARGER = {
    special.boxcox: (100, "power - 1 is rounded: log(x) / 8 units for small powers"),
    special.boxcox1p: (240, "(power - 1) log(1 + x) is rounded before its exponential is taken"),
    np.cbrt: (5, "NumPy's cbrt, off by 2 units, counts twice"),
    special.erfcx: (10, "the recurrence of the integrals of erfc cancels below 2"),
    special.erfcinv: (1400, "exp(y**2) multiplies the rounding of y by 2 y**2"),
    special.ndtri: (1400, "exp(y**2 / 2) multiplies the rounding of y by y**2"),
    special.ndtri_exp: (1400, "as ndtri"),
    special.dawsn: (70, "1 - 2 x y cancels up to 7"),
    special.wofz: (60, "2 i / sqrt(pi) - 2 z y cancels up to 7"),
    special.voigt_profile: (9000, "as wofz; the parts of its derivative cancel, too"),
    special.expn: (7, "SciPy's expn near 1"),
    special.jv: (40, "SciPy's jv of other orders"),
    special.jvp: (40, "SciPy's jv of other orders"),
    special.jve: (40, "SciPy's jve of other orders"), special.iv: (5, "SciPy's iv"),
    special.yv: (16, "SciPy's yv of other orders"), special.yve: (16, "SciPy's yve"),
    special.yn: (10, "SciPy's yn of other orders"), special.yvp: (9, "SciPy's yv"),
    special.y1: (5, "SciPy's yv"), special.ivp: (7, "SciPy's iv of other orders"),
    special.hankel1e: (80, "terms cancel as 1 / x"),
    special.hankel2e: (80, "terms cancel as 1 / x"),
    special.ive: (120, "terms cancel as 1 / x"), special.kve: (60, "terms cancel as 1 / x"),
    special.i0e: (33, "terms cancel as 1 / x up to 20"),
    special.i1e: (40, "terms cancel as 1 / x up to 20"),
    special.k0e: (20, "terms cancel as 1 / x up to 20"),
    special.k1e: (20, "terms cancel as 1 / x up to 20"),
    special.spherical_jn: (15, "SciPy's derivative of spherical_jn"),
    special.spherical_in: (5, "SciPy's derivative of spherical_in"),
    special.ber: (21, "SciPy's berp"), special.beip: (6, "SciPy's ber"),
    special.ker: (110, "SciPy's kerp"), special.kerp: (330, "SciPy's kei"),
    special.kei: (16, "SciPy's keip"),
    special.keip: (14, "SciPy's ker"), special.airy: (10, "SciPy's airy"),
    special.struve: (35, "terms cancel as 1 / x**2"),
    special.modstruve: (12, "SciPy's modstruve of other orders"),
    special.beta: (6, "the sum that digamma_difference takes"),
    special.poch: (12, "the sum that digamma_difference takes"),
    special.binom: (5, "the sum that digamma_difference takes"),
    special.comb: (5, "the sum that digamma_difference takes"),
    special.gammainc: (8, "the series and the integral by a"),
    special.gammaincc: (8, "the series and the integral by a"),
    special.gammainccinv: (10, "the exponential of logarithms in the density"),
    special.chdtri: (8, "the exponential of logarithms in the density"),
    special.gdtr: (6, "the integral by b"), special.gdtrc: (6, "the integral by b"),
    special.pdtr: (22, "the exponential of logarithms in the density"),
    special.pdtrc: (10, "the exponential of logarithms in the density"),
    special.bdtr: (22, "the exponential of logarithms in the density"),
    special.bdtrc: (22, "the exponential of logarithms in the density"),
    special.nbdtr: (28, "the exponential of logarithms in the density"),
    special.nbdtrc: (28, "the exponential of logarithms in the density"),
    special.betainc: (8, "the integral by a and b"),
    special.betaincc: (8, "the integral by a and b"),
    special.betainccinv: (5, "the integral by a and b"),
    special.fdtr: (800, "the two ways in which the result depends on dfn, or dfd, cancel"),
    special.fdtrc: (800, "the two ways in which the result depends on dfn, or dfd, cancel"),
    special.fdtri: (50, "the two ways in which the result depends on dfn, or dfd, cancel"),
    special.stdtr: (400, "the two ways in which the result depends on df cancel"),
    special.stdtrit: (55, "the two ways in which the result depends on df cancel"),
    special.kolmogi: (9, "the series of the density"),
    special.elliprg: (7, "terms cancel as 1 / log(x)"),
    special.elliprj: (20, "SciPy's elliprj of complex numbers"),
    special.hyp0f1: (14, "SciPy's hyp0f1 of other parameters"),
    special.eval_sh_legendre: (6, "2 x - 1 is rounded"),
    special.eval_sh_chebyt: (6, "2 x - 1 is rounded"),
    special.wright_bessel: (6, "SciPy's wright_bessel of other parameters"),
    special.hyp2f1: (21, "SciPy's hyp2f1 of other parameters"),
    special.hyperu: (42, "SciPy's hyperu of other parameters"),
}  # fmt: skip
if hasattr(special, "log_wright_bessel"):  # SciPy 1.14
    LARGER[special.log_wright_bessel] = (12, "an exponential of a difference")
# Functions that are not compared.
WITHOUT = {
    np.imag: "0 for real numbers", np.angle: "0 for real numbers", np.heaviside: "0 between jumps",
    np.where: "selects",
    special.tklmbda: "SciPy computes it to 14 digits",
    stats.boxcox: "scipy.special.boxcox of an array",
}  # fmt: skip
FEWER_DIGITS_BEFORE = {
    special.eval_sh_legendre, special.eval_sh_chebyu, special.eval_chebys,
}  # fmt: skip
QUICK = (
    np.arcsin, np.expm1, np.tan, math.log1p, np.arctan2, np.power, np.sinc, special.erfcx,
    special.log_ndtr, special.j1, special.i0e, special.expit, special.ellipk, special.betaln,
)  # fmt: skip


@pytest.mark.parametrize(
    "target", some(COUNTERPARTS, lambda _, f: f in QUICK, every=2), ids=qualified_name
)
def test_slope_accurate_to_few_units(target):
    if target in FEWER_DIGITS_BEFORE and np.lib.NumpyVersion(scipy.__version__) < "1.18.0":
        pytest.skip("SciPy computes the function itself with fewer digits before version 1.18")
    row = COUNTERPARTS[target]
    allowed, _ = LARGER.get(target, (LARGEST, ""))
    is_apart, _ = APART.get(target, (lambda *call: False, ""))

    found = [case for case in errors_of(target, row) if not is_apart(*case[0])]

    assert found
    assert [case for case in found if not case[2] <= allowed * case[3]] == []


def test_sweep_takes_at_most_700_points_a_function():
    assert max(len(calls_of(row)) for row in COUNTERPARTS.values()) <= 700


def test_every_elementwise_function_is_compared():
    elementwise = {
        row.target for row in samples.ROWS
        if row.kind == "derivative" and not isinstance(row.target, types.MethodType)
        and not module_of(row.target).startswith(("srcad.", "cmath"))
    }  # fmt: skip

    assert {*COUNTERPARTS, *WITHOUT} >= elementwise
    assert [f for f in WITHOUT if f in COUNTERPARTS or f not in elementwise] == []
    assert {*LARGER, *APART} <= {*COUNTERPARTS}


# ------------------------------------------------------------------------ reductions
@pytest.mark.parametrize("target", [np.var, np.std])
@pytest.mark.parametrize("mean", [0.0, 1e8])
def test_variance_slope_with_large_mean_accurate(target, mean):
    a = mean + np.array([1.0, 2.0, 4.0])

    (bar,) = cotangents(target, (a,), {}, 1.0)

    distances = np.array([-4.0, -1.0, 5.0]) / 3
    want = distances / (1.5 if target is np.var else 3 * math.sqrt(np.mean(distances**2)))
    np.testing.assert_allclose(bar, want, rtol=1e-14)
