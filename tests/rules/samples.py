"""Sample calls for every differentiable row: ``(target, args, kwargs)``.

Points lie in the interior: no ties, no kinks.  Values at special points are in test_edge_cases.
All float leaves of a call are differentiated.
"""

import math
import operator

import numpy as np

_rng = np.random.default_rng(20)


def uniform(low, high, *shape):
    """Distinct numbers between two bounds, in random order, away from each other."""
    count = int(np.prod(shape))
    grid = np.linspace(low, high, count + 2)[1:-1] + _rng.uniform(-0.1, 0.1, count) / (count + 1)
    return _rng.permutation(grid).reshape(shape)


def array(*shape):
    return uniform(-2.0, 2.0, *shape)


def square(n):
    return array(n, n) + 3 * np.eye(n)


def spd(*shape):
    a = array(*shape)
    return a @ np.swapaxes(a, -1, -2) + 2 * np.eye(shape[-1])


# One argument: the bounds of the interval that the sample points come from.
UNARY = {
    np.square: (-2, 2), np.sqrt: (0.2, 3), np.cbrt: (0.2, 3), np.reciprocal: (0.3, 2),
    np.exp: (-2, 2), np.exp2: (-2, 2), np.expm1: (-2, 2), np.log: (0.2, 3), np.log2: (0.2, 3),
    np.log10: (0.2, 3), np.log1p: (-0.6, 3), np.sin: (-3, 3), np.cos: (-3, 3), np.tan: (-1, 1),
    np.arcsin: (-0.8, 0.8), np.arccos: (-0.8, 0.8), np.arctan: (-3, 3), np.deg2rad: (-90, 90),
    np.rad2deg: (-3, 3), np.radians: (-90, 90), np.degrees: (-3, 3), np.sinc: (-2.1, 2),
    np.sinh: (-2, 2), np.cosh: (-2, 2), np.tanh: (-2, 2), np.arcsinh: (-2, 2),
    np.arccosh: (1.2, 3), np.arctanh: (-0.8, 0.8), np.absolute: (0.1, 2), np.fabs: (-2, -0.1),
    np.positive: (-2, 2), np.negative: (-2, 2), np.conjugate: (-2, 2), np.real: (-2, 2),
    np.nan_to_num: (-2, 2), operator.neg: (-2, 2), operator.pos: (-2, 2), operator.abs: (-2, -0.2),
}  # fmt: skip

# Two arguments.
BINARY = {
    operator.add: (-2, 2), np.add: (-2, 2), operator.sub: (-2, 2), np.subtract: (-2, 2),
    operator.mul: (-2, 2), np.multiply: (-2, 2), operator.truediv: (0.5, 2), np.divide: (0.5, 2),
    operator.pow: (0.4, 2), np.power: (0.4, 2), np.float_power: (0.4, 2), operator.mod: (0.6, 0.9),
    np.mod: (0.6, 0.9), np.fmod: (0.6, 0.9), np.maximum: (-2, 2), np.minimum: (-2, 2),
    np.fmax: (-2, 2), np.fmin: (-2, 2), np.hypot: (0.3, 2), np.arctan2: (0.3, 2),
    np.copysign: (-2, -0.1), np.logaddexp: (-2, 2), np.logaddexp2: (-2, 2),
}  # fmt: skip

# The functions of math, on numbers.
MATH = {
    math.sqrt: 0.7, math.cbrt: 0.7, math.exp: 0.7, math.exp2: 0.7, math.expm1: 0.7, math.log: 0.7,
    math.log2: 0.7, math.log10: 0.7, math.log1p: 0.7, math.sin: 0.7, math.cos: 0.7, math.tan: 0.7,
    math.asin: 0.7, math.acos: 0.7, math.atan: 0.7, math.sinh: 0.7, math.cosh: 0.7, math.tanh: 0.7,
    math.asinh: 0.7, math.acosh: 1.7, math.atanh: 0.7, math.radians: 0.7, math.degrees: 0.7,
    math.fabs: -0.7, math.erf: 0.7, math.erfc: 0.7, float: 0.7, np.float64: 0.7,
}  # fmt: skip

A, B, C = array(4), array(4), array(3, 4)
MASK = np.array([True, False, True, True])

