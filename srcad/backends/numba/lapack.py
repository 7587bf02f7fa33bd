"""Linear algebra for compiled code: LAPACK through the functions that SciPy exports.

NumPy's routines are compiled by Numba in seconds; these calls take no time to compile.  A matrix in
C order is its transpose to LAPACK, which the arguments below account for.
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


def _routine(name: str, *arguments: Any) -> Any:
    """Return a routine of LAPACK as a function that compiled code may call."""
    symbol = f"srcad_{name}"
    llvmlite.binding.add_symbol(
        symbol, get_cython_function_address("scipy.linalg.cython_lapack", name)
    )
    return types.ExternalFunction(symbol, types.void(*arguments))


_potrf = _routine("dpotrf", _CHAR, _INT, _DOUBLE, _INT, _INT)
_gesv = _routine("dgesv", _INT, _INT, _DOUBLE, _INT, _INT, _DOUBLE, _INT, _INT)
_getrf = _routine("dgetrf", _INT, _INT, _DOUBLE, _INT, _INT, _INT)
_getri = _routine("dgetri", _INT, _DOUBLE, _INT, _INT, _DOUBLE, _INT, _INT)
_trtrs = _routine("dtrtrs", _CHAR, _CHAR, _CHAR, _INT, _INT, _DOUBLE, _INT, _DOUBLE, _INT, _INT)
_trtri = _routine("dtrtri", _CHAR, _CHAR, _INT, _DOUBLE, _INT, _INT)
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
