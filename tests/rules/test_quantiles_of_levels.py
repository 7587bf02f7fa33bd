"""Quantiles of levels with two axes: the plain call's entries, or refused."""

import numpy as np
import pytest

import srcad
from srcad.errors import UnsupportedTypeError

X = np.random.default_rng(0).normal(size=(3, 4, 5))
X_WITH_NAN = np.where(X < -1.2, np.nan, X)
LEVELS = np.array([[0.2], [0.6], [0.9]])


@pytest.mark.parametrize("function", [np.quantile, np.nanquantile], ids=lambda f: f.__name__)
@pytest.mark.parametrize("axis", [None, 0, -1])
def test_tangent_of_levels_with_two_axes_agrees_with_differences(function, axis):
    x_dot = np.random.default_rng(1).normal(size=X.shape)
    x = X_WITH_NAN if function is np.nanquantile else X

    y, y_dot = srcad.jvp(lambda x: function(x, LEVELS, axis=axis), (x,), (x_dot,))

    ends = [function(x + step * x_dot, LEVELS, axis=axis) for step in (1e-7, -1e-7)]
    np.testing.assert_allclose(y_dot, (ends[0] - ends[1]) / 2e-7, atol=1e-6)


@pytest.mark.parametrize("axis", [(0, 1), (2, -3)])
def test_levels_with_two_axes_over_several_axes_without_nan_are_refused(axis):
    for function, scale in ((np.nanquantile, 1), (np.nanpercentile, 100)):
        with pytest.raises(UnsupportedTypeError, match=r"use np.ravel\(q\)"):
            srcad.jvp(lambda x: function(x, scale * LEVELS, axis=axis), (X_WITH_NAN,), (X,))  # noqa: B023


def test_levels_with_one_axis_over_several_axes_without_nan_agree_with_differences():
    q, x_dot = np.ravel(LEVELS), np.random.default_rng(1).normal(size=X.shape)

    y, y_dot = srcad.jvp(lambda x: np.nanquantile(x, q, axis=(2, -3)), (X_WITH_NAN,), (x_dot,))

    ends = [np.nanquantile(X_WITH_NAN + s * x_dot, q, axis=(2, -3)) for s in (1e-7, -1e-7)]
    np.testing.assert_allclose(y_dot, (ends[0] - ends[1]) / 2e-7, atol=1e-6)
