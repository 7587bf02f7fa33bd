"""One test per row of the ledger, named by its id: what the founding systems promised."""

from __future__ import annotations

import ast
import gc
import linecache
import math
import operator
import traceback
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import srcad
from srcad import grad, gradient, pullback, rules, stop_gradient, value_and_grad
from srcad.passes.by_pattern import match, rewritten
from tests.adapter import edited
from tests.numeric import difference


def _reverse_statements(source: str, name: str) -> list[str]:
    """The statements of generated code that bind a name."""
    found = []
    for node in ast.walk(ast.parse(source)):
        targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
        if any(isinstance(t, ast.Name) and t.id == name for t in targets):
            found.append(ast.unparse(node))
    return found


# ------------------------------------------------------------------- Tracker and Flux surface
def test_S01_gradient_of_a_product_of_ints() -> None:
    result = gradient(lambda a, b: a * b, 2, 3)

    assert result == (3.0, 2.0)
    assert [type(g) for g in result] == [float, float]


def test_S02_gradient_of_an_affine_function() -> None:
    assert gradient(lambda W, b, x: W * x + b, 2, 3, 4) == (4.0, 1.0, 2.0)


def test_S03_derivatives_nest_without_a_flag() -> None:
    def f(x):
        return 3 * x**2 + 2 * x + 1

    df = grad(f)

    assert df(2) == 14.0
    assert grad(df)(2) == 6.0
    assert grad(grad(df))(2) == 0.0


def test_S04_pullback_of_a_product() -> None:
    y, back = pullback(lambda a, b: a * b, 2, 3)

    assert y == 6
    assert back(1) == (3.0, 2.0)


def test_S05_custom_sensitivities() -> None:
    a, b = np.array([1.0, 2, 3]), np.array([4.0, 5, 6])

    y, back = pullback(lambda a, b: a * b, a, b)
    a_bar, b_bar = back(np.array([1.0, 1, 1]))

    assert_array_equal(y, [4, 10, 18])
    assert_array_equal(a_bar, [4, 5, 6])
    assert_array_equal(b_bar, [1, 2, 3])


def test_S06_arguments_unchanged() -> None:
    a, b = np.array([2.0]), np.array([3.0])

    a_bar, b_bar = gradient(lambda a, b: np.sum(a * b), a, b)

    assert (a_bar[0], b_bar[0]) == (3.0, 2.0)
    assert (a[0], b[0]) == (2.0, 3.0)


def test_S07_integers_are_lifted_in_the_gradient_and_float32_stays() -> None:
    g = grad(lambda x: (x * x).sum())

    from_ints, from_float32 = g(np.array([1, 2, 3])), g(np.array([1, 2, 3], np.float32))

    assert_array_equal(from_ints, [2.0, 4.0, 6.0])
    assert from_ints.dtype == np.float64
    assert from_float32.dtype == np.float32


def test_S08_matrix_vector_product() -> None:
    W, x = np.array([[1.0, 2], [3, 4]]), np.array([5.0, 6])

    y, back = pullback(lambda W, x: W @ x, W, x)
    W_bar, x_bar = back(np.array([1.0, -1]))

    assert_array_equal(y, [17, 39])
    assert_array_equal(W_bar, [[5, 6], [-5, -6]])
    assert_array_equal(x_bar, [-2, -2])


def test_S09_stop_gradient_drops_the_derivative() -> None:
    assert grad(lambda x: stop_gradient(x) * x)(3.0) == 3.0
    assert gradient(lambda a, b: stop_gradient(a) * b, 2.0, 3.0) == (0.0, 2.0)


def minus(a, b):
    return a - b


@rules.adjoint(minus)
def _minus(y_bar, y, a, b):
    return y_bar, -y_bar


def calls_minus(a, b):
    return np.sum(minus(a, b))


def test_S10_a_rule_for_a_function_of_the_users_own() -> None:
    a, b = np.array([1.0, 2, 3]), np.array([3.0, 2, 1])

    y, back = pullback(lambda a, b: minus(a, b), a, b)
    a_bar, b_bar = back(1)

    assert_array_equal(y, [-2, 0, 2])
    assert_array_equal(a_bar, [1, 1, 1])
    assert_array_equal(b_bar, [-1, -1, -1])


def test_S10_the_compiler_stops_at_a_function_that_has_a_rule() -> None:
    g = grad(calls_minus, wrt=(0, 1))
    g(np.ones(3), np.ones(3))

    assert "_minus(" in g.source or "minus(" in g.source
    assert "a - b" not in g.source


def test_S11_scalar_seed_broadcast_to_all_entries() -> None:
    _, back = pullback(lambda x: np.sin(x), np.array([0.1, 0.2, 0.3]))

    assert_array_equal(back(1)[0], back(np.ones(3))[0])


