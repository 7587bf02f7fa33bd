"""Linear algebra for compiled code: BLAS and LAPACK through the functions that SciPy exports.

NumPy's routines are compiled by Numba in seconds; these calls take less.  A matrix in C order is
its transpose to these libraries, which the arguments below account for.  In the names of products,
``t`` is a transposed matrix, and ``n`` one that is not.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding
import numba
import numpy as np
from numba import types
from numba.extending import get_cython_function_address

from srcad.backends.numba.deopt import Deopt

_INT, _DOUBLE, _CHAR = (types.CPointer(t) for t in (types.int32, types.float64, types.uint8))


def _routine(name: str, *arguments: Any, library: str = "lapack") -> Any:
    """Return a routine of a library as a function that compiled code may call."""
    symbol = f"srcad_{name}"
    address = get_cython_function_address(f"scipy.linalg.cython_{library}", name)
    llvmlite.binding.add_symbol(symbol, address)
    return types.ExternalFunction(symbol, types.void(*arguments))


_potrf = _routine("dpotrf", _CHAR, _INT, _DOUBLE, _INT, _INT)
_gesv = _routine("dgesv", _INT, _INT, _DOUBLE, _INT, _INT, _DOUBLE, _INT, _INT)
_getrf = _routine("dgetrf", _INT, _INT, _DOUBLE, _INT, _INT, _INT)
_getri = _routine("dgetri", _INT, _DOUBLE, _INT, _INT, _DOUBLE, _INT, _INT)
_trtrs = _routine("dtrtrs", _CHAR, _CHAR, _CHAR, _INT, _INT, _DOUBLE, _INT, _DOUBLE, _INT, _INT)
_trtri = _routine("dtrtri", _CHAR, _CHAR, _INT, _DOUBLE, _INT, _INT)
_gemm = _routine(
    "dgemm", _CHAR, _CHAR, _INT, _INT, _INT, _DOUBLE, _DOUBLE, _INT, _DOUBLE, _INT, _DOUBLE,
    _DOUBLE, _INT, library="blas",
)  # fmt: skip
_gemv = _routine("dgemv", _CHAR, _INT, _INT, _DOUBLE, _DOUBLE, _INT, _DOUBLE, _INT, _DOUBLE,
                 _DOUBLE, _INT, library="blas")  # fmt: skip
_UPPER, _LOWER, _PLAIN, _TRANSPOSED, _GENERAL = (ord(c) for c in "ULNTN")


@numba.extending.intrinsic
def _doubles(typing_context: Any, array: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.make_array(signature.args[0])(context, builder, arguments[0]).data

    return _DOUBLE(array), emit


@numba.extending.intrinsic
def _integers(typing_context: Any, array: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.make_array(signature.args[0])(context, builder, arguments[0]).data

    return _INT(array), emit


@numba.extending.intrinsic
def _characters(typing_context: Any, array: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.make_array(signature.args[0])(context, builder, arguments[0]).data

    return _CHAR(array), emit


# ------------------------------------------------------------------------------ products
_SMALL = 1000  # products of so few multiplications take less time without a call


@numba.njit(error_model="numpy")
def _call_gemm(a: Any, b: Any, out: Any, a_option: Any, b_option: Any, k: int) -> None:
    """Write ``op(a) @ op(b)`` into `out`, where the options say which are transposed."""
    options = np.array([b_option, a_option], np.uint8)
    numbers = np.array([out.shape[1], out.shape[0], k, max(b.shape[1], 1), max(a.shape[1], 1),
                        max(out.shape[1], 1)], np.int32)  # fmt: skip
    factors = np.array([1.0, 0.0])
    _gemm(_characters(options), _characters(options[1:]), _integers(numbers),
          _integers(numbers[1:]), _integers(numbers[2:]), _doubles(factors), _doubles(b),
          _integers(numbers[3:]), _doubles(a), _integers(numbers[4:]), _doubles(factors[1:]),
          _doubles(out), _integers(numbers[5:]))  # fmt: skip


@numba.njit(error_model="numpy")
def gemm_nn(a: Any, b: Any) -> Any:
    """Return ``a @ b``."""
    m, k, n = a.shape[0], a.shape[1], b.shape[1]
    out = np.zeros((m, n))
    if m * n * k > _SMALL:
        _call_gemm(a, b, out, _PLAIN, _PLAIN, k)
        return out
    for i in range(m):
        for p in range(k):
            for j in range(n):
                out[i, j] += a[i, p] * b[p, j]
    return out


@numba.njit(error_model="numpy")
def gemm_nt(a: Any, b: Any) -> Any:
    """Return ``a @ b.T``."""
    m, k, n = a.shape[0], a.shape[1], b.shape[0]
    out = np.zeros((m, n))
    if m * n * k > _SMALL:
        _call_gemm(a, b, out, _PLAIN, _TRANSPOSED, k)
        return out
    for i in range(m):
        for j in range(n):
            for p in range(k):
                out[i, j] += a[i, p] * b[j, p]
    return out


@numba.njit(error_model="numpy")
def gemm_tn(a: Any, b: Any) -> Any:
    """Return ``a.T @ b``."""
    m, k, n = a.shape[1], a.shape[0], b.shape[1]
    out = np.zeros((m, n))
    if m * n * k > _SMALL:
        _call_gemm(a, b, out, _TRANSPOSED, _PLAIN, k)
        return out
    for p in range(k):
        for i in range(m):
            for j in range(n):
                out[i, j] += a[p, i] * b[p, j]
    return out


@numba.njit(error_model="numpy")
def gemm_tt(a: Any, b: Any) -> Any:
    """Return ``a.T @ b.T``."""
    m, k, n = a.shape[1], a.shape[0], b.shape[0]
    out = np.zeros((m, n))
    if m * n * k > 0:
        _call_gemm(a, b, out, _TRANSPOSED, _TRANSPOSED, k)
    return out


@numba.njit(error_model="numpy")
def _call_gemv(a: Any, x: Any, out: Any, option: Any) -> None:
    """Write a product of a matrix and a vector into `out`."""
    options = np.array([option], np.uint8)
    numbers = np.array([a.shape[1], a.shape[0], max(a.shape[1], 1), 1], np.int32)
    factors = np.array([1.0, 0.0])
    _gemv(_characters(options), _integers(numbers), _integers(numbers[1:]), _doubles(factors),
          _doubles(a), _integers(numbers[2:]), _doubles(x), _integers(numbers[3:]),
          _doubles(factors[1:]), _doubles(out), _integers(numbers[3:]))  # fmt: skip


@numba.njit(error_model="numpy")
def gemv_n(a: Any, x: Any) -> Any:
    """Return ``a @ x`` for a vector `x`."""
    out = np.zeros(a.shape[0])
    if a.size > _SMALL:
        _call_gemv(a, x, out, _TRANSPOSED)
        return out
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            out[i] += a[i, j] * x[j]
    return out


@numba.njit(error_model="numpy")
def gemv_t(a: Any, x: Any) -> Any:
    """Return ``a.T @ x`` for a vector `x`."""
    out = np.zeros(a.shape[1])
    if a.size > _SMALL:
        _call_gemv(a, x, out, _PLAIN)
        return out
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            out[j] += a[i, j] * x[i]
    return out


# --------------------------------------------------------------------------- factorisations
@numba.njit(error_model="numpy")
def cholesky(a: Any) -> Any:
    """Return the lower triangular factor of a positive definite matrix."""
    n = a.shape[0]
    lower = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            lower[i, j] = a[i, j]
    options = np.array([_UPPER], np.uint8)
    numbers = np.array([n, max(n, 1), 0], np.int32)
    _potrf(
        _characters(options),
        _integers(numbers),
        _doubles(lower),
        _integers(numbers[1:]),
        _integers(numbers[2:]),
    )
    if numbers[2] != 0:
        raise Deopt
    return lower


@numba.njit(error_model="numpy")
def solve(a: Any, b: Any) -> Any:
    """Return the solution of ``a @ x = b`` for a matrix or a vector `b`."""
    n, k = a.shape[0], b.size // max(a.shape[0], 1)
    factors = a.T.copy()
    columns = np.empty((k, n))
    given = b.reshape((n, k))
    for i in range(n):
        for j in range(k):
            columns[j, i] = given[i, j]
    pivots = np.empty(max(n, 1), np.int32)
    numbers = np.array([n, k, max(n, 1), 0], np.int32)
    size = _integers(numbers[2:])
    _gesv(
        _integers(numbers),
        _integers(numbers[1:]),
        _doubles(factors),
        size,
        _integers(pivots),
        _doubles(columns),
        size,
        _integers(numbers[3:]),
    )
    if numbers[3] != 0:
        raise Deopt
    result = np.empty((n, k))
    for i in range(n):
        for j in range(k):
            result[i, j] = columns[j, i]
    return result.reshape(b.shape)


@numba.njit(error_model="numpy")
def solve_lower(a: Any, b: Any, transposed: bool) -> Any:
    """Return the solution of ``a @ x = b``, or of ``a.T @ x = b``, for a lower triangle `a`."""
    n, k = a.shape[0], b.size // max(a.shape[0], 1)
    columns = np.empty((k, n))
    given = b.reshape((n, k))
    for i in range(n):
        for j in range(k):
            columns[j, i] = given[i, j]
    options = np.array([_UPPER, _PLAIN if transposed else _TRANSPOSED, _GENERAL], np.uint8)
    numbers = np.array([n, k, max(n, 1), 0], np.int32)
    size = _integers(numbers[2:])
    _trtrs(
        _characters(options),
        _characters(options[1:]),
        _characters(options[2:]),
        _integers(numbers),
        _integers(numbers[1:]),
        _doubles(a),
        size,
        _doubles(columns),
        size,
        _integers(numbers[3:]),
    )
    if numbers[3] != 0:
        raise Deopt
    result = np.empty((n, k))
    for i in range(n):
        for j in range(k):
            result[i, j] = columns[j, i]
    return result.reshape(b.shape)


@numba.njit(error_model="numpy")
def inverse(a: Any) -> Any:
    """Return the inverse of a matrix."""
    n = a.shape[0]
    result = a.copy()
    pivots = np.empty(max(n, 1), np.int32)
    numbers = np.array([n, max(n, 1), 0, 64 * max(n, 1)], np.int32)
    work = np.empty(64 * max(n, 1))
    size, info = _integers(numbers[1:]), _integers(numbers[2:])
    _getrf(_integers(numbers), _integers(numbers), _doubles(result), size, _integers(pivots), info)
    if numbers[2] != 0:
        raise Deopt
    _getri(
        _integers(numbers),
        _doubles(result),
        size,
        _integers(pivots),
        _doubles(work),
        _integers(numbers[3:]),
        info,
    )
    if numbers[2] != 0:
        raise Deopt
    return result


@numba.njit(error_model="numpy")
def lower_inverse(a: Any) -> Any:
    """Return the inverse of a lower triangle."""
    n = a.shape[0]
    result = a.copy()
    options = np.array([_UPPER, _GENERAL], np.uint8)
    numbers = np.array([n, max(n, 1), 0], np.int32)
    _trtri(
        _characters(options),
        _characters(options[1:]),
        _integers(numbers),
        _doubles(result),
        _integers(numbers[1:]),
        _integers(numbers[2:]),
    )
    if numbers[2] != 0:
        raise Deopt
    for i in range(n):
        for j in range(i + 1, n):
            result[i, j] = 0.0
    return result


@numba.njit(error_model="numpy")
def determinant(a: Any) -> Any:
    """Return the sign of the determinant of a matrix and the logarithm of its absolute value."""
    n = a.shape[0]
    factors = a.copy()
    pivots = np.empty(max(n, 1), np.int32)
    numbers = np.array([n, max(n, 1), 0], np.int32)
    _getrf(
        _integers(numbers),
        _integers(numbers),
        _doubles(factors),
        _integers(numbers[1:]),
        _integers(pivots),
        _integers(numbers[2:]),
    )
    if numbers[2] != 0:
        raise Deopt
    sign, logarithm = 1.0, 0.0
    for i in range(n):
        if (pivots[i] != i + 1) != (factors[i, i] < 0.0):
            sign = -sign
        logarithm += np.log(abs(factors[i, i]))
    return sign, logarithm
