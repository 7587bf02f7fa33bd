"""Arrays without axes: written into they stay arrays, and every name of them sees the write."""

import numpy as np
import pytest

import srcad
from srcad.errors import MutationError
from tests.language import assert_program, named


# ------------------------------------------------------------------------- names and aliases
def added_to_twice(x):
    y = np.array(1.0)
    z = y
    y += x
    y *= x
    return z * x


def arithmetic_of_every_kind(x):
    y = np.array(2.0)
    z = y
    y -= x
    y /= x
    y **= 2
    z -= y
    return y * z + x


def by_index_and_by_name(x):
    y = np.array(1.0)
    z = y
    y += x
    y[...] *= x
    y[()] += x
    z[()] = z * x
    return z * y


def added_to_itself(x):
    y = np.array(x)
    y += y
    y *= y
    return y * x


def an_argument(x):
    z = x
    x *= 2.0
    x += 1.0
    return x * z


def arithmetic_makes_a_number(x):
    y = np.array(2.0) * x
    z = y
    y += x
    return y * z


def every_function_that_makes_one(x):
    made = (np.zeros(()), np.full((), x), np.asarray(x), np.copy(x[()]), np.where(x > 0, x, 2.0),
            np.full_like(x, 0.5), np.broadcast_to(x, ()).copy(), np.float64(0.5)[...])  # fmt: skip
    total = 0.0
    for one in made:
        other = one
        one += x
        one *= 1.5
        total = total + other * one
    return total


# --------------------------------------------------------------------------------- functions
def into_it(x):
    y = np.array(x)
    z = y
    y *= 2.0
    np.multiply(y, x, out=y)
    np.add(y, x, y)
    np.negative(y, out=(y,))
    np.clip(y, -9.0, 9.0, out=y)
    return y * z


def by_methods_and_functions(x):
    y = np.array(x)
    z = y
    y *= 2.0
    y.fill(x * x)
    y *= x
    np.put(y, 0, y * x)
    np.add.at(y, (), x)
    np.copyto(y, y * x)
    y[y > 0] = y * 0.5
    y.flat[0] = y * x
    return z * y


def where_there_is_no_place(x):
    y = np.array(x)
    y[False] = 3.0 * x
    y[y < 0] = 2.0 * x
    return y * x


def what_out_returns(x):
    y = np.array(x)
    w = np.multiply(y, x, out=y)
    w += x
    return 3.0 * y if isinstance(w, np.ndarray) else y


def of_a_reduction(x):
    y = np.array(0.0)
    z = y
    x[None].sum(out=y)
    y *= x
    return z


# -------------------------------------------------------------------------------------- views
def views_of_it(x):
    y = np.array(x)
    y *= 2.0
    v = y.reshape(1)
    v[0] *= x
    w = y[None]
    w += x
    u = np.atleast_1d(y)
    u *= x
    return y * v[0] * w[0] + u[0]


def a_view_of_an_entry(x):
    t = np.stack([x, x * x])
    for k in range(2):
        v = t[k, ...]
        v *= x
        v -= 1.0
    w = np.squeeze(t[1:])
    w += t[0]
    w *= x
    return np.sum(t * t)


# -------------------------------------------------------------------------------------- loops
def an_alias_of_what_a_loop_adds_to(x):
    y = np.zeros(())
    z = y
    for k in range(3):
        y += x * k
    return y * z


def aliases_in_a_loop(x, n):
    y = np.array(1.0)
    s = 0.0
    for _ in range(n):
        z = y
        v = y[...]
        y += x
        s = s + z * v
    return s


def swapped_in_a_loop(x, n):
    a, b = np.array(x), np.array(1.0)
    for _ in range(n):
        a += b * x
        a, b = b, a
    return a * b * b


def a_while_loop(x):
    y = np.array(x)
    z = y
    n = 0
    while y < 10.0:
        y *= 1.5
        n += 1
    return z * y + n


def recorded_in_a_list(x):
    rows = []
    y = np.array(0.0)
    for _ in range(3):
        y += x
        rows.append(y)
    return rows[0] * rows[1] + rows[2]


def counted(x):
    n = np.array(0)
    t = np.zeros(5)
    for k in range(4):
        t[n] = x * k
        n += 1
    return t[n - 1] * x


# -------------------------------------------------------------------- containers and helpers
class Meter:
    def __init__(self):
        self.value = np.array(1.0)

    def add(self, x):
        self.value += x


def in_an_object(x):
    meter = Meter()
    shown = meter.value
    meter.add(x)
    meter.value *= x
    return shown * meter.value


def in_a_dict(x):
    d = {k: np.array(0.5) for k in "ab"}
    a = d["a"]
    for k in d:
        d[k] += x
    for v in d.values():
        v *= x
    return d["a"] * d["b"] + a


def in_a_list(x):
    items = list([np.array(x), np.array(2.0)])
    more = items[:]
    items[0] += x
    for v in items:
        v *= x
    return more[0] * items[1]


def scaled(y, x):
    y *= x
    return y


def by_a_helper(x):
    y = np.array(2.0)
    w = scaled(y, x)
    w += 1.0
    scaled(x=x, y=w)
    return y * w


def by_a_generator(x):
    def steps(y):
        for _ in range(3):
            y += x
            yield y

    y = np.array(0.0)
    s = 0.0
    for v in steps(y):
        s = s + v * v
    return s * y


# ------------------------------------------------------------------------------ what it may be
def made(c, x):
    return np.array(x) if c > 0 else x * 1.0


def an_array_or_a_number(x, c):
    y = made(c, x)
    z = y
    y += x
    return y * z


def asked_for_its_class(x):
    y = np.array(2.0)
    y += x
    z = y + x
    kinds = (isinstance(y, np.ndarray), type(z) is np.ndarray, np.isscalar(y))
    return x * y if kinds == (True, False, False) else 2.0 * x


