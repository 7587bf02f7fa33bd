"""Code of the user's runs as often as in the plain call, and never only to compile or to show."""

from __future__ import annotations

import functools
import types
from abc import ABCMeta
from collections import defaultdict

import numpy as np
import pytest

from srcad import grad

RAN: list[str] = []


def ran(what, result=2.0):
    RAN.append(what)
    return result


class Missing(dict):
    def __missing__(self, key):
        return ran("missing")


class Answering:
    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return ran(f"getattr {name}")


class Nothing:
    def __init__(self):
        self.held = 2.0

    def __getattr__(self, name):
        ran(f"getattr {name}")
        raise AttributeError(name)

    def __call__(self, v):
        return v * ran("call")


class AskedForAll:
    def __getattribute__(self, name):
        return ran("getattribute")


class Descriptor:
    def __get__(self, instance, owner):
        return ran("get")


class Described:
    of_descriptor = Descriptor()
    of_partial = property(functools.partial(lambda result, self: ran("partial", result), 2.0))

    @property
    def of_property(self):
        return ran("property")


class Slots:
    __slots__ = ("empty", "held")

    def __init__(self):
        self.held = 2.0

    def __getattr__(self, name):
        return ran(f"getattr {name}")


class Meta(type):
    def __getattr__(cls, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return ran("meta")

    def __instancecheck__(cls, instance):
        return ran("instancecheck", result=True)


class OfMeta(metaclass=Meta):
    pass


class Hooked(metaclass=ABCMeta):
    @classmethod
    def __subclasshook__(cls, other):
        return ran("subclasshook", result=True)


class Rows(list):
    def __getitem__(self, index):
        return ran("getitem")

    def __len__(self):
        return ran("len", 1)

    def __iter__(self):
        return ran("iter", iter([2.0]))


class Alike:
    def __eq__(self, other):
        return ran("eq", self is other)

    def __hash__(self):
        return ran("hash", 1)

    def __call__(self, v):
        return v * ran("call")


class Keys(dict):
    def __iter__(self):
        return ran("keys", iter(["held"]))


module = types.ModuleType("srcad_lazy_module")
module.__dict__["__getattr__"] = lambda name: ran("module")
missing, answering, nothing, for_all = Missing(held=2.0), Answering(), Nothing(), AskedForAll()
keys = Keys(held=2.0)
described, slots, rows, alike = Described(), Slots(), Rows([2.0]), Alike()


def in_a_loop(x):
    for _ in range(3):
        x = x * answering.rate
    return x


def caught(x):
    try:
        return nothing.absent * x
    except AttributeError:
        return 3.0 * x


def over_keys(x):
    y = 0.0
    for key in keys:
        y = y + keys[key] * x
    return y


def helped(holder, x):
    return holder.rate * x


PROGRAMS = {
    "missing": lambda x: missing["q"] * x,
    "not missing": lambda x: missing["held"] * x,
    "getattr": lambda x: answering.rate * x,
    "getattr twice": lambda x: answering.rate * x + answering.rate,
    "getattr unused": lambda x: (answering.rate, x * 2.0)[1],
    "getattr in a branch": lambda x: answering.rate * x if x > 0.0 else x,
    "getattr in a helper": lambda x: helped(answering, x),
    "getattr by name": lambda x: getattr(answering, "rate") * x,  # noqa: B009
    "getattr with a default": lambda x: getattr(nothing, "absent", 3.0) * x,
    "getattr in a loop": in_a_loop,
    "getattr caught": caught,
    "hasattr": lambda x: x * 2.0 if hasattr(answering, "rate") else x,
    "hasattr of nothing": lambda x: x if hasattr(nothing, "absent") else x * 2.0,
    "compared": lambda x: x * 2.0 if answering.rate > 1.0 else x,
    "held": lambda x: nothing.held * x,
    "truth": lambda x: x * 2.0 if nothing else x,
    "called": lambda x: nothing(x),
    "getattribute": lambda x: for_all.rate * x,
    "descriptor": lambda x: described.of_descriptor * x,
    "descriptor of a class": lambda x: Described.of_descriptor * x,
    "property": lambda x: described.of_property * x,
    "property of a partial": lambda x: described.of_partial * x,
    "slot": lambda x: slots.held * x,
    "empty slot": lambda x: slots.empty * x,
    "metaclass": lambda x: OfMeta.rate * x,
    "instance check": lambda x: x * 2.0 if isinstance(3, OfMeta) else x,
    "subclass hook": lambda x: x * 2.0 if isinstance("a", Hooked) else x,
    "module": lambda x: module.rate * x,
    "item of a list": lambda x: rows[0] * x,
    "length of a list": lambda x: len(rows) * x,
    "truth of a list": lambda x: x * 2.0 if rows else x,
    "keys of a dict": over_keys,
    "equal": lambda x: x * 2.0 if alike == 3 else x,
    "hash": lambda x: hash(alike) * x,
    "called with a hash": lambda x: alike(x),
    "a callable that answers": nothing,
    "a callable with a hash": alike,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_user_code_runs_as_often_as_in_original(name):
    function = PROGRAMS[name]
    RAN.clear()
    step = (function(3.0 + 1e-6) - function(3.0 - 1e-6)) / 2e-6
    plain, derivative = RAN[: len(RAN) // 2], grad(function)
    RAN.clear()

    assert derivative.source
    assert RAN == []
    for _ in range(2):
        RAN.clear()
        assert derivative(3.0) == pytest.approx(step, rel=1e-6)
        assert plain == RAN


def test_cached_property_evaluated_by_first_call_only():
    class Cached:
        @functools.cached_property
        def rate(self):
            return ran("cached")

    cached = Cached()
    derivative = grad(lambda x: cached.rate * x)
    RAN.clear()

    assert derivative.source
    assert RAN == []
    assert (derivative(3.0), derivative(3.0), RAN) == (2.0, 2.0, ["cached"])


def test_source_display_does_not_populate_defaultdict():
    table = defaultdict(lambda: ran("factory"))
    derivative = grad(lambda x: table["rate"] * x)
    RAN.clear()

    assert derivative.source
    assert (table, RAN) == ({}, [])
    assert (derivative(3.0), dict(table), RAN) == (2.0, {"rate": 2.0}, ["factory"])


def test_function_from_getattr_interpreted_when_active():
    class Config:
        def __init__(self):
            self.parts = {"square": lambda v: v * v, "count": 3, "W": np.full(3, 2.0)}

        def __getattr__(self, name):
            return self.parts[name]

    config = Config()

    def power(x):
        for _ in range(config.count):
            x = config.square(x)
        return x

    assert grad(power)(1.5) == pytest.approx(8 * 1.5**7)
    assert grad(lambda x: np.sum(config.W * x))(np.ones(3)).tolist() == [2.0] * 3
    config.parts["W"] = np.full(3, 5.0)
    assert grad(lambda x: np.sum(config.W * x))(np.ones(3)).tolist() == [5.0] * 3


def test_attribute_assigned_after_compilation_overrides_getattr():
    holder = Answering()
    derivative = grad(lambda x: holder.rate * x)

    assert derivative(3.0) == 2.0
    holder.rate = 7.0
    assert derivative(3.0) == 7.0


@pytest.mark.parametrize("holder", [Answering(), Described(), AskedForAll()])
def test_argument_object_getattr_called_once_per_call(holder):
    name = "of_property" if isinstance(holder, Described) else "rate"
    derivative = grad(lambda x, holder: x * x * getattr(holder, name))
    for _ in range(2):
        RAN.clear()
        assert derivative(3.0, holder) == 12.0
        assert len(RAN) == 1


class Handing:
    def __init__(self):
        self.w = 2.0

    def __getattribute__(self, name):
        return super().__getattribute__(name)

    def loss(self, x):
        return self.w * x * x


class HandingByObject(Handing):
    def __getattribute__(self, name):
        return object.__getattribute__(self, name)


@pytest.mark.parametrize("cls", [Handing, HandingByObject])
def test_method_from_delegating_class_interpreted(cls):
    model = cls()
    derivative = grad(lambda x: model.loss(x))

    assert derivative(3.0) == 12.0
    model.w = 5.0
    assert derivative(3.0) == 30.0
