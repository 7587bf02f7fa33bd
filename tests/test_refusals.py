"""What a refusal says: the user's words, his place, a reason and a remedy that can be followed."""

from __future__ import annotations

import math
import re
import statistics
import string
import textwrap

import numpy as np
import pytest

import srcad
from srcad import errors
from srcad.rules import registry

X = np.array([0.3, 0.7])


def refusal(f, *args):
    """The text of the refusal of a gradient."""
    with pytest.raises(errors.SrcadError) as caught:
        srcad.grad(f)(*(args or (X,)))
    return str(caught.value)


def test_library_function_named_as_in_source():
    scipy = pytest.importorskip("scipy")
    pytest.importorskip("scipy.stats")

    said = refusal(lambda x: np.sum(scipy.stats.levy.logpdf(x)))

    assert "no derivative rule for scipy.stats.levy.logpdf, called" in said
    assert "_distn_infrastructure" not in said
    assert "planned" in said


def test_library_object_method_named_as_in_source():
    levy = pytest.importorskip("scipy.stats").levy

    said = refusal(lambda x: np.sum(levy.logpdf(x)))

    assert "@srcad.rules.adjoint(scipy.stats.rv_continuous.logpdf)" in said


def test_a_method_of_a_ufunc_is_named_with_it():
    assert "numpy.nextafter.reduce" in refusal(lambda x: np.nextafter.reduce(x))


def test_function_whose_rule_needs_scipy_says_so_without_it(monkeypatch):
    for target in (math.lgamma, np.i0):
        registry.lookup(target)
        monkeypatch.delitem(registry._table, target, raising=False)

    assert "install scipy: the rule calls scipy.special" in refusal(lambda x: math.lgamma(x[0]))
    assert "install scipy: the rule calls scipy.special" in refusal(lambda x: np.sum(np.i0(x)))


def test_the_remedy_of_a_method_of_a_ufunc_runs_when_pasted(tmp_path):
    def f(x):
        return np.nextafter.reduce(x)

    said = refusal(f)
    start = said.index("import numpy, srcad")
    stub = textwrap.dedent("        " + said[start : said.index("help: or")])
    file = tmp_path / "rule.py"
    file.write_text("import numpy as np\n" + stub.replace("...", "y_bar * np.eye(array.size)[0]"))
    exec(compile(file.read_text(), str(file), "exec"), {})

    assert srcad.grad(f)(X).tolist() == np.eye(X.size)[0].tolist()


def test_stop_gradient_remedy_listed_last_with_condition():
    said = refusal(lambda x: np.sum(np.emath.sqrt(x)))

    assert "if no derivative is to flow" in said.splitlines()[-1]
    assert "srcad.stop_gradient(np.emath.sqrt(x))" in said.splitlines()[-1]


MISSPELT = [
    (lambda x: np.sum(x.Tt), "'numpy.ndarray' object has no attribute 'Tt'"),
    (lambda x: x.summ(), "'numpy.ndarray' object has no attribute 'summ'"),
    (lambda x: (x @ x).itme(), "'numpy.float64' object has no attribute 'itme'"),
    (lambda x: [x].add(x), "'list' object has no attribute 'add'"),
    (lambda x: (x, x).append(x), "'tuple' object has no attribute 'append'"),
    (lambda x: {"a": x}.add(x), "'dict' object has no attribute 'add'"),
    (lambda x: np.summ(x), "module 'numpy' has no attribute 'summ'"),
]


@pytest.mark.parametrize(("f", "message"), MISSPELT)
def test_misspelt_attribute_raises_same_attribute_error(f, message):
    with pytest.raises(AttributeError, match=re.escape(message)):
        f(X)
    with pytest.raises(AttributeError, match=re.escape(message)):
        srcad.grad(f)(X)


def test_a_missing_attribute_can_be_caught():
    def f(x):
        try:
            return np.sum(x.Tt)
        except AttributeError:
            return np.sum(x.T**2)

    assert srcad.grad(f)(X) == pytest.approx(2 * X)


def test_uncalled_method_error_suggests_call():
    def f(x):
        return np.sum(x.sum)

    said = refusal(f)

    assert "the method 'sum'" in said
    assert "call it:  .sum()" in said


FORMS = [
    ("async def g():\n    return x", "'async def'"),
    ("try:\n    y = x\nexcept* ValueError:\n    y = 0.0", "'except*'"),
    ("class A:\n    pass", "'class'"),
]


@pytest.mark.parametrize(("body", "word"), FORMS)
def test_rejected_syntax_named_in_python_terms(body, word, tmp_path):
    file = tmp_path / "model.py"
    file.write_text(f"def f(x):\n{textwrap.indent(body, '    ')}\n    return x\n")
    names = {}
    exec(compile(file.read_text(), str(file), "exec"), names)

    assert f"through {word} in 'f'" in refusal(names["f"], 1.0)


def test_undetermined_callee_named_with_class():
    said = refusal(lambda x, t: np.sum(t[0](x)), X, np.array([np.sin, np.cos], dtype=object))

    assert "cannot tell which function" in said


def test_rejection_in_standard_library_located_at_user_call():
    def f(x):
        return statistics.NormalDist(x, 1.0).pdf(0.3) + len(string.capwords("a b"))

    said = refusal(f, 0.5)

    assert "test_refusals.py" in said.splitlines()[1]
    assert "statistics.py" not in said.splitlines()[1]


def test_solver_closure_rejection_remedy_is_applicable():
    optimize = pytest.importorskip("scipy.optimize")

    def f(x):
        return optimize.basinhopping(lambda v: (v - x[0]) ** 2, 1.0).x[0]

    said = refusal(f)

    assert "@srcad.rules.adjoint(solve)" in said


def without_return(x):
    np.sum(x)


def without_return_on_one_path(x):
    if x[0] > 5.0:
        return np.sum(x)


@pytest.mark.parametrize("f", [without_return, without_return_on_one_path])
def test_function_without_return_error_message(f):
    said = refusal(f)

    assert f"{f.__name__!r} returns nothing" in said
    assert "return y" in said


@pytest.mark.parametrize(
    ("make", "remedy"),
    [
        (lambda special: lambda v: special.jv(v * v, 2.0),
         "special.jv(srcad.stop_gradient(v * v), 2.0)"),
        (lambda special: lambda v: special.kv(z=2.0, v=v),
         "special.kv(z=2.0, v=srcad.stop_gradient(v))"),
        (lambda special: lambda v: special.jv(v, z=2.0),
         "special.jv(srcad.stop_gradient(v), z=2.0)"),
        (lambda special: lambda v: special.jv(*[v, 2.0]), "srcad.stop_gradient(...)"),
    ],
)  # fmt: skip
def test_remedy_of_an_argument_without_derivative_repeats_the_call(make, remedy):
    program = make(pytest.importorskip("scipy.special"))

    said = refusal(program, 0.5)

    assert said.splitlines()[-1].endswith(f"as a constant:  {remedy}")
