"""What is differentiated is the code that runs now, whatever ran before under the name."""

from __future__ import annotations

import functools
import importlib
import os
import sys

import numpy as np
import pytest

from srcad import differentiate, elementwise_grad, grad, gradient, pullback, value_and_grad
from srcad.errors import WrtError


def square(x):
    return x * x


def cube(x):
    return x * x * x


def replaceable(function):
    """A function of its own with the code of another."""
    made = type(function)(function.__code__, function.__globals__, function.__name__)
    made.__defaults__, made.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
    return made


# ------------------------------------------------------------------------ the function itself
@pytest.mark.parametrize(
    "derivative",
    [
        lambda f: grad(f),
        lambda f: lambda x: value_and_grad(f)(x)[1],
        lambda f: differentiate(f).grad,
        lambda f: lambda x: gradient(f, x)[0],
        lambda f: lambda x: pullback(f, x)[1](1.0)[0],
        lambda f: lambda x: elementwise_grad(f)(np.array([x]))[0],
        lambda f: grad(functools.partial(f)),
        lambda f: grad(lambda x: f(x)),
    ],
)
def test_replaced_code_object_recompiled(derivative):
    f = replaceable(square)
    g = derivative(f)
    before = g(3.0)

    f.__code__ = cube.__code__

    assert (before, g(3.0)) == (6.0, 27.0)


def test_code_replaced_before_first_call_and_restored():
    f = replaceable(square)
    g = grad(f)
    f.__code__ = cube.__code__
    first = g(3.0)
    f.__code__ = square.__code__
    second = g(3.0)
    f.__code__ = cube.__code__

    assert (first, second, g(3.0)) == (27.0, 6.0, 27.0)
    assert "x * x" in g.source


def test_replaced_code_object_in_second_derivative():
    f = replaceable(square)
    g = grad(grad(f))
    before = g(3.0)

    f.__code__ = cube.__code__

    assert (before, g(3.0)) == (2.0, 18.0)


def of_a_keyword(x, *, k=1.0):
    return x * k


def of_more(x, *rest, k=1.0, **options):
    return 7.0 * x * k


def test_replaced_code_object_with_other_signature():
    f = replaceable(of_a_keyword)
    g = grad(f)
    before = g(3.0, k=2.0)

    f.__code__ = of_more.__code__

    assert (before, g(3.0, k=2.0)) == (2.0, 14.0)


def of_another_name(y):
    return 4.0 * y


def test_replaced_code_object_without_wrt_parameter_rejected():
    f = replaceable(square)
    g = grad(f, wrt="x")
    g(3.0)

    f.__code__ = of_another_name.__code__

    with pytest.raises(WrtError):
        g(3.0)


# ------------------------------------------------------------------------ what it calls
class Model:
    def __init__(self, w=2.0):
        self.w = w

    def scaled(self, x):
        return self.w * x

    def called(self, x):
        return self.scaled(x)

    @property
    def rate(self):
        return 2.0

    @staticmethod
    def doubled(x):
        return 2.0 * x

    def __call__(self, x):
        return 2.0 * x

    def __mul__(self, other):
        return 2.0 * other


MODEL = Model()


def seven_times(self, x=1.0):
    return 7.0 * x


@pytest.mark.parametrize(
    ("f", "name", "new"),
    [
        (lambda x: MODEL.scaled(x), "scaled", seven_times),
        (lambda x: Model().scaled(x), "scaled", seven_times),
        (lambda x: MODEL.called(x), "scaled", seven_times),
        (MODEL.called, "scaled", seven_times),
        (lambda x: Model.scaled(MODEL, x), "scaled", seven_times),
        (lambda x: MODEL.rate * x, "rate", property(seven_times)),
        (lambda x: MODEL.doubled(x), "doubled", staticmethod(lambda x: 7.0 * x)),
        (MODEL, "__call__", seven_times),
        (lambda x: MODEL * x, "__mul__", seven_times),
    ],
)
def test_replaced_method_detected(f, name, new, monkeypatch):
    g = grad(f)
    before = g(3.0)

    monkeypatch.setattr(Model, name, new)

    assert (before, g(3.0)) == (2.0, 7.0)


def test_replaced_method_code_object_detected():
    class_ = type("Own", (), {"scaled": replaceable(Model.scaled), "w": 2.0})
    made = class_()
    g = grad(made.scaled)
    before = g(3.0)

    class_.scaled.__code__ = seven_times.__code__

    assert (before, g(3.0)) == (2.0, 7.0)


@pytest.fixture
def module(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    path = tmp_path / "a_module_of_ours.py"
    seconds = iter(range(10**9, 10**9 + 100))

    def write(text):
        path.write_text(text)
        os.utime(path, (next(seconds),) * 2)
        importlib.invalidate_caches()

    yield write
    sys.modules.pop(path.stem, None)


def test_reloaded_helper_module_detected(module):
    module("def f(x):\n    return 2.0 * x\n\n\ndef outer(x):\n    return f(x)\n")
    read = importlib.import_module("a_module_of_ours")
    of_helper, of_module = grad(read.outer), grad(lambda x: read.f(x))
    before = of_helper(3.0), of_module(3.0)

    module("def f(x):\n    y = 7.0\n    return y * x\n\n\ndef outer(x):\n    return f(x)\n")
    importlib.reload(read)

    assert (before, of_helper(3.0), of_module(3.0)) == ((2.0, 2.0), 7.0, 7.0)


def test_autoreloaded_function_code_detected(module):
    module("def f(x):\n    return 2.0 * x\n")
    read = importlib.import_module("a_module_of_ours")
    old = read.f
    g = grad(old)
    before = g(3.0)

    module("RATE = 7.0\n\n\ndef f(x):\n    return RATE * x\n")
    importlib.reload(read)
    old.__code__ = read.f.__code__  # as IPython's autoreload does

    assert (before, g(3.0)) == (2.0, 7.0)


# ------------------------------------------------------------------------ whose code it is
def with_a_default(x, f=lambda x: 3.0 * x): return x * f(x)  # noqa: E704  # fmt: skip


def marked(how):
    def mark(f):
        f.how = how
        return f

    return mark


@marked(lambda x: 5.0 * x)
def with_a_decorator(x):
    return x * with_a_decorator.how(x)


def test_lambda_in_default_or_decorator_not_mistaken_for_function():
    assert grad(with_a_default)(2.0) == 12.0
    assert grad(with_a_decorator)(2.0) == 20.0


class Switch:
    pass


def test_added_bool_method_detected():
    switch = Switch()

    def f(x):
        return x * x if switch else x

    gradient = grad(f)
    assert gradient(1.5) == 3.0

    Switch.__bool__ = lambda self: False
    try:
        assert gradient(1.5) == 1.0
    finally:
        del Switch.__bool__
    Switch.__len__ = lambda self: 0
    try:
        assert gradient(1.5) == 1.0
    finally:
        del Switch.__len__
    assert gradient(1.5) == 3.0


def test_added_eq_method_detected():
    a, b = Switch(), Switch()

    def f(x):
        return x * x if a == b else x

    gradient = grad(f)
    assert gradient(1.5) == 1.0

    Switch.__eq__ = lambda self, other: True
    try:
        assert gradient(1.5) == 3.0
    finally:
        del Switch.__eq__


def test_added_bool_method_of_local_object_detected():
    def f(x):
        return x * x if Switch() else x

    gradient = grad(f)
    assert gradient(1.5) == 3.0

    Switch.__bool__ = lambda self: False
    try:
        assert gradient(1.5) == 1.0
    finally:
        del Switch.__bool__
