"""Lists, dicts and objects outside that a function writes into, and those that it puts there."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcad
from srcad import errors
from tests.numeric import assert_close, difference

X = np.array([0.3, -0.2, 0.7])


class Store:
    """Lists and dicts of the caller's."""

    def __init__(self) -> None:
        self.history = [1.0, 2.0]
        self.cache: dict[Any, Any] = {"w": 2.0, "n": 1}
        self.log = {"loss": [0.5], "steps": 3}
        self.kept: Any = None

    def state(self) -> str:
        return shown(vars(self))


def shown(value: Any) -> str:
    """A value with the arrays and objects in it, as text."""
    if isinstance(value, dict):
        return repr([(k, shown(v)) for k, v in value.items()])
    if isinstance(value, list | tuple):
        return f"{type(value).__name__} {[shown(v) for v in value]}"
    if isinstance(value, np.ndarray):
        return repr(value.tolist())
    return shown(vars(value)) if hasattr(value, "__dict__") else repr(value)


class Point:
    def __init__(self, x):
        self.x = x
        self.y = None


def appends(s, x):
    y = np.sum(x**2)
    s.history.append(y)
    return y


def appends_in_a_loop(s, x):
    for k in range(len(x)):
        s.history.append(x[k] * 2)
    return np.sum(x**2)


def reads_what_it_appended(s, x):
    s.history.append(np.sum(x))
    return s.history[-1] * x[0] * len(s.history)


def appends_on_either_path(s, x):
    if x[0] > 0:
        s.history.append(x[0])
    else:
        s.history.append(x[1])
    return s.history[-1] * x[2]


def appends_by_another_name(s, x):
    h = s.history
    h.append(x[0])
    return h[-1] * s.history[-1]


def reads_before_it_appends(s, x):
    first = s.history[0]
    s.history.append(x * first)
    return np.sum(x) * first


def extends(s, x):
    s.history.extend([x[0], x[1]])
    s.history += [x[2]]
    return np.sum(x**2)


def logs_structures(s, x):
    s.history.append(("loss", np.sum(x), x))
    s.history.append({"a": x[0], "b": [x[1], 2]})
    return np.sum(x**2)


def writes_an_item(s, x):
    s.history[0] = x[0] * 2
    return s.history[0] * x[1]


def caches(s, x):
    s.cache["h"] = np.sin(x)
    return np.sum(s.cache["h"] * x)


def caches_once(s, x):
    if "h" not in s.cache:
        s.cache["h"] = np.sin(x)
    return np.sum(s.cache["h"] * x)


def caches_by_the_trip(s, x):
    for k in range(len(x)):
        s.cache[k] = x[k] * 2
    return np.sum(x**2)


def caches_on_one_path(s, x):
    s.cache["h"] = x * 2
    if x[0] > 0:
        s.cache["h"] = x * 3
    return np.sum(s.cache["h"] * x)


def counts_in_a_dict(s, x):
    s.cache["n"] += 1
    s.cache["calls"] = s.cache.get("calls", 0) + 1
    return np.sum(x) * s.cache["n"] * s.cache["calls"]


def overwrites_what_it_has_used(s, x):
    y = x * s.cache["w"]
    s.cache["w"] = 7.0
    return np.sum(y * x) * s.cache["n"]


def sets_defaults(s, x):
    s.cache.setdefault("h", x * 2)
    s.cache.update(a=x[0], b=2)
    return np.sum(s.cache["h"] * x)


def of_a_dict_inside(s, x):
    s.log["loss"].append(np.sum(x))
    s.log["steps"] += 1
    return np.sum(x**2) * s.log["steps"]


def begins_a_list(s, x):
    s.kept = []
    h = np.zeros(3)
    for k in range(len(x)):
        h = np.tanh(h + x[k])
        s.kept.append(h)
    return np.sum(h * s.kept[0])


def begins_a_dict(s, x):
    s.kept = {}
    s.kept["x"] = x
    s.kept["h"] = np.tanh(s.kept["x"])
    return np.sum(s.kept["h"] * s.kept["x"])


def changes_what_it_has_put_there(s, x):
    parts = {"a": x, "b": [1, 2]}
    s.kept = parts
    parts["b"].append(3)
    parts["c"] = x * 2
    del parts["a"]
    return np.sum(s.kept["c"] * x)


def puts_an_object_there(s, x):
    s.kept = point = Point(x)
    point.y = x * 3
    return np.sum(s.kept.x * point.y)


def writes_into_an_array_it_has_cached(s, x):
    y = x * 2
    s.cache["y"] = y
    s.kept = [y]
    y[0] = 3.0 * x[1]
    return np.sum(y * s.cache["y"] * s.kept[0])


def goes_through_what_it_has_cached(s, x):
    s.cache["a"] = x
    total = sum(np.sum(s.cache[k]) for k in s.cache)
    return total * sum(np.sum(v) for v in s.cache.values())


def passes_on_what_it_has_cached(s, x):
    s.log["steps"] = x[0]
    return weighted(x, **s.log) * weighted(x, **{**s.log, "loss": (x[1],)})


def weighted(x, loss, steps):
    return np.sum(x**2) * steps + loss[0]


def puts_parameters_into_an_object(s, x):
    s.__dict__.update(w=x[:2], b=x[2])
    for name in ("w", "b"):
        setattr(s, name, getattr(s, name) * 2)
    return np.sum(s.w * s.b) + s.__dict__["b"]


def returns_what_a_helper_keeps(s, x):
    y = kept(s, x * 2)
    return np.sum(y * kept(s, y))


