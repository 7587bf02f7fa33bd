"""`wrt` goes by the call: positions count its arguments, names are those that a wrapper shows."""

import functools
import inspect
import typing

import numpy as np
import pytest

import srcad
from srcad import differentiate, grad, gradient, pullback, value_and_grad
from srcad.errors import WrtError
from srcad.testing import check_grads


def logged(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    return wrapper


def doubled(function):
    @functools.wraps(function)
    def wrapper(*args):
        return 2 * function(*args)

    return wrapper


def first_kept(function):
    @functools.wraps(function)
    def wrapper(x, *args):
        return function(x, *args)

    return wrapper


def swapped(function):
    @functools.wraps(function)
    def wrapper(y, x):
        return function(x, y)

    return wrapper


def signed(function):
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    wrapper.__signature__ = inspect.signature(function)
    return wrapper


def weighted(weight):
    def decorate(function):
        @functools.wraps(function)
        def wrapper(*args, weight=weight, **kwargs):
            return weight * function(*args, **kwargs)

        return wrapper

    return decorate


class Held:
    def __init__(self, function):
        self.function = function
        functools.update_wrapper(self, function)

    def __call__(self, *args, **kwargs):
        return self.function(*args, **kwargs)


@weighted(3.0)
def weighed(x, y):
    return x * y**2


@Held
def held(x, y):
    return x * y**2


@logged
def loss(x, y):
    return x**2 * y + y**3


@logged
def scaled(x, *, s=2.0):
    return x * s * s


@doubled
def product(x, y=3.0):
    return x * y


@first_kept
def kept(x, y):
    return x * x * y


@swapped
def turned(x, y):
    return x**3 * y


@signed
def shown(x, y):
    return x * y**2


@functools.lru_cache
def cached(x, y):
    return x * y**2


def spread(x, *rest, s=1.0):
    return x * rest[0] ** 2 * rest[1] * s


def items(*a, **k):
    return a[0] ** 2 * a[1] + k.get("c", 1.0) ** 2


class Model:
    k = 2.0

    @logged
    def loss(self, x, y):
        return self.k * x * y**2


CALLS = [
    # function, wrt, args, kwargs, which of the arguments: a position or a keyword
    (loss, 0, (2.0, 1.0), {}, 0),
    (loss, 1, (2.0, 1.0), {}, 1),
    (loss, -1, (2.0, 1.0), {}, 1),
    (loss, -2, (2.0, 1.0), {}, 0),
    (loss, "x", (2.0, 1.0), {}, 0),
    (loss, "y", (2.0, 1.0), {}, 1),
    (loss, "y", (2.0,), {"y": 1.0}, "y"),
    (loss, 1, (2.0,), {"y": 1.0}, "y"),
    (loss, 0, (), {"x": 2.0, "y": 1.0}, "x"),
    (loss, "x", (), {"y": 1.0, "x": 2.0}, "x"),
    (scaled, "s", (3.0,), {"s": 2.0}, "s"),
    (scaled, 0, (3.0,), {"s": 2.0}, 0),
    (product, "y", (2.0, 5.0), {}, 1),
    (product, 0, (2.0,), {}, 0),
    (kept, "y", (2.0, 5.0), {}, 1),
    (kept, "x", (2.0, 5.0), {}, 0),
    (kept, 1, (2.0, 5.0), {}, 1),
    (turned, 0, (2.0, 5.0), {}, 0),
    (turned, "x", (), {"x": 2.0, "y": 5.0}, "x"),
    (turned, "x", (2.0, 5.0), {}, 1),
    (shown, "y", (2.0, 5.0), {}, 1),
    (shown, 0, (2.0, 5.0), {}, 0),
    (cached, "y", (2.0, 5.0), {}, 1),
    (spread, 1, (2.0, 5.0, 7.0), {}, 1),
    (spread, 2, (2.0, 5.0, 7.0), {}, 2),
    (spread, "s", (2.0, 5.0, 7.0), {"s": 3.0}, "s"),
    (spread, -1, (2.0, 5.0, 7.0), {"s": 3.0}, "s"),
    (items, 0, (2.0, 5.0), {}, 0),
    (items, 1, (2.0, 5.0), {"c": 2.0}, 1),
    (Model().loss, "y", (2.0, 5.0), {}, 1),
    (Model().loss, 0, (2.0, 5.0), {}, 0),
    (Model.loss, 1, (Model(), 2.0, 5.0), {}, 1),
    (functools.partial(loss, 2.0), "y", (1.5,), {}, 0),
    (functools.partial(loss, 2.0), 0, (1.5,), {}, 0),
    (functools.partial(items, 2.0), 0, (1.5,), {}, 0),
    (differentiate(loss), "y", (2.0, 1.0), {}, 1),
    (weighed, "y", (2.0, 5.0), {}, 1),
    (weighed, "weight", (2.0, 5.0), {"weight": 4.0}, "weight"),
    (held, "y", (2.0, 5.0), {}, 1),
    (held, 1, (2.0,), {"y": 5.0}, "y"),
    (logged(logged(spread)), 2, (2.0, 5.0, 7.0), {}, 2),
    (logged(doubled(kept)), "y", (2.0, 5.0), {}, 1),
]


def slope(function, args, kwargs, which, h=1e-5):
    def moved(step):
        if isinstance(which, str):
            return function(*args, **{**kwargs, which: kwargs[which] + step})
        return function(*args[:which], args[which] + step, *args[which + 1 :], **kwargs)

    return (moved(h) - moved(-h)) / (2 * h)


@pytest.mark.parametrize(("function", "wrt", "args", "kwargs", "which"), CALLS)
def test_wrt_entry_refers_to_call_argument(function, wrt, args, kwargs, which):
    found = grad(function, wrt=wrt)(*args, **kwargs)

    assert isinstance(found, float)
    assert found == pytest.approx(slope(function, args, kwargs, which), rel=1e-6)


@pytest.mark.parametrize(("function", "wrt", "args", "kwargs", "which"), CALLS)
def test_wrt_of_wrapper_inside_differentiated_function(function, wrt, args, kwargs, which):
    inner = grad(function, wrt=wrt)

    def outer(t):
        return t * inner(*args, **kwargs) ** 2

    assert grad(outer)(1.0) == pytest.approx(slope(function, args, kwargs, which) ** 2, rel=1e-6)


def test_the_inner_gradient_of_a_wrapped_function_is_differentiated():
    def outer(x):
        return grad(loss, wrt="y")(x, x) * grad(spread, 2)(x, 5.0, x, s=x)

    assert grad(outer)(2.0) == pytest.approx(slope(outer, (2.0,), {}, 0), rel=1e-6)


def test_several_arguments_of_a_wrapped_function():
    value, found = value_and_grad(loss, wrt=("y", "x"))(2.0, y=1.0)

    assert (value, found) == (loss(2.0, 1.0), (7.0, 4.0))
    assert gradient(loss, 2.0, 1.0) == (4.0, 7.0)
    assert pullback(loss, 2.0, 1.0)[1](1.0) == (4.0, 7.0)


def test_all_positional_arguments_and_all_keywords_by_their_names():
    assert grad(items, wrt="a")(2.0, 5.0, c=3.0) == (20.0, 4.0)
    assert grad(items, wrt="k")(2.0, 5.0, c=3.0) == {"c": 6.0}
    assert grad(spread, wrt="rest")(2.0, 5.0, 7.0) == (140.0, 50.0)


def test_inactive_arguments_of_wrapped_function_unrestricted():
    @logged
    def picked(x, table, k):
        return x * table[k] + len(table)

    assert grad(picked)(2.0, {"a": 3.0}, "a") == 3.0
    assert grad(picked, wrt="x")(2.0, table={"a": 3.0}, k="a") == 3.0


def test_memory_order_preserved_behind_wrapper():
    x, y = np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.ones(3)

    @logged
    def bent(x, y):
        return np.sum(np.sin(x) * y)

    found = grad(bent, wrt=("x", "y"))(x, y)

    np.testing.assert_allclose(found[0], np.cos(x) * y)
    assert found[0].flags.f_contiguous
    np.testing.assert_allclose(found[1], np.sin(x).sum(axis=0))


def test_write_into_variadic_argument():
    def written(*a):
        a[0][0] = a[1]
        return np.sum(a[0] ** 2)

    x = np.ones(3)

    np.testing.assert_array_equal(grad(written)(x, 4.0), [0.0, 2.0, 2.0])
    assert grad(written, wrt=1)(x, 4.0) == 8.0
    np.testing.assert_array_equal(x, np.ones(3))


def test_wrappers_sharing_code_resolve_wrt_names_separately():
    @logged
    def first(a, b):
        return a * b**2

    @logged
    def second(b, a):
        return a * b**2

    assert grad(first, wrt="a")(3.0, 5.0) == 25.0
    assert grad(second, wrt="a")(3.0, 5.0) == 9.0
    assert "grad_first" in grad(first, wrt="a").source
    assert "grad_second" in grad(second, wrt="a").source


def test_source_of_wrapped_function_before_first_call():
    @logged
    def fresh(x, y):
        return x * y * y

    text = grad(fresh, wrt="y").source

    assert text.count("def grad_fresh") == 1
    assert "decided at the call" not in text


@pytest.mark.parametrize(
    ("function", "wrt", "listed"),
    [
        (loss, "z", "0: 'x', 1: 'y'"),
        (loss, 2, "0: 'x', 1: 'y'"),
        (loss, "args", "0: 'x', 1: 'y'"),
        (scaled, "t", "0: 'x', 1: 's'"),
        (items, "c", "0: 'a', 1: 'k'"),
    ],
)
def test_an_unknown_argument_is_refused_before_any_call(function, wrt, listed):
    with pytest.raises(WrtError, match="is no parameter") as refusal:
        grad(function, wrt=wrt)

    assert listed in str(refusal.value)


@pytest.mark.parametrize(
    ("function", "wrt", "args"),
    [(loss, "y", (2.0,)), (product, "y", (2.0,)), (items, 2, (1.0, 2.0)), (scaled, "s", (1.0,))],
)
def test_wrt_of_omitted_argument_rejected(function, wrt, args):
    with pytest.raises(WrtError, match="leaves out"):
        grad(function, wrt=wrt)(*args)


def test_an_argument_without_a_derivative_is_named_as_in_the_call():
    @logged
    def counted(x, n):
        return x * x if n else x

    with pytest.raises(WrtError, match="argument 1 of 'counted'"):
        grad(counted, wrt="n")(2.0, True)
    with pytest.raises(WrtError, match="argument 'n' of 'counted'"):
        grad(counted, wrt="n")(2.0, n=True)


def test_check_grads_of_a_function_of_any_number_of_arguments():
    check_grads(items, [2.0, 3.0, 1.0], wrt=(0, 1))
    check_grads(loss, [2.0, 3.0])
    check_grads(loss, [2.0, 3.0], wrt="y")


def test_source_and_signature_of_wrapped_function():
    seen = srcad.inspect(loss, np.ones(2), np.ones(2), wrt="y")

    assert "def loss_adjoint" in seen.adjoint_source
    assert "zeros" not in seen.adjoint_source
    assert str(inspect.signature(grad(loss))) == "(x, y)"


def annotated(x: float, n: "int" = 2) -> "float":
    return x**n


def test_a_decorated_function_keeps_its_annotations():
    hints = {"x": float, "n": int, "return": float}

    for decorate in (srcad.differentiate, srcad.differentiate(wrt="x"), srcad.checkpoint):
        assert typing.get_type_hints(decorate(annotated)) == hints
        assert decorate(annotated).__annotations__ == annotated.__annotations__


def test_a_decorated_method_keeps_its_annotations():
    class Model:
        @srcad.differentiate
        def loss(self, x: float) -> float:
            return x * x

    assert typing.get_type_hints(Model.loss) == typing.get_type_hints(Model().loss)
    assert typing.get_type_hints(Model().loss) == {"x": float, "return": float}
