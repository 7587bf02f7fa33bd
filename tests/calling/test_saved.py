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


# ------------------------------------------------------------- what functions that stay one save
def wave_step(u, c):
    right, left = np.roll(u, 1), np.roll(u, -1)
    return u + c * (right - 2.0 * u + left) + 0.01 * np.sin(u) * np.cos(u * right)


def wave(u, c, n):
    u = 1.0 * u
    for _ in range(n):
        u = wave_step(wave_step(u, c), c)
    return np.sum(u * u)


def spring(k, d):
    r = np.sqrt(d @ d)
    return k * (r - 1.0) * d / r + 0.1 * d * np.exp(-r)


def two_springs(k, x):
    force = spring(k, x[1] - x[0]) + spring(k, x[2] - x[0])
    return force @ force


def product_of_halves(x, n):
    if n == 0:
        return np.sum(x * x)
    return np.sum(np.sin(x)) * product_of_halves(x * 0.5, n - 1)


def held_by(saved, given, seen):
    """The bytes of arrays and numbers in what a primal saves, each once, without arguments."""
    if saved is None or isinstance(saved, bool | np.bool):
        return 0
    if isinstance(saved, tuple | list):
        return sum(held_by(item, given, seen) for item in saved)
    if isinstance(saved, int):
        return sys.getsizeof(1 << 20)
    if any(saved is one for one in (*given, *seen)):
        return 0
    seen.append(saved)
    return saved.nbytes if isinstance(saved, np.ndarray) else sys.getsizeof(saved)


def inspected(f, *args, **how):
    """The table of saved values, and what the primal holds in fact."""
    found = srcad.inspect(f, *args, **how)
    space = {"np": np}
    exec(str(found.primal_source), space)
    returned = space[f"{f.__name__}_primal"](*args)
    return found.saved, held_by(returned[-len(found.saved) :], args, [])


def test_bytes_of_calls_in_a_loop_are_what_is_held():
    saved, held = inspected(wave, np.linspace(0.0, 1.0, 50), 0.1, 4)

    (call, other) = (s for s in saved if s.helper is not None)
    assert call.helper == other.helper == "wave_step_primal"
    assert call.type == "list of saved by wave_step_primal"
    assert call.line == wave.__code__.co_firstlineno + 3
    assert saved.bytes + 4 * saved.per_iteration == held


def test_bytes_of_calls_include_arguments_that_only_the_call_holds():
    saved, held = inspected(two_springs, 1.3, np.arange(6.0).reshape(3, 2) ** 2, wrt=(0, 1))

    assert saved.bytes == held
    within = saved.helpers["spring_primal"]
    assert {"k", "d"} <= {str(s) for s in within if s.is_argument}
    assert [s.bytes for s in saved if s.helper] == [within.bytes + 16] * 2


def test_bytes_of_recursive_calls_are_what_is_held():
    for n in (1, 3):
        saved, held = inspected(product_of_halves, np.linspace(0.1, 1.0, 40), n)

        assert saved.bytes + n * saved.per_call == held


def test_table_of_saved_values_has_those_of_each_pair_once():
    saved, _ = inspected(two_springs, 1.3, np.arange(6.0).reshape(3, 2) ** 2, wrt=(0, 1))
    lines = str(saved).splitlines()

    (first,) = (k for k, line in enumerate(lines) if line.startswith("spring_primal, one call"))
    rows = [line.split()[0] for line in lines[first + 1 : -1]]
    assert rows == list(saved.helpers["spring_primal"])
    assert all(line.startswith("  ") for line in lines[first + 1 : -1])
    assert "<td>&nbsp;&nbsp;d</td>" in saved._repr_html_()
