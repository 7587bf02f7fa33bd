"""Generator functions as context managers, and the getters of `operator`."""

from __future__ import annotations

import contextlib
import operator

import numpy as np
import pytest

import srcad
from srcad import errors
from tests.language import assert_program, named

X = np.array([0.3, 0.7, 1.1])


# ---------------------------------------------------------------------------- managers
@contextlib.contextmanager
def scaled(x, c):
    yield x * c


@contextlib.contextmanager
def squared(x):
    with scaled(x, 2.0) as y:
        yield y * y


@contextlib.contextmanager
def noted(log):
    log.append("entered")
    yield log
    log.append("left")


@contextlib.contextmanager
def quiet():
    before = np.seterr(all="ignore")
    try:
        yield
    finally:
        np.seterr(**before)


@contextlib.contextmanager
def forgiving(x):
    try:
        yield x
    except ZeroDivisionError:
        pass


@contextlib.contextmanager
def of_sign(x):
    if x[0] > 0:
        yield x
        return
    yield 2 * x


def one(x):
    with scaled(x, 3.0) as y:
        z = np.sum(y**2)
    return z


def returns_inside(x):
    with scaled(x, 2.0) as y:
        return np.sum(y)


def in_one_another(x):
    with scaled(x, 2.0) as y, scaled(y, 3.0) as w:
        z = np.sum(w * y)
    return z


def of_another(x):
    with squared(x) as y:
        return np.sum(y)


def unpacked(x):
    with scaled(x, 2.0) as (a, b, c):
        return a * b + c


def without_target(x):
    with scaled(x, 2.0):
        z = np.sum(x)
    return z


def held_by_a_name(x):
    manager = scaled(x, 2.0)
    with manager as y:
        z = np.sum(y**2)
    return z


def leaves_loop(x):
    total = 0.0
    for k in range(5):
        with scaled(x, k) as y:
            if k == 3:
                break
            if k == 1:
                continue
            total = total + np.sum(y**2)
    return total


def leaves_loop_by_value(x):
    total = 0.0
    for v in x:
        with scaled(v, 2.0) as y:
            if y > 1.6:
                break
            if y < 0.7:
                continue
            total = total + y**2
    return total


def counted(x):
    log = []
    with noted(log) as entries:
        z = np.sum(x**2) * len(entries)
    return z * len(log)


def made_inside(x):
    @contextlib.contextmanager
    def local(c):
        yield x * c

    with local(2.0) as y:
        z = np.sum(y**2)
    return z


def settings(x):
    with quiet():
        y = np.log(x)
    return np.sum(y)


MANAGED = [
    (f, X)
    for f in (
        one, returns_inside, in_one_another, of_another, unpacked, without_target, held_by_a_name,
        leaves_loop, leaves_loop_by_value, counted, made_inside, settings,
    )
]  # fmt: skip


@pytest.mark.parametrize(**named(MANAGED))
def test_generator_context_manager_gradient(program):
    assert_program(*program)


EVENTS = []
note = EVENTS.append


@contextlib.contextmanager
def recorded(x):
    note("entered")
    try:
        yield 2 * x
    finally:
        note("left")


def fails_inside(x, limit):
    with recorded(x) as y:
        if y[0] > limit:
            raise KeyError("too large")
        z = np.sum(y**2)
    return z


def test_generator_context_manager_exits_once_on_exception():
    EVENTS.clear()

    with pytest.raises(KeyError, match="too large"):
        srcad.grad(fails_inside)(X, 0.1)

    assert EVENTS == ["entered", "left"]
    assert srcad.grad(fails_inside)(X, 1.0) == pytest.approx(8 * X)
    assert EVENTS == ["entered", "left"] * 2


def keeps_exceptions(x):
    with forgiving(x) as y:
        z = np.sum(y**2)
    return z


def branches(x):
    with of_sign(x) as y:
        return np.sum(y**2)


@pytest.mark.parametrize("f", [keeps_exceptions, branches])
def test_unsupported_generator_context_manager_rejected(f):
    with pytest.raises(errors.UnsupportedSyntaxError, match="this 'with'"):
        srcad.grad(f)(X)


def loops_over_manager(x):
    for _ in scaled(x, 2.0):
        pass
    return np.sum(x)


def test_iteration_over_context_manager_raises_type_error():
    with pytest.raises(TypeError, match="not iterable"):
        srcad.grad(loops_over_manager)(X)


# ---------------------------------------------------------------------------- getters
class Point:
    def __init__(self, w):
        self.w = w
        self.c = 3.0
        self.inner = None

    def scaled(self, c, power=1):
        return c * self.w**power


WEIGHTS = operator.itemgetter("w")
ENDS = operator.itemgetter(0, -1)
FIELDS = operator.attrgetter("w", "c")
INNER = operator.attrgetter("inner.w")
TOTAL = operator.methodcaller("sum")
CUBED = operator.methodcaller("scaled", 2.0, power=3)


def item_of_dict(p):
    return np.sum(WEIGHTS(p) ** 2)


def items_of_array(x):
    a, b = ENDS(x)
    return a * b


def sorted_by_item(x):
    pairs = [(1.0, x[0]), (0.5, x[1])]
    pairs.sort(key=operator.itemgetter(0))
    return pairs[0][1] * 2 + pairs[1][1]


def mapped_item(pairs):
    return sum(map(operator.itemgetter(1), pairs))


def largest_by_item(pairs):
    return max(pairs, key=operator.itemgetter(1))[0] ** 2


def attributes(x):
    w, c = FIELDS(Point(x**2))
    return np.sum(w) * c


def attribute_of_attribute(x):
    point = Point(x)
    point.inner = Point(x**3)
    return np.sum(INNER(point))


def method(x):
    return TOTAL(x**2)


def method_of_object(x):
    return np.sum(CUBED(Point(x)))


def method_that_writes(x):
    items = [1.0, 2.0]
    operator.methodcaller("append", 3.0)(items)
    return np.sum(x) * len(items)


def method_with_argument(x):
    return operator.methodcaller("dot", x)(x)


GETTERS = [
    (item_of_dict, {"w": X, "b": 1.0}),
    (items_of_array, X),
    (sorted_by_item, X),
    (mapped_item, [(1.0, 2.0), (3.0, 4.0)]),
    (largest_by_item, [(1.0, 2.0), (3.0, 4.0)]),
    (attributes, X),
    (attribute_of_attribute, X),
    (method, X),
    (method_of_object, X),
    (method_with_argument, X),
    (method_that_writes, X),
]


@pytest.mark.parametrize(**named(GETTERS))
def test_operator_getter_gradient(program):
    assert_program(*program)


def test_rebound_getter_in_closure_detected():
    def f(x):
        return get(x) ** 2

    get = operator.itemgetter(0)
    gradient = srcad.grad(f)

    assert gradient(X) == pytest.approx([0.6, 0.0, 0.0])
    get = operator.itemgetter(1)
    assert gradient(X) == pytest.approx([0.0, 1.4, 0.0])


def test_scipy_array_namespace_is_numpy():
    pytest.importorskip("scipy")
    from scipy._lib._array_api import array_namespace

    def f(x):
        xp = array_namespace(x)
        return xp.sum(xp.exp(x) * 2)

    assert srcad.grad(f)(X) == pytest.approx(2 * np.exp(X))
