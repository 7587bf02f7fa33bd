"""Hand-written adjoints of the benchmarks have the gradients of generated code."""

import copy

import numpy as np
import pytest

import srcad
from benchmarks.problems import OPTIMISED, PROBLEMS


def smallest(problem):
    return problem.make(np.random.default_rng(20240607), next(iter(problem.sizes)))


def assert_close(gradients, expected):
    for got, want in zip(gradients, expected, strict=True):
        scale = np.max(np.abs(want))
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9 * scale)


def test_there_are_thirteen_problems():
    assert len(PROBLEMS) == 13


@pytest.mark.parametrize("name", PROBLEMS)
def test_hand_written_adjoint_matches_generated(name):
    problem = PROBLEMS[name]
    args = smallest(problem)
    by_hand = problem.by_hand(*copy.deepcopy(args))

    gradients = srcad.grad(problem.primal, wrt=problem.wrt)(*args)

    assert_close(gradients, by_hand)


@pytest.mark.parametrize("name", OPTIMISED)
def test_optimised_adjoint_matches_straight_in_second_call(name):
    problem = PROBLEMS[name]
    args = smallest(problem)
    given = copy.deepcopy(args)
    adjoint = OPTIMISED[name](*given)
    adjoint(*given)

    gradients = adjoint(*given)

    assert_close(gradients, problem.by_hand(*args))
    assert all(np.array_equal(a, b) for a, b in zip(given, args, strict=True))
