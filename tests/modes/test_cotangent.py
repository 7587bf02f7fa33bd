"""`with cotangent(x) as x_bar`: statements that run in the reverse sweep, at their place."""

from __future__ import annotations

import contextlib
import pickle
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose

import srcad
from srcad import cotangent, grad, hessian, hook, jvp, value_and_grad
from srcad.errors import NotDifferentiableError, SeedError, UnsupportedSyntaxError

X = np.array([1.0, 2.0])
seen = []


@pytest.fixture(autouse=True)
def _nothing_seen():
    seen.clear()


def clipped_rnn(w, xs):
    h = 0.0
    for x in xs:
        h = np.tanh(w * h + x)
        with cotangent(h) as h_bar:
            size = abs(h_bar)
            seen.append(size)
            h_bar = np.clip(h_bar, -0.5, 0.5)
    return h


def hooked_rnn(w, xs):
    h = 0.0
    for x in xs:
        h = np.tanh(w * h + x)
        h = hook(h, lambda h_bar: np.clip(h_bar, -0.5, 0.5))
    return h


def test_undifferentiated_call_skips_cotangent_body():
    x = 2.0
    with cotangent(x) as x_bar:
        seen.append(x_bar)
    with cotangent(x) as x_bar:
        seen.append(x_bar)  # noqa: E701
    with contextlib.nullcontext(), cotangent(x) as x_bar, contextlib.nullcontext():
        raise KeyError

    assert seen == []
    assert "x_bar" not in locals()


def test_undifferentiated_call_preserves_trace_function():
    lines = []

    def tracer(frame, event, argument):
        if frame.f_code is clipped_rnn.__code__ and event == "line":
            lines.append(frame.f_lineno - clipped_rnn.__code__.co_firstlineno)
        return tracer

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        clipped_rnn(3.0, [0.1, 0.2])
    finally:
        sys.settrace(before)

    assert [line for line in lines if line != 4] == [1, 2, 3, 2, 3, 2, 8]


def test_cotangent_body_runs_once_per_iteration_in_reverse():
    xs = [0.1, 0.2, 0.3]

    value, gradient = value_and_grad(clipped_rnn)(3.0, xs)

    assert value == clipped_rnn(3.0, xs) == hooked_rnn(3.0, xs)
    assert gradient == grad(hooked_rnn)(3.0, xs)
    assert seen[0] == 1.0
    assert len(seen) == 3


def test_cotangent_written_in_place_propagates():
    def by_index(x):
        y = 3 * x
        with cotangent(y) as y_bar:
            y_bar[:] = np.clip(y_bar, -1, 1)
        return np.sum(y * y)

    def by_out(x):
        y = 3 * x
        with cotangent(y) as y_bar:
            np.clip(y_bar, -1, 1, out=y_bar)
        return np.sum(y * y)

    assert grad(by_index)(X).tolist() == grad(by_out)(X).tolist() == [3.0, 3.0]


def test_cotangent_counts_only_later_uses():
    def f(x):
        y = x * x
        before = 5 * y
        with cotangent(y) as y_bar:
            seen.append(y_bar)
        return before + 7 * y

    assert grad(f)(3.0) == 72.0
    assert seen == [7.0]


def test_loop_invariant_variable_cotangent_per_iteration():
    def power(w, n):
        h = 1.0
        for _ in range(n):
            with cotangent(w) as w_bar:
                seen.append(w_bar)
            h = h * w
        return h

    assert grad(power)(2.0, 3) == 12.0
    assert seen == [4.0, 8.0, 12.0]


def test_cotangent_body_sees_variables_at_forward_position():
    def f(x):
        names, memory = ["a"], np.zeros(2)
        y = x * x
        with cotangent(y) as y_bar:
            seen.append((list(names), memory.copy(), y.copy(), y_bar))
        names.append("b")
        memory[0] = x[0]
        y[0] = 7.0
        return np.sum(y * memory)

    assert grad(f)(X).tolist() == [7.0, 0.0]
    ((names, memory, y, y_bar),) = seen
    assert names == ["a"]
    assert memory.tolist() == [0.0, 0.0]
    assert y.tolist() == [1.0, 4.0]
    assert y_bar.tolist() == [0.0, 0.0]


def test_cotangent_of_structure():
    def loss(params, k):
        with cotangent(params) as bar:
            bar["w"][:] = 1.0
            bar["b"] = None
        return k * (np.sum(params["w"] ** 2) + params["b"])

    result = grad(loss)({"w": X, "b": 2.0}, 3.0)

    assert result["w"].tolist() == [1.0, 1.0]
    assert result["b"] == 3.0


def test_cotangent_combined_with_other_context_managers_and_try():
    def f(x):
        y = x * x
        with np.errstate(all="ignore"), cotangent(y) as y_bar, contextlib.nullcontext():
            y_bar = 2 * y_bar
        try:
            with cotangent(x) as x_bar:
                x_bar = x_bar + 1
            z = y * x
            if z > 100:
                raise ValueError
        except ValueError:
            z = x
        return z

    assert grad(f)(3.0) == 2 * 3.0 * (2 * 3.0) + 9.0 + 1
    assert grad(f)(30.0) == 2.0


