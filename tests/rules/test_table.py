"""The table's own loop: every rule, run in plain NumPy, against finite differences."""

import numpy as np
import pytest

from srcad import rules
from tests.rules.harness import products
from tests.rules.samples import CALLS, ROWS, SYMMETRIC


def name_of(call):
    target, args, kwargs = call
    shapes = [np.shape(a) if isinstance(a, np.ndarray) else repr(a)[:20] for a in args]
    return f"{getattr(target, '__name__', target)}{shapes}{kwargs or ''}"[:90]


@pytest.mark.whole
@pytest.mark.parametrize("call", CALLS, ids=name_of)
def test_a_rule_is_the_transpose_of_the_differences(call, rng):
    left, right = products(*call, rng)

    assert right == pytest.approx(left, rel=2e-5, abs=2e-7)


@pytest.mark.parametrize("call", SYMMETRIC, ids=name_of)
def test_a_symmetrised_rule_is_the_transpose_on_symmetric_matrices(call, rng):
    left, right = products(*call, rng, symmetric=True)

    assert right == pytest.approx(left, rel=2e-5, abs=2e-7)


def test_every_row_that_comes_with_srcad_has_samples():
    assert [rules.registry.qualified_name(row.target) for row in ROWS if row.samples is None] == []


def test_rule_without_samples_detected():
    def plain(x):
        return x

    rules.linear(plain)(lambda y_bar, x: y_bar)

    assert rules.rule_for(plain).samples is None
