"""``check_finite=True``: an infinity or nan is an error that names the line where it began."""

from __future__ import annotations

import inspect
import pickle

import numpy as np
import pytest

import srcad
from srcad import elementwise_grad, grad, value_and_grad
from srcad.errors import NonFiniteError, UnsupportedSyntaxError

quiet = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def refused(mode, f, *args, **options):
    """The error of a gradient that is not finite, and the line of `f` that it names (from 0)."""
    with pytest.raises(NonFiniteError) as caught:
        mode(f, check_finite=True, **options)(*args)
    where = caught.value.where
    line = None if where is None else where.line - inspect.unwrap(f).__code__.co_firstlineno
    return caught.value, line


def test_check_finite_does_not_change_finite_results():
    def f(x, k):
        return np.sum(np.log(x) * k), {"k": k}

    x = np.array([1.0, 2.0])

    for mode in (grad, value_and_grad):
        plain = mode(f, has_aux=True)(x, 3.0)
        looked_at = mode(f, has_aux=True, check_finite=True)(x, 3.0)
        assert str(plain) == str(looked_at)
    assert str(grad(f, wrt=(1, "x"), has_aux=True, check_finite=True)(x, 3.0)) == str(
        grad(f, wrt=(1, "x"), has_aux=True)(x, 3.0)
    )
    assert elementwise_grad(np.sqrt, check_finite=True)(np.array([4.0])).tolist() == [0.25]


@pytest.mark.parametrize(("factor", "kind"), [(np.inf, "Inf"), (-np.inf, "Inf"), (np.nan, "NaN")])
def test_non_finite_loss_error_names_function(factor, kind):
    error, line = refused(grad, lambda x: x * factor, 1.0)

    assert error.sentence == f"Loss is {kind}: '<lambda>' returns {factor}"
    assert line == 0
    assert isinstance(error, FloatingPointError)


def _logarithm(x):
    return np.log(x)


def _shifted(x):
    y = x - 1.0
    return _logarithm(y) * 2.0


@quiet
@pytest.mark.parametrize("mode", [grad, srcad.jacfwd, srcad.hessian])
def test_non_finite_error_names_calls_of_helpers(mode):
    def f(x):
        a = _shifted(x + 1.0)
        return a + _shifted(x)

    error, _ = refused(mode, f, 0.5)

    first, last = f.__code__.co_firstlineno + 2, _shifted.__code__.co_firstlineno + 2
    assert error.why.splitlines()[1:] == [
        "log(y = -0.5)",
        f"called in '_shifted' (test_finite.py:{last}), in 'f' (test_finite.py:{first})",
    ]
    assert error.where.line == _logarithm.__code__.co_firstlineno + 1


@quiet
def test_non_finite_error_names_originating_line():
    def f(x):
        z = x - 1.0
        y = np.log(z)
        return np.sum(y * 2.0)

    error, line = refused(grad, f, np.array([1.0, 3.0]))

    assert line == 2
    assert (error.where.column, error.where.end_column) == (12, 21)
    why = "this line is the first that makes inf:\n        log(z = float64[2] in 0 .. 2)"
    assert why in str(error)
    assert "   |         y = np.log(z)\n" in str(error).replace(f"{error.where.line} ", "  ")
    assert "^^^^^^^^^" in str(error)


@quiet
def test_non_finite_gradient_names_reverse_half_line():
    def f(x):
        y = np.sqrt(x)
        return np.sum(y)

    error, line = refused(value_and_grad, f, np.array([0.0, 1.0]), wrt="x")

    assert error.sentence == "the gradient of 'f' by 'x' is Inf"
    assert line == 1
    assert "the derivative of this line is the first that makes inf" in error.why
    assert "truediv(0.5, y = float64[2] in 0 .. 1)" in error.why


@quiet
def test_discarded_infinity_not_reported():
    def cut(x):
        return np.where(x > 0, np.log(x), 0.0)

    def bounded(x):
        return np.minimum(np.exp(x), 5.0)

    assert value_and_grad(cut, check_finite=True)(0.0) == (0, 0)
    assert value_and_grad(bounded, check_finite=True)(np.float64(800.0)) == (5, 0)


@quiet
def test_nan_traced_to_originating_infinity():
    def f(x):
        a = np.exp(1000.0 * x)
        b = np.cos(x)
        return b + 1.0 / a * a

    error, line = refused(grad, f, 3.0)

    assert error.sentence.startswith("Loss is NaN")
    assert line == 1


