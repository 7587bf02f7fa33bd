"""Objects and names outside the function that it writes: as the plain call does, and once."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcad
from srcad import errors
from tests.numeric import assert_close, difference

X = np.array([0.3, -0.2, 0.7])
TOTAL: Any = 0.5


class Thing:
    """An object of the caller's."""

    seen = 10

    def __init__(self, **fields: Any) -> None:
        for name, value in fields.items():
            setattr(self, name, value)

    def tick(self):
        self.n += 1
        return self.n

    def norm(self):
        return np.sum(self.h**2)

    @property
    def twice(self):
        return self._twice

    @twice.setter
    def twice(self, value):
        self._twice = 2 * value

    def state(self):
        inner = {k: v.state() if isinstance(v, Thing) else v for k, v in vars(self).items()}
        inner["watch"] = vars(self.watch) if "watch" in inner else None
        return {k: repr(v.tolist() if isinstance(v, np.ndarray) else v) for k, v in inner.items()}


class Ackley:
    """An objective of SciPy's benchmarks."""

    def __init__(self) -> None:
        self.nfev = 0

    def fun(self, x, *args):
        self.nfev += 1
        u = np.sum(x**2)
        v = np.sum(np.cos(2 * np.pi * x))
        return -20 * np.exp(-0.2 * np.sqrt(u / 3)) - np.exp(v / 3) + 20 + np.exp(1)


def caches_what_it_made(o, x):
    o.h = np.tanh(x)
    return np.sum(o.h * x) + np.sum(o.h**2)


def caches_its_argument(o, x):
    o.x = x
    return np.sum(np.sin(o.x) * o.x)


def counts(o, x):
    o.n += 1
    return np.sum(x**2) * o.n


def counts_by_a_method(o, x):
    o.tick()
    k = o.tick()
    return np.sum(x**3) * o.n * k


def reads_by_a_method(o, x):
    o.h = np.cos(x)
    return o.norm() * x[0]


def by_a_property(o, x):
    o.twice = x
    return np.sum(o.twice * x)


def by_setattr(o, x):
    for name, value in (("p", x * 2), ("q", np.sin(x))):
        setattr(o, name, value)
    return np.sum(o.p * getattr(o, "q"))  # noqa: B009 - asked in this way


def in_one_branch(o, x):
    if x[0] > 0:
        o.h = np.sin(x)
    return np.sum(o.h * x)


def in_the_other_branch(o, x):
    if x[0] < 0:
        o.h = np.sin(x)
    return np.sum(o.h * x)


def in_a_helper_that_returns_early(o, x):
    def keep(v):
        if v > 0:
            return 0
        o.h = np.sin(x)
        return 1

    return keep(x[0]) + np.sum(o.h * x)


def in_a_loop(o, x):
    for k in range(len(x)):
        o.n += 1
        o.last = x[k] ** 2 + o.n
    return o.last * np.sum(x)


def carried_by_a_loop(o, x):
    for k in range(len(x)):
        if x[k] > 0:
            o.total = o.total * x[k]
    return o.total


def counts_the_trips_of_a_while(o, x):
    o.n = 0
    y = x
    while o.n < 3:
        y = np.sin(y)
        o.n += 1
    return np.sum(y)


def in_a_generator(o, x):
    def values():
        for k in range(3):
            o.n += 1
            yield x[k] * o.n

    return sum(v * o.n for v in values())


def once_if_nothing_is_there(o, x):
    if o.none is None:
        o.none = np.cos(x)
    return np.sum(o.none * x)


def of_an_object_inside(o, x):
    o.inner.h = x * 2
    o.inner.n += 1
    return np.sum(o.inner.h * x) * o.inner.n


def of_another_object_in_its_place(o, x):
    o.inner = o.other
    o.inner.h = x * 2
    return np.sum(o.other.h * x)


def of_its_class(o, x):
    Thing.seen += 1
    return np.sum(x) * Thing.seen * o.seen


def written_into_afterwards(o, x):
    o.h = np.zeros(3)
    for k in range(3):
        o.h[k] = x[k] ** 2
    return np.sum(o.h * x)


def written_into_by_another_name(o, x):
    y = x * 2
    o.h, o.part = y, y[1:]
    y[1] = 5.0 * x[0]
    return np.sum(o.h) + np.sum(o.part * x[1:])


