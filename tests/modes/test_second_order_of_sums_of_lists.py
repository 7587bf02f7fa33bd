"""Second derivatives of ``sum`` of a list that is empty in the first iteration."""

import numpy as np
import pytest

import srcad

X = np.array([0.5, 1.2, 0.7])


def grown_list(x):
    factors, total = [], 0.0
    for k in range(3):
        known = sum(factors)
        factors.append(x[k] ** 2 * (1 + known))
        total = total + known * x[k]
    return total


def with_start(x):
    factors, total = [], 0.0
    for k in range(3):
        known = sum(factors, start=2)
        factors.append(x[k] * known)
        total += known**2
    return total


def with_varying_start(x):
    factors, total = [], 0.0
    for k in range(3):
        known = sum(factors, x[1])
        factors.append(x[k] * known)
        total += known**2
    return total


def list_in_dict(x):
    kept, total, k = {"a": []}, 0.0, 0
    while k < 3:
        known = sum(kept["a"])
        kept["a"].append(np.sin(x[k]))
        total += known * x[k] ** 2
        k += 1
    return total


def behind_branch(x):
    factors, total = [], x[0]
    for k in range(3):
        if sum(factors) > 0.4:
            total = total * sum(factors)
        factors.append(x[k])
    return total


@pytest.mark.parametrize(
    "function", [grown_list, with_start, with_varying_start, list_in_dict, behind_branch]
)
def test_hessian_of_sum_of_list_is_that_of_differences(function):
    steps = 1e-4 * np.eye(3)
    wanted = [
        [
            (function(X + a + b) - function(X + a - b) - function(X - a + b) + function(X - a - b))
            / 4e-8
            for a in steps
        ]
        for b in steps
    ]

    found = srcad.hessian(function)(X)

    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)


def sums_before(x):
    factors, sums = [], np.zeros(3)
    for k in range(3):
        sums[k] = sum(factors)
        factors.append(x[k] ** 2)
    return sums


@pytest.mark.parametrize("mode", ["fwd", "rev"])
def test_jacobian_of_sums_of_lists_in_both_modes(mode):
    found = srcad.jacobian(sums_before, mode=mode)(X)

    wanted = [[0, 0, 0], [2 * X[0], 0, 0], [2 * X[0], 2 * X[1], 0]]
    np.testing.assert_allclose(found, wanted)
