"""Functions that are called stay functions: the texts of pairs, and what is put in place."""

import os
import sys
from unittest import mock

import numpy as np
import pytest

import srcad
from tests.numeric import assert_gradient


def rhs(y, p):
    x, v = y[0], y[1]
    drag = p["c"] * np.abs(v) * v
    return np.array([v, -p["k"] * np.sin(x) - drag])


def rk4(y, p, h):
    k1 = rhs(y, p)
    k2 = rhs(y + 0.5 * h * k1, p)
    k3 = rhs(y + 0.5 * h * k2, p)
    k4 = rhs(y + h * k3, p)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def loss(p, y0, data, h):
    y, s = y0, 0.0
    for d in data:
        y = rk4(y, p, h)
        s = s + (y[0] - d) ** 2
    return s


def pair(r2, eps):
    if r2 > 1.0:
        s = 1.0 / r2
    else:
        s = 2.0 - r2
    acc = 0.0
    for k in range(3):
        acc = acc + eps[k] * s ** (k + 1)
    return acc


def energy(x, eps):
    total = 0.0
    for i in range(len(x) - 1):
        d = x[i + 1] - x[i]
        total = total + pair(d @ d, eps)
    for i in range(len(x) - 2):
        d = x[i + 2] - x[i]
        total = total + pair(d @ d, eps)
    return total


class Spring:
    def __init__(self, k, rest):
        self.k = k
        self.rest = rest

    def force(self, a, b):
        d = b - a
        r = np.sqrt(d @ d)
        return self.k * (r - self.rest) * d / r


def net(k, x):
    s = Spring(k, 1.0)
    total = np.zeros(2)
    for i in range(len(x) - 1):
        total = total + s.force(x[i], x[i + 1])
    total = total + s.force(x[-1], x[0])
    return total @ total


def text(f, *args, **how):
    gradient = srcad.value_and_grad(f, **how)
    gradient(*args)
    return gradient.source


def functions_of(source):
    """The names of the functions in a text, and what is written above and in each."""
    found, above = {}, ""
    for line in source.splitlines():
        if line.startswith("def "):
            name = line[4:].partition("(")[0]
            found[name] = [above, line]
        elif found and line.startswith(" "):
            found[name].append(line.strip())
        above = line
    return found


def test_text_of_a_step_of_runge_and_kutta():
    args = ({"c": 0.3, "k": 1.2}, np.array([1.0, 0.2]), np.array([0.9, 0.7]), 0.1)

    source = text(loss, *args)
    found = functions_of(source)

    assert [*found] == [
        "value_and_grad_loss", "rk4_primal", "rk4_adjoint", "rhs_primal", "rhs_adjoint",
    ]  # fmt: skip
    assert found["rk4_primal"][:2] == [
        "# rk4  (test_pairs_of_helpers.py:20)",
        "def rk4_primal(y, c, k, h):",
    ]  # noqa: E501
    assert found["rhs_adjoint"][1:3] == [
        "def rhs_adjoint(saved, result_bar):",
        "c, k, x, v, absolute_v, product, sin_x, y_shape = saved",
    ]
    assert "y, saved_y = rk4_primal(y, c, k, h)" in source
    assert "y_bar, c_bar_1, k_bar_1 = rk4_adjoint(saved_y, y_bar)" in source
    assert "k2, saved_k2 = rhs_primal(y + 0.5 * h * k1, c, k)" in source
    assert ".copy()" not in source
    assert len(source.splitlines()) <= 90
    assert_gradient(srcad.gradient, lambda c: loss({"c": c, "k": 1.2}, *args[1:]), 0.3)


def test_text_of_a_helper_with_a_branch_and_a_loop():
    x, eps = np.linspace(-1.0, 2.0, 15).reshape(5, 3) ** 2, np.array([0.3, 0.4, 0.5])

    source = text(energy, x, eps, wrt=(0, 1))
    found = functions_of(source)

    assert found["pair_primal"][1] == "def pair_primal(r2, eps):"
    assert found["pair_adjoint"][1] == "def pair_adjoint(saved, acc_bar):"
    assert found["pair_adjoint"][2].endswith("= saved")
    assert "if test:" in found["pair_adjoint"]
    assert source.count("pair_adjoint(saved_acc, 1.0)") == 2
    assert_gradient(srcad.gradient, energy, x, eps)


def test_text_of_a_method():
    x = np.array([[0.1, 0.2], [1.0, -0.4], [0.3, 0.9]])

    source = text(net, 1.3, x, wrt=(0, 1))
    found = functions_of(source)

    above, first = found["Spring_force_primal"][:2]
    assert above.startswith("# Spring.force  (")
    assert above.endswith("; self.k is k")
    assert first == "def Spring_force_primal(k, a, b):"
    assert_gradient(srcad.gradient, net, 1.3, x)


