"""Gradients of one number: ``grad``, ``value_and_grad``, ``gradient``, ``elementwise_grad``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

from srcad.api.asking import P, R, Wrt, checked, derivative
from srcad.arguments.options import Backend
from srcad.arguments.request import UNSET, requested
from srcad.calling.decorated import Differentiable
from srcad.calling.gradient import Gradient, of_arguments, undecorated
from srcad.calling.patterns import Failure
from srcad.calling.quiet import run_with_retry
from srcad.modes import nested
from srcad.startup.short_tracebacks import short_traceback


def grad(
    function: Callable[P, Any],
    wrt: Wrt = UNSET,
    *,
    argnums: Wrt = UNSET,
    argnum: Wrt = UNSET,
    has_aux: bool = False,
    check_finite: bool = False,
    backend: Backend = "numpy",
    holomorphic: bool = False,
) -> Gradient[P, Any]:
    """Return the gradient of a scalar function, as a function of the same arguments.

    Parameters
    ----------
    function : callable
        A plain Python function whose result is one real number.
    wrt, argnums, argnum : int, str or tuple of these
        The arguments to differentiate with respect to: positions (negative ones count from the
        end) or names, also of variables that the function reads from outside; the first argument
        by default.  One of them gives one gradient, a tuple or list gives a tuple.  `argnums` and
        `argnum` are other spellings of `wrt`; one of the three may be given.
    has_aux : bool
        If True, `function` returns ``(y, aux)``, and the result is ``(gradient, aux)``.
    check_finite : bool
        If True, an infinity or nan in the value or in a gradient is an error, which names the
        first line that made it.
    backend : {"numpy", "numba", "auto"} or Numba
        The generated code runs on NumPy, as loops that Numba compiles, or as the faster of both.
    holomorphic : bool
        If True, the gradient is the complex derivative of a complex result.  Otherwise the gradient
        with respect to a complex argument is ``df/dRe + i df/dIm``.

    Returns
    -------
    Gradient
        A callable; each gradient has the structure, shape and dtype of its argument.

    Raises
    ------
    WrtError
        `wrt` names no parameter.
    NonFiniteError
        With `check_finite`: the value or a gradient is not finite, when it is called.
    TypeError
        `function` is not callable, or more than one of `wrt`, `argnums`, `argnum` is given.

    Examples
    --------
    >>> def f(x):
    ...     return 3 * x**2 + 2 * x + 1
    >>> grad(f)(2.0)
    14.0
    >>> grad(grad(f))(2.0)
    6.0
    >>> grad(lambda z: z.real * z.imag)(3 + 4j), grad(lambda z: z * z, holomorphic=True)(3 + 4j)
    ((4+3j), (6+8j))
    """
    with short_traceback():
        return derivative(
            function,
            "grad",
            wrt,
            argnums=argnums,
            argnum=argnum,
            has_aux=has_aux,
            check_finite=check_finite,
            backend=backend,
            holomorphic=holomorphic,
        )


def value_and_grad(
    function: Callable[P, R],
    wrt: Wrt = UNSET,
    *,
    argnums: Wrt = UNSET,
    argnum: Wrt = UNSET,
    has_aux: bool = False,
    check_finite: bool = False,
    backend: Backend = "numpy",
    holomorphic: bool = False,
) -> Gradient[P, tuple[R, Any]]:
    """Return the value together with the gradient, as a function of the same arguments.

    Parameters
    ----------
    function : callable
        A plain Python function whose result is one real number.
    wrt, argnums, argnum : int, str or tuple of these
        The arguments to differentiate with respect to, in one of these three spellings: positions
        (negative ones count from the end) or names, the first argument by default; see `grad`.
    has_aux : bool
        If True, `function` returns ``(y, aux)``, and the result is ``((y, aux), gradient)``.
    check_finite : bool
        If True, an infinity or nan in the value or in a derivative is an error.
    backend : {"numpy", "numba", "auto"} or Numba
        The generated code runs on NumPy, as loops that Numba compiles, or as the faster of both.
    holomorphic : bool
        If True, the gradient is the complex derivative of a complex result, as for `grad`.

    Returns
    -------
    Gradient
        A callable that returns ``(value, gradient)``.

    Examples
    --------
    >>> import numpy as np
    >>> def loss(w, x, t):
    ...     return np.mean((x @ w - t) ** 2)
    >>> w, x, t = np.array([1.0, 2.0]), np.eye(2), np.array([0.0, 1.0])
    >>> value, gradient = value_and_grad(loss)(w, x, t)
    >>> float(value), gradient
    (1.0, array([1., 1.]))
    """
    with short_traceback():
        return derivative(
            function,
            "value_and_grad",
            wrt,
            argnums=argnums,
            argnum=argnum,
            has_aux=has_aux,
            check_finite=check_finite,
            backend=backend,
            holomorphic=holomorphic,
        )


def elementwise_grad(
    function: Callable[P, Any],
    wrt: Wrt = UNSET,
    *,
    argnums: Wrt = UNSET,
    argnum: Wrt = UNSET,
    check_finite: bool = False,
    backend: Backend = "numpy",
    holomorphic: bool = False,
) -> Gradient[P, Any]:
    """Return the gradient of the sum of a function's result.

    For a function that acts on each entry by itself this is its derivative at each entry.

    Parameters
    ----------
    function : callable
        A plain Python function whose result is a real number or an array of them.
    wrt, argnums, argnum : int, str or tuple of these
        The arguments to differentiate with respect to, in one of these three spellings: positions
        (negative ones count from the end) or names, the first argument by default; see `grad`.
    check_finite : bool
        If True, an infinity or nan in the value or in a derivative is an error.
    backend : {"numpy", "numba", "auto"} or Numba
        The generated code runs on NumPy, as loops that Numba compiles, or as the faster of both.
    holomorphic : bool
        If True, complex results have a complex derivative with respect to complex arguments.

    Returns
    -------
    Gradient
        A callable; a gradient has the shape and dtype of its argument.

    Examples
    --------
    >>> import numpy as np
    >>> elementwise_grad(np.sin)(np.array([0.0, np.pi]))
    array([ 1., -1.])
    """
    with short_traceback():
        return derivative(
            function,
            "elementwise_grad",
            wrt,
            argnums=argnums,
            argnum=argnum,
            check_finite=check_finite,
            backend=backend,
            holomorphic=holomorphic,
        )


def gradient(function: Callable[P, Any], /, *args: P.args, **kwargs: P.kwargs) -> tuple[Any, ...]:
    """Differentiate a scalar function with respect to all its positional arguments, now.

    Parameters
    ----------
    function : callable
        A function whose result is one real number.
    *args, **kwargs
        Its arguments; those given by keyword are constants.

    Returns
    -------
    tuple
        One gradient per positional argument; None where no derivative can flow.

    Examples
    --------
    >>> gradient(lambda a, b: a * b, 2, 3)
    (3.0, 2.0)
    """
    with short_traceback():
        found = of_arguments("grad", undecorated(checked(function)), args, kwargs)
        if isinstance(found, Failure):
            raise found.error from None
        result: tuple[Any, ...] = run_with_retry(found)
        return result


# ------------------------------------------------------------- inside a differentiated function
nested.means_inside(grad)(nested.gradient_of_options("grad"))
nested.means_inside(value_and_grad)(nested.gradient_of_options("value_and_grad"))
nested.means_inside(elementwise_grad)(nested.gradient_of_options("elementwise_grad"))
nested.means_inside(gradient)(nested.nested_gradient)


# ``@differentiate``: a function that has its derivatives with it.


@overload
def differentiate(function: Callable[P, R], /) -> Differentiable[P, R]: ...
@overload
def differentiate(
    function: None = None,
    /,
    *,
    wrt: Wrt = ...,
    argnums: Wrt = ...,
    argnum: Wrt = ...,
    check_finite: bool = ...,
    backend: Backend = ...,
) -> Callable[[Callable[P, R]], Differentiable[P, R]]: ...
def differentiate(
    function: Callable[..., Any] | None = None,
    /,
    *,
    wrt: Wrt = UNSET,
    argnums: Wrt = UNSET,
    argnum: Wrt = UNSET,
    check_finite: bool = False,
    backend: Backend = "numpy",
) -> Any:
    """Give a function its derivatives: a decorator, with or without options.

    The decorated object still is the function (calls run at its own speed); it also has ``grad``,
    ``value_and_grad``, ``gradient``, ``pullback``, ``jvp``, ``jacobian``, ``hessian``, ``hvp``,
    ``source``, ``adjoint_source``, ``ssa`` and ``inspect``.  Decorating runs nothing of the
    function, and reads nothing.

    Parameters
    ----------
    function : callable
        The function.
    wrt, argnums, argnum : int, str or tuple of these
        The arguments with respect to which `grad`, `value_and_grad`, `jacobian`, `hessian` and
        `hvp` differentiate, in one of these three spellings; the first argument by default.
    check_finite : bool
        If True, an infinity or nan in the value or in a derivative is an error.
    backend : {"numpy", "numba", "auto"} or Numba
        The generated code runs on NumPy, as loops that Numba compiles, or as the faster of both.

    Returns
    -------
    Differentiable
        The function with its derivatives; a decorator that returns it if options are given only.

    Examples
    --------
    >>> @differentiate
    ... def f(x):
    ...     return x**3
    >>> f(2.0), f.grad(2.0), f.jvp((2.0,), (1.0,)), f.hvp(2.0, 1.0)
    (8.0, 12.0, (8.0, 12.0), 12.0)
    """
    with short_traceback():
        request = requested(
            "grad", (wrt, argnums, argnum), backend=backend, check_finite=check_finite
        )
        if function is not None:
            return Differentiable(undecorated(checked(function, backend)), request)
        checked(differentiate, backend)

    def decorate(decorated: Callable[..., Any]) -> Any:
        with short_traceback():
            return Differentiable(undecorated(checked(decorated, backend)), request)

    return decorate
