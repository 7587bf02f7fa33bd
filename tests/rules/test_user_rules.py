"""Rules of the user's: what they may return, and what is refused."""

import importlib.util
import sys

import numpy as np
import pytest
from scipy import signal

import srcad
from srcad import rules
from srcad.errors import MissingRuleError, RuleError, UnsupportedTypeError
from srcad.rules import registry
from srcad.rules.row import Result
from srcad.testing import check_grads, check_rule
from tests.marks import some

pytestmark = pytest.mark.usefixtures("own_table")


def square(x):
    return x * x


def product(a, b):
    return a * b


def total(*args):
    return sum(args)


def stacked(rows):
    return np.stack(rows)


POINTS = [1.5, np.array([1.0, 2.0, 3.0]), np.array([[1.0, 2.0]]), np.float32(2.0)]


def one_in_a_tuple(y_bar, y, x):
    return (2 * x * y_bar,)


def one_in_a_named_tuple(y_bar, y, x):
    packed = (2 * x * y_bar,)
    return packed


def one_in_an_arm(y_bar, y, x):
    if x.ndim if isinstance(x, np.ndarray) else 0:
        return (2 * x * y_bar,)
    return (y_bar * 2 * x,)


def on_one_path_only(y_bar, y, x):
    if np.all(x > 0):
        return (2 * x * y_bar,)
    return None


def shifted_product(x, a, shift):
    return x * a + shift


def test_entries_of_a_rule_behind_unpacked_ones_keep_their_places():
    @rules.derivative(shifted_product)
    def by_operands(x, a, shift):
        by_both = (2 * a, 2 * x)  # twice the derivative, so that the rule is seen to be used
        return *by_both, None

    g = srcad.grad(lambda x, a: shifted_product(x, a, 4.0), wrt=(0, 1))

    assert g(2.0, 3.0) == (6.0, 4.0)


def test_rule_returning_none_on_one_path():
    rules.adjoint(square)(on_one_path_only)

    check_rule(square, [np.array([1.0, 2.0])])
    gradient = srcad.grad(lambda x: np.sum(square(x)))(np.array([1.0, -2.0]))
    assert gradient.tolist() == [0.0, 0.0]


def by_two_tests(y_bar, y, x):
    if x[0] > 0:
        bar = 2 * x * y_bar
    elif x[1] > 0:
        bar = None
    else:
        bar = 2 * x * y_bar
    return bar


def moved_by_two_tests(x_dot, y, x):
    if x[0] > 0:
        dot = 2 * x * x_dot
    elif x[1] > 0:
        dot = None
    else:
        dot = 2 * x * x_dot
    return dot


@pytest.mark.parametrize("is_shipped", [False, True])
@pytest.mark.parametrize(
    ("x", "wanted"),
    [((1.0, 2.0), (4.0, 16.0)), ((-1.0, 2.0), (0.0, 0.0)), ((-1.0, -2.0), (-4.0, -16.0))],
)
def test_none_on_inner_path_stands_for_zeros(is_shipped, x, wanted):
    """It was nan: an array without values was taken for the cotangent."""
    rules.adjoint(square)(by_two_tests)
    rules.tangent(square)(moved_by_two_tests)
    registry.lookup(square).__dict__["shipped"] = is_shipped

    def f(x):
        return np.sum(square(x) * [2.0, 4.0])

    assert srcad.grad(f)(np.array(x)).tolist() == list(wanted)
    assert srcad.jvp(f, (np.array(x),), (np.ones(2),))[1] == sum(wanted)


def test_tangent_of_rule_with_tuple_on_one_path_rejected():
    """It was 42 where the slope is 2: the tuple was taken for an array."""
    rules.adjoint(square)(on_one_path_only)

    with pytest.raises(UnsupportedTypeError, match="returns on one path what it does not"):
        srcad.jvp(lambda x: np.sum(square(x)), (np.ones(2),), (np.ones(2),))


@pytest.mark.parametrize("rule", [one_in_a_tuple, one_in_a_named_tuple, one_in_an_arm])
@pytest.mark.parametrize("x", POINTS, ids=repr)
def test_single_cotangent_in_tuple_accepted(rule, x):
    rules.adjoint(square)(rule)

    check_rule(square, [x])


def test_the_second_order_of_a_cotangent_in_a_tuple_is_right():
    rules.adjoint(square)(one_in_a_tuple)

    check_rule(square, [np.array([1.0, 2.0])], order=2)


def test_single_linear_cotangent_in_tuple_accepted():
    rules.linear(np.positive, override=True)(lambda y_bar, x: (y_bar,))

    check_rule(np.positive, [np.array([1.0, 2.0])])


def test_single_partial_in_tuple_accepted():
    rules.derivative(square)(lambda x: (2 * x,))

    check_rule(square, [np.array([1.0, 2.0])])


