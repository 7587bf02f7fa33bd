"""Vectors that a matrix determines up to their phases: eigenvectors, singular vectors, signs."""

import numpy as np
import pytest

import srcad
from srcad.errors import UnsupportedTypeError
from tests.complex.test_programs import inner, random_like, slope
from tests.marks import some

A = np.array([[2.0, 1 + 1j, 0.3j], [1 - 1j, -1.0, 0.5], [-0.3j, 0.5, 0.7]])
TALL = np.array([[1.0, 2j], [0.4 + 0.1j, 1.0], [0.3, -0.7j]])


def projector(a):
    v = np.linalg.eigh(a)[1]
    weights = np.array([1.0, 2.0, 4.0])
    return np.sum(np.abs(v * weights @ v.conj().T) ** 3)


def upper_projector(a):
    w, v = np.linalg.eigh(a, UPLO="U")
    return np.abs(np.vdot(v[:, 0], np.array([1.0, 1j, 0.5]))) ** 2 * w[1]


def eigenvalues(a):
    return np.sum(np.linalg.eigvalsh(a) ** 3 * np.array([1.0, 2.0, 3.0]))


def polar_factor(a):
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return np.sum(np.abs(u @ vh + 0.3) ** 3) + s[1]


def left_vectors(a):
    u, s, _ = np.linalg.svd(a, full_matrices=False)
    return np.sum(np.abs(u) ** 4 * s)


def right_vectors(a):
    _, s, vh = np.linalg.svd(a, full_matrices=False)
    return np.sum(np.abs(vh) ** 4 * s[:, None])


def singular_values(a):
    return np.sum(np.linalg.svd(a, compute_uv=False) ** 3 * np.arange(1, 1 + min(a.shape)))


def rebuilt(a):
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return np.sum(np.abs(u * np.sqrt(s) @ vh) ** 3)


CASES = [(f, A) for f in (projector, upper_projector, eigenvalues)] + [
    (f, m) for f in (polar_factor, left_vectors, right_vectors, singular_values, rebuilt)
    for m in (TALL, TALL.T.copy(), A + 1j * np.eye(3))
]  # fmt: skip


@pytest.mark.parametrize(
    "case", some(CASES, lambda k, _: k in (0, 3, 7)), ids=lambda case: case[0].__name__
)
def test_phase_invariant_function_gradient(case):
    function, point = case
    dot = random_like(point, np.random.default_rng(3))

    expected = slope(function, (point,), (dot,))

    assert inner(srcad.grad(function)(point), dot) == pytest.approx(expected, rel=1e-6)
    assert srcad.jvp(function, (point,), (dot,))[1] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("point", [A, A + 0.5 * np.eye(3)])
def test_unused_triangle_of_eigh_has_zero_gradient(point):
    gradient = srcad.grad(projector)(point)

    np.testing.assert_array_equal(np.triu(gradient, 1), 0.0)
    np.testing.assert_array_equal(np.diag(gradient).imag, 0.0)


@pytest.mark.parametrize(
    "function",
    [
        lambda a: (np.linalg.eigh(a)[1][0, 1] * (1 + 2j)).real,
        lambda a: (np.linalg.svd(a, full_matrices=False)[0][0, 0] * (1 + 2j)).real,
        lambda a: (np.linalg.svd(a, full_matrices=False)[2][0, 0] * (1 + 2j)).real,
    ],
    ids=["eigh", "svd left", "svd right"],
)
def test_phase_dependent_function_rejected(function):
    with pytest.raises(UnsupportedTypeError, match="phases of complex eigenvectors"):
        srcad.grad(function)(A)


def test_sign_of_complex_number_gradient():
    def f(z):
        return np.sum((np.sign(z) * np.array([1.0, 2j])).real)

    z = np.array([0.3 - 0.8j, 2j])
    dot = np.array([1.0, 0.5 - 1j])
    expected = slope(f, (z,), (dot,))

    assert inner(srcad.grad(f)(z), dot) == pytest.approx(expected)
    assert srcad.jvp(f, (z,), (dot,))[1] == pytest.approx(expected)
    np.testing.assert_array_equal(srcad.grad(lambda x: np.sum(np.sign(x) * x))(z.real), [1.0, 0.0])


def test_abs_at_complex_zero_has_zero_gradient():
    zero = np.array([0j, 3 + 4j])

    np.testing.assert_allclose(srcad.grad(lambda z: np.sum(np.abs(z)))(zero), [0, 0.6 + 0.8j])
    assert srcad.grad(abs)(0j) == 0
    assert srcad.grad(lambda z: np.linalg.norm(z[:1]))(zero)[0] == 0


@pytest.mark.parametrize("f", [np.arcsin, np.arccos, np.arcsinh, np.arccosh, np.arctanh, np.sqrt])
@pytest.mark.parametrize("z", [2 + 0j, complex(2, -0.0), -2 + 0j, complex(-2, -0.0), 2j, -2j,
                               complex(-0.0, 2), complex(-0.0, -2)])  # fmt: skip
def test_branch_cut_slope_matches_value_side(f, z):
    h = 1e-6
    if z.real == 0:
        near = [complex(z.real, z.imag + h), complex(z.real, z.imag - h)]
    else:
        near = [complex(z.real + h, z.imag), complex(z.real - h, z.imag)]

    slope = srcad.jvp(f, (z,), ((near[0] - near[1]) / (2 * h),))[1]

    assert slope == pytest.approx((f(near[0]) - f(near[1])) / (2 * h), abs=1e-5)