ELEMENTWISE = [
    *[(f, (uniform(*bounds, 3, 4),), {}) for f, bounds in UNARY.items()],
    *[(f, (uniform(*bounds, 4), uniform(*bounds, 3, 4)), {}) for f, bounds in BINARY.items()],
    *[(f, (uniform(*bounds, 3, 1), float(uniform(*bounds, 1)[0])), {})
      for f, bounds in BINARY.items()],
    *[(f, (x,), {}) for f, x in MATH.items()],
    (np.where, (MASK, A, C), {}), (np.where, (MASK[:3, None], 0.5, C), {}),
    (np.where, (np.array([0, 1, 2, 3]), A, B), {}),
    (np.clip, (C, -0.53, 0.61), {}), (np.clip, (C, None, 0.61), {}), (np.clip, (C, A, B), {}),
    (np.clip, (C,), {"min": -0.5, "max": A}), (np.clip, (C, 0.1, None), {}),
    (np.ldexp, (C, 3), {}), (np.heaviside, (C, 0.3), {}), (np.where, (True, A, 1.0), {}),
    (divmod, (uniform(2.1, 2.9, 4), uniform(0.8, 0.95, 3, 1)), {}), (divmod, (7.3, -2.0), {}),
    (np.divmod, (uniform(2.1, 2.9, 4), 0.8), {}),
    (np.modf, (uniform(0.1, 0.9, 5),), {}), (operator.pow, (C + 3, 3), {}),
    (operator.pow, (C, 2), {}), (operator.pow, (C + 3, -1), {}), (operator.pow, (1.7, 2.3), {}),
    (math.log, (0.7, 2.5), {}), (math.atan2, (0.4, -0.7), {}), (math.pow, (0.4, 1.7), {}),
    (math.fmod, (7.3, 2.2), {}), (math.remainder, (7.3, 2.2), {}), (math.copysign, (0.3, -2.0), {}),
    (math.ldexp, (0.3, 4), {}), (math.hypot, (0.3, 0.4, 1.2), {}), (math.modf, (3.4,), {}),
    (math.dist, ([0.1, 0.5], [0.7, -0.4]), {}), (math.fsum, ([0.1, 0.2, 0.3],), {}),
    (sum, ([0.1, 0.2, 0.3], 0.4), {}),
    (math.prod, ([0.5, 0.0, 2.0],), {"start": 1.5}), (math.prod, ((0.5, 2.0),), {}),
    (max, (0.3, 0.2), {}), (min, (0.3, 0.2), {}), (max, (0.3, 0.2, 0.7), {}),
    (max, ([0.3, 0.7, 0.1],), {}), (min, ((0.3, 0.7, 0.1),), {}), (min, (0.3, 0.2, 0.7), {}),
    (sum, ([A, B],), {}), (sum, ([0.1, 0.2],), {}), (sum, (C,), {}), (max, (A,), {}),
]  # fmt: skip

T = array(2, 3, 4)
POSITIVE = uniform(0.3, 2, 2, 3, 4)
WHERE = np.array([[True, False, True, True], [False, True, True, True], [True, True, False, True]])

_AXES = [
    (), (0,), (-1,), ((0, 2),), ((-1, 0),), (None,), (1,), ((),),
]  # fmt: skip
REDUCTIONS = [
    *[(f, (T, *axis), {"keepdims": keep})
      for f in (np.sum, np.mean, np.prod, np.max, np.min, np.amax, np.amin, np.var, np.std,
                np.nansum, np.nanmean, np.nanvar, np.nanstd, np.nanmax, np.nanmin)
      for axis, keep in [((), False), ((0,), False), ((-1,), True), ((None,), True)]
      if f is not np.prod or axis != (None,)],
    *[(f, (T,), {"axis": axis, "keepdims": keep})
      for f in (np.sum, np.mean, np.max, np.min, np.var, np.std, np.prod)
      for axis, keep in [((0, 2), False), ((-1, 0), True), ((1,), False)]],
    *[(f, (C,), {"axis": 1, "where": WHERE}) for f in (np.sum, np.mean, np.var, np.std, np.prod)],
    (np.sum, (C,), {"where": WHERE}), (np.sum, (C, 0, np.float64), {}),
    (np.sum, (C,), {"axis": ()}),
    (np.sum, (C,), {"initial": 0.5}),
    (np.max, (C,), {"axis": 1, "where": WHERE, "initial": -9.0}),
    (np.max, (C, 0), {"initial": 0.7}),
    (np.min, (C,), {"initial": -1}), (np.var, (C,), {"ddof": 1}), (np.std, (C, 0), {"ddof": 1}),
    (np.prod, (T[0],), {"axis": None, "keepdims": True}),
    (np.ptp, (C,), {}), (np.ptp, (C, 1), {}), (np.ptp, (T,), {"axis": (0, 1), "keepdims": True}),
    *[(f, (C, *axis), {}) for f in (np.cumsum, np.cumprod, np.nancumsum)
      for axis in ((), (0,), (-1,), (1,))],
    (np.cumprod, (np.array([2.0, 0.0, 3.0, 0.0]),), {}),
    (np.prod, (np.array([0.0, 2.0, 3.0]),), {}),
    (np.diff, (C,), {}), (np.diff, (C, 2), {}), (np.diff, (T, 1, 0), {}), (np.diff, (T, 2, 1), {}),
    (np.diff, (A,), {"prepend": 0.5}), (np.diff, (A,), {"append": B, "prepend": B[:2]}),
    (np.diff, (C, 1, 0), {"append": C[:1]}), (np.diff, (A, 3), {"append": 1.5}),
    (np.diff, (A, 6), {}),
    (np.trapezoid, (A,), {}), (np.trapezoid, (C,), {"dx": 0.7, "axis": 0}),
    (np.trapezoid, (C, A), {}), (np.trapezoid, (C, array(3, 4)), {}),
    (np.trapezoid, (T, array(3)), {"axis": 1}),
    (np.trapezoid, (T, array(3, 4)), {}),
    (np.trapezoid, (C, np.arange(4)), {}), (np.trapezoid, (T, np.arange(3), 1.0), {"axis": 1}),
    (np.median, (array(5),), {}), (np.median, (T, 1), {}),
    (np.median, (T,), {"axis": 2, "keepdims": True}), (np.median, (T, (0, 2)), {}),
    (np.median, (T, [1, -1]), {}), (np.median, (T,), {"axis": (0, 1), "keepdims": True}),
    *[(np.sort, (T, *axis), {}) for axis in ((), (0,), (1,), (None,))], (np.sort, (A,), {}),
    (np.interp, (uniform(-1.5, 4.5, 6), np.array([0.03, 1.0, 2.1, 4.0]), A), {}),
    (np.interp, (uniform(-1.5, 4.5, 6), np.array([0.03, 1.0, 2.1, 4.0]), A), {"left": 0.4}),
    (np.interp, (0.7, np.array([0.03, 1.0, 2.1, 4.0]), A), {}),
]  # fmt: skip
