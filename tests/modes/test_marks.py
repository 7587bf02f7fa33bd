"""`hook(x, fn)`: the identity, whose cotangent passes through a function."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose

import srcad
from srcad import grad, hook, jvp, pullback, value_and_grad
from srcad.errors import NotDifferentiableError, SeedError, UnsupportedSyntaxError
from tests.numeric import difference

X = np.array([1.0, 2.0])
seen = []


@pytest.fixture(autouse=True)
def _nothing_seen():
    seen.clear()


def see(bar):
    seen.append(bar)


def test_undifferentiated_hook_returns_its_argument():
    assert hook(X, see) is X
    assert seen == []


def test_hook_receives_accumulated_cotangent_once():
    def f(x):
        y = hook(x * x, see)
        return np.sum(3 * y + np.sin(y) + y * y[0])

    result = grad(f)(X)

    y = X * X
    assert_allclose(result, difference(f, (X,)), rtol=1e-6)
    assert len(seen) == 1
    assert_allclose(seen[0], 3 + np.cos(y) + y[0] + np.array([np.sum(y), 0.0]))


def test_hook_result_replaces_cotangent():
    def f(x):
        return 5.0 * hook(x * x, lambda bar: np.clip(bar, -1, 1))

    assert grad(f)(3.0) == 6.0
    assert type(grad(f)(3.0)) is float
    assert grad(f)(np.float32(3.0)).dtype == np.float32


def test_hook_does_not_change_value():
    def f(x):
        return np.sum(hook(np.tanh(x), lambda bar: 0 * bar))

    value, gradient = value_and_grad(f)(X)

    assert value == f(X)
    assert gradient.tolist() == [0.0, 0.0]


def test_hook_may_write_into_cotangent_copy():
    def scribble(bar):
        bar[:] = 100.0

    def f(x):
        return np.sum(hook(2 * x, scribble) * x)

    assert_allclose(grad(f)(X), 4 * X)


def test_hook_result_not_aliased_by_gradient():
    mine = np.array([1.0, 1.0])

    def f(x):
        y = hook(x, lambda bar: mine)
        return np.sum(y * y)

    result = grad(f)(X)
    result += 5.0

    assert mine.tolist() == [1.0, 1.0]


def test_hook_in_loop_called_once_per_iteration():
    def f(x, n):
        h = x
        for _ in range(n):
            h = hook(2 * h, see)
        return h

    assert grad(f)(1.0, 4) == 16.0
    assert seen == [1.0, 2.0, 4.0, 8.0]


def test_hook_called_only_in_executed_branch():
    def f(x):
        y = hook(3 * x, see) if x > 0 else x * x
        return y * 2

    assert grad(f)(-1.0) == -4.0
    assert seen == []
    assert grad(f)(1.0) == 6.0
    assert seen == [2.0]


def test_two_hooks_on_one_value_run_from_the_outer_to_the_inner():
    def f(x):
        y = hook(hook(x, lambda bar: bar + 1), lambda bar: bar * 10)
        return 3 * y

    assert grad(f)(1.0) == 31.0


def test_hook_receives_whole_structure():
    def clip_norm(bar):
        norm = np.sqrt(sum(np.sum(g * g) for g in bar.values()))
        return {name: g / norm for name, g in bar.items()}

    def loss(params, x):
        params = hook(params, clip_norm)
        return np.sum(params["w"] * x) * 3 + params["b"]

    result = grad(loss)({"w": np.ones(2), "b": 1.0}, X)

    norm = np.sqrt(9 + 36 + 1)
    assert_allclose(result["w"], 3 * X / norm)
    assert_allclose(result["b"], 1 / norm)


@dataclass
class Pair:
    a: float
    b: float


@pytest.mark.parametrize(
    ("make", "double"),
    [
        (lambda x: (x, x * x), lambda bar: (2 * bar[0], None)),
        (lambda x: [x, x * x], lambda bar: [2 * bar[0], None]),
        (lambda x: Pair(x, x * x), lambda bar: Pair(2 * bar.a, None)),
    ],
)
def test_hook_none_part_keeps_cotangent(make, double):
    def f(x):
        p = hook(make(x), double)
        return (p.a if isinstance(p, Pair) else p[0]) + (p.b if isinstance(p, Pair) else p[1])

    assert grad(f)(3.0) == 2.0 + 6.0


def test_hook_of_aliased_list():
    def f(x):
        items = [x, 2 * x]
        same = hook(items, see)
        same.append(3 * x)
        return items[2] * items[0]

    assert value_and_grad(f)(2.0) == (12.0, 12.0)


def test_hook_closure_uses_local_variables():
    scale = 7.0

    def f(x):
        k = 2 * x
        return hook(x, lambda bar: bar * k * scale) * 3

    assert grad(f)(1.0) == 3 * 2 * 7.0


class Watch:
    def __init__(self):
        self.last = None

    def look(self, bar):
        self.last = bar


def test_hook_with_methods_and_partials():
    watch = Watch()

    def f(x):
        y = hook(x * x, watch.look)
        z = hook(y, seen.append)
        return hook(z, partial(np.multiply, 3.0))

    assert grad(f)(2.0) == 12.0
    assert (watch.last, seen) == (3.0, [3.0])


def test_pullback_calls_hook_on_each_use():
    _, back = pullback(lambda x: hook(x, see) * 2, 1.0)

    back(1.0)
    back(5.0)

    assert seen == [2.0, 10.0]


def test_hook_in_recursion_called_per_level():
    def f(x, n):
        return x if n == 0 else hook(2 * f(x, n - 1), see)

    assert grad(f)(1.0, 3) == 8.0
    assert seen == [1.0, 2.0, 4.0]


def test_forward_mode_ignores_hook():
    assert jvp(lambda x: hook(x * x, see) * 2, (3.0,), (1.0,)) == (18.0, 12.0)
    assert seen == []


def test_hook_of_constant_not_called():
    assert grad(lambda x, c: x * hook(c, see))(2.0, 3.0) == 3.0
    assert seen == []


@pytest.mark.parametrize(
    ("fn", "message"),
    [
        (lambda bar: bar[:1], r"shape \(1,\) takes the place of a cotangent of shape \(2,\)"),
        (lambda bar: "text", "a str of <U4"),
        (lambda bar: bar + 1j, "complex"),
    ],
)
def test_mismatched_hook_result_rejected(fn, message):
    def f(x):
        return np.sum(hook(x, fn) * 2)

    with pytest.raises(SeedError, match=message) as caught:
        grad(f)(X)

    assert "return np.sum(hook(x, fn) * 2)" in caught.value.__notes__[0]


def test_hook_result_of_other_structure_rejected():
    with pytest.raises(SeedError, match="a list takes the place of a cotangent that is a tuple"):
        grad(lambda x: sum(hook((x, x), list)))(1.0)


def test_second_derivative_through_hook_rejected():
    def f(x):
        return hook(x, see) ** 2

    with pytest.raises(NotDifferentiableError, match="passes through a hook") as caught:
        grad(grad(f))(1.0)

    assert caught.value.where.line == f.__code__.co_firstlineno + 1


def test_second_derivative_with_constant_hook_cotangent():
    def f(x):
        return hook(x, see) * 3 + x**3

    assert grad(grad(f))(2.0) == 12.0


def test_generated_code_shows_hook_call():
    def f(x):
        y = hook(x * x, see)
        return 3 * y

    text = srcad.grad(f).specialize(2.0) and srcad.grad(f).source
    assert "    # y = hook(x * x, see)  (test_marks.py:" in text
    assert "through_hook(see, 3.0)" in text


# ------------------------------------------------------------- defaults of local functions
def hook_in_loop(x):
    total = 0.0
    for k in range(3):
        y = srcad.hook(x * (k + 1), lambda g, k=k: g * (k + 1))
        total = total + np.sum(y)
    return total


def hook_in_comprehension(x):
    return sum([np.sum(srcad.hook(x * k, lambda g, *, k=k: g * k)) for k in range(1, 4)])


def hook_with_default_from_before(x):
    k = 14.0
    scale = lambda g, by=k: g * by
    k = 1.0
    return np.sum(srcad.hook(x, scale)) * k


def hook_defined_with_def(x):
    total = 0.0
    for k in (1.0, 2.0, 3.0):

        def scaled(g, default_0, k=k, *, again=k * 1.0):
            return g * k * again

        total = total + np.sum(srcad.hook(x, lambda g, f=scaled, k=k: f(g, 0)))
    return total


@pytest.mark.parametrize(
    "f",
    [hook_in_loop, hook_in_comprehension, hook_with_default_from_before, hook_defined_with_def],
)
def test_hook_with_default_reads_value_of_definition(f):
    np.testing.assert_array_equal(srcad.grad(f)(np.ones(2)), [14.0, 14.0])


def test_key_with_default_reads_value_of_definition():
    def f(x):
        sign = -1
        order = sorted([2, 0, 1], key=lambda k, sign=sign: sign * k)
        sign = 1
        return x[order[0]] * sign

    np.testing.assert_array_equal(srcad.grad(f)(np.arange(3.0)), [0.0, 0.0, 1.0])


def squared(x):
    return x * x


@srcad.rules.adjoint(squared)
def squared_with_hook(y_bar, y, x):
    return hook(2 * x * y_bar, see)


def cubed(x):
    return x**3


@srcad.rules.adjoint(cubed)
def cubed_with_cotangent(y_bar, y, x):
    x_bar = 3 * x**2 * y_bar
    with srcad.cotangent(x_bar) as bar:
        bar = np.minimum(bar, 1.0)
    return x_bar


@pytest.mark.parametrize(("f", "name"), [(squared, "hook"), (cubed, "cotangent")])
@pytest.mark.parametrize("derive", [grad, lambda f: grad(lambda x: np.sum(grad(f)(x)))])
def test_mark_in_a_rule_is_refused(f, name, derive):
    with pytest.raises(UnsupportedSyntaxError, match=f"cannot read '{name}' inside a rule"):
        derive(lambda x: np.sum(f(x)))(X)
