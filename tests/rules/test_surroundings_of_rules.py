"""Rules of the user's read globals, attributes, closures and defaults as they are at the call."""

import numpy as np
import pytest

import srcad
from srcad import rules
from srcad.errors import UnsupportedSyntaxError

X = np.array([0.3, 0.5])
ALONG = np.array([1.0, 0.5])
WEIGHTS = np.array([1.0, 2.0])


class Holder:
    def __init__(self, m):
        self.m = m
        self.items = [m, -m]

    @property
    def twice(self):
        return 2 * self.m

    def method(self):
        return self.m

    def __call__(self):
        return self.m

    def __getitem__(self, key):
        return self.m

    def __float__(self):
        return float(self.m)

    def __bool__(self):
        return self.m > 2.5

    def apply(self, x):
        return x * x


HOLDER = Holder(2.0)
NUMBER = 2.0
ARRAY = np.array([2.0, 3.0])
ENTRY = np.array([2.0])
LIST = [2.0, 3.0]
DICT = {"k": [2.0]}
OBJECTS = [HOLDER]
COUNT = 2


def by_closure():
    factor = 2.0

    def rule(y_bar, y, x):
        return y_bar * 2 * x * factor

    def change(value):
        nonlocal factor
        factor = value

    return rule, change


CLOSURE, change_closure = by_closure()


def helper(z, holder=HOLDER):
    return z * holder.m * NUMBER


def in_a_loop(y_bar, y, x):
    bar = y_bar * 2 * x
    for _ in range(COUNT):
        bar = bar * 1.5
    return bar


def local_function(y_bar, y, x):
    def scaled(z):
        return z * HOLDER.m

    return scaled(y_bar * 2 * x)


def in_place(array, value):
    array[0] = value


def bind(name, value):
    globals()[name] = value


def hold(value):
    HOLDER.m = value


# The factor of a rule, and a change of it: from 2 to 3 if no other is given.
READS = {
    "global": (lambda y_bar, y, x: y_bar * 2 * x * NUMBER, lambda: bind("NUMBER", 3.0)),
    "global array": (
        lambda y_bar, y, x: y_bar * 2 * x * ARRAY,
        lambda: bind("ARRAY", np.array([3.0, 4.0])),
    ),
    "entry in place": (lambda y_bar, y, x: y_bar * 2 * x * ARRAY, lambda: in_place(ARRAY, 3.0)),
    "condition on an array": (
        lambda y_bar, y, x: y_bar * 2 * x * (3.0 if ENTRY > 2.5 else 2.0),
        lambda: in_place(ENTRY, 3.0),
    ),
    "attribute": (lambda y_bar, y, x: y_bar * 2 * x * HOLDER.m, lambda: hold(3.0)),
    "property": (lambda y_bar, y, x: y_bar * x * HOLDER.twice, lambda: hold(3.0)),
    "method": (lambda y_bar, y, x: y_bar * 2 * x * HOLDER.method(), lambda: hold(3.0)),
    "call": (lambda y_bar, y, x: y_bar * 2 * x * HOLDER(), lambda: hold(3.0)),
    "item of an object": (lambda y_bar, y, x: y_bar * 2 * x * HOLDER[0], lambda: hold(3.0)),
    "float of an object": (lambda y_bar, y, x: y_bar * 2 * x * float(HOLDER), lambda: hold(3.0)),
    "truth of an object": (
        lambda y_bar, y, x: y_bar * 2 * x * (3.0 if HOLDER else 2.0),
        lambda: hold(3.0),
    ),
    "negated truth of an object": (
        lambda y_bar, y, x: y_bar * 2 * x * (2.0 if not HOLDER else 3.0),
        lambda: hold(3.0),
    ),
    "bool of an object": (
        lambda y_bar, y, x: y_bar * x * (4.0 + 2 * bool(HOLDER)),
        lambda: hold(3.0),
    ),
    "object in a list": (lambda y_bar, y, x: y_bar * 2 * x * OBJECTS[0].m, lambda: hold(3.0)),
    "list": (lambda y_bar, y, x: y_bar * 2 * x * LIST[0], lambda: in_place(LIST, 3.0)),
    "length": (lambda y_bar, y, x: y_bar * 2 * x * len(LIST), lambda: LIST.append(1.0)),
    "list in a dict": (
        lambda y_bar, y, x: y_bar * 2 * x * DICT["k"][0],
        lambda: in_place(DICT["k"], 3.0),
    ),
    "missing attribute": (
        lambda y_bar, y, x: y_bar * 2 * x * getattr(HOLDER, "other", 2.0),
        lambda: setattr(HOLDER, "other", 3.0),
    ),
    "closure": (CLOSURE, lambda: change_closure(3.0)),
    "helper": (lambda y_bar, y, x: helper(y_bar * x), lambda: hold(3.0)),
    "number of iterations": (in_a_loop, lambda: bind("COUNT", 3)),
    "local function": (local_function, lambda: hold(3.0)),
}