@quiet
def test_non_finite_error_in_loop_shows_operand_values():
    def f(x):
        for _ in range(20):
            x = x * x + 1.0
        return x

    error, line = refused(grad, f, 2.0)

    assert line == 2
    assert "mul(x = 1.437821978001524e+181, x = 1.437821978001524e+181)" in error.why


@quiet
def test_non_finite_value_traced_through_structures():
    def f(p):
        parts = []
        for row in p["rows"]:
            parts.append(np.sum(np.log(row)))
        return parts[0] + parts[1]

    error, line = refused(grad, f, {"rows": np.array([[1.0, 2.0], [0.0, 1.0]])})

    assert line == 3
    assert "log(row = float64[2] in 0 .. 1)" in error.why


@quiet
def test_non_finite_value_traced_through_recursion():
    def f(x, n):
        return np.log(x) if n == 0 else 2.0 * f(x, n - 1)

    _, line = refused(grad, f, np.float64(0.0), 3)

    assert line == 1


def test_non_finite_argument_named():
    error, line = refused(grad, lambda a, b: np.sum(a * b), np.ones(2), np.array([1.0, np.nan]))

    assert line is None
    assert "argument 'b' is not finite: float64[2] in nan .. nan" in error.why


@quiet
def test_effects_happen_once(capsys):
    def f(x):
        print("here")
        u = np.zeros(2)
        u[0] = np.log(x)
        return np.sum(u)

    g = grad(f, check_finite=True)

    assert g(2.0) == 0.5
    assert capsys.readouterr().out == "here\n"
    _, line = refused(grad, f, 0.0)
    assert line == 3
    assert capsys.readouterr().out == "here\n"


def test_check_finite_result_not_aliased():
    def f(x):
        print(end="")
        return np.sum(x)

    x = np.ones(3)
    result = grad(f, check_finite=True)(x)
    result += 1.0

    assert result.tolist() == [2.0, 2.0, 2.0]
    assert x.tolist() == [1.0, 1.0, 1.0]


def test_check_finite_random_draws_unchanged():
    def f(x, rng):
        return np.sum(x * rng.normal(size=2))

    looked_at = value_and_grad(f, check_finite=True)(np.ones(2), np.random.default_rng(5))
    plain = value_and_grad(f)(np.ones(2), np.random.default_rng(5))

    assert str(looked_at) == str(plain)


def test_check_finite_under_errstate_raise():
    with np.errstate(all="raise"):
        with pytest.raises(FloatingPointError, match="divide by zero"):
            grad(np.log, check_finite=True)(np.float64(0.0))
        error, _ = refused(grad, lambda x: np.sqrt(x), np.float64(0.0))

    assert "the gradient of" in error.sentence


def test_check_finite_on_inner_gradient_rejected():
    def f(x):
        return grad(lambda y: y * y * x, check_finite=True)(x)

    with pytest.raises(UnsupportedSyntaxError, match="outermost"):
        grad(f)(1.0)
    with pytest.raises(UnsupportedSyntaxError, match="outermost"):
        grad(grad(np.sin, check_finite=True))(1.0)
    assert grad(grad(lambda x: x**3), check_finite=True)(2.0) == 12.0


def cube(x):
    return x**3


def test_check_finite_gradient_object_interface():
    g = grad(cube, check_finite=True)

    assert g(2.0) == 12.0
    assert g.specialize(2.0)(3.0) == 27.0
    assert inspect.getsource(g).startswith("def grad_cube(x):")
    assert "return x ** 3, x_bar" in g.source
    assert "return x ** 3" not in grad(cube).source
    assert pickle.loads(pickle.dumps(g)).request.check_finite is True


def test_decorated_function_with_check_finite():
    @srcad.differentiate(check_finite=True)
    def f(x):
        return x * np.inf

    assert f(1.0) == np.inf
    with pytest.raises(NonFiniteError):
        f.grad(1.0)
    with pytest.raises(NonFiniteError):
        f.value_and_grad(1.0)


# ------------------------------------------------------------------------------- other modes
def steep(x):
    y = x - 1.0
    z = np.log(y)
    return 2.0 * z


def flat(x):
    y = x - x[0]
    return np.sqrt(y)


MODES = {
    "pullback": lambda f, x: srcad.pullback(f, x, check_finite=True)[1](np.ones(2)),
    "jvp": lambda f, x: srcad.jvp(f, (x,), (np.ones(2),), check_finite=True),
    "jacobian": lambda f, x: srcad.jacobian(f, check_finite=True)(x),
    "jacfwd": lambda f, x: srcad.jacfwd(f, check_finite=True)(x),
    "jacrev": lambda f, x: srcad.jacrev(f, check_finite=True)(x),
    "hessian": lambda f, x: srcad.hessian(lambda x: np.sum(f(x)), check_finite=True)(x),
    "hvp": lambda f, x: srcad.hvp(lambda x: np.sum(f(x)), check_finite=True)(x, np.ones(2)),
}


