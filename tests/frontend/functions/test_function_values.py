"""Functions as values: chosen by a test, made by functions that have returned, held in objects."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcad
from srcad import errors
from tests.language import assert_program

X = np.array([0.3, 0.5, 0.7])
SIDES = [0.5, -0.5, -2.0]


def make(c):
    return lambda z: c * z


def make_of_array(a):
    b = a * 2.0

    def weighted(z):
        return (b * z).sum()

    return weighted


def make_that_counts(c):
    items = [c, 2.0 * c]

    def counted(z):
        items[0] = items[0] + z
        return items[0] * items[1]

    return counted


def composed(f, g):
    return lambda z: f(g(z))


def repeated(f):
    def again(n, z):
        if n <= 0.0:
            return z
        return again(n - 1.0, f(z))

    return again


def powers(c):
    def again(n, z):
        if n <= 0.0:
            return z
        return again(n - 1.0, z * c)

    return again


twos, threes, sines, cosines = powers(2.0), powers(3.0), repeated(np.sin), repeated(np.cos)


class Dense:
    def __init__(self, weights, act=None):
        self.weights, self.act = weights, act

    def __call__(self, x):
        z = x @ self.weights
        return self.act(z) if self.act is not None else z


class Scaled:
    def __init__(self, a, n=1.0):
        self.a, self.n = a, n

    def __call__(self, z):
        return z * self.a.sum() * self.n

    def grow(self, z):
        self.n = self.n + z
        return self.n * z


class Shifted:
    def __init__(self, a):
        self.a = a

    def __call__(self, z):
        return self.a[2] - z


# ------------------------------------------------------------------------ chosen by a test
def of_numpy(x, k):
    act = np.tanh if k > 0 else np.sin
    return act(x).sum()


def one_of_three(x, k):
    if k > 0:
        act = np.tanh
    elif k > -1:
        act = np.sin
    else:
        act = np.cos
    return act(x).sum()


def or_nothing(x, k):
    act = np.tanh if k > 0 else None
    if act is not None:
        x = act(x)
    return x.sum()


def true_or_not(x, k):
    act = np.tanh if k > 0 else None
    return (act(x) if act else x).sum() + (0.0 if not act else x[0])


def a_lambda_or_a_function(x, k):
    act = np.tanh if k > 0 else (lambda z: z * k)
    return act(x).sum()


def picked(k):
    return np.sin if k > 0 else np.cos


def by_a_helper(x, k):
    return picked(k)(x).sum()


def by_what_is_larger(x, k):
    f = max([np.sin, np.cos], key=lambda g: g(x).sum())
    return f(x).sum()


def in_every_trip(x, k):
    for i, v in enumerate(x):
        act = np.sin if i < len(x) - 1 else (lambda z: z * k)
        x = act(x) + v
    return x.sum()


def kept_from_the_last_trip(x, k):
    i = 0
    while i < 3:
        act = np.sin if i < k else np.cos
        i += 1
    return act(x[1])


def bound_in_a_loop_only(x, k):
    for i in range(3):

        def shifted(z, c=x[i]):
            return c * z + i

    return shifted(x[1])


def at_an_index(x, k):
    fs = [np.sin, make(x[1]), Shifted(x)]
    return fs[int(k > 0)](x[0]) + fs[-1 - int(k > -1)](x[1])


def under_a_key(x, k):
    table = {"sin": np.sin, "twice": lambda z: 2.0 * z}
    total = x[0]
    for v in x:
        total = total + table["sin" if v > k + 0.1 else "twice"](v)
    return total


def objects_of_two_classes(x, k):
    g = Scaled(x * 2.0) if k > 0 else Shifted(x)
    return g(x[0]) * g(x[1])


def handed_to_builtins(x, k):
    g = np.sin if k > 0 else make(x[0])
    return sum(map(g, x)) + functools.reduce(lambda a, v: a + g(v), x, 0.0) + float(callable(g))


def partly_bound(x, k):
    g = functools.partial(operator.mul, x[0]) if k > 0 else functools.partial(operator.add, x[1])
    return g(x[2]) * g(2.0)


def differentiated(x, k):
    g = np.sin if k > 0 else make(x[1])
    return srcad.grad(lambda z: g(z) * z)(x[0]) + x[1]


def called_where_the_test_is_an_array(x, k):
    flag = x[:1] * 1.0
    g = np.sin if flag else np.cos
    flag[0] = 0.0
    return g(x[1]) + flag[0]


def called_though_nothing(x, k):
    g = np.sin if k > 0 else None
    try:
        return g(x[0])
    except TypeError:
        return x[1]


CHOSEN = [
    of_numpy, one_of_three, or_nothing, true_or_not, a_lambda_or_a_function, by_a_helper,
    by_what_is_larger, in_every_trip, kept_from_the_last_trip, bound_in_a_loop_only, at_an_index,
    under_a_key, objects_of_two_classes, handed_to_builtins, partly_bound, differentiated,
    called_where_the_test_is_an_array, called_though_nothing,
]  # fmt: skip


@pytest.mark.parametrize("k", SIDES)
@pytest.mark.parametrize("f", CHOSEN, ids=lambda f: f.__name__)
def test_function_selected_by_condition(f: Callable[..., Any], k: float) -> None:
    assert_program(f, X, k)


# --------------------------------------------------------- made by what has returned since
def either_of_one_factory(x, k):
    if k > 0:
        g = make(2.0 * x[0])
    else:
        g = make(3.0 * x[2])
    return g(x[1])


def either_constant(x, k):
    if k > 0:
        g = make(2.0)
    else:
        g = make(3.0)
    return g(x[1])


def with_either_default(x, k):
    def given(c):
        return lambda z, c=c: c * z

    g = given(x[0]) if k > 0 else given(x[2] * 3.0)
    return g(x[1])


def anew_in_every_trip(x, k):
    g = make(1.0)
    for v in x:
        g = make(v + g(v))
    return g(x[1])


def used_in_the_next_trip(x, k):
    g = make(1.0)
    total = 0.0
    for i in range(3):
        total += g(x[i])
        g = make(x[i])
    return total


def nested_deeper_in_every_trip(x, k):
    h = lambda z: z  # noqa: E731
    for f in [np.sin, np.cos, np.exp]:
        h = lambda z, f=f, h=h: f(h(z))  # noqa: E731
    return h(x).sum()


def nested_by_counting(x, k):
    h = lambda z: z  # noqa: E731
    for i in range(3):
        h = lambda z, i=i, h=h: h(z) * x[i]  # noqa: E731
    return h(x).sum()


def composed_of_what_was_made(x, k):
    h = composed(np.sin, composed(np.exp, make(x[0])))
    return h(x[1]) * composed(h, make(x[2]))(x[0])


def in_an_attempt(x, k):
    try:
        if k > 0:
            raise ValueError
        g = make(x[0])
    except ValueError:
        g = make(x[1] * 2.0)
    return g(x[2])


def returned_before_its_name_is_bound_again(x, k):
    def pick(y):
        if k > 0:
            return lambda z: z * y
        y = y * 3.0
        return lambda z: z + y

    return pick(x[0] * 2.0)(x[1])


def of_a_test_on_what_it_holds(x, k):
    def pick(a):
        if a > 0:
            return lambda z: a * z
        return lambda z: a * z * z

    return pick(x[0] + k)(x[1])


MADE = [
    either_of_one_factory, either_constant, with_either_default, anew_in_every_trip,
    used_in_the_next_trip, nested_deeper_in_every_trip, nested_by_counting,
    composed_of_what_was_made, in_an_attempt, returned_before_its_name_is_bound_again,
    of_a_test_on_what_it_holds,
]  # fmt: skip


@pytest.mark.parametrize("k", SIDES)
@pytest.mark.parametrize("f", MADE, ids=lambda f: f.__name__)
def test_closure_captures_values_at_creation(f: Callable[..., Any], k: float) -> None:
    # Two functions of one text were taken for one function where paths met, and over a loop.
    assert_program(f, X, k)


# ------------------------------------------------------------------- what recursions read
def two_recursions_of_one_text(x, k):
    return repeated(np.sin)(4 * k * k, x[0]) + repeated(np.cos)(4 * k * k, x[1])


def two_recursions_with_numbers(x, k):
    return powers(2.0)(4 * k * k, x[0]) + powers(3.0)(4 * k * k, x[1])


def two_recursions_from_outside(x, k):
    return twos(4 * k * k, x[0]) + threes(4 * k * k, x[1])


def two_recursions_from_outside_with_functions(x, k):
    return sines(4 * k * k, x[0]) + cosines(4 * k * k, x[1])


def a_recursion_that_reads_what_changes(x, k):
    c, f = 2.0, np.sin

    def again(n, z):
        if n <= 0.0:
            return f(z) * c
        return again(n - 1.0, z * c)

    first = again(4 * k * k, x[0])
    c, f = 3.0, np.cos
    return first + again(4 * k * k, x[1])


def a_recursion_of_what_was_chosen(x, k):
    g = np.sin if k > 0 else Shifted(x)

    def again(n, z):
        if n <= 0.0:
            return z
        return again(n - 1.0, g(z))

    return again(2.0, x[0])


def a_recursion_called_under_the_test_and_elsewhere(x, k):
    test = k > 0
    g = np.sin if test else np.cos

    def again(n, z):
        if n <= 0.0:
            return z
        return again(n - 1.0, g(z))

    total = x[2]
    if test:
        total = total + again(2.0, x[0])
    return total + again(2.0, x[1])


RECURSIONS = [
    a_recursion_called_under_the_test_and_elsewhere,
    two_recursions_of_one_text, two_recursions_with_numbers, two_recursions_from_outside,
    two_recursions_from_outside_with_functions, a_recursion_that_reads_what_changes,
    a_recursion_of_what_was_chosen,
]  # fmt: skip


@pytest.mark.parametrize("k", [0.6, -0.7])
@pytest.mark.parametrize("f", RECURSIONS, ids=lambda f: f.__name__)
def test_recursive_closure_uses_enclosing_scope_of_call(f: Callable[..., Any], k: float) -> None:
    # The second call took what was read for the first.
    assert_program(f, X, k)


def test_self_referencing_recursion_interpretation_terminates() -> None:
    def f(x):
        scaled = Scaled(x * 1.0)

        def again(n, z):
            if n <= 0.0:
                return z
            return again(n - 1.0, scaled.grow(z))

        return again(2.0, x[0])

    with pytest.raises(errors.MutationError, match="the recursive 'again' writes into 'scaled'"):
        srcad.grad(f)(X)


# ----------------------------------------------------------------- and writes into it
def array_that_it_holds(x, k):
    y = x * 1.0
    g = make_of_array(y)
    h = make(y)
    y[0] = 5.0 * x[1]
    return g(x) + h(x).sum()


def array_that_it_holds_on_one_path(x, k):
    y = x * 1.5
    if k > 0:
        g = Scaled(y)
    else:
        y = y * 2.0
        g = np.sin
    y[1] = 4.0
    y[2] += x[1]
    return g(x[1]) * y.sum()


def list_that_it_keeps(x, k):
    g = make_that_counts(x[1])
    total = g(x[0])
    for v in x:
        total = total + g(v)
    if k > 0:
        total = total * g(1.0)
    return total


def two_that_share_an_array(x, k):
    def pair(a):
        b = a * 2.0

        def get():
            return b[0]

        def put(v):
            b[0] = v

        return get, put

    get, put = pair(x)
    for v in x:
        put(v * get())
    if k > 0:
        put(2.0 * get())
    return get() * x[0]


def object_that_it_changes(x, k):
    y = x * 2.0
    grow = Scaled(y, x[0]).grow if k > 0 else make_that_counts(x[1])
    return grow(x[1]) * grow(x[2])


WRITTEN = [
    array_that_it_holds, array_that_it_holds_on_one_path, list_that_it_keeps,
    two_that_share_an_array, object_that_it_changes,
]  # fmt: skip


@pytest.mark.parametrize("k", SIDES)
@pytest.mark.parametrize("f", WRITTEN, ids=lambda f: f.__name__)
def test_captured_array_written_in_place(f: Callable[..., Any], k: float) -> None:
    assert_program(f, X, k)


# ------------------------------------------------------------------------------ in objects
def layers_of_a_list(params, x):
    for layer in [Dense(w, np.tanh) for w in params]:
        x = layer(x)
    return x.sum()


def layers_without_function(params, x):
    layers = [Dense(w) for w in params]
    for layer in layers:
        x = layer(x)
    return x.sum()


def the_last_layer_is_another(params, x):
    for i, w in enumerate(params):
        x = Dense(w, np.tanh if i < len(params) - 1 else None)(x)
    return x.sum()


@pytest.mark.parametrize(
    "f", [layers_of_a_list, layers_without_function, the_last_layer_is_another],
    ids=lambda f: f.__name__,
)  # fmt: skip
@pytest.mark.parametrize("count", [1, 3])
def test_layers_with_functions(f: Callable[..., Any], count: int) -> None:
    weights = [np.random.default_rng(k).normal(size=(3, 3)) for k in range(count)]
    assert_program(f, weights, np.stack([X, -X]))


def test_adjoint_of_selected_function_is_conditional() -> None:
    derived = srcad.grad(a_lambda_or_a_function)
    derived(X, 0.5)

    assert "np.tanh(x) if test else x * k" in derived.source


# ------------------------------------------------------------------------------ refused
def kept_in_a_growing_list(x, k):
    fs = [lambda z, c=c: c * z for c in x]
    return fs[0](x[1])


def made_in_a_recursion(x, k):
    def power(f, n):
        if n <= 0:
            return lambda z: z
        g = power(f, n - 1)
        return lambda z: f(g(z))

    return power(np.sin, len(x) if k else x[0])(x).sum()


def other_functions_from_trip_to_trip(x, k):
    g = np.sin
    total = 0.0
    for v in x:
        total = total + g(v)
        g = np.cos
    return total


def handed_to_a_recursion(x, k):
    g = np.sin if k > 0 else make(x[1])

    def again(n, z):
        if n <= 0.0:
            return z
        return again(n - 1.0, g(z))

    return again(2.0, x[0])


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (handed_to_a_recursion, "cannot hand what one path only has made to the recursive 'again'"),
        (kept_in_a_growing_list, "cannot keep a function in a list whose length is not known"),
        (made_in_a_recursion, "a value is a function on one path and a function on another"),
        (other_functions_from_trip_to_trip, "a value is a function"),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_undetermined_callee_rejected(f: Callable[..., Any], message: str) -> None:
    with pytest.raises(errors.UnsupportedTypeError, match=message) as caught:
        srcad.grad(f)(X, 0.5)

    assert "test_function_values.py:" in str(caught.value)


def test_non_callable_on_one_path_raises_type_error() -> None:
    def f(x, k):
        g = math.sin if k > 0 else x
        return g(x)

    assert srcad.grad(f)(0.5, 1.0) == pytest.approx(math.cos(0.5))
    with pytest.raises(TypeError, match="not callable"):
        srcad.grad(f)(0.5, -1.0)


# ------------------------------------------------------------- structures, and nothing else
class Weighted:
    def __init__(self, a, b=2.0):
        self.a, self.b = a, b

    def value(self):
        return self.a[0] * self.b


class Counted:
    def __init__(self, a):
        self.a, self.c = a, a[1]

    def value(self):
        return self.a.sum() + self.c


def of_two_classes(x, k):
    o = Weighted(x * 2.0) if k > 0 else Counted(x)
    return o.value() * o.a[1]


def an_object_or_none(x, k):
    o = Weighted(x) if k > 0 else None
    if o is not None:
        return o.value()
    return x[1]


def none_after_a_loop(x, k):
    o = Counted(x * 2.0)
    for v in x:
        if v > 0.4 + k:
            o = None
    return x[0] if o is None else o.value()


def a_tuple_or_a_number(x, k):
    s = (x[0], x[1]) if k > 0 else x[2]
    return s[0] * s[1] if k > 0 else s * x[0]


def tuples_of_two_lengths(x, k):
    s = (x[0], x[1]) if k > 0 else (x[2],)
    return sum(s) * len(s)


def dicts_of_two_kinds(x, k):
    s = {"a": x[0]} if k > 0 else {"a": x[1], "b": x[2]}
    return s["a"] * (s["b"] if "b" in s else x[1])


def a_question_that_one_cannot_answer(x, k):
    s = 2.0 if k > 0 else {"a": x[0]}
    r = x[1] if k > 0 else s["a"] * x[0]
    return r if k > 0 else r + (s["b"] if "b" in s else 1.0)


def nothing_to_search(x, k):
    if k > 3:
        return x[0] if "b" in 2.0 else x[1]  # type: ignore[operator]
    return x[1] * x[2]


def a_loop_over_either(x, k):
    total = x[0]
    for f in [np.sin, np.cos] if k > 0 else [np.exp]:
        total = f(total)
    return total


def objects_at_an_index(x, k):
    objects = [Weighted([x[0], x[1], 3.0]), Weighted(x * 2.0, x[0]), Counted(x)]
    return objects[int(k > 0)].value() + objects[int(k > -1) - 2].value()


def a_list_or_none_at_an_index(x, k):
    y = x * 3.0
    some = [[y, x], None, y]
    g = some[int(k > -1) - 1]
    return np.sum(g[1]) * 2.0


STRUCTURES = [
    of_two_classes, an_object_or_none, a_tuple_or_a_number, tuples_of_two_lengths,
    dicts_of_two_kinds, a_question_that_one_cannot_answer, nothing_to_search,
    a_loop_over_either, objects_at_an_index, a_list_or_none_at_an_index,
]  # fmt: skip


@pytest.mark.parametrize("k", SIDES)
@pytest.mark.parametrize("f", STRUCTURES, ids=lambda f: f.__name__)
def test_structure_selected_by_condition(f: Callable[..., Any], k: float) -> None:
    # The derivative of a list that was one of several things was zero.
    assert_program(f, X, k)


def test_none_or_value_after_loop_rejected() -> None:
    # ``o is None`` was said to be false.
    with pytest.raises(errors.UnsupportedTypeError, match="on one path and"):
        srcad.grad(none_after_a_loop)(X, 0.5)


def tuples_in_place_of_none(x):
    rows = [None] * len(x)
    for i, v in enumerate(x):
        rows[i] = (v, v * v)
    return rows[0][1] * rows[2][0]


def lists_in_place_of_numbers(x):
    rows = [0] * len(x)
    for i, v in enumerate(x):
        rows[i] = [v, v * v]
    return rows[0][1] * rows[2][0]


def lists_and_arrays(x):
    rows = []
    for v in x:
        rows.append([v, v * v])
    for v in x:
        rows.append(np.array([v, 2.0 * v]))
    return rows[0][1] * rows[4][1]


@pytest.mark.parametrize(
    "f", [tuples_in_place_of_none, lists_in_place_of_numbers, lists_and_arrays],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_list_of_mixed_kinds_rejected(f: Callable[..., Any]) -> None:
    # Which items have parts was not known any more: the derivative was wrong, or an error.
    with pytest.raises(errors.UnsupportedTypeError, match="values of different types in a list"):
        srcad.grad(f)(X)


def numbers_in_place_of_none(x):
    squares = [None] * len(x)
    for i, v in enumerate(x):
        squares[i] = x * v
    return np.sum(np.array(squares)) * squares[0][1]


def test_list_of_none_filled_with_arrays() -> None:
    assert_program(numbers_in_place_of_none, X)

    g = srcad.grad(numbers_in_place_of_none)
    g(X)
    assert "[*" not in g.source, "a trip of the reverse loop copies no list"


# -------------------------------------------------------------------- where either arm raises
def fails(x):
    raise ValueError("of the one")


def fails_too(x):
    raise KeyError("of the other")


def caught_of_either(x, k):
    try:
        r = fails(x) if k > 0 else fails_too(x)
    except (ValueError, KeyError):
        r = x[0] * 2.0
    return r


def caught_of_one(x, k):
    r = x[1]
    if x[0] > 0.1:
        try:
            r = fails(x) if k > 0 else fails_too(x)
        except KeyError:
            r = x[0] * 2.0
    return r


def test_conditional_expression_raising_in_either_branch() -> None:
    # Nothing was raised, and the name kept what it was bound to before.
    assert_program(caught_of_either, X, 0.5)
    assert_program(caught_of_either, X, -0.5)
    assert_program(caught_of_one, X, -0.5)
    with pytest.raises(ValueError, match="of the one"):
        srcad.grad(caught_of_one)(X, 0.5)


# ------------------------------------------------------------------------- views of dicts
def a_view_bound_anew_in_a_loop(x):
    d = {"a": x[0], "b": x[1]}
    values = d.values()
    total = 0.0
    for v in x:
        total = total + sum(values)
        values = {"a": v, "b": v}.values()
    return total


def a_view_as_a_default(x):
    d = {"a": x[0], "b": x[1]}

    def total(values=d.values()):
        return sum(values)

    result = 0.0
    for v in x:
        result = result + total()
        d["b"] = d["b"] * v
    return result


@pytest.mark.parametrize(
    "f", [a_view_bound_anew_in_a_loop, a_view_as_a_default], ids=lambda f: f.__name__
)
def test_dict_view_changed_by_loop_rejected(f: Callable[..., Any]) -> None:
    # The default of a function did not follow its dict, silently.
    with pytest.raises(errors.UnsupportedTypeError, match="a tuple of 2 on one path"):
        srcad.grad(f)(X)
