"""Rotations of SciPy that are made inside of a differentiated function."""

import numpy as np
import pytest
import scipy
from scipy.spatial.transform import Rotation

import srcad
from srcad import errors
from srcad.testing import check_grads
from tests.marks import some

pytestmark = pytest.mark.skipif(
    np.lib.NumpyVersion(scipy.__version__) < "1.17.0", reason="the methods are those of SciPy 1.17"
)
V = np.array([0.4, -1.3, 0.7])
STACK = np.array([[0.4, -1.3, 0.7], [2.0, 0.3, -0.5]])
W = np.arange(9.0).reshape(3, 3) - 3.3


def matrix(v):
    return np.sum(np.sin(Rotation.from_rotvec(v).as_matrix() * W))


def quaternion(v):
    return np.sum(Rotation.from_rotvec(v).as_quat() ** 3)


def moved(v):
    return np.sum(Rotation.from_rotvec(v).apply(np.array([1.0, 2.0, -0.5])) ** 3)


def moved_back(v):
    return np.sum(Rotation.from_rotvec(v).apply(np.array([1.0, 2.0, -0.5]), inverse=True) ** 3)


def inverse(v):
    return np.sum(Rotation.from_rotvec(v).inv().as_matrix() * W)


def product(v):
    return np.sum((Rotation.from_rotvec(v) * Rotation.from_rotvec(v * v)).as_matrix() * W)


def normalised(v):
    quat = np.concatenate((v, v[..., :1] + 2), -1)
    return np.sum(Rotation.from_quat(quat).as_matrix() * W)


def euler(v):
    return np.sum(Rotation.from_euler("zxy", v).as_matrix() * W)


def turning_euler(v):
    return np.sum(Rotation.from_euler("ZYX", 40 * v, degrees=True).as_quat() * np.arange(4.0))


def vector(v):
    turned = Rotation.from_rotvec(v) * Rotation.from_euler("x", 0.4)
    return np.sum(turned.as_rotvec(degrees=True) ** 2 * np.arange(3.0))


def angle(v):
    return np.sum((Rotation.from_rotvec(v) * Rotation.from_quat([0.1, -0.2, 0.3, 1.0])).magnitude())


def scalar_first(v):
    quat = Rotation.from_rotvec(3 * v).as_quat(canonical=True, scalar_first=True)
    return np.sum(Rotation.from_quat(quat, scalar_first=True).apply([1.0, 2.0, 3.0]) ** 3)


def by_constant(v):
    return np.sum(FIXED.apply(v, inverse=True) * np.arange(3.0) + FIXED.apply(vectors=v) ** 2)


def angles(v):
    turned = Rotation.from_rotvec(v)
    return np.sum(turned.as_euler("xyz") ** 3 + turned.as_euler("ZYX", degrees=True) ** 2 / 100)


def angles_about_an_axis_twice(v):
    return np.sum(np.sin(Rotation.from_rotvec(v).as_euler("zxz")) * np.arange(1.0, 4.0))


def after_constant(v):
    return np.sum((FIXED * Rotation.from_rotvec(v)).as_rotvec() ** 3)


def of_rows(v):
    turned = Rotation.from_rotvec(v[None] * np.arange(1.0, 4)[:, None])
    return turned[1:].magnitude()[0] + len(turned) * np.sum(turned[0].as_matrix() * W)


def from_matrix(v):
    tilted = np.eye(3) + v[..., :, None] * np.arange(3.0) / 9
    return np.sum(np.sin(Rotation.from_matrix(tilted).as_matrix() * W))


def from_entries(v):
    c, s = np.cos(v[..., 0].ravel()[0]), np.sin(v[..., 0].ravel()[0])
    return np.sum(Rotation.from_matrix([[c, -s, 0], [s, c, 0], [0, 0, 1]]).as_quat() ** 3)


def parameters(v):
    turned = Rotation.from_mrp(v) * Rotation.from_mrp(v[..., ::-1])
    return np.sum(turned.as_mrp() ** 3)


