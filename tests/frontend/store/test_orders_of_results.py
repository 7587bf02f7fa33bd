"""Memory orders of results: no function is taken to keep C order that does not."""

import numpy as np
import pytest
import scipy.linalg

import srcad
from srcad.errors import MutationError
from srcad.frontend.store.memory_effects import keeps_c_order
from tests.marks import some
from tests.modes.test_jvp import SAMPLES

SHARES = 16


@pytest.mark.parametrize("share", some(range(SHARES), lambda k, _: k == 0))
def test_functions_that_keep_c_order_return_arrays_in_c_order(share):
    for function, args, kwargs in SAMPLES[share::SHARES]:
        names = [a for a in (*args, *kwargs.values()) if isinstance(a, str)]
        if not keeps_c_order(function) or set(names) & set("FAK"):
            continue
        given = [in_c_order(arg) for arg in args]
        found = function(*given, **kwargs)
        for array in found if isinstance(found, tuple | list) else [found]:
            assert_in_c_order(function, array, given)


def in_c_order(arg):
    if isinstance(arg, tuple | list):
        return type(arg)(map(in_c_order, arg)) if type(arg) in (tuple, list) else arg
    return arg.copy() if isinstance(arg, np.ndarray) else arg


def assert_in_c_order(function, found, given):
    if isinstance(found, np.ndarray):
        view = any(isinstance(a, np.ndarray) and np.may_share_memory(a, found) for a in given)
        assert view or found.base is not None or found.flags.c_contiguous, function


SQUARE = np.array([[1.0, 0.3], [0.2, 0.8]])
TURNED = {
    "cholesky": lambda x: scipy.linalg.cholesky(x @ x.T + np.eye(2)),
    "pinv": lambda x: scipy.linalg.pinv(x),
    "solve_triangular": lambda x: scipy.linalg.solve_triangular(x, x),
    "nanquantile": lambda x: np.nanquantile(x, [0.2, 0.3], axis=0),
    "einsum": lambda x: np.einsum("ij,i->ji", x, x[0]),
    "linspace": lambda x: np.linspace(x[0], x[1], 3, axis=1),
    "tile": lambda x: np.tile(np.asfortranarray(2.0 * x), (1, 1)),
    "polyder": lambda x: np.polynomial.polynomial.polyder(np.stack([x[0], x[1]]), axis=1),
}


@pytest.mark.parametrize("name", TURNED)
def test_write_through_ravel_of_a_result_of_unknown_order_is_refused(name):
    make = TURNED[name]

    def f(x):
        r = make(x)
        v = r.ravel()
        v[0] = 7.0
        return np.sum(r * r)

    with pytest.raises(MutationError):
        srcad.gradient(f, SQUARE)


@pytest.mark.parametrize(
    "make", [lambda y: np.polyder(y, 0), lambda y: np.polyint(y, m=0), lambda y: np.diff(y, n=0)]
)
def test_write_into_what_may_be_the_argument_itself_is_refused(make):
    def f(x):
        y = x * x
        z = make(y)
        z[0] = 7.0
        return np.sum(y * y)

    with pytest.raises(MutationError):
        srcad.gradient(f, SQUARE[0])