def test_S12_one_rule_serves_every_choice_of_active_arguments() -> None:
    a, b = np.ones(3), np.zeros(3)

    only_a, only_b = grad(calls_minus, wrt=0)(a, b), grad(calls_minus, wrt=1)(a, b)
    both = grad(calls_minus, wrt=(0, 1))(a, b)

    assert_array_equal(only_a, [1, 1, 1])
    assert_array_equal(only_b, [-1, -1, -1])
    assert_array_equal(both[0], only_a)
    assert_array_equal(both[1], only_b)


def test_S13_rules_are_differentiated_again() -> None:
    assert grad(grad(lambda x: x * x * x))(2.0) == 12.0


def test_S13_second_derivatives_of_a_product_reduction() -> None:
    def row(x, k):
        return grad(np.prod)(x)[k]

    x = np.array([2.0, 3.0, 4.0])
    hessian = np.stack([grad(lambda x, k=k: row(x, k))(x) for k in range(3)])

    assert_allclose(hessian, [[0, 4, 3], [4, 0, 2], [3, 2, 0]], atol=1e-12)


def layered(x):
    h = np.tanh(x * 0.5)
    u = np.sin(h)
    return np.sum(u * h)


def test_S14_the_adjoint_names_every_active_line() -> None:
    source = srcad.inspect(layered).adjoint_source

    ast.parse(source)
    for line in ("h = np.tanh(x * 0.5)", "u = np.sin(h)"):
        assert any(line in row for row in source.splitlines() if "#" in row)


def test_S15_the_cotangent_of_a_leaf() -> None:
    W, x = np.array([[1.0, 2], [3, 4]]), np.array([5.0, 6])

    _, back = pullback(lambda x: W @ x, x)

    assert_array_equal(back(np.array([1.0, -1]))[0], [-2, -2])


def add_two(a, b):
    t = a + b
    return t


def test_S16_a_recorded_call_is_a_line_of_ssa() -> None:
    first = str(srcad.inspect(add_two).ssa)

    line = add_two.__code__.co_firstlineno + 1
    assert f"= add(a, b)  # line {line}" in first


def product_of_both(W, x):
    y = W @ x
    return np.sum(y)


@pytest.mark.parametrize("args", [(), (np.eye(2), np.ones(2))])
def test_S17_the_definition_of_a_name(args: tuple[Any, ...]) -> None:
    shown = srcad.inspect(product_of_both, *args)

    found = shown.definition("y")

    line = product_of_both.__code__.co_firstlineno + 1
    assert (found.op, found.args, found.line) == ("matmul", ("W", "x"), line)
    assert "matmul(W, x)" in str(found)
    assert str(line) in str(found)
    with pytest.raises(srcad.errors.UndefinedNameError):
        shown.definition("nobody")


def test_S18_three_layers_equal_the_chain_rule_by_hand() -> None:
    def f(x):
        return np.sin(np.tanh(np.exp(x)))

    e = math.exp(0.3)
    by_hand = math.cos(math.tanh(e)) * (1 - math.tanh(e) ** 2) * e

    assert grad(f)(0.3) == pytest.approx(by_hand, rel=1e-12)


def branching(x, n):
    h = x
    total = 0.0
    for _ in range(n):
        h = np.tanh(2.0 * h)
        if h[0] > 0.5:
            total = total + h[0] ** 3
    return np.sum(h * x) + total


def _is_plain(value: Any) -> bool:
    """Whether a value is an array, a number, or a list (or row) of such."""
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return isinstance(value, np.ndarray | np.generic | float | int | bool)


@pytest.mark.parametrize(("f", "more"), [(layered, ()), (branching, (4,))])
def test_S19_no_tape_the_saved_values_are_plain(f: Any, more: tuple[Any, ...]) -> None:
    x = np.array([0.3, 0.4])
    found = srcad.inspect(f, x, *more)

    module = ast.parse(found.primal_source)
    called = {ast.unparse(n.func) for n in ast.walk(module) if isinstance(n, ast.Call)}
    methods = {name.rpartition(".")[2] for name in called if not name.startswith("np.")}
    assert methods <= {"append", "range", "copy"}
    assert not any(isinstance(n, ast.ClassDef | ast.Import) for n in ast.walk(module))
    space = {"np": np}
    exec(found.primal_source, space)
    y, *saved = space[f"{f.__name__}_primal"](x, *more)
    assert y == f(x, *more)
    assert len(found.saved) == len(saved)
    for listed, value in zip(found.saved, saved, strict=True):
        assert isinstance(listed, str)
        assert _is_plain(value)
        assert listed.type.startswith("list of ") == isinstance(value, list)
        if isinstance(value, np.ndarray):
            assert (listed.bytes, listed.shape) == (value.nbytes, value.shape)
        elif isinstance(value, list) and isinstance(value[0], np.ndarray):
            assert (listed.per_iteration, listed.shape) == (value[0].nbytes, value[0].shape)
        assert listed.is_argument or listed.line > f.__code__.co_firstlineno


def test_S20_array_result_error_suggests_jacobian_and_pullback() -> None:
    with pytest.raises(TypeError, match=r"srcad\.jacobian\(f\)") as known:
        grad(lambda x: x * 2.0)(np.ones(3))
    with pytest.raises(TypeError, match=r"srcad\.jacobian\(double\)") as found_at_the_call:
        grad(double)(np.ones(3), np.ones(3) > 0.5)

    for refused in (known, found_at_the_call):
        assert "srcad.pullback(" in str(refused.value)


