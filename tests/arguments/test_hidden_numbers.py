"""Numbers inside arguments that are not taken apart: refused, or None where they only select."""

import decimal
import fractions
from collections import Counter

import numpy as np
import pytest

import srcad
from srcad import gradient
from srcad.errors import UnsupportedTypeError


class Rows(list):
    pass


class Pair(tuple):
    __slots__ = ()


class Options(dict):
    pass


class Closed:
    def __init__(self, w):
        self.w = w

    def __getattr__(self, name):
        raise AttributeError(name)


class Own(np.ndarray):
    pass


class Odd(float):
    def __mul__(self, other):
        return 5.0

    __rmul__ = __mul__


RECORDS = np.array([(1.0, 2.0), (3.0, 4.0)], dtype=[("a", float), ("b", float)])
OBJECTS = np.array([1.0, 2.0], dtype=object)
MATRIX = np.array([[1.0, 2.0], [3.0, 4.0]]).view(np.matrix)
MASKED = np.ma.array([1.0, 2.0], mask=[False, True])


def unpacked(p, x):
    a, b = p
    return a * b * x


def summed_in_a_loop(p, x):
    total = 0.0
    for v in p:
        total = total + v * x
    return total


COMPUTED = [
    (lambda p, x: p["a"] * x, Options(a=2.0)),
    (lambda p, x: p["a"][0] * x, Options(a=np.ones(3))),
    (lambda p, x: sum(p.values()) * x, Options(a=2.0)),
    (lambda p, x: sum([v for _, v in p.items()]) * x, Options(a=2.0)),
    (lambda p, x: p.get("a", 0.0) * x, Options(a=2.0)),
    (lambda p, x: p["a"] * x, Options(a=2)),
    (lambda p, x: p["a"] * x, Counter("aab")),
    (lambda p, x: p["a"] * x, {f"{k}": 1.0 for k in range(300)} | {"a": 2.0}),
    (lambda p, x: p[0] * x, Rows([2.0, 3.0])),
    (lambda p, x: sum(p) * x, Rows([2.0, 3.0])),
    (lambda p, x: np.sum(p) * x, Rows([2.0, 3.0])),
    (lambda p, x: np.asarray(p)[1] * x, Rows([2.0, 3.0])),
    (summed_in_a_loop, Rows([2.0, 3.0])),
    (lambda p, x: p[1] * x, Pair([2.0, 3.0])),
    (lambda p, x: tuple(p)[1] * x, Pair([2.0, 3.0])),
    (summed_in_a_loop, Pair([2.0, 3.0])),
    (lambda p, x: np.sum(p["a"]) * x, RECORDS),
    (lambda p, x: p["b"] * x, RECORDS[0]),
    (lambda p, x: p.a[0] * x, RECORDS.view(np.recarray)),
    (lambda p, x: p[0] * x, OBJECTS),
    (lambda p, x: np.sum(p) * x, OBJECTS),
    (lambda p, x: np.sum(p) * x, MATRIX),
    (lambda p, x: p.sum() * x, MATRIX),
    (lambda p, x: np.asarray(p)[0, 0] * x, MATRIX),
    (lambda p, x: p.mean() * x, MASKED),
    (lambda p, x: np.sum(p.filled(0.0)) * x, MASKED),
    (lambda p, x: np.sum(p) * x, np.ones(3).view(Own)),
    (lambda p, x: sum(p) * x, {2.0, 3.0}),
    (lambda p, x: float(p) * x, decimal.Decimal(2)),
    (lambda p, x: p * x, fractions.Fraction(2)),
    (lambda p, x: p * x, Odd(2.0)),
    (lambda p, x: p.w * x, Closed(2.0)),
]


@pytest.mark.parametrize(("f", "p"), COMPUTED)
def test_result_computed_from_hidden_numbers_is_refused(f, p):
    """None came back, as if no derivative could flow."""
    for call in (
        lambda: gradient(f, p, 3.0),
        lambda: srcad.grad(f, wrt=(0, 1))(p, 3.0),
        lambda: srcad.value_and_grad(f)(p, 3.0),
        lambda: srcad.pullback(f, p, 3.0),
        lambda: gradient(lambda q, x: f(q["inside"], x) * q["c"], {"inside": p, "c": 2.0}, 3.0),
    ):
        with pytest.raises(UnsupportedTypeError, match="help:"):
            call()


