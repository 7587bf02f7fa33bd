"""``@differentiate``: a function that has its derivatives with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

from srcad.api.asking import P, R, Wrt, checked
from srcad.arguments.request import UNSET, requested
from srcad.calling.decorated import Differentiable
from srcad.calling.gradient import function_behind
from srcad.startup.short_tracebacks import short_traceback


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
    backend: str = ...,
) -> Callable[[Callable[P, R]], Differentiable[P, R]]: ...
def differentiate(
    function: Callable[..., Any] | None = None,
    /,
    *,
    wrt: Wrt = UNSET,
    argnums: Wrt = UNSET,
    argnum: Wrt = UNSET,
    check_finite: bool = False,
    backend: str = "numpy",
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
    wrt : int, str or tuple of these
        What `grad`, `value_and_grad`, `jacobian`, `hessian` and `hvp` differentiate by.
    check_finite : bool
        Whether an infinity or nan in the value or in a derivative is an error, as in `grad`.
    backend : {"numpy"}
        What the generated code runs on.

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
            return Differentiable(function_behind(checked(function, backend)), request)
        checked(differentiate, backend)

    def decorate(decorated: Callable[..., Any]) -> Any:
        with short_traceback():
            return Differentiable(function_behind(checked(decorated, backend)), request)

    return decorate
