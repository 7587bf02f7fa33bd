"""Derivatives of arrays by arrays: Jacobians, Hessians, and their products with vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from srcad.api.asking import P, Wrt, checked, derivative
from srcad.arguments.options import Backend
from srcad.arguments.request import UNSET, requested
from srcad.calling.gradient import Gradient
from srcad.calling.products import Product
from srcad.errors import OptionError
from srcad.modes import nested, nested_products
from srcad.modes.nested import Given, Meaning
from srcad.startup.identifiers import shown
from srcad.startup.short_tracebacks import short_traceback

_MODES = {"auto": "jacobian", "fwd": "jacfwd", "rev": "jacrev"}


def jacobian(
    function: Callable[P, Any],
    wrt: Wrt = UNSET,
    mode: str = "auto",
    *,
    argnums: Wrt = UNSET,
    argnum: Wrt = UNSET,
    has_aux: bool = False,
    sparse: bool = False,
    holomorphic: bool = False,
    chunk_size: int | None = None,
    check_finite: bool = False,
    backend: Backend = "numpy",
) -> Gradient[P, Any]:
    """Return the Jacobian of a function, as a function of the same arguments.

    Parameters
    ----------
    function : callable
        A plain Python function; the result is a number, an array, or a structure of such.
    wrt : int, str or tuple of these
        The arguments to differentiate with respect to, by position or name, the first by default;
        see `grad`.
    mode : {"auto", "fwd", "rev"}
        Forwards, by columns; in reverse, by rows; or the one that needs fewer in the first call.
    argnums, argnum : int, str or tuple of these
        Other spellings of `wrt`.
    has_aux : bool
        If True, `function` returns ``(y, aux)``, and the result is ``(jacobian, aux)``.
    sparse : bool
        If True, the result is a ``scipy.sparse.csr_array`` of shape ``(y.size, x.size)``, with as
        few directions as a colouring of the columns of `sparsity` needs.  Needs SciPy.
    holomorphic : bool
        If True, complex results have a complex derivative with respect to complex arguments.
    chunk_size : int, optional
        The number of directions in one chunk, for less memory; without it one chunk has all.
    check_finite : bool
        If True, an infinity or nan in the value or in a derivative is an error.
    backend : {"numpy", "numba", "auto"} or Numba
        The generated code runs on NumPy, as loops that Numba compiles, or as the faster of both.

    Returns
    -------
    Gradient
        A callable.  For an array `y` and an argument `x` it returns an array of shape
        ``y.shape + x.shape`` with the dtype of the gradient, complex where `y` is.  Those of
        structures stand in the structure of `y`, and inside that in the structure of `x`.

    Raises
    ------
    OptionError
        An option is unknown, or does not go with ``sparse=True``.
    UnsupportedTypeError
        Results and arguments are complex and not holomorphic; one is a list; a function with
        effects is taken in chunks.

    Examples
    --------
    >>> import numpy as np
    >>> jacobian(lambda x: x * x[0])(np.array([2.0, 3.0]))
    array([[4., 0.],
           [3., 2.]])
    """
    with short_traceback():
        if mode not in _MODES:
            raise _unknown(mode)
        if sparse:
            _refuse_with_sparse(has_aux=has_aux, holomorphic=holomorphic, by_rows=mode == "rev")
        return derivative(
            function,
            "sparse_jacobian" if sparse else _MODES[mode],
            wrt,
            argnums=argnums,
            argnum=argnum,
            has_aux=has_aux,
            holomorphic=holomorphic,
            chunk_size=chunk_size,
            check_finite=check_finite,
            backend=backend,
        )


def jacfwd(
    function: Callable[P, Any],
    wrt: Wrt = UNSET,
    *,
    argnums: Wrt = UNSET,
    argnum: Wrt = UNSET,
    has_aux: bool = False,
    holomorphic: bool = False,
    chunk_size: int | None = None,
    check_finite: bool = False,
    backend: Backend = "numpy",
) -> Gradient[P, Any]:
    """Return the Jacobian of a function, computed forwards, all columns in one pass.

    This mode suits functions with more entries in the result than in the arguments.

    Parameters
    ----------
    function : callable
        A plain Python function; the result is a number, an array, or a structure of such.
    wrt, argnums, argnum : int, str or tuple of these
        The arguments to differentiate with respect to, in one of these three spellings: positions
        (negative ones count from the end) or names, the first argument by default; see `grad`.
    has_aux : bool
        If True, `function` returns ``(y, aux)``, and the result is ``(jacobian, aux)``.
    holomorphic : bool
        If True, complex results have a complex derivative with respect to complex arguments.
    chunk_size : int, optional
        The number of directions in one chunk, for less memory; without it one chunk has all.
    check_finite : bool
        If True, an infinity or nan in the value or in a derivative is an error.
    backend : {"numpy", "numba", "auto"} or Numba
        The generated code runs on NumPy, as loops that Numba compiles, or as the faster of both.

    Returns
    -------
    Gradient
        A callable; for `y` and `x` it returns an array of shape ``y.shape + x.shape``.

    Examples
    --------
    >>> import numpy as np
    >>> jacfwd(lambda x: np.array([x[0] * x[1], x[0]]))(np.array([2.0, 3.0]))
    array([[3., 2.],
           [1., 0.]])
    """
    with short_traceback():
        return derivative(
            function,
            "jacfwd",
            wrt,
            argnums=argnums,
            argnum=argnum,
            has_aux=has_aux,
            holomorphic=holomorphic,
            chunk_size=chunk_size,
            check_finite=check_finite,
            backend=backend,
        )


def jacrev(
    function: Callable[P, Any],
    wrt: Wrt = UNSET,
    *,
    argnums: Wrt = UNSET,
    argnum: Wrt = UNSET,
    has_aux: bool = False,
    holomorphic: bool = False,
    chunk_size: int | None = None,
    check_finite: bool = False,
    backend: Backend = "numpy",
) -> Gradient[P, Any]:
    """Return the Jacobian of a function, computed in reverse, all rows in one pass.

    This mode suits functions with more entries in the arguments than in the result.

    Parameters
    ----------
    function : callable
        A plain Python function; the result is a number, an array, or a structure of such.
    wrt, argnums, argnum : int, str or tuple of these
        The arguments to differentiate with respect to, in one of these three spellings: positions
        (negative ones count from the end) or names, the first argument by default; see `grad`.
    has_aux : bool
        If True, `function` returns ``(y, aux)``, and the result is ``(jacobian, aux)``.
    holomorphic : bool
        If True, complex results have a complex derivative with respect to complex arguments.
    chunk_size : int, optional
        The number of directions in one chunk, for less memory; without it one chunk has all.
    check_finite : bool
        If True, an infinity or nan in the value or in a derivative is an error.
    backend : {"numpy", "numba", "auto"} or Numba
        The generated code runs on NumPy, as loops that Numba compiles, or as the faster of both.

    Returns
    -------
    Gradient
        A callable; for `y` and `x` it returns an array of shape ``y.shape + x.shape``.

    Examples
    --------
    >>> import numpy as np
    >>> jacrev(lambda x: np.sum(x**2))(np.array([2.0, 3.0]))
    array([4., 6.])
    """
    with short_traceback():
        return derivative(
            function,
            "jacrev",
            wrt,
            argnums=argnums,
            argnum=argnum,
            has_aux=has_aux,
            holomorphic=holomorphic,
            chunk_size=chunk_size,
            check_finite=check_finite,
            backend=backend,
        )


def hessian(
    function: Callable[P, Any],
    wrt: Wrt = UNSET,
    *,
    argnums: Wrt = UNSET,
    argnum: Wrt = UNSET,
    has_aux: bool = False,
    sparse: bool = False,
    holomorphic: bool = False,
    chunk_size: int | None = None,
    check_finite: bool = False,
    backend: Backend = "numpy",
) -> Gradient[P, Any]:
    """Return the matrix of second derivatives of a scalar function.

    It is the Jacobian of the gradient, forwards over reverse.

    Parameters
    ----------
    function : callable
        A plain Python function whose result is one real number.
    wrt, argnums, argnum : int, str or tuple of these
        The arguments to differentiate with respect to, in one of these three spellings: positions
        (negative ones count from the end) or names, the first argument by default; see `grad`.
    has_aux : bool
        If True, `function` returns ``(y, aux)``, and the result is ``(hessian, aux)``.
    sparse : bool
        If True, the result is a ``scipy.sparse.csr_array`` of shape ``(x.size, x.size)``, as of a
        sparse `jacobian`.
    holomorphic : bool
        If True, complex results have a complex derivative with respect to complex arguments.
    chunk_size : int, optional
        The number of directions in one chunk, for less memory; without it one chunk has all.
    check_finite : bool
        If True, an infinity or nan in the value or in a derivative is an error.
    backend : {"numpy", "numba", "auto"} or Numba
        The generated code runs on NumPy, as loops that Numba compiles, or as the faster of both.

    Returns
    -------
    Gradient
        A callable.  For an argument `x` it returns an array of shape ``x.shape + x.shape`` in the
        dtype of the gradient.  For a tuple of arguments it returns a tuple of tuples: the block in
        row `i` and column `j` is the derivative with respect to the `i`-th argument of the gradient
        with respect to the `j`-th.

    Raises
    ------
    NonScalarOutputError
        The result of `function` is not one real number.
    WrtError
        `wrt` names no parameter.

    Examples
    --------
    >>> import numpy as np
    >>> hessian(lambda x: x[0] ** 2 * x[1])(np.array([2.0, 3.0]))
    array([[6., 4.],
           [4., 0.]])
    """
    with short_traceback():
        if sparse:
            _refuse_with_sparse(has_aux=has_aux, holomorphic=holomorphic)
            return derivative(
                function,
                "sparse_hessian",
                wrt,
                argnums=argnums,
                argnum=argnum,
                check_finite=check_finite,
                backend=backend,
            )
        return derivative(
            function,
            "hessian",
            wrt,
            argnums=argnums,
            argnum=argnum,
            has_aux=has_aux,
            holomorphic=holomorphic,
            chunk_size=chunk_size,
            check_finite=check_finite,
            backend=backend,
        )


def sparsity(
    function: Callable[P, Any],
    wrt: Wrt = UNSET,
    *,
    argnums: Wrt = UNSET,
    argnum: Wrt = UNSET,
    backend: Backend = "numpy",
) -> Gradient[P, Any]:
    """Return where the Jacobian of a function may have entries, as a function of the arguments.

    What the derivative computes is followed with sets of inputs in the place of numbers.  Both arms
    of a conditional count, loops run as they do for these arguments, and what cannot be followed
    depends on all that goes in: there may be too many entries, and none is missing for these
    arguments.

    Parameters
    ----------
    function : callable
        A plain Python function; the result is a number, an array, or a structure of such.
    wrt, argnums, argnum : int, str or tuple of these
        The arguments to differentiate with respect to, in one of these three spellings: positions
        (negative ones count from the end) or names, the first argument by default; see `grad`.
    backend : {"numpy", "numba", "auto"} or Numba
        The generated code runs on NumPy, as loops that Numba compiles, or as the faster of both.

    Returns
    -------
    Gradient
        A callable.  For an array `y` and an argument `x` it returns a ``scipy.sparse.csr_array`` of
        flags, of shape ``(y.size, x.size)``; for a tuple of arguments a tuple of such.

    Raises
    ------
    UnsupportedTypeError
        An argument or the result is no number or array, or the function has effects.
    WrtError
        `wrt` names no parameter.

    Examples
    --------
    >>> import numpy as np
    >>> sparsity(lambda x: x[1:] * x[:-1])(np.ones(3)).toarray().astype(int)
    array([[1, 1, 0],
           [0, 1, 1]])
    """
    with short_traceback():
        return derivative(
            function, "sparsity", wrt, argnums=argnums, argnum=argnum, backend=backend
        )


def hvp(
    function: Callable[P, Any],
    wrt: Wrt = UNSET,
    *,
    argnums: Wrt = UNSET,
    argnum: Wrt = UNSET,
    has_aux: bool = False,
    check_finite: bool = False,
    backend: Backend = "numpy",
) -> Product[..., Any]:
    """Return the product of the Hessian of a scalar function with a vector.

    The gradient is differentiated forwards along the vector, so that no Hessian is made: a product
    costs a few gradients (Pearlmutter, "Fast exact multiplication by the Hessian", 1994).

    Parameters
    ----------
    function : callable
        A plain Python function whose result is one real number.
    wrt, argnums, argnum : int, str or tuple of these
        The arguments to differentiate with respect to, in one of these three spellings: positions
        (negative ones count from the end) or names, the first argument by default; see `grad`.
    has_aux : bool
        If True, `function` returns ``(y, aux)``, and the result is ``(product, aux)``.
    check_finite : bool
        If True, an infinity or nan in the value or in a derivative is an error, which names the
        first line that made it.
    backend : {"numpy", "numba", "auto"} or Numba
        The generated code runs on NumPy, as loops that Numba compiles, or as the faster of both.

    Returns
    -------
    Product
        A callable ``h(x, *rest, v)``: the direction `v` is the last argument by position, or the
        keyword ``v``, which is always the direction; a parameter of `function` of that name is
        given by position.  `v` has the structure and shape of the argument, or is a tuple of
        directions where `wrt` is one; so is the product.  It has the argument's dtype, or float64
        for integers.

    Raises
    ------
    SeedError
        A direction is missing, or does not fit its argument.
    WrtError
        `wrt` names no parameter, or one of them twice.
    TypeError
        `function` is not callable, or more than one of `wrt`, `argnums`, `argnum` is given.

    Examples
    --------
    >>> import numpy as np
    >>> def f(x):
    ...     return np.sum(x**3)
    >>> hvp(f)(np.array([1.0, 2.0]), np.array([1.0, 0.0]))
    array([6., 0.])
    >>> hvp(lambda x, a: a * x**2)(3.0, 5.0, 1.0)
    10.0
    >>> hvp(lambda x, a: a * x**2, wrt=(0, "a"))(3.0, 5.0, v=(1.0, 0.0))
    (10.0, 6.0)
    """
    with short_traceback():
        given = checked(function, backend)
        spelled = (wrt, argnums, argnum)
        request = requested(
            "hvp", spelled, has_aux=has_aux, check_finite=check_finite, backend=backend
        )
        return Product(given, request)


def _unknown(mode: object) -> OptionError:
    return OptionError(
        f"there is no mode {shown(mode)} of a Jacobian",
        help="mode='auto', mode='fwd' or mode='rev'",
    )


def _refuse_with_sparse(*, has_aux: bool, holomorphic: bool, by_rows: bool = False) -> None:
    """Refuse options that a sparse Jacobian cannot be combined with."""
    if holomorphic:
        raise OptionError(
            "a sparse matrix of derivatives is real", help="leave out sparse=True or holomorphic"
        )
    if has_aux:
        raise OptionError(
            "a sparse matrix of derivatives comes without aux",
            help="leave out has_aux=True, and compute the other results by another call",
        )
    if by_rows:
        raise OptionError(
            "a sparse Jacobian is computed column by column", help="leave out mode='rev'"
        )


# ------------------------------------------------------------- inside a differentiated function
def _by_mode(s: Any, given: Given) -> Any:
    """Interpret a call of ``jacobian``: its mode is an option, too."""
    mode = given.known(s, "mode", 2, "auto")
    if mode not in _MODES:
        raise _unknown(mode)
    return _meaning_of(_sparse_or(_MODES[mode], s, given))(s, given)


def _hessian(s: Any, given: Given) -> Any:
    return _meaning_of(_sparse_or("hessian", s, given))(s, given)


def _sparse_or(mode: str, s: Any, given: Given) -> str:
    """Return the mode that an option asks for."""
    sparse = "sparse_hessian" if mode == "hessian" else "sparse_jacobian"
    return sparse if given.known(s, "sparse", 9, False) else mode


def _meaning_of(mode: str) -> Meaning:
    return nested.gradient_of_options(mode)


nested.means_inside(jacobian)(_by_mode)
nested.means_inside(hessian)(_hessian)
for _function in (jacfwd, jacrev, sparsity):
    nested.means_inside(_function)(nested.gradient_of_options(_function.__name__))
nested.means_inside(hvp)(nested.gradient_of_options("hvp"))
nested.mode_inside("hvp")(nested_products.nested_hvp)