def double(x: Any, mask: Any) -> Any:
    return x[mask] * 2.0


def test_S21_without_the_check_infinities_come_back() -> None:
    assert grad(lambda x: x * np.inf)(1.0) == np.inf
    assert math.isnan(grad(lambda x: x * np.nan)(1.0))


def test_S21_a_check_for_finite_losses() -> None:
    with pytest.raises(FloatingPointError, match="Loss is Inf"):
        grad(lambda x: x * np.inf, check_finite=True)(1.0)
    with pytest.raises(FloatingPointError, match="Loss is NaN"):
        grad(lambda x: x * np.nan, check_finite=True)(1.0)


def test_S22_a_pullback_can_be_used_again() -> None:
    _, back = pullback(lambda x: np.sum((x + x) ** 2), np.array([1.0]))
    _, linear = pullback(lambda x: 5 * x, 1.0)

    assert back(1)[0].tolist() == [8.0]
    assert back(1)[0].tolist() == [8.0]
    assert [linear(k)[0] for k in (1, 2, 3)] == [5.0, 10.0, 15.0]


def test_S22_pullback_residuals_freed_with_pullback() -> None:
    def f(x):
        return np.sum(np.sin(np.cos(x)) ** 2)

    pullback(f, np.ones(10))
    tracemalloc.start()
    try:
        x = np.ones(100_000)
        y, back = pullback(f, x)
        held = tracemalloc.get_traced_memory()[0]
        del back
        gc.collect()
        freed = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()

    assert held > 1_500_000
    assert freed < 900_000


counted: list[float] = []


def square(x):
    return x * x


@rules.adjoint(square)
def _square(y_bar, y, x):
    counted.append(1.0)
    return 2 * x * y_bar


def test_S23_the_rule_of_a_shared_value_runs_once_with_the_sum() -> None:
    def f(x):
        u = square(x)
        return u * u + u

    counted.clear()

    assert grad(f)(3.0) == 114.0
    assert len(counted) == 1


def test_S24_gradients_share_no_memory() -> None:
    A, B = np.ones((2, 2)), np.ones((2, 2))

    a_bar, b_bar = gradient(lambda a, b: (a + b).sum(), A, B)
    a_bar[...] = 7.0

    assert_array_equal(b_bar, np.ones((2, 2)))
    assert_array_equal(A, np.ones((2, 2)))


def test_S25_the_number_of_partials_is_checked_at_registration() -> None:
    def f2(a, b):
        return a * b

    with pytest.raises(TypeError, match=r"(?i)gradient is not a tuple of length 2"):

        @rules.adjoint(f2)
        def _(y_bar, y, a, b):
            return y_bar * b


def test_S26_gradients_of_a_dict_are_a_dict() -> None:
    W, b, x = np.ones((2, 3)), np.zeros(2), np.array([1.0, 2, 3])

    g = grad(lambda p, x: (p["W"] @ x + p["b"]).sum())({"W": W, "b": b}, x)

    assert list(g) == ["W", "b"]
    assert_array_equal(g["W"], [x, x])
    assert_array_equal(g["b"], [1, 1])


def repeated(x, n):
    y = x
    for _ in range(n):
        y = np.sin(y)
    return y


def test_S27_inspect_lists_active_variables() -> None:
    active = srcad.inspect(repeated, 0.3, 3).active

    assert "x" in active
    assert "n" not in active


def test_S28_keyword_arguments_pass_through() -> None:
    def f(x):
        return np.sum(np.sum(x, axis=0, keepdims=True) ** 2)

    x = np.arange(6.0).reshape(2, 3)
    g = grad(f)

    assert_allclose(g(x), difference(f, (x,)), rtol=1e-9)
    assert "axis=0" in g.source
    assert "keepdims=True" in g.source


def fails_inside(x):
    y = np.sin(x)
    return np.linalg.inv(np.zeros((2, 2)) * y)[0, 0]


def stopped_on_the_way_back(x, error):
    def stop(bar):
        raise error

    y = srcad.hook(np.sin(x), stop)
    return y * y


def _generated_line(error: BaseException) -> tuple[str, str]:
    """The generated line that an error passed through, and the comment that stands above it."""
    frames = traceback.extract_tb(error.__traceback__)
    frame = next(f for f in reversed(frames) if f.filename.startswith("<srcad "))
    assert frame.lineno is not None
    above = [linecache.getline(frame.filename, n).strip() for n in range(1, frame.lineno)]
    comments = [line for line in above if line.startswith("#")]
    return frame.line or "", comments[-1]


