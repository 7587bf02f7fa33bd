"""Objects made inside the function: data classes, plain classes, named tuples, their methods."""

from __future__ import annotations

import copy
import dataclasses
import fractions
import warnings
from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pytest

from srcad import errors, grad, gradient, rules, testing, value_and_grad
from tests.language import assert_program
from tests.numeric import assert_gradient

V = np.array([0.3, -0.7, 1.1, 0.5])
Point = namedtuple("Point", "x y")


@dataclass
class State:
    x: Any
    v: Any = 1.0
    log: list = field(default_factory=list)
    n: int = 0

    def step(self, dt):
        self.x = self.x + dt * self.v
        self.v -= dt * self.x
        self.log.append(self.x)
        self.n += 1
        return self

    @property
    def energy(self):
        return self.x**2 + self.v**2


@dataclass
class Derived:
    a: float
    b: float = 2.0
    scale: dataclasses.InitVar[float] = 1.0
    c: float = field(init=False)

    def __post_init__(self, scale):
        self.c = self.a * self.b * scale


@dataclass(frozen=True)
class Frozen:
    a: float
    b: float = 1.0
    c: float = field(init=False, default=0.0)

    def __post_init__(self):
        object.__setattr__(self, "c", self.a * self.b)

    def scaled(self, k):
        return replace(self, a=self.a * k)

    def __add__(self, other):
        return Frozen(self.a + other.a, self.b * other.b)


class Model:
    scale = 2.0

    def __init__(self, w, b=0.5):
        self.w = w
        self.b = b
        self.calls = 0
        self.history = []

    def __call__(self, x):
        self.calls += 1
        self.history.append(x)
        return np.tanh(self.w * x + self.b) * self.scale

    @property
    def norm(self):
        return np.sum(self.w**2)

    @norm.setter
    def norm(self, value):
        self.w = self.w * value

    @cached_property
    def heavy(self):
        return np.sum(self.w)

    @staticmethod
    def square(x):
        return x * x

    @classmethod
    def small(cls, w):
        return cls(w, b=w * 0.1)


class Shape:
    def __init__(self, a):
        super().__init__()
        self.a = a

    def area(self):
        return self.a * self.a


class Box(Shape):
    def __init__(self, a, b):
        super().__init__(a)
        self.b = b

    def area(self):
        return super().area() * self.b

    def __mul__(self, k):
        return Box(self.a * k, self.b)

    __rmul__ = __mul__

    def __neg__(self):
        return Box(-self.a, self.b)

    def __getitem__(self, k):
        return (self.a, self.b)[k]

    def __setitem__(self, k, value):
        if k == 0:
            self.a = value
        else:
            self.b = value

    def __len__(self):
        return 2

    def __lt__(self, other):
        return self.area() < other.area()


class Stack:
    def __init__(self):
        self.items = []

    def push(self, v):
        self.items.append(v)

    def pop(self):
        return self.items.pop()

    def __len__(self):
        return len(self.items)


def state(a, dt):
    s = State(a)
    s.step(dt).step(dt)
    t = replace(s, v=a * 3.0)
    s.x *= 2.0
    return s.energy + t.x * t.v + sum(s.log) + s.n


def state_in_a_loop(a, dt):
    s = State(a, v=0.5)
    for _ in range(5):
        s.step(dt)
        if s.x > 0.8:
            s.v = s.v * 0.9
    return s.energy + sum(s.log) * s.n


def post_init(a, b):
    p = Derived(a, scale=b)
    q = replace(p, b=a, scale=2.0)
    return p.c * q.c


def frozen(a, b):
    p = Frozen(a).scaled(b)
    q = p + Frozen(a, b)
    return q.a * q.b + q.c


def named_tuple(a, b):
    p = Point(a, 1.0)
    for _ in range(3):
        p = p._replace(x=p.x * b + p.y, y=p.x)
    return p.x * p.y + p._asdict()["x"]


def inheritance(a, b):
    box = Box(a, b)
    return box.area() + box.a


