"""Attributes of local functions: numbers and texts."""

import functools

import numpy as np
import pytest

import srcad
from srcad.errors import SrcadError
from tests.numeric import difference


def weighted(x):
    return 2.0 * x


weighted.weight = 5.0


def by_name_or_default(x):
    def f(t):
        return t * x

    f.weight = 3.0
    return f(x) * getattr(f, "weight", 1.0) * hasattr(f, "weight") * getattr(f, "other", 7.0)


def in_a_list_before(x):
    fs = [lambda t: t * x]
    fs[0].weight = 3.0
    return fs[0](x) * fs[0].weight


def set_in_a_loop(x):
    def f(t):
        return t * x

    for k in range(3):
        f.weight = float(k)
    return f(x) * f.weight


def set_by_another_function(x):
    def f(t):
        return t * x

    def change(g):
        g.weight = 5.0

    change(f)
    return f(x) * f.weight


def made_twice(x):
    def make(weight):
        def f(t):
            return t * x

        f.weight = weight
        return f

    f, g = make(2.0), make(3.0)
    return f(x) * g.weight + g(x * x) * f.weight


def set_on_one_path(x):
    def f(t):
        return t * x

    if x > 0:
        f.weight = 2.0
    return f(x) * getattr(f, "weight", 7.0)


def wrapped(x):
    def twice(f):
        @functools.wraps(f)
        def g(*args):
            return 2 * f(*args)

        return g

    def f(t):
        return t * x

    f.weight = 4.0
    g = twice(f)
    return g(x) * g.weight


def wrapped_outside(x):
    @functools.wraps(weighted)
    def f(t):
        return weighted(t) * x

    return f(x) * getattr(f, "weight", 1.0)


def wrapped_without_attributes(x):
    @functools.wraps(weighted, updated=())
    def f(t):
        return weighted(t) * x

    return f(x) * getattr(f, "weight", 1.0)


PROGRAMS = [
    by_name_or_default, in_a_list_before, set_in_a_loop, set_by_another_function, made_twice,
    set_on_one_path, wrapped, wrapped_outside, wrapped_without_attributes,
]  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS)
def test_value_and_gradient_agree_with_the_plain_call(f):
    value, slope = srcad.value_and_grad(f)(1.3)

    assert value == f(1.3)
    np.testing.assert_allclose(slope, difference(f, (1.3,)), rtol=1e-7)


def test_attribute_of_a_wrapped_function_may_change_between_calls(monkeypatch):
    gradient = srcad.value_and_grad(wrapped_outside)

    for weight in (5.0, True, False, 7.5, 2):
        monkeypatch.setattr(weighted, "weight", weight)
        assert gradient(1.3)[0] == wrapped_outside(1.3)


def deleted(x):
    def f(t):
        return t * x

    f.weight = 3.0
    del f.weight
    return f(x) * getattr(f, "weight", 2.0)


def of_its_dict(x):
    def f(t):
        return t * x

    f.weight = 3.0
    return f(x) * vars(f)["weight"]


def array(x):
    def f(t):
        return t * x

    f.weight = np.ones(2)
    return f(x) * np.sum(f.weight)


@pytest.mark.parametrize("f", [deleted, of_its_dict, array])
def test_other_uses_are_refused(f):
    with pytest.raises(SrcadError) as caught:
        srcad.grad(f)(1.3)

    assert caught.value.where is not None
