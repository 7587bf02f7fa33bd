"""Checkpointing: recompute values in the reverse pass instead of storing them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Concatenate, Self, overload

from srcad import errors
from srcad.api.asking import P, R, checked
from srcad.arguments.request import name_of
from srcad.calling.decorated import Decorated
from srcad.calling.gradient import Q
from srcad.frontend.domain.values import AbstractValue, BoundValue, Constant, IteratorValue
from srcad.frontend.library.builtins import range_
from srcad.frontend.machine.constants import known, raises
from srcad.frontend.machine.dispatch import apply
from srcad.frontend.machine.machine import Machine
from srcad.ir.core import CHECKPOINT, UNDEF, Block, If, Op, Value
from srcad.modes import nested
from srcad.modes.nested import Given
from srcad.startup.short_tracebacks import short_traceback
from srcad.transforms import checkpoints
from srcad.transforms.checkpoints import at_least_one
from srcad.types.numeric import INT

# Checkpoints inside a function that is read: calls that run twice, loops that are cut.


def called(
    state: Machine,
    function: AbstractValue,
    args: tuple[AbstractValue, ...],
    kwargs: dict[str, AbstractValue],
) -> AbstractValue:
    """Call a function so that a reverse sweep saves what it is given, and calls it again."""
    builder, start = state.builder, len(state.builder.ops)
    result = apply(state, function, args, kwargs)
    if state.builder is not builder:
        state.refuse(
            errors.UnsupportedSyntaxError,
            "cannot tell where this checkpoint ends",
            help=("call the function itself here",),
        )
    ops = builder.ops[start:]
    if ops:
        builder.ops[start:] = [_checkpoint_around(ops)]
    return result


def _checkpoint_around(ops: list[Op]) -> If:
    """Return a checkpoint around operations; their results keep their names outside."""
    outputs = tuple(v for op in ops for v in op.results)
    names = {value: Value(value.type, value.hint) for value in outputs}
    then = checkpoints.renamed(Block((), tuple(ops), outputs), names)
    orelse = Block((), (), (UNDEF,) * len(outputs))
    return If(
        test=CHECKPOINT,
        then=then,
        orelse=orelse,
        outputs=outputs,
        where=ops[0].where,
        half=ops[0].half,
    )


def again(function: Any) -> Any:
    """Stand for ``checkpoint(function)`` inside a function that is read."""
    return function


def checkpointed(state: Machine, given: Given) -> AbstractValue:
    """``checkpoint(function)``: a function that is still to be called."""
    return BoundValue(Constant(again), (given.function(state),))


def called_again(state: Machine, given: Given) -> AbstractValue:
    """``checkpoint(function)(*args)``."""
    return called(state, given.args[0], given.args[1:], given.kwargs)


def ranged(state: Machine, given: Given) -> AbstractValue:
    """``checkpointed_range(...)``: a range, a loop over which is cut."""
    every = _checked(state, given.kwargs.get("every", Constant(None)), "every")
    levels = _checked(state, given.kwargs.get("levels", Constant(1)), "levels")
    known(state, levels, "'levels' of a checkpointed range")
    found = range_(state, given.args, {})
    assert isinstance(found, IteratorValue)
    return IteratorValue("range", found.parts, (every, levels))


def _checked(state: Machine, box: AbstractValue, what: str) -> AbstractValue:
    """Return a number of iterations or levels, at least 1."""
    if not isinstance(box, Constant) or not isinstance(box.value, int | None):
        return state.emit(at_least_one, box, Constant(what), type=INT)
    if box.value is not None and box.value < 1:
        raises(
            state, ValueError, f"{what!r} of a checkpointed range is at least 1, not {box.value}"
        )
    return box


class Checkpointed(Decorated[P, R]):
    """A function that is still itself, and of which a derivative keeps only the arguments."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<checkpointed {name_of(self.function)!r}>"

    __srcad_called__ = staticmethod(called)

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Self: ...
    @overload
    def __get__(
        self: Checkpointed[Concatenate[Any, Q], R], instance: object, owner: type | None = None
    ) -> Checkpointed[Q, R]: ...
    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self._bound(instance, owner)


def checkpoint(function: Callable[P, R]) -> Checkpointed[P, R]:
    """Let a derivative keep the arguments of a function, and compute the rest again.

    Outside a derivative, a call is a call of the function itself.  In a function that is
    differentiated, a call keeps its arguments (and what the function reads from outside) until
    the reverse pass gets to it, and none of the values that it computes in between: the reverse
    pass runs the function once more.  The derivative has the same value, to the last bit.

    Parameters
    ----------
    function : callable
        Any function; also a method, where this decorates it.

    Returns
    -------
    Checkpointed
        A callable with the name, the signature and the attributes of the function.

    Raises
    ------
    UnsupportedSyntaxError
        When it is differentiated: the derivative needs what a call inside returned that cannot be
        made twice, such as reading from a file.

    Examples
    --------
    >>> import numpy as np, srcad
    >>> @checkpoint
    ... def layer(x, w):
    ...     return np.tanh(x * w)
    >>> srcad.grad(lambda w: layer(layer(2.0, w), w))(0.5)
    1.0255315244586607
    """
    with short_traceback():
        return Checkpointed(checked(function))


def checkpointed_range(*bounds: int, every: int | None = None, levels: int = 1) -> range:
    """Return ``range(*bounds)``; a derivative keeps the state of a loop over it now and then only.

    In a function that is differentiated, the loop is cut into segments.  The state before each
    segment is kept; the reverse pass runs a segment once more and reverses it, from the last
    segment to the first.  So of n iterations about ``2 * sqrt(n)`` states are kept instead of n,
    and the loop runs twice; on two levels, where segments are cut in turn, ``3 * n**(1 / 3)``, and
    it runs three times.  The derivative has the same value, to the last bit.

    Parameters
    ----------
    *bounds : int
        Those of `range`: stop, or start, stop and perhaps step.
    every : int, optional
        The iterations of the shortest segments; by default all levels have as many parts.
    levels : int
        The number of levels on which the loop is cut.

    Returns
    -------
    range
        The range.

    Raises
    ------
    ValueError
        `every` or `levels` is less than one.

    Notes
    -----
    Griewank and Walther (2000), https://doi.org/10.1145/347837.347846, have the schedules that run
    the fewest iterations again for a number of states; segments of equal length are a little behind
    them, and make loops that can be read.

    Examples
    --------
    >>> import srcad
    >>> def orbit(x):
    ...     for _ in checkpointed_range(100):
    ...         x = 3.7 * x * (1 - x)
    ...     return x
    >>> list(checkpointed_range(2, 8, 3)), srcad.grad(orbit)(0.25) == srcad.grad(orbit)(0.25)
    ([2, 5], True)
    """
    with short_traceback(every=True):
        if every is not None:
            at_least_one(every, "every")
        at_least_one(levels, "levels")
        return range(*bounds)


# ------------------------------------------------------------- inside a differentiated function
nested.means_inside(checkpoint)(checkpointed)
nested.means_inside(again)(called_again)
nested.means_inside(checkpointed_range)(ranged)
