"""Third derivatives of functions that call themselves, in every nesting of the modes."""

import pytest

from srcad import grad, hvp, jvp
from tests.marks import some
from tests.programs.recursions import PROGRAMS

X, H = 0.7, 1e-3


def pushed(f):
    """The derivative of a function of one number, forwards."""
    return lambda x: jvp(f, (x,), (1.0,))[1]


def bent(f):
    """The second derivative of a function of one number."""
    return lambda x: hvp(f)(x, 1.0)


WAYS = {
    "reverse over reverse over reverse": lambda f: grad(grad(grad(f))),
    "forward over reverse over reverse": lambda f: pushed(grad(grad(f))),
    "reverse over forward over reverse": lambda f: grad(bent(f)),
    "forward over forward over reverse": lambda f: pushed(bent(f)),
    "forward over forward over forward": lambda f: pushed(pushed(pushed(f))),
}


def differences(f):
    """The third derivative at X, by differences of eighth order of the function itself."""
    weights = {1: -61 / 30, 2: 169 / 120, 3: -3 / 10, 4: 7 / 240}
    h = 0.02
    return sum(w * (f(X + k * h) - f(X - k * h)) for k, w in weights.items()) / h**3


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", some(PROGRAMS, lambda k, _: k % 8 == 0))
def test_the_third_derivative_is_that_of_differences(name, way):
    f = PROGRAMS[name]

    found = WAYS[way](f)(X)

    assert found == pytest.approx(differences(f), rel=1e-6, abs=1e-6)


def test_mutual_recursion_captured_values_passed_as_new_operands():
    """Operations were changed in place, after their operands had been computed."""

    def f(x, k):
        def even(n):
            return x if n == 0 else odd(n - 1) * x

        def odd(n):
            return k * even(n - 1) + x

        return even(4) * k

    step = 1e-6
    slope = (f(0.7 + step, 1.3) - f(0.7 - step, 1.3)) / (2 * step)
    assert grad(f)(0.7, 1.3) == pytest.approx(slope)
    slope = (f(0.7, 1.3 + step) - f(0.7, 1.3 - step)) / (2 * step)
    assert grad(f, 1)(0.7, 1.3) == pytest.approx(slope)
    assert jvp(f, (0.7, 1.3), (0.0, 1.0))[1] == pytest.approx(slope)