# --------------------------------------------------------------------- chains of functions
CHAIN = "import numpy as np\n\ndef f0(x):\n    return np.sin(x) * x + np.cos(x) / (1.0 + x * x)\n"


def chain(count, folder):
    lines = [CHAIN]
    for k in range(1, count + 1):
        lines.append(f"def f{k}(x):\n    return f{k - 1}(x * 0.9) + f{k - 1}(np.cos(x))\n")
    path = folder / f"chain_{count}.py"
    path.write_text("\n".join(lines))
    space = {"__name__": path.stem}
    exec(compile(path.read_text(), str(path), "exec"), space)
    return space[f"f{count}"]


def calls_of(f, x):
    """How many Python functions the compilation calls; those of the text do not count."""
    gradient, count = srcad.value_and_grad(f), 0

    def note(frame, event, _):
        nonlocal count
        count += event == "call" and not frame.f_code.co_filename.startswith("<srcad")

    sys.setprofile(note)
    try:
        gradient(x)
    finally:
        sys.setprofile(None)
    return count


def test_chain_whose_functions_call_the_one_before_twice_is_linear(tmp_path):
    calls_of(chain(2, tmp_path), 0.7)
    short, long = (calls_of(chain(count, tmp_path), 0.7) for count in (5, 10))

    assert long < 2.2 * short
    assert len(text(chain(10, tmp_path), 0.7).splitlines()) <= 160
    assert_gradient(srcad.gradient, chain(6, tmp_path), 0.7)


# ------------------------------------------------------------------------- put in place
def small(x):
    return np.sin(x) * x


def twice_small(x):
    return np.sum(small(x) + small(2.0 * x))


def large(x):
    a = np.sin(x) * x + np.cos(x)
    return a * np.tanh(a) + a * a - 0.5 * a


def of_one_large(x):
    return np.sum(large(x))


def of_two_large(x):
    return np.sum(large(x) + large(2.0 * x))


def summed(x):
    total = 0.0
    for v in x:
        total = total + v * v
    return total


def of_one_loop(x):
    return summed(np.sin(x))


def of_two_loops(x):
    return summed(np.sin(x)) * summed(x)


def bent(x):
    if x > 0.0:
        return x * x
    return np.sin(x)


def of_one_branch_in_a_loop(x):
    total = 0.0
    for v in x:
        total = total + bent(v)
    return total


@pytest.mark.parametrize(
    ("f", "stays"),
    [
        (twice_small, False),
        (of_one_large, False),
        (of_two_large, True),
        (of_one_loop, False),
        (of_two_loops, True),
        (of_one_branch_in_a_loop, False),
    ],
)
def test_small_functions_and_those_of_one_call_are_put_in_place(f, stays):
    x = np.array([0.3, 0.8, -0.4])

    assert ("_primal(" in text(f, x)) is stays
    assert_gradient(srcad.gradient, f, x)


def test_setting_reads_all_in_place_in_the_same_process():
    x = np.array([0.3, 0.8, -0.4])
    kept = srcad.value_and_grad(of_two_large)
    value, gradient = kept(x)

    with mock.patch.dict(os.environ, SRCAD_HELPERS="inline"):
        inline = srcad.value_and_grad(of_two_large)
        again, other = inline(x)
        assert "_primal(" not in inline.source

    assert "_primal(" in kept.source
    assert value == again
    np.testing.assert_allclose(gradient, other, rtol=1e-14)


def test_function_that_takes_a_derivative_has_all_in_place():
    def f(x):
        return np.sum(srcad.grad(of_two_large)(x) ** 2)

    x = np.array([0.3, 0.8, -0.4])

    assert "_primal(" not in text(f, x)
    assert_gradient(srcad.gradient, f, x)


def masked(x):
    return np.sum(np.where(x > 0.1, large(x), 0.0) + np.where(x > 0.2, large(2.0 * x), 0.0))


def test_function_behind_a_mask_is_put_in_place():
    x = np.array([0.3, 0.8, -0.4])

    assert "_primal(" not in text(masked, x)
    assert_gradient(srcad.gradient, masked, x)


class Mass:
    def __init__(self, x, v):
        self.x, self.v = x, v


def of_positions(table):
    return sum(m.x**2 for m in table["masses"]) * table["scale"]


def moved(x, v, n):
    masses, s = [Mass(x * k, v) for k in range(n)], 0.0
    for _ in range(2):
        s = s + of_positions({"masses": masses, "scale": v})
        for m in masses:
            m.x = m.x + 0.1 * m.v
            s = s + m.v
    return s + of_positions({"masses": masses, "scale": x})


