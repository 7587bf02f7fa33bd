"""Names from outside, imports, `del`, decorators, and functions from odd places."""

from __future__ import annotations

import doctest
import functools
import linecache
import math
import re
import types
from typing import Any

import numpy as np
import pytest

from srcad import errors, grad
from tests.language import assert_program, named

SCALE = 2.0


class Model:
    factor = 3.0

    def __init__(self, weight):
        self.weight = weight

    def energy(self, x):
        return self.weight * self.twice * x * x

    @property
    def twice(self):
        return 2 * self.weight

    @staticmethod
    def square(x):
        return x * x

    @classmethod
    def scaled(cls, x):
        return cls.square(x) * cls.factor


MODEL = Model(1.5)


def doubling(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return 2 * function(*args, **kwargs)

    return wrapper


@doubling
def decorated(x):
    return x * x


def reads_global(a):
    global SCALE

    def inner():
        global SCALE
        return SCALE * a

    return inner() * SCALE


def global_behind_a_local(a):
    SCALE = a * a  # noqa: N806 - hides the global

    def inner():
        global SCALE
        return SCALE * a

    return inner() * SCALE


def reads_nonlocal(a):
    y = a * a

    def inner():
        nonlocal y
        return y * a

    y = y * 3
    return inner()


def imports(a):
    import math as m
    import os.path
    from math import sin as s

    return m.exp(a) * s(a) * len(os.path.sep)


def deletes(a):
    y = a * a
    z, w = y, a
    del y, w
    for k in range(3):
        t = z * k
        z = t + a
        del t
    return z


def local_decorators(a):
    def times(n):
        return lambda function: lambda *args: n * function(*args)

    @doubling
    @times(3)
    def f(x):
        return x * x * a

    @functools.lru_cache(maxsize=None)
    def g(x):
        return x * a

    return f(a) + g(2.0)


def methods(a):
    return MODEL.energy(a) + Model.square(a) + Model.scaled(a) + MODEL.twice * a + decorated(a)


def odd_names(d, np_, x_bar, srcad, self, lambda_):
    def inner(d, np, x_bar, srcad, self, lambda_):
        saved, seed, value, grad = d * np, x_bar * srcad, self * lambda_, d
        return saved * seed * value * grad

    return inner(d, np_, x_bar, srcad, self, lambda_) * math.sin(d)


PROGRAMS = [
    *((f, 0.7) for f in (reads_global, global_behind_a_local, reads_nonlocal, imports, deletes)),
    *((f, 0.7) for f in (local_decorators, methods)),
    (odd_names, 0.7, 0.3, 1.1, 0.9, 1.3, 0.4),
]


@pytest.mark.parametrize(**named(PROGRAMS))
def test_a_program_has_its_gradient(program: tuple[Any, ...]) -> None:
    assert_program(*program)


def test_method_and_classmethod_as_differentiated_function() -> None:
    assert grad(MODEL.energy)(0.5) == pytest.approx(4.5)
    assert grad(Model.scaled)(0.5) == pytest.approx(3.0)
    assert grad(Model.square)(0.5) == pytest.approx(1.0)
    assert grad(decorated)(0.5) == 2.0


def test_an_array_named_as_numpy_is_an_array() -> None:
    def f(np, x):
        return (np * x).sum()

    assert grad(f, wrt=1)(np.array([1.0, 2.0]), 3.0) == 3.0


def writes_global(a):
    global SCALE
    SCALE = a
    return SCALE * a


def writes_nonlocal(a):
    y = a

    def inner():
        nonlocal y
        y = y * a

    inner()
    return y


def holds_class(a):
    class C:
        y = a

    return C.y


def runs_text(a):
    return eval("a * a")


@pytest.mark.parametrize("f", [holds_class, runs_text])
def test_ambiguous_name_rejected_with_location(f: Any) -> None:
    with pytest.raises((errors.UnsupportedSyntaxError, errors.MutationError)) as caught:
        grad(f)(0.7)

    assert re.search(r"test_names\.py:\d+:\d+", str(caught.value))
    assert SCALE == 2.0


def test_global_statement_assigns_global() -> None:
    global SCALE
    try:
        assert grad(writes_global)(0.7) == pytest.approx(1.4)
        assert SCALE == 0.7
    finally:
        SCALE = 2.0


def test_nonlocal_variable_assigned() -> None:
    assert_program(writes_nonlocal, 0.7)


def test_deleted_variable_raises_unbound_local_error() -> None:
    def f(a):
        y = a
        if a > 0:
            del y
        return y * a

    assert grad(f)(-2.0) == -4.0
    with pytest.raises(UnboundLocalError):
        grad(f)(2.0)


def test_a_function_defined_in_a_doctest() -> None:
    text = """
    >>> from srcad import grad
    >>> def f(x):
    ...     return x * x * x
    >>> grad(f)(2.0)
    12.0
    """
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(verbose=False)

    outcome = runner.run(parser.get_doctest(text, {}, "a doctest", None, 0))

    assert outcome == (0, 3)


def test_a_function_defined_in_a_cell_of_a_notebook() -> None:
    text = "def f(x):\n    return x * x * x\n"
    name = "<ipython-input-1-abcdef>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    cell = types.ModuleType("cell")
    exec(compile(text, name, "exec"), cell.__dict__)

    assert grad(cell.f)(2.0) == 12.0
