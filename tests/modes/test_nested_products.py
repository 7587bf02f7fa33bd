"""Pullbacks, tangents and Hessian products inside functions that are differentiated."""

import numpy as np
import pytest

import srcad
from srcad import grad, hvp, jvp, pullback, value_and_grad
from srcad.errors import SeedError, UnsupportedTypeError, WrtError
from srcad.testing import check_grads
from tests.marks import some
from tests.numeric import difference

A = np.array([[1.0, 2.0, 0.5], [0.3, -1.0, 2.0]])
X = np.array([0.5, -0.3, 1.1])


def newton(a):
    x = 1.0
    for _ in range(5):
        x = 0.5 * (x + a / x)
    return x


def back_called_twice(x):
    y, back = pullback(lambda z: np.sin(z) * x[0], x)
    (a,), (b,) = back(y), back(1.0)
    return np.sum(a * b) + np.sum(y)


def along_itself(x):
    y, y_dot = jvp(lambda z: z * z * x[0], (x,), (x,))
    return np.sum(y * y_dot)


def product_of_a_closure(x):
    return np.sum(hvp(lambda z: np.sum(z**3) * x[1])(x, x * 2) * x)


def back_of_a_loop(x):
    y, back = pullback(newton, x[2])
    return back(y)[0] * y


def tangent_of_a_loop(x):
    y, y_dot = jvp(newton, (x[2],), (1.0,))
    return y * y_dot


def product_of_a_loop(x):
    return hvp(newton)(x[2], 1) * x[2]


def writes_into_its_arguments(x):
    def f(u, k):
        u[1:] = u[:-1] * k * u[1:]
        return u

    y, back = pullback(f, x, x[0])
    du, dk = back(x)
    x[0] = 7.0 * x[1]
    return np.sum(du * y) + dk + x[0]


def written_into_later(x):
    w = x.copy()
    y, back = pullback(lambda z: z * z, w)
    bars = np.sum(back(w)[0])
    w[0] = 100.0
    return bars + np.sum(y) + w[0]


def returns_what_it_captures(x):
    b = np.zeros(3)
    y, _ = pullback(lambda z: b, x)
    y[0] = 5.0
    return np.sum(b * x) + y[0] * x[0]


def in_a_loop(x):
    s = 0.0
    for k in range(3):
        y, back = pullback(lambda z: z**3 * k, x)
        s = s + np.sum(back(x)[0]) + np.sum(jvp(lambda z: z * k * y, (x,), (x,))[1])
    return s


def in_a_branch(x):
    y, back = pullback(lambda z: z**3, x) if x[0] > 1 else pullback(lambda z: np.sin(z) * x[1], x)
    return np.sum(back(y)[0])


def bound_by_a_loop(x):
    back = None
    for k in range(3):
        y, back = pullback(lambda z: z**2 * k, x)
    return np.sum(back(1.0)[0]) + y[0]


def backs_in_a_list(x):
    h, backs = x, []
    for w in (A[:, :2], A[:, 1:]):
        h, back = pullback(lambda w, h: np.tanh(w @ h), w, h[:2])
        backs.append(back)
    g, total = h, 0.0
    for back in reversed(backs):
        w_bar, g = back(g)
        total = total + np.sum(w_bar**2)
    return np.sum(g * x[:2]) + total


def _called_with(back, y):
    return np.sum(back(y)[0])


def back_as_an_argument(x):
    y, back = pullback(lambda z: z**2, x)
    return _called_with(back, y_bar := y * y) + np.sum(y_bar)


def while_it_is_small(x):
    def f(z):
        t = z
        while np.sum(t) < 3.0:
            t = t * t + z * z
        return t

    y, back = pullback(f, x)
    _, y_dot = jvp(f, (x,), (x,))
    return np.sum(back(y * y_dot)[0])


def caught_inside(x):
    def f(z):
        try:
            if z[0] > 0:
                raise ValueError
            return z
        except ValueError:
            return z**3

    y, back = pullback(f, x)
    return np.sum(back(y)[0] * hvp(lambda z: np.sum(f(z)))(x, x))