def test_S29_an_error_in_generated_code_names_the_users_line() -> None:
    with pytest.raises(np.linalg.LinAlgError) as caught:
        grad(fails_inside)(1.0)

    line = fails_inside.__code__.co_firstlineno + 2
    text = "return np.linalg.inv(np.zeros((2, 2)) * y)[0, 0]"
    generated, _ = _generated_line(caught.value)
    assert "np.linalg.inv(" in generated
    shown = "".join(traceback.format_exception(caught.value))
    assert generated in shown
    (note,) = caught.value.__notes__
    assert note.endswith(f"test_ledger.py:{line} in 'fails_inside':  {text}")
    assert note in shown


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ValueError("no")])
def test_S29_an_interrupt_of_the_reverse_half_names_the_users_line(error: BaseException) -> None:
    with pytest.raises(type(error)) as caught:
        grad(stopped_on_the_way_back)(1.0, error)

    line = stopped_on_the_way_back.__code__.co_firstlineno + 4
    text = "y = srcad.hook(np.sin(x), stop)"
    generated, comment = _generated_line(caught.value)
    assert "through_hook(" in generated
    assert comment == f"# {text}  (test_ledger.py:{line})"
    (note,) = caught.value.__notes__
    assert note.endswith(f"test_ledger.py:{line} in 'stopped_on_the_way_back':  {text}")
    assert note in "".join(traceback.format_exception(caught.value))


def fitted(loss: Any, data: Any, params: Any, update: Any, callback: Any) -> Any:
    """The training loop of the row, as a user writes it: for each datum one step, and a call."""
    step = value_and_grad(loss)
    for x, y in data:
        value, slopes = step(params, x, y)
        params = update(params, slopes)
        callback(value)
    return params


def test_S30_linear_regression_by_gradient_descent() -> None:
    def loss(p, x, y):
        return (p[0] * x + p[1] - y) ** 2

    def descent(p, g):
        return tuple(a - 0.1 * b for a, b in zip(p, g, strict=True))

    points = [(x, 2.0 * x + 1.0) for x in (-1.0, 0.0, 1.0)]
    data = [points[step % 3] for step in range(200)]
    losses: list[float] = []

    w, b = fitted(loss, data, (0.0, 0.0), descent, losses.append)

    assert abs(w - 2) < 1e-3
    assert abs(b - 1) < 1e-3
    assert len(losses) == len(data) == 200
    assert losses[0] == 1.0
    assert losses[-1] < 1e-6


def test_S31_repeated_calls_do_not_accumulate() -> None:
    g, x = grad(layered), np.array([0.3, -0.7])

    assert_array_equal(g(x), g(x))


def test_S32_no_option_is_needed_to_nest() -> None:
    assert grad(grad(lambda x: x**4))(1.0) == 12.0


# ----------------------------------------------------------------------- DiffRules and overloads
def three_times(x):
    return x * 3.0


def test_S33_an_inactive_operand_gets_no_line() -> None:
    found = srcad.inspect(three_times, 2.0)

    assert len(_reverse_statements(found.adjoint_source, "x_bar")) <= 1
    code = ast.unparse(ast.parse(found.adjoint_source))  # without the comments
    assert code.count("* 3.0") + code.count("3.0 *") == 1


def test_S34_which_rule() -> None:
    row = rules.rule_for(np.add)

    assert row.kind == "derivative"
    assert row.partials == ("1", "1")
    assert row.file.endswith(".py")
    assert row.line > 0


def test_S35_a_rule_is_a_formula() -> None:
    assert rules.rule_source(np.cos, "x") == "-np.sin(x)"
    assert grad(np.cos)(1.0) == -0.8414709848078965


def test_S35_a_rule_is_defined_in_one_line() -> None:
    def cosine(x):
        return np.cos(x)

    @rules.derivative(cosine)
    def _(x):
        return -np.sin(x)

    assert rules.rule_source(cosine, "x") == "-np.sin(x)"
    assert grad(lambda x: cosine(x))(1.0) == -0.8414709848078965


def test_S36_division_keeps_float32() -> None:
    a_bar, b_bar = gradient(operator.truediv, 6.0, 3.0)
    x_bar = grad(lambda x: np.sum(x / 3))(np.ones(2, np.float32))

    assert a_bar == pytest.approx(1 / 3, rel=1e-15)
    assert b_bar == pytest.approx(-2 / 3, rel=1e-15)
    assert x_bar.dtype == np.float32


def test_S37_a_missing_partial_is_an_error_never_nan() -> None:
    special = pytest.importorskip("scipy.special")

    assert grad(special.polygamma, wrt=1)(1, 2.0) == pytest.approx(-0.4041138063191886)
    with pytest.raises(srcad.errors.NotDifferentiableError, match="argument 0"):
        grad(special.polygamma, wrt=0)(1.0, 2.0)


def test_S37_a_rule_can_declare_a_missing_partial() -> None:
    def ordered(n, x):
        return n * x

    @rules.derivative(ordered)
    def _(n, x):
        return rules.NO_PARTIAL, n

    assert grad(lambda n, x: ordered(n, x), wrt=1)(3.0, 2.0) == 3.0
    with pytest.raises(srcad.errors.NotDifferentiableError):
        grad(lambda n, x: ordered(n, x), wrt=0)(3.0, 2.0)