def test_helper_that_reads_some_fields_of_a_list_returns_all_cotangents():
    derive = srcad.value_and_grad(moved, wrt=(0, 1))

    value, gradient = derive(1.3, 0.7, 3)

    assert "of_positions_adjoint" in derive.source
    np.testing.assert_allclose(value, moved(1.3, 0.7, 3), rtol=1e-14)
    e = 1e-6
    by_x = (moved(1.3 + e, 0.7, 3) - moved(1.3 - e, 0.7, 3)) / (2 * e)
    by_v = (moved(1.3, 0.7 + e, 3) - moved(1.3, 0.7 - e, 3)) / (2 * e)
    np.testing.assert_allclose(gradient, (by_x, by_v), rtol=1e-7)


PLACE = ({"c": 0.1, "k": 2.0}, np.array([0.3, 0.4]), [0.1, 0.2, 0.3], 0.05)


@pytest.mark.parametrize(
    ("derivative", "more", "names"),
    [
        (srcad.jacobian(loss, mode="fwd", wrt=1), (), ["rk4_jvp_batched", "rhs_jvp_batched"]),
        (srcad.jacobian(loss, mode="rev", wrt=1), (), ["rk4_primal", "rhs_adjoint"]),
        (srcad.hessian(loss, wrt=1), (), ["rk4_primal_jvp_batched", "rhs_adjoint_jvp_batched"]),
        (srcad.hvp(loss, wrt=1), (np.ones(2),), ["rk4_primal_jvp", "rhs_adjoint_jvp"]),
    ],
    ids=["jacfwd", "jacrev", "hessian", "hvp"],
)
def test_functions_stay_functions_in_other_modes(derivative, more, names):
    args = *PLACE, *more

    kept = derivative(*args)

    assert [derivative.source.count(f"def {name}(") for name in names] == [1, 1]
    with mock.patch.dict(os.environ, {"SRCAD_HELPERS": "inline"}):
        np.testing.assert_allclose(kept, derivative(*args), rtol=1e-12)


def test_results_of_functions_with_tangents_have_the_names_of_the_program():
    derivative = srcad.jacobian(rk4, mode="fwd")

    derivative(PLACE[1], PLACE[0], 0.05)

    assert "k1, k1_dot = rhs_jvp_batched(y, c, k, y_dot, 2)" in derivative.source


def test_cotangent_of_one_argument_is_named_after_it():
    derivative = srcad.jacobian(rk4, mode="rev")

    derivative(PLACE[1], PLACE[0], 0.05)

    assert "y_bar_1 = rhs_adjoint_batched(saved_k4, k4_bar, 2)" in derivative.source


# --------------------------------------------------------------------- variants
def damped(x, s):
    if s > 1.0:
        t = np.sin(x) * x * s
        u = t * t + np.cos(t) * x
        return u * np.exp(-u) + t
    return x * s


def test_constant_that_decides_a_branch_has_a_variant():
    def f(x):
        return damped(x, 2.0) + damped(x * x, 2.0) + damped(x, 0.5)

    found = functions_of(text(f, 0.3))

    assert list(found) == ["value_and_grad_f", "damped_primal", "damped_adjoint"]
    assert found["damped_primal"][0].endswith("; x: float, s=2.0")
    assert not any(line.startswith("if") for line in found["damped_primal"])
    assert_gradient(srcad.gradient, f, 0.3)


def test_many_constants_that_decide_are_bounded():
    def f(x):
        return sum([damped(x, s) for s in (1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9, 2.0)])

    assert len(text(f, 0.3).splitlines()) <= 300
    assert_gradient(srcad.gradient, f, 0.3)


def test_second_variant_tells_its_kinds_of_arguments():
    def powers(x, n):
        total = 0.0
        for k in range(n):
            total = total + x**k * np.sin(x)
        return total

    def f(x):
        return powers(x, 3) + powers(x * x, 3) + powers(x, 5) + powers(x * x, 5)

    found = functions_of(text(f, 0.3))

    assert "powers_primal_2" in found
    assert found["powers_primal_2"][0].endswith("; x: float, n=5")


# --------------------------------------------------------------------- dtypes
def widened_total(x):
    y = np.tanh(x * np.float64(2.0)) * 2.0 + np.sin(x) * np.float64(3.0) - x
    return np.sum(y * y + np.float32(2.0) * x)


def called_on_items(*xs):
    return widened_total(xs[0])