def powers(v):
    turned = Rotation.from_rotvec(v)
    steps = (
        (turned**2).as_matrix() + (turned**-1).as_matrix() + (turned ** v.ravel()[0]).as_matrix()
    )
    return np.sum(steps * W) + np.sum((turned**1).as_quat() ** 3) + np.sum((turned**0).as_quat())


def joined(v):
    first = Rotation.from_rotvec(v)
    both = Rotation.concatenate([first, FIXED, first.inv()])
    return np.sum(both.as_quat() * np.arange(4.0)) + both.shape[0] + both[0].single


def weighted_mean(v):
    turned = Rotation.from_rotvec(v.ravel()[:3] * np.array([[1.0], [0.5], [-0.3]]))
    return (
        np.sum(turned.mean(v.ravel()[:3] ** 2).as_rotvec() ** 3)
        + turned.mean([1, 2, 3]).magnitude()
    )


FIXED = Rotation.from_rotvec([0.3, -0.2, 0.9])

PROGRAMS = [
    matrix, quaternion, moved, moved_back, inverse, product, normalised, euler, turning_euler,
    vector, angle, scalar_first, by_constant, after_constant, angles, angles_about_an_axis_twice,
    from_matrix, from_entries, parameters, powers, joined, weighted_mean,
]  # fmt: skip


@pytest.mark.parametrize("f", some(PROGRAMS, lambda k, _: k % 4 == 0))
@pytest.mark.parametrize("v", [V, STACK], ids=["one", "stack"])
def test_rotation_gradient(f, v):
    assert srcad.value_and_grad(f)(v)[0] == f(v)
    check_grads(f, (v,), order=2 if v is V else 1)


@pytest.mark.parametrize("scale", [0.0, 1e-5, 1e-2])
def test_rotation_by_small_angle_gradient(scale):
    check_grads(matrix, (scale * V,), order=2)


@pytest.mark.parametrize("vectors", some([STACK[:1], V, STACK], 1))
def test_rotation_of_vectors_gradient(vectors):
    def f(v, x):
        return np.sum(Rotation.from_rotvec(v).apply(x) ** 2 * x)

    check_grads(f, (V, vectors), order=2)
    check_grads(f, (STACK, vectors), order=2)


def test_rows_of_rotations_gradient():
    check_grads(of_rows, (V,), order=2)


@pytest.mark.parametrize(
    "read", [lambda r: r.as_davenport(np.eye(3), "e"), lambda r: r.reduce().as_quat()]
)
def test_method_of_rotation_without_derivative_rejected(read):
    def f(v):
        return np.sum(read(Rotation.from_rotvec(v)))

    with pytest.raises(errors.UnsupportedSyntaxError, match="of a rotation"):
        srcad.grad(f)(V)


def test_mean_of_rotations_along_axis_rejected():
    def f(v):
        return np.sum(Rotation.from_rotvec(v).mean(axis=0).as_quat())

    with pytest.raises(errors.NotDifferentiableError, match="along an axis"):
        srcad.grad(f)(STACK)


@pytest.mark.parametrize("n", [1, -1, 0])
def test_rotation_power_gradient_with_respect_to_exponent(n):
    def f(v, n):
        return np.sum((Rotation.from_rotvec(v) ** n).as_matrix() * W)

    slope = (f(V, n + 1e-6) - f(V, n - 1e-6)) / 2e-6
    assert srcad.grad(f, wrt=(0, 1))(V, float(n))[1] == pytest.approx(slope, rel=1e-8)


def test_matrix_of_rotation_gradient_is_along_rotations():
    def f(a):
        return np.sum(Rotation.from_matrix(a).as_matrix() * W)

    a = Rotation.from_rotvec(V).as_matrix()
    bar = srcad.grad(f)(a)

    np.testing.assert_allclose(a.T @ bar, -bar.T @ a, atol=1e-14)
    assert np.max(abs(bar)) > 1
    check_grads(f, (a,), order=1)


def test_rotation_of_active_values_not_returned():
    def f(v):
        return np.sum(v), Rotation.from_rotvec(v)

    with pytest.raises(errors.UnsupportedTypeError, match="cannot return a rotation"):
        srcad.grad(f, has_aux=True)(np.ones(3))