@quiet
@pytest.mark.parametrize("mode", MODES)
def test_non_finite_value_line_named_in_other_modes(mode):
    with pytest.raises(NonFiniteError, match="the value is Inf") as caught:
        MODES[mode](steep, np.array([1.0, 2.0]))

    assert caught.value.where.line == steep.__code__.co_firstlineno + 2
    assert "log(y = float64[2] in 0 .. 1)" in caught.value.why
    MODES[mode](steep, np.array([2.0, 3.0]))


@quiet
@pytest.mark.parametrize("mode", MODES)
def test_non_finite_derivative_line_named_in_other_modes(mode):
    what = {"pullback": "cotangent", "jvp": "tangent", "hessian": "Hessian",
            "hvp": "product with the Hessian"}.get(mode, "Jacobian")  # fmt: skip
    with pytest.raises(NonFiniteError, match=f"the {what} of '.*' .*is NaN") as caught:
        MODES[mode](flat, np.array([1.0, 2.0]))

    assert caught.value.where.line == flat.__code__.co_firstlineno + 2
    assert "the derivative of this line" in caught.value.why


@quiet
def test_check_finite_of_sparse_jacobian():
    pytest.importorskip("scipy")

    def f(x):
        y = x - 1.0
        return np.log(y)

    g = srcad.jacobian(f, sparse=True, check_finite=True)

    assert g(np.array([2.0, 3.0])).toarray().tolist() == [[1.0, 0.0], [0.0, 0.5]]
    with pytest.raises(NonFiniteError, match="the Jacobian of 'f' by 0 is Inf") as caught:
        g(np.array([1.0, 2.0]))
    assert caught.value.where.line == f.__code__.co_firstlineno + 2


def test_non_finite_direction_or_seed_named():
    x, bad = np.array([2.0, 3.0]), np.array([1.0, np.nan])
    _, back = srcad.pullback(steep, x, check_finite=True)

    assert back(np.ones(2))[0].tolist() == [2.0, 1.0]
    with pytest.raises(NonFiniteError, match="'seed' is not finite"):
        back(bad)
    with pytest.raises(NonFiniteError, match="'x_dot' is not finite"):
        srcad.jvp(steep, (x,), (bad,), check_finite=True)
    with pytest.raises(NonFiniteError, match="'x_dot' is not finite"):
        srcad.hvp(lambda x: np.sum(steep(x)), check_finite=True)(x, bad)


@quiet
def test_effects_happen_once_in_other_modes(capsys):
    def f(x):
        print("here")
        return np.log(x - 1.0)

    for mode in ("pullback", "jvp", "jacobian"):
        with pytest.raises(NonFiniteError):
            MODES[mode](f, np.array([1.0, 2.0]))
        assert capsys.readouterr().out == "here\n"


@quiet
def test_check_finite_ignores_aux():
    def f(x):
        return np.sum(x * x), {"log": np.log(x)}

    x = np.zeros(2)

    assert srcad.jacobian(f, has_aux=True, check_finite=True)(x)[0].tolist() == [0.0, 0.0]
    assert srcad.hvp(f, has_aux=True, check_finite=True)(x, np.ones(2))[0].tolist() == [2.0, 2.0]


def test_inner_modes_with_check_finite_disabled():
    def through(x):
        y, back = srcad.pullback(np.sin, x, check_finite=False)
        return y * back(1.0)[0]

    def along(x):
        return srcad.jvp(np.sin, (x,), (1.0,), check_finite=True)[1]

    assert grad(through, check_finite=True)(1.0) == grad(lambda x: np.sin(x) * np.cos(x))(1.0)
    with pytest.raises(UnsupportedSyntaxError, match="outermost"):
        grad(along)(1.0)


def test_decorated_check_finite_applies_to_all_modes():
    @srcad.differentiate(check_finite=True)
    def f(x):
        return np.sum(x * x * np.inf)

    x = np.ones(2)

    for call in (f.jacobian, f.hessian, f.pullback):
        with pytest.raises(NonFiniteError):
            call(x)
    with pytest.raises(NonFiniteError):
        f.jvp((x,), (x,))
    with pytest.raises(NonFiniteError):
        f.hvp(x, x)
