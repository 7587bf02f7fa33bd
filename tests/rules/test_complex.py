"""Rules of complex numbers: the samples of every row, with complex operands, in both modes.

The gradient of a real result is ``df/dRe + i df/dIm``, and the inner product of two cotangents
``Re(conj(u) * v)``: what goes back along the transpose is what differences go forward by.
"""

import types
import warnings
from functools import partial

import numpy as np
import pytest
from scipy import linalg, special, stats

import srcad
from srcad import rules
from srcad.errors import NotDifferentiableError, UnsupportedTypeError
from tests.marks import named, some
from tests.rules.harness import leaves, rebuilt
from tests.rules.samples import CALLS, SYMMETRIC, seed_of
from tests.rules.test_table import name_of

# What orders numbers, what NumPy does to each part by itself, and what has no complex derivative.
REFUSED = {
    special.digamma, special.log_ndtr, special.jve, special.yve, special.ive, special.airye,
    special.elliprd, special.elliprj, special.softmax, special.log_softmax,
    special.zeta,
    stats.zscore, stats.gmean, stats.hmean, stats.pmean, stats.sem, stats.skew, stats.kurtosis,
    stats.moment, stats.trim_mean, stats.wasserstein_distance,
    np.maximum, np.minimum, np.fmax, np.fmin, np.clip, np.max, np.amax, np.min, np.amin, np.nanmax,
    np.nanmin, np.ptp, np.sort, np.median, np.nan_to_num,
}  # fmt: skip
# Bases that only a phase, or a sign, tells apart: tests of their own.
OF_ANY_PHASE = {np.linalg.eigh, np.linalg.svd, linalg.eigh, linalg.svd, linalg.qr, linalg.rq}
# Of a Hermitian matrix one triangle is read, and the diagonal is taken for real.
OF_HERMITIAN = {np.linalg.cholesky, linalg.cholesky, linalg.cho_factor}
# Methods of distributions refuse complex numbers (`test_distributions`), and functions that only
# rules call are given what rules leave to them.  Only SciPy before 1.18 takes complex numbers in
# `linregress`.
OF_REAL = {stats.linregress} | {
    row.target
    for row in rules.rows()
    if isinstance(row.target, types.MethodType)
    or (isinstance(row.target, types.FunctionType) and row.target.__module__.startswith("srcad."))
}


def is_number(leaf):
    return np.asarray(leaf).dtype.kind in "fc" and not isinstance(leaf, str)


def are_numbers(value):
    return any(is_number(leaf) for leaf in leaves(value))


def operands(call):
    """The places of the positional arguments that a rule gives a derivative for."""
    row = rules.lookup(call[0])
    return [k for k, a in enumerate(call[1]) if row.entry(k) is not None and are_numbers(a)]


def mapped(value, change):
    return rebuilt(value, iter([change(leaf) for leaf in leaves(value)]))


def in_form_of(leaf, numbers):
    """Numbers as an array, or as a Python number, as `leaf` is."""
    return numbers if isinstance(leaf, np.ndarray) else np.asarray(numbers).item()


def with_imaginary_part(leaf, rng):
    if not is_number(leaf):
        return leaf
    return in_form_of(leaf, leaf + 1j * rng.uniform(-0.5, 0.5, np.shape(leaf)))


def like(leaf, rng):
    """Random numbers in the place of others; None for what is none."""
    if not is_number(leaf):
        return None
    found = rng.normal(size=np.shape(leaf))
    if np.iscomplexobj(leaf):
        found = found + 1j * rng.normal(size=np.shape(leaf))
    return in_form_of(leaf, found)


def complex_call(call, which):
    """The call with complex numbers in some operands; None if there are none, or they are all."""
    target, args, kwargs = call
    places = operands(call)
    chosen = {"all": places, "first": places[:1], "last": places[-1:]}[which]
    if not places or (which != "all" and len(places) < 2):
        return None
    rng = np.random.default_rng(seed_of(target))
    changed = [mapped(a, lambda x: with_imaginary_part(x, rng)) if k in chosen else a
               for k, a in enumerate(args)]  # fmt: skip
    if target in OF_HERMITIAN or kwargs.get("hermitian"):
        changed[0] = changed[0] @ np.conj(np.swapaxes(changed[0], -1, -2))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            y = target(*changed, **kwargs)
    except (TypeError, ValueError, NotImplementedError):  # no meaning for complex numbers
        return None
    return (target, tuple(changed), kwargs) if are_numbers(y) else None


MADE = [(which, call, complex_call(call, which))
        for call in [*CALLS, *SYMMETRIC] for which in ("all", "first", "last")]  # fmt: skip
POINTS = [(f"{name_of(call)} {which}", made) for which, call, made in MADE if made is not None]
REFUSED |= {call[0] for _, call in POINTS if rules.lookup(call[0]).real_only}
RULED = [(name, c) for name, c in POINTS if c[0] not in REFUSED | OF_ANY_PHASE | OF_REAL]


# The functions that the newcomer's run takes, one call each.
USUAL = (
    np.multiply, np.power, np.absolute, np.conjugate, np.angle, np.var, np.prod, np.matmul, np.vdot,
    np.einsum, np.where, np.linalg.solve, np.linalg.det, np.linalg.slogdet, np.linalg.norm,
    np.linalg.cholesky,
)  # fmt: skip


