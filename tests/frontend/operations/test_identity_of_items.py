"""``a is b`` of objects that a list holds: what stands in the list decides it, not the reading."""

import copy

import numpy as np
import pytest

import srcad
from srcad.errors import UnsupportedSyntaxError


class Body:
    def __init__(self, x):
        self.x = x


def pairs(bodies):
    t = 0.0
    for a in bodies:
        for b in bodies:
            if b is not a:
                t = t + (a.x * b.x + 1.0)
    return t


def steps(bodies):
    for _ in range(2):
        for a in bodies:
            t = 0.0
            for b in bodies:
                if b is not a:
                    t = t + b.x + 1.0
            a.x = a.x + 0.1 * t * a.x
    return sum(b.x for b in bodies)


def by_index(bodies):
    first, t = bodies[0], 0.0
    for k in range(len(bodies)):
        t = t + (2.0 * bodies[k].x if bodies[k] is first else bodies[k].x ** 2)
    return t


def of_lists(rows):
    t = 0.0
    for a in rows:
        for b in rows:
            if a is b:
                t = t + a[0] * b[1]
    return t


def of_dicts(tables):
    t = 0.0
    for a in tables:
        for b in tables:
            t = t + (a["x"] ** 2 if a is b else a["x"] * b["x"])
    return t


@pytest.mark.parametrize("f", [pairs, steps, by_index])
def test_objects_of_one_list(f):
    numbers = np.array([0.4, 1.1, -0.6])

    def of(x):
        return f([Body(float(v)) for v in x])

    bodies = [Body(float(v)) for v in numbers]
    value, gradient = srcad.value_and_grad(f)(copy.deepcopy(bodies))

    assert value == f(copy.deepcopy(bodies))
    e = 1e-6
    slopes = [(of(numbers + e * u) - of(numbers - e * u)) / (2 * e) for u in np.eye(3)]
    np.testing.assert_allclose([one.x for one in gradient], slopes, rtol=1e-7)
    bodies_dot = [Body(1.0) for _ in bodies]
    np.testing.assert_allclose(
        srcad.jvp(f, (copy.deepcopy(bodies),), (bodies_dot,))[1], sum(slopes), rtol=1e-7
    )


@pytest.mark.parametrize(
    ("f", "make"),
    [
        (of_lists, lambda: [[0.4, 1.1], [0.4, 1.1], [2.0, -0.3]]),
        (of_dicts, lambda: [{"x": 0.4}, {"x": 0.4}, {"x": -1.5}]),
    ],
)
def test_containers_of_one_list(f, make):
    value, _ = srcad.value_and_grad(f)(make())

    assert value == f(make())


def changed_between(bodies):
    t = 0.0
    for a in bodies:
        a.x = a.x * 2.0
        for b in bodies:
            if b is not a:
                t = t + b.x
    return t


def made_here(x, n):
    made = []
    for k in range(n):
        made.append(Body(x * k))
    t = 0.0
    for a in made:
        for b in made:
            if a is b:
                t = t + a.x
    return t


def test_objects_that_are_changed_or_made():
    bodies = [Body(1.0), Body(2.0)]

    value, _ = srcad.value_and_grad(changed_between)(copy.deepcopy(bodies))

    assert value == changed_between(copy.deepcopy(bodies))
    assert srcad.value_and_grad(made_here)(1.5, 3) == (made_here(1.5, 3), 3.0)


def test_object_changed_since_it_was_read_has_a_remedy():
    def f(bodies, k):
        a = bodies[k]
        a.x = a.x + 1.0
        return a.x * (3.0 if a is bodies[0] else 1.0)

    with pytest.raises(UnsupportedSyntaxError, match="one object") as refused:
        srcad.grad(f)([Body(1.0), Body(2.0)], 0)

    assert "compare their places" in str(refused.value)


def test_object_of_either_path_has_a_remedy():
    def f(x, c):
        p, q = Body(x), Body(2.0 * x)
        o = p if x > c else q
        if x > c:
            o = p
        return o.x * (3.0 if o is p else 1.0)

    def g(x, n):
        p, q = Body(x), Body(2.0 * x)
        o = p
        for k in range(n):
            if k == 1:
                o = q
        return o.x * (3.0 if o is q else 1.0)

    def carried(x, n):
        p, q, t = Body(x), Body(2.0 * x), 0.0
        o = p
        for _ in range(n):
            if o is q:
                t = t + 10.0 * o.x
            t = t + o.x
            o = q
        return t

    for h, args in ((f, (1.0, 0.5)), (g, (1.0, 3)), (carried, (1.0, 3))):
        with pytest.raises(UnsupportedSyntaxError, match="one object") as refused:
            srcad.grad(h)(*args)
        assert "in each branch" in str(refused.value)


def of_equal_objects(bodies):
    t = 0.0
    for a in bodies:
        for b in bodies:
            t = t + (2.0 * a.x if a == b else a.x * b.x)
    return t


def of_tuples(pairs):
    t = 0.0
    for a in pairs:
        for b in pairs:
            if a is b:
                t = t + a[0]
    return t


def test_equality_by_identity_and_tuples():
    bodies = [Body(1.0), Body(2.0)]

    assert srcad.value_and_grad(of_equal_objects)(bodies)[0] == of_equal_objects(bodies)
    assert srcad.value_and_grad(of_tuples)([(1.0,), (2.0,)])[0] == 3.0
