"""Errors and warnings about solvers: line, cause, and a remedy that works when it is pasted."""

import ctypes
import functools
import linecache
import warnings

import numpy as np
import pytest
from scipy import LowLevelCallable
from scipy.integrate import quad
from scipy.interpolate import BSpline
from scipy.optimize import brentq, fsolve, minimize, newton, root

import srcad
from srcad import rules
from srcad.errors import MissingRuleError, RuleError, SourceUnavailableError, UnsupportedTypeError
from srcad.frontend.prelude import solvers

CUBE = "def cube(z, a):\n    return z**3 - a\n"


def made(text, filename="<string>"):
    space = {}
    exec(compile(text, filename, "exec"), space)
    return space["cube"]


def refused(f, kind, *words):
    """Differentiate a program, which is refused with these words and the line of its call."""
    with pytest.raises(kind) as found:
        srcad.grad(f)(2.0)
    text = str(found.value)
    assert "test_messages.py:" in text
    assert all(word in text for word in ("why:", "help:", *words))
    return found.value


# ---------------------------------------------------------------------------- without source
@pytest.mark.parametrize("wrap", [False, True], ids=["args", "partial"])
def test_function_without_source_is_refused_at_the_call(wrap):
    cube = made(CUBE)

    def f(a):
        if wrap:
            return brentq(functools.partial(cube, a=a), 0.0, 5.0)
        return brentq(cube, 0.0, 5.0, args=(a,))

    error = refused(f, SourceUnavailableError, "'cube' is not available", "linecache.cache")
    assert error.where.function == "f"


def test_helper_without_source_is_refused_at_its_call():
    cube = made(CUBE)

    error = refused(lambda a: cube(1.0, a) ** 2, SourceUnavailableError, "'cube'", "linecache")

    assert error.where.line > 0


def test_registered_text_is_a_source():
    text, filename = CUBE, "<registered by a test>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    cube = made(text, filename)

    assert srcad.grad(lambda a: brentq(cube, 0.0, 5.0, args=(a,)))(8.0) == pytest.approx(1 / 12)


def test_function_without_source_that_captures_nothing_active_is_called():
    cube = made(CUBE)

    assert srcad.grad(lambda a: brentq(cube, 0.0, 5.0, args=(8.0,)) * a)(3.0) == pytest.approx(2.0)


# ---------------------------------------------------------------------------- complex unknowns
def test_complex_unknowns_are_refused_with_their_parts():
    words = "complex unknowns", "r = fun(v[0] + 1j * v[1])", "[z0.real, z0.imag]"

    refused(lambda a: np.real(newton(lambda z: z**2 + a, 1 + 1j)), UnsupportedTypeError, *words)


def test_real_and_imaginary_parts_are_unknowns():
    def f(a):
        def fun(z):
            return z**2 + a

        def parts(v):
            r = fun(v[0] + 1j * v[1])
            return np.array([r.real, r.imag])

        return root(parts, [1.0, 1.0], tol=1e-13).x[1]

    assert srcad.grad(f)(2.0) == pytest.approx(0.5 / np.sqrt(2.0))


# ---------------------------------------------------------------------------- warnings
@pytest.fixture(autouse=True)
def forgotten_warnings(monkeypatch):
    monkeypatch.setattr(solvers, "_WARNED", set())


def warned(f, a):
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        srcad.grad(f)(a)
    assert all(issubclass(one.category, srcad.SolverWarning) for one in noted)
    return [str(one.message) for one in noted]


def test_warning_of_singular_equations_has_a_remedy():
    def f(a):
        return np.sum(minimize(lambda z: (z[0] + z[1] - a) ** 2, np.ones(2)).x)

    (text,) = warned(f, 1.0)

    assert "test_messages.py:" in text
    assert "leave out equations" in text
    assert "srcad.stop_gradient(...)" in text


def test_stopped_solution_of_singular_equations_is_constant():
    def f(a):
        found = minimize(lambda z: (z[0] + z[1] - a) ** 2, np.ones(2))
        return np.sum(srcad.stop_gradient(found.x)) * a

    assert srcad.grad(f)(1.0) == pytest.approx(1.0)


@pytest.mark.parametrize("full", [False, True])
def test_fsolve_that_has_not_converged_warns_with_its_line(full):
    def f(a):
        found = fsolve(lambda z: z**2 + a, np.array([1.0, 2.0]), full_output=full)
        return np.sum(found[0] if full else found)

    (text,) = warned(f, 1.0)

    assert "test_messages.py:" in text
    assert "fsolve has not converged: The iteration" in text
    assert "allow more iterations" in text


def test_report_of_a_bracket_that_has_not_converged_warns():
    def f(a):
        return brentq(lambda z: z**3 - a, 0.0, 5.0, maxiter=2, full_output=True, disp=False)[0]

    (text,) = warned(f, 2.0)

    assert "brentq has not converged" in text


def test_bad_option_of_fsolve_is_an_error_of_the_plain_call():
    def f(a):
        return fsolve(lambda z: z**3 - a, 1.0, xtol=-1.0)[0]

    with pytest.raises(TypeError, match="Improper input"):
        f(1.0)
    with pytest.raises(TypeError, match="Improper input"):
        srcad.grad(f)(1.0)