@pytest.mark.parametrize("entry", ["bars", "[bars]", "(bars,)", "(tuple(bars),)"])
def test_variadic_arguments_entry_in_tuple(entry, tmp_path):
    text = f"def rule(y_bar, y, *args):\n    bars = [y_bar for x in args]\n    return {entry}\n"
    rule = imported(tmp_path, text).rule
    rules.adjoint(total)(rule)

    if entry == "[bars]":
        with pytest.raises(RuleError, match=r"1 cotangents for the 3 arguments '\*args'"):
            check_rule(total, [1.0, 2.0, 3.0])
    else:
        check_rule(total, [1.0, 2.0, 3.0])


def test_single_array_sequence_entry_is_sequence():
    rules.adjoint(stacked)(lambda y_bar, y, rows: (y_bar[0],))

    check_rule(stacked, [(np.array([1.0, 2.0]),)])


def imported(folder, text):
    path = folder / "written_rule.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("written_rule", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


REFUSED = {
    "a list": lambda y_bar, y, x: [2 * x * y_bar],
    "a dict": lambda y_bar, y, x: {"x": 2 * x * y_bar},
    "text": lambda y_bar, y, x: "2 * x * y_bar",
    "a set": lambda y_bar, y, x: {1.0},
    "two entries": lambda y_bar, y, x: (2 * x * y_bar, None),
    "no entry": lambda y_bar, y, x: (),
    "more axes": lambda y_bar, y, x: np.ones((3, 2)),
    "fewer axes": lambda y_bar, y, x: np.sum(2 * x * y_bar),
    "one number": lambda y_bar, y, x: 1.0,
    "fewer entries": lambda y_bar, y, x: 2 * x[:2],
    "a longer axis": lambda y_bar, y, x: np.concatenate([x, x]),
    "rows": lambda y_bar, y, x: np.array([y_bar, y_bar]),
    "bools": lambda y_bar, y, x: y_bar > 0,
    "complex numbers": lambda y_bar, y, x: 2j * x * y_bar,
    "dots": lambda y_bar, y, x: ...,
}


@pytest.mark.parametrize("what", REFUSED)
def test_mismatched_cotangent_rejected(what):
    rules.adjoint(square)(REFUSED[what])

    with pytest.raises(RuleError, match="for '?x'?"):
        srcad.grad(lambda x: np.sum(square(x)))(np.array([1.0, 2.0, 3.0]))


WRONG_FOR_TWO = {
    "one": lambda y_bar, y, a, b: identity(y_bar * b),
    "three": lambda y_bar, y, a, b: identity((y_bar * b, y_bar * a, None)),
    "a dict": lambda y_bar, y, a, b: identity({"a": y_bar * b, "b": y_bar * a}),
    "an array": lambda y_bar, y, a, b: np.stack([y_bar * b, y_bar * a]),
    "another shape": lambda y_bar, y, a, b: (y_bar * b, np.ones(7)),
}


def identity(x):
    return x


@pytest.mark.parametrize("what", WRONG_FOR_TWO)
def test_a_wrong_number_of_cotangents_is_refused(what):
    rules.adjoint(product)(WRONG_FOR_TWO[what])

    with pytest.raises(RuleError, match="active parameters|that has shape"):
        srcad.grad(lambda x: np.sum(product(x, np.sin(x))))(np.array([1.0, 2.0, 3.0]))


def test_several_cotangents_in_list_accepted():
    rules.adjoint(product)(lambda y_bar, y, a, b: [y_bar * b, y_bar * a])

    check_rule(product, [np.array([1.0, 2.0]), np.array([3.0, 4.0])])


@pytest.mark.parametrize(
    "partial",
    [
        lambda x: [2 * x],
        lambda x: "2x",
        lambda x: np.ones(2),
        lambda x: np.ones((3, 3)),
    ],
)
def test_mismatched_partial_rejected(partial):
    rules.derivative(square)(partial)

    with pytest.raises(RuleError, match="for '?x'?"):
        srcad.grad(lambda x: np.sum(square(x)))(np.array([1.0, 2.0, 3.0]))


def test_a_partial_derivative_of_a_fitting_operand_is_not_checked_when_it_runs():
    rules.derivative(square)(lambda x: 2 * x)
    gradient = srcad.grad(lambda x: np.sum(square(x)))
    gradient(np.array([1.0, 2.0]))

    assert "checked_cotangent" not in gradient.source


def test_a_mask_is_a_partial_derivative():
    def ramp(x):
        return np.maximum(x, 0.0)

    rules.derivative(ramp)(lambda x: x > 0)

    check_rule(ramp, [np.array([1.0, -2.0])])


def test_zero_and_integers_are_cotangents():
    rules.adjoint(product)(lambda y_bar, y, a, b: (np.ones(2, int), 0.0))
    gradient = srcad.gradient(
        lambda a, b: np.sum(product(a, b)), np.array([1.0, 2.0]), np.array([3.0, 4.0])
    )

    assert [g.tolist() for g in gradient] == [[1.0, 1.0], [0.0, 0.0]]
    assert all(g.dtype == np.float64 for g in gradient)


