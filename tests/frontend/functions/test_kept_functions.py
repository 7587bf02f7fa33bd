"""Helpers that stay functions compute what helpers that are read in place do, bit for bit."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import srcad
from tests.adapter import helpers_kept
from tests.generator.checker import loaded
from tests.marks import some
from tests.numeric import difference, leaves
from tests.programs.with_helpers import HEADER, PROGRAMS, WITHOUT_DIFFERENCES


def outcome(function: Callable[..., Any], args: Any) -> Any:
    """The result of a call, or its exception."""
    try:
        return function(*args)
    except Exception as error:
        return error


def outcomes(module: ModuleType, function: Callable[..., Any]) -> list[Any]:
    """The results of calls, between which the program may change its module."""
    found = []
    for k, args in enumerate(module.arguments()):
        if k and hasattr(module, "change"):
            module.change(k)
        found.append(outcome(function, args))
    return found


def derivatives(module: ModuleType) -> list[Any]:
    wrt = getattr(module, "WRT", 0)
    return outcomes(module, srcad.value_and_grad(module.f, wrt=wrt))


def assert_same(got: Any, want: Any) -> None:
    """Compare two values exactly, with their types."""
    assert type(got) is type(want)
    np.testing.assert_array_equal(got, want, strict=True)


def assert_same_outcome(got: Any, want: Any, value: Any) -> None:
    """Compare value and gradient; an exception is the same one, with the same message."""
    if isinstance(want, Exception):
        assert (type(got), str(got)) == (type(want), str(want))
        return
    assert not isinstance(got, Exception), got
    assert_same(got[0], value)
    assert len(leaves(got[1])) == len(leaves(want[1]))
    for a, b in zip(leaves(got[1]), leaves(want[1]), strict=True):
        assert type(a) is type(b)
        single = np.asarray(b).dtype in (np.float32, np.complex64)
        np.testing.assert_allclose(a, b, rtol=2e-5 if single else 1e-9, atol=1e-12)


def assert_slopes(module: ModuleType, args: Any, gradient: Any) -> None:
    """Compare the gradient of the first argument with differences, where these are finite."""
    args, gradient = tuple(args), gradient[0] if hasattr(module, "WRT") else gradient
    pairs = zip(leaves(gradient), leaves(difference(module.f, args)), strict=True)
    for a, b in pairs:
        good = np.isfinite(b)
        np.testing.assert_allclose(np.asarray(a)[good], np.asarray(b)[good], rtol=1e-6, atol=1e-7)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", some(PROGRAMS, lambda k, _: k % 12 == 0, every=4))
def test_program_with_helpers_kept_computes_the_same(name, tmp_path):
    with np.errstate(all="ignore"), loaded(PROGRAMS[name], tmp_path, name) as module:
        values = outcomes(module, module.f)
    found = {}
    for which in ("none", "large", "all"):
        with (
            np.errstate(all="ignore"),
            loaded(PROGRAMS[name], tmp_path, name) as module,
            helpers_kept(which),
        ):
            found[which] = derivatives(module)

    for which, (k, value) in itertools.product(("large", "all"), enumerate(values)):
        assert_same_outcome(found[which][k], found["none"][k], value)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", some(PROGRAMS, lambda k, _: k % 24 == 1, every=4))
def test_program_with_helpers_kept_agrees_with_differences(name, tmp_path):
    with (
        np.errstate(all="ignore"),
        loaded(PROGRAMS[name], tmp_path, name) as module,
        helpers_kept("all"),
    ):
        args = module.arguments()[0]
        numbers = [np.asarray(leaf) for leaf in leaves(args[0])]
        if name in WITHOUT_DIFFERENCES or any(n.dtype not in (np.float64, int) for n in numbers):
            pytest.skip("differences say nothing")

        found = srcad.value_and_grad(module.f, wrt=getattr(module, "WRT", 0))(*args)

        assert_slopes(module, module.arguments()[0], found[1])


# ------------------------------------------------- other modes
def directions(x: Any) -> Any:
    """Tangents of floats; None for what has none."""
    if isinstance(x, float | np.floating) or getattr(x, "dtype", None) == np.float64:
        return x * 0.0 + 0.7
    return None


MODES: dict[str, Callable[..., Any]] = {
    "pullback": lambda f, *args: srcad.pullback(f, *args)[1](srcad.pullback(f, *args)[0]),
    "jvp": lambda f, *args: srcad.jvp(f, args, tuple(map(directions, args))),
    "hvp": lambda f, *args: srcad.hvp(f)(*args, directions(args[0])),
    "jacfwd": lambda f, *args: srcad.jacobian(f, mode="fwd")(*args),
    "jacrev": lambda f, *args: srcad.jacobian(f, mode="rev")(*args),
    "hessian": lambda f, *args: srcad.hessian(f)(*args),
    "elementwise": lambda f, *args: srcad.elementwise_grad(f)(*args),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", some(PROGRAMS, lambda k, _: k % 51 == 2, every=4))
def test_program_with_helpers_kept_computes_the_same_in_other_modes(name, mode, tmp_path):
    found = {}
    for which in ("none", "all"):
        with (
            np.errstate(all="ignore"),
            loaded(PROGRAMS[name], tmp_path, name) as module,
            helpers_kept(which),
        ):
            found[which] = outcome(MODES[mode], (module.f, *module.arguments()[0]))

    kept, want = found["all"], found["none"]
    if isinstance(want, Exception):
        assert (type(kept), str(kept)) == (type(want), str(want))
        return
    assert len(leaves(kept)) == len(leaves(want))
    for a, b in zip(leaves(kept), leaves(want), strict=True):
        assert (a is None) == (b is None)
        assert np.shape(a) == np.shape(b)
        if b is not None:
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


# ------------------------------------------------- entries that are left out, across calls
AT_ENDS = {
    "sqrt": "np.sqrt({})",
    "log": "np.log({})",
    "inverse": "1.0 / {}",
    "arccos": "np.arccos({})",
    "overflow": "np.exp({} * 500.0)",
    "power": "{} ** 0.5",
    "missing data": "{} * DATA",
    "zero below": "{} / BELOW",
    "smooth": "{} * 1.5",
}
CUTS = {
    "where": "np.where(MASK, {0}, 0.0)",
    "where of argument": "np.where(x > 0, {0}, 0.0)",
    "index": "({0})[MASK]",
    "index of argument": "({0})[x > 0]",
    "nansum": "np.nansum({0}) * np.ones(4)",
    "maximum": "np.maximum({0}, 0.3)",
    "clip": "np.clip({0}, 0.1, 0.5)",
    "tril": "np.tril(np.outer({0}, np.ones(4)))",
    "denominator": "1.0 / (1.0 + {0})",
    "isnan": "np.where(np.isnan({0}), 0.0, {0})",
    "fmin": "np.fmin({0}, 0.2)",
    "select": "np.select([MASK], [{0}], 0.0)",
    "compress": "np.compress(MASK, {0})",
    "take": "np.take({0}, [0, 1, 3])",
    "product": "({0}) * MASK",
    "extract": "np.extract(MASK, {0})",
    "store": "without_third({0})",
    "none": "{0} * 2.0",
}
LONG = "np.sin(t) * 0.1 + t + np.cos(t) * 0.01 + np.tanh(t) * np.sin(t) * 0.001"
PLACES = {
    "end in helper": """
