"""Classes of the user's: loops over their objects, NumPy beside them, helpers that make them."""

from __future__ import annotations

import functools
import itertools
import json
import linecache
import logging
import math
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

from srcad import errors, grad, value_and_grad
from tests.language import assert_program, named
from tests.numeric import assert_close

X = np.array([0.3, -0.5, 0.8])


# ------------------------------------------------------------------------------ iteration
class Path:
    def __init__(self, scale, points):
        self.scale = scale
        self.points = points

    def __iter__(self):
        for point in self.points:
            yield point * self.scale


class Bag:
    def __init__(self, items):
        self.items = items

    def __iter__(self):
        return iter(self.items)

    def __len__(self):
        return len(self.items)


def in_a_loop(x):
    total = 0.0
    for k, point in enumerate(Path(x[0], x)):
        total += point**2 * k
    return total


def in_comprehensions(x):
    path = Path(x[1], x)
    return sum(path) + sum(p * q for p, q in zip(path, x)) + np.sum([p * p for p in path])


def as_lists(x):
    bag = Bag([x[0], x[1] * x[2]])
    first, second = bag
    more = [x[2]]
    more.extend(bag)
    return first * second + max(*bag) + np.prod(list(bag)) + sum([*bag]) + sum(more) * len(bag)


def by_tools(x):
    path = Path(x[2], x)
    total = functools.reduce(lambda a, b: a * 0.5 + b, path)
    for a, b in itertools.pairwise(Bag([x[0], x[1], x[2] ** 2])):
        total += a * b
    return total + sum(map(lambda p: p * p, path)) + sorted(Bag([x[0], x[1]]))[0]


def twice(x):
    # Each loop asks the class anew.
    path, total = Path(x[0], x), 0.0
    for point in path:
        for other in path:
            total += point * other
    return total


class Total(Path):
    def __radd__(self, other):
        return Total(self.scale + other, self.points)

    def __add__(self, other):
        return Total(self.scale + other, self.points)


def as_a_start(x):
    # Only the first argument of `sum` is gone through.
    return sum([x[0], x[1]], Total(x[2], x)).scale * x[0]


@pytest.mark.parametrize(
    **named([(f, X) for f in (as_a_start, in_a_loop, in_comprehensions, as_lists, by_tools, twice)])
)
def test_user_class_iteration_protocol(program: tuple[Any, ...]) -> None:
    assert_program(*program)


class Steps:
    def __init__(self, items):
        self.items = items
        self.k = 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.k >= len(self.items):
            raise StopIteration
        self.k += 1
        return self.items[self.k - 1]


class Indexed:
    def __init__(self, items):
        self.items = items

    def __getitem__(self, k):
        return self.items[k]


def test_user_iterator_with_next() -> None:
    def f(x):
        total = next(Steps(x)) ** 3
        for entry in Steps(x):
            total += entry**2
        return total

    assert_program(f, X)


def test_loop_over_class_without_iter_error_suggests_iter() -> None:
    with pytest.raises(errors.UnsupportedTypeError, match="give its class an __iter__"):
        grad(lambda x: sum(v**2 for v in Indexed(x)))(X)


# ------------------------------------------------------------------------ NumPy beside them
class Offset:
    def __init__(self, amount):
        self.amount = amount

    def __radd__(self, other):
        return self.amount + np.sum(other)


class Proud(Offset):
    __array_ufunc__ = None


class Sized(Offset):
    def __len__(self):
        return 2

    def __getitem__(self, k):
        return (self.amount, self.amount)[k]


@pytest.mark.parametrize("f", [
    lambda x: np.sum(x + Offset(x[1])),
    lambda x: np.sum(np.sin(x[0]) + Sized(x[1])),
])  # fmt: skip
def test_array_operator_with_object_right_operand_rejected(f: Callable[..., Any]) -> None:
    # Its operator was called once, with the whole array: another value, another gradient.
    with pytest.raises(errors.UnsupportedTypeError, match="entry by entry"):
        grad(f)(X)


@pytest.mark.parametrize("f", [
    lambda x: x + Proud(x[1]),
    lambda x: np.sin(x[0]) + Offset(x[1]),
    lambda x: 2.0 + Sized(x[1] * x[0]),
])  # fmt: skip
def test_class_with_own_arithmetic_dispatched(f: Callable[..., Any]) -> None:
    assert_program(f, X)


@pytest.mark.parametrize("place", ["", "[1]", "[1:]"])
@pytest.mark.parametrize("cls", [Offset, Proud])
def test_in_place_array_operator_with_object_rejected(place: str, cls: type) -> None:
    # The attributes of the object were added, one by one, or its operator was called.
    space: dict[str, Any] = {"np": np, "cls": cls}
    text = f"def f(x):\n    y = x * 2.0\n    y{place} += cls(x[1])\n    return np.sum(y)\n"
    f = _from_text(text, space)

    with pytest.raises(errors.UnsupportedTypeError, match="into an array in place"):
        grad(f)(X)


