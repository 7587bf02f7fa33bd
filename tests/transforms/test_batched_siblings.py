"""Many directions at once through functions that have a sibling with a formula for it."""

import numpy as np
import pytest
from scipy import stats

from srcad import grad, jacfwd, jacrev
from tests.marks import some

X = np.linspace(0.5, 2.0, 6)
STEP = 1e-6


def of_rows(x):
    return np.sin(x).reshape(2, 3)


CALLS = {
    "append": lambda x: np.append(np.sin(x), np.cos(x)),
    "append to a matrix": lambda x: np.append(
        of_rows(x), np.arange(1.0, 7.0).reshape(2, 3), axis=1
    ),
    "append these to a matrix": lambda x: np.append(
        np.arange(1.0, 7.0).reshape(2, 3), of_rows(x), 0
    ),
    "append matrices": lambda x: np.append(of_rows(x), np.arange(1.0, 7.0).reshape(2, 3)),
    "cumulative_sum": lambda x: np.cumulative_sum(of_rows(x), axis=0, include_initial=True),
    "cumulative_sum of a vector": lambda x: np.cumulative_sum(np.sin(x)),
    "squeeze": lambda x: np.squeeze(of_rows(x)[None, :, None]),
    "atleast_1d": lambda x: np.atleast_1d(np.sin(x)[0]),
    "atleast_2d": lambda x: np.atleast_2d(np.sin(x)),
    "atleast_3d of a number": lambda x: np.atleast_3d(np.sin(x)[1]),
    "atleast_3d of a vector": lambda x: np.atleast_3d(np.sin(x)),
    "atleast_3d of a matrix": lambda x: np.atleast_3d(of_rows(x)),
    "split": lambda x: np.split(of_rows(x), 3, axis=1)[1],
    "split at indices": lambda x: np.split(np.sin(x), [1, 3])[1],
    "array_split": lambda x: np.array_split(np.sin(x), 4)[1],
    "hsplit": lambda x: np.hsplit(of_rows(x), 3)[0],
    "hsplit of a vector": lambda x: np.hsplit(np.sin(x), 2)[1],
    "vsplit": lambda x: np.vsplit(of_rows(x), 2)[1],
    "dsplit": lambda x: np.dsplit(of_rows(x)[None], 3)[1],
    "linalg.diagonal": lambda x: np.linalg.diagonal(of_rows(x), offset=1),
    "linalg.trace": lambda x: np.linalg.trace(of_rows(x)[None]),
    "inner": lambda x: np.inner(np.arange(1.0, 7.0).reshape(2, 3), of_rows(x)),
    "tensordot": lambda x: np.tensordot(of_rows(x), np.arange(1.0, 7.0).reshape(2, 3), ([0], [0])),
    "linalg.tensordot": lambda x: np.linalg.tensordot(
        np.arange(1.0, 7.0).reshape(2, 3).T, of_rows(x), axes=1
    ),
    "vecdot": lambda x: np.vecdot(of_rows(x), np.arange(1.0, 7.0).reshape(2, 3)),
    "vecdot of a vector": lambda x: np.vecdot(np.sin(x)[:3], np.arange(1.0, 7.0).reshape(2, 3)),
    "linalg.vecdot": lambda x: np.linalg.vecdot(np.arange(1.0, 7.0).reshape(2, 3)[0], of_rows(x)),
    "dstack": lambda x: np.dstack([of_rows(x), np.arange(1.0, 7.0).reshape(2, 3)]),
    "dstack of vectors": lambda x: np.dstack([np.sin(x), x]),
}
if hasattr(np, "matvec"):
    CALLS |= {
        "matvec": lambda x: np.matvec(of_rows(x), np.arange(1.0, 7.0).reshape(2, 3)[0]),
        "matvec, stack of matrices": lambda x: np.matvec(
            np.arange(1.0, 13.0).reshape(2, 2, 3), of_rows(x)
        ),
        "matvec, stack of vectors": lambda x: np.matvec(
            of_rows(x), np.arange(1.0, 13.0).reshape(2, 2, 3)
        ),
        "vecmat": lambda x: np.vecmat(np.sin(x)[:2], np.arange(1.0, 7.0).reshape(2, 3)),
        "vecmat, stack of vectors": lambda x: np.vecmat(
            np.arange(1.0, 7.0).reshape(2, 3)[:, :2], of_rows(x)
        ),
    }
if not hasattr(np, "cumulative_sum"):
    CALLS = {name: f for name, f in CALLS.items() if not name.startswith("cumulative")}


@pytest.mark.parametrize("name", some(CALLS, lambda k, _: k % 3 == 0))
def test_directions_need_no_loop(name):
    f = CALLS[name]
    columns = jacfwd(f)
    slopes = [(np.asarray(f(X + d)) - np.asarray(f(X - d))) / (2 * STEP) for d in STEP * np.eye(6)]

    np.testing.assert_allclose(columns(X), np.stack(slopes, -1), atol=1e-6)
    assert "for value" not in columns.source


@pytest.mark.parametrize("name", ["logpdf", "logsf"])
def test_cotangent_of_a_number_that_may_be_cut_takes_several_directions(name):
    times, events = np.array([1.2, 0.7, 2.5]), np.array([True, False, True])

    def function(mu, scale):
        life, total = stats.lognorm(np.exp(scale), scale=np.exp(mu)), 0.0
        for time, event in zip(times, events, strict=True):
            total += getattr(life, name)(time) if event else life.logsf(time)
        return -total

    gradient = grad(function, wrt=(0, 1))
    rows = jacrev(gradient, wrt=(0, 1))(0.1, -0.3)
    for k, column in enumerate(rows):
        ends = [gradient(*(np.array([0.1, -0.3]) + step)) for step in signed_steps(k)]
        np.testing.assert_allclose(column, np.subtract(*ends) / (2 * STEP), rtol=1e-6)


def signed_steps(k):
    step = STEP * np.eye(2)[k]
    return step, -step
