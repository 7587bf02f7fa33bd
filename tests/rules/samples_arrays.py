"""Sample calls for shapes, joining, indexing, products and linear algebra."""

import operator

import numpy as np

from tests.rules.samples import MASK, A, B, C, T, array, spd, square, uniform

S = np.array(0.7)
COLUMN = array(3, 1)

SHAPES = [
    (np.reshape, (T, (4, 6)), {}), (np.reshape, (T, -1), {}),
    (np.reshape, (T, (6, 4)), {"order": "F"}),
    (np.ravel, (T,), {}), (np.ravel, (T, "F"), {}), (np.squeeze, (COLUMN,), {}),
    (np.squeeze, (COLUMN,), {"axis": 1}), (np.expand_dims, (C, 0), {}),
    (np.expand_dims, (C, (0, -1)), {}),
    *[(f, (x,), {}) for f in (np.atleast_1d, np.atleast_2d, np.atleast_3d) for x in (A, C, S, T)],
    (np.atleast_2d, (A, C), {}), (np.broadcast_to, (COLUMN, (2, 3, 4)), {}),
    (np.broadcast_to, (0.5, (3,)), {}),
    (np.broadcast_arrays, (COLUMN, A), {}),
    (np.transpose, (T,), {}), (np.transpose, (T, (1, 2, 0)), {}),
    (np.transpose, (T, (-1, 0, 1)), {}),
    (np.matrix_transpose, (T,), {}), (np.linalg.matrix_transpose, (T,), {}),
    (np.swapaxes, (T, 0, -1), {}), (np.moveaxis, (T, 0, -1), {}),
    (np.moveaxis, (T, (0, 1), (-1, 0)), {}),
    (np.rollaxis, (T, 2), {}), (np.rollaxis, (T, 0, 3), {}), (np.rollaxis, (T, -2, 1), {}),
    (np.flip, (T,), {}), (np.flip, (T, 1), {}), (np.flip, (T, (0, 2)), {}), (np.fliplr, (C,), {}),
    (np.flipud, (C,), {}), (np.rot90, (C,), {}), (np.rot90, (T, 3, (1, 2)), {}),
    (np.roll, (C, 2), {}), (np.roll, (C, -1, 1), {}), (np.roll, (C, (1, 2), (0, 1)), {}),
    (np.tile, (A, 2), {}), (np.tile, (C, (2, 3)), {}), (np.tile, (A, (2, 3)), {}),
    (np.tile, (C, 2), {}),
    (np.tile, (T, (2, 1)), {}), (np.tile, (S, 3), {}),
    (np.repeat, (A, 3), {}), (np.repeat, (C, 2), {}), (np.repeat, (C, 2, 0), {}),
    (np.repeat, (C, 3, -1), {}),
    (np.repeat, (A, [1, 2, 0, 3]), {}), (np.repeat, (C, np.array([2, 0, 1]), 0), {}),
    (np.repeat, (S, 2), {}),
    (np.pad, (A, 2), {}), (np.pad, (C, (1, 2)), {}), (np.pad, (C, ((1, 0), (2, 3))), {}),
    (np.pad, (C, 1), {"constant_values": 0.5}), (np.pad, (C, {-1: 2}), {}),
    *[(np.pad, (C, ((2, 1), (1, 3))), {"mode": mode})
      for mode in ("edge", "reflect", "symmetric", "wrap")],
    (np.copy, (C,), {}), (np.asarray, (C,), {}), (np.asarray, ([0.1, 0.2], np.float64), {}),
    (np.array, ([0.1, 0.2],), {}), (np.array, ([[0.1, 0.2], [0.3, 0.4]],), {}),
    (np.array, ((A, B),), {}), (np.array, (A,), {"ndmin": 3}),
    (np.array, ([0.1, 0.2],), {"ndmin": 2}),
    (np.array, ([[A, B], [A, B]],), {}), (np.array, (C,), {}), (np.asanyarray, (C,), {}),
    (np.ascontiguousarray, (C.T,), {}), (np.ascontiguousarray, (0.5,), {}),
    (np.asfortranarray, (C,), {}),
    (np.astype, (C, np.float64), {}), (float, (S,), {}), (np.float64, (S,), {}),
    (np.full, ((2, 3), 0.5), {}), (np.full, ((2, 4), A), {}),
    (np.full_like, (np.zeros((2, 4), int), A, float), {}),
    (np.linspace, (0.5, 2.0, 5), {}), (np.linspace, (A, B, 3), {"axis": 1}),
    (np.linspace, (0.5, A), {"num": 3}),
    (np.arange, (0.5, 3.2), {}), (np.arange, (0.5, 3.2, 0.4), {}), (np.arange, (2.5,), {}),
    (np.bincount, (np.array([0, 2, 2, 1]), A), {}),
    (np.linspace, (0.5, 2.0, 4, False), {}),
    *[(f, (T[0],), {}) for f in (np.tril, np.triu)],
    *[(f, (T, -1), {}) for f in (np.tril, np.triu)],
    *[(f, (A, 1), {}) for f in (np.tril, np.triu)],
]  # fmt: skip