@pytest.mark.parametrize("lengths", [(3,), (2, 2)])
def test_gradient_for_any_lengths_has_dtype_of_argument(lengths):
    x = np.linspace(0.1, 0.9, int(np.prod(lengths))).reshape(lengths)
    gradient = srcad.grad(called_on_items)
    for k in range(9):
        gradient(np.ones((1,) * k))

    found = gradient(x.astype(np.float32))

    assert found.dtype == np.float32
    np.testing.assert_allclose(found, srcad.grad(widened_total)(x), rtol=1e-5)


def swing(y, damping, length):
    angle, speed = y
    slope = -9.81 / length * np.sin(angle) - damping * np.abs(speed) * speed
    return np.array([speed, slope]) * np.cosh(0.1 * angle)


def of_divisor_from_an_array(p, y):
    k1 = swing(y, p[0], p[1])
    k2 = swing(y + 0.1 * k1, p[0], 0.5 * p[1] + 0.25)
    return np.sum((y + 0.1 * k2) ** 2)


def of_divisor_that_overflows(p, y):
    return np.sum(swing(y, p[0], 1.0 + np.exp(p[1])) + swing(y, p[0], 2.0))


def bent_by(y, length):
    slope = np.sin(y) * np.cosh(0.1 * y) + np.tanh(y) * np.exp(0.1 * y)
    return slope / length


def of_divisor_of_two_helpers(p, y):
    length = 1.0 + np.exp(p[1])
    once = np.sum(swing(y, p[0], length) + bent_by(y, length))
    return once + np.sum(swing(y, p[0], 2.0) + bent_by(y, 2.0))


def test_helper_that_divides_by_an_entry_of_an_argument_has_a_pair():
    p, y = np.array([0.1, 1.3]), np.array([0.7, 0.2])

    assert "swing_adjoint(" in text(of_divisor_from_an_array, p, y)
    assert_gradient(srcad.gradient, lambda p: of_divisor_from_an_array(p, y), p)


def test_helper_that_divides_by_what_may_overflow_is_put_in_place():
    p, y = np.array([0.1, 800.0]), np.array([0.7, 0.2])

    with np.errstate(over="ignore"):
        assert "swing_adjoint(" not in text(of_divisor_that_overflows, p, y)
        gradient = srcad.grad(of_divisor_that_overflows)(p, y)
    assert np.all(np.isfinite(gradient))


def test_helpers_that_divide_by_one_value_that_may_overflow_are_put_in_place():
    p, y = np.array([0.1, 800.0]), np.array([0.7, 0.2])

    with np.errstate(over="ignore"):
        source = text(of_divisor_of_two_helpers, p, y)
        gradient = srcad.grad(of_divisor_of_two_helpers)(p, y)
    assert "swing_primal(y, p[0], 2.0)" in source
    assert "swing_primal(y, p[0], length)" not in source
    assert "bent_by_primal" not in source
    assert np.all(np.isfinite(gradient))


def log_sum_exp(a, axis):
    top = np.max(a, axis=axis)
    shifted = np.exp(a - np.expand_dims(top, axis))
    return top + np.log(np.sum(shifted * np.cosh(0.1 * shifted), axis=axis))


def of_results_that_are_numbers(x):
    return log_sum_exp(x, 0) * log_sum_exp(2.0 * x, 0)


def test_helper_that_returns_a_number_or_an_array_has_a_pair():
    x = np.array([0.3, 0.8, -0.4])

    assert "log_sum_exp_adjoint(" in text(of_results_that_are_numbers, x)
    assert_gradient(srcad.gradient, of_results_that_are_numbers, x)


def rows(s, p):
    x, y, z = s
    return np.stack([p * (y - x), x * (p - z) - y, x * y - p * z])


def of_rows(s, p):
    return np.sum(rows(rows(s, p), 2.0 * p) ** 2)


def test_rows_of_an_array_are_saved_as_the_array():
    s = np.array([[0.3, 0.8], [-0.4, 0.1], [0.7, 0.2]])

    source = text(of_rows, s, 1.3)

    assert "s, p, difference = saved" in functions_of(source)["rows_adjoint"]
    assert_gradient(srcad.gradient, lambda s: of_rows(s, 1.3), s)


def shifted(u, a):
    d = u - a
    return np.sin(d) * np.cosh(d) + np.exp(0.1 * d) * np.tanh(d)


def of_shifts(a, u):
    return np.sum(shifted(u, a[0]) * shifted(u, a[1]))


def test_difference_of_matrix_and_number_is_computed_again():
    u, a = np.linspace(-1.0, 1.0, 6).reshape(2, 3), np.array([0.1, -0.3])

    source = text(of_shifts, a, u)

    assert functions_of(source)["shifted_adjoint"][2].startswith("u, a, ")
    assert_gradient(srcad.gradient, lambda a: of_shifts(a, u), a)