POINT = np.array(0.7)
PROGRAMS = [
    *((f, 1.5) for f in (
        added_to_twice, arithmetic_of_every_kind, by_index_and_by_name, added_to_itself,
        arithmetic_makes_a_number, into_it, by_methods_and_functions, where_there_is_no_place,
        what_out_returns, views_of_it, a_view_of_an_entry, an_alias_of_what_a_loop_adds_to,
        a_while_loop, recorded_in_a_list, counted, in_an_object, in_a_dict, in_a_list, by_a_helper,
        by_a_generator, asked_for_its_class)),
    *((f, POINT) for f in (
        added_to_twice, an_argument, every_function_that_makes_one, of_a_reduction, into_it,
        by_index_and_by_name, a_while_loop, recorded_in_a_list, by_a_helper)),
    *((f, 0.7, 3) for f in (aliases_in_a_loop, swapped_in_a_loop)),
    (aliases_in_a_loop, POINT, 3),
    (an_array_or_a_number, 1.5, 1.0),
    (an_array_or_a_number, 1.5, -1.0),
]  # fmt: skip


@pytest.mark.parametrize(**named(PROGRAMS))
def test_write_into_zero_dimensional_array_matches_numpy(program):
    assert_program(*program)


# ------------------------------------------------------------------------------------- kinds
def left_as_it_is(x):
    y = np.array(x)
    y *= x
    return y


def made_a_number(x):
    y = np.array(x)
    y *= x
    return y * 1.0


@pytest.mark.parametrize("f", [left_as_it_is, made_a_number])
def test_result_type_array_or_scalar_matches_original(f):
    assert type(srcad.value_and_grad(f)(1.5)[0]) is type(f(1.5))


def test_zero_dimensional_float32_array_keeps_dtype():
    def f(x):
        y = x.copy()
        z = y
        y += 0.1
        y *= np.float64(1.1)
        return z

    x = np.array(1.5, np.float32)
    value, gradient = srcad.value_and_grad(f)(x)

    assert value.dtype == gradient.dtype == np.float32
    assert value == f(x)


def test_in_place_add_emitted_with_ellipsis_index():
    gradient = srcad.grad(an_alias_of_what_a_loop_adds_to)

    gradient(1.5)

    assert "y[...] += x * k" in gradient.source


def test_second_derivatives():
    def f(x):
        y = np.array(1.0)
        z = y
        for _ in range(3):
            y *= x
            y += x
        return z * y

    def slope(x):
        return srcad.grad(f)(x)

    h = 1e-5
    assert np.isclose(srcad.grad(slope)(1.5), (slope(1.5 + h) - slope(1.5 - h)) / (2 * h))


# --------------------------------------------------------------------------------- refusals
def perhaps_the_array_of_before(x, n):
    y = 0.0
    rows = []
    for k in range(n):
        if k == 1:
            y = np.array(x)
        y += x
        rows.append(y)
    return rows[0] * rows[1] * rows[2]


def perhaps_the_argument(x, n):
    s = x
    for _ in range(n):
        s *= 2.0
        s = s * x
    return s


@pytest.mark.parametrize(
    ("f", "x"), [(perhaps_the_array_of_before, 1.5), (perhaps_the_argument, POINT)]
)
def test_scalar_or_array_alias_write_rejected(f, x):
    """The name was taken for a number: the array under the other name stayed as it was."""
    with pytest.raises(MutationError, match="cannot tell what"):
        srcad.grad(f)(x, 3)


def test_in_place_write_to_possible_array_list_item_rejected():
    def in_place(x, n):
        rows = [np.array(x) for _ in range(n)]
        for k in range(n):
            rows[k] += x
        return rows[0] * rows[1]

    def written_out(x, n):
        rows = [np.array(x) for _ in range(n)]
        for k in range(n):
            rows[k] = rows[k] + x
        return rows[0] * rows[1]

    with pytest.raises(MutationError, match=r"items\[i\] = items\[i\] \+ value"):
        srcad.grad(in_place)(1.5, 3)
    assert_program(written_out, 1.5, 3)


def stored_into_a_number(x, c):
    y = made(c, x)
    y[...] = x * x
    return y * x


def test_store_into_scalar_raises_type_error():
    assert_program(stored_into_a_number, 1.5, 1.0)
    with pytest.raises(TypeError):
        srcad.grad(stored_into_a_number)(1.5, -1.0)


def kind_asked_by_class(x, y):
    b = np.ones_like(y)
    for _ in range(3):
        b += y
        if type(b) is np.ndarray:
            b = b + 1.0
    return np.sum(b) * x[0]


def kind_asked_by_instance(x, y):
    b = np.ones_like(y)
    for k in range(3):
        if isinstance(b, np.ndarray) and k > 0:
            b = b * x[1]
        b *= y
    return np.sum(b) * x[0]


@pytest.mark.parametrize("f", [kind_asked_by_class, kind_asked_by_instance])
def test_array_or_scalar_kind_checked_in_each_iteration(f):
    assert_program(f, np.array([0.7, 1.1]), np.array(0.6))


# ------------------------------------------------------------------------- reductions
@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(x, axis=0) ** 2,
        lambda x: np.max(x, axis=-1) * x,
        lambda x: np.prod(x, axis=0) * np.sum(x, axis=-1),
    ],
    ids=["sum", "max", "prod"],
)
@pytest.mark.parametrize("x", [np.array(1.5), 1.5], ids=["array", "number"])
def test_reduction_of_a_number_along_an_axis(f, x):
    found = srcad.grad(f)(x)

    assert np.shape(found) == ()
    assert found == pytest.approx(3.0)