@pytest.fixture(autouse=True)
def begin_anew():
    bind("NUMBER", 2.0)
    bind("COUNT", 2)
    bind("ARRAY", np.array([2.0, 2.0]))
    ENTRY[:] = 2.0
    LIST[:] = [2.0, 3.0]
    DICT["k"] = [2.0]
    vars(HOLDER).update(m=2.0)
    vars(HOLDER).pop("other", None)
    change_closure(2.0)


def square_with(rule):
    def square(x):
        return x * x

    rules.adjoint(square)(rule)
    return square


def total(square):
    return lambda x: np.sum(square(x) * WEIGHTS)


@pytest.mark.parametrize("name", READS)
def test_read_of_rule_follows_change(name):
    rule, change = READS[name]
    derivative = srcad.grad(total(square_with(rule)))
    before = derivative(X)

    change()

    changed = {
        "global array": np.array([1.5, 2.0]),
        "entry in place": np.array([1.5, 1.0]),
    }.get(name, 1.5)
    np.testing.assert_allclose(derivative(X), before * changed, rtol=1e-14)


MODES = {
    "jvp": lambda f: srcad.jvp(f, (X,), (ALONG,))[1],
    "hvp": lambda f: srcad.hvp(f)(X, ALONG),
    "hessian": lambda f: srcad.hessian(f)(X),
    "jacrev": lambda f: srcad.jacobian(lambda x: f(x) * WEIGHTS, mode="rev")(X),
    "jacfwd": lambda f: srcad.jacobian(lambda x: f(x) * WEIGHTS, mode="fwd")(X),
    "pullback": lambda f: srcad.pullback(f, X)[1](1.0),
    "inside": lambda f: srcad.grad(lambda x: np.sum(srcad.grad(f)(x)))(X),
}


@pytest.mark.parametrize("name", ["attribute", "helper", "closure"])
@pytest.mark.parametrize("mode", MODES)
def test_read_of_rule_follows_change_in_each_mode(mode, name):
    rule, change = READS[name]
    f = total(square_with(rule))
    before = MODES[mode](f)

    change()

    np.testing.assert_allclose(MODES[mode](f), np.multiply(before, 1.5), rtol=1e-14)


def derivative_kind():
    def f(x):
        return x * x

    rules.derivative(f)(lambda x: 2 * x * HOLDER.m)
    return f


def linear_kind():
    def f(x):
        return x * 2.0

    rules.linear(f)(lambda y_bar, x: y_bar * HOLDER.m)
    return f


def bilinear_kind():
    def f(a, b):
        return a * b

    rules.bilinear(f)(lambda y_bar, a, b: (y_bar * b * HOLDER.m, y_bar * a * HOLDER.m))
    return lambda x: f(x, x)


def saving_kind():
    def f(x):
        return x * x

    def saving(x):
        return x * x, 2 * x

    rules.adjoint(f, primal=saving)(lambda y_bar, y, slope, x: y_bar * slope * HOLDER.m)
    return f


def method_kind():
    def rule(y_bar, y, self, x):
        return None, y_bar * 2 * x * self.m

    rules.adjoint(Holder.apply, override=True)(rule)
    return HOLDER.apply


def default_kind():
    def f(x, *, holder=HOLDER):
        return x * x

    @rules.adjoint(f)
    def rule(y_bar, y, x, *, holder=HOLDER):
        return y_bar * 2 * x * holder.m

    return f


def derivative_inside_kind():
    def scaled(x):
        return np.sum(x * x * HOLDER.m)

    return square_with(lambda y_bar, y, x: y_bar * srcad.grad(scaled)(x))


KINDS = [
    derivative_kind,
    linear_kind,
    bilinear_kind,
    saving_kind,
    method_kind,
    default_kind,
    derivative_inside_kind,
]


@pytest.mark.parametrize("kind", KINDS)
def test_rule_of_each_kind_follows_change(kind):
    f = kind()
    derivative = srcad.grad(lambda x: np.sum(f(x) * WEIGHTS))
    before = derivative(X)

    hold(3.0)

    np.testing.assert_allclose(derivative(X), before * 1.5, rtol=1e-14)