def special_methods(a, b):
    box = Box(a, b)
    big = 2.0 * box * 3.0
    big[1] = big[0] * b
    smaller = box if box < big else big
    return big.area() * len(box) + (-smaller)[0] + (box == box) + (box is not big)


def attributes_by_name(a, b):
    box = Box(a, b)
    setattr(box, "color", a * b)
    value = getattr(box, "color") * 2.0 if hasattr(box, "color") else 0.0
    delattr(box, "color")
    del box.b
    return value * (not hasattr(box, "color")) + getattr(box, "b", 3.0) * box.a


def two_names(a, b):
    s = State(a)
    t = s
    holder = {"s": s, "all": [s, State(b)]}
    t.x = t.x * 2.0
    holder["all"][0].v = b
    holder["s"].log.append(a)
    return s.x * s.v * t.log[0] + holder["all"][1].x


def copies(a, b):
    s = State(a, log=[b])
    shallow, deep = copy.copy(s), copy.deepcopy(s)
    s.log.append(a)
    s.x = b
    return len(shallow.log) * shallow.x + len(deep.log) * deep.x * s.log[1]


def stack(a, b):
    s = Stack()
    for k in range(4):
        s.push(a * k)
        s.push(b)
        if k > 1:
            s.push(s.pop() * s.pop())
    total = 1.0
    while len(s):
        total = total * (1.0 + s.pop())
    return total


def made_of_a_constant(a, b):
    s = State(0.0)
    for k in range(3):
        s.x = s.x * a + b
        s.log.append(s.x * k)
    return s.x * sum(s.log)


def chosen_object(a, b):
    s = State(a) if a > 0.5 else State(b, 2.0)
    s.x = s.x * b
    return s.energy


OF_TWO: list[Callable[..., Any]] = [
    state, state_in_a_loop, post_init, frozen, named_tuple, inheritance, special_methods,
    attributes_by_name, two_names, copies, stack, made_of_a_constant, chosen_object,
]  # fmt: skip


@pytest.mark.parametrize("f", OF_TWO, ids=lambda f: f.__name__)
def test_of_two_numbers(f: Callable[..., Any]) -> None:
    assert_program(f, 0.7, 0.1)


def plain_class(x):
    m = Model(x)
    h = m(m(x))
    m.norm = 1.5
    heavy = m.heavy
    m.w = m.w * 2.0
    small = Model.small(x[1])
    return np.sum(h) + m.norm + heavy * m.heavy + m.calls * np.sum(m.history[1]) + small.b


def objects_in_a_list(x):
    states = [State(e) for e in (x[0], x[1], x[2])]
    for s in states:
        s.step(0.1)
    for p, q in zip(states, states[1:]):
        p.v += q.x
    states.append(states.pop(0))
    return sum(s.energy * (k + 1) for k, s in enumerate(states))


def objects_in_a_long_list(x):
    states = [State(e, 0.5 * e) for e in x]
    total = 0.0
    for s in states:
        total = total + s.energy
    for k in range(len(x)):
        states[k].x = states[k].x * 2.0 + total
    return sum(s.energy for s in states)


def objects_that_see_each_other(x):
    states = [State(e, 0.5) for e in x]
    for _ in range(3):
        for s in states:
            s.step(0.1)
    for i, p in enumerate(states):
        for j, q in enumerate(states):
            if i != j:
                p.v = p.v + 0.1 * q.x
    return sum(s.energy + s.log[-1] for s in states)


def arrays_as_attributes(x):
    s = State(np.zeros(4), np.ones(4))
    old = s.v
    for k in range(3):
        s.x = s.x + x * k
        s.v += s.x
        s.v[0] = x[1]
    return np.sum(s.x * s.v * old)


class Money:
    """Operators that write into the object, decline, or are asked first."""

    def __init__(self, x):
        self.x = x

    def __add__(self, other):
        return Money(self.x + other.x) if isinstance(other, Money) else NotImplemented

    def __eq__(self, other):
        return self.x == other.x if isinstance(other, Money) else NotImplemented

    def __isub__(self, other):
        self.x = self.x - 2 * other
        return self

    def __imul__(self, other):
        return Money(self.x * other * 7)

    def __lshift__(self, k):
        return Money(self.x * 2**k)

    def __pow__(self, k):
        return self.x**k + 1