JOINING = [
    (np.concatenate, ([C, array(2, 4)],), {}), (np.concatenate, ((C, COLUMN, C), 1), {}),
    (np.concatenate, ((C, COLUMN),), {"axis": -1}), (np.concatenate, ((C, A),), {"axis": None}),
    (np.concatenate, ((T, array(2, 3, 2)),), {"axis": 2}),
    (np.stack, ([A, B],), {}), (np.stack, ([C, C, C], 1), {}), (np.stack, ((C, C),), {"axis": -1}),
    (np.vstack, ([A, C, B],), {}), (np.vstack, ([0.5, 0.2],), {}),
    (np.hstack, ([A, array(2)],), {}),
    (np.hstack, ([C, COLUMN],), {}), (np.hstack, ([0.5, 0.2],), {}), (np.dstack, ([C, C],), {}),
    (np.dstack, ([A, B],), {}), (np.dstack, ([T, C[None, :, :][[0, 0]][..., :1]],), {}),
    (np.column_stack, ([A, B],), {}), (np.column_stack, ([C, array(3)],), {}),
    (np.append, (C, A), {}), (np.append, (A, 0.5), {}), (np.append, (C, C), {"axis": 1}),
    (np.split, (A, 2), {}), (np.split, (C, [1], 1), {}), (np.array_split, (array(7), 3), {}),
    (np.array_split, (C, 3, 1), {}), (np.hsplit, (C, 2), {}), (np.hsplit, (A, [1, 3]), {}),
    (np.vsplit, (C, 3), {}), (np.dsplit, (T, 2), {}),
    (np.meshgrid, (A, array(3)), {}), (np.meshgrid, (A, array(3), array(2)), {"indexing": "ij"}),
    (np.meshgrid, (A, array(3), array(2)), {}), (np.meshgrid, (A, A), {}),
]  # fmt: skip

REPEATED = np.array([0, 2, 2, 0, 1])
INDEXING = [
    *[(operator.getitem, (C, index), {}) for index in (
        1, -1, slice(1, 3), slice(None, None, -2), (slice(None), 1), (Ellipsis, 1),
        (None, slice(0, 2)),
        (1, 2), [0, 0, 2], REPEATED, np.array([[0, 1], [2, 2]]), ([0, 1, 1], [1, 2, 2]),
        (slice(None), [0, 3, 0]),
        np.ix_([0, 2], [1, 3]), (1, [0, 2, 2]), Ellipsis, C > 0, MASK[:3], (slice(None), MASK),
        np.int64(2), (),
    )],
    (operator.getitem, (S, ()), {}),
    (np.take, (A, [0, 0, 3]), {}), (np.take, (C, REPEATED, 0), {}),
    (np.take, (C, REPEATED), {"axis": 1}),
    (np.take, (C, [[0, 5], [5, 11]]), {}), (np.take, (T, [0, -1, 0]), {"axis": -1}),
    (np.take, (T, 1, -2), {}),
    (np.take, (A, [0, 5, -9]), {"mode": "wrap"}), (np.take, (A, [0, 5, -9]), {"mode": "clip"}),
    (np.take_along_axis, (C, np.argsort(C, 1), 1), {}),
    (np.take_along_axis, (C, np.array([[0, 0, 1]]).T, 1), {}),
    (np.take_along_axis, (T, np.array([[[0], [0], [1]]]), 0), {}),
    (np.take_along_axis, (C, np.array([1, 1]), None), {}),
    (np.compress, (MASK, A), {}), (np.compress, ([True, False, True], C, 0), {}),
    (np.compress, (MASK, C), {"axis": -1}),
    (np.extract, (C > 0, C), {}), (np.delete, (A, 1), {}), (np.delete, (C, [0, 2], 0), {}),
    (np.delete, (C, [0, 2]), {}),
    *[(np.diag, (x, k), {}) for x in (A, C, C.T, square(3)) for k in (0, 1, -1)],
    (np.diag, (A,), {}),
    (np.diagflat, (array(2, 2), 1), {}),
    *[(np.diagonal, (x,), {"offset": k}) for x in (C, C.T, T) for k in (0, 1, -1)],
    (np.diagonal, (T, 0, 2, 0), {}), (np.diagonal, (C, 1, 1, 0), {}),
    (np.linalg.diagonal, (T,), {"offset": 1}),
    *[(np.trace, (x,), {"offset": k}) for x in (C, C.T, T) for k in (0, 1)],
    (np.trace, (T, 1, 2, 0), {}),
    (np.trace, (C, 1, 1, 0), {}), (np.linalg.trace, (T,), {}),
    (np.linalg.trace, (C,), {"offset": 1}),
]  # fmt: skip

