"""Tuples, lists, dicts, named tuples and dataclasses: as arguments, locals and results."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

from srcad import errors, grad, gradient, pullback
from tests.numeric import assert_close, assert_gradient

V = np.array([0.3, -0.7, 1.1])
Pair = namedtuple("Pair", "p q")


class Typed(NamedTuple):
    first: float
    second: float = 2.0


@dataclass
class Params:
    W: Any
    b: Any


@dataclass(frozen=True)
class Checked:
    x: float

    def __post_init__(self):
        if not isinstance(self.x, float) or self.x < 0:
            raise ValueError("x must not be negative")


def tuples(a, b):
    p = (a * b, (a + b, b))
    q = p[1] + (a,)
    return p[0] * q[0] - q[-1] * len(q)


def tuple_slices(a, b):
    p = (a, b, a * b, a - b)
    first, second = p[1:3]
    return first * second + p[::-1][0] * p[-2]


def dicts(a, b):
    d = {"p": a * b, "q": a}
    d2 = {**d, "r": b}
    return d["p"] * d2["r"] + d2.get("q", 0.0) * d.get("none", 2.0) + len(d2)


def dict_views(a, b):
    d = dict(p=a, q=b)
    s = 1.0
    for k, v in d.items():
        if k == "p":
            s = s * v
        else:
            s = s + v * v
    return s * sum(d.values()) * ("p" in d)


def nested_structures(a, b):
    s = {"layers": [(a, b), (b, a)], "scale": (a,)}
    total = 0.0
    for u, v in s["layers"]:
        total = total + u * v * v
    return total * s["scale"][0]


def lists(a, b):
    items = [a, b]
    items.append(a * b)
    return items[0] * items[-1] + sum(items) * len(items)


def appended_in_a_loop(a):
    items = []
    x = a
    for _ in range(4):
        x = x * a
        items.append(x)
    return items[0] * items[-1] + sum(items)


def stacked(x):
    rows = []
    h = x
    for k in range(3):
        h = np.tanh(h * (k + 1))
        rows.append(h)
    return np.sum(np.stack(rows) ** 2) + np.sum(np.array(rows)[1] * x)


def appended_conditionally(x):
    kept = []
    for e in x:
        if e > 0:
            kept.append(e * e)
    return np.sum(np.array(kept))


def list_read_back(a):
    items = [1.0, a]
    for k in range(2, 6):
        items.append(items[k - 1] * 0.5 + items[k - 2] * a)
    return items[5] * items[3]


def list_comprehensions(a, b):
    squares = [e * e for e in (a, b, a * b)]
    nested = [[e * k for e in (a, b)] for k in range(3)]
    kept = [e for e in squares if e > 0.1]
    return sum(squares) * nested[2][1] + sum(kept)


def generator_expressions(x):
    return (
        sum(e * e for e in x)
        + max(e * 2.0 for e in x)
        + sum(i * e for i, e in enumerate(x) if i != 1)
    )


def dict_comprehensions(a, b):
    d = {k: v * v for k, v in {"p": a, "q": b}.items()}
    return d["p"] * d["q"] + sum(v for v in d.values())


def set_of_constants(a):
    kinds = {k % 2 for k in range(5)}
    return a * len(kinds) if 1 in kinds else a


def two_for_comprehension(x, y):
    return sum([e * d for e in x for d in y])


def array_of_numbers(a, b):
    v = np.array([a * b, a, 2.0])
    m = np.array([[a, b], [b, 1.0]])
    return np.sum(v * v) + np.sum(m @ m)


def unpacked_display(a, b):
    items = [*(a, b), a * b]
    return items[2] * items[1] + sum([*items, a])


def named_tuples(a, b):
    p = Pair(a * b, q=b)
    u, v = p
    t = Typed(a)
    return p.p * p[1] + u * v + t.second * t.first


def dataclass_local(a, b):
    p = Params(W=a, b=b * a)
    return p.W * p.b


TWO: list[Callable[..., Any]] = [
    tuples,
    tuple_slices,
    dicts,
    dict_views,
    nested_structures,
    lists,
    list_comprehensions,
    dict_comprehensions,
    array_of_numbers,
    unpacked_display,
    named_tuples,
    dataclass_local,
]


@pytest.mark.parametrize("f", TWO, ids=lambda f: f.__name__)
def test_of_two_numbers(f: Callable[..., Any]) -> None:
    assert_gradient(gradient, f, 0.7, 1.3)


@pytest.mark.parametrize(
    "f", [appended_in_a_loop, list_read_back, set_of_constants], ids=lambda f: f.__name__
)
def test_of_one_number(f: Callable[..., Any]) -> None:
    assert_gradient(gradient, f, 0.8)


@pytest.mark.parametrize(
    "f", [stacked, appended_conditionally, generator_expressions], ids=lambda f: f.__name__
)
def test_of_a_vector(f: Callable[..., Any]) -> None:
    assert_gradient(gradient, f, V)


def test_of_two_vectors() -> None:
    assert_gradient(gradient, two_for_comprehension, V, np.cos(V))


# --------------------------------------------------------------------------------- arguments
def loss(params, x):
    for W, b in params["layers"]:
        x = np.tanh(W @ x + b)
    return np.sum(x * params["scale"][0]) + params["shift"]


def test_gradients_have_the_structure_of_the_argument(rng: np.random.Generator) -> None:
    params = {
        "layers": [
            (rng.normal(size=(3, 3)), rng.normal(size=3)),
            (rng.normal(size=(2, 3)), rng.normal(size=2)),
        ],
        "scale": (1.5, rng.normal(size=2)),
        "shift": 0.3,
    }

    assert_gradient(gradient, loss, params, V)


def test_named_tuple_and_dataclass_gradients_keep_type() -> None:
    assert_gradient(gradient, lambda p: p.p * p.q, Pair(2.0, 3.0))
    assert_gradient(gradient, lambda t: t.first * t.second, Typed(2.0))
    assert_gradient(gradient, lambda p: np.sum(p.W @ p.b), Params(np.eye(2), np.ones(2)))


def test_the_users_classes_are_built_without_running_their_code() -> None:
    g = grad(lambda c: -3.0 * c.x)(Checked(2.0))

    assert type(g) is Checked
    assert g.x == -3.0


def test_longer_list_argument_does_not_recompile() -> None:
    def f(values):
        s = 1.0
        for v in values:
            s = s * v
        return s

    g = grad(f)

    assert g([2.0, 3.0]) == [3.0, 2.0]
    assert g([2.0, 3.0, 4.0]) == [12.0, 8.0, 6.0]
    assert g([]) == []


def test_lists_of_arrays_of_different_lengths(rng: np.random.Generator) -> None:
    arrays = [rng.normal(size=n) for n in (2, 3, 1)]

    assert_gradient(gradient, lambda xs: sum(np.sum(x * x) for x in xs) * np.sum(xs[0]), arrays)


def test_lists_of_callables() -> None:
    def f(x, functions):
        for g in functions:
            x = g(x)
        return np.sum(x)

    assert_gradient(
        lambda f, x: gradient(f, x), lambda x: f(x, [np.sin, np.tanh, lambda t: t * t]), V
    )
    assert gradient(f, V, [np.sin])[1] is None or gradient(f, V, [np.sin])[1] == [None]


def test_the_same_array_at_two_leaves_has_two_gradients() -> None:
    a, b = gradient(lambda p: np.sum(p[0] * 2.0 * p[1]), (V, V))[0]

    np.testing.assert_allclose(a, 2 * V)
    np.testing.assert_allclose(b, 2 * V)
    assert not np.shares_memory(a, b)


def test_leaves_without_a_derivative_are_none() -> None:
    g = grad(lambda p: p["x"] * 2.0 if p["flag"] else p["x"])(
        {"x": 1.0, "flag": True, "name": "n", "none": None}
    )

    assert g == {"x": 2.0, "flag": None, "name": None, "none": None}


def test_structured_results_and_their_seeds() -> None:
    y, back = pullback(lambda a, b: {"p": a * b, "q": (a, b * b)}, 2.0, 3.0)

    assert y == {"p": 6.0, "q": (2.0, 9.0)}
    assert back({"p": 1.0, "q": (0.0, 0.0)}) == (3.0, 2.0)
    assert back({"p": 0.0, "q": (5.0, 1.0)}) == (5.0, 6.0)
    assert back(1.0) == (4.0, 8.0)


def test_gradient_dict_preserves_key_order() -> None:
    g = grad(lambda p: p["z"] * p["a"])({"z": 2.0, "a": 3.0})

    assert_close(g, {"z": 3.0, "a": 2.0})
    assert list(g) == ["z", "a"]


def test_loop_carried_structure_of_varying_depth_rejected() -> None:
    """It was taken for an object of which nothing is known, and its derivative failed."""

    def f(x):
        head = None
        for e in (x[0], x[1], x[2]):
            head = (e, head)
        s = 0.0
        while head is not None:
            s = s + head[0] ** 2
            head = head[1]
        return s

    with pytest.raises(errors.UnsupportedTypeError, match="on one path"):
        gradient(f, V)


# ------------------------------------------------------------------------ keys that are made
LAYERS = {
    "W0": np.array([[0.3, -0.2], [0.5, 0.1]]),
    "b0": np.array([0.1, -0.4]),
    "W1": np.array([[0.7], [-0.6]]),
    "b1": np.array([0.2]),
}
INPUTS = np.array([[0.5, -1.0], [0.8, 0.3], [-0.2, 0.6]])


def by_addition(p):
    x = INPUTS
    for k in range(2):
        x = np.tanh(x @ p["W" + str(k)] + p["b%d" % k])  # noqa: UP031 - as people write it
    return np.mean(x**2)


def by_format(p):
    x = INPUTS
    for k in range(len(p) // 2):
        x = np.tanh(x @ p["W{}".format(k)] + p["_b".strip("_") + repr(k)])  # noqa: UP032 - likewise
    return np.mean(x**2)


def by_parts(p):
    x = INPUTS
    for key in sorted(p):
        if key.startswith("W"):
            x = np.tanh(x @ p[key] + p[key.replace("W", "b")])
    return np.mean(x**2) + sum(np.sum(p["b" + key[1:]]) * int(key[-1]) for key in ["W0", "W1"])


def by_names(p):
    total = dict.fromkeys(p, 0.0)
    for key in total:
        total[key] += np.sum(p[key] ** 2)
    left, right = "W0-b1".split("-")
    return total[left] * total[right] + sum(total.values()) * len(",".join(p))


@pytest.mark.parametrize("f", [by_addition, by_format, by_parts, by_names])
def test_dict_keys_built_from_strings_and_numbers(f: Callable[..., Any]) -> None:
    # All but f-strings were refused: the key is not known before the call.
    assert_gradient(gradient, f, LAYERS)


def test_heterogeneous_list_gradient_is_list() -> None:
    # It was a tuple.
    def f(t):
        return t[0] * t[1][0] + sum(t[1][1]) + np.sum(t[2]["a"][0] ** 2)

    t = [1.0, [2.0, (3.0, 4.0)], {"a": [V, 1.0]}]
    want = [2.0, [1.0, (1.0, 1.0)], {"a": [2.0 * V, 0.0]}]

    assert_close(grad(f)(t), want)
    assert_close(pullback(f, t)[1](1.0)[0], want)
    second = grad(lambda t: (g := grad(f)(t))[0] * g[1][0] + g[1][1][0])(t)
    assert_close(second, [2.0, [1.0, (0.0, 0.0)], {"a": [0.0 * V, 0.0]}])


TABLE = {0: 1.0, 1: 2.0}


def axes_of_a_dict(x):
    axes = len(np.shape(TABLE)) + np.asarray(TABLE).ndim + np.ndim({"a": x})
    return x * (1.0 + axes) * np.asarray(TABLE).size


def axes_of_a_list_of_dicts(x):
    return x * len(np.shape([TABLE, {"a": 1.0}]))


@pytest.mark.parametrize("f", [axes_of_a_dict, axes_of_a_list_of_dicts])
def test_numpy_treats_dict_as_scalar_object(f) -> None:
    # It was taken for the sequence of its values, where all of it was known.
    assert grad(f)(0.5) == f(1.0) == 1.0
