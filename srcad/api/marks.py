"""Functions with a meaning for derivatives that do nothing in the original call."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Generic

from srcad.api.asking import T
from srcad.frontend.machine.dispatch import manages
from srcad.modes import marks, nested


def stop_gradient(x: T) -> T:
    """Return `x` itself; no derivative flows through it.

    Examples
    --------
    >>> from srcad import grad
    >>> grad(lambda x: stop_gradient(x) * x)(3.0)
    3.0
    """
    return x


def hook(x: T, fn: Callable[[Any], Any]) -> T:
    """Return `x` itself; its cotangent passes through `fn` on the way back.

    Parameters
    ----------
    x : number, array or structure of these
        What to look at.
    fn : callable
        ``fn(x_bar)`` is called once in each derivative that passes `x`, with the whole cotangent
        of what `hook` returns: a copy, in the structure, shape and dtype of `x`.  What it returns
        takes its place; None leaves it as it is, also as one part of a structure.  In a loop it is
        called once per trip, the last trip first.  It runs as it stands: print, record, clip.

    Returns
    -------
    object
        `x`.  Only what is made of this result counts for the cotangent, and `fn` is not called
        where no derivative passes.

    Raises
    ------
    SeedError
        What `fn` returns does not have the structure and shape of `x`.
    NotDifferentiableError
        A gradient that has passed through `fn` is differentiated again.

    Examples
    --------
    >>> from srcad import grad
    >>> def f(x):
    ...     y = hook(x * x, lambda y_bar: min(y_bar, 1.0))
    ...     return 5 * y
    >>> f(3.0), grad(f)(3.0)
    (45.0, 6.0)
    """
    return x


class _Skipped(BaseException):
    """Nobody sees it: it leaves the body of a ``with`` before its first statement."""


class Cotangent(Generic[T]):
    """The context manager of `srcad.cotangent`; its body is code of the derivative.

    Python enters the body of every ``with``.  An exception that a trace function raises before the
    first instruction behind ``__enter__`` leaves it at once, and ``__exit__`` keeps it.  Whoever
    traces the thread (a debugger, a profile of covered lines) traces it again from there on.
    """

    __slots__ = ("_before", "_frame", "_local", "_opcodes")

    def __enter__(self) -> T:
        """Arrange that nothing of the body runs."""
        frame = self._frame = sys._getframe(1)
        self._before = sys.gettrace()
        self._local, self._opcodes = frame.f_trace, frame.f_trace_opcodes
        frame.f_trace_opcodes = True
        frame.f_trace = _leave
        sys.settrace(_not_traced)
        return None  # type: ignore[return-value]  # nobody gets it

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:  # fmt: skip
        """Let the thread be traced as it was."""
        sys.settrace(self._before)
        self._frame.f_trace, self._frame.f_trace_opcodes = self._local, self._opcodes
        del self._frame, self._before, self._local
        return kind is _Skipped


def _not_traced(frame: FrameType, event: str, argument: Any) -> None:
    """No function that is called meanwhile is traced."""


def _leave(frame: FrameType, event: str, argument: Any) -> Any:
    """Leave the frame's ``with`` before its next instruction."""
    if event == "opcode":
        raise _Skipped
    return _leave


def cotangent(x: T) -> Cotangent[T]:
    """Say what is done to the cotangent of a variable: ``with cotangent(x) as x_bar: ...``.

    The body runs in the reverse sweep of a derivative, when the cotangent of `x` at this place is
    complete: all that is made of `x` from here on has been gone through.  It may look at it, write
    into it (``x_bar[:] = ...``), or put another in its place (``x_bar = ...``); what `x_bar` is at
    the end goes on.  The body never runs in the original call, in `jvp`, or where no derivative
    passes.

    Parameters
    ----------
    x : number, array or structure of these
        A variable of the function.

    Returns
    -------
    Cotangent
        A context manager.  Its target is a copy of the cotangent, in the structure, shape and
        dtype of `x`.

    Raises
    ------
    SeedError
        What is put in the place of the cotangent does not have the structure and shape of `x`.
    UnsupportedSyntaxError
        `x` or the target is not a name; the body leaves (``return``), or binds a variable of the
        function.
    NotDifferentiableError
        A gradient that has passed through it is differentiated again.

    Examples
    --------
    >>> import srcad
    >>> def f(x):
    ...     y = x * x
    ...     with srcad.cotangent(y) as y_bar:
    ...         y_bar = min(y_bar, 1.0)
    ...     return 5 * y
    >>> f(3.0), srcad.grad(f)(3.0)
    (45.0, 6.0)
    """
    return Cotangent()


# ------------------------------------------------------------- inside a differentiated function
nested.means_inside(stop_gradient)(nested.stopped_now)
nested.means_inside(hook)(marks.hooked)
nested.means_inside(cotangent)(marks.cotangent_alone)
manages(cotangent)(marks.in_reverse)