def kept(s, y):
    s.cache["y"] = y
    return y


PROGRAMS = [
    appends, appends_in_a_loop, reads_what_it_appended, appends_on_either_path,
    appends_by_another_name, reads_before_it_appends, extends, logs_structures, writes_an_item,
    caches, caches_once, caches_by_the_trip, caches_on_one_path, counts_in_a_dict,
    overwrites_what_it_has_used, sets_defaults, of_a_dict_inside, begins_a_list, begins_a_dict,
    changes_what_it_has_put_there, puts_an_object_there, writes_into_an_array_it_has_cached,
    returns_what_a_helper_keeps, goes_through_what_it_has_cached, passes_on_what_it_has_cached,
    puts_parameters_into_an_object,
]  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_write_into_external_container_matches_original(f: Callable[..., Any]) -> None:
    s = Store()
    want = f(s, X.copy())
    state = s.state()

    s, again = Store(), Store()
    value, gradient = srcad.value_and_grad(f, wrt=1)(s, X.copy())
    got = srcad.grad(f, wrt=1)(again, X.copy())

    assert repr(value) == repr(want)
    assert [s.state(), again.state()] == [state, state]
    want_gradient = difference(lambda x: f(Store(), x), (X,), 0)
    assert_close(gradient, want_gradient, 1e-6, 1e-7)
    assert_close(got, want_gradient, 1e-6, 1e-7)


@pytest.mark.parametrize("f", [appends, caches, counts_in_a_dict, begins_a_list, of_a_dict_inside])
def test_external_container_state_carries_over_to_second_call(f: Callable[..., Any]) -> None:
    s, plain = Store(), Store()
    gradient = srcad.value_and_grad(f, wrt=1)

    for _ in range(3):
        assert repr(gradient(s, X)[0]) == repr(f(plain, X))

    assert s.state() == plain.state()


@dataclasses.dataclass
class Layer:
    w: Any = 2.0
    h: Any = None
    log: list[Any] = dataclasses.field(default_factory=list)

    def loss(self, x):
        self.h = x * self.w
        self.w = self.w + 1
        self.log.append(np.sum(x))
        return np.sum(self.h * x)


def test_stateful_dataclass_gradient() -> None:
    layer, plain = Layer(), Layer()

    for _ in range(2):
        value, gradient = srcad.value_and_grad(layer.loss)(X)
        assert_close(gradient, 2 * plain.w * X)
        assert value == plain.loss(X)

    assert shown(layer) == shown(plain)


LOSSES: list[Any] = []


def trained(w, x, y):
    loss = np.mean((x @ w - y) ** 2)
    LOSSES.append(loss)
    return loss


def test_growing_history_list_does_not_recompile() -> None:
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(5, 3)), np.zeros(3)
    y = x @ np.ones(3)
    step = srcad.value_and_grad(trained)

    for _ in range(20):
        w = w - 0.1 * step(w, x, y)[1]

    assert len(LOSSES) == 20
    assert LOSSES[-1] < 0.1 * LOSSES[0]
    assert step.cache_info().compilations == 1
    LOSSES.clear()


def failing(s, x):
    s.history.append(1)
    s.cache["a"] = x[0]
    if x[0] > 0:
        raise ValueError("no")
    s.history.append(2)
    return x[0]


def test_container_writes_before_exception_persist() -> None:
    s, plain = Store(), Store()

    for f, given in ((failing, plain), (srcad.grad(failing, wrt=1), s)):
        with pytest.raises(ValueError, match="no"):
            f(given, X)

    assert s.state() == plain.state()


SHARED: list[Any] = [1.0]
PAIR: Any = (2.0, SHARED)


def read_as_data(s, x):
    SHARED.append(x[0])
    return PAIR[1][-1] * x[1]


def test_aliased_external_list_written_and_used_rejected() -> None:
    with pytest.raises(errors.MutationError):
        srcad.grad(read_as_data, wrt=1)(Store(), X)

    assert SHARED == [1.0]


def two_lists(a, b, x):
    a.history.append(np.sum(x))
    return b.history[-1] * x[0]


def test_list_aliasing_distinguished_per_call() -> None:
    gradient = srcad.value_and_grad(two_lists, wrt=2)

    for k in range(2):
        a, b = Store(), Store()
        if k:
            b.history = a.history
        want = b.history[-1] * X[0] if not k else np.sum(X) * X[0]
        slope = np.array([2.0, 0.0, 0.0]) if not k else X[0] + np.array([np.sum(X), 0, 0])
        value, got = gradient(a, b, X)
        assert value == want
        assert_close(got, slope)


def appended_and_written(s, x):
    y = x * 2
    s.history.append(y)
    y[0] = 0.0
    return np.sum(y * x)


def gone_through(s, x):
    s.history.append(x[0])
    return sum(v * x[1] for v in s.history)


def read_at_another_place(s, x):
    s.history.append(x[0])
    return s.history[0] * x[1]


@pytest.mark.parametrize("f", [appended_and_written, gone_through, read_at_another_place])
def test_untracked_container_write_rejected_without_side_effects(f: Callable[..., Any]) -> None:
    s = Store()

    with pytest.raises(errors.MutationError):
        srcad.grad(f, wrt=1)(s, X)

    assert s.state() == Store().state()


def test_container_stored_externally_emitted_unchanged() -> None:
    s, gradient = Store(), srcad.grad(begins_a_dict, wrt=1)
    gradient(s, X)

    lines = [line.strip() for line in gradient.source.splitlines()]
    assert "s.kept = parts" in lines
    assert 'parts["x"] = x' in lines
