"""Linear algebra at special matrices, and what is refused."""

import numpy as np
import pytest
from scipy import linalg

import srcad

V, W = np.array([1.0, -0.5, 2.0, 0.3]), np.array([0.7, 1.1, -0.4])
B = np.array([0.2, -1.3, 0.9, 0.4])
A = np.array([[4.0, 1.0, 0.5], [0.2, 3.0, -1.0], [0.7, -0.4, 5.0]])


def slope(f, x, v, step=1e-6):
    return (f(x + step * v) - f(x - step * v)) / (2 * step)


def numpy_lstsq(v):
    return np.sum(np.linalg.lstsq(np.outer(v, W), B, 1e-9)[0] ** 3)


def scipy_lstsq(v):
    return np.sum(linalg.lstsq(np.outer(v, W), B, 1e-9)[0] ** 3)


def numpy_pinv(v):
    return np.sum(np.linalg.pinv(np.outer(v, W), 1e-9) ** 3)


def scipy_pinv(v):
    return np.sum(linalg.pinv(np.outer(v, W), rtol=1e-9) ** 3)


@pytest.mark.parametrize("f", [numpy_lstsq, scipy_lstsq, numpy_pinv, scipy_pinv])
def test_gradient_along_matrices_of_rank_one(f):
    v = np.array([0.3, 0.8, -0.6, 1.2])

    assert np.isclose(srcad.grad(f)(V) @ v, slope(f, V, v), rtol=1e-6)


def power(a):
    return np.sum(np.abs(linalg.fractional_matrix_power(a, 0.3)) ** 2)


def log(a):
    return np.sum(linalg.logm(a).imag * a)


def spectrum(a):
    w, v = np.linalg.eig(a)
    return np.sum(np.abs(v[0]) ** 2 * w.real) + np.sum(w.imag**2)


def scipy_spectrum(a):
    w, v = linalg.eig(a)
    return np.sum(np.abs(v[0]) ** 2 * w.real) + np.sum(w.imag**2)


@pytest.mark.parametrize("f", [power, log, spectrum, scipy_spectrum])
def test_real_gradient_where_results_are_complex(f):
    a = A - np.diag([0.0, 6.0, 0.0])
    v = np.cos(np.arange(9.0)).reshape(3, 3)
    gradient = srcad.grad(f)(a)

    assert np.isrealobj(gradient)
    assert np.isclose(np.sum(gradient * v), slope(f, a, v), rtol=1e-5)


def with_phase(a):
    return np.sum(np.linalg.eig(a)[1].real)


def test_phase_of_eigenvectors_refused():
    with pytest.raises(srcad.errors.UnsupportedTypeError, match="phases"):
        srcad.grad(with_phase)(np.array([[0.0, 1.0, 0.3], [-1.0, 0.2, 0.1], [0.0, 0.4, 2.0]]))


def overwriting(a):
    return np.sum(linalg.solve(a, W, overwrite_a=True))


def full_basis(a):
    return np.sum(linalg.qr(a[:, :2])[0])


def numpy_full_basis(a):
    return np.sum(np.linalg.qr(a[:, :2], "complete")[0])


def of_type_two(a):
    return np.sum(linalg.eigvalsh(a, np.eye(3), type=2))


def some_vectors(a):
    return np.sum(linalg.eigh(a, np.eye(3), subset_by_index=(0, 1))[1])


def left_vectors(a):
    return np.sum(np.abs(linalg.eig(a, left=True)[1]))


def basis_of_null_space(a):
    return linalg.null_space(a[:1])[1, 0]


def full_factor(a):
    return np.sum(linalg.rq(a[:2])[1])


def pivoted_product(a):
    return np.sum(linalg.qr_multiply(a, W, pivoting=True)[0])


@pytest.mark.parametrize(
    ("f", "text"),
    [(overwriting, "overwrite_a"), (full_basis, "not unique"), (numpy_full_basis, "not unique"),
     (of_type_two, "type=1"), (some_vectors, "subset_by_index"), (left_vectors, "right vectors"),
     (basis_of_null_space, "n @ n.T"), (full_factor, "not unique"), (pivoted_product, "pivoting")],
)  # fmt: skip
def test_option_refused(f, text):
    with pytest.raises(srcad.errors.SrcadError, match=text):
        srcad.grad(f)(A + A.T)