# ---------------------------------------------------------------------------- estimates
def test_inverse_hessian_is_refused_and_can_be_computed():
    def f(a):
        fun = lambda z: a * np.sum(z**4) + a**2 * np.sum((z - 1.0) ** 2)  # noqa: E731
        result = minimize(fun, np.ones(2), tol=1e-9)
        return result.hess_inv[0, 0]

    def computed(a):
        fun = lambda z: a * np.sum(z**4) + a**2 * np.sum((z - 1.0) ** 2)  # noqa: E731
        jac = lambda z: 4 * a * z**3 + 2 * a**2 * (z - 1.0)  # noqa: E731
        result = minimize(fun, np.ones(2), jac=jac, tol=1e-12)
        return np.linalg.inv(srcad.hessian(fun)(result.x))[0, 0]

    help = "np.linalg.inv(srcad.hessian(fun)(result.x))"
    refused(f, srcad.errors.UnsupportedSyntaxError, "'.hess_inv'", "estimate", help)

    z = np.roots([4.0, 0.0, 4.0, -4.0])  # the minimum for a = 2: 4 a z^3 + 2 a^2 (z - 1) = 0
    z = z[np.isreal(z)].real[0]
    z_dot = -(4 * z**3 + 8 * (z - 1)) / (24 * z**2 + 8)
    want = -(12 * z**2 + 48 * z * z_dot + 8) / (24 * z**2 + 8) ** 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert srcad.grad(computed)(2.0) == pytest.approx(want, rel=1e-5)


# ---------------------------------------------------------------------------- residuals
def doubled(c):
    return np.array([c, 2 * c])


def both(c):
    return {"a": np.array([c, c]), "b": c**2}


def test_residual_of_the_wrong_shape_says_which_is_right():
    rules.implicit(doubled, override=True)(lambda x, c: x[0] - c)
    words = "'doubled' is a number where", "return a", "for each unknown"
    refused(lambda c: np.sum(doubled(c)), RuleError, *words)

    rules.implicit(doubled, override=True)(lambda x, c: np.array([x[0] - c, x[1] - 2 * c]))
    assert srcad.grad(lambda c: np.sum(doubled(c)))(2.0) == pytest.approx(3.0)


def of_both(c):
    found = both(c)
    return np.sum(found["a"]) + found["b"]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda x, c: {"a": x["a"] - c},
        lambda x, c: x["a"] - c,
        lambda x, c: {"a": x["a"][0] - c, "b": x["b"] - c**2},
    ],
    ids=["key", "kind", "shape"],
)
def test_residual_of_another_structure_says_which_is_right(wrong):
    rules.implicit(both, override=True)(wrong)
    refused(of_both, RuleError, "return a dict of 'a': ", "'b': a number", "each unknown")

    rules.implicit(both, override=True)(lambda x, c: {"a": x["a"] - c, "b": x["b"] - c**2})
    assert srcad.grad(of_both)(2.0) == pytest.approx(6.0)


# ---------------------------------------------------------------------------- compiled code
@pytest.fixture
def library():
    try:
        found = ctypes.CDLL("libm.so.6")
    except OSError:
        pytest.skip("no C library of this name")
    found.pow.restype, found.pow.argtypes = ctypes.c_double, (ctypes.c_double, ctypes.c_double)
    found.cos.restype, found.cos.argtypes = ctypes.c_double, (ctypes.c_double,)
    return found


def test_compiled_integrand_is_refused_where_it_is_differentiated(library):
    compiled = LowLevelCallable(library.cos)

    words = "LowLevelCallable", "given to quad", "return compiled.function(x1)"
    refused(lambda a: quad(compiled, 0.0, a)[0], MissingRuleError, *words)

    assert srcad.grad(lambda a: a * quad(compiled, 0.0, 1.0)[0])(2.0) == pytest.approx(np.sin(1.0))


def test_python_function_around_compiled_code_has_a_rule(library):
    compiled = LowLevelCallable(library.cos)

    def in_python(x1):
        return compiled.function(x1)

    @rules.derivative(in_python)
    def in_python_rule(x1):
        return -np.sin(x1)

    assert srcad.grad(lambda a: quad(in_python, 0.0, a)[0])(2.0) == pytest.approx(np.cos(2.0))
    assert srcad.hessian(lambda a: quad(in_python, 0.0, a)[0])(2.0) == pytest.approx(-np.sin(2.0))


def test_function_of_a_foreign_library_is_refused_with_a_function_around_it(library):
    compiled = library.pow
    words = "return compiled(x1, x2)", "@srcad.rules.derivative(in_python)"
    refused(lambda a: brentq(compiled, 0.1, 5.0, args=(a,)), MissingRuleError, *words)
    refused(lambda a: compiled(2.0, a), MissingRuleError, *words)

    def in_python(x1, x2):
        return compiled(x1, x2)

    @rules.derivative(in_python)
    def in_python_rule(x1, x2):
        return x2 * x1 ** (x2 - 1), x1**x2 * np.log(x1)

    def f(a):
        return brentq(lambda z: in_python(z, a) - 3.0, 0.5, 5.0, xtol=1e-14)

    assert srcad.grad(f)(2.0) == pytest.approx(-np.sqrt(3.0) * np.log(3.0) / 4)


def test_object_of_a_library_that_holds_active_values_is_refused():
    knots, start = np.array([0.0, 0, 0, 0, 2, 2, 2, 2]), np.array([-1.0, 0.5, 1.0, 2.0])

    refused(lambda a: brentq(BSpline(knots, start * a, 3), 0.0, 2.0), srcad.errors.SrcadError)
