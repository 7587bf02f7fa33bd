"""Jacobians of structures by parts of arguments, by one of several, and by items of ``*args``."""

import numpy as np
import pytest

import srcad

X, P = np.array([0.5, -1.0]), {"k": 2.0, "m": np.array([1.0, 2.0, 0.5])}


def several(x, p):
    """Return a tuple with a dict that has the keys of the argument."""
    return x * p["k"] ** 2, {"k": p["m"] * p["k"], "m": np.sum(p["m"]) * x}


def slopes(function, value, h=1e-6):
    """Return central differences of a function of one number or vector, leaf by leaf."""
    value = np.asarray(value, float)
    columns = []
    for k in np.ndindex(value.shape):
        d = np.zeros_like(value)
        d[k] = h
        ends = [function(value + d if value.ndim else float(value + d)),
                function(value - d if value.ndim else float(value - d))]  # fmt: skip
        columns.append([(a - b) / (2 * h) for a, b in zip(*map(leaves, ends), strict=True)])
    found = [np.stack(column, axis=-1) for column in zip(*columns, strict=True)]
    return [leaf.reshape(leaf.shape[:-1] + value.shape) for leaf in found]


def leaves(tree):
    """Return the arrays of a structure in order."""
    if isinstance(tree, dict):
        tree = list(tree.values())
    if isinstance(tree, list | tuple):
        return [leaf for item in tree for leaf in leaves(item)]
    return [np.asarray(tree)]


@pytest.mark.parametrize("mode", ["auto", "fwd", "rev"])
@pytest.mark.parametrize("key", ["k", "m"])
def test_jacobian_of_structure_by_part_of_argument(mode, key):
    found = srcad.jacobian(several, f"p[{key!r}]", mode)(X, P)

    want = slopes(lambda v: several(X, P | {key: v}), P[key])
    assert isinstance(found, tuple)
    assert list(found[1]) == ["k", "m"]
    for got, expected in zip(leaves(found), want, strict=True):
        assert got == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("mode", ["fwd", "rev"])
def test_jacobian_of_structure_by_part_and_whole_argument(mode):
    part, whole, x = srcad.jacobian(several, ("p['m']", "p", "x"), mode)(X, P)

    assert leaves(part[1]["m"])[0] == pytest.approx(whole[1]["m"]["m"])
    assert leaves(part[1]["k"])[0] == pytest.approx(2.0 * np.eye(3))
    assert x[0] == pytest.approx(4.0 * np.eye(2))


@pytest.mark.parametrize("mode", ["fwd", "rev"])
@pytest.mark.parametrize(("wrt", "want"), [(0, (5.0, 1.0)), (1, (2.0, 3.0))])
def test_jacobian_of_tuple_by_item_of_args(mode, wrt, want):
    def f(*xs):
        return xs[0] * xs[1], xs[0] + 3 * xs[1]

    assert srcad.jacobian(f, wrt, mode)(2.0, 5.0) == pytest.approx(want)


def test_jacobian_with_aux_of_tuple_by_part_of_tuple():
    def f(x, t):
        return (x * t[0] * t[1], t[1] * x), x

    found, aux = srcad.jacobian(f, "t[1]", has_aux=True)(X, (2.0, 3.0))

    assert found[0] == pytest.approx(2.0 * X)
    assert found[1] == pytest.approx(X)
    assert aux == pytest.approx(X)


def test_jacobian_of_result_with_text_by_part():
    def f(p):
        return p["m"] * p["k"], {"name": "text"}, ("a", None)

    found = srcad.jacobian(f, "p['k']")(P)

    assert found[0] == pytest.approx(P["m"])
    assert leaves(found[1:]) == [None] * len(leaves(found[1:]))


def test_jacobian_by_item_inside_a_differentiated_function():
    def pair(*xs):
        return xs[0] * xs[1] ** 2, xs[0] + 3 * xs[1]

    def f(x):
        first, second = srcad.jacobian(pair, 1)(x, 5.0)
        return first * second

    assert srcad.grad(f)(2.0) == pytest.approx(30.0)  # f(x) = (2 x 5) 3


