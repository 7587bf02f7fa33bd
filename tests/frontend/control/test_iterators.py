"""Generators, iterators and the builtins that consume them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from srcad import errors, grad, value_and_grad
from tests.corpus.generators import LOG, counts, note, powers, scaled
from tests.language import assert_program

V = np.array([0.3, -0.7, 1.1, 0.5])


def test_generator_runs_once_and_stops_at_break() -> None:
    def f(a):
        total = 0.0
        for k in counts(5):
            note("use")
            total += k * a
            if k == 2:
                break
        return total

    LOG.clear()
    g = grad(f)(0.7)

    assert g == 3.0
    assert LOG == [0, "use", 1, "use", 2, "use"]


def drawn_in_a_display(x, rng):
    first, second, third = [*(x * rng.normal() for _ in range(2)), rng.normal()]
    return first + 2 * second + 3 * third


def drawn_in_a_call(x, rng):
    def weighted(first, second, third):
        return first + 2 * second + 3 * third

    return weighted(*map(lambda t: t * rng.normal(), [x, x]), rng.normal())


def drawn_before_the_sum(x, rng):
    return sum((x * rng.normal() for _ in range(2)), rng.normal())


@pytest.mark.parametrize("f", [drawn_in_a_display, drawn_in_a_call, drawn_before_the_sum])
def test_random_draws_in_generator_in_python_order(f: Any) -> None:
    # What a star spreads was asked for when all else had been read, and a generator expression
    # before the arguments that follow: the draws changed places, silently.
    value, slope = value_and_grad(f)(0.3, np.random.default_rng(0))

    assert value == f(0.3, np.random.default_rng(0))
    moved = f(1.3, np.random.default_rng(0)) - f(0.3, np.random.default_rng(0))
    assert abs(slope - moved) < 1e-12


def in_step_or_not(x, v, w):
    try:
        return x * sum(p * q * r for p, q, r in zip(v, w, [1.0, 2.0, 3.0], strict=True))
    except ValueError as error:
        return x * len(str(error))


@pytest.mark.parametrize("lengths", [(3, 3), (3, 2), (2, 3), (2, 2), (4, 4)])
def test_strict_zip_with_unequal_lengths_raises(lengths: tuple[int, int]) -> None:
    # The option was dropped.
    args = (0.3, *(np.arange(1.0, n + 1) for n in lengths))

    value, slope = value_and_grad(in_step_or_not)(*args)

    assert value == in_step_or_not(*args)
    assert slope == pytest.approx(value / 0.3)


def test_int_of_string_with_base() -> None:
    # It was dropped where it was given by name.
    assert grad(lambda x: x * int("11", base=2) * int("z", 36))(0.5) == 3.0 * 35


def test_any_short_circuits() -> None:
    def f(a):
        return a * a if any(note(k) > 1 for k in range(5)) else a

    LOG.clear()
    g = grad(f)(0.7)

    assert g == 1.4
    assert LOG == [0, 1, 2]


def test_iterator_argument_consumed_once() -> None:
    def f(a, items):
        return sum([x * a * a for x in items])

    assert grad(f)(0.5, iter([1.0, 2.0, 3.0])) == 6.0


def test_repeated_next_advances_iterator() -> None:
    def f(a):
        numbers = iter([2.0, 3.0])
        return next(numbers) * a + next(numbers) * a * a

    assert grad(f)(0.5) == 5.0


def test_next_of_exhausted_iterator_raises_stop_iteration() -> None:
    def f(a):
        return next(x for x in [a] if x > 100)

    with pytest.raises(StopIteration):
        grad(f)(0.5)


def walk(x, depth) -> Iterator[Any]:
    yield x
    if depth:
        yield from walk(x * x, depth - 1)


def refused_recursion(a):
    return sum(walk(a, 3))


def refused_value_of_a_yield(a):
    def g():
        got = yield a
        yield got

    return sum(g())


def refused_second_use(a):
    numbers = scaled(a, 4)
    return next(numbers) + next(numbers)


def refused_in_step(a):
    return sum(p * q for p, q in zip(powers(a), powers(a * a), strict=False))


def refused_as_a_value(a):
    return a, scaled(a, 4)


@pytest.mark.parametrize(
    "f",
    [refused_recursion, refused_value_of_a_yield, refused_second_use, refused_in_step],
)
def test_unsupported_generator_rejected_with_location(f: Any) -> None:
    with pytest.raises(errors.UnsupportedSyntaxError) as caught:
        grad(f)(0.7)

    assert "test_iterators.py:" in str(caught.value)
    assert "^" in str(caught.value)


# ------------------------------------------------------------------------ pairs of any number
def forces(x):
    force = np.zeros(len(x))
    for i, j in itertools.combinations(range(len(x)), 2):
        force[i] += x[j] ** 2
        force[j] -= x[i]
    return np.sum(force * force)


def ordered_pairs(x):
    total = 0.0
    for i, j in itertools.permutations(range(len(x)), 2):
        if i > j:
            continue
        total += x[i] * x[j] ** 2
        if j == 2:
            break
    return total + sum(a * b**2 for a, b in itertools.combinations(x, 2))


@pytest.mark.parametrize("f", [forces, ordered_pairs])
def test_pairwise_iteration_of_unknown_length(f: Callable[..., Any]) -> None:
    assert_program(f, np.array([0.3, -0.5, 0.8, 0.2]))


# ------------------------------------------------------------------------ places of an array
def weighted(x):
    total = 0.0
    for (i, j), entry in np.ndenumerate(np.outer(x, x)):
        total += entry**2 * (i + 2 * j)
    for place, entry in np.ndenumerate(x):
        total += entry * place[0]
    return total


SHAPE = (2, 3)


def by_places(x):
    total = sum(x[i] * x[j] ** 2 * (i + j) for i, j in np.ndindex(SHAPE))
    cube = x[:, None, None] * x[None, :, None] * x
    for i, j, k in np.ndindex(*cube.shape):
        total += cube[i, j, k] * (i + 2 * j + 3 * k)
    for place in np.ndindex(2, 1, 2, 1):
        total += x[place[2]]
    return total + sum(x[place] for place in np.ndindex(len(x)))


def as_lists_of_numbers(x):
    rows = np.outer(x, x).tolist()
    rows[0][1] = rows[1][0] * 3.0
    return sum(sum(row) for row in rows) + sum(v**2 for v in x.tolist()) + x.sum().tolist()


@pytest.mark.parametrize("f", [weighted, by_places, as_lists_of_numbers])
def test_ndenumerate_and_ndindex_gradient(f: Callable[..., Any]) -> None:
    assert_program(f, np.array([0.3, -0.5, 0.8]))


def test_ndenumerate_emitted_as_nested_loops() -> None:
    g = grad(lambda x: sum(v**2 for _, v in np.ndenumerate(x)))
    g(np.ones((2, 3)))

    assert "ndindex" not in g.source


# ------------------------------------------------------------------------ gone through once
def listed_twice(x):
    pairs = zip([1.0, 2.0], x)
    return sum(p * q for p, q in list(pairs)) + len(list(pairs)) * x[0]


def in_every_trip(x):
    pairs = enumerate(x)
    for _ in range(2):
        for k, entry in pairs:
            x = x + entry * k
    return np.sum(x)


@pytest.mark.parametrize("f", [listed_twice, in_every_trip])
def test_reuse_of_partially_consumed_iterator_rejected(f: Callable[..., Any]) -> None:
    # The second time it gave its items again, which changes the value, too.
    with pytest.raises(errors.UnsupportedSyntaxError, match="cannot go on with the iterator"):
        grad(f)(np.array([0.3, -0.5, 0.8]))


def test_dict_items_view_iterated_twice() -> None:
    def f(x):
        items = {"a": x, "b": x * x}.items()
        return sum(v for _, v in items) + sum(v * v for _, v in items) * len(items)

    assert_program(f, 0.7)


def test_set_of_constants_is_constant() -> None:
    def aliased(x):
        s = {1, 2}
        t = s
        s |= {3}
        return len(t) * x

    def added(x):
        s = {1, 2}
        s.add(3)
        return len(s) * x

    for f in (aliased, added):
        with pytest.raises(errors.MutationError):
            grad(f)(0.7)


@pytest.mark.parametrize("f", [
    lambda x: sum(a * b for a, b in zip(*[iter(x)] * 2)),
    lambda x: (lambda z: sum(a for _, a in z[0]) + len(list(z[0])))([zip(x, x)]),
    lambda x: (lambda z: sum(z[0]) + sum(z[0]))((reversed(x),)),
    lambda x: (lambda z: sum(a for _, a in z["e"]))({"e": enumerate(x)}),
])  # fmt: skip
def test_aliased_iterator_rejected(f: Callable[..., Any]) -> None:
    # Both places gave all items.
    with pytest.raises(errors.UnsupportedSyntaxError):
        grad(f)(np.array([0.3, -0.5, 0.8, 0.2]))
