"""Generators, iterators and the builtins that consume them."""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from srcad import errors, grad, value_and_grad
from tests.language import assert_program, named

V = np.array([0.3, -0.7, 1.1, 0.5])
LOG: list[Any] = []


def note(k):
    LOG.append(k)
    return k


def counts(n):
    for k in range(n):
        yield float(note(k))


def scaled(x, n):
    for k in range(n):
        yield x * k


def powers(x):
    power = x
    while True:
        yield power
        power = power * x


def pair(x):
    yield x
    yield x * x


def until(v, limit):
    for x in v:
        if x > limit:
            return
        yield x * x


def nested(v):
    for x in v:
        yield from pair(x)
    yield 2.0


def windows(v, width):
    for k in range(len(v) - width + 1):
        yield v[k : k + width]


# ------------------------------------------------------------------------------ generators
def loop(a):
    total = 0.0
    for t in scaled(a, 4):
        total += t * a
    return total


def loop_with_exits(a):
    total = 0.0
    for p in powers(a):
        if p > 0.4:
            continue
        if p < 0.035:
            break
        total = total * a + p
    return total


def loop_with_return(a):
    for p in powers(a):
        if p < 0.1:
            return p * 3
    return 0.0


def loop_with_else(a, limit):
    for t in scaled(a, 4):
        if t > limit:
            y = t * t
            break
    else:
        y = a
    return y * t


def generator_that_returns(v):
    total = 0.0
    for x in until(v, 1.0):
        total += x
    return total


def inner_loop(v):
    total = 0.0
    for x in v:
        for p in powers(x):
            if abs(p) < 0.1 or p > 3:
                break
            total += p * x
    return total


def return_from_inner_loop(v):
    for x in v:
        for y in pair(x):
            if y > 1.0:
                return y * x
    return 0.0


def generator_of_generator(v):
    total = 1.0
    for x in nested(v):
        total = total * 0.5 + x
    return total


def generator_in_generator(v):
    def squares():
        for x in until(v, 0.6):
            yield x * x

    return sum(x * y for x in squares() for y in pair(x))


def windowed(v):
    return sum(np.sum(w) ** 2 for w in windows(v, 2))


def names_live_on(a):
    for t in pair(a):
        last = t * 2
    return last * t


def local_generator(a):
    scale = 2.0

    def doubled():
        for k in range(3):
            yield scale * a * k

    scale = 3.0
    return sum(doubled())


def expression(a):
    terms = (a * k for k in range(4) if k != 2)
    return sum(terms)


def nested_expression(v):
    return sum(x * y for x in v for y in v if x > y)


def unpacked(a):
    x, y = pair(a)
    return x * y


def listed(a):
    items = list(scaled(a, 4))
    first, *rest = tuple(pair(a))
    return items[2] * items[3] + first * rest[0]


def stepped(a):
    numbers = iter([a, a * a, 3.0])
    x = next(numbers)
    return x * next(numbers) + sum(numbers)


def first_that_fits(v):
    found = next((x * x for x in v if x > 0.4), 0.0)
    return found + next((x for x in v if x > 100), v[0])


def enumerated(a):
    return sum(k * t for k, t in enumerate(scaled(a, 4), 1))


def in_step(a):
    total = 0.0
    for k, p, w in zip(range(3), powers(a), (1.0, a, 2.0), strict=False):
        total += k * p * w
    for p, q in zip(powers(a), pair(a), strict=False):
        total += p * q
    return total


def without_derivative(a):
    total = 0.0
    for k in counts(4):
        total += k * a
    for k, x in zip(counts(3), [a, a * a, 1.0], strict=True):
        total += k * x
    for k, x in enumerate(iter([1.0, 2.0])):
        total += k * x * a
    return total


# ------------------------------------------------------------------------------ itertools
def chains(v):
    total = 0.0
    for k, x in enumerate(itertools.chain(v, [1.0, v[0]], pair(v[1]))):
        total += k * x
    return total + sum(itertools.chain.from_iterable([v, v * v]))


def accumulations(v):
    total = sum(itertools.accumulate(v))
    total += sum(itertools.accumulate(v, operator.mul, initial=2.0))
    for s in itertools.accumulate([v[0], v[1]], lambda p, q: p * q):
        total += s * s
    return total + max(itertools.accumulate(v, max))


