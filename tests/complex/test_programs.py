"""Programs with complex numbers against differences in both parts, in both modes."""

import numpy as np
import pytest

import srcad
from tests.complex.programs import PROGRAMS
from tests.marks import some

USUAL = {
    "variational_circuit", "crank_nicolson", "reflectance_of_layers", "recursive_filter",
    "bode_plot", "moebius_flow",
}  # fmt: skip
CASES = some(PROGRAMS, lambda _, case: case[0].__name__ in USUAL)


def name_of(case):
    return case[0].__name__


def leaves(value):
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in leaves(item)]
    if isinstance(value, list | tuple):
        return [leaf for item in value for leaf in leaves(item)]
    return [value]


def moved(value, direction, step):
    """The value, and what is in it, moved along a direction of the same structure."""
    if isinstance(value, dict):
        return {key: moved(item, direction[key], step) for key, item in value.items()}
    if isinstance(value, list):
        return [moved(a, b, step) for a, b in zip(value, direction, strict=True)]
    return value + step * direction


def random_like(value, rng):
    if isinstance(value, dict):
        return {key: random_like(item, rng) for key, item in value.items()}
    if isinstance(value, list):
        return [random_like(item, rng) for item in value]
    found = rng.normal(size=np.shape(value)) * (1 + abs(np.asarray(value))) * 0.3
    if np.iscomplexobj(value):
        found = found * np.exp(1j * rng.uniform(0, 6, np.shape(value)))
    return found if isinstance(value, np.ndarray) else np.asarray(found).item()


def slope(function, args, dots, step=1e-4):
    def at(k):
        return function(*(moved(a, d, k * step) for a, d in zip(args, dots, strict=True)))

    return (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * step)


def inner(u, v):
    pairs = zip(leaves(u), leaves(v), strict=True)
    return sum(float(np.real(np.sum(np.conj(a) * b))) for a, b in pairs)


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_the_gradient_is_that_of_differences_in_both_parts(case):
    function, args = case
    rng = np.random.default_rng(5)

    value, *_ = srcad.value_and_grad(function, wrt=tuple(range(len(args))))(*args)
    gradients = srcad.gradient(function, *args)

    assert value == function(*args)
    for _ in range(3):
        dots = [random_like(a, rng) for a in args]
        expected = slope(function, args, dots)
        assert inner(gradients, dots) == pytest.approx(expected, rel=1e-6, abs=1e-8)
    for gradient, arg in zip(gradients, args, strict=True):
        for one, leaf in zip(leaves(gradient), leaves(arg), strict=True):
            assert type(one) is type(leaf)
            assert np.iscomplexobj(one) == np.iscomplexobj(leaf)


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_the_tangent_is_the_product_with_the_gradient(case):
    function, args = case
    rng = np.random.default_rng(6)
    dots = [random_like(a, rng) for a in args]

    value, dot = srcad.jvp(function, args, dots)

    assert value == function(*args)
    assert not np.iscomplexobj(dot)
    assert dot == pytest.approx(inner(srcad.gradient(function, *args), dots), rel=1e-9, abs=1e-10)


OF_ARRAYS = [case for case in PROGRAMS if isinstance(case[1][0], np.ndarray | float | complex)]
TWICE = {"crank_nicolson", "branch_points"}


@pytest.mark.parametrize(
    "case", some(OF_ARRAYS[::2], lambda _, case: case[0].__name__ in TWICE), ids=name_of
)
@pytest.mark.parametrize("mode", ["reverse over reverse", "forward over reverse"])
def test_second_derivatives_are_those_of_differences(case, mode):
    function, args = case
    x, rest = args[0], args[1:]
    rng = np.random.default_rng(7)
    v, dot = random_like(x, rng), random_like(x, rng)

    def along(x):
        return np.sum(np.real(np.conj(v) * srcad.grad(function)(x, *rest)))

    expected = slope(along, (x,), (dot,))

    if mode == "reverse over reverse":
        found = inner(srcad.grad(along)(x), dot)
    else:
        found = inner(v, srcad.hvp(function)(x, *rest, v=dot))
    assert found == pytest.approx(expected, rel=1e-5, abs=1e-7)