def added_to_in_place(o, x):
    y = x * 1.0
    o.h = y
    y += x
    o.h *= 2
    return np.sum(o.h * y)


def returned_as_a_gradient_too(o, x):
    o.h = x * 2.0
    return np.sum(o.h * x) / 2


def until_it_fails(o, x):
    o.n += 1
    o.h = x * 2
    y = math.sqrt(-abs(x[0]))
    o.n += 1
    return y


def fails_and_goes_on(o, x):
    o.n += 1
    try:
        o.h = x * 2
        y = math.sqrt(x[1])
        o.h = x * 3
    except ValueError:
        y = x[2]
        o.n += 10
    finally:
        o.n += 100
    return np.sum(o.h * x) * o.n * y


def in_an_inner_gradient(o, x):
    def loss(w):
        o.n += 1
        return np.sum(w**3)

    return np.sum(srcad.grad(loss)(x) * x) * o.n


class Watch:
    def __init__(self) -> None:
        self.state, self.times = "new", 0

    def __enter__(self):
        self.state, self.times = "running", self.times + 1
        return self

    def __exit__(self, *error):
        self.state = "over"


def in_a_manager(o, x):
    with o.watch as watch:
        o.h = x * watch.times
    return np.sum(o.h * x) * (2 if o.watch.state == "over" else 3)


def a_global(o, x):
    global TOTAL
    for k in range(3):
        TOTAL += x[k] * TOTAL
    return TOTAL * x[0]


def a_global_of_a_helper(o, x):
    add_to_total(x[0])
    y = np.sum(x) * TOTAL
    add_to_total(1.0)
    return y + TOTAL


def add_to_total(v):
    global TOTAL
    TOTAL += v


def a_name_of_the_function_around(o, x):
    total = 0.0

    def add(v):
        nonlocal total
        total += v * total + v

    for k in range(len(x)):
        add(x[k])
    return total


PROGRAMS = [
    caches_what_it_made, caches_its_argument, counts, counts_by_a_method, reads_by_a_method,
    by_a_property, by_setattr, in_one_branch, in_the_other_branch, in_a_helper_that_returns_early,
    in_a_loop, carried_by_a_loop, counts_the_trips_of_a_while, in_a_generator,
    once_if_nothing_is_there, of_an_object_inside, of_another_object_in_its_place, of_its_class,
    written_into_afterwards, written_into_by_another_name, added_to_in_place,
    returned_as_a_gradient_too, fails_and_goes_on, in_an_inner_gradient, in_a_manager, a_global,
    a_global_of_a_helper, a_name_of_the_function_around,
]  # fmt: skip


def fresh() -> Thing:
    """An object as it is before every call; the global and the class, too."""
    global TOTAL
    TOTAL, Thing.seen = 0.5, 10
    inner, other = Thing(h=None, n=2), Thing(h=None, n=3)
    return Thing(
        h=np.array([0.1, 0.2, 0.3]),
        n=1,
        total=0.5,
        none=None,
        inner=inner,
        other=other,
        watch=Watch(),
    )


def plain(f: Callable[..., Any], x: Any) -> Any:
    """The value of the plain call on a fresh object."""
    return f(fresh(), x)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_write_to_external_object_matches_original(f: Callable[..., Any]) -> None:
    o, again = fresh(), []
    want = f(o, X.copy())
    state = o.state(), repr(TOTAL), Thing.seen

    for k in range(2):
        o = fresh()
        value, gradient = srcad.value_and_grad(f, wrt=1)(o, X.copy())
        again.append((o.state(), repr(TOTAL), Thing.seen))
        assert repr(value) == repr(want), k
    o = fresh()
    got = srcad.grad(f, wrt=1)(o, X.copy())

    assert again == [state, state]
    assert (o.state(), repr(TOTAL), Thing.seen) == state
    want_gradient = difference(lambda x: plain(f, x), (X,), 0)
    assert_close(got, want_gradient, 1e-6, 1e-7)
    assert_close(gradient, want_gradient, 1e-6, 1e-7)
    fresh()


