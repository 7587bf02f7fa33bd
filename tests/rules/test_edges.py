"""Edges of histograms and open meshes follow the numbers that they are made of."""

import numpy as np
import pytest

import srcad
from tests.numeric import assert_gradient

X = np.array([0.3, 1.2, -0.5, 2.2])
PROGRAMS = {
    "edges": lambda x: np.sum(np.histogram_bin_edges(x, 3) ** 2),
    "edges by an estimator": lambda x: np.sum(np.histogram_bin_edges(x, "auto") ** 3),
    "edges between given ends": lambda x: np.sum(np.histogram_bin_edges(x, 3, (0.0, 1.0))) + x[0],
    "edges that are given": lambda x: np.sum(np.histogram_bin_edges(np.ones(2), np.sort(x)) ** 2),
    "edges of a list": lambda x: np.sum(np.histogram_bin_edges([x[0], x[1]], bins=2) ** 2),
    "open mesh": lambda x: np.sum(np.ix_(x, x[:2])[1] * np.ix_(x, x[:2])[0] ** 2),
    "open mesh of one": lambda x: np.sum(np.ix_(x)[0] ** 2),
    "open mesh as index": lambda x: np.sum(np.outer(x, x)[np.ix_([True, False] * 2, [1])]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradient_and_tangent_match_differences(name):
    assert_gradient(srcad.gradient, PROGRAMS[name], X)

    gradient = srcad.grad(PROGRAMS[name])(X)
    assert srcad.jvp(PROGRAMS[name], (X,), (X,))[1] == pytest.approx(gradient @ X)


def test_range_of_edges_has_no_derivative():
    with pytest.raises(srcad.errors.MissingRuleError, match="argument 3"):
        srcad.grad(lambda x: np.sum(np.histogram_bin_edges(X, 3, (x, 4.0))))(0.5)