V, W = array(4), array(3)
_MATMUL = [
    (V, array(4)), (C, V), (W, C), (C, array(4, 2)), (T, V), (W, T), (T, array(4, 2)),
    (array(5, 3), T),
    (T, array(2, 4, 5)), (T, array(1, 4, 5)), (array(2, 1, 3, 4), array(5, 4, 2)),
    (array(1, 4), array(4, 1)),
]  # fmt: skip
PRODUCTS = [
    *[(operator.matmul, pair, {}) for pair in _MATMUL], (np.matmul, _MATMUL[3], {}),
    (np.linalg.matmul, _MATMUL[3], {}),
    *[(np.dot, pair, {}) for pair in [
        *_MATMUL[:7], (0.5, C), (C, 0.5), (0.5, 0.2), (T, array(5, 4, 2)), (V, array(2, 4, 3)),
                                      (C, array(2, 3, 4, 5))]],
    *[(np.inner, pair, {}) for pair in [(V, A), (C, V), (V, C), (C, C), (T, C), (0.5, C), (C, T)]],
    *[(np.outer, pair, {}) for pair in [(V, W), (C, V), (0.5, V), (V, T)]],
    (np.linalg.outer, (V, W), {}),
    *[(np.vdot, pair, {}) for pair in [(V, A), (C, C), (C, array(4, 3)), (C, array(12))]],
    *[(np.tensordot, args, {}) for args in [
        (C, array(4, 2), 1), (T, array(3, 4, 5)), (V, W, 0), (C, C),
      (T, array(4, 5, 2), ([0, 2], [2, 0])), (T, array(4, 5, 3), ((-1, 1), (0, -1))),
      (T, array(5, 3), (1, 1)),
      (array(2, 3, 4, 5), array(5, 2, 7, 3), ((1, 0, 3), (3, 1, 0)))]],
    (np.linalg.tensordot, (C, C.T), {"axes": 1}),
    *[(np.kron, pair, {}) for pair in [(V, W), (C, array(2, 3)), (V, C), (C, V), (0.5, C), (T, C)]],
    (np.cross, (C[:, :3], array(3)), {}), (np.cross, (array(3, 2), array(3, 2)), {"axis": 0}),
    (np.linalg.cross, (W, array(3)), {}),
    (np.vecdot, (C, V), {}), (np.linalg.vecdot, (C, COLUMN), {"axis": 0}),
    *[(np.einsum, args, {}) for args in [
        ("ij,jk->ik", C, array(4, 2)), ("ij->ji", C), ("ij->i", C), ("ij->", C), ("i,i->", V, A),
        ("i,i", V, A), ("ii", square(3)),
        ("ii->i", square(3)), ("iij->ij", array(3, 3, 2)), ("iji->j", array(3, 2, 3)),
        ("iii->", array(3, 3, 3)),
        ("i,j->ij", V, W), ("i,j,ij", W, V, C), ("ij,kj,lk->il", C, C, array(2, 3)),
        ("...ij,...jk->...ik", T, array(4, 2)),
        ("...i,...i", T, V), ("ij,ij->ij", C, array(1, 4)), ("i...->...", T),
        ("ij , jk", C, array(4, 2)),
        ("ba", C), ("ij,k->i", C, W), ("i->", V), (",i->i", 0.5, V), ("i,i,i->i", V, V, V),
        ("...,...", T, array(3, 1)),
    ]],
    (np.einsum, ("ij,jk,kl->il", C, array(4, 2), array(2, 5)), {"optimize": True}),
]  # fmt: skip

