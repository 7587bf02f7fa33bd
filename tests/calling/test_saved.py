"""`inspect(f, *args).saved`: what a pullback keeps, with types, bytes and lines."""

from __future__ import annotations

import sys

import numpy as np

import srcad


def network(w, x, n):
    h = x
    for _ in range(n):
        z = w @ h
        h = np.tanh(z)
    return np.sum(h * x)


def power(x, n):
    y = 1.0
    for _ in range(n):
        y = y * x
    return y


def test_each_value_has_a_type_a_shape_bytes_and_a_line():
    saved = srcad.inspect(network, np.eye(3), np.ones(3), 4, wrt=(0, 1)).saved

    first = network.__code__.co_firstlineno
    known = {str(s): (s.type, s.shape, s.bytes, s.per_iteration, s.line) for s in saved}
    assert known["w"] == ("float64[3, 3]", (3, 3), 72, None, 0)
    assert known["h"] == ("float64[3]", (3,), 24, None, first + 4)
    assert known["h_saved"] == ("list of float64[3]", (3,), None, 24, first + 4)
    assert {str(s) for s in saved if s.is_argument} == {"w", "x"}
    assert saved.bytes == 24
    assert saved.per_iteration == sum(s.per_iteration for s in saved if s.per_iteration)


def test_saved_names_match_generated_code():
    found = srcad.inspect(network, np.eye(3), np.ones(3), 4, wrt=(0, 1))

    returned = found.primal_source.rstrip().rpartition("return ")[2]
    assert returned.endswith(", " + ", ".join(found.saved))


def test_saved_sizes_match_given_arguments():
    for n in (3, 50):
        saved = srcad.inspect(network, np.eye(n), np.ones(n), 4, wrt=(0, 1)).saved
        assert {s.bytes for s in saved if s == "h"} == {8 * n}


def test_saved_numbers_counted_as_objects():
    (y, x) = srcad.inspect(power, 2.0, 10).saved

    assert (y.type, y.per_iteration, x.bytes) == (
        "list of float",
        sys.getsizeof(0.5),
        sys.getsizeof(0.5),
    )


def test_saved_sizes_unknown_without_arguments():
    saved = srcad.inspect(network).saved

    assert {s.bytes for s in saved if s == "h"} == {None}
    assert "list of float64[...]" in {s.type for s in saved}
    assert "? per trip" in str(saved)


def test_it_prints_a_table():
    lines = str(srcad.inspect(network, np.eye(3), np.ones(3), 4, wrt=(0, 1)).saved).splitlines()

    assert lines[0].split() == ["saved", "type", "bytes", "line"]
    assert any(line.split()[:4] == ["w", "float64[3,", "3]", "72"] for line in lines)
    assert any("24 per trip  test_saved.py:" in line for line in lines)
    assert lines[-1].startswith("24 bytes are saved, and ")
    assert str(srcad.inspect(lambda x: 2 * x, 2.0).saved) == "nothing is saved"


def test_html_is_escaped():
    def f(x):
        return x**3 if x < 2.0 else x * x

    html = srcad.inspect(f, 1.0).saved._repr_html_()

    assert "x &lt; 2.0" in html
    assert "x < 2.0" not in html


def test_saved_is_tuple_of_names():
    found = srcad.inspect(power, 2.0, 10)

    assert found.saved == ("y_saved", "x")
    assert repr(found) == "<srcad.inspect of 'power': saved y_saved, x>"


def test_recursion_saves_one_object():
    def f(x, n):
        return x if n == 0 else np.sin(f(x, n - 1))

    (one,) = srcad.inspect(f, 2.0, 3).saved

    assert one.bytes is None


def test_conditionally_saved_value_named():
    def either(x):
        if x > 0.0:
            return x * x
        return np.sin(x) * x

    for args in ((), (2.0,)):
        assert tuple(srcad.inspect(either, *args).saved) == ("test", "x", "sin_x")
