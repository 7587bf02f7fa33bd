"""Sparse Jacobians and Hessians: equal to the dense ones, whatever way the function goes."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import srcad
from srcad.analysis.colouring import columns_coloured, readings, star_coloured
from srcad.errors import InvalidIRError, OptionError, UnsupportedSyntaxError, UnsupportedTypeError
from srcad.modes.sparse import Pattern, SparseRequest
from tests.corpus.collected import CORPUS
from tests.marks import some
from tests.modes import sparse_programs as programs

V = np.array([0.4, -0.3, 1.1, 0.7, -1.2, 0.2])
M = np.random.default_rng(3).normal(size=(4, 5))
CASES = [
    (programs.burgers, (V, 0.1)), (programs.stencil_in_place, (V,)), (programs.branches, (V,)),
    (programs.heat_2d, (M,)), (programs.rows, (M,)), (programs.sorted_pairs, (V,)),
    (programs.systems, (M[:2, :2],)), (programs.layers, (V,)), (programs.collected, (V,)),
    (programs.gathered, (V, np.array([0, 3, 3]))), (programs.recursive, (V,)),
    (programs.caught, (V,)), (programs.caught, (V - 1.0,)), (programs.many_records, (V,)),
]  # fmt: skip


def flat(dense, x):
    return np.reshape(dense, (-1, np.size(x)))


@pytest.mark.parametrize(("f", "args"), CASES, ids=lambda v: getattr(v, "__name__", ""))
def test_a_sparse_jacobian_is_the_dense_one(f, args):
    want = flat(srcad.jacobian(f)(*args), args[0])

    found = srcad.jacobian(f, sparse=True)(*args)
    flags = srcad.sparsity(f)(*args)

    np.testing.assert_allclose(found.toarray(), want, rtol=1e-12, atol=1e-14)
    assert (found.format, flags.format, flags.dtype) == ("csr", "csr", bool)
    assert not np.any((want != 0) & ~flags.toarray())


@pytest.mark.parametrize("f", [programs.rosenbrock, programs.rosenbrock_loop])
def test_a_sparse_hessian_is_the_dense_one(f):
    found = srcad.hessian(f, sparse=True)(V)

    np.testing.assert_allclose(found.toarray(), srcad.hessian(f)(V), rtol=1e-12)
    assert found.nnz == 16


OF_ARRAYS = [
    name
    for name, (_, args) in CORPUS.items()
    if args and isinstance(args[0], np.ndarray) and args[0].dtype.kind == "f"
]


@pytest.mark.parametrize("name", some(OF_ARRAYS, lambda k, _: k % 12 == 0))
def test_sparsity_pattern_covers_dense_jacobian(name):
    f, args = CORPUS[name]
    try:
        want = srcad.jacobian(f)(*args)
        found = srcad.jacobian(f, sparse=True)(*args)
    except UnsupportedTypeError:
        pytest.skip("its result is no array, or it has effects")

    np.testing.assert_allclose(found.toarray(), flat(want, args[0]), rtol=1e-9, atol=1e-12)


# ------------------------------------------------------------------------ patterns
def test_sparsity_pattern_includes_both_branches():
    flags = srcad.sparsity(programs.branches)

    np.testing.assert_array_equal(flags(V).toarray(), flags(-V).toarray())


def test_sparsity_pattern_recomputed_for_other_path():
    jacobian = srcad.jacobian(programs.gathered, sparse=True)

    for index in ([0, 3, 3], [5, 1, 2], [0, 3, 3]):
        want = srcad.jacobian(programs.gathered)(V, np.array(index))
        np.testing.assert_allclose(jacobian(V, np.array(index)).toarray(), want)


ORDERS = ([2, 3], [3, 2], [0, 0])


@pytest.mark.parametrize("scale", [1.0, 1e-6])
def test_sparse_jacobian_with_other_index_in_row_of_small_scale(scale):
    jacobian = srcad.jacobian(lambda c, order: scale * programs.rates(c, order), sparse=True)

    for order in ORDERS:
        want = np.zeros((3, 4))
        want[0, :2] = 1e9 * scale
        want[1, order[0]] = want[2, order[1]] = 1e-5 * scale
        found = jacobian(np.ones(4), np.array(order)).toarray()
        np.testing.assert_allclose(found, want, rtol=1e-12)


def test_sparse_jacobian_with_other_captured_index():
    place = [1]

    def f(x):
        return np.array([1e10 * x[0] ** 2, 1e-6 * x[place[0]]])

    jacobian = srcad.jacobian(f, sparse=True)
    for k in (1, 2, 0):
        place[0] = k
        want = np.zeros((2, 3))
        want[0, 0], want[1, k] = 2e10, 1e-6
        np.testing.assert_allclose(jacobian(np.ones(3)).toarray(), want, rtol=1e-12)


def test_sparse_jacobian_with_entry_selected_by_argmax():
    jacobian = srcad.jacobian(programs.largest_concentration, sparse=True)

    for c in ([1.0, 2.0, 5.0, 0.1], [1.0, 2.0, 0.5, 7.0], [0.2, 9.0, 1.0, 1.0]):
        want = np.zeros((3, 4))
        want[0, :2] = 1e9 * c[1], 1e9 * c[0]
        want[1, np.argmax(c)], want[2, np.argmin(c)] = 2e-7 * np.max(c), 1e-7
        np.testing.assert_allclose(jacobian(np.array(c)).toarray(), want, rtol=1e-12)


def test_sparse_hessian_with_other_pairs_of_small_scale():
    hessian = srcad.hessian(programs.energy, sparse=True)
    x = np.array([1.0, 2.0, 3.0, 4.0, 5.0])

    for pairs in ([[2, 3], [3, 4]], [[2, 4], [3, 4]], [[2, 3], [2, 4]]):
        want = np.zeros((5, 5))
        want[0, 0], want[0, 1], want[1, 0] = 4e6, 2e6, 2e6
        for i, j in pairs:
            want[i, j] += 1e-6
            want[j, i] += 1e-6
        np.testing.assert_allclose(hessian(x, np.array(pairs)).toarray(), want, rtol=1e-12)


def test_sparse_hessian_with_entry_selected_by_argmax():
    hessian = srcad.hessian(programs.energy_of_largest, sparse=True)

    for k in (3, 2):
        x = np.ones(4)
        x[k] = 2.0
        want = np.zeros((4, 4))
        want[0, :2], want[1, 0] = 2e8, 2e8
        want[k, k], want[k, k - 1], want[k - 1, k] = 2e-8, 4e-8, 4e-8
        np.testing.assert_allclose(hessian(x).toarray(), want, rtol=1e-12)


@pytest.mark.filterwarnings("ignore:divide by zero")
def test_sparse_jacobian_beside_infinite_entry():
    jacobian = srcad.jacobian(programs.logarithm_beside, sparse=True)

    jacobian(np.array([1.0, 2.0, 3.0, 4.0]), np.intp(1))
    for k, slope in ((3, 8.0), (2, 6.0)):
        found = jacobian(np.array([0.0, 2.0, 3.0, 4.0]), np.array(k)).toarray()
        want = np.zeros((2, 4))
        want[0, 0], want[0, k], want[1, 1:3] = np.inf, slope, (3.0, 2.0)
        np.testing.assert_allclose(found, want)


def test_sparse_jacobian_with_infinite_entries_in_all_rows():
    jacobian = srcad.jacobian(programs.roots_beside, sparse=True)
    x = np.array([0.0, 0.0, 0.0, 2.0, 3.0, 5.0])

    jacobian(x + 1.0, np.array(4))
    for k in (5, 4):
        want = np.hstack((np.diag(np.full(3, np.inf)), np.zeros((3, 3))))
        want[:, 3], want[:, k] = 3.0 * x[k], 6.0
        np.testing.assert_allclose(jacobian(x, np.array(k)).toarray(), want)


def test_sparse_hessian_beside_infinite_entry():
    hessian = srcad.hessian(programs.energy_of_roots, sparse=True)
    x = np.array([7.0, 4.0, 0.0, 1.0])

    hessian(x + 1.0, np.array(1))
    for k in (3, 1):
        want = np.diag([0.0, 0.375, np.inf, 0.75])
        want[k, k] += 14.0
        want[0, k] = want[k, 0] = 2.0 * x[k]
        np.testing.assert_allclose(hessian(x, np.array(k)).toarray(), want)


def test_rounding_in_cancelling_rows_is_no_missing_entry():
    jacobian = srcad.jacobian(programs.cancelling, sparse=True)
    x = np.sin(np.arange(1.0, 6.0))

    for k in (1, 4, 2):
        found = jacobian(x, np.array(k)).toarray()
        np.testing.assert_allclose(found[:-1], 0.0, atol=1e-6)
        np.testing.assert_allclose(found[-1], 1e-5 * np.eye(5)[k], rtol=1e-12)


def test_pattern_is_not_searched_again_without_need(monkeypatch):
    jacobian = srcad.jacobian(programs.burgers, sparse=True)
    u = np.sin(np.arange(200.0))
    jacobian(u, 0.1)
    monkeypatch.setattr(SparseRequest, "pattern", None)

    for scale in (1e-12, 1.0, 1e12):
        assert jacobian(scale * u, 0.1).nnz == 598


@pytest.mark.parametrize("name", programs.OF_NUMBERS)
def test_sparse_jacobian_of_number_times_constant(name):
    f, x = programs.OF_NUMBERS[name], np.array([0.7, -1.3, 2.1])
    steps = 1e-6 * np.eye(3)

    found = srcad.jacobian(f, sparse=True)(x).toarray()

    want = [(np.ravel(f(x + d)) - np.ravel(f(x - d))) / 2e-6 for d in steps]
    np.testing.assert_allclose(found, np.transpose(want), rtol=1e-7, atol=1e-9)


COUNTED = [
    (programs.upper_neighbours, 0), (programs.by_comprehension, 0), (programs.by_while, 0),
    (programs.by_option, 0), (programs.by_helper, 0), (programs.by_data, 2),
    (programs.by_end_of_loop, 1),
]  # fmt: skip


@pytest.mark.parametrize(("f", "more"), COUNTED, ids=lambda v: getattr(v, "__name__", ""))
def test_sparsity_pattern_with_conditions_on_counters_is_exact(f, more):
    x = np.array([0.3, -0.7, 1.1, 0.9, -0.2, 1.7])

    flags = srcad.sparsity(f)(x).toarray()

    slopes = [f(x + step) - f(x - step) for step in 1e-3 * np.eye(6)]
    depends = np.transpose(slopes) != 0.0
    assert not np.any(depends & ~flags)
    assert np.count_nonzero(flags) == np.count_nonzero(depends) + more


def test_sparsity_pattern_of_other_option():
    x = np.arange(1.0, 5.0)

    first, second = (srcad.sparsity(programs.by_option)(x, order).toarray() for order in (1, 2))

    np.testing.assert_array_equal(first, np.eye(4) + np.eye(4, k=-1) > 0)
    np.testing.assert_array_equal(second, (np.eye(4) + np.eye(4, 1) @ np.array([[1, 1, 1, 0]])) > 0)


def test_incomplete_sparsity_pattern_raises(monkeypatch):
    pattern = Pattern(np.array([0, 1, 2]), np.array([0, 1]), 2)
    monkeypatch.setattr(SparseRequest, "pattern", lambda self, arguments: pattern)

    with pytest.raises(InvalidIRError, match="lacks entries"):
        srcad.jacobian(lambda x: x * x[0], sparse=True)(np.ones(2))


def test_returned_matrix_does_not_alias_cache():
    jacobian = srcad.jacobian(programs.branches, sparse=True)
    found = jacobian(V)
    want = found.toarray()

    found.eliminate_zeros()
    found.data[:] = 7.0

    np.testing.assert_array_equal(jacobian(V).toarray(), want)


def test_banded_pattern_has_few_colours():
    n = 300
    u = np.sin(np.arange(n))

    pattern = srcad.sparsity(programs.burgers)(u, 0.1)

    assert columns_coloured(pattern.indptr, pattern.indices, n).max() == 2
    np.testing.assert_allclose(
        srcad.jacobian(programs.burgers, sparse=True)(u, 0.1).toarray(),
        srcad.jacobian(programs.burgers)(u, 0.1), rtol=1e-12,
    )  # fmt: skip


# ------------------------------------------------------------------------ colours
@pytest.mark.parametrize("seed", range(6))
def test_colouring_recovers_every_entry(seed):
    rng = np.random.default_rng(seed)
    dense = rng.random((14, 11)) < 0.15
    square = rng.random((16, 16)) < 0.1
    symmetric = square | square.T | np.eye(16, dtype=bool)

    for flags, star in ((dense, False), (symmetric, True)):
        starts = np.concatenate(([0], np.cumsum(flags.sum(axis=1))))
        columns = np.nonzero(flags)[1]
        colours = star_coloured(starts, columns) if star else columns_coloured(
            starts, columns, flags.shape[1]
        )  # fmt: skip
        matrix = np.where(flags, rng.normal(size=flags.shape), 0.0)
        matrix = np.triu(matrix) + np.triu(matrix, 1).T if star else matrix
        products = matrix @ np.eye(colours.max() + 1)[colours]
        found, rows = readings(starts, columns, colours)
        np.testing.assert_allclose(products[rows, found], matrix[flags], rtol=1e-12)


# ------------------------------------------------------------------------ arguments
def test_several_arguments_have_a_matrix_each():
    def f(a, b):
        return a[1:] * b**2

    a, b = V, np.float64(0.5)
    by_a, by_b = srcad.jacobian(f, ("a", "b"), sparse=True)(a, b)
    dense_a, dense_b = srcad.jacobian(f, (0, 1))(a, b)

    np.testing.assert_allclose(by_a.toarray(), dense_a)
    np.testing.assert_allclose(by_b.toarray()[:, 0], dense_b)


def test_a_hessian_by_several_arguments_has_blocks():
    def f(a, b):
        return np.sum(a**3 * b) + np.sum(b[1:] * b[:-1])

    dense = srcad.hessian(f, (0, 1))(V, V + 1)
    found = srcad.hessian(f, (0, 1), sparse=True)(V, V + 1)

    for i in range(2):
        for j in range(2):
            np.testing.assert_allclose(found[i][j].toarray(), dense[i][j])


def test_float32_stays_and_empty_arrays_are_empty():
    single = srcad.jacobian(programs.rows, sparse=True)(M.astype(np.float32))
    empty = srcad.jacobian(lambda x: x * 2.0, sparse=True)(np.ones(0))
    constant = srcad.jacobian(lambda x: x * 0.0 + np.ones(2), sparse=True)(1.0)

    assert (single.dtype, empty.shape, constant.shape) == (np.float32, (0, 0), (2, 1))


def test_infinite_slopes_preserved():
    found = srcad.jacobian(lambda x: np.sqrt(x), sparse=True)(np.array([0.0, 4.0]))

    assert found[0, 0] == np.inf
    assert found[1, 1] == 0.25


def test_sparse_jacobian_in_stiff_solver():
    u = np.sin(np.pi * np.linspace(0, 1, 42)[1:-1])
    jacobian = srcad.jacobian(programs.burgers, sparse=True)

    def solved(**options):
        return solve_ivp(programs.burgers_in_time, (0.0, 0.5), u, method="Radau", **options)

    ours = solved(jac=lambda t, u: jacobian(u, 0.01))
    plain = solved()

    assert (ours.nfev, ours.njev) <= (plain.nfev, plain.njev)
    np.testing.assert_allclose(ours.y[:, -1], plain.y[:, -1], rtol=1e-3, atol=1e-5)


# ------------------------------------------------------------------------ refusals
def test_sparse_jacobian_of_structure_rejected():
    programs_of_others = (
        (lambda x: x["a"] * 2, {"a": V}), (lambda x: (x, x), V), (lambda *xs: xs[0] * 2, V)
    )  # fmt: skip
    for f, x in programs_of_others:
        with pytest.raises(UnsupportedTypeError, match="of an array by arrays"):
            srcad.jacobian(f, sparse=True)(x)


def test_effects_are_refused(capsys):
    def f(x):
        print("here")
        return x * x

    with pytest.raises(UnsupportedTypeError, match="has effects"):
        srcad.jacobian(f, sparse=True)(V)
    assert capsys.readouterr().out == ""


def test_incompatible_sparse_options_rejected():
    with pytest.raises(OptionError, match="without aux"):
        srcad.jacobian(lambda x: (x, 1), sparse=True, has_aux=True)
    with pytest.raises(OptionError, match="without aux"):
        srcad.hessian(lambda x: (x, 1), sparse=True, has_aux=True)
    with pytest.raises(OptionError, match="column by column"):
        srcad.jacobian(lambda x: x, mode="rev", sparse=True)


def test_sparse_jacobian_inside_differentiated_function_rejected():
    def f(x):
        return np.sum(srcad.jacobian(programs.rows, sparse=True)(x).toarray())

    def g(x):
        return np.sum(srcad.hessian(programs.rosenbrock, sparse=True)(x))

    for function, x in ((f, M), (g, V)):
        with pytest.raises(UnsupportedSyntaxError, match="cannot call 'sparse_"):
            srcad.grad(function)(x)