def test_S39_a_rule_is_applied_to_an_expression() -> None:
    assert rules.rule_source(np.sin, "x*y**2") == "np.cos(x * y ** 2)"


def test_S40_adding_a_constant() -> None:
    assert grad(lambda x: x + 2)(2.0) == 1.0


# ------------------------------------------------------------------------------ metaprogramming
def test_S41_inspect_provides_syntax_tree() -> None:
    tree = srcad.inspect(add_two).ast

    assert isinstance(tree, ast.AST)
    assert any(isinstance(n, ast.FunctionDef) and n.name == "add_two" for n in ast.walk(tree))


def test_S42_the_emitted_source_runs_again() -> None:
    g, x = grad(layered), np.array([0.3, -0.7])
    want = g(x)
    space = dict(g.specialize(x).__globals__)
    exec(g.source, space)
    again = space["grad_layered"]

    assert_array_equal(again(x), want)


def reduced(x):
    return np.sum(x)


def test_S44_the_ir_can_be_edited() -> None:
    x = np.array([2.0, 3, 4, 5])

    value, derivative = edited(reduced, {np.sum: np.prod}, x)

    assert reduced(x) == 14
    assert value == 120
    assert_allclose(derivative, [60, 40, 30, 24])


def half_turn():
    return 1 * np.sin(np.pi / 2)


def test_S45_one_operation_per_line() -> None:
    text = str(srcad.inspect(half_turn, wrt=()).ssa)

    ops = [row.split("=", 1)[1].split("#")[0].strip() for row in text.splitlines() if " = " in row]
    names = [op.split("(")[0] for op in ops]
    assert names == ["truediv", "sin", "mul"]


def with_constant(x):
    return x * (np.sin(1) + np.cos(1))


def test_S46_constants_are_folded_or_computed_once() -> None:
    g = grad(with_constant)

    assert g(2.0) == pytest.approx(1.3817732906760363, rel=1e-15)
    assert g.source.count("np.sin(1)") == 1


def test_S46_constants_are_hoisted_out_of_loops() -> None:
    def damped(x, n):
        for _ in range(n):
            x = x * (np.sin(1) + np.cos(1))
        return x

    g = grad(damped)

    assert g(1.0, 1) == 1.3817732906760363
    assert g(1.0, 3) == pytest.approx(1.3817732906760363**3, rel=1e-15)
    before, _, loops = g.source.partition("for ")
    assert "np.sin(1) + np.cos(1)" in before
    assert "append" not in loops


def test_S47_decorating_runs_nothing() -> None:
    @srcad.differentiate
    def fails(x):
        raise RuntimeError("the body runs")

    with pytest.raises(RuntimeError, match="the body runs"):
        fails(1.0)


def test_S50_a_pattern_captures_a_class() -> None:
    node = ast.parse("class Foo:\n    x: int\n    y: float").body[0]

    for subject in (node, ast.unparse(node)):
        found = match("class T_: fields__", subject)

        assert found is not None
        assert found["T"] == "Foo"
        assert [ast.unparse(field) for field in found["fields"]] == ["x: int", "y: float"]
        assert all(isinstance(field, ast.AnnAssign) for field in found["fields"])
        assert set(found) == {"T", "fields"}


def test_S51_a_hole_binds_one_expression_or_a_sequence() -> None:
    found = match("[1, a_, 3, b__, c_]", "[1,2,3,4,5,6,7]")

    assert found is not None
    assert ast.literal_eval(found["a"]) == 2
    assert [ast.literal_eval(item) for item in found["b"]] == [4, 5, 6]
    assert ast.literal_eval(found["c"]) == 7
    with pytest.raises(ValueError, match="at most one"):
        match("[a__, b__]", "[1, 2]")


def test_S51_repeated_names_force_equality() -> None:
    found = match("a_ * a_", "x*x")

    assert found is not None
    assert list(found) == ["a"]
    assert ast.unparse(found["a"]) == "x"
    assert match("a_ * a_", "x*y") is None


def test_S51_a_peephole_rewrite_of_emitted_code() -> None:
    assert rewritten("b_ += e_ * 1.0 -> b_ += e_", "b += e * 1.0") == "b += e"
    assert "* 1.0" not in grad(lambda x: 1.0 * x * 1.0 + x * 1.0).inspect(2.0).adjoint_source


def test_S52_rules_are_functions_or_lambdas() -> None:
    def twice(x):
        return 2 * x

    def thrice(x):
        return 3 * x

    @rules.adjoint(twice)
    def _(y_bar, y, x):
        return 2 * y_bar

    rules.adjoint(thrice)(lambda y_bar, y, x: 3 * y_bar)

    assert grad(lambda x: twice(x) + thrice(x))(1.0) == 5.0
    with pytest.raises(TypeError, match=r"test_ledger\.py:\d+"):

        @rules.adjoint(twice)
        class _Wrong:
            pass