class Foreign(Money):
    def __radd__(self, other):
        return Foreign(self.x * 100 + (other.x if isinstance(other, Money) else other))


class Stranger:
    def __init__(self, x):
        self.x = x

    def __radd__(self, other):
        return Money(self.x * 3 + other.x)


def own_augmented_operators(a, b):
    # `a -= b` meant `a = a - b`, also where the class writes into the object.
    one, items = Money(a), {"one": Money(b), "two": [Money(a * b)]}
    other, third = one, Money(a)
    one -= b
    third *= b
    third **= 2
    items["one"] -= a
    items["two"][0] -= b
    last = Money(b)
    for k in range(2):
        last -= a * k
    return other.x * third + items["one"].x * items["two"][0].x * last.x


def declined_operators(a, b):
    # What declines leaves it to the other operand; NotImplemented was taken for the result.
    y = (Money(a) + Stranger(b)).x * (Money(a) << 2).x
    if Money(a) != Money(a) or Money(b) == 3:
        y = y * 7
    return y if Money(a) != 3 else y * 5


def refined_operands_are_asked_first(a, b):
    return (Money(a) + Foreign(b)).x + (Foreign(a) + Foreign(b)).x


def names_of_a_class(a, b):
    # The name of a class was a descriptor, which equals no string.
    table = {Money.__name__: a, "Other": b}
    if Money.__name__ == "Money" and Money.__qualname__ == "Money":
        return table["Money"] * len(Money.__name__) * len(Foreign.__mro__)
    return table["Other"]


class Session:
    def __init__(self, x):
        self.x = x
        self.ends = []

    def __enter__(self):
        self.rate = 2.0
        return self

    def __exit__(self, kind, error, trace):
        self.rate = 7.0
        self.ends.append(self.x if kind is None else self.x * 5.0)


class Doubled(Session):
    def __enter__(self):
        return self.x * 2


def managers_made_here(a, b):
    # An object made here was taken for one through which no derivative flows.
    s = Session(a)
    for k in range(3):
        with Session(a * k) as inner, Doubled(b) as twice:
            if k == 1:
                continue
            a = a * inner.rate + twice
        b = b * inner.rate
    with s:
        y = a * s.rate
    return y * s.rate * sum(s.ends) + b


def managers_left_early(a, b):
    def first():
        with Session(a) as s:
            return s.x * s.rate

    s = Session(b)
    try:
        with s:
            y = a * 2
            raise ValueError
    except ValueError:
        y = y * 3
    return first() * y * sum(s.ends)


class Deleted:
    def __init__(self, x):
        self._x = x

    @property
    def x(self):
        return self._x

    @x.deleter
    def x(self):
        self._x = self._x * 4


def property_that_is_deleted(a, b):
    d = Deleted(a)
    del d.x
    return d.x * b


@pytest.mark.parametrize(
    "f",
    [
        managers_made_here,
        managers_left_early,
        property_that_is_deleted,
        own_augmented_operators,
        declined_operators,
        refined_operands_are_asked_first,
        names_of_a_class,
    ],
)
def test_user_class_operators_follow_python_dispatch(f: Callable[..., Any]) -> None:
    assert value_and_grad(f)(0.7, 0.4)[0] == f(0.7, 0.4)
    testing.check_grads(f, (0.7, 0.4))


@pytest.mark.parametrize(
    "f",
    [
        plain_class,
        objects_in_a_list,
        objects_in_a_long_list,
        objects_that_see_each_other,
        arrays_as_attributes,
    ],
    ids=lambda f: f.__name__,
)
def test_of_a_vector(f: Callable[..., Any]) -> None:
    assert_program(f, V)


# ------------------------------------------------------------------------- arguments and classes
def test_argument_object_not_mutated() -> None:
    def f(s):
        s.step(0.1)
        s.x = s.x * 2.0
        return s.energy * sum(s.log)

    given = State(0.7, 0.3, [1.0])
    got = gradient(f, given)[0]

    assert given == State(0.7, 0.3, [1.0])
    moved = lambda x: f(State(x, 0.3, [1.0]))
    assert_gradient(lambda _, x: (got.x,), moved, 0.7)


