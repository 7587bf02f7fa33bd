"""`OrderedDict` and `defaultdict` as arguments: dicts of their own type."""

from collections import OrderedDict, defaultdict

import numpy as np
import pytest

import srcad
from srcad import gradient
from srcad.errors import UnsupportedTypeError
from srcad.testing import check_grads

CALLS = []


def made():
    CALLS.append(1)
    return 5.0


def moved(d):
    d.move_to_end("a")
    return list(d.values())[0] * 2.0


def same(found, expected):
    assert type(found) is type(expected)
    assert list(found) == list(expected)
    for key, value in expected.items():
        np.testing.assert_array_equal(found[key], value)


PROGRAMS = [
    (lambda d: d["a"] ** 2 + 0.0 * d["b"], OrderedDict(b=0.0, a=4.0)),
    (lambda d: sum([v * len(k) for k, v in d.items()]), OrderedDict(b=1.0, a=2.0)),
    (lambda d: sum(d.values()) ** 2, OrderedDict(b=6.0, a=6.0)),
    (lambda d: d["a"] * d.get("b", 2.0) if "b" in d else d["a"], OrderedDict(b=2.0, a=1.0)),
    (lambda d: d["a"] if isinstance(d, OrderedDict) else d["b"], OrderedDict(b=0.0, a=1.0)),
    (moved, OrderedDict(a=0.0, b=2.0)),
]


@pytest.mark.parametrize(("f", "d"), [(f, d) for f, d in PROGRAMS])
def test_gradient_is_an_ordered_dict(f, d):
    """None came back."""
    d = OrderedDict((key, 3.0) for key in d)

    found = srcad.grad(f)(d)

    assert type(found) is OrderedDict
    assert list(found) == list(d)
    check_grads(f, (d,), order=1)


def test_gradient_has_the_factory_of_its_argument():
    d = defaultdict(made, a=3.0, W=2.0)
    CALLS.clear()

    (found,) = gradient(lambda d: d["a"] ** 2 * d["W"], d)

    same(found, defaultdict(made, a=12.0, W=9.0))
    assert found.default_factory is made
    assert not CALLS
    assert type(srcad.grad(lambda d: d["a"])(defaultdict(None, a=1.0))) is defaultdict


def test_defaultdict_missing_value_created_as_in_original():
    f = lambda d, x: d["new"] * x + d["a"]  # noqa: E731

    found = gradient(f, defaultdict(made, a=1.0), 3.0)

    assert found == ({"a": 1.0}, 5.0)


def test_arrays_of_different_shapes():
    d = OrderedDict(W=np.array([[1.0, 2.0], [0.5, -1.0]]), b=np.array([0.1, 0.2]))
    f = lambda d, x: np.sum(np.tanh(d["W"] @ x + d["b"]))  # noqa: E731

    found = srcad.grad(f)(d, np.array([0.3, -0.2]))

    assert [(key, g.shape) for key, g in found.items()] == [("W", (2, 2)), ("b", (2,))]
    check_grads(f, (d, np.array([0.3, -0.2])), order=1)


def test_inside_other_containers():
    p = {"s": OrderedDict(a=2.0), "list": [defaultdict(float, k=3.0)], "c": 5.0}

    found = srcad.grad(lambda p, x: p["s"]["a"] * p["c"] * p["list"][0]["k"] * x)(p, 1.0)

    same(found["s"], OrderedDict(a=15.0))
    same(found["list"][0], defaultdict(float, k=10.0))
    assert found["c"] == 6.0


def test_entries_used_only_for_selection_have_none_gradient():
    f = lambda d, x: d["a"] * x if d["kind"] == "k" and d["flag"] else x  # noqa: E731

    found = gradient(f, OrderedDict(a=3.0, kind="k", flag=True), 2.0)

    assert found == (OrderedDict(a=2.0, kind=None, flag=None), 3.0)
    assert gradient(lambda d, x: x * len(d), OrderedDict(a=1), 3.0)[1] == 1.0


def test_products_and_inner_gradients():
    d = OrderedDict(a=3.0)
    assert srcad.value_and_grad(lambda d: d["a"] ** 2)(d) == (9.0, OrderedDict(a=6.0))
    assert srcad.jvp(lambda d: d["a"] ** 2, (d,), (OrderedDict(a=1.0),)) == (9.0, 6.0)
    assert srcad.hvp(lambda d: d["a"] ** 3)(d, OrderedDict(a=1.0)) == {"a": 18.0}
    y, back = srcad.pullback(lambda d: d["a"] ** 2, d)
    assert (y, back(1.0)) == (9.0, (OrderedDict(a=6.0),))
    inner = lambda d: srcad.grad(lambda e: e["a"] ** 3)(d)["a"]  # noqa: E731
    assert srcad.grad(inner)(d) == {"a": 18.0}
    made_inside = lambda x: gradient(lambda d: d["a"] ** 2, OrderedDict(a=x))[0]["a"]  # noqa: E731
    assert srcad.grad(made_inside)(3.0) == 2.0


def test_one_gradient_for_several_classes_and_orders():
    g = srcad.grad(lambda d: d["a"] ** 2)

    same(g(OrderedDict(a=3.0)), OrderedDict(a=6.0))
    same(g({"a": 5.0}), {"a": 10.0})
    same(g(OrderedDict(b=1.0, a=4.0)), OrderedDict(b=0.0, a=8.0))
    same(g(defaultdict(list, a=1.0)), defaultdict(list, a=2.0))


def test_nested_containers_in_dict_subclass_rejected():
    with pytest.raises(UnsupportedTypeError, match="holds containers"):
        srcad.grad(lambda d: d["s"]["a"] * d["c"])(OrderedDict(s={"a": 2.0}, c=5.0))


def test_jacobian_is_refused():
    with pytest.raises(UnsupportedTypeError, match="'OrderedDict', a subclass of 'dict'"):
        srcad.jacobian(lambda d: d["a"] ** 3)(OrderedDict(a=3.0))


class Options(dict):
    pass


def test_inner_derivative_by_another_subclass_is_refused():
    with pytest.raises(UnsupportedTypeError, match="'Options'"):
        srcad.grad(lambda x: gradient(lambda d: d["a"] * x, Options(a=1.0))[0] * x)(2.0)