_NORMS = [
    *[(C, order) for order in (None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)],
    *[(V, order) for order in (None, 1, 2, 3, 2.5, np.inf, -np.inf, -1)],
]  # fmt: skip
G = square(3)
LINALG = [
    *[(np.linalg.norm, args, {}) for args in _NORMS],
    *[(np.linalg.norm, (*args,), {"keepdims": True}) for args in _NORMS],
    *[(np.linalg.norm, (T, order, axis), {"keepdims": keep})
      for order in (None, 1, 2, 3, np.inf) for axis in (0, -1)
      for keep in (False, True)],
    *[(np.linalg.norm, (T, order, axis), {"keepdims": keep})
      for order in (None, "fro", 1, 2, "nuc", np.inf, -1, -2)
      for axis in ((0, 2), (2, 1)) for keep in (False, True)],
    (np.linalg.norm, (T,), {}), (np.linalg.norm, (T, 2, (1,)), {}),
    (np.linalg.vector_norm, (T,), {"axis": (0, 1), "ord": 3}), (np.linalg.vector_norm, (T,), {}),
    (np.linalg.matrix_norm, (T,), {"ord": "nuc"}),
    (np.linalg.matrix_norm, (T,), {"keepdims": True}),
    (np.linalg.solve, (G, W), {}), (np.linalg.solve, (G, array(3, 2)), {}),
    (np.linalg.solve, (array(2, 3, 3) + 3 * np.eye(3), W), {}),
    (np.linalg.solve, (G, array(2, 3, 2)), {}),
    (np.linalg.solve, (array(2, 3, 3) + 3 * np.eye(3), array(3, 2)), {}),
    (np.linalg.inv, (G,), {}), (np.linalg.inv, (array(2, 3, 3) + 3 * np.eye(3),), {}),
    (np.linalg.pinv, (C,), {}), (np.linalg.pinv, (C.T,), {}), (np.linalg.pinv, (T,), {}),
    *[(np.linalg.matrix_power, (G, n), {}) for n in (0, 1, 2, 5, -1, -3)],
    (np.linalg.det, (G,), {}), (np.linalg.det, (array(2, 3, 3),), {}),
    (np.linalg.det, (-array(4, 4),), {}),
    (np.linalg.slogdet, (G,), {}), (np.linalg.slogdet, (array(2, 3, 3),), {}),
    (np.linalg.eigvalsh, (spd(4, 4),), {}), (np.linalg.eigvalsh, (spd(2, 3, 3), "U"), {}),
    (np.linalg.eigh, (spd(4, 4),), {}), (np.linalg.eigh, (spd(2, 3, 3),), {"UPLO": "U"}),
    (np.linalg.svd, (C,), {"full_matrices": False}),
    (np.linalg.svd, (C.T,), {"full_matrices": False}),
    (np.linalg.svd, (T,), {"compute_uv": False}), (np.linalg.svd, (G,), {}),
    (np.linalg.svdvals, (C,), {}),
    (np.linalg.svd, (T, False), {}),
]  # fmt: skip

SYMMETRIC = [
    (np.linalg.cholesky, (spd(3, 3),), {}), (np.linalg.cholesky, (spd(2, 3, 3),), {}),
    (np.linalg.cholesky, (spd(3, 3),), {"upper": True}),
]  # fmt: skip

__all__ = ["INDEXING", "JOINING", "LINALG", "PRODUCTS", "SHAPES", "SYMMETRIC", "uniform"]
