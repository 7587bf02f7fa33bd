"""SciPy's solvers with our derivatives: no more iterations than with those by hand."""

import numpy as np
import pytest

import srcad
from srcad import grad, hessian, hvp, jacfwd, jacobian
from srcad.errors import SeedError

optimize = pytest.importorskip("scipy.optimize")
integrate = pytest.importorskip("scipy.integrate")


# ------------------------------------------------------------------------ minimise
def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


START = np.array([1.3, 0.7, 0.8, 1.9, 1.2])


@pytest.mark.parametrize("method", ["trust-ncg", "trust-krylov", "Newton-CG"])
def test_minimize_by_products_with_the_hessian(method):
    by_hand = optimize.minimize(rosenbrock, START, method=method, jac=optimize.rosen_der,
                                hessp=optimize.rosen_hess_prod)  # fmt: skip

    found = optimize.minimize(rosenbrock, START, method=method, jac=grad(rosenbrock),
                              hessp=hvp(rosenbrock))  # fmt: skip

    assert found.success
    np.testing.assert_allclose(found.x, np.ones(5), atol=1e-3)
    assert found.nit <= by_hand.nit


@pytest.mark.parametrize("method", ["trust-exact", "trust-ncg", "dogleg"])
def test_minimize_by_the_hessian(method):
    start = np.array([1.1, 1.2]) if method == "dogleg" else START
    by_hand = optimize.minimize(rosenbrock, start, method=method, jac=optimize.rosen_der,
                                hess=optimize.rosen_hess)  # fmt: skip

    found = optimize.minimize(rosenbrock, start, method=method, jac=grad(rosenbrock),
                              hess=hessian(rosenbrock))  # fmt: skip

    assert found.success
    assert found.nit <= by_hand.nit


def test_minimize_with_arguments_takes_the_direction_second():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 4))
    y = np.sign(X @ np.array([1.0, -2.0, 0.5, 0.0]) + 0.3 * rng.normal(size=40))

    def loss(w, X, y):
        return np.sum(np.log1p(np.exp(-y * (X @ w)))) + 0.1 * np.sum(w**2)

    def slope(w, X, y):
        return -X.T @ (y / (1.0 + np.exp(y * (X @ w)))) + 0.2 * w

    def bent(w, p, X, y):
        s = 1.0 / (1.0 + np.exp(-y * (X @ w)))
        return X.T @ (s * (1.0 - s) * (X @ p)) + 0.2 * p

    hv = hvp(loss)
    by_hand = optimize.minimize(loss, np.zeros(4), args=(X, y), method="trust-ncg", jac=slope,
                                hessp=bent)  # fmt: skip
    found = optimize.minimize(loss, np.zeros(4), args=(X, y), method="trust-ncg", jac=grad(loss),
                              hessp=lambda w, p, *args: hv(w, *args, v=p))  # fmt: skip

    assert found.success
    assert found.nit <= by_hand.nit
    np.testing.assert_allclose(found.x, by_hand.x, rtol=1e-6)
    with pytest.raises(SeedError, match="shape"):  # the last of `args` is no direction
        optimize.minimize(loss, np.zeros(4), args=(X, y), method="trust-ncg", jac=grad(loss),
                          hessp=hv)  # fmt: skip


# ------------------------------------------------------------------------ least squares, roots
TIMES = np.linspace(0.0, 4.0, 30)
DATA = 2.5 * np.exp(-1.3 * TIMES) + 0.5 + 0.01 * np.sin(7.0 * TIMES)


def decay(t, a, b, c):
    return a * np.exp(-b * t) + c


def slopes(t, a, b, c):
    return np.stack([np.exp(-b * t), -a * t * np.exp(-b * t), np.ones_like(t)], axis=1)


def test_least_squares_by_the_jacobian():
    def residuals(p):
        return decay(TIMES, p[0], p[1], p[2]) - DATA

    by_hand = optimize.least_squares(residuals, np.ones(3), jac=lambda p: slopes(TIMES, *p))
    found = optimize.least_squares(residuals, np.ones(3), jac=jacobian(residuals))

    assert found.success
    np.testing.assert_allclose(found.x, by_hand.x, rtol=1e-8)
    assert found.nfev <= by_hand.nfev


def test_curve_fit_by_the_jacobian():
    by = jacobian(decay, wrt=(1, 2, 3))

    def jac(t, *p):
        return np.stack(by(t, *p), -1)

    start = (1.0, 1.0, 1.0)
    hand, _, told, *_ = optimize.curve_fit(decay, TIMES, DATA, start, jac=slopes, full_output=True)
    found, _, ours, *_ = optimize.curve_fit(decay, TIMES, DATA, start, jac=jac, full_output=True)

    np.testing.assert_allclose(found, hand, rtol=1e-8)
    assert ours["nfev"] <= told["nfev"]


@pytest.mark.parametrize("method", ["hybr", "lm"])
def test_root_by_the_jacobian(method):
    def broyden(x):
        y = (3.0 - 2.0 * x) * x + 1.0
        y[1:] -= x[:-1]
        y[:-1] -= 2.0 * x[1:]
        return y

    def by_hand(x):
        return np.diag(3.0 - 4.0 * x) - np.eye(len(x), k=-1) - 2.0 * np.eye(len(x), k=1)

    start = -np.ones(8)
    known = optimize.root(broyden, start, method=method, jac=by_hand)
    found = optimize.root(broyden, start, method=method, jac=jacobian(broyden))

    assert found.success
    np.testing.assert_allclose(found.x, known.x, rtol=1e-8)
    assert found.nfev <= known.nfev
    assert found.njev <= known.njev


# ------------------------------------------------------------------------ stiff equations
@pytest.mark.parametrize("method", ["Radau", "BDF"])
def test_a_stiff_equation_by_the_jacobian(method):
    def robertson(t, y):
        fast, slow = 1e4 * y[1] * y[2], 3e7 * y[1] ** 2
        return np.array([-0.04 * y[0] + fast, 0.04 * y[0] - fast - slow, slow])

    def by_hand(t, y):
        return np.array(
            [
                [-0.04, 1e4 * y[2], 1e4 * y[1]],
                [0.04, -1e4 * y[2] - 6e7 * y[1], -1e4 * y[1]],
                [0.0, 6e7 * y[1], 0.0],
            ]
        )

    start, span = np.array([1.0, 0.0, 0.0]), (0.0, 100.0)
    known = integrate.solve_ivp(robertson, span, start, method=method, jac=by_hand)
    found = integrate.solve_ivp(robertson, span, start, method=method, jac=jacfwd(robertson, "y"))

    assert found.success
    assert len(found.t) <= len(known.t)
    assert (found.nfev, found.njev, found.nlu) <= (known.nfev, known.njev, known.nlu)
    np.testing.assert_allclose(found.y[:, -1], known.y[:, -1], rtol=1e-6)


def test_value_of_fit_keeps_attributes_beside_its_items():
    """In SciPy before 1.18 `intercept_stderr` is an attribute, not an item of the named tuple."""
    stats = pytest.importorskip("scipy.stats")
    x, y = np.arange(5.0), np.array([1.0, 3.0, 2.0, 5.0, 4.0])

    value, _ = srcad.jvp(lambda x: stats.linregress(x, y), (x,), (np.ones(5),))

    assert value.intercept_stderr == stats.linregress(x, y).intercept_stderr
    assert repr(value) == repr(stats.linregress(x, y))
