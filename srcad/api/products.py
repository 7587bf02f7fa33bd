"""Derivatives in one direction: ``pullback`` backwards, ``jvp`` forwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar, overload

from srcad.api.asking import P, R, Wrt, checked
from srcad.arguments.request import directions_of
from srcad.backends.interface.tracebacks import noted
from srcad.calling.gradient import along, of_arguments, undecorated
from srcad.calling.patterns import Failure
from srcad.modes import nested, nested_products
from srcad.startup.short_tracebacks import short_traceback

A = TypeVar("A")


Back = Callable[[Any], tuple[Any, ...]]


@overload
def pullback(  # type: ignore[overload-overlap]
    function: Callable[..., tuple[R, A]],
    /,
    *args: Any,
    has_aux: Literal[True],
    wrt: Wrt | None = ...,
    check_finite: bool = ...,
    **kwargs: Any,
) -> tuple[R, Back, A]: ...
@overload
def pullback(
    function: Callable[..., R],
    /,
    *args: Any,
    wrt: Wrt | None,
    check_finite: bool = ...,
    **kwargs: Any,
) -> tuple[R, Back]: ...
@overload
def pullback(
    function: Callable[..., R], /, *args: Any, check_finite: bool, **kwargs: Any
) -> tuple[R, Back]: ...
@overload
def pullback(function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> tuple[R, Back]: ...
def pullback(  # type: ignore[misc]
    function: Callable[..., Any],
    /,
    *args: Any,
    has_aux: bool = False,
    wrt: Wrt | None = None,
    check_finite: bool = False,
    **kwargs: Any,
) -> tuple[Any, ...]:
    """Run a function and return its value with the map from its cotangent to the arguments'.

    Parameters
    ----------
    function : callable
        A function with any numbers, arrays or structures of such as its result.
    *args : object
        Its arguments.
    has_aux : bool
        If True, `function` returns ``(y, aux)``, and the result is ``(y, back, aux)``, with `aux`
        as the function made it.
    wrt : int, str or tuple of these, optional
        The arguments to differentiate with respect to; without it all positional ones.
    check_finite : bool
        If True, an infinity or nan in the value, or in the cotangents that `back` returns, is an
        error, which names the first line that made it.
    **kwargs : object
        Its arguments by keyword, which are constants.

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
    NonScalarOutputError
        With `has_aux`: the function returns no pair.
    NonFiniteError
        With `check_finite`: the value or a cotangent is not finite.

    Examples
    --------
    >>> y, back = pullback(lambda a, b: a * b, 2, 3)
    >>> y, back(1), back(10)
    (6, (3.0, 2.0), (30.0, 20.0))
    >>> y, back, aux = pullback(lambda a: (a * a, "square"), 3.0, has_aux=True)
    >>> y, back(1.0), aux
    (9.0, (6.0,), 'square')
    """
    with short_traceback():
        found = of_arguments(
            "pullback",
            undecorated(checked(function)),
            args,
            kwargs,
            wrt,
            has_aux=bool(has_aux),
            check_finite=bool(check_finite),
        )
        if isinstance(found, Failure):
            raise found.error from None
        with noted():
            result: tuple[Any, ...] = found()
        return result


vjp = pullback


@overload
def jvp(
    function: Callable[..., tuple[R, A]],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    has_aux: Literal[True],
    check_finite: bool = ...,
) -> tuple[R, Any, A]: ...
@overload
def jvp(
    function: Callable[..., R],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    has_aux: Literal[False] = ...,
    check_finite: bool = ...,
) -> tuple[R, Any]: ...
def jvp(
    function: Callable[..., Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    has_aux: bool = False,
    check_finite: bool = False,
) -> tuple[Any, ...]:
    """Run a function and return its value with its derivative in one direction, taken forwards.

    Parameters
    ----------
    function : callable
        A function with any numbers, arrays or structures of such as its result.
    primals : tuple or list
        Its arguments.
    tangents : tuple or list
        One direction for each, in its structure and shape; None for a constant.
    has_aux : bool
        If True, `function` returns ``(y, aux)``, and the result is ``(y, y_dot, aux)``, with `aux`
        as the function made it.
    check_finite : bool
        If True, an infinity or nan in the value or its tangent is an error, which names the first
        line that made it.

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
    NonScalarOutputError
        With `has_aux`: the function returns no pair.
    NonFiniteError
        With `check_finite`: the value or its tangent is not finite.

    Examples
    --------
    >>> jvp(lambda a, b: a * b, (2.0, 3.0), (1.0, 0.0))
    (6.0, 3.0)
    >>> jvp(lambda x, n: n * x**2, (2.0, 3), (1.0, None))
    (12.0, 12.0)
    """
    with short_traceback():
        wrt = directions_of(checked(function), primals, tangents)
        found = of_arguments(
            "jvp",
            undecorated(function),
            tuple(primals),
            {},
            wrt,
            has_aux=bool(has_aux),
            check_finite=bool(check_finite),
        )
        if isinstance(found, Failure):
            raise found.error from None
        result: tuple[Any, ...] = along(found, [tangents[k] for k in wrt])
        return result


# ------------------------------------------------------------- inside a differentiated function
nested.means_inside(pullback)(nested_products.nested_pullback)
nested.means_inside(jvp)(nested_products.nested_jvp)
