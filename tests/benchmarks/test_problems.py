"""The adjoints by hand, against which generated code is timed, give the same gradients as it."""

import copy

import numpy as np
import pytest

import srcad
from benchmarks.problems import PROBLEMS


def test_there_are_thirteen_problems():
    assert len(PROBLEMS) == 13


@pytest.mark.parametrize("name", PROBLEMS)
def test_hand_written_adjoint_matches_generated(name):
    problem = PROBLEMS[name]
    args = problem.make(np.random.default_rng(20240607))
    by_hand = problem.by_hand(*copy.deepcopy(args))

    gradients = srcad.grad(problem.primal, wrt=problem.wrt)(*args)

    for got, want in zip(gradients, by_hand, strict=True):
        scale = np.max(np.abs(want))
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9 * scale)