def cubic(p, x):
    return np.sum(p["m"] ** 3) * p["k"] ** 2 * np.sum(x**2)


def blocks(f, values, h=1e-4):
    """Return second differences of a function of several vectors, one block for each pair."""
    sizes = [np.size(v) for v in values]
    ends = np.cumsum(sizes)[:-1]
    flat = np.concatenate([np.ravel(v) for v in values])

    def g(v):
        parts = np.split(v, ends)
        return f(*(p.reshape(np.shape(v)) for p, v in zip(parts, values, strict=True)))

    steps = h * np.eye(flat.size)
    full = np.array(
        [[(g(flat + a + b) - g(flat + a - b) - g(flat - a + b) + g(flat - a - b)) / (4 * h * h)
          for b in steps] for a in steps]
    )  # fmt: skip
    return [np.split(rows, ends, axis=1) for rows in np.split(full, ends)]


SECOND = blocks(lambda m, k, x: cubic({"m": m, "k": k}, x), [P["m"], P["k"], X])


def test_hessian_by_a_part_has_rows_and_columns_of_it():
    found = srcad.hessian(cubic, "p['m']")(P, X)

    np.testing.assert_allclose(found, SECOND[0][0], atol=1e-4)


def test_hessian_by_a_part_and_an_argument_has_a_block_for_each_pair():
    found = srcad.hessian(cubic, ("p['m']", "x"))(P, X)

    for k, i in enumerate((0, 2)):
        for m, j in enumerate((0, 2)):
            np.testing.assert_allclose(found[k][m], SECOND[i][j], atol=1e-4)


def test_hessian_by_two_parts_of_one_argument_has_a_block_for_each_pair():
    (mm, mk), (km, kk) = srcad.hessian(cubic, ("p['m']", "p['k']"))(P, X)

    np.testing.assert_allclose(mm, SECOND[0][0], atol=1e-4)
    np.testing.assert_allclose(mk, np.ravel(SECOND[0][1]), atol=1e-4)
    np.testing.assert_allclose(km, np.ravel(SECOND[1][0]), atol=1e-4)
    np.testing.assert_allclose(kk, SECOND[1][1][0][0], atol=1e-4)


def test_hessian_by_a_part_that_is_a_structure_has_its_structure_twice():
    found = srcad.hessian(lambda q, x: cubic(q[0], x), "q[0]")((P, 1.0), X)

    assert found.keys() == found["m"].keys() == P.keys()
    np.testing.assert_allclose(found["m"]["m"], SECOND[0][0], atol=1e-4)
    np.testing.assert_allclose(found["k"]["m"], np.ravel(SECOND[1][0]), atol=1e-4)


def by_items(*args):
    return cubic(*args)


@pytest.mark.parametrize(
    ("f", "wrt", "place"),
    [(cubic, ("p['m']",), 0), (by_items, (1,), 2), (lambda p, *rest: cubic(p, *rest), (1,), 2)],
)
def test_hessian_by_tuple_of_one_part_has_one_block(f, wrt, place):
    ((found,),) = srcad.hessian(f, wrt)(P, X)

    np.testing.assert_allclose(found, SECOND[place][place], atol=1e-4)


def test_hessian_by_tuple_of_one_item_that_is_a_structure_has_its_structure_twice():
    ((found,),) = srcad.hessian(by_items, (0,))(P, X)

    assert found.keys() == found["m"].keys() == P.keys()
    np.testing.assert_allclose(found["m"]["m"], SECOND[0][0], atol=1e-4)
    np.testing.assert_allclose(found["k"]["m"], np.ravel(SECOND[1][0]), atol=1e-4)


def test_hessian_by_a_part_with_auxiliary_output():
    found, aux = srcad.hessian(lambda p, x: (cubic(p, x), 7), "p['m']", has_aux=True)(P, X)

    assert aux == 7
    np.testing.assert_allclose(found, SECOND[0][0], atol=1e-4)
