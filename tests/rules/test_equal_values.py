"""Eigenvectors and singular vectors of values that are equal up to rounding."""

import importlib.util
import warnings

import numpy as np
import pytest
from scipy import linalg

import srcad
from srcad.errors import NoDerivativeWarning
from tests.marks import some

RNG = np.random.default_rng(0)
M = RNG.normal(size=(3, 3))
WEIGHTS = M + M.T
Q = np.linalg.qr(RNG.normal(size=(3, 3)))[0]
UNITARY = np.linalg.qr(RNG.normal(size=(3, 3)) + 1j * RNG.normal(size=(3, 3)))[0]
HERMITIAN = RNG.normal(size=(3, 3)) + 1j * RNG.normal(size=(3, 3))
HERMITIAN = HERMITIAN + HERMITIAN.conj().T
TURNED = np.diag([1.0, 1.0, 2.0]) @ Q


def levels(gap, basis=Q):
    """A matrix with two levels at a gap, and one apart from them."""
    matrix = (basis * [1.0, 1.0 + gap, 2.0]) @ basis.conj().T
    return (matrix + matrix.conj().T) / 2


def direction(*shape, seed=1):
    return np.random.default_rng(seed).normal(size=shape)


def recorded(function, *args):
    """Return the result of a call, and the warnings that it gives."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        result = function(*args)
    return result, found


def slope(f, x, v, step=1e-4):
    """The derivative along a direction, by differences of fourth order."""
    near, far = f(x + step * v) - f(x - step * v), f(x + 2 * step * v) - f(x - 2 * step * v)
    return (8 * near - far) / (12 * step)


# ------------------------------------------------------------------------ functions of a matrix
def by_eigenvectors(function):
    def f(s):
        w, v = np.linalg.eigh(0.5 * (s + s.T))
        return np.sum(WEIGHTS * ((v * function(w)) @ v.T))

    return f


def by_scipy(s):
    w, v = linalg.eigh(0.5 * (s + s.T), driver="evd")
    return np.sum(WEIGHTS * ((v * np.exp(w)) @ v.T))


def by_eigenvalues_beside(s):
    w = np.linalg.eigvalsh(s)
    v = np.linalg.eigh(s)[1]
    return np.sum(WEIGHTS * ((v * np.exp(w)) @ v.T))


def by_two_decompositions(s):
    return np.sum(WEIGHTS * ((np.linalg.eigh(s)[1] * np.exp(np.linalg.eigh(s)[0])) @ Q))


def by_eig(s):
    w, v = np.linalg.eig(s)
    return np.real(np.sum(WEIGHTS * ((v * np.exp(w)) @ v.T)))


def by_singular_vectors(s):
    u, values, vt = np.linalg.svd(s)
    return np.sum(WEIGHTS * (u * np.sqrt(values) @ vt))


def by_first_vector(s):
    return np.linalg.eigh(s)[1][0, 0] ** 3


@pytest.mark.parametrize(
    "f",
    some(
        [by_eigenvectors(np.exp), by_eigenvalues_beside, by_singular_vectors, by_first_vector,
         by_scipy, by_two_decompositions, by_eig], 4),
)  # fmt: skip
@pytest.mark.parametrize("gap", some([1e-14, 0.0, 1e-11], 1))
def test_coupled_vectors_have_nan_and_one_warning(f, gap):
    bar, found = recorded(srcad.grad(f), levels(gap))

    assert np.isnan(bar[np.tril_indices(3)]).all()  # the triangle that is read
    assert [(w.category, w.filename) for w in found] == [(NoDerivativeWarning, __file__)]


@pytest.mark.parametrize("function", [np.log, np.exp, lambda w: w - 1.0])
def test_function_of_the_identity_has_no_finite_gradient(function):
    bar, found = recorded(srcad.grad(by_eigenvectors(function)), np.eye(3))

    assert np.isnan(bar).all()
    assert len(found) == 1


def test_function_of_a_matrix_above_the_limit_is_right():
    s = levels(1e-7)

    bar, found = recorded(srcad.grad(by_eigenvectors(np.exp)), s)

    np.testing.assert_allclose(bar, linalg.expm_frechet(s, WEIGHTS, compute_expm=False), rtol=1e-7)
    assert not found


def test_one_of_several_matrices_has_nan():
    def f(s):
        w, v = np.linalg.eigh(s)
        return np.sum(WEIGHTS * ((v * np.exp(w)[:, None, :]) @ np.swapaxes(v, -1, -2)))

    s = np.stack([levels(0.0), levels(0.5)])

    bar, found = recorded(srcad.grad(f), s)

    right = linalg.expm_frechet(s[1], WEIGHTS, compute_expm=False)
    np.testing.assert_allclose((bar[1] + bar[1].T) / 2, right)
    assert np.isnan(bar[0][np.tril_indices(3)]).all()
    assert len(found) == 1


def test_warning_is_given_once_per_line():
    grad = srcad.grad(by_eigenvectors(np.cosh))
    recorded(grad, levels(0.0))

    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        for _ in range(3):
            grad(levels(0.0))

    assert len(found) == 1
    assert "test_equal_values.py" in str(found[0].message)


def test_exported_file_warns(tmp_path):
    file = tmp_path / "of_levels.py"
    srcad.grad(by_first_vector).export(file, levels(0.0))
    spec = importlib.util.spec_from_file_location("of_levels", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    bar, found = recorded(module.grad_by_first_vector, levels(0.0))

    line = by_first_vector.__code__.co_firstlineno + 1
    assert np.isnan(bar[np.tril_indices(3)]).all()
    assert [(w.filename, w.lineno) for w in found] == [("test_equal_values.py", line)]


# ------------------------------------------------------------------------ projectors
def of_projector(s, weights):
    """The derivative of the weighted projector onto the two equal levels, in closed form."""
    w, v = np.linalg.eigh(s)
    turned = v.conj().T @ weights @ v
    between = np.zeros_like(turned)
    for i in (0, 1):
        between[i, 2] = turned[i, 2] / (w[i] - w[2])
        between[2, i] = turned[2, i] / (w[i] - w[2])
    return v @ between @ v.conj().T


def occupied(s):
    c = np.linalg.eigh(0.5 * (s + s.T))[1][:, :2]
    return np.sum(WEIGHTS * (c @ c.T))


def occupied_by_scipy(s):
    c = linalg.eigh(0.5 * (s + s.T), driver="evd")[1][:, :2]
    return np.sum(WEIGHTS * (c @ c.T))


def occupied_by_subset(s):
    c = linalg.eigh(0.5 * (s + s.T), subset_by_index=(0, 1))[1]
    return np.sum(WEIGHTS * (c @ c.T))


def unoccupied(s):
    c = np.linalg.eigh(0.5 * (s + s.T))[1][:, 2]
    return -np.sum(WEIGHTS * np.outer(c, c))


@pytest.mark.parametrize("f", [occupied, occupied_by_scipy, occupied_by_subset, unoccupied])
@pytest.mark.parametrize("gap", some([1e-14, 0.0, 1e-10, 1e-8], 1))
def test_projector_onto_equal_levels_is_right(f, gap):
    s = levels(gap)

    bar, found = recorded(srcad.grad(f), s)

    np.testing.assert_allclose(bar, of_projector(s, WEIGHTS), rtol=1e-7, atol=1e-8)
    assert not found


def test_projector_of_complex_levels_is_right():
    def f(s):
        c = np.linalg.eigh(0.5 * (s + s.conj().T))[1][:, :2]
        return np.real(np.sum(HERMITIAN.conj() * (c @ c.conj().T)))

    s = levels(0.0, UNITARY)

    bar, found = recorded(srcad.grad(f), s)

    np.testing.assert_allclose(bar, of_projector(s, HERMITIAN), atol=1e-12)
    assert not found


def test_projector_of_single_precision_is_right():
    bar, found = recorded(srcad.grad(occupied), levels(0.0).astype(np.float32))

    assert bar.dtype == np.float32
    np.testing.assert_allclose(bar, of_projector(levels(0.0), WEIGHTS), atol=1e-5)
    assert not found


def test_single_precision_without_digits_is_nan():
    bar, found = recorded(srcad.grad(by_eigenvectors(np.exp)), levels(0.0).astype(np.float32))

    assert np.isnan(bar).all()
    assert len(found) == 1


def test_projector_of_a_pair_of_matrices_is_right():
    b = np.diag([1.0, 2.0, 3.0]) + 0.1
    lower = np.linalg.cholesky(b)
    s, v = lower @ levels(0.0) @ lower.T, direction(3, 3)

    def f(s):
        c = linalg.eigh(0.5 * (s + s.T), b)[1][:, :2]
        return np.sum(WEIGHTS * (c @ c.T))

    bar, found = recorded(srcad.grad(f), s)

    assert np.sum(bar * v) == pytest.approx(slope(f, s, v), rel=1e-7)
    assert not found


def test_projector_of_a_banded_matrix_is_right():
    band, v = np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 2.0]]), direction(2, 3)

    def f(band):
        c = linalg.eig_banded(band)[1][:, :2]
        return np.sum(WEIGHTS * (c @ c.T))

    bar, found = recorded(srcad.grad(f), band)

    assert np.sum(bar * v) == pytest.approx(slope(f, band, v), rel=1e-7)
    assert not found


def test_energy_of_a_ring_is_twice_the_bond_order():
    def energy(beta):
        h = np.zeros((6, 6))
        for i in range(6):
            h[i, (i + 1) % 6] = h[(i + 1) % 6, i] = beta[i]
        c = np.linalg.eigh(h)[1]
        return np.sum(2 * c[:, :3] @ c[:, :3].T * h)

    bar, found = recorded(srcad.grad(energy), np.full(6, -1.0))

    np.testing.assert_allclose(bar, 4 / 3)
    assert not found


def test_half_of_an_equal_pair_has_nan():
    def f(s):
        c = np.linalg.eigh(s)[1][:, :1]
        return np.sum(WEIGHTS * (c @ c.T))

    bar, found = recorded(srcad.grad(f), levels(0.0))

    assert np.isnan(bar[np.tril_indices(3)]).all()
    assert len(found) == 1


def test_values_beside_a_vector_apart_stay_right():
    def f(s):
        w, v = np.linalg.eigh(0.5 * (s + s.T))
        return np.sum(w**2) - np.sum(WEIGHTS * np.outer(v[:, 2], v[:, 2]))

    s = levels(1e-12)

    bar, found = recorded(srcad.grad(f), s)

    np.testing.assert_allclose(bar, 2 * s + of_projector(s, WEIGHTS), atol=1e-8)
    assert not found


# ------------------------------------------------------------------------ singular vectors
def rotation(a):
    u, _, vt = np.linalg.svd(a)
    return np.sum(WEIGHTS * (u @ vt))


def rotation_by_scipy(a):
    u, _, vt = linalg.svd(a)
    return np.sum(WEIGHTS * (u @ vt))


def factor(a):
    return np.sum(WEIGHTS * linalg.polar(a)[0])


def stretch(a):
    return np.sum(WEIGHTS * linalg.polar(a)[1])


@pytest.mark.parametrize("f", [rotation, rotation_by_scipy, factor])
@pytest.mark.parametrize("gap", some([0.0, 1e-13], 1))
def test_nearest_rotation_of_equal_stretches_is_right(f, gap):
    a, v = np.diag([1.0, 1.0 + gap, 2.0]) @ Q, direction(3, 3)

    bar, found = recorded(srcad.grad(f), a)

    assert np.sum(bar * v) == pytest.approx(slope(factor, a, v), rel=1e-8)
    assert not found


def test_complex_unitary_factor_of_equal_stretches_is_right():
    def f(a):
        u, _, vh = np.linalg.svd(a)
        return np.real(np.sum(HERMITIAN.conj() * (u @ vh)))

    def right(a):
        return np.real(np.sum(HERMITIAN.conj() * linalg.polar(a)[0]))

    a, v = np.diag([1.0, 1.0, 2.0]) @ UNITARY, direction(3, 3) * (1 + 2j)

    bars = [srcad.grad(g)(a) for g in (f, right)]

    for bar in bars:
        assert np.real(np.sum(bar.conj() * v)) == pytest.approx(slope(right, a, v), rel=1e-8)


def test_truncation_of_singular_values_that_are_zero_is_right():
    a, v = np.diag([3.0, 2.0, 0.0, 0.0]), direction(4, 4)

    def f(a):
        u, s, vt = np.linalg.svd(a)
        return np.sum((u[:, :2] * s[:2] @ vt[:2])[:2] ** 2)

    bar, found = recorded(srcad.grad(f), a)

    assert np.sum(bar * v) == pytest.approx(slope(f, a, v), rel=1e-8)
    assert not found


def test_rotation_of_a_matrix_of_rank_one_has_nan():
    bar, found = recorded(srcad.grad(rotation), np.outer([1.0, 2.0, 3.0], [0.5, 1.0, -1.0]))

    assert np.isnan(bar).all()
    assert found


def test_projector_onto_the_range_of_equal_stretches_is_right():
    a, v = np.concatenate([TURNED, np.zeros((1, 3))]), direction(4, 3)
    weights = direction(4, 4)

    def f(a):
        basis = linalg.orth(a)
        return np.sum(weights * (basis @ basis.T))

    bar, found = recorded(srcad.grad(f), a)

    assert np.sum(bar * v) == pytest.approx(slope(f, a, v), rel=1e-8)
    assert not found


# ------------------------------------------------------------------------ polar factors
def both_left(a):
    u, p = linalg.polar(a, "left")
    return np.sum(u**3) + np.sum(WEIGHTS * p @ p)


def both_right(a):
    u, p = linalg.polar(a)
    return np.sum(u**3) + np.sum(WEIGHTS * p @ p)


def procrustes(a):
    return np.sum(WEIGHTS * linalg.orthogonal_procrustes(np.eye(3), a)[0])


POLAR = [
    (factor, TURNED), (procrustes, TURNED), (both_left, np.concatenate([TURNED.T, M[:, :1]], 1)),
    (both_right, np.concatenate([TURNED, M[:1]])), (stretch, TURNED),
]  # fmt: skip


@pytest.mark.parametrize("case", some(POLAR, 1))
def test_polar_factors_of_equal_stretches_have_a_derivative(case):
    f, a = case
    v = direction(*a.shape)

    assert np.sum(srcad.grad(f)(a) * v) == pytest.approx(slope(f, a, v), rel=1e-8)
    assert srcad.jvp(f, (a,), (v,))[1] == pytest.approx(slope(f, a, v), rel=1e-8)


@pytest.mark.parametrize("case", some(POLAR, 0))
def test_polar_factors_of_equal_stretches_have_a_second_derivative(case):
    f, a = case
    v, u = direction(*a.shape), direction(*a.shape, seed=2)

    second = np.sum(np.tensordot(srcad.hessian(f)(a), v, 2) * u)

    assert second == pytest.approx(np.sum(slope(srcad.grad(f), a, v) * u), rel=1e-7)


@pytest.mark.parametrize("f", [factor, procrustes])
def test_polar_factor_without_rank_has_nan(f):
    assert np.isnan(srcad.grad(f)(np.outer([1.0, 2.0, 3.0], [0.5, 1.0, -1.0]))).all()


# ------------------------------------------------------------------------ other modes, higher order
@pytest.mark.parametrize("f", some([occupied, by_eigenvectors(np.exp), rotation], 1))
def test_tangents_and_second_derivatives_at_equal_values_are_nan(f):
    s = TURNED if f is rotation else levels(0.0)

    tangent, found = recorded(lambda: srcad.jvp(f, (s,), (WEIGHTS,))[1])
    second, more = recorded(srcad.hessian(f), s)

    assert np.isnan(tangent)
    assert np.isnan(second).any()
    assert found
    assert more


def vectors(s):
    w, v = np.linalg.eigh(0.5 * (s + s.T))
    return np.sum(WEIGHTS * v**2) + np.sum(w**3 * v[0] ** 2)


def bases(a):
    u, s, vt = np.linalg.svd(a)
    return np.sum(WEIGHTS * u**2) + np.sum(s**3 * vt[0] ** 2)


@pytest.mark.parametrize("f", some([vectors, bases], 0))
def test_second_derivatives_of_vectors_apart_are_right(f):
    s, v, u = levels(0.5), direction(3, 3), direction(3, 3, seed=2)
    grad = srcad.grad(f)

    right = pytest.approx(np.sum(slope(grad, s, v) * u), rel=1e-6)
    assert np.sum(np.tensordot(srcad.hessian(f)(s), v, 2) * u) == right
    assert np.sum(np.tensordot(srcad.jacobian(grad, mode="rev")(s), v, 2) * u) == right


# ------------------------------------------------------------------------ values alone
def third_level(s):
    return np.max(np.linalg.eigvalsh(s))


def trace(s):
    return np.sum(np.linalg.eigvalsh(s))


def mean_of_lower_pair(s):
    return np.sum(np.linalg.eigh(s)[0] * np.array([0.5, 0.5, 0.0]))


def trace_by_scipy(s):
    return np.sum(linalg.eigvalsh(s))


def spectral_norm(a):
    return np.linalg.norm(a, 2)


def nuclear_norm(a):
    return np.linalg.norm(a, "nuc")


def sum_of_stretches(a):
    return np.sum(np.linalg.svd(a, compute_uv=False))


def pair_of_matrices(a):
    return np.sum(np.linalg.matrix_norm(np.stack([a, 2 * a]), ord="nuc"))


def symmetric_part(f):
    return lambda s: f(0.5 * (s + s.T))


def second_difference(f, a, v, u, step=1e-4):
    """The mixed second derivative by central differences of the values."""
    corners = [(i, k) for i in (-1, 1) for k in (-1, 1)]
    total = sum(i * k * f(a + step * (i * v + k * u)) for i, k in corners)
    return total / (4 * step**2)


BETWEEN = {
    "trace": symmetric_part(trace), "third level": symmetric_part(third_level),
    "lower pair": symmetric_part(mean_of_lower_pair), "scipy": symmetric_part(trace_by_scipy),
    "spectral norm": spectral_norm, "nuclear norm": nuclear_norm, "stretches": sum_of_stretches,
    "pair of matrices": pair_of_matrices,
}  # fmt: skip
PAIRED = {
    "diagonal": np.diag([1.0, 1.0, 2.0]),
    "close": np.diag([1.0, 1.0 + 1e-12, 2.0]),
    "apart": np.array([[1.0, 0.3, 0.2], [0.3, 1.7, -0.4], [0.2, -0.4, 2.9]]),
}


VALUES_ALONE = [(name, at, mode) for mode in ("fwd", "rev") for at in PAIRED for name in BETWEEN]


@pytest.mark.parametrize("case", some(VALUES_ALONE, 6), ids=" ".join)
def test_second_derivative_of_values_with_equal_weights_is_right(case):
    name, at, mode = case
    f, a = BETWEEN[name], PAIRED[at]
    v, u = direction(3, 3), direction(3, 3, seed=2)

    found, warned = recorded(srcad.jacobian(srcad.grad(f), mode=mode), a)

    second = np.sum(np.tensordot(found, v, 2) * u)
    assert second == pytest.approx(second_difference(f, a, v, u), rel=1e-5, abs=1e-6)
    assert not warned


@pytest.mark.parametrize("shape", some([(4, 3), (3, 4), (3, 3)], 0))
def test_second_derivative_of_complex_and_oblong_nuclear_norm_is_right(shape):
    a = direction(*shape) + 1j * direction(*shape, seed=5)
    v, u = direction(*shape, seed=3), direction(*shape, seed=4)

    def f(x):
        return np.linalg.norm(a.real + x, "nuc") + np.linalg.norm(a + x, 2)

    x = np.zeros(shape)
    second = np.sum(np.tensordot(srcad.hessian(f)(x), v, 2) * u)
    reverse = np.sum(np.tensordot(srcad.jacobian(srcad.grad(f), mode="rev")(x), v, 2) * u)
    assert second == pytest.approx(second_difference(f, x, v, u), rel=1e-5)
    assert reverse == pytest.approx(second, rel=1e-10)


def shifted_square(w):
    return (w - 1) ** 2


FUNCTIONS = [(f, mode) for mode in ("fwd", "rev") for f in (np.square, np.exp, shifted_square)]


@pytest.mark.parametrize("case", some(FUNCTIONS, 1))
def test_second_derivative_of_function_of_equal_values_is_right_or_nan(case):
    f, mode = case
    s = np.diag([1.0, 1.0, 2.0])
    move = np.array([[0.0, 0.0, 0.0], [0.5, 0.0, 0.0], [0.0, 0.0, 0.0]])

    def total(s):
        return np.sum(f(np.linalg.eigvalsh(0.5 * (s + s.T))))

    found, warned = recorded(srcad.jacobian(srcad.grad(total), mode=mode), s)

    assert np.isnan(np.sum(np.tensordot(found, move, 2) * move))
    assert warned
    for v in np.reshape(np.eye(9), (9, 3, 3)):
        for u in np.reshape(np.eye(9), (9, 3, 3)):
            entry = np.sum(np.tensordot(found, v, 2) * u)
            right = second_difference(total, s, v, u)
            assert np.isnan(entry) or entry == pytest.approx(right, rel=1e-5, abs=1e-6)


def test_third_derivative_of_values_apart_is_right():
    a, v = PAIRED["apart"], direction(3, 3)

    def second(t):
        return srcad.grad(srcad.grad(lambda t: third_level(a + t * v)))(t)

    third = (second(1e-4) - second(-1e-4)) / 2e-4
    assert srcad.grad(second)(0.0) == pytest.approx(third, rel=1e-6)