def tangent_of_a_gradient(x):
    y, y_dot = jvp(grad(lambda z: np.sum(z**4)), (x,), (x,))
    return np.sum(y * y_dot)


def tangent_of_a_tangent(x):
    def slope(t):
        return jvp(lambda z: np.sum(z**2 * t), (t,), (t * t,))[1]

    y, y_dot = jvp(slope, (x,), (x,))
    return y * y_dot


def structures(x):
    def f(t):
        return {"a": t["a"] * t["b"][0], "b": (t["b"][1], "s")}

    _, back = pullback(f, {"a": x, "b": (x * x, 3 * x)})
    (g,) = back({"a": x, "b": (np.ones(3), None)})
    return np.sum(g["a"] * g["b"][0] + g["b"][1] * x)


def lists_of_arrays(x):
    return np.sum(pullback(lambda z: [z, z * z], x)[1]([x, 2 * x])[0])


def lengths_that_the_call_decides(x):
    y, back = pullback(lambda z: z[z > 0] ** 2, x)
    return np.sum(back(y)[0] * jvp(lambda z: z[z > 0] ** 3, (x,), (x,))[1][0])


def names_bound_inside(x):
    seen = []

    def f(z):
        seen.append(z * z)
        return z**3

    _, back = pullback(f, x)
    return np.sum(back(1)[0] * seen[0])


PROGRAMS = [
    back_called_twice, along_itself, product_of_a_closure, back_of_a_loop, tangent_of_a_loop,
    product_of_a_loop, writes_into_its_arguments, written_into_later, returns_what_it_captures,
    in_a_loop, in_a_branch, bound_by_a_loop, backs_in_a_list, back_as_an_argument,
    while_it_is_small, caught_inside, tangent_of_a_gradient, tangent_of_a_tangent, structures,
    lists_of_arrays, lengths_that_the_call_decides, names_bound_inside,
]  # fmt: skip


@pytest.mark.parametrize("f", some(PROGRAMS, lambda k, _: k % 3 == 0), ids=lambda f: f.__name__)
def test_function_of_inner_derivatives_gradient(f):
    value, _ = value_and_grad(f)(X)

    assert value == pytest.approx(f(X.copy()), rel=1e-14)
    check_grads(f, (X,), order=1)


# ------------------------------------------------------------------------ levels
LEVELS = {
    "grad": lambda f, x: grad(f)(x),
    "pullback": lambda f, x: pullback(f, x)[1](1.0)[0],
    "jvp": lambda f, x: jvp(f, (x,), (1.0,))[1],
}


@pytest.mark.parametrize("inner", LEVELS)
@pytest.mark.parametrize("outer", LEVELS)
def test_no_perturbation_confusion_between_levels(outer, inner):
    slope, again = LEVELS[inner], LEVELS[outer]

    assert again(lambda x: x * slope(lambda y: x + y, 1.0), 5.0) == 1.0
    assert again(lambda x: x * slope(lambda y: x * y, 2.0), 3.0) == 6.0
    assert again(lambda x: slope(lambda y: x * y * y, x), 3.0) == 12.0
    assert again(lambda x: slope(lambda y: slope(lambda z: x * y * z, y) * y, x), 3.0) == 12.0


def test_effects_of_an_inner_function_happen_once(capsys):
    def f(x):
        print("here")
        return x**3

    def g(x):
        _, back = pullback(f, x)
        return back(1.0)[0] * back(2.0)[0]

    assert grad(g)(1.0) == 72.0
    assert capsys.readouterr().out == "here\n"


def test_inner_products_with_several_arguments_and_aux():
    def f(x):
        product, aux = hvp(lambda a, b: (a**3 * b, a), wrt=1, has_aux=True)(x, x * x, v=1.0)
        by_both = hvp(lambda a, b: a**2 * b, wrt=(0, "b"))(x, 3 * x, v=(1.0, x))
        (b_bar,) = pullback(lambda a, *, b: a * b * b, x, b=x, wrt="b")[1](2.0)
        return product + aux + by_both[0] * by_both[1] + b_bar

    x = 1.5
    assert f(x) == x + (6 * x + 2 * x * x) * (2 * x) + 4 * x * x
    check_grads(f, (x,))