def end(x):
    t = {end}
    return {long}

def f(x):
    y, z = end(x), end(x * 1.0)
    return np.sum({cut_y}) + 0.5 * np.sum({cut_z})
""",
    "cut in helper": """
def cut(t, x):
    t = {long}
    return np.sum({cut_t})

def f(x):
    t = {end}
    return cut(t, x) + 0.5 * cut(t * 1.0, x)
""",
    "both in helpers": """
def end(x):
    t = {end}
    return {long}

def cut(t, x):
    t = {long}
    return np.sum({cut_t})

def f(x):
    return cut(end(x), x) + 0.5 * cut(end(x * 1.0), x)
""",
    "three levels": """
def end(x):
    t = {end}
    return {long}

def cut(t, x):
    t = end(t)
    t = {long}
    return np.sum({cut_t})

def middle(t):
    return cut(t, t) + np.sum({long})

def f(x):
    return middle(x) + 0.5 * middle(x * 1.0)
""",
    "loop": """
def end(x):
    t = {end}
    return {long}

def f(x):
    s = 0.0
    for k in range(2):
        y = end(x)
        s = s + np.sum({cut_y})
    return s + np.sum(end(x * 0.0 + 0.5))
""",
}
BEFORE = """
MASK = np.array([True, True, False, True])
DATA = np.array([1.0, 2.0, np.nan, 3.0])
BELOW = np.array([1.0, 2.0, 0.0, 3.0])

def without_third(t):
    w = t * 1.0
    w[2] = 0.0
    return w
"""


def slope_of_third(f: Any, x: Any) -> Any:
    """The quotient of differences by the third entry, from below, where zero is left out."""
    step = 1e-7 * (np.arange(4) == 2)
    below = outcome(f, [x - step])
    return (outcome(f, [x]) - below) / 1e-7 if not isinstance(below, Exception) else np.nan


def is_nan_at(found: Any, k: int) -> bool:
    """Whether an entry of a gradient is nan."""
    return not isinstance(found, Exception) and bool(np.isnan(found[1][k]))


def program_with_cut(end: str, cut: str, place: str) -> str:
    """A program with an operation that has no derivative at an entry that is left out."""
    cuts = {f"cut_{name}": CUTS[cut].format(name) for name in "tyz"}
    return HEADER + BEFORE + PLACES[place].format(end=AT_ENDS[end].format("x"), long=LONG, **cuts)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "case",
    some(itertools.product(AT_ENDS, CUTS, PLACES), lambda k, _: k % 83 == 0, every=4),
    ids="-".join,
)
def test_entries_left_out_on_other_side_of_call_have_same_derivative(case, tmp_path):
    # In the other programs all helpers are large: the generated code would be the same.
    has_small_helpers = case[1] == "store" or case[2] == "three levels"
    kept = ("large", "all") if has_small_helpers else ("all",)
    found = {}
    for which in ("none", *kept):
        with (
            np.errstate(all="ignore"),
            loaded(program_with_cut(*case), tmp_path, "cut") as module,
            helpers_kept(which),
        ):
            derivative = srcad.value_and_grad(module.f)
            points = (0.0, 0.7), (-2.0, 1.7), (5.0, 0.7)
            args = [np.array([0.3, 0.5, *point]) for point in points]
            found[which] = [outcome(derivative, [x]) for x in args]
            values = [outcome(module.f, [x]) for x in args]

            # All four entries are treated alike, and apart from each other.
            slopes = [slope_of_third(module.f, np.array([*x[:3], 0.5])) for x in args]

    for which, k in itertools.product(kept, range(len(values))):
        got, want = found[which][k], found["none"][k]
        if is_nan_at(want, 2) and not is_nan_at(got, 2):
            # Inlined, a function of what is left out is nan; by itself it is cut off.
            np.testing.assert_allclose(got[1][2], slopes[k], rtol=1e-5)
            want[1][2] = got[1][2]
        assert_same_outcome(got, want, values[k])