@pytest.mark.parametrize("shape", [(3,), (3, 2)])
def test_division_by_matrix_of_one_entry_refused(shape):
    def f(a, b):
        return np.sum(linalg.solve(a, b))

    with pytest.raises(srcad.errors.UnsupportedTypeError, match="write the division"):
        srcad.grad(f)(np.array([[2.0]]), np.ones(shape))


def likelihood(a, b):
    factor = linalg.cho_factor(a @ a.T, lower=True)
    return 0.5 * b @ linalg.cho_solve(factor, b) + np.sum(np.log(np.diag(factor[0])))


def test_factor_kept_in_a_tuple():
    gradient = srcad.grad(likelihood)
    found = gradient(A, W)
    c = A @ A.T
    x = np.linalg.solve(c, W)

    assert np.allclose(found, (np.linalg.inv(c) - np.outer(x, x)) @ A)
    assert "if" not in gradient.source.replace("differ", "")


@pytest.mark.parametrize("trans", [0, 1, 2])
def test_gradient_through_lu_factors_and_pivots(trans):
    rows = A[[2, 0, 1]]  # pivots exchange them

    def f(a):
        return np.sum(linalg.lu_solve(linalg.lu_factor(a), W, trans) ** 2)

    x = np.linalg.solve(rows.T if trans else rows, W)
    b_bar = np.linalg.solve(rows if trans else rows.T, 2 * x)
    expected = -np.outer(x, b_bar) if trans else -np.outer(b_bar, x)

    np.testing.assert_allclose(srcad.grad(f)(rows), expected, rtol=1e-9)


def projection(a):
    n = linalg.null_space(a[:1])
    return np.sum(np.sin(n @ n.T))


def test_projection_onto_null_space_of_two_dimensions():
    v = np.cos(np.arange(9.0)).reshape(3, 3)

    assert np.isclose(np.sum(srcad.grad(projection)(A) * v), slope(projection, A, v), rtol=1e-6)


def test_pair_of_computed_and_constant_matrix():
    def lowest(stiffness):
        return linalg.eigh(np.diag(stiffness[:-1] + stiffness[1:]), np.eye(3) + 0.1)[0][0]

    gradient = srcad.grad(lowest)(V + 3.0)

    v = np.array([0.3, 0.8, -0.6, 1.2])
    assert np.isclose(gradient @ v, slope(lowest, V + 3.0, v))


def power_with_phase(a, e):
    return np.sum(np.abs(linalg.fractional_matrix_power(a, 0.3) - e) ** 2)


def log_with_phase(a, e):
    return np.sum(np.abs(linalg.logm(a) - e) ** 2)


@pytest.mark.filterwarnings("ignore:logm result may be inaccurate")
@pytest.mark.parametrize("f", [power_with_phase, log_with_phase])
def test_gradient_of_function_with_cut_at_negative_eigenvalues(f, rng):
    gradient = srcad.grad(f)
    for _ in range(12):
        v = np.eye(5) + rng.normal(size=(5, 5)) / 3
        a = v @ np.diag(rng.uniform(0.5, 3.0, 5) * rng.choice([-1.0, 1.0], 5)) @ np.linalg.inv(v)
        e = rng.normal(size=(5, 5)) + 1j * rng.normal(size=(5, 5))
        direction = rng.normal(size=(5, 5))

        found = np.sum(gradient(a, e) * direction)

        assert np.isclose(found, slope(lambda x, e=e: f(x, e), a, direction), rtol=1e-4, atol=1e-3)


def test_rule_of_unknown_dtype_written_for_real_numbers_before():
    def real(x):
        y = np.array([x[0, 0], 2]) if x[0, 0] > 0 else 3
        return np.sum(np.abs(y))

    a = A - np.diag([0.0, 6.0, 0.0])
    direction = np.cos(np.arange(9.0)).reshape(3, 3)
    srcad.grad(real)(A)

    found = np.sum(srcad.grad(power)(a) * direction)

    assert np.isclose(found, slope(power, a, direction), rtol=1e-5)


@pytest.mark.parametrize("permute", [False, True])
@pytest.mark.parametrize("shape", [(0, 0), (3, 0), (0, 3)])
def test_derivative_of_lu_of_empty_matrix_is_empty(shape, permute):
    f = lambda x: linalg.lu(x, permute_l=permute)  # noqa: E731
    x = np.zeros(shape)

    (x_bar,) = srcad.pullback(f, x)[1](1.0)
    tangents = srcad.jvp(f, (x,), (x,))[1]

    assert x_bar.shape == shape
    assert [t.shape for t in tangents] == [part.shape for part in f(x)]