def taken(points):
    """Whether a point is the first one of a usual function."""
    first = {}
    for k, (_, call) in enumerate(points):
        first.setdefault(call[0], k)
    return lambda k, case: first[case[1][0]] == k and case[1][0] in USUAL


def first_part(point):
    return point[0]


def moved(call, dots, step):
    """What a call returns, the arguments moved along a direction."""
    target, args, kwargs = call
    at = [mapped_pairs(a, d, lambda x, v: x if v is None else x + step * v)
          for a, d in zip(args, dots, strict=True)]  # fmt: skip
    return leaves(target(*at, **kwargs))


def mapped_pairs(value, other, change):
    if other is None:
        return value
    pairs = zip(leaves(value), leaves(other), strict=True)
    return rebuilt(value, iter([change(a, b) for a, b in pairs]))


def slopes(call, dots, step=2e-4):
    """Differences of fourth order along a direction; None for what is no number."""
    found = [moved(call, dots, k * step) for k in (1, -1, 2, -2)]
    return [
        (8 * (a - b) - (c - d)) / (12 * step) if is_number(a) else None
        for a, b, c, d in zip(*found, strict=True)
    ]


def inner(u, v):
    pairs = [(a, b) for a, b in zip(u, v, strict=True) if a is not None and b is not None]
    return sum(float(np.real(np.sum(np.conj(a) * b))) for a, b in pairs)


def directions(call, rng):
    target, args, kwargs = call
    places = operands(call)
    dots = [mapped(a, lambda x: like(x, rng)) if k in places else None for k, a in enumerate(args)]
    if target in OF_HERMITIAN or kwargs.get("hermitian"):
        dots[0] = dots[0] + np.conj(np.swapaxes(dots[0], -1, -2))
    return dots


def seed_for(y, rng):
    if isinstance(y, tuple) and type(y) is not tuple:
        return type(y)(*(like(part, rng) for part in y))
    return mapped(y, lambda leaf: like(leaf, rng))


def called(target, kwargs):
    """A function of positional arguments."""
    if target in (np.einsum, np.full):  # of which something has to be known before the call
        return lambda *args: target(*args, **kwargs)
    return partial(target, **kwargs) if kwargs else target


def unless_refused(make):
    """What `make` returns; None if it refuses complex numbers, and says so."""
    try:
        return make()
    except (NotDifferentiableError, UnsupportedTypeError) as error:
        if "complex" not in str(error):
            raise
        return None


@pytest.mark.parametrize("point", some(RULED, taken(RULED), every=2), ids=first_part)
@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
def test_a_rule_is_the_transpose_of_the_differences(point, rng):
    call = point[1]
    target, args, kwargs = call
    dots, places = directions(call, rng), operands(call)
    f = called(target, kwargs)
    made = unless_refused(lambda: srcad.pullback(f, *args, wrt=tuple(places)))
    if made is None:
        return
    y, back = made
    seed = seed_for(y, rng)
    bars = unless_refused(lambda: back(seed))
    if bars is None:
        return
    y_dot = slopes(call, dots)

    flowed = 0.0
    for bar, place in zip(bars, places, strict=True):
        pairs = list(zip(leaves(bar), leaves(dots[place]), strict=True))
        flowed += inner(*zip(*pairs, strict=True))
        for one, x in zip(leaves(bar), leaves(args[place]), strict=True):
            assert not np.iscomplexobj(one) or np.iscomplexobj(x)
    expected = inner(leaves(tuple(seed) if isinstance(seed, tuple) else seed), y_dot)
    assert flowed == pytest.approx(expected, rel=2e-6, abs=2e-6)


@pytest.mark.parametrize("point", some(RULED, taken(RULED), every=4), ids=first_part)
@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
def test_the_tangent_is_that_of_the_differences(point, rng):
    call = point[1]
    target, args, kwargs = call
    dots = directions(call, rng)

    made = unless_refused(lambda: srcad.jvp(called(target, kwargs), args, dots))
    if made is None:
        return
    y, y_dot = made
    found = leaves(tuple(y_dot) if isinstance(y_dot, tuple) else y_dot)
    values = leaves(tuple(y) if isinstance(y, tuple) else y)
    for dot, value, slope in zip(found, values, slopes(call, dots), strict=True):
        if slope is not None:
            np.testing.assert_allclose(dot, slope, rtol=2e-6, atol=5e-6)
            assert np.iscomplexobj(dot) == np.iscomplexobj(value)


@pytest.mark.parametrize("target", sorted(REFUSED, key=named), ids=named)
@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_function_of_real_numbers_only_is_refused(target, mode, rng):
    call = next(call for _, call in POINTS if call[0] is target)
    _, args, kwargs = call
    f = called(target, kwargs)

    def derived():
        if mode == "reverse":
            return srcad.pullback(f, *args, wrt=tuple(operands(call)))
        return srcad.jvp(f, args, directions(call, rng))

    with pytest.raises(NotDifferentiableError, match="complex"):
        derived()