def test_class_attribute_change_detected() -> None:
    class Scaled:
        factor = 2.0

        def __init__(self, x):
            self.x = x

        def value(self):
            return self.x * self.factor

    g = grad(lambda x: Scaled(x).value())
    before = g(1.0)
    Scaled.factor = 5.0
    after = g(1.0)
    Scaled.value = lambda self: self.x * 7.0

    assert (before, after, g(1.0)) == (2.0, 5.0, 7.0)


def test_missing_attribute_raises_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nothing"):
        gradient(lambda x: State(x).nothing * x, 1.0)
    with pytest.raises(TypeError):
        gradient(lambda x: State(x, wrong=1.0).x, 1.0)


def test_write_to_frozen_dataclass_raises() -> None:
    def f(x):
        p = Frozen(x)
        p.a = 2.0 * x
        return p.a

    with pytest.raises(dataclasses.FrozenInstanceError):
        gradient(f, 1.0)


class Counter:
    def __init__(self):
        self.count = 0

    def value(self, x):
        self.count += 1
        return x * x


def test_bound_method_call_counter_incremented_once() -> None:
    counter = Counter()

    assert grad(counter.value)(2.0) == 4.0
    assert counter.count == 1


def test_inactive_helper_mutates_list_argument() -> None:
    """An inactive call used to run on a copy of a local list: what it wrote was lost."""

    def push(items, v):
        items.append(v)

    def f(a):
        items = []
        push(items, 2)
        push(items, 3)
        return a * len(items)

    assert gradient(f, 1.5) == (2.0,)


class Scale:
    """Multiplies what it is given, in ways that no rule of the table knows."""

    __array_priority__ = 1000.0

    def __init__(self, factor):
        self.factor = factor

    def __add__(self, other):
        return other * self.factor + 1.0

    def __radd__(self, other):
        return other * self.factor - 1.0

    def __matmul__(self, other):
        return np.sum(other) * self.factor

    def __mul__(self, other):
        return NotImplemented if isinstance(other, str) else other**2 * self.factor

    def __getitem__(self, index):
        return index * self.factor


SCALE = Scale(2.5)
FOREIGN: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, s: np.sum(s + x),
    "mul": lambda x, s: np.sum(s * x),
    "matmul": lambda x, s: (s @ x) ** 2,
    "getitem": lambda x, s: np.sum(s[x] ** 2),
}


@pytest.mark.parametrize("f", FOREIGN.values(), ids=FOREIGN)
def test_global_object_operators_interpreted(f) -> None:
    """They were taken for those of a number: the gradient of ``s + x`` was that of ``x``."""
    testing.check_grads(lambda x: f(x, SCALE), (V,), order=1)
    testing.check_grads(f, (V, SCALE), wrt=0, order=1)


def test_reflected_operator_of_right_operand() -> None:
    testing.check_grads(lambda x: (x[0] + SCALE) ** 2, (V,), order=1)


MASKED = np.ma.array(V, mask=[False, True, False, False])
with warnings.catch_warnings():
    warnings.simplefilter("ignore", PendingDeprecationWarning)
    MATRIX = np.matrix(np.outer(V, V) + np.eye(4))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: (MASKED * x).sum(),
        lambda x: np.sum(np.multiply(MASKED, x)),
        lambda x: np.sum(np.asarray(MATRIX * x[:, None])),
        lambda x: np.sum(np.asarray(MATRIX @ x)),
        lambda x: np.sum(x[:, None] + MATRIX),
        lambda x: np.sum(np.mgrid[0 : x[0] : 5j]),
        lambda x: np.sum(np.r_["0,2", x, x]),
    ],
)
def test_operation_of_unsupported_class_rejected(f) -> None:
    """The rule of the table gave the masked entry a derivative, and none to a grid's bound."""
    with pytest.raises(errors.UnsupportedTypeError, match="an operation with a") as caught:
        gradient(f, V)

    assert caught.value.where is not None