# ------------------------------------------------------------------------------- results
def inverse(a):
    return np.linalg.inv(a)


ATTRIBUTES = [
    lambda a: np.sum(inverse(a).T * a),
    lambda a: np.sum(inverse(a)) / inverse(a).shape[0],
    lambda a: inverse(a).sum(axis=0).max() * inverse(a).ndim,
    lambda a: inverse(a)[0, 1] * inverse(a).size,
    lambda a: np.sum(inverse(a).astype(float).reshape(4)[1:].real),
]


@pytest.mark.parametrize("f", some(ATTRIBUTES, lambda k, _: k == 1))
def test_array_attributes_of_user_rule_result(f):
    rules.adjoint(inverse)(lambda y_bar, y, a: -y.T @ y_bar @ y.T)

    check_grads(f, [np.array([[2.0, 1.0], [-1.0, 3.0]])], order=2)


def pair(a):
    return [a, 2.0 * a]


def test_list_returned_by_user_rule_is_not_array():
    rules.adjoint(pair)(lambda y_bar, y, a: y_bar[0] + 2.0 * y_bar[1])

    with pytest.raises(UnsupportedTypeError, match=r"attribute of a list[\s\S]*np\.asarray"):
        srcad.grad(lambda a: pair(a).copy()[0])(3.0)


def real_part(a):
    return np.exp(a)


def test_second_derivative_through_unknown_attribute_rejected():
    rules.adjoint(real_part)(lambda y_bar, y, a: y_bar * y.real)

    f = lambda a: real_part(a)  # noqa: E731 - a function of its own for each test
    assert srcad.grad(f)(0.5) == np.exp(0.5)
    with pytest.raises(UnsupportedTypeError, match=r"attribute 'real'[\s\S]*np\.real\(y\)"):
        srcad.grad(srcad.grad(f))(0.5)


# ------------------------------------------------------------------------------- the remedy
CALLED = [
    lambda w: np.sum(np.emath.sqrt(w)),
    lambda w: np.sum(signal.detrend(w)),
    lambda w: np.sum(signal.detrend(data=w, type="constant")),
    lambda w: np.sum(signal.savgol_filter(w, 3, polyorder=1)),
    lambda w: np.sum(np.polynomial.polynomial.polyfit(np.arange(3.0), w, 1, full=False)),
]


@pytest.mark.parametrize("f", CALLED)
def test_missing_rule_remedy_is_executable(f, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    with pytest.raises(MissingRuleError) as caught:
        srcad.grad(f)(np.array([1.0, 2.0, 3.0]))
    first, *lines = caught.value.help[0].splitlines()

    imported(tmp_path, "\n".join(lines) + "\n")

    assert "cotangent" in first
    with pytest.raises(RuleError, match=r"its formula is still to be written"):
        srcad.grad(f)(np.array([1.0, 2.0, 3.0]))


# ------------------------------------------------------- what a second rule says of a function
def test_second_rule_for_own_function_has_its_own_columns():
    def doubled(x):
        return x * 2.0

    rules.derivative(doubled, law="sum")(lambda x: 2.0)
    rules.derivative(doubled, override=True, entries="each")(lambda x: 2.0)

    row = rules.rule_for(doubled)
    assert (row.entries, row.law) == ("each", "")


def test_second_rule_for_shipped_function_keeps_its_facts():
    shipped = rules.rule_for(np.cosh)
    try:
        for _ in range(2):
            rules.derivative(np.cosh, override=True)(lambda x: np.sinh(x))
            assert rules.rule_for(np.cosh).symmetry == "even"
    finally:
        registry.add(shipped, True)


def test_product_of_own_function_is_not_called_to_try_signs():
    calls = []

    def product(a, b):
        calls.append(a)
        return a @ b

    @rules.adjoint(product, entries="contracted", result=Result(dtype="double"))
    def _(y_bar, y, a, b):
        return y_bar * b, y_bar * a

    gradient = srcad.grad(lambda x: product(np.abs(x), np.abs(x)))(np.array([1.0, -2.0]))

    np.testing.assert_array_equal(gradient, [2.0, -4.0])
    assert len(calls) == 1


def test_evaluated_function_may_name_its_points_otherwise():
    def scaled(points, c):
        return points * c

    @rules.adjoint(scaled, entries="evaluated")
    def _(y_bar, y, points, c):
        return y_bar * c, np.sum(y_bar * points)

    def f(points):
        r = scaled(points, 2.0)
        return np.sum(np.where(np.isfinite(r), r, 0.0))

    np.testing.assert_array_equal(srcad.grad(f)(np.array([1.0, np.nan])), [2.0, 0.0])
