"""Rows of products: linear in each operand, and one formula serves both modes."""

import numpy as np
import pytest

import srcad
from srcad import rules
from srcad.rules import lookup
from tests.rules.harness import cotangents, is_float, paired, seeded
from tests.rules.samples import CALLS
from tests.rules.test_table import name_of

PRODUCTS = [call for call in CALLS if lookup(call[0]).kind == "bilinear"]


def factors(call):
    """The places of a call's operands: what the product is linear in."""
    target, args, _ = call
    return [k for k, a in enumerate(args) if lookup(target).entry(k) is not None and is_float(a)]


def with_one(args, place, other):
    """The arguments with another one at a place."""
    return [*args[:place], other, *args[place + 1 :]]


def alike(rng, x):
    """Random numbers in the place of a number or an array."""
    return rng.normal(size=np.shape(x))


def test_bilinear_kind_includes_table_products():
    assert {call[0] for call in PRODUCTS} >= {np.matmul, np.dot, np.kron, np.einsum, np.cross}


@pytest.mark.parametrize("call", PRODUCTS, ids=name_of)
def test_a_product_is_linear_in_each_operand(call, rng):
    target, args, kwargs = call
    for place in factors(call):
        u, v = alike(rng, args[place]), alike(rng, args[place])

        together = target(*with_one(args, place, 2.0 * u - v), **kwargs)
        apart = [target(*with_one(args, place, x), **kwargs) for x in (u, v)]

        np.testing.assert_allclose(together, 2.0 * apart[0] - apart[1], atol=1e-12)


@pytest.mark.parametrize("call", PRODUCTS, ids=name_of)
def test_bilinear_tangent_is_transpose_of_rule(call, rng):
    target, args, kwargs = call
    places = factors(call)
    dots = {place: alike(rng, args[place]) for place in places}
    y_bar = seeded(target(*args, **kwargs), rng)

    y_dot = sum(target(*with_one(args, place, dot), **kwargs) for place, dot in dots.items())
    bars = cotangents(target, args, kwargs, y_bar)

    assert {k: np.shape(bars[k]) for k in places} == {k: np.shape(args[k]) for k in places}
    flowed = sum(np.sum(bar * dots[k]) for k in places for _, bar in paired(args[k], bars[k]))
    assert flowed == pytest.approx(np.sum(y_bar * y_dot), rel=1e-9, abs=1e-12)


def test_user_bilinear_rule_gradient():
    def torque(force, arm):
        return np.asarray(force)[0] * np.asarray(arm)[1] - force[1] * arm[0]

    rules.bilinear(torque)(lambda y_bar, force, arm: (
        y_bar * np.stack((arm[1], -arm[0])), y_bar * np.stack((-force[1], force[0]))
    ))  # fmt: skip

    bars = srcad.grad(lambda f, r: torque(f, r) ** 2, wrt=(0, 1))(np.ones(2), np.array([2.0, 5.0]))

    np.testing.assert_array_equal(bars, [[30.0, -12.0], [-6.0, 6.0]])
