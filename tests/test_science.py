"""Derivatives of programs as scientists write them, against differences."""

import copy

import numpy as np
import pytest

import srcad
from tests.blocks import leaves
from tests.marks import some
from tests.programs.science import PROGRAMS

STEP = 1e-6
SLOW = ("newton_steps_of_logistic_regression", "fixed_point_by_its_last_step", "backward_euler")


def differences(f, args, place):
    """The derivatives of all numbers in a result by all numbers in an argument, row by row."""
    flat = np.concatenate([np.ravel(x) for _, x in leaves(args[place])])

    def at(k, step):
        moved = copy.deepcopy(list(args))
        seen = 0
        for key, x in leaves(moved[place]):
            if seen <= k < seen + np.size(x):
                moved[place] = put(moved[place], key, x, k - seen, step)
            seen += np.size(x)
        return np.concatenate([np.ravel(y) for _, y in leaves(f(*moved))])

    steps = STEP * np.maximum(1.0, np.abs(flat))
    return np.stack([(at(k, h) - at(k, -h)) / (2 * h) for k, h in enumerate(steps)], axis=1)


def put(value, key, x, k, step):
    """The structure with one number moved."""
    if not isinstance(x, np.ndarray):
        new = x + step
    else:
        new = x.copy()
        new.flat[k] += step
    if not key:
        return new
    holder = value
    for name in key[:-1]:
        holder = holder[name]
    holder[key[-1]] = new
    return value


def rows(found, y, x):
    """The blocks of a Jacobian as one matrix."""
    heights = [np.size(part) for _, part in leaves(y)]
    widths = [np.size(part) for _, part in leaves(x)]
    blocks = [np.asarray(block) for _, block in leaves(found)]
    assert len(blocks) == len(heights) * len(widths)
    matrix = [
        np.concatenate(
            [blocks[i * len(widths) + j].reshape(h, w) for j, w in enumerate(widths)], axis=1
        )
        for i, h in enumerate(heights)
    ]
    return np.concatenate(matrix)


@pytest.mark.parametrize("name", some(PROGRAMS, lambda k, name: k % 4 == 0 and name not in SLOW))
def test_derivatives_are_those_of_differences(name):
    f, args, want, wrt = PROGRAMS[name]
    for place in wrt if isinstance(wrt, tuple) else (wrt,):
        y = f(*copy.deepcopy(args))
        slopes = differences(f, args, place)
        scale = 1.0 + np.max(np.abs(slopes))
        for make in (srcad.jacfwd, srcad.jacrev):
            found = rows(make(f, place)(*copy.deepcopy(args)), y, args[place])
            np.testing.assert_allclose(found, slopes, rtol=2e-6, atol=2e-7 * scale)
        if want != "jacobian":
            gradient = srcad.grad(f, place)
            found = rows(gradient(*copy.deepcopy(args)), y, args[place])
            np.testing.assert_allclose(found, slopes, rtol=2e-6, atol=2e-7 * scale)
        if want == "hessian":
            bent = differences(gradient, args, place)
            found = rows(srcad.hessian(f, place)(*args), args[place], args[place])
            np.testing.assert_allclose(found, bent, rtol=1e-5, atol=1e-6 * (1 + np.abs(bent).max()))
            np.testing.assert_allclose(found, found.T, atol=1e-9 * (1 + np.abs(bent).max()))