def test_tangent_rule_follows_change():
    f = square_with(lambda y_bar, y, x: y_bar * 2 * x)
    rules.tangent(f)(lambda x_dot, y, x: x_dot * 2 * x * HOLDER.m)
    before = srcad.jvp(f, (X,), (ALONG,))[1]

    hold(3.0)

    np.testing.assert_allclose(srcad.jvp(f, (X,), (ALONG,))[1], before * 1.5, rtol=1e-14)


def test_rule_without_change_compiles_once():
    def rule(y_bar, y, x):
        return helper(y_bar * x) * HOLDER.method() * LIST[0] * DICT.get("none", 1.0) * ARRAY[0]

    square = square_with(rule)
    derivative = srcad.grad(lambda x: np.sum(square(x)))
    derivative(X)

    derivative(X + 1)

    assert derivative.cache_info().compilations == 1


def test_rule_follows_rebound_name_of_helper():
    derivative = srcad.grad(total(square_with(lambda y_bar, y, x: helper(y_bar * x))))
    kept, before = helper, derivative(X)
    try:
        bind("helper", lambda z: z * 6.0)

        np.testing.assert_allclose(derivative(X), before * 1.5, rtol=1e-14)
    finally:
        bind("helper", kept)


def test_recompilation_for_value_of_rule_names_it():
    derivative = srcad.grad(total(square_with(READS["attribute"][0])))
    derivative(X)
    hold(3.0)

    derivative(X)

    assert derivative.cache_info().reasons[-1] == "'m' is 3.0 instead of 2.0"


def stopping(y_bar, y, x):
    return y_bar * 2 * srcad.stop_gradient(x) * x


SECOND = {
    "hessian": lambda f: srcad.hessian(f)(X) @ ALONG,
    "hvp": lambda f: srcad.hvp(f)(X, ALONG),
    "reverse": lambda f: srcad.jacobian(srcad.grad(f), mode="rev")(X) @ ALONG,
    "reverse over forward": lambda f: srcad.grad(lambda x: srcad.jvp(f, (x,), (ALONG,))[1])(X),
}


@pytest.mark.parametrize("mode", SECOND)
def test_stop_gradient_in_rule_stops_second_derivative(mode):
    f = total(square_with(stopping))

    np.testing.assert_allclose(SECOND[mode](f), WEIGHTS * 2 * X * ALONG, rtol=1e-14)


def test_stop_gradient_in_rule_stops_forward_over_forward():
    f = total(square_with(stopping))

    second = srcad.jvp(lambda x: srcad.jvp(f, (x,), (ALONG,))[1], (X,), (ALONG,))[1]

    assert second == pytest.approx(np.sum(WEIGHTS * 2 * X * ALONG**2), rel=1e-14)


def test_stop_gradient_in_rule_leaves_first_derivative():
    f = total(square_with(stopping))

    np.testing.assert_allclose(srcad.grad(f)(X), WEIGHTS * 2 * X**2, rtol=1e-14)
    np.testing.assert_allclose(srcad.jacobian(f, mode="fwd")(X), WEIGHTS * 2 * X**2, rtol=1e-14)


def test_stop_gradient_in_partial_stops_second_derivative():
    def square(x):
        return x * x

    rules.derivative(square)(lambda x: 2 * srcad.stop_gradient(x))

    np.testing.assert_array_equal(srcad.hessian(total(square))(X), np.zeros((2, 2)))


def test_stop_gradient_of_cotangent_in_rule_is_refused_in_forward_mode():
    square = square_with(lambda y_bar, y, x: srcad.stop_gradient(y_bar) * 2 * x)

    with pytest.raises(UnsupportedSyntaxError, match=r"which stops its cotangent"):
        srcad.jvp(square, (X,), (ALONG,))


def test_stop_gradient_of_cotangent_in_rule_with_tangent_is_taken():
    square = square_with(lambda y_bar, y, x: srcad.stop_gradient(y_bar) * 2 * x)
    rules.tangent(square)(lambda x_dot, y, x: x_dot * 2 * x)

    np.testing.assert_allclose(srcad.jvp(square, (X,), (ALONG,))[1], 2 * X * ALONG, rtol=1e-14)
    np.testing.assert_allclose(srcad.grad(total(square))(X), 2 * X * WEIGHTS, rtol=1e-14)
