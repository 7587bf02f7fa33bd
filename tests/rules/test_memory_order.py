"""Gradients lie in C order, unless the argument lies in Fortran order: for every rule's samples."""

import numpy as np
import pytest

import srcad
from tests.marks import some
from tests.rules.harness import leaves
from tests.rules.samples import CALLS, name_of
from tests.rules.spellings import plain_program

BY_NAME = {}
for call in CALLS:
    BY_NAME.setdefault(name_of(call[0]), []).append(call)

MATRIX = np.arange(6.0).reshape(2, 3) + 0.5
OTHER = np.arange(6.0).reshape(2, 3)
TURNED = np.asfortranarray(OTHER)


def is_as_promised(gradient, x):
    if not isinstance(gradient, np.ndarray):
        return True
    is_fortran = isinstance(x, np.ndarray) and x.flags.f_contiguous and not x.flags.c_contiguous
    order = gradient.flags.f_contiguous if is_fortran else gradient.flags.c_contiguous
    return order and gradient.flags.writeable


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", some(BY_NAME, lambda k, _: k % 40 == 0, every=8))
def test_rule_gradients_have_memory_order_of_arguments(name):
    for call in BY_NAME[name]:
        f, operands = plain_program(call)
        wrt = tuple(range(len(operands)))
        if not operands:
            continue
        bars = srcad.grad(f, wrt=wrt)(*operands)
        again = srcad.pullback(f, *operands)[1](1.0)

        for bar, other, x in zip(bars, again, operands, strict=True):
            pairs = zip(leaves(bar), leaves(x), strict=False)
            assert all(is_as_promised(one, leaf) for one, leaf in pairs), call
            assert all(map(is_as_promised, leaves(other), leaves(x))), call


def rows_of_columns(a):
    total = 0.0
    for column in a.T:
        total = total + np.sum(column**2)
    return total


PROGRAMS = {
    "product of a transpose": lambda a: np.sum(a.T @ np.ones((2, 2))),
    "transpose": lambda a: np.sum(a.T**2),
    "columns": lambda a: np.sum(a[:, [0, 1]] ** 2),
    "part": lambda a: np.sum(np.concatenate([a, OTHER], 1) ** 2),
    "reversed": lambda a: np.sum(a[::-1] * OTHER),
    "einsum": lambda a: np.sum(np.einsum("ij,kj->ki", a, OTHER) ** 2),
    "global in Fortran order": lambda a: np.sum(a * a * TURNED),
    "global alone": lambda a: np.sum(a * TURNED),
    "loop": rows_of_columns,
    "branch": lambda a: np.sum((a.T if a[0, 0] > 0 else a.reshape(3, 2)) ** 2),
    "real part of a transform": lambda a: np.sum(np.fft.irfft(a[0]) ** 2),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_gradients_in_c_order(name, dtype):
    f, a = PROGRAMS[name], MATRIX.astype(dtype)

    assert is_as_promised(srcad.grad(f)(a), a)
    assert is_as_promised(srcad.value_and_grad(f)(a)[1], a)
    assert is_as_promised(srcad.pullback(f, a)[1](1.0)[0], a)


@pytest.mark.parametrize("name", PROGRAMS)
def test_hvp_in_c_order(name):
    assert is_as_promised(srcad.hvp(PROGRAMS[name])(MATRIX, MATRIX), MATRIX)


def test_structure_gradient_leaves_in_c_order():
    def f(p):
        return np.sum(p["w"].T * OTHER.T) + np.sum(p["pair"][0].T ** 2) + np.sum(p["pair"][1])

    gradient = srcad.grad(f)({"w": MATRIX, "pair": (MATRIX, MATRIX)})

    assert is_as_promised(gradient["w"], MATRIX)
    assert all(is_as_promised(bar, MATRIX) for bar in gradient["pair"])


def test_inactive_argument_in_other_memory_order():
    gradient = srcad.grad(lambda a, b: np.sum(2.0 * a * b))

    assert is_as_promised(gradient(MATRIX, OTHER), MATRIX)
    assert is_as_promised(gradient(MATRIX, TURNED), MATRIX)


def test_fortran_ordered_argument_gradient_in_fortran_order():
    assert is_as_promised(srcad.grad(lambda a: np.sum(a.T**2))(TURNED), TURNED)


def test_no_redundant_ascontiguousarray():
    gradient = srcad.grad(lambda a: np.sum(np.tanh(a @ a.T) * 2.0) + np.sum(a * OTHER * a))
    gradient(MATRIX)

    assert gradient.source.count("ascontiguousarray") <= 1