# ------------------------------------------------------------------------ second derivatives
SINGULAR = np.array([[1.0, 2.0, -1.0], [0.5, 0.3, 2.0], [1.5, 2.3, 1.0]])


@pytest.mark.parametrize(
    "a", [A, SINGULAR, np.outer(W, W + 1.0)], ids=["regular", "singular", "of rank one"]
)
def test_hessian_product_of_determinant_matches_gradient_differences(a):
    v = np.array([[0.3, -1.0, 0.4], [0.8, 0.2, -0.5], [-0.7, 0.9, 1.1]])

    product = srcad.hvp(np.linalg.det)(a, v)

    np.testing.assert_allclose(
        product, slope(srcad.grad(np.linalg.det), a, v), rtol=1e-6, atol=1e-6
    )


# ------------------------------------------------------------------------ third derivatives
STIFFNESS = np.array([[4.0, -1.0, 0.2], [-1.0, 5.0, -1.3], [0.2, -1.3, 7.0]])
MASSES = np.diag([1.0, 2.0, 1.5]) + 0.1


def cubes_of_levels(a):
    return np.sum(linalg.eigh(a, MASSES)[0] ** 3)


def modes_of_vibration(a):
    w, v = np.linalg.eigh(a)
    return np.sum((v.T @ np.array([1.0, -0.5, 2.0])) ** 2 * np.sqrt(w))


def shares_of_stretches(a):
    u, s, vh = np.linalg.svd(a)
    return np.sum((u[:, 0] * vh[1]) * s**2)


@pytest.mark.parametrize(
    ("f", "inner"),
    [
        (cubes_of_levels, srcad.hessian),
        (cubes_of_levels, lambda f: srcad.jacrev(srcad.grad(f))),
        pytest.param(modes_of_vibration, srcad.hessian, marks=pytest.mark.random),
        pytest.param(
            modes_of_vibration, lambda f: srcad.jacrev(srcad.grad(f)), marks=pytest.mark.random
        ),
        pytest.param(shares_of_stretches, srcad.hessian, marks=pytest.mark.random),
    ],
    ids=["levels", "levels in reverse", "modes", "modes in reverse", "stretches"],
)
def test_gradient_of_hessian_is_that_of_its_differences(f, inner):
    rng = np.random.default_rng(3)
    weights, along = rng.normal(size=(3, 3, 3, 3)), rng.normal(size=(3, 3))

    def weighted(a):
        return np.sum(weights * inner(f)(a))

    found = np.sum(along * srcad.grad(weighted)(STIFFNESS))

    step = 1e-5
    moved = [srcad.hessian(f)(STIFFNESS + t * along) for t in (-step, step)]
    expected = np.sum(weights * (moved[1] - moved[0])) / (2 * step)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


# ------------------------------------------------------------------------ singular matrices
@pytest.mark.random
@pytest.mark.parametrize("f", [np.linalg.qr, linalg.qr, linalg.rq])
@pytest.mark.parametrize("a", [np.zeros((3, 3)), np.ones((3, 3))])
def test_derivatives_of_factors_of_singular_matrices_raise_nothing(f, a):
    def total(x):
        q, r = f(x)
        return np.sum(q * x) + np.sum(r)

    assert srcad.grad(total)(a).shape == (3, 3)
    assert srcad.jvp(f, (a,), (A,))[1][0].shape == (3, 3)


# ------------------------------------------------------------------------ arrays with gaps
def first_replaced(values):
    row = values.ravel()
    row[0] = 7.0
    return values


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.linalg.svd(x, compute_uv=False, hermitian=True),
        lambda x: np.polynomial.hermite.hermroots(x[0]).real,
        lambda x: linalg.solve_circulant(x[0] + np.array([9.0, 0.0, 0.0]), x[1]),
    ],
    ids=["svd", "hermroots", "solve_circulant"],
)
def test_write_through_flat_view_or_copy_of_array_with_gaps_is_refused(f):
    with pytest.raises(srcad.errors.MutationError):
        srcad.jvp(lambda x: first_replaced(f(x)), (A,), (A,))
