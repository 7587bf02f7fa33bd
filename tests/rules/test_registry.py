"""Registering rules: what is accepted, what is refused, and where the error points."""

import importlib
import operator
import os
import subprocess
import sys

import numpy as np
import pytest

import srcad
from srcad import rules
from srcad.errors import RuleError
from srcad.rules import registry
from srcad.rules.row import refuse_markers_inside
from tests.marks import named

HERE = os.path.basename(__file__)
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


@pytest.fixture
def minus():
    def minus(a, b):
        return a - b

    return minus


def test_rule_row_reports_kind_partials_and_location():
    row = rules.rule_for(np.add)

    assert (row.kind, row.partials) == ("derivative", ("1", "1"))
    assert row.location.startswith("arithmetic.py:")


def test_a_rule_is_applied_to_an_expression():
    assert rules.rule_source(np.sin, "x*y**2") == "np.cos(x * y ** 2)"
    assert rules.rule_source(np.cos, "x") == "-np.sin(x)"


def test_applied_rule_expands_result():
    assert rules.rule_source(np.tanh, "2*u") == "1 - np.tanh(2 * u) ** 2"
    assert rules.rule_source(np.multiply, "u", "v") == ("v", "u")


def test_applied_rule_expands_local_names():
    assert rules.rule_source(np.arctan2, "u", "v")[0] == "v / np.hypot(u, v) / np.hypot(u, v)"


def test_rule_source_of_non_formula_rejected():
    with pytest.raises(RuleError, match="not a single formula"):
        rules.rule_source(operator.abs, "x")
    with pytest.raises(RuleError, match="'adjoint'"):
        rules.rule_source(np.linalg.inv, "x")


def test_a_function_without_a_rule_is_named():
    with pytest.raises(RuleError, match=r"no derivative rule for numpy\.lib\.scimath\.sqrt"):
        rules.rule_for(np.emath.sqrt)


@pytest.mark.parametrize(
    "name",
    ["linalg.qr", "linalg.solve", "special.logsumexp", "fft.fft", "optimize.brentq",
     "integrate.trapezoid", "spatial.distance.cdist"],
)  # fmt: skip
def test_function_of_private_module_has_public_name(name):
    module, _, function = f"scipy.{name}".rpartition(".")
    target = getattr(importlib.import_module(module), function)

    assert registry.qualified_name(target) == f"scipy.{name}"


def test_user_function_rule_registered(minus):
    before = rules.version()

    @rules.adjoint(minus)
    def _(y_bar, y, a, b):
        return y_bar, -y_bar

    row = rules.rule_for(minus)
    assert (row.kind, row.parameters, row.required) == ("adjoint", ("a", "b"), 2)
    assert row.wants_result
    assert not row.shipped
    assert rules.version() > before


def test_a_lambda_is_a_rule(minus):
    rules.linear(minus)(lambda y_bar, a, b: (y_bar, -y_bar))

    assert rules.rule_for(minus).function(2.0, None, None) == (2.0, -2.0)


def test_rule_with_too_few_entries_rejected_with_location(minus):
    with pytest.raises(RuleError, match="Gradient is not a tuple of length 2") as caught:

        @rules.adjoint(minus)
        def backwards(y_bar, y, a, b):
            return y_bar

    assert HERE in str(caught.value)
    assert "return y_bar" in str(caught.value)


@pytest.mark.parametrize(
    "rule",
    [
        lambda y_bar, y, a, b: (y_bar, y_bar, y_bar),
        lambda y_bar, y, a, b: -y_bar,
        lambda y_bar, y, a, b: y_bar * b,
        lambda y_bar, y, a, b: None,
    ],
    ids=named,
)
def test_a_wrong_number_of_entries_is_refused(rule, minus):
    with pytest.raises(RuleError, match="Gradient is not a tuple of length 2"):
        rules.adjoint(minus)(rule)


def test_a_parameter_with_a_default_has_no_entry(minus):
    @rules.adjoint(minus)
    def backwards(y_bar, y, a, axis=None, *, keepdims=False):
        return y_bar

    row = rules.rule_for(minus)
    assert (row.active, row.keywords, row.single) == (("a",), ("keepdims",), True)
    assert row.entry("axis") is None


def test_active_names_the_parameters_with_an_entry(minus):
    @rules.adjoint(minus, active=("a", "b"))
    def backwards(y_bar, y, a=0.0, *rest, b=1.0):
        return y_bar, -y_bar

    assert rules.rule_for(minus).entry("b") == (1, None)


def test_further_arguments_have_one_entry_each():
    row = rules.rule_for(np.einsum)

    assert row.entry(0) == (0, None)
    assert row.entry(3) == (1, 2)


def test_position_beyond_parameters_has_no_rule_entry():
    assert rules.rule_for(np.sin).entry(1) is None


def test_unknown_active_parameter_name_rejected(minus):
    with pytest.raises(RuleError, match="'c' is no parameter"):
        rules.adjoint(minus, active=("c",))(lambda y_bar, y, a, b: y_bar)


def test_class_as_rule_rejected(minus):
    with pytest.raises(RuleError, match="need a function definition") as caught:

        @rules.adjoint(minus)
        class Backwards:
            pass

    assert HERE in str(caught.value)


def test_rule_decorator_on_class_rejected():
    with pytest.raises(RuleError, match="need a function definition") as caught:

        @rules.adjoint
        class Backwards:
            pass

    assert HERE in str(caught.value)