def test_inactive_operation_of_unsupported_class_runs_unchanged() -> None:
    def f(x):
        return np.sum(x) * float((MASKED * 2.0).sum()) + np.sum(np.mgrid[0:3] * x[0])

    testing.check_grads(f, (V,), order=1)


def test_a_set_of_values_with_a_derivative_is_refused() -> None:
    """It ended in a recursion without end."""
    with pytest.raises(errors.UnsupportedSyntaxError, match="set"):
        gradient(lambda x: max({x[0] * 2.0, x[1]}), V)


class Total:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, x):
        return np.sum(x) * self.factor


def test_callable_argument_using_globals() -> None:
    """Nothing told which code an argument's ``__call__`` had: reading its globals failed."""
    f = grad(lambda x, total: total(x) ** 2)

    np.testing.assert_allclose(f(V, Total(2.0)), 8.0 * np.sum(V))
    np.testing.assert_allclose(f(V, Total(3.0)), 18.0 * np.sum(V))


class Tagged:
    def __init__(self, v):
        self.v = v

    def __abs__(self):
        return self.v * 7.0

    def __round__(self, n=0):
        return self.v * 9.0

    def __divmod__(self, other):
        return self.v * other, other

    def __float__(self):
        return float(self.v) * 2.0


BUILTINS: dict[str, Callable[[Any], Any]] = {
    "abs": lambda x: abs(Tagged(x[0])),
    "round": lambda x: round(Tagged(x[0])),
    "round to": lambda x: round(Tagged(x[0]), 2),
    "divmod": lambda x: divmod(Tagged(x[0]), 3.0)[0] * x[1],
    "float": lambda x: float(Tagged(x[0])) ** 2,
}


@pytest.mark.parametrize("f", BUILTINS.values(), ids=BUILTINS)
def test_builtins_dispatch_to_object_methods(f) -> None:
    """``round`` of an object made here had no derivative, as if it were a number."""
    assert value_and_grad(f)(V)[0] == f(V)
    testing.check_grads(f, (V,), order=1)


class InSlots:
    __slots__ = ("__dict__", "v")

    def __init__(self, v):
        self.v, self.w = v, 2.0 * v


def test_dict_of_instance_with_slots_rejected() -> None:
    with pytest.raises(errors.UnsupportedSyntaxError, match="__dict__"):
        gradient(lambda x: InSlots(x[0]).__dict__["w"] ** 2, V)


class Reflected:
    def __rsub__(self, other):
        return other * 4.0


def test_object_of_opaque_class_constructor_not_numeric() -> None:
    """What the constructor of a class returns was taken for a number."""
    with pytest.raises(errors.UnsupportedTypeError, match="an operation with a 'Subtracts'"):
        gradient(lambda x: np.sum(x - Subtracts(2.0)), V)


class Subtracts(Reflected):
    def __getattr__(self, name):
        raise AttributeError(name)

    def __new__(cls, *args):
        return object.__new__(cls)

    def __getitem__(self, index):
        return index


def solved(scale, b):
    return np.asarray(b) / scale.factor


def test_user_rule_accepts_arbitrary_objects() -> None:
    rules.linear(solved, active=("b",))(lambda y_bar, scale, b: y_bar / scale.factor)

    testing.check_grads(lambda x: np.sum(solved(SCALE, x) ** 2), (V,), order=1)


def test_numbers_of_other_classes_are_numbers() -> None:
    half = fractions.Fraction(1, 2)

    testing.check_grads(lambda x: half * x[0] ** 2 + x[1] * half, (V,), order=1)


class Scaled:
    """A descriptor: what an attribute is, is for it to say."""

    def __get__(self, owner, cls):
        return owner.v * 10

    def __set__(self, owner, value):
        owner.v = value * 3


class HasScaled:
    d = Scaled()

    def __init__(self, x):
        self.d = x


def test_class_with_custom_descriptors_not_interpreted() -> None:
    # Its attributes were taken for what had been stored: value and gradient were wrong, silently.
    with pytest.raises(errors.MissingRuleError, match="HasScaled"):
        grad(lambda x: HasScaled(x).d)(0.3)