def test_object_writes_before_exception_persist() -> None:
    o, other = fresh(), fresh()

    for f, given in ((until_it_fails, o), (srcad.grad(until_it_fails, wrt=1), other)):
        with pytest.raises(ValueError, match="math domain|nonnegative"):
            f(given, X)

    assert other.state() == o.state()


def test_call_counter_of_bound_and_unbound_method() -> None:
    problem = Ackley()

    bound = srcad.grad(problem.fun)(X)
    unbound = srcad.value_and_grad(Ackley.fun, wrt=1)(problem, X)[1]

    assert problem.nfev == 2
    assert np.array_equal(bound, unbound)
    assert_close(bound, difference(Ackley().fun, (X,), 0), 1e-6, 1e-7)


class Objective:
    def __init__(self) -> None:
        self.calls, self.best, self.trace = 0, np.inf, []

    def __call__(self, x):
        self.calls += 1
        value = np.sum((x - 1) ** 2)
        self.trace.append((self.calls, float(value)))
        if value < self.best:
            self.best = value
            self.where = x.copy()
        return value


def test_callable_object_stores_best_value() -> None:
    objective, plain = Objective(), Objective()
    gradient = srcad.value_and_grad(objective)

    for x in (X, 2 * X, 0 * X):
        value, slope = gradient(x)
        assert value == plain(x)
        assert_close(slope, 2 * (x - 1))

    assert repr(vars(objective)) == repr(vars(plain))


def test_pullback_side_effects_only_in_forward_pass() -> None:
    o = fresh()
    value, back = srcad.pullback(lambda x: counts(o, x), X)

    assert o.n == 2
    assert_close(back(1.0)[0], 4 * X)
    assert_close(back(2.0)[0], 8 * X)
    assert (o.n, value) == (2, np.sum(X**2) * 2)


def test_state_from_earlier_call_is_inactive() -> None:
    def f(o, x):
        y = np.sum(o.h * x)
        o.h = x * 2
        return y

    o, gradient = fresh(), srcad.grad(f, wrt=1)

    assert_close(gradient(o, X), np.array([0.1, 0.2, 0.3]))
    assert_close(gradient(o, X), 2 * X)


def test_gradient_does_not_alias_stored_array() -> None:
    o = fresh()

    gradient = srcad.grad(returned_as_a_gradient_too, wrt=1)(o, X)
    gradient[:] = 7.0

    assert_close(o.h, 2 * X)


def two_names(a, b, x):
    a.h = x * 2
    b.h = x * x
    return np.sum(a.h * x) + np.sum(b.h)


def test_object_aliasing_distinguished_per_call() -> None:
    gradient = srcad.value_and_grad(two_names, wrt=2)

    for _ in range(2):
        one, a, b = fresh(), fresh(), fresh()
        for pair in ((one, one), (a, b)):
            want = difference(lambda x, pair=pair: two_names(*pair, x), (X,), 0)
            value, got = gradient(*pair, X)
            assert value == two_names(*pair, X)
            assert_close(got, want, 1e-6, 1e-7)


def test_generated_code_writes_at_same_statement() -> None:
    o = fresh()
    gradient = srcad.grad(in_a_loop, wrt=1)
    gradient(o, X)

    lines = [line.strip() for line in gradient.source.splitlines()]
    forward, backward = lines.index("for k in range(len(x)):"), lines.index("return x_bar")
    written = [k for k, line in enumerate(lines) if line.startswith(("o.n = ", "o.last = "))]
    assert len(written) == 2
    assert all(forward < k < backward for k in written)
    assert not any(line.startswith("for") for line in lines[forward + 1 : written[1]])


def deletes(o, x):
    del o.h
    return x[0] * hasattr(o, "h")


def in_a_recursion(o, x):
    def down(k):
        o.n += 1
        return x[0] if k == 0 else down(k - 1) * x[1]

    return down(3)


def in_the_test_of_a_while(o, x):
    y = x
    while o.tick() < 4:
        y = np.sin(y)
    return np.sum(y)


@pytest.mark.parametrize("f", [deletes, in_a_recursion, in_the_test_of_a_while])
def test_untracked_object_write_rejected_without_side_effects(f: Callable[..., Any]) -> None:
    o = fresh()

    with pytest.raises(errors.MutationError):
        srcad.grad(f, wrt=1)(o, X)

    assert o.state() == fresh().state()