# ------------------------------------------------------------------------------ Value micrograd
def test_S53_a_table_of_values_and_gradients() -> None:
    def f(x):
        return x * 1.0

    leaf, last = srcad.trace_table(f, 4.0)

    assert (leaf.name, leaf.value, leaf.gradient, leaf.op) == ("x", 4.0, 1.0, None)
    assert (leaf.operands, leaf.line) == ((), f.__code__.co_firstlineno)
    assert (last.value, last.gradient, last.op) == (4.0, 1.0, "mul")
    assert (str(last.operands[0]), str(last.operands[1])) == ("x=4.0", "1.0")
    assert last.line == f.__code__.co_firstlineno + 1
    lines = str(srcad.trace_table(f, 4.0)).splitlines()
    assert lines[0].split() == ["name", "value", "gradient", "operation", "line"]
    assert lines[1].startswith("x     4.0    1.0 ")


def test_S54_the_row_of_a_sum() -> None:
    def f(x, y):
        z = x + y
        return z

    row = srcad.trace_table(f, 2.0, 3.0)["z"]

    assert (row.value, row.op) == (5.0, "add")
    assert row.operands == (("x", 2.0), ("y", 3.0))
    assert row.operation == "add(x=2.0, y=3.0)"


def test_S55_a_sum() -> None:
    assert gradient(lambda x, y: x + y, 2.0, 3.0) == (1.0, 1.0)


def test_S58_a_value_used_twice() -> None:
    assert gradient(lambda x, y: (x + y) + x, 2.0, 3.0) == (2.0, 1.0)


def test_S58_the_gradient_of_an_intermediate_value() -> None:
    def f(x, y):
        z = x + y
        return z + x

    table = srcad.trace_table(f, 2.0, 3.0)

    assert [table[name].gradient for name in "xyz"] == [2.0, 1.0, 1.0]


def long_chain(x):
    y = 0.0
    for _ in range(100_000):
        y = y + x
    return y


def test_S59_a_long_chain_needs_no_recursion() -> None:
    assert grad(long_chain)(1.0) == 100_000.0


def test_S60_constants_on_either_side() -> None:
    def right(x):
        return x + 3.0

    def left(x):
        return 2.0 + x

    assert add_two(2.0, 3.0) == right(2.0) == left(3.0) == 5.0
    assert srcad.trace_table(add_two, 2.0, 3.0)[-1].value == 5.0
    for f, x, operands in ((right, 2.0, ["x=2.0", "3.0"]), (left, 3.0, ["2.0", "x=3.0"])):
        assert grad(f)(x) == 1.0
        leaf, last = srcad.trace_table(f, x)
        assert (last.value, [str(o) for o in last.operands]) == (5.0, operands)
        assert (leaf.name, leaf.gradient) == ("x", 1.0)
        definition = ast.parse(srcad.inspect(f, x).adjoint_source).body[0]
        assert isinstance(definition, ast.FunctionDef)
        assert len(definition.body) == 1


def test_S61_a_straight_line() -> None:
    y, back = pullback(lambda x, m, b: m * x + b, 2.0, 4.0, 7.0)

    assert y == 15.0
    assert back(1) == (4.0, 2.0, 1.0)


def test_S62_precedence_is_pythons() -> None:
    y, back = pullback(lambda x, m, b: b + m * x, 2.0, 4.0, 7.0)

    assert y == 15.0
    assert back(1) == (4.0, 2.0, 1.0)


def test_S63_products_with_numbers() -> None:
    assert grad(lambda x: 3 * x)(2.0) == 3.0
    assert grad(lambda x: x * 3)(2.0) == 3.0


def test_S64_minus() -> None:
    assert gradient(lambda a, b: a - b, 5.0, 3.0) == (1.0, -1.0)
    assert grad(lambda a: -a)(5.0) == -1.0


def test_S65_division() -> None:
    assert gradient(operator.truediv, 6.0, 3.0) == pytest.approx((1 / 3, -2 / 3), rel=1e-15)


def test_S66_powers() -> None:
    assert grad(lambda x: x**3)(2.0) == 12.0


@pytest.mark.parametrize(
    ("x", "n", "want"),
    [(0.0, 0, 0.0), (0.0, 0.0, 0.0), (0.0, 1, 1.0), (0.0, 2, 0.0), (0.0, 0.5, math.inf),
     (0.0, -1, -math.inf), (-2.0, 3.0, 12.0)],
)  # fmt: skip
def test_S66_constant_exponents_at_edges(x: float, n: float, want: float) -> None:
    with np.errstate(all="ignore"):
        assert grad(lambda x: x**n)(np.float64(x)) == want
        assert grad(lambda x: np.power(x, float(n)))(np.float64(x)) == want


def test_S66_constant_bases_at_edges() -> None:
    assert grad(lambda x: 2.0**x)(0.0) == math.log(2)
    assert grad(lambda x: 0.0**x)(0.0) == 0.0


@pytest.mark.parametrize(
    ("x", "y", "by_x", "by_y"),
    [(0.0, 0.0, 0.0, 0.0), (0.0, 2.0, 0.0, 0.0), (0.0, -1.0, -math.inf, -math.inf),
     (-2.0, 3.0, 12.0, math.nan)],
)  # fmt: skip
def test_S66_powers_of_two_arguments_at_edges(x: float, y: float, by_x: float, by_y: float) -> None:
    with np.errstate(all="ignore"):
        got = gradient(np.power, np.float64(x), np.float64(y))

    assert_array_equal(got, (by_x, by_y))