def slices(v):
    total = sum(itertools.islice(v, 2)) + sum(itertools.islice(powers(v[0]), 1, 6, 2))
    return total * sum(itertools.islice(v, 1, None))


def counting(a):
    total = 0.0
    for k in itertools.count(1):
        total += a * k
        if k > 3:
            break
    for k, x in zip(itertools.count(0.5, 0.5), [a, a * a], strict=False):
        total += k * x
    return total


def pairs(v):
    total = sum(x * y for x, y in itertools.pairwise(v))
    return total + sum(x * y for x, y in itertools.pairwise(pair(v[0])))


def products(v):
    total = 0.0
    for i, j in itertools.product(range(3), range(2)):
        total += v[i] * v[j]
    for x, y, z in itertools.product([v[0], 2.0], repeat=3):
        total += x * y * z
    return total + sum(x * y for x, y in itertools.product(v, v * v))


def choices(v):
    total = 0.0
    for x, y in itertools.combinations([v[0], v[1], 2.0], 2):
        total += x * y
    for i, j in itertools.permutations(range(3), 2):
        total += v[i] * j
    return total


def others(v):
    total = sum(itertools.takewhile(lambda x: x < 1, v))
    total += sum(itertools.dropwhile(lambda x: x < 1, v)) * v[0]
    total += sum(itertools.starmap(operator.mul, [(v[0], v[1]), (v[2], 2.0)]))
    total += sum(x * x for x in itertools.repeat(v[1], 3))
    for x, y in itertools.zip_longest([v[0], v[1]], [v[2]], fillvalue=3.0):
        total += x * y
    return total


# ------------------------------------------------------------------------------ builtins
def maps(v):
    total = sum(map(lambda x, y: x * y, v, v * v)) + sum(map(math.sin, [v[0], v[1]]))
    total += sum(map(lambda p: p * p, itertools.islice(powers(v[0]), 3)))
    total += sum(filter(None, [v[0], 0.0, v[1]])) * sum(filter(lambda x: x > 0, v))
    return total + functools.reduce(lambda p, x: p * 0.5 + x, v, 1.0)


def extremes(v):
    total = max(v) * min(v) + max(v[0], v[1], 0.1) * min([v[2], v[3] * 3])
    total += max(v, key=abs) + min(v, key=lambda x: (x - 0.45) ** 2)
    total += max([v[0], v[1]], key=lambda x: -x) + max([], default=v[0])
    total += max(v, default=0.0) * min(scaled(v[0], 3), default=0.0)
    table = {"a": 1.0, "b": 3.0}
    return total * table[max(table, key=table.get)]


def order(v):
    total = sorted(v)[0] * 2 + sorted([v[0], v[1], 0.1], reverse=True)[0]
    low, middle, high = sorted([v[2], v[0], v[3]], key=lambda x: -x)
    total += low * 1 + middle * 2 + high * 3
    for name, x in sorted({"b": v[0], "a": v[1]}.items()):
        total = total * 2 + x * len(name)
    rows = sorted([(v[0], 1.0), (v[1], 2.0)])
    return total + rows[0][0] * rows[0][1]


def questions(v):
    total = np.sum(v)
    if any(x > 1 for x in v) and not all(x > 1 for x in v):
        total *= v[0]
    if any([v[0] > 1, v[1] < 0]) and all(v < 2):
        total *= v[1]
    return total


def numbers(a):
    q, r = divmod(a, 0.3)
    y = q * r + divmod(7, 2)[1] * a + pow(a, 3) + pow(2.0, a) + abs(-a) * round(3.7)
    y += float("2.5") * a + int("3") * a + bool(a) * a + complex(1, 2).imag * a
    y += a if isinstance(a, float | int) else 0.0
    y += sum([a, a * a], 1.0) * len(range(3)) * len({1, 2}) + a * sum({1, 2, 3})
    return y * (a if isinstance(a, (int, float)) and not isinstance(a, bool) else 0.0)


def spread_lists(a):
    v = [x * a for x in range(4) if x * a > 0.5]
    more = [*v, np.sin(a), *v[::-1], *scaled(a, 2)]
    copied = [*v]
    copied[0] = a
    return sum(more) * more[-1] + more[0] * sum(copied) + v[0] * sum([*v, *[a, a * a]])