def _from_text(text: str, space: dict[str, Any]) -> Callable[..., Any]:
    name = "<in place>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    exec(compile(text, name, "exec"), space)
    made: Callable[..., Any] = space["f"]
    return made


class Wave:
    def __init__(self, amplitude):
        self.amplitude = amplitude
        self.real = amplitude

    def __array__(self, dtype=None, copy=None):
        return self.amplitude * np.array([1.0, 2.0, 3.0])

    def __float__(self):
        return float(self.amplitude) * 3.0


def stored(x):
    y = x * 2.0
    y[1] = Wave(x[0])
    return np.sum(y)


@pytest.mark.parametrize("f", [
    lambda x: np.sum(np.sin(Wave(x[0]))),
    lambda x: np.sum(np.asarray(Wave(x[0])) * x),
    lambda x: np.sum(np.stack([Wave(x[0]), Wave(x[1])])),
    lambda x: math.sin(Wave(x[0])),
    stored,
])  # fmt: skip
def test_numpy_function_of_user_object_rejected(f: Callable[..., Any]) -> None:
    # A rule worked with the object itself, and its cotangent had attributes of an array.
    with pytest.raises(errors.UnsupportedTypeError, match="with a 'Wave'"):
        grad(f)(X)


# ------------------------------------------------------------------------ helpers that make
@dataclass
class State:
    position: Any
    time: float


class Log:
    def __init__(self):
        self.items = []

    @classmethod
    def started(cls):
        return cls()

    def add(self, item):
        self.items.append(item)
        return self


def initial(n):
    return State(np.zeros(n), 0.0)


def buffers(n):
    return {"u": np.zeros(n), "v": [np.ones(n)]}


def integrated(x):
    state = initial(len(x))
    for k in range(3):
        state.position = state.position + np.sin(x) * k
        state.time += 0.1
    return np.sum(state.position) * state.time


def filled(x):
    made = buffers(3)
    made["u"][1] = x[0] * x[1]
    made["v"].append(x)
    return np.sum(made["u"]) + np.sum(made["v"][1] ** 2)


def logged(x):
    log = Log.started()
    for entry in x:
        log.add(entry * entry)
    return sum(log.items)


@pytest.mark.parametrize(**named([(f, X) for f in (integrated, filled, logged)]))
def test_object_created_by_helper_mutated(program: tuple[Any, ...]) -> None:
    # A call through which no derivative flows was left as it stands, and its result refused.
    assert_program(*program)


def test_inactive_call_emitted_unchanged() -> None:
    def table(n):
        return list(map(math.sqrt, range(n)))

    def f(x):
        return x * table(4)[2]

    g = grad(f)

    assert_close(g(0.5), math.sqrt(2.0))
    assert "table(4)" in g.source


CALLS: list[int] = []
SHARED = np.zeros(3)


@functools.lru_cache
def cached(n):
    CALLS.append(n)
    return np.zeros(n)


def shared():
    return SHARED


def test_cached_inactive_call_evaluated_once() -> None:
    # The function behind the cache was called instead, each time.
    def f(x):
        return np.sum((cached(3) + 1.0) * x)

    g = grad(f)
    CALLS.clear()
    cached.cache_clear()

    assert_close((g(X), g(X)), (np.ones(3), np.ones(3)))
    assert CALLS == [3]


@pytest.mark.parametrize("make", [lambda: cached(3), shared])
def test_write_into_array_shared_by_helper_rejected(make: Callable[..., Any]) -> None:
    def f(x):
        made = make()
        made[0] += x[0]
        return np.sum(made)

    with pytest.raises(errors.MutationError):
        grad(f)(X)


# ------------------------------------------------------------------------ own attributes
class Stepper:
    rate = 0.5

    def __init__(self, *, fast):
        self.step = self.quick if fast else self.slow

    def quick(self, v):
        return v * self.rate

    def slow(self, v):
        return v * self.rate + v**2

    def bend(self, v):
        return np.sin(v)


def test_instance_attribute_shadows_class_attribute() -> None:
    stepper = Stepper(fast=True)
    stepper.bend = np.cos

    def f(x):
        return stepper.step(x) + stepper.bend(x)

    assert_program(f, 0.7)


def test_method_assigned_on_instance_detected() -> None:
    # The gradient was that of the first call.
    stepper = Stepper(fast=True)
    g = value_and_grad(lambda x: stepper.step(x) + stepper.bend(x))

    assert_close(g(0.7), (0.35 + math.sin(0.7), 0.5 + math.cos(0.7)))
    stepper.bend = np.tanh
    assert_close(g(0.7), (0.35 + math.tanh(0.7), 0.5 + 1 - math.tanh(0.7) ** 2))
    stepper.step = stepper.slow
    assert_close(g(0.7), (0.84 + math.tanh(0.7), 1.9 + 1 - math.tanh(0.7) ** 2))
    del stepper.bend
    assert_close(g(0.7), (0.84 + math.sin(0.7), 1.9 + math.cos(0.7)))