# ------------------------------------------------------------------------ refusals
SQUARE = lambda z: z * z  # noqa: E731
CASES = {
    "a direction of another shape": lambda x: jvp(SQUARE, (x,), (x[:2],))[1],
    "fewer directions": lambda x: jvp(SQUARE, (x,), (x, x))[1],
    "a seed of another shape": lambda x: pullback(SQUARE, x)[1](x[:1])[0],
    "a seed whose length the call decides": lambda x: pullback(lambda z: z[z > 0], x)[1](x)[0],
    "two seeds": lambda x: pullback(SQUARE, x)[1](x, x)[0],
    "a seed that is no number": lambda x: pullback(SQUARE, x)[1]("x")[0],
    "a shorter list": lambda x: pullback(lambda z: [z, z], x)[1]([x])[0],
    "no direction": lambda x: hvp(lambda z: np.sum(z**3))(x),
    "a number for an array": lambda x: hvp(lambda z: np.sum(z**3))(x, 1.0),
    "fewer directions than arguments": lambda x: hvp(lambda z: np.sum(z**3), (0,))(x, v=(x, x))[0],
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_mismatched_inner_seed_rejected(case):
    f = CASES[case]

    with pytest.raises(SeedError):
        grad(lambda x: np.sum(f(x)))(X)
    with pytest.raises((SeedError, TypeError)):
        f(X)


def test_inner_pullback_by_inactive_argument_rejected():
    def f(x):
        return pullback(lambda z, n: z[n], x, 1, wrt=1)[1](1.0)[0]

    with pytest.raises(WrtError, match="inner gradient"):
        grad(f)(X)


def test_functions_in_dynamic_length_list_rejected():
    def f(x, n):
        backs = []
        for k in range(n):
            backs.append(pullback(lambda z: z**2 * k, x)[1])  # noqa: B023
        return backs[1](1.0)[0]

    with pytest.raises(UnsupportedTypeError, match="cannot keep a function in a list"):
        srcad.grad(f)(1.0, 3)


# ------------------------------------------------------------------------ recursion
def _powers(z, n):
    return z if n == 0 else z * _powers(z * 0.5, n - 1)


def test_third_derivative_of_recursion_adds_residuals_per_leaf():
    # It was wrong without a word: the cotangents of two tuples were joined by their ``+``.
    f = lambda x: _powers(x, 3)  # noqa: E731 - x**4 / 64

    third = grad(grad(grad(f)))(1.3)
    along = grad(lambda x: np.sum(pullback(f, x)[1](_powers(x, 3))[0]))

    assert third == pytest.approx(24 * 1.3 / 64)
    assert grad(along)(1.3) == pytest.approx(6 * 28 * 1.3**5 / 64**2)


def test_none_in_seed_of_inner_pullback_is_zero():
    def function(q):
        return q**3, {"a": np.sin(q), "b": [q, 2 * q], "n": 3}

    def slopes(x):
        return pullback(function, x)[1]((x, {"a": None, "b": None, "n": None}))[0]

    np.testing.assert_allclose(slopes(X), 3 * X**3, rtol=1e-14)
    np.testing.assert_allclose(grad(lambda x: np.sum(slopes(x)))(X), 9 * X**2, rtol=1e-14)


def test_none_in_tangent_of_inner_jvp_is_zero():
    def along_second(x):
        return jvp(lambda p: p["a"] * p["b"], ({"a": x, "b": x},), ({"a": None, "b": x},))[1]

    np.testing.assert_allclose(grad(lambda x: np.sum(along_second(x)))(X), 2 * X, rtol=1e-14)


# ------------------------------------------------------------------------ seeds of numbers
def _product_of_items(x):
    s = 1.0
    for item in x:
        s = s * item
    return s


def _sum_by_index(x):
    s = 1.0
    for k in range(2):
        s = s + x[k] * s
    return s


def _product_in_while(x):
    s, k = 1.0, 0
    while k < len(x):
        s, k = s * x[k] + s * s, k + 1
    return s


@pytest.mark.parametrize("f", [_product_of_items, _sum_by_index, _product_in_while])
@pytest.mark.parametrize("k", [0, 1])
def test_inner_pullback_of_loop_that_starts_at_constant_has_right_derivative(f, k):
    # The seed was an array without axes, which was saved and then written into.
    g = lambda x: pullback(f, x)[1](1.0)[0][k]  # noqa: E731
    x = np.array([0.2, 1.2])

    np.testing.assert_allclose(grad(g)(x), difference(g, (x,)), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    "seed",
    [
        lambda x: np.array(x[1]),
        lambda _: 1,
        lambda x: 2 * x[0],
    ],
)
def test_seed_of_inner_pullback_is_converted_to_number(seed):
    g = lambda x: pullback(_product_of_items, x)[1](seed(x))[0][1]  # noqa: E731
    x = np.array([0.2, 1.2])

    np.testing.assert_allclose(grad(g)(x), difference(g, (x,)), rtol=1e-6, atol=1e-9)


def test_tangent_of_inner_jvp_of_number_is_converted_to_number():
    def powers(a):
        s = 1.0
        for _ in range(3):
            s = s * a
        return s

    g = lambda x: jvp(powers, (x[0],), (np.asarray(x[1]),))[1]  # noqa: E731 - 3 x0**2 x1

    np.testing.assert_allclose(grad(g)(np.array([0.7, 1.2])), [6 * 0.7 * 1.2, 3 * 0.49])


# ------------------------------------------------------------------------ lengths
def _squares_by_index(m):
    s = 0.0
    for i in range(m.shape[0]):
        for j in range(m.shape[1]):
            s += m[i, j] ** 2 * m[i][j - 1]
    return s


@pytest.mark.parametrize(
    "inner",
    [
        lambda *args: srcad.jacrev(_squares_by_index)(*args),
        lambda *args: grad(_squares_by_index)(*args),
        lambda pair: grad(lambda p: _squares_by_index(p["m"]))(pair)["m"],
    ],
)
def test_pullback_of_inner_gradient_reads_no_length_off_its_seed(inner):
    # A length that the forward half needs was read off the seed, which has the same shape.
    m, seed = np.arange(6.0).reshape(2, 3) + 1, np.array([[1.0, -2.0, 0.5], [0.3, 1.0, -1.0]])
    one = inner.__code__.co_varnames[0] == "pair"
    argument = {"m": m} if one else m

    (found,) = pullback(inner, argument)[1](seed)

    slopes = lambda m: 2 * m * np.roll(m, 1, 1) + np.roll(m, -1, 1) ** 2  # noqa: E731
    wanted = difference(lambda m: np.sum(seed * slopes(m)), (m,))
    np.testing.assert_allclose(found["m"] if one else found, wanted, rtol=1e-6)


# ------------------------------------------------------------------------ names bound on one path
def bound_on_one_path(x, flag):
    if flag > 0:
        y = x * 2
    try:
        return y * x
    except UnboundLocalError:
        return x * 7


def slope_by_pullback(x):
    _, back = srcad.pullback(lambda x: bound_on_one_path(x, x) + bound_on_one_path(x, 0.4 - x), x)
    return back(1.0)[0]


@pytest.mark.parametrize("x", [0.3, 0.5])
def test_pullback_of_function_with_name_bound_on_one_path(x):
    step = 1e-6
    expected = (slope_by_pullback(x + step) - slope_by_pullback(x - step)) / (2 * step)

    assert srcad.grad(slope_by_pullback)(x) == pytest.approx(expected, rel=1e-6)


def pullback_bound_on_one_path(x):
    if x > 1:
        _, back = srcad.pullback(bound_on_one_path, x, 1.0)
    return back(1.0)[0]


def test_pullback_bound_on_one_path_raises_on_the_other():
    assert srcad.grad(pullback_bound_on_one_path)(1.5) == 4.0
    with pytest.raises(UnboundLocalError, match="'back'"):
        srcad.grad(pullback_bound_on_one_path)(0.5)
