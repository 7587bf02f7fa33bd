"""Writes outside through other paths, and by calls that are left as they stand."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcad
from srcad import errors


def test_writes_into_a_list_of_a_callable_argument():
    class Layer:
        def __init__(self):
            self.seen = []

        def __call__(self, x):
            return 2.0 * x

    def loss(x, layer):
        layer.seen.append(x)
        return x * x

    layer = Layer()
    assert srcad.grad(loss)(3.0, layer) == 6.0
    assert layer.seen == [3.0]


def test_write_to_object_of_class_without_module_name():
    space: dict[str, Any] = {}
    exec("class Net: pass", space)  # noqa: S102
    net = space["Net"]()
    net.w = 1.0
    nets = [net, net]

    def loss(x):
        setattr(nets[0], "w", 3.0)
        return net.w * x

    assert srcad.value_and_grad(loss)(2.0) == (6.0, 3.0)
    assert net.w == 3.0


class Store:
    """An object of the caller's."""

    def __init__(self, w: float) -> None:
        self.w, self.n = w, 0

    def bump(self, v):
        self.w = self.w * 0.5 + v
        return self.w

    @property
    def double(self):
        return self.w * 2.0

    @double.setter
    def double(self, v):
        self.w = v * 0.5


class Raised:
    """A manager that writes what it was given."""

    def __init__(self, store):
        self.store = store

    def __enter__(self):
        return self.store

    def __exit__(self, *failure):
        self.store.w = self.store.w * 0.5


def by_method(store, stores, v):
    return store.bump(v)


def by_property(store, stores, v):
    store.double = v
    return v


def by_another_name(store, stores, v):
    other = store
    other.w = v
    return v


def by_loop(store, stores, v):
    for one in stores:
        one.w = one.w + v
    return v


def by_setattr(store, stores, v):
    setattr(store, "w", v)  # noqa: B010
    return v


def by_comprehension(store, stores, v):
    return sum([one.bump(v) for one in stores])


def by_manager(store, stores, v):
    with Raised(store):
        store.w = store.w + v
    return store.w


def by_default(store, stores, v, write=Store.bump):
    return write(store, v)


def by_steps(store, stores, v):
    def steps():
        for one in stores:
            one.w = v
            yield one.w

    return sum(steps())


def by_fields(store, stores, v):
    vars(store)["w"] = v
    return v


def by_text(store, stores, v):
    exec("store.w = v")
    return v


WRITERS = [
    by_method, by_property, by_another_name, by_loop, by_setattr, by_comprehension, by_manager,
    by_default, by_steps, by_fields,
]  # fmt: skip


def _world(write: Callable[..., Any]) -> Callable[..., Any]:
    a, b = Store(1.0), Store(2.0)
    stores, table = [a, b, a], {"a": a, "b": (b, a)}

    def loss(x):
        s = x[0] * a.w
        for _ in range(2):
            s = s + write(table["a"], stores, 0.25) * x[1] + b.w
        s = s * 0.5 + write(table["b"][1], stores, 1.5) * table["b"][0].w
        return s * x[2] + a.w * x[0]

    return loss


@pytest.mark.parametrize("write", WRITERS, ids=lambda write: write.__name__)
def test_opaque_call_write_to_external_object_visible(write):
    x = np.array([0.7, -0.4, 1.3])

    value, gradient = srcad.value_and_grad(_world(write))(x)

    assert value == _world(write)(x)
    for k, step in enumerate(1e-6 * np.eye(3)):
        slope = (_world(write)(x + step) - _world(write)(x - step)) / 2e-6
        assert abs(gradient[k] - slope) < 1e-6


def test_use_after_possible_opaque_write_rejected():
    with pytest.raises(errors.MutationError, match="by_text"):
        srcad.grad(_world(by_text))(np.ones(3))


def test_use_in_next_iteration_after_opaque_write_rejected():
    store = Store(1.0)

    def loss(x):
        s = 0.0
        for _ in range(3):
            s = s + store.w * x
            by_text(store, (), 2.0)
        return s

    with pytest.raises(errors.MutationError, match="by_text"):
        srcad.grad(loss)(1.0)


def test_use_of_object_unreachable_from_opaque_call():
    store, other = Store(1.0), Store(3.0)

    def loss(x):
        by_text(store, (), 2.0)
        return other.w * x

    assert srcad.grad(loss)(1.0) == 3.0
    assert store.w == 2.0


def test_use_before_opaque_write():
    store = Store(3.0)

    def loss(x):
        s = store.w * x
        by_text(store, (), 2.0)
        return s

    assert srcad.grad(loss)(1.0) == 3.0
    assert store.w == 2.0


def test_attribute_write_to_dynamic_object_rejected():
    stores = [Store(1.0), Raised(None)]

    def loss(x, k):
        setattr(stores[k], "w", 2.0)  # noqa: B010
        return x * stores[0].w  # type: ignore[attr-defined]

    with pytest.raises(errors.MutationError, match="write to an attribute"):
        srcad.grad(loss)(1.0, 0)


def test_write_in_context_manager_exit_visible():
    store = Store(1.0)

    def loss(x):
        with Raised(store):
            store.w = 3.0
        return store.w * x

    assert srcad.grad(loss)(1.0) == 1.5
    assert store.w == 1.5


# ------------------------------------------------------------------------- calls left as they are
SCALE = 2.0


def of_an_enclosing_function():
    scale = 2.0

    @functools.lru_cache
    def grow(k):
        nonlocal scale
        scale = scale + k

    def f(x):
        y = x * scale
        grow(1)
        return y + x * scale

    return f


def of_two_enclosing_functions():
    scale = 2.0

    def bound():
        @functools.lru_cache
        def grow(k):
            nonlocal scale
            scale = scale + k

        return grow

    grow = bound()

    def f(x):
        grow(1)
        return x * scale

    return f


def of_the_module():
    @functools.lru_cache
    def grow(k):
        global SCALE
        SCALE = SCALE + k

    def f(x):
        grow(1)
        return x * SCALE

    return f


@pytest.mark.parametrize(
    "made", [of_an_enclosing_function, of_two_enclosing_functions, of_the_module]
)
def test_variable_that_a_cached_function_may_rebind_is_not_read_after_its_call(made):
    with pytest.raises(errors.MutationError, match="cannot tell what the call of 'grow' leaves"):
        srcad.grad(made())(1.0)