class Slower(Stepper):
    def quick(self, v):
        return super().quick(v) * 0.5


def test_base_class_method_change_detected() -> None:
    # What `super()` found for an object from outside was not looked at again.
    stepper, quick = Slower(fast=True), Stepper.quick
    g = grad(lambda x: stepper.quick(x))

    assert_close(g(0.7), 0.25)
    try:
        Stepper.quick = lambda self, v: v**2
        assert_close(g(0.7), 0.7)
    finally:
        Stepper.quick = quick
    assert_close(g(0.7), 0.25)


class Account:
    rate = 0.5

    def __init__(self, level):
        self.level = level

    @classmethod
    def opened(cls, level):
        return cls(level * cls.rate)

    @staticmethod
    def bent(level):
        return np.sin(level)


class Saving(Account):
    rate = 0.7

    @classmethod
    def opened(cls, level):
        made = super().opened(level)
        made.level = made.level + super().bent(level)
        return made

    @classmethod
    def scaled(cls, level):
        return super().opened(level).level * cls.rate


SAVING = Saving(0.3)


@pytest.mark.parametrize("f", [
    lambda x: Saving.opened(x).level,
    lambda x: Saving(x).opened(x * x).level,
    lambda x: SAVING.scaled(x) * SAVING.level,
])  # fmt: skip
def test_super_in_a_class_method(f: Callable[..., Any]) -> None:
    # It looked for a class behind the class of the class, and found nothing.
    assert_program(f, 0.7)


# ------------------------------------------------------------------------ getattr
class Amount:
    def __init__(self, level):
        self.level = level

    @property
    def double(self):
        return 2.0 * self.level


def test_getattr_of_a_number_gives_the_default() -> None:
    # The number was taken to have the attribute.
    def f(x):
        values = [Amount(x), x, np.sin(x)]
        return sum(getattr(v, "level", 3.0) * x for v in values)

    assert_program(f, 0.7)


def test_getattr_reads_properties() -> None:
    assert_program(
        lambda x: getattr(Amount(x * x), "double") + getattr(Amount(x), "double", 1), 0.7
    )


# ------------------------------------------------------------------------ draws
def test_local_random_generator_draws_typed() -> None:
    # A place that was drawn was taken for one that may select a view.
    def f(x):
        rng = np.random.default_rng(3)
        y = x * 1.0
        y[rng.integers(3)] = y[0] * rng.normal()
        t = y[rng.integers(3)]
        y[rng.integers(3)] = 0.5 * t
        return np.sum(y) + t

    assert_program(f, X)


# ------------------------------------------------------------------------ named tuples
class Pair(NamedTuple):
    u: Any
    v: Any = 2.0

    def product(self):
        return self.u * self.v


def gone_through(x):
    total = 0.0
    for k, part in enumerate(Pair(x, x * x)):
        total += part * (k + 1)
    for part in reversed(Pair(x)):
        total = total * x + part
    return total + sum(p * q for p, q in zip(Pair(x, x * x), Pair(3.0)))


def as_a_tuple(x):
    joined = Pair(x) + Pair(x, x) + (x,)
    return sum(joined) * len(joined) + sum(Pair(x) * 2) + (x if Pair(x) == (x, 2.0) else 2.0 * x)


def as_an_array(x):
    pair = Pair(x, x * x)
    return np.dot(pair, pair) + np.sum(pair) + np.linalg.norm(pair) + np.sum(np.array(pair) ** 2)


@pytest.mark.parametrize(**named([(f, 0.7) for f in (gone_through, as_a_tuple, as_an_array)]))
def test_a_named_tuple_is_a_tuple(program: tuple[Any, ...]) -> None:
    # Loops over one were refused, its sums and what NumPy makes of it ended in errors.
    assert_program(*program)


# ------------------------------------------------------------------------ of the library
def test_a_namespace_is_an_object() -> None:
    def f(x):
        state = types.SimpleNamespace(level=x, rate=2.0)
        for _ in range(3):
            state.level = state.level * state.rate
        state.more = [x]
        return state.level + state.more[0] ** 2

    assert_program(f, 0.7)


LOG = logging.getLogger("srcad.tests")


def test_logging_calls_run_once(caplog: pytest.LogCaptureFixture) -> None:
    # The source of the library was read, down to a class without a rule.
    def f(x):
        for k in range(2):
            x = x * x
            LOG.info("step %d: %.3f", k, x)
        logging.getLogger("srcad.tests").isEnabledFor(10)
        logging.warning("end %.3f", x)
        return x

    with caplog.at_level(logging.INFO):
        assert_close(grad(f)(0.5), 0.5)

    assert caplog.messages == ["step 0: 0.250", "step 1: 0.062", "end 0.062"]


