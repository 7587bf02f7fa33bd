"""The public functions; each is a thin door to the pipeline."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar, overload

from srcad.arguments.request import UNSET, directions_of, requested
from srcad.backends.interface.tracebacks import noted
from srcad.backends.registry import BACKENDS
from srcad.calling.decorated import Differentiable
from srcad.calling.gradient import Gradient, along, function_behind, inspection, of_arguments
from srcad.calling.inspection import Inspection
from srcad.calling.patterns import Failure
from srcad.calling.quiet import FLOATING, again
from srcad.modes import nested
from srcad.modes.registry import MODES

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
Wrt = int | str | tuple[int | str, ...] | list[int | str]


def grad(
    function: Callable[P, Any],
    wrt: Wrt = UNSET,
    *,
    argnums: Wrt = UNSET,
    argnum: Wrt = UNSET,
    has_aux: bool = False,
    backend: str = "numpy",
) -> Gradient[P, Any]:
    """Return the gradient of a scalar function, as a function of the same arguments.

    Parameters
    ----------
    function : callable
        A plain Python function whose result is one real number.
    wrt : int, str or tuple of these
        The arguments to differentiate by: positions (negative ones count from the end) or names.
        One of them gives one gradient, a tuple or list gives a tuple.  `argnums` and `argnum`
        are other spellings of it.
    has_aux : bool
        Whether `function` returns ``(y, aux)``; then ``(gradient, aux)`` comes back.
    backend : {"numpy"}
        What the generated code runs on.

    Returns
    -------
    Gradient
        A callable; each gradient has the structure, shape and dtype of its argument.

    Raises
    ------
    WrtError
        `wrt` names no parameter.
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
    """
    return derivative(function, "grad", wrt, argnums=argnums, argnum=argnum, has_aux=has_aux,
                      backend=backend)  # fmt: skip


def value_and_grad(
    function: Callable[P, R],
    wrt: Wrt = UNSET,
    *,
    argnums: Wrt = UNSET,
    argnum: Wrt = UNSET,
    has_aux: bool = False,
    backend: str = "numpy",
) -> Gradient[P, tuple[R, Any]]:
    """Return the value together with the gradient, as a function of the same arguments.

    Parameters are those of `grad`.  The result is ``(value, gradient)``, with `has_aux`
    ``((value, aux), gradient)``.

    Examples
    --------
    >>> value_and_grad(lambda x: x * x)(3.0)
    (9.0, 6.0)
    """
    return derivative(function, "value_and_grad", wrt, argnums=argnums, argnum=argnum,
                      has_aux=has_aux, backend=backend)  # fmt: skip


def elementwise_grad(
    function: Callable[P, Any],
    wrt: Wrt = UNSET,
    *,
    argnums: Wrt = UNSET,
    argnum: Wrt = UNSET,
    backend: str = "numpy",
) -> Gradient[P, Any]:
    """Return the gradient of the sum of a function's result.

    For a function that acts on each entry by itself this is its derivative at each entry.

    Examples
    --------
    >>> import numpy as np
    >>> elementwise_grad(np.sin)(np.array([0.0, np.pi]))
    array([ 1., -1.])
    """
    return derivative(function, "elementwise_grad", wrt, argnums=argnums, argnum=argnum,
                      backend=backend)  # fmt: skip


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
    found = of_arguments("grad", function_behind(_checked(function)), args, kwargs)
    if isinstance(found, Failure):
        raise found.error from None
    result: tuple[Any, ...]
    try:
        with noted():
            result = found()
    except FLOATING:
        call = again(found)
        if call is None:
            raise
    else:
        return result
    with noted():
        result = call()
    return result


@overload
def pullback(
    function: Callable[..., R], /, *args: Any, wrt: Wrt | None, **kwargs: Any
) -> tuple[R, Callable[[Any], tuple[Any, ...]]]: ...
@overload
def pullback(
    function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs
) -> tuple[R, Callable[[Any], tuple[Any, ...]]]: ...
def pullback(  # type: ignore[misc]
    function: Callable[..., Any], /, *args: Any, wrt: Wrt | None = None, **kwargs: Any
) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """Run a function and return its value with the map from its cotangent to the arguments'.

    Parameters
    ----------
    function : callable
        A function with any numbers, arrays or structures of such as its result.
    *args, **kwargs
        Its arguments; those given by keyword are constants.
    wrt : int, str or tuple of these, optional
        The arguments to differentiate by; without it all positional ones.

    Returns
    -------
    y : object
        The value.
    back : callable
        ``back(y_bar)`` is the tuple of cotangents of these arguments.  It may be called
        any number of times.  The seed has the shape of `y`; one number stands for all entries.

    Raises
    ------
    SeedError
        The seed given to `back` does not fit the value.

    Examples
    --------
    >>> y, back = pullback(lambda a, b: a * b, 2, 3)
    >>> y, back(1), back(10)
    (6, (3.0, 2.0), (30.0, 20.0))
    """
    found = of_arguments("pullback", function_behind(_checked(function)), args, kwargs, wrt)
    if isinstance(found, Failure):
        raise found.error from None
    with noted():
        result: tuple[Any, Callable[[Any], tuple[Any, ...]]] = found()
    return result


vjp = pullback


def jvp(
    function: Callable[..., R], primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[R, Any]:
    """Run a function and return its value with its derivative in one direction, taken forwards.

    Parameters
    ----------
    function : callable
        A function with any numbers, arrays or structures of such as its result.
    primals : tuple or list
        Its arguments.
    tangents : tuple or list
        One direction for each, in its structure and shape; None for a constant.

    Returns
    -------
    y : object
        The value.
    y_dot : object
        Its tangent, in the structure of the value.

    Raises
    ------
    SeedError
        A tangent does not fit its argument.

    Examples
    --------
    >>> jvp(lambda a, b: a * b, (2.0, 3.0), (1.0, 0.0))
    (6.0, 3.0)
    >>> jvp(lambda x, n: n * x**2, (2.0, 3), (1.0, None))
    (12.0, 12.0)
    """
    wrt = directions_of(_checked(function), primals, tangents)
    found = of_arguments("jvp", function_behind(function), tuple(primals), {}, wrt)
    if isinstance(found, Failure):
        raise found.error from None
    result: tuple[R, Any] = along(found, [tangents[k] for k in wrt])
    return result


def inspect(function: Callable[..., Any], /, *args: Any, wrt: Wrt = 0, **kwargs: Any) -> Inspection:
    """Show what the compiler makes of a function; nothing of the user's is executed.

    Parameters
    ----------
    function : callable
        The function.
    *args, **kwargs
        Arguments of the pattern of interest; without any, the generic form is shown.
    wrt : int, str or tuple of these
        The arguments to differentiate by.

    Returns
    -------
    Inspection
        With `primal_source`, `adjoint_source`, `ssa`, `adjoint_ssa`, `ast`, `saved`, `active`,
        `line_map` and ``definition(name)``.

    Examples
    --------
    >>> import numpy as np
    >>> def f(W, x):
    ...     y = W @ x
    ...     return np.sum(y)
    >>> print(inspect(f, np.eye(2), np.ones(2)).definition("y"))
    y = matmul(W, x)  # line 2
    """
    if isinstance(function, Gradient):
        return function.inspect(*args, **kwargs)
    return inspection(_checked(function), requested("grad", (wrt,)), args, kwargs)


def stop_gradient(x: T) -> T:
    """Return `x` itself; no derivative flows through it.

    Examples
    --------
    >>> grad(lambda x: stop_gradient(x) * x)(3.0)
    3.0
    """
    return x


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
    backend: str = ...,
) -> Callable[[Callable[P, R]], Differentiable[P, R]]: ...
def differentiate(
    function: Callable[..., Any] | None = None,
    /,
    *,
    wrt: Wrt = UNSET,
    argnums: Wrt = UNSET,
    argnum: Wrt = UNSET,
    backend: str = "numpy",
) -> Any:
    """Give a function its derivatives: a decorator, with or without options.

    The decorated object still is the function (calls run at its own speed); it also has ``grad``,
    ``value_and_grad``, ``gradient``, ``pullback``, ``source``, ``adjoint_source``, ``ssa`` and
    ``inspect``.  Decorating runs nothing and reads nothing of the function.

    Parameters
    ----------
    function : callable
        The function.
    wrt : int, str or tuple of these
        What `grad` and `value_and_grad` differentiate by.
    backend : {"numpy"}
        What the generated code runs on.

    Examples
    --------
    >>> @differentiate
    ... def f(x):
    ...     return x**3
    >>> f(2.0), f.grad(2.0)
    (8.0, 12.0)
    """
    request = requested("grad", (wrt, argnums, argnum), backend=backend)
    if function is not None:
        return Differentiable(function_behind(_checked(function, backend)), request)
    _checked(differentiate, backend)
    return lambda decorated: Differentiable(function_behind(_checked(decorated, backend)), request)


def derivative(
    function: Callable[P, Any],
    mode: str,
    wrt: Wrt = UNSET,
    *,
    argnums: Wrt = UNSET,
    argnum: Wrt = UNSET,
    has_aux: bool = False,
    backend: str = "numpy",
) -> Gradient[P, Any]:
    """Return a derivative by the name of its mode, as a function of the same arguments.

    Parameters are those of `grad`, and the name of a mode.

    Raises
    ------
    OptionError
        There is no such mode, or no such backend.

    Examples
    --------
    >>> derivative(lambda x: x * x, "value_and_grad")(3.0)
    (9.0, 6.0)
    """
    checked = _checked(function, backend)
    spelled = (wrt, argnums, argnum)
    return Gradient(
        checked, requested(MODES.check(mode), spelled, has_aux=has_aux, backend=backend)
    )


def _checked(function: Any, backend: str = "numpy") -> Any:
    BACKENDS.check(backend)
    if not callable(function):
        raise TypeError(f"a function is differentiated, and {function!r} is not callable")
    return function


# ------------------------------------------------------------- inside a differentiated function
nested.means_inside(grad)(nested.gradient_of_options("grad"))
nested.means_inside(value_and_grad)(nested.gradient_of_options("value_and_grad"))
nested.means_inside(elementwise_grad)(nested.gradient_of_options("elementwise_grad"))
nested.means_inside(gradient)(nested.gradient_now)
nested.means_inside(pullback)(nested.pullback_now)
nested.means_inside(jvp)(nested.jvp_now)
nested.means_inside(stop_gradient)(nested.stopped)