def test_S67_exponential() -> None:
    assert grad(np.exp)(1.0) == 2.718281828459045


def test_S68_logarithm() -> None:
    assert grad(np.log)(2.0) == 0.5


def test_S69_tanh() -> None:
    assert grad(np.tanh)(0.5) == pytest.approx(0.7864477329659274, rel=1e-15)


# -------------------------------------------------------------------------------------- Tensor
def test_S70_gradients_have_the_shape_of_any_rank(rng: np.random.Generator) -> None:
    for shape in ((), (3,), (2, 3), (2, 1, 3), (2, 3, 1, 2)):
        x = rng.normal(size=shape)

        g = grad(lambda x: np.sum(np.sin(x)))(np.asarray(x))

        assert g.shape == shape
        assert g.dtype == np.float64


def test_S71_matrix_product() -> None:
    A, B = np.array([[1.0, 2], [3, 4]]), np.array([[5.0, 6], [7, 8]])

    y, back = pullback(lambda A, B: A @ B, A, B)
    A_bar, B_bar = back(np.ones((2, 2)))

    assert_array_equal(y, [[19, 22], [43, 50]])
    assert_array_equal(A_bar, [[11, 15], [11, 15]])
    assert_array_equal(B_bar, [[4, 4], [6, 6]])


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((3,), (3, 2)),
        ((2, 3), (3, 2)),
        ((4, 2, 3), (3, 2)),
        ((4, 2, 3), (4, 3, 2)),
        ((3,), (4, 3, 2)),
        ((4, 2, 3), (3,)),
        ((1, 2, 3), (4, 3, 2)),
        ((5, 1, 2, 3), (4, 3, 2)),
    ],
)
def test_S71_matrix_products_of_any_rank(
    left: tuple[int, ...], right: tuple[int, ...], rng: Any
) -> None:
    def f(a, b):
        return np.sum(np.sin(a @ b))

    a, b = rng.normal(size=left), rng.normal(size=right)

    for k, g in enumerate(gradient(f, a, b)):
        assert_allclose(g, difference(f, (a, b), k), rtol=1e-7, atol=1e-8)


def test_S72_a_seed_of_ones_is_the_gradient_of_the_sum() -> None:
    x = np.array([0.1, 0.2])
    y, back = pullback(np.sin, x)

    assert_array_equal(back(np.ones_like(y))[0], np.cos(x))
    with pytest.raises(TypeError):
        grad(np.sin)(x)


def test_S73_the_gradient_of_a_bias_is_a_sum_over_columns() -> None:
    X, b = np.arange(6.0).reshape(2, 3), np.array([10.0, 20, 30])

    for f in (lambda X, b: X + b, lambda X, b: b + X):
        y, back = pullback(f, X, b)
        X_bar, b_bar = back(np.ones((2, 3)))

        assert_array_equal(y, [[10, 21, 32], [13, 24, 35]])
        assert_array_equal(b_bar, [2, 2, 2])
        assert_array_equal(X_bar, np.ones((2, 3)))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((3, 1), (3, 4)),
        ((1, 4), (3, 1)),
        ((), (2, 3)),
        ((2, 1, 4), (3, 1)),
        ((1, 1), (2, 2)),
        ((1,), (4,)),
    ],
)
def test_S74_broadcasting_is_undone(
    left: tuple[int, ...], right: tuple[int, ...], rng: Any
) -> None:
    def f(a, b):
        return np.sum(np.sin(a) * b + a / (2 + b * b))

    a, b = np.asarray(rng.normal(size=left)), np.asarray(rng.normal(size=right))

    for k, (g, x) in enumerate(zip(gradient(f, a, b), (a, b), strict=True)):
        assert g.shape == x.shape
        assert_allclose(g, difference(f, (a, b), k), rtol=1e-7, atol=1e-8)


def test_S75_relu_is_zero_at_zero() -> None:
    x = np.array([-1.0, 0, 2])

    for relu in (lambda x: np.maximum(x, 0), lambda x: np.where(x > 0, x, 0)):
        y, back = pullback(relu, x)

        assert_array_equal(y, [0, 0, 2])
        assert_array_equal(back(1)[0], [0, 0, 1])


def cross_entropy(a, onehot):
    z = a - np.max(a, axis=1, keepdims=True)
    e = np.exp(z)
    p = np.clip(e / np.sum(e, axis=1, keepdims=True), 1e-7, 1 - 1e-7)
    return -np.sum(onehot * np.log(p)) / a.shape[0]


LOGITS, ONEHOT = np.array([[2, 1, 0.1], [0.5, 2.5, -1]]), np.array([[1.0, 0, 0], [0, 0, 1]])
CROSS_ENTROPY_GRADIENT = np.array(
    [
        [-0.17049943055701605, 0.12121648535235696, 0.04928294520465909],
        [0.05805726733707058, 0.42898840530422855, -0.4870456726412992],
    ]
)