def test_a_rule_needs_the_cotangent(minus):
    with pytest.raises(RuleError, match=r"reads f\(y_bar, y, \*params\)"):
        rules.adjoint(minus)(lambda y_bar: y_bar)


def test_linear_rule_using_result_rejected(minus):
    with pytest.raises(RuleError, match="no keyword-only 'y'"):
        rules.linear(minus)(lambda y_bar, a, *, y: y)


def test_shipped_rule_replaced_only_with_override():
    shipped = rules.rule_for(np.cos)

    with pytest.raises(RuleError, match="override=True"):
        rules.derivative(np.cos)(lambda x: -np.sin(x))
    with pytest.raises(RuleError, match="override=True"):
        rules.nondifferentiable(np.cos)

    try:
        rules.derivative(np.cos, override=True)(lambda x: -np.sin(x))
        assert not rules.rule_for(np.cos).shipped
    finally:
        rules.derivative(np.cos, override=True)(shipped.function)
    assert rules.rule_for(np.cos).shipped
    assert facts_of(rules.rule_for(np.cos)) == facts_of(shipped)


FACTS = (
    "memory", "order", "cost", "entries", "law", "answers", "nan", "selects", "of_real", "special",
    "symmetry", "exponent", "range", "fails", "gives",
)  # fmt: skip


def facts_of(row):
    return [getattr(row, name) for name in FACTS]


@pytest.mark.parametrize(
    "function", [np.flip, np.sum, np.where, np.imag, np.square, np.exp, len, operator.mul]
)
def test_rule_of_a_user_keeps_the_facts_about_the_function(function):
    shipped = rules.rule_for(function)
    try:
        rules.nondifferentiable(function, override=True)
        made = rules.rule_for(function)
    finally:
        registry.add(shipped, override=True)
    assert not made.shipped
    assert facts_of(made) == facts_of(shipped)


def test_user_rule_replaced_without_override(minus):
    rules.linear(minus)(lambda y_bar, a, b: (y_bar, y_bar))
    rules.linear(minus)(lambda y_bar, a, b: (y_bar, -y_bar))

    assert rules.rule_for(minus).function(1.0, 0, 0) == (1.0, -1.0)


def test_tangent_added_to_existing_rule(minus):
    rules.adjoint(minus)(lambda y_bar, y, a, b: (y_bar, -y_bar))

    @rules.tangent(minus)
    def forwards(a_dot, b_dot, y, a, b):
        return a_dot - b_dot

    assert rules.rule_for(minus).tangent is forwards


def test_tangent_without_rule_rejected(minus):
    with pytest.raises(RuleError, match="a tangent could be added to"):
        rules.tangent(minus)(lambda a_dot, b_dot, y, a, b: a_dot - b_dot)


def test_nondifferentiable_is_a_decorator():
    @rules.nondifferentiable
    def steps(x):
        return x // 1

    assert rules.rule_for(steps).kind == "nondifferentiable"
    assert rules.rule_for(steps).location.startswith(HERE)


def test_rule_without_target_rejected():
    with pytest.raises(RuleError, match="at least one function"):
        rules.derivative()


def test_unhashable_object_has_no_rule():
    assert rules.lookup([]) is None
    with pytest.raises(RuleError, match="not for 3"):
        rules.derivative(3)


def test_missing_partial_is_no_partial_marker():
    partials = rules.rule_for(np.ldexp).function(1.5, 2)

    assert partials[1] is rules.NO_PARTIAL


LATE = rules.NoPartial("it is read from a table")


@pytest.mark.parametrize(
    "rule",
    [
        lambda y_bar, a, b: rules.NoPartial("late"),
        lambda y_bar, a, b: tuple(rules.NoPartial() for _ in (a, b)),
    ],
)
def test_inline_no_partial_marker_rejected_with_location(minus, rule):
    with pytest.raises(RuleError, match="makes a NoPartial when it is called") as caught:
        rules.linear(minus)(rule)

    assert caught.value.where.file == __file__
    assert "MISSING = NoPartial(...)" in str(caught.value)


def test_named_no_partial_marker_accepted(minus):
    rules.linear(minus)(lambda y_bar, a, b: (y_bar, LATE))

    assert rules.rule_for(minus).function(1.0, 2.0, 3.0) == (1.0, LATE)


def test_shipped_rules_create_no_inline_markers():
    for row in rules.rows():
        if row.function is not None:
            refuse_markers_inside(row.function, row.place)


def test_rules_module_is_public():
    assert srcad.rules is rules


def test_duplicate_shipped_rule_rejected():
    # Which of two would count was a matter of which file was read last.
    row = rules.rule_for(np.add)

    with pytest.raises(RuleError, match="has a rule already"):
        registry.add(row, False)


def test_user_override_survives_lazy_topic_loading(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import numpy as np, srcad\n"
        "from srcad import rules\n"
        "@rules.linear(np.trace, override=True)\n"
        "def ours(y_bar, a):\n    return 7.0 * np.eye(2)\n"
        "rules.rows()\n"
        "print(rules.rule_for(np.trace).function.__name__)\n"
    )

    done = subprocess.run([sys.executable, str(program)], env=os.environ | {"PYTHONPATH": ROOT},
                          capture_output=True, text=True, check=True)  # fmt: skip

    assert done.stdout.strip() == "ours"
