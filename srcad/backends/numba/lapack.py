"""Linear algebra for compiled code: BLAS and LAPACK through the functions that SciPy exports.

NumPy's routines are compiled by Numba in seconds; these calls take less.  A matrix in C order is
its transpose to these libraries, which the arguments below account for.  In the names of products,
``t`` is a transposed matrix, and ``n`` one that is not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import llvmlite.binding
import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import get_cython_function_address, intrinsic

from srcad.backends.numba.deopt import Deopt

_Emitted = tuple[Any, Callable[..., Any]]


def _routine(name: str, kinds: str, library: str = "lapack") -> Any:
    """Return a routine of a library as a function that compiled code may call.

    Numbers go by address.  `kinds` has a letter for each argument: ``c`` a character, ``i`` an
    integer, ``d`` a float, ``p`` an array of floats, ``q`` one of 32-bit integers; a last ``o`` is
    an integer that the routine sets, and that the function returns.
    """
    symbol = f"srcad_{name}"
    address = get_cython_function_address(f"scipy.linalg.cython_{library}", name)
    llvmlite.binding.add_symbol(symbol, address)

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointers = [
            _address(context, builder, kind, value, type_)
            for kind, value, type_ in zip(kinds, arguments, signature.args, strict=False)
        ]
        status = None
        if kinds.endswith("o"):
            status = cgutils.alloca_once_value(builder, ir.Constant(ir.IntType(32), 0))
            pointers.append(status)
        type_ = ir.FunctionType(ir.VoidType(), [pointer.type for pointer in pointers])
        builder.call(cgutils.get_or_insert_function(builder.module, type_, symbol), pointers)
        if status is None:
            return context.get_constant(types.int64, 0)
        return builder.sext(builder.load(status), ir.IntType(64))

    def typed(typing_context: Any, *arguments: Any) -> _Emitted:
        known = {"c": types.int64, "i": types.int64, "d": types.float64}
        wanted = [known.get(k, a) for k, a in zip(kinds, arguments, strict=False)]
        return types.int64(*wanted), emit

    count = len(kinds.removesuffix("o"))
    names = ", ".join(f"a{k}" for k in range(count))
    space: dict[str, Any] = {"typed": typed}
    exec(f"def {name}(typing_context, {names}):\n    return typed(typing_context, {names})", space)
    return intrinsic(space[name])


def _address(context: Any, builder: Any, kind: str, value: Any, type_: Any) -> Any:
    """Return the address of an argument of a routine."""
    if kind in "pq":
        return context.make_array(type_)(context, builder, value).data
    if kind in "ci":
        value = builder.trunc(value, ir.IntType(8 if kind == "c" else 32))
    return cgutils.alloca_once_value(builder, value)


_gemm = _routine("dgemm", "cciiidpipidpi", "blas")
_gemv = _routine("dgemv", "ciidpipidpi", "blas")
_potrf = _routine("dpotrf", "cipio")
_gesv = _routine("dgesv", "iipiqpio")
_getrf = _routine("dgetrf", "iipiqo")
_getri = _routine("dgetri", "ipiqpio")
_trtrs = _routine("dtrtrs", "ccciipipio")
_trtri = _routine("dtrtri", "ccipio")
_UPPER, _PLAIN, _TRANSPOSED, _GENERAL = (ord(c) for c in "UNTN")


# -------------------------------------------------------------------------------- products
def _product(a_option: int, b_option: int) -> Any:
    a_turned, b_turned = a_option == _TRANSPOSED, b_option == _TRANSPOSED

    @numba.njit(error_model="numpy")
    def product(a: Any, b: Any) -> Any:
        m, k = (a.shape[1], a.shape[0]) if a_turned else (a.shape[0], a.shape[1])
        n = b.shape[0] if b_turned else b.shape[1]
        out = np.empty((m, n))
        if m * n > 0:
            _gemm(b_option, a_option, n, m, k, 1.0, b, max(b.shape[1], 1), a, max(a.shape[1], 1),
                  0.0, out, n)  # fmt: skip
        return out

    return product


gemm_nn, gemm_nt = _product(_PLAIN, _PLAIN), _product(_PLAIN, _TRANSPOSED)
gemm_tn, gemm_tt = _product(_TRANSPOSED, _PLAIN), _product(_TRANSPOSED, _TRANSPOSED)


def _product_with_vector(option: int) -> Any:
    axis = 1 if option == _TRANSPOSED else 0

    @numba.njit(error_model="numpy")
    def product(a: Any, x: Any) -> Any:
        m, n = a.shape
        out = np.zeros(a.shape[axis])
        if a.size > 0:
            _gemv(_PLAIN if axis else _TRANSPOSED, n, m, 1.0, a, n, x, 1, 0.0, out, 1)
        return out

    return product


gemv_n, gemv_t = _product_with_vector(_PLAIN), _product_with_vector(_TRANSPOSED)


# --------------------------------------------------------------------------- factorisations
@numba.njit(error_model="numpy")
def _lower_triangle(a: Any) -> Any:
    n = a.shape[0]
    lower = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            lower[i, j] = a[i, j]
    return lower


@numba.njit(error_model="numpy")
def cholesky(a: Any) -> Any:
    """Return the lower triangular factor of a positive definite matrix."""
    n = a.shape[0]
    lower = _lower_triangle(a)
    if n > 0 and _potrf(_UPPER, n, lower, n) != 0:
        raise Deopt
    return lower


@numba.njit(error_model="numpy")
def solve(a: Any, b: Any) -> Any:
    """Return the solution of ``a @ x = b`` for a vector or the columns of a matrix."""
    n = a.shape[0]
    factors, pivots = np.empty((n, n)), np.empty(n, np.int32)
    for i in range(n):
        for j in range(n):
            factors[j, i] = a[i, j]
    columns = b.T.copy()
    if b.size > 0 and _gesv(n, b.size // n, factors, n, pivots, columns, n) != 0:
        raise Deopt
    return columns.T.copy()


@numba.njit(error_model="numpy")
def solve_lower(a: Any, b: Any, transposed: bool) -> Any:
    """Return the solution of ``a @ x = b``, or of ``a.T @ x = b``, for a lower triangle `a`."""
    n = a.shape[0]
    columns = b.T.copy()
    option = _PLAIN if transposed else _TRANSPOSED
    if b.size > 0 and _trtrs(_UPPER, option, _GENERAL, n, b.size // n, a, n, columns, n) != 0:
        raise Deopt
    return columns.T.copy()


@numba.njit(error_model="numpy")
def inverse(a: Any) -> Any:
    """Return the inverse of a matrix."""
    n = a.shape[0]
    result, pivots, work = a.copy(), np.empty(n, np.int32), np.empty(64 * n)
    if n > 0:
        if _getrf(n, n, result, n, pivots) != 0:
            raise Deopt
        if _getri(n, result, n, pivots, work, 64 * n) != 0:
            raise Deopt
    return result


@numba.njit(error_model="numpy")
def lower_inverse(a: Any) -> Any:
    """Return the inverse of a lower triangle."""
    n = a.shape[0]
    result = _lower_triangle(a)
    if n > 0 and _trtri(_UPPER, _GENERAL, n, result, n) != 0:
        raise Deopt
    return result


@numba.njit(error_model="numpy")
def determinant(a: Any) -> Any:
    """Return the sign of the determinant of a matrix and the logarithm of its absolute value."""
    n = a.shape[0]
    factors, pivots = a.copy(), np.empty(n, np.int32)
    if n > 0 and _getrf(n, n, factors, n, pivots) != 0:
        raise Deopt
    sign, logarithm = 1.0, 0.0
    for i in range(n):
        if (pivots[i] != i + 1) != (factors[i, i] < 0.0):
            sign = -sign
        logarithm += math.log(abs(factors[i, i]))
    return sign, logarithm