# ------------------------------------------------------------------------ known at the call only
SHARED_LIST = [5.0, 2.0]


def table():
    return SHARED_LIST


def pair_of_numbers():
    return 1.0, 2.0


def ones():
    return np.ones(3)


def aliased(x):
    numbers, entries = list(table()), ones()
    other, same = numbers, entries
    numbers += [3.0]
    entries += 1.0
    return x * len(other) + np.sum(same * x)


def joined(x):
    return sum([*table(), x]) + sum(table() + [x]) * 2.0 + sum((x, *pair_of_numbers()) + (x,))


def joined_in_place(x):
    numbers = table()[:]
    numbers += [x * x]
    entries = ones()
    same = entries
    entries += x
    return sum(numbers) + np.sum(same**2)


@pytest.mark.parametrize(**named([(f, 0.7) for f in (aliased, joined, joined_in_place)]))
def test_operators_on_opaque_values(program: tuple[Any, ...]) -> None:
    # `a += b` made something new, which other names did not see; a list with a derivative that was
    # joined to one of an unknown kind was taken for an array that is added.
    assert_program(*program)


@pytest.mark.parametrize("f", [
    lambda x: sum(json.loads("[1.0, 2.0]") + [x]),
    lambda x: sum([x] * json.loads("3")),
])  # fmt: skip
def test_list_plus_opaque_value_rejected(f: Callable[..., Any]) -> None:
    with pytest.raises(errors.UnsupportedTypeError, match="lists are joined or arrays"):
        grad(f)(0.7)


class Tally:
    def __init__(self):
        self.n = 1

    def __iadd__(self, other):
        self.n += other
        return self


TALLY = Tally()


def test_in_place_operator_on_global_object_applied_once() -> None:
    def f(x):
        tally = TALLY
        tally += 2
        return tally.n * x

    assert [value_and_grad(f)(0.7), TALLY.n] == [(3 * 0.7, 3.0), 3]
    assert [value_and_grad(f)(0.7), TALLY.n] == [(5 * 0.7, 5.0), 5]


# ------------------------------------------------------------------------ private names
class Vault:
    __rate = 4.0

    def __init__(self, level):
        self.__level = level

    def __tripled(self, x):
        return x * 3.0

    def opened(self, x):
        return self.__tripled(x) * self.__level + self.__rate * Vault.__tripled(self, x)


class SafeVault(Vault):
    def __init__(self, level):
        super().__init__(level)
        self.__level = level * 10.0

    def both(self, x):
        return self.__level * self.opened(x)


VAULT = SafeVault(2.0)


@pytest.mark.parametrize("f", [lambda x: SafeVault(x).both(x), lambda x: VAULT.both(x)])
def test_private_name_mangling(f: Callable[..., Any]) -> None:
    # Those of a class and of one that refines it were the same attribute; methods were not found.
    assert_program(f, 0.7)


class Scaler:
    def __init__(self, a):
        self.a = a

    def __call__(self, x):
        return x * self.a

    def __getitem__(self, k):
        return self.a * k


def test_callable_argument_passed_to_its_methods() -> None:
    # An argument that is known now could not be given to a call that runs as it stands.
    g = grad(lambda obj, x: obj(x) * obj[3], wrt="x")

    assert_close(g(Scaler(2.0), 0.7), 12.0)


def test_loop_over_conditional_iterable() -> None:
    # It asked for an iterator of an iterator, without end.
    def f(x):
        return sum(table() if x > 5.0 else [x, x * x])

    def of_one_without_derivative(x):
        return sum(json.loads("[1.0]") if x > 5.0 else [x])

    assert_program(f, 0.7)
    assert_program(of_one_without_derivative, 0.7)
    assert_program(of_one_without_derivative, 6.0)


class Squarer:
    def __init__(self, v):
        self.v = v

    def __mul__(self, other):
        return self.v * other * other

    __rmul__ = __mul__


def squarer():
    return Squarer(2.0)


@pytest.mark.parametrize("f", [lambda x: squarer() * x, lambda x: x * squarer()])
def test_opaque_object_from_helper_is_not_numeric(f: Callable[..., Any]) -> None:
    # It was taken for one: the derivative was that of a product.
    with pytest.raises(errors.UnsupportedTypeError, match="with a 'Squarer'"):
        grad(f)(0.7)


def test_number_from_opaque_helper() -> None:
    def f(x):
        scale, total = pair_of_numbers()[1], 0.0
        for k in range(3):
            total += scale * x[k] ** 2 + pair_of_numbers()[0] * k
        return total / ones()[0]

    assert_program(f, X)
