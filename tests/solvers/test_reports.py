"""Further results of solvers: reports of ``full_output``, and arguments in lists."""

from dataclasses import dataclass, field

import numpy as np
import pytest
from scipy.integrate import dblquad
from scipy.optimize import (
    bisect,
    brentq,
    curve_fit,
    fixed_point,
    fsolve,
    least_squares,
    minimize,
    newton,
    root_scalar,
)

import srcad


@pytest.mark.parametrize("solver", [bisect, brentq])
def test_root_in_the_report_has_the_derivative_of_the_root(solver):
    def f(c):
        found, report = solver(lambda z: z**3 - c, 0.0, 5.0, full_output=True, xtol=1e-13)
        return found * report.root if report.converged and report.iterations else 0.0

    assert srcad.grad(f)(8.0) == pytest.approx(1 / 3, rel=1e-9)
    assert srcad.jvp(f, (8.0,), (1.0,))[1] == pytest.approx(1 / 3, rel=1e-9)
    assert srcad.hessian(f)(8.0) == pytest.approx(2 / 3 * (-1 / 3) * 8 ** (-4 / 3), rel=1e-9)


def test_root_in_the_report_of_newton_has_the_derivative_of_the_root():
    def f(c):
        _, report = newton(lambda z: z**3 - c, 1.5, full_output=True, tol=1e-13)
        return report.root if report.flag == "converged" else 0.0

    assert srcad.grad(f)(8.0) == pytest.approx(1 / 12, rel=1e-9)


def test_residuals_of_a_fit_have_derivatives_in_its_report():
    x = np.arange(5.0)
    a = np.stack([np.ones(5), x]).T
    weights = np.array([1.0, -2.0, 0.5, 0.3, 1.2])

    def f(y):
        fit = curve_fit(lambda x, p, q: p + q * x, x, y, jac=lambda x, p, q: a, full_output=True)
        popt, pcov, info, message, status = fit
        assert status in (1, 2, 3, 4), message
        return weights @ info["fvec"] + popt[0] + 0 * info["nfev"]

    y = np.array([0.9, 2.1, 2.9, 4.2, 5.1])
    inverse = np.linalg.pinv(a)

    want = (a @ inverse - np.eye(5)).T @ weights + inverse[0]
    np.testing.assert_allclose(srcad.grad(f)(y), want, rtol=1e-9)


def test_result_is_read_as_a_dict():
    def f(a, b):
        found = minimize(lambda x: (x[0] - a) ** 2 + b * x[0] ** 2, [1.0], tol=1e-11)
        if "x" not in found or "no_such_field" in found:
            return 0.0
        return found.get("x")[0] + found.get("fun") + found.get("no_such_field", 0.0)

    # The minimum is a / (1 + b), and its value a**2 * b / (1 + b).
    want = 1 / 3 + 2 * 0.7 * 2 / 3, -0.7 / 9 + 0.49 / 9
    np.testing.assert_allclose(srcad.grad(f, wrt=(0, 1))(0.7, 2.0), want, rtol=1e-6)
    assert srcad.jvp(f, (0.7, 2.0), (None, 1.0))[1] == pytest.approx(want[1], rel=1e-6)


@pytest.mark.parametrize("name", ["fjac", "r", "qtf"])
def test_factors_of_a_jacobian_in_the_report_of_fsolve_are_refused(name):
    def f(c):
        _, info, _, _ = fsolve(lambda z: z**3 - c, [1.5], full_output=True)
        return np.sum(info[name])

    with pytest.raises(srcad.errors.UnsupportedSyntaxError, match=f"'.{name}'"):
        srcad.grad(f)(8.0)


def test_residuals_in_the_report_of_fsolve_are_constants():
    def f(c):
        found, info, status, _ = fsolve(lambda z: z**3 - c, [1.5], full_output=True, xtol=1e-13)
        assert status == 1
        assert np.abs(info["fvec"]).max() < 1e-6
        return found[0] + info.get("nfev") * info["fvec"][0]

    assert srcad.grad(f)(8.0) == pytest.approx(1 / 12, rel=1e-9)


def test_list_of_further_arguments_is_unpacked_where_scipy_does():
    def by_newton(p, c):
        return newton(lambda z, p, c: z**3 + p * z - c, 1.0, args=[p, c], tol=1e-13)

    def by_least_squares(p, c):
        fit = least_squares(lambda z, p, c: z**3 + p * z - c, [1.0], args=[p, c], xtol=1e-13)
        return fit.x[0]

    def by_fixed_point(p, c):
        return fixed_point(lambda z, p, c: (c - z**3) / p, 1.0, args=[p, c], xtol=1e-14)

    z = brentq(lambda z: z**3 + 4.0 * z - 2.0, 0.0, 2.0, xtol=1e-14)
    for f in (by_newton, by_least_squares, by_fixed_point):
        want = np.array([-z, 1.0]) / (3 * z**2 + 4.0)
        np.testing.assert_allclose(srcad.grad(f, wrt=(0, 1))(4.0, 2.0), want, rtol=1e-5)


def test_list_of_further_arguments_of_a_double_integral():
    def f(c):
        return dblquad(lambda y, x, c, k: c * x * y**k, 0, 1, 0, c, args=[c, 2])[0]

    assert srcad.grad(f)(1.5) == pytest.approx(4 / 6 * 1.5**3, rel=1e-9)


def test_list_of_one_equation_in_a_bracket_is_one_argument():
    def f(p, c):
        return brentq(lambda z, both: z**3 + both[0] * z - both[1], 0, 5, args=[p, c], xtol=1e-14)

    z = f(4.0, 2.0)
    want = np.array([-z, 1.0]) / (3 * z**2 + 4.0)
    np.testing.assert_allclose(srcad.grad(f, wrt=(0, 1))(4.0, 2.0), want, rtol=1e-9)


@dataclass
class Pipe:
    width: float
    notes: list = field(default_factory=list)
    names: dict = field(default_factory=dict)

    def loss(self, flow):
        return flow**3 / self.width

    def flow(self, pressure):
        return root_scalar(lambda q: self.loss(q) - pressure, bracket=(0.0, 9.0), xtol=1e-14).root


def test_data_class_with_a_list_is_given_to_a_solver():
    def f(width):
        return Pipe(width).flow(4.0)

    assert srcad.grad(f)(2.0) == pytest.approx(1 / 3, rel=1e-9)


@dataclass
class Recorder:
    width: float
    notes: list = field(default_factory=list)

    def loss(self, flow):
        self.notes.append(1)
        return flow**3 / self.width


def test_data_class_that_changes_its_list_is_refused():
    def f(width):
        return brentq(Recorder(width).loss, -1.0, 9.0)

    with pytest.raises(srcad.errors.UnsupportedTypeError, match="changes items"):
        srcad.grad(f)(2.0)
