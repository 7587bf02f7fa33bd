"""The table's own loop: every rule, run in plain NumPy, against finite differences."""

import numpy as np
import pytest

from tests.rules import samples, samples_arrays
from tests.rules.harness import products

CALLS = [
    *samples.ELEMENTWISE,
    *samples.REDUCTIONS,
    *samples_arrays.SHAPES,
    *samples_arrays.JOINING,
    *samples_arrays.INDEXING,
    *samples_arrays.PRODUCTS,
    *samples_arrays.LINALG,
]


def name_of(call):
    target, args, kwargs = call
    shapes = [np.shape(a) if isinstance(a, np.ndarray) else repr(a)[:20] for a in args]
    return f"{getattr(target, '__name__', target)}{shapes}{kwargs or ''}"[:90]


@pytest.mark.parametrize("call", CALLS, ids=name_of)
def test_a_rule_is_the_transpose_of_the_differences(call, rng):
    left, right = products(*call, rng)

    assert right == pytest.approx(left, rel=2e-5, abs=2e-7)


@pytest.mark.parametrize("call", samples_arrays.SYMMETRIC, ids=name_of)
def test_a_symmetrised_rule_is_the_transpose_on_symmetric_matrices(call, rng):
    target, (a,), kwargs = call

    left, right = products(target, (a,), kwargs, rng, symmetric=True)

    assert right == pytest.approx(left, rel=2e-5, abs=2e-7)