class Cell:
    def __init__(self):
        self.a = 2.0
        self.bars = []

    def loss(self, x):
        h = self.a * x
        with srcad.cotangent(x=h) as h_bar:
            self.bars.append(h_bar)
        return h * h


def test_cotangent_in_methods_and_helpers():
    cell = Cell()

    assert grad(lambda x: 3 * cell.loss(x))(1.0) == 24.0
    assert cell.bars == [12.0]


def test_cotangent_is_identity_in_forward_mode():
    def f(x):
        with cotangent(x) as x_bar:
            x_bar = 0 * x_bar
        return x * x

    assert jvp(f, (3.0,), (1.0,)) == (9.0, 6.0)
    assert grad(f)(3.0) == 0.0
    with pytest.raises(NotDifferentiableError, match="'cotangent'"):
        hessian(f)(3.0)


def leaves(x):
    with cotangent(x) as x_bar:
        return x_bar
    return x


def breaks(x):
    for _ in range(2):
        with cotangent(x) as x_bar:  # noqa: F841
            for _ in range(3):
                break
            break
    return x


def counts(x):
    count = 0
    with cotangent(x) as x_bar:  # noqa: F841
        count += 1
    return x


def of_an_expression(x):
    with cotangent(x * x) as y_bar:  # noqa: F841
        pass
    return x


def without_a_name(x):
    with cotangent(x):
        pass
    return x


def together(x):
    y = x * x
    with cotangent(x) as x_bar, srcad.cotangent(y) as y_bar:
        y_bar = 2 * y_bar + x_bar
    return y


def one_in_another(x):
    y = x * x
    with cotangent(x) as x_bar:
        with cotangent(y) as y_bar:
            y_bar = 2 * y_bar + x_bar
    return y


def apart(x):
    manager = cotangent(x)
    with manager as x_bar:  # noqa: F841
        pass
    return x


@pytest.mark.parametrize(
    ("function", "line", "message"),
    [
        (leaves, 2, "'return'"),
        (breaks, 5, "'break'"),
        (counts, 3, "variable 'count'"),
        (of_an_expression, 1, "give the value a name"),
        (without_a_name, 1, "as x_bar"),
        (apart, 1, "as x_bar"),
        (together, 2, "follow the other"),
        (one_in_another, 3, "follow the other"),
    ],
)
def test_unsupported_cotangent_body_rejected_with_location(function, line, message):
    with pytest.raises(UnsupportedSyntaxError, match=message) as caught:
        grad(function)(2.0)
    assert caught.value.where.line == function.__code__.co_firstlineno + line


def test_cotangent_of_other_shape_rejected():
    def f(x):
        with cotangent(x) as x_bar:
            x_bar = x_bar[:1]
        return np.sum(x * x)

    with pytest.raises(SeedError, match=r"shape \(1,\) takes the place"):
        grad(f)(X)


def test_exception_in_cotangent_body_keeps_line():
    def f(x):
        y = x * x
        with cotangent(y) as y_bar:
            assert y_bar < 1, "too large"
        return 3 * y

    with pytest.raises(AssertionError, match="too large") as caught:
        grad(f)(3.0)
    last = caught.traceback[-1]
    assert last.lineno + 1 == f.__code__.co_firstlineno + 3


def test_cotangent_body_exported_to_file(tmp_path):
    def f(w, k):
        h, limit = w * 2, k * 3.0
        with cotangent(h) as h_bar:
            h_bar = np.clip(h_bar, -limit, limit)
        with cotangent(h) as h_bar:
            h_bar = h_bar + 1
        return h * h

    g = grad(f)
    g.export(tmp_path / "slope.py", 2.0, 0.5)
    space = {"__name__": "slope"}
    exec((tmp_path / "slope.py").read_text(), space)

    assert_allclose(space["grad_f"](2.0, 0.5), 3.0)
    assert g(2.0, 0.5) == 3.0


LIMIT = 1.0


def clipped_by_a_global(x):
    y = x * x
    with srcad.cotangent(y) as y_bar:
        y_bar = np.minimum(y_bar, LIMIT)
    return np.sum(5.0 * y)


def clipped_by_a_local(x, limit):
    y = x * x
    with srcad.cotangent(y) as y_bar:
        y_bar = np.array([min(part, limit) for part in y_bar])
    return np.sum(5.0 * y)


def clipped_in_a_loop(x):
    y = x
    for k in range(3):
        y = y * x
        with srcad.cotangent(y) as y_bar:
            y_bar = np.minimum(y_bar, LIMIT + k)
    return np.sum(5.0 * y)


def hooked_by_a_local_function(x):
    limit = 2.0
    return np.sum(5.0 * srcad.hook(x * x, lambda bar, k=1.5: np.minimum(bar, limit * k)))


@pytest.mark.parametrize(
    ("f", "rest"),
    [
        (clipped_by_a_global, ()),
        (clipped_by_a_local, (2.0,)),
        (clipped_in_a_loop, ()),
        (hooked_by_a_local_function, ()),
    ],
)
def test_pullback_with_statements_of_the_sweep_is_pickled(f, rest):
    _, back = srcad.pullback(f, np.array([1.0, 2.0, 3.0]), *rest)
    expected = back(1.0)

    for _ in range(2):
        back = pickle.loads(pickle.dumps(back))

        for found, known in zip(back(1.0), expected, strict=True):
            np.testing.assert_array_equal(found, known)