@pytest.mark.parametrize("p", [Rows([2.0, 3.0]), Pair([2.0, 3.0])])
def test_unpacked_hidden_numbers_are_refused(p):
    with pytest.raises(srcad.errors.SrcadError):
        gradient(unpacked, p, 3.0)


SELECTING = [
    (lambda p, x: x * len(p), Options(a=2.0), 1.0),
    (lambda p, x: x if p["a"] > 0.0 else -x, Options(a=2.0), 1.0),
    (lambda p, x: x if p["a"] * 2.0 + 1.0 > 0.0 else -x, Options(a=2.0), 1.0),
    (lambda p, x: x * [1.0, 2.0][p["k"]], Options(k=1), 2.0),
    (lambda p, x: x if p["flag"] else -x, Options(flag=True), 1.0),
    (lambda p, x: x if "a" in p else -x, Options(a=2.0), 1.0),
    (lambda p, x: x * p["a"].shape[0], Options(a=np.ones(3)), 3.0),
    (lambda p, x: x * len(p), Rows([2.0, 3.0]), 2.0),
    (lambda p, x: x if p == (2.0, 3.0) else -x, Pair([2.0, 3.0]), 1.0),
    (lambda p, x: x * p.shape[0] * len(p), RECORDS, 4.0),
    (lambda p, x: x * p.shape[1], MATRIX, 2.0),
    (lambda p, x: x if p[0, 0] > 0.0 else -x, MATRIX, 1.0),
    (lambda p, x: x if np.sum(p) > 0.0 else -x, MASKED, 1.0),
    (lambda p, x: x * {"u": 2.0}[p[0]], np.array(["u", None], dtype=object), 2.0),
    (lambda p, x: x if 2.0 in p else -x, frozenset({2.0}), 1.0),
]


@pytest.mark.parametrize(("f", "p", "slope"), SELECTING)
def test_hidden_numbers_that_select_have_the_gradient_none(f, p, slope):
    assert gradient(f, p, 3.0) == (None, slope)
    inside = {"inside": p, "c": 2.0}
    found = gradient(lambda q, x: f(q["inside"], x) * q["c"], inside, 3.0)
    assert found[0]["inside"] is None
    assert found[1] == 2.0 * slope


def test_refusal_names_argument_class_and_remedy():
    with pytest.raises(UnsupportedTypeError) as refused:
        gradient(lambda d: d["a"] ** 2, Options(a=3.0))

    text = str(refused.value)
    assert "cannot differentiate by \"d['a']\"" in text
    assert "'Options', a subclass of 'dict'" in text
    assert "dict(d)" in text
    assert "test_hidden_numbers.py" in text


def test_hidden_numbers_of_inactive_argument_are_constants():
    assert srcad.grad(lambda d, x: d["a"] * x, wrt=1)(Options(a=2.0), 3.0) == 2.0


def test_hidden_numbers_in_aux_accepted():
    f = lambda p: (p["c"], p["d"]["a"])  # noqa: E731

    found = srcad.grad(f, has_aux=True)({"c": 1.0, "d": Options(a=2.0)})

    assert found == ({"c": 1.0, "d": None}, 2.0)


@pytest.mark.parametrize("as_argument", [False, True])
def test_container_of_own_class_changed_between_calls(as_argument):
    """Its items were compiled in as constants, and only its identity was checked."""
    rows, options = Rows([1.0, 2.0]), Options(a=1.0)
    if as_argument:
        f = srcad.value_and_grad(
            lambda r, o, x: x * sum([v for v in r]) * sum([len(k) for k in o]), wrt=2
        )
        call = lambda x: f(rows, options, x)  # noqa: E731
    else:
        call = srcad.value_and_grad(lambda x: x * sum([v for v in rows]) * sum(map(len, options)))

    assert call(3.0) == (9.0, 3.0)
    rows[0] = 5.0
    assert call(3.0) == (21.0, 7.0)
    rows.append(1.0)
    assert call(3.0) == (24.0, 8.0)
    options["bcd"] = 2.0
    assert call(3.0) == (96.0, 32.0)
