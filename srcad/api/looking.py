"""Inspection of compiled functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from srcad.api.asking import Wrt, checked
from srcad.arguments.request import requested
from srcad.backends.interface.tracebacks import noted
from srcad.calling.gradient import Gradient, inspection, of_arguments, undecorated
from srcad.calling.inspection import Inspection
from srcad.calling.patterns import Failure
from srcad.modes.rows import TraceTable
from srcad.startup.short_tracebacks import short_traceback


def inspect(function: Callable[..., Any], /, *args: Any, wrt: Wrt = 0, **kwargs: Any) -> Inspection:
    """Return a report on the compilation of a function, without executing user code.

    Parameters
    ----------
    function : callable
        The function.
    *args : object
        Arguments of the pattern of interest; without any, the generic form is shown.
    wrt : int, str or tuple of these
        The arguments to differentiate with respect to.
    **kwargs : object
        Arguments by keyword.

    Returns
    -------
    Inspection
        With `primal_source`, `adjoint_source`, `ssa`, `adjoint_ssa`, `ast`, `saved`, `graph`,
        `helpers`, `active`, `line_map` and ``definition(name)``.

    Examples
    --------
    >>> import numpy as np
    >>> def f(W, x):
    ...     y = W @ x
    ...     return np.sum(y)
    >>> print(inspect(f, np.eye(2), np.ones(2)).definition("y"))
    y = matmul(W, x)  # line 2
    """
    with short_traceback():
        if isinstance(function, Gradient):
            return function.inspect(*args, **kwargs)
        return inspection(checked(function), requested("grad", (wrt,)), args, kwargs)


def trace_table(
    function: Callable[..., Any], /, *args: Any, wrt: Wrt | None = None, **kwargs: Any
) -> TraceTable:
    """Run a function once, and list every value that it computes with its gradient.

    Parameters
    ----------
    function : callable
        A function whose result is one real number.
    *args : object
        Its arguments.
    wrt : int, str or tuple of these, optional
        The arguments to differentiate with respect to; without it all positional ones.
    **kwargs : object
        Its arguments by keyword, which are constants.

    Returns
    -------
    TraceTable
        A sequence of rows: first the arguments, then every value in the order in which it was
        made, each with `name`, `value`, `gradient`, `op`, `operands` and `line`.  In a loop there
        is a row for each iteration; ``table["h"]`` is the last row of a name.  `call` is the row
        of the call of another function that a row belongs to; only the rows of the first call of
        each function are printed, unless by ``table.expanded()``.

    Notes
    -----
    It is made for reading: every value is copied, so a long loop over large arrays takes memory.

    Examples
    --------
    >>> def f(x, y):
    ...     z = x + y
    ...     return z * x
    >>> table = trace_table(f, 2.0, 3.0)
    >>> row = table["z"]
    >>> row.value, row.gradient, row.op, row.operation
    (5.0, 2.0, 'add', 'add(x=2.0, y=3.0)')
    """
    with short_traceback():
        found = of_arguments("trace_table", undecorated(checked(function)), args, kwargs, wrt)
        if isinstance(found, Failure):
            raise found.error from None
        with noted():
            table: TraceTable = found()
        return table
