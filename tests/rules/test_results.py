"""What rows declare of results, against the results of their sample calls."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

import srcad
from srcad import errors, rules
from srcad.ir.core import Value
from srcad.ir.inference.builder import result_type
from srcad.rules import lookup, registry
from srcad.rules.row import Result
from srcad.types.numeric import NUMBER
from srcad.types.structures import OPAQUE, TupleOf
from tests.rules.samples import CALLS

SEVERAL = {np.atleast_1d, np.atleast_2d, np.atleast_3d}  # as many as there are arguments


def declared_counts() -> list[tuple[Any, int, int | None]]:
    """Each sample call of a differentiable row, the number of its results, and the declared one."""
    found = []
    for target, args, kwargs in CALLS:
        rule = lookup(target)
        is_ufunc_of_several = isinstance(target, np.ufunc) and target.nout > 1
        if rule is None or rule.kind == "nondifferentiable" or is_ufunc_of_several:
            continue
        result = registry.declared_result(target)
        given = {**dict(zip(rule.parameters, args, strict=False)), **kwargs}
        options = {name: given[name] for name in result.options if name in given}
        options["ndim"] = getattr(args[0], "ndim", None) if args else None
        y = target(*args, **kwargs)
        count = len(y) if isinstance(y, tuple | list) else 1
        found.append((target, count, result.count_for(options)))
    return found


def test_sample_calls_have_as_many_results_as_their_rows_declare():
    counts = declared_counts()

    wrong = [
        (registry.qualified_name(target), count, declared)
        for target, count, declared in counts
        if declared not in (None, count) and target not in SEVERAL
    ]
    assert wrong == []
    assert len(counts) > 1000


def test_fields_of_named_tuples_are_declared():
    returned, declared = {}, {}
    for target, args, kwargs in CALLS:
        y = target(*args, **kwargs)
        if isinstance(y, tuple) and lookup(target) is not None:
            name = registry.qualified_name(target)
            returned[name] = getattr(type(y), "_fields", ())
            declared[name] = registry.declared_result(target).fields

    assert declared == returned
    assert declared["numpy.linalg.eigh"] == ("eigenvalues", "eigenvectors")


def test_field_belongs_to_tuples_of_its_length():
    def f(x):
        pair = (x, 2 * x, 3 * x)
        return pair.slope

    with pytest.raises(AttributeError, match="'tuple' object has no attribute 'slope'"):
        srcad.grad(f)(1.0)


def test_count_of_results_follows_options():
    result = Result(lambda left=False, right=True: 1 + left + right, static=("mode",))

    assert result.options == {"mode": None, "left": False, "right": True}
    assert result.count_for({"mode": "x"}) == 2
    assert result.count_for({"left": True, "right": False}) == 2
    assert result.count_for({"left": True}) == 3


def reflected(x, n):
    return x - 2 * n * (n @ x), n @ x


@rules.adjoint(reflected, result=Result(2))
def _(y_bar, y, x, n):
    first = np.zeros_like(x) if y_bar[0] is None else y_bar[0]
    second = 0.0 if y_bar[1] is None else y_bar[1]
    return first - 2 * n * (n @ first) + second * n, None


def test_declared_count_of_user_rule_is_type_of_call():
    x, n = Value(NUMBER), Value(NUMBER)

    assert result_type(reflected, (x, n), ()) == TupleOf((NUMBER, NUMBER))
    assert result_type(declared_counts, (x, n), ()) is OPAQUE


def test_option_that_decides_results_is_known_before_the_call():
    def f(x, flags):
        return np.average(x, returned=flags[0] > 0.5)[0]

    with pytest.raises(errors.UnsupportedSyntaxError, match="the option 'returned'"):
        srcad.grad(f)(np.arange(3.0), np.array([1.0]))


@pytest.mark.parametrize(
    ("f", "name"),
    [
        (lambda x, y: stats.linregress(x, y).intercept_stderr, "intercept_stderr"),
        (lambda x, y: stats.pearsonr(x, y).correlation, "correlation"),
        (lambda x, y: np.sum(np.linalg.svd(np.outer(x, y)).rank), "rank"),
    ],
)
def test_attribute_of_result_without_derivative_is_refused(f, name):
    with pytest.raises(errors.UnsupportedSyntaxError, match=f"cannot read '{name}'") as caught:
        srcad.grad(f)(np.array([1.0, 2.0, 3.5]), np.array([1.0, 3.0, 2.5]))
    assert caught.value.where is not None


def test_missing_attribute_of_own_tuple_raises():
    with pytest.raises(AttributeError, match="rank"):
        srcad.grad(lambda x: (x, x).rank)(1.0)
