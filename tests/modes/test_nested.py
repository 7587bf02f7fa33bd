"""Derivatives inside functions that are differentiated."""

import numpy as np
import pytest

import srcad
from srcad import grad, gradient, stop_gradient, value_and_grad
from srcad.errors import MutationError
from srcad.testing import check_grads

cubed_slope = grad(lambda y: y**3)


def test_a_gradient_of_a_gradient():
    f = lambda x: x**4

    assert grad(grad(f))(2.0) == 48.0
    assert grad(grad(grad(f)))(2.0) == 48.0


def test_a_local_gradient_closes_over_the_outer_argument():
    def f(x):
        return grad(lambda y: y * y * x)(x) * 2

    assert grad(f)(3.0) == 24.0


def test_a_global_gradient():
    assert grad(lambda x: cubed_slope(x) * x)(2.0) == 36.0


def test_no_perturbation_confusion():
    def f(x):
        return x * grad(lambda y: x + y)(1.0)

    assert grad(f)(5.0) == 1.0


def test_value_and_grad_with_aux_inside():
    def f(x):
        (v, aux), g = value_and_grad(lambda y, z: (y * y * z, z * y), wrt=1, has_aux=True)(x, 3 * x)
        return v * g * aux

    assert grad(f)(2.0) == 63 * 2.0**6


def test_gradient_inside():
    assert grad(lambda x: gradient(lambda a, b: a * b * b, x, x)[1])(3.0) == 12.0


def test_a_gradient_inside_a_loop():
    def f(x):
        s = 0.0
        for k in range(3):
            s = s + grad(lambda y: y**3)(x) * k
        return s

    assert grad(f)(2.0) == 36.0


def test_one_step_of_training_differentiated_by_its_rate():
    def loss(w, x, t):
        return np.mean((x @ w - t) ** 2)

    def after_a_step(rate, w, x, t):
        return loss(w - rate * grad(loss)(w, x, t), x, t)

    rng = np.random.default_rng(0)
    args = [0.1, rng.normal(size=3), rng.normal(size=(5, 3)), rng.normal(size=5)]

    check_grads(after_a_step, args, wrt=(0, 1))


def test_a_hessian_vector_product():
    def loss(w):
        return np.sum(w**3)

    def slope_along(w, v):
        return np.sum(grad(loss)(w) * v)

    w, v = np.array([1.0, 2.0]), np.array([1.0, 10.0])

    np.testing.assert_allclose(grad(slope_along)(w, v), 6 * w * v)


def test_variables_assigned_in_inner_function_preserved():
    def f(x):
        seen = []

        def inner(y):
            seen.append(y * x)
            return y * y

        g = grad(inner)(x)
        return g * seen[0]

    assert grad(f)(2.0) == 6 * 4.0


def test_wrt_by_name_and_keyword():
    def f(x):
        g = grad(lambda a, *, k: a * k * k, wrt="k")
        return g(x, k=x)

    assert grad(f)(3.0) == 12.0


def test_stop_gradient_of_numbers_and_structures():
    assert grad(lambda x: stop_gradient(x) * x)(3.0) == 3.0
    assert gradient(lambda a, b: stop_gradient(a) * b, 2, 3) == (0.0, 2.0)
    assert grad(lambda p: stop_gradient(p)["a"] * p["a"])({"a": 3.0}) == {"a": 3.0}


def appended_to_the_stopped(x):
    items = [x, 2 * x]
    kept = srcad.stop_gradient(items)
    kept.append(x * x)
    return items[0] * len(items)


def entered_into_the_original(x):
    items = {"a": x}
    kept = srcad.stop_gradient(items)
    items["b"] = 5 * x
    return kept["a"] * kept.get("b", 1.0)


@pytest.mark.parametrize("f", [appended_to_the_stopped, entered_into_the_original])
def test_write_into_stop_gradient_result_rejected(f):
    with pytest.raises(MutationError, match="'stop_gradient' has returned"):
        grad(f)(3.0)


