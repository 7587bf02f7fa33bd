"""The table's own loop: every rule, run in plain NumPy, against finite differences."""

import operator

import numpy as np
import pytest

from srcad import rules
from srcad.rules import batching
from srcad.rules.tangents import FORMULAS
from tests.rules.harness import directional, is_float, leaves, products, rebuilt
from tests.rules.samples import CALLS, ROWS, SYMMETRIC


def name_of(call):
    target, args, kwargs = call
    shapes = [np.shape(a) if isinstance(a, np.ndarray) else repr(a)[:20] for a in args]
    return f"{getattr(target, '__name__', target)}{shapes}{kwargs or ''}"[:90]


def batched_operands(target):
    """The names of the operands for which a function has a formula for many directions."""
    formula = batching.formula_for(target)
    if formula is None:
        return []
    first = rules.lookup(target).parameters[0].lstrip("*")
    return [first] if callable(formula) else list(formula)


# A matrix for each direction and a stack: the formula returns another rank, and a loop runs.
MATMULS = (operator.matmul, np.matmul, np.linalg.matmul)
# Formulas for many directions, by the operands that have the axis in front.
IN_ONE_CALL = [
    (call, names.split(", "))
    for call in CALLS
    for names in batched_operands(call[0])
    if not (call[0] in MATMULS and np.ndim(call[1][0]) == 2 < np.ndim(call[1][1]))
]
# Formulas that take the tangents of entries which are left out to be zero already.
CUT_BEFORE = (np.nansum, np.nanmean)
IN_CLOSED_FORM = [
    call
    for call in CALLS
    if call[0] in FORMULAS and not (call[0] in CUT_BEFORE and "where" in call[2])
]


@pytest.mark.whole
@pytest.mark.parametrize("call", CALLS, ids=name_of)
def test_a_rule_is_the_transpose_of_the_differences(call, rng):
    left, right = products(*call, rng)

    assert right == pytest.approx(left, rel=2e-5, abs=2e-7)


@pytest.mark.parametrize("call", SYMMETRIC, ids=name_of)
def test_a_symmetrised_rule_is_the_transpose_on_symmetric_matrices(call, rng):
    left, right = products(*call, rng, symmetric=True)

    assert right == pytest.approx(left, rel=2e-5, abs=2e-7)


@pytest.mark.parametrize("call", IN_CLOSED_FORM, ids=name_of)
def test_a_tangent_in_closed_form_agrees_with_the_differences(call, rng):
    target, args, kwargs = call
    rule = rules.lookup(target)
    given = {**dict(zip(rule.parameters, args, strict=False)), **kwargs}
    dots = {
        name: rng.normal(size=np.shape(value))
        for name, value in given.items()
        if name in rule.active and is_float(value)
    }

    want = directional(
        target, list(given.values()), tuple(kwargs), [n in dots for n in given], dots.values(), 1e-6
    )
    y = target(*args, **kwargs)
    found = leaves(FORMULAS[target](*map(dots.get, rule.active), y, *args, **kwargs))

    for dot, slope in zip(found, want, strict=True):
        np.testing.assert_allclose(dot, slope, rtol=2e-5, atol=2e-7)


@pytest.mark.parametrize("case", IN_ONE_CALL, ids=lambda case: name_of(case[0]))
def test_a_formula_for_many_directions_agrees_with_one_at_a_time(case, rng):
    (target, args, kwargs), names = case
    given = {**dict(zip(rules.lookup(target).parameters, args, strict=False)), **kwargs}
    moved = [name for name in given if name.lstrip("*") in names]
    if not all(is_float(leaf) for name in moved for leaf in leaves(given[name])):
        pytest.skip("integers have no directions")
    stacks = {
        name: [rng.normal(size=(3, *np.shape(leaf))) for leaf in leaves(given[name])]
        for name in moved
    }

    def called(function, of_stack):
        parts = {n: rebuilt(given[n], map(of_stack, stacks[n])) for n in moved}
        values = [parts.get(name, value) for name, value in given.items()]
        return function(*values[: len(args)], **dict(zip(kwargs, values[len(args) :], strict=True)))

    formula = batching.formula_for(target)
    found = called(formula if callable(formula) else formula[", ".join(names)], lambda a: a)
    if found is None:
        pytest.skip("this call has a loop over directions")
    one_at_a_time = [leaves(called(target, lambda a, k=k: a[k])) for k in range(3)]

    for part, rows in zip(leaves(found), zip(*one_at_a_time, strict=True), strict=True):
        np.testing.assert_allclose(part, np.stack(rows), atol=1e-12)


def test_every_row_that_comes_with_srcad_has_samples():
    assert [rules.registry.qualified_name(row.target) for row in ROWS if row.samples is None] == []


def test_rule_without_samples_detected():
    def plain(x):
        return x

    rules.linear(plain)(lambda y_bar, x: y_bar)

    assert rules.rule_for(plain).samples is None