def fused(a, onehot):
    return cross_entropy(a, onehot)


@rules.adjoint(fused, active=("a",))
def _fused(y_bar, y, a, onehot):
    e = np.exp(a - np.max(a, axis=1, keepdims=True))
    return y_bar * (e / np.sum(e, axis=1, keepdims=True) - onehot) / a.shape[0]


def test_S76_softmax_cross_entropy_as_a_plain_composition() -> None:
    value, g = value_and_grad(cross_entropy)(LOGITS, ONEHOT)

    assert value == pytest.approx(2.035104111700061, rel=1e-13)
    assert_allclose(g, CROSS_ENTROPY_GRADIENT, rtol=1e-9)


def test_S76_softmax_cross_entropy_with_labels_of_either_kind() -> None:
    assert_allclose(
        grad(cross_entropy)(LOGITS, ONEHOT.astype(int)), CROSS_ENTROPY_GRADIENT, rtol=1e-9
    )


def test_S76_softmax_cross_entropy_with_a_fused_rule() -> None:
    value, g = value_and_grad(lambda a, y: fused(a, y))(LOGITS, ONEHOT)

    assert value == pytest.approx(2.035104111700061, rel=1e-13)
    assert_allclose(g, CROSS_ENTROPY_GRADIENT, rtol=1e-9)


def test_S77_the_incoming_cotangent_counts() -> None:
    for loss in (cross_entropy, lambda a, y: fused(a, y)):
        once = grad(loss)(LOGITS, ONEHOT)
        twice = grad(lambda a, y, loss=loss: 2 * loss(a, y))(LOGITS, ONEHOT)

        assert_array_equal(twice, 2 * once)
        assert_allclose(once, CROSS_ENTROPY_GRADIENT, rtol=1e-9)


def test_S77_the_clip_counts_in_the_plain_composition_only() -> None:
    a, y = np.array([[100.0, 0, 0]]), np.array([[0.0, 1, 0]])

    value, through_the_clip = value_and_grad(cross_entropy)(a, y)
    same, by_the_rule = value_and_grad(lambda a, y: fused(a, y))(a, y)

    assert value == same == 16.11809565095832
    assert_array_equal(through_the_clip, [[0, 0, 0]])
    assert_array_equal(by_the_rule[:, :2], [[1, -1]])
    assert 0 < by_the_rule[0, 2] < 1e-40


def test_S77_documents_describe_clip_and_fused_rule() -> None:
    text = (Path(srcad.__file__).parents[1] / "docs" / "limitations.md").read_text()

    assert "through the clip" in text
    assert "fused rule" in text


def network(params, x, onehot):
    h = np.maximum(x @ params["W1"] + params["b1"], 0.0)
    return cross_entropy(h @ params["W2"] + params["b2"], onehot)


def two_clouds() -> tuple[Any, Any, Any]:
    """The points of the row, their classes, and where the training starts."""
    rng = np.random.default_rng(0)
    left, right = (rng.normal((x, 0.0), 0.6, (100, 2)) for x in (-1.5, 1.5))
    params = {
        "W1": 0.5 * rng.normal(size=(2, 16)),
        "b1": np.zeros(16),
        "W2": 0.5 * rng.normal(size=(16, 2)),
        "b2": np.zeros(2),
    }
    return np.concatenate((left, right)), np.eye(2)[np.repeat([0, 1], 100)], params


def by_hand(params: Any, x: Any, onehot: Any) -> tuple[float, Any]:
    """The same network with its gradient written by hand."""
    before = x @ params["W1"] + params["b1"]
    h = np.maximum(before, 0.0)
    a = h @ params["W2"] + params["b2"]
    e = np.exp(a - np.max(a, axis=1, keepdims=True))
    p = np.clip(e / np.sum(e, axis=1, keepdims=True), 1e-7, 1 - 1e-7)
    a_bar = (p - onehot) / len(x)
    h_bar = (a_bar @ params["W2"].T) * (before > 0)
    slopes = {"W1": x.T @ h_bar, "b1": h_bar.sum(0), "W2": h.T @ a_bar, "b2": a_bar.sum(0)}
    return -np.sum(onehot * np.log(p)) / len(x), slopes


def test_S78_a_network_learns() -> None:
    x, onehot, start = two_clouds()
    _, first = value_and_grad(network)(start, x, onehot)
    want = difference(network, (start, x, onehot), 0, h=1e-6)  # across no kink of the relu

    losses = []
    for step in (by_hand, value_and_grad(network)):
        params = start
        for _ in range(200):
            loss, g = step(params, x, onehot)
            params = {k: params[k] - 0.5 * g[k] for k in params}
        losses.append(loss)

    assert round(losses[0], 4) == 0.0143
    assert losses[1] < 0.1
    assert losses[1] == pytest.approx(losses[0], rel=1e-6)  # one of them sees the clip
    for k in start:
        assert np.max(np.abs(first[k] - want[k])) < 1e-6