def spread_before_it_grows(a):
    v = [x * a for x in range(4) if x * a > 0.5]

    def grow():
        v.append(a * a)
        return a

    more = [*v, grow(), *v]
    return sum(more) * more[0] * len(more)


PROGRAMS = [
    *((f, 0.7) for f in (loop, loop_with_exits, loop_with_return)),
    (loop_with_else, 0.7, 1.0),
    (loop_with_else, 0.7, 100.0),
    *((f, V) for f in (generator_that_returns, inner_loop, return_from_inner_loop)),
    *((f, V) for f in (generator_of_generator, generator_in_generator, windowed)),
    *((f, 0.7) for f in (names_live_on, local_generator, expression, unpacked, listed, stepped)),
    *((f, V) for f in (nested_expression, first_that_fits)),
    *((f, 0.7) for f in (enumerated, in_step, without_derivative, counting)),
    *((f, V) for f in (chains, accumulations, slices, pairs, products, choices, others)),
    *((f, V) for f in (maps, extremes, order, questions)),
    *((f, 0.7) for f in (numbers, spread_lists, spread_before_it_grows)),
]


@pytest.mark.parametrize(**named(PROGRAMS))
def test_a_program_with_iterators_has_its_gradient(program: tuple[Any, ...]) -> None:
    assert_program(*program)


def test_a_generator_runs_once_and_no_further_than_it_is_asked() -> None:
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
def test_a_generator_is_asked_for_its_values_when_python_asks(f: Any) -> None:
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
def test_a_strict_zip_raises_as_python_does(lengths: tuple[int, int]) -> None:
    # The option was dropped.
    args = (0.3, *(np.arange(1.0, n + 1) for n in lengths))

    value, slope = value_and_grad(in_step_or_not)(*args)

    assert value == in_step_or_not(*args)
    assert slope == pytest.approx(value / 0.3)


def test_the_base_of_an_integer_is_read() -> None:
    # It was dropped where it was given by name.
    assert grad(lambda x: x * int("11", base=2) * int("z", 36))(0.5) == 3.0 * 35


def test_any_stops_at_the_first_that_is_true() -> None:
    def f(a):
        return a * a if any(note(k) > 1 for k in range(5)) else a

    LOG.clear()
    g = grad(f)(0.7)

    assert g == 1.4
    assert LOG == [0, 1, 2]


def test_an_iterator_of_the_caller_is_run_through_once() -> None:
    def f(a, items):
        return sum([x * a * a for x in items])

    assert grad(f)(0.5, iter([1.0, 2.0, 3.0])) == 6.0


def test_next_of_the_same_iterator_moves_on() -> None:
    def f(a):
        numbers = iter([2.0, 3.0])
        return next(numbers) * a + next(numbers) * a * a

    assert grad(f)(0.5) == 5.0


def test_no_next_raises_stop_iteration() -> None:
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
def test_what_cannot_be_read_in_place_is_refused_where_it_stands(f: Any) -> None:
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
def test_pairs_of_items_whose_number_is_not_known(f: Callable[..., Any]) -> None:
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
def test_entries_and_their_places(f: Callable[..., Any]) -> None:
    assert_program(f, np.array([0.3, -0.5, 0.8]))


def test_loops_over_places_are_nested_loops() -> None:
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
def test_an_iterator_with_a_name_is_gone_through_once(f: Callable[..., Any]) -> None:
    # The second time it gave its items again, which changes the value, too.
    with pytest.raises(errors.UnsupportedSyntaxError, match="cannot go on with the iterator"):
        grad(f)(np.array([0.3, -0.5, 0.8]))


def test_views_of_a_dict_are_gone_through_again() -> None:
    def f(x):
        items = {"a": x, "b": x * x}.items()
        return sum(v for _, v in items) + sum(v * v for _, v in items) * len(items)

    assert_program(f, 0.7)


def test_a_set_is_a_constant() -> None:
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
def test_one_iterator_in_two_places_is_refused(f: Callable[..., Any]) -> None:
    # Both places gave all items.
    with pytest.raises(errors.UnsupportedSyntaxError):
        grad(f)(np.array([0.3, -0.5, 0.8, 0.2]))