def test_stop_gradient_of_inactive_list_returns_same_object():
    def f(x):
        items = [1.0, 2.0]
        kept = srcad.stop_gradient(items)
        kept.append(3.0)
        return x * len(items)

    assert grad(f)(2.0) == 3.0


def test_stop_gradient_zero_at_every_order():
    def f(x):
        return stop_gradient(x * x) * x

    assert grad(f)(3.0) == 9.0
    assert grad(grad(f))(3.0) == 0.0


def test_stop_gradient_absent_from_generated_code():
    g = grad(lambda x: stop_gradient(x) * x)
    g(3.0)

    assert "stop" not in g.source.split("\n", 1)[1].replace("stop_gradient(x) * x", "")


def test_dynamic_wrt_option_rejected():
    with pytest.raises(srcad.errors.UnsupportedSyntaxError, match="wrt"):
        grad(lambda x, k: grad(lambda a, b: a * b, wrt=np.argmax(k))(x, x))(2.0, np.ones(2))


# ------------------------------------------------------------------------ recursion
def halved(x, n):
    if n == 0:
        return np.sin(x)
    y = 1.0
    for k in range(n):
        y = y * np.exp(0.1 * k * x)
    return y * halved(0.5 * x, n - 1) + halved(x * x, n - 1)


def test_third_derivative_through_recursion_residuals():
    # What one call has saved is a tuple, but its type does not say so: forward mode refused to
    # follow it, and reverse mode over that did not know that parts are None where a branch that
    # was not taken would have saved them.
    def f(x):
        return halved(x, 2)

    def slope(x):
        return srcad.jvp(f, (x,), (1.0,))[1]

    second, h = srcad.grad(slope), 1e-5

    third_mixed = srcad.grad(lambda x: srcad.jvp(srcad.grad(f), (x,), (1.0,))[1])
    along_slope = srcad.grad(lambda x: srcad.jvp(slope, (x,), (1.0,))[1])

    want = (second(0.4 + h) - second(0.4 - h)) / (2 * h)
    for third in (third_mixed, along_slope):
        assert third(0.4) == pytest.approx(want, rel=1e-8)


class Layer:
    def __init__(self):
        self.weights = np.array([1.0, 2.0, 3.0])
        self.name = "first"

    def __call__(self, x):
        return np.tanh(self.weights * x)


class Model:
    def __init__(self):
        self.layer = Layer()
        self.scale = 2.0
        self.flag = True


def loss_of_model(model, x):
    return np.sum(model.layer(x)) * model.scale * model.flag


def test_tangent_of_gradient_by_an_object_that_stands_still():
    model, x, x_dot = Model(), np.array([0.3, -0.5, 0.9]), np.array([1.0, 0.5, -2.0])
    gradient = srcad.grad(loss_of_model)
    above, below = gradient(model, x + 1e-6 * x_dot), gradient(model, x - 1e-6 * x_dot)

    value, tangent = srcad.jvp(gradient, (model, x), (None, x_dot))
    _, still = srcad.jvp(gradient, (model, x), (None, None))

    assert value.scale == gradient(model, x).scale
    want = (above.layer.weights - below.layer.weights) / 2e-6
    np.testing.assert_allclose(tangent.layer.weights, want, rtol=1e-7)
    assert tangent.scale == pytest.approx((above.scale - below.scale) / 2e-6, rel=1e-7)
    np.testing.assert_array_equal(still.layer.weights, np.zeros(3))


def test_jacobian_of_gradient_by_an_object_reads_it_at_the_call():
    gradient = srcad.grad(loss_of_model)
    columns = srcad.jacobian(lambda model, x: gradient(model, x).layer.weights, wrt=1)
    model, x = Model(), np.array([0.3, -0.5, 0.9])
    columns(model, x)
    model.layer.weights, model.scale = np.array([2.0, 1.0, 0.5]), 5.0
    steps = np.eye(3) * 1e-6

    found = columns(model, x)

    slopes = [
        (gradient(model, x + d).layer.weights - gradient(model, x - d).layer.weights) / 2e-6
        for d in steps
    ]
    np.testing.assert_allclose(found, np.stack(slopes, -1), atol=1e-7)
