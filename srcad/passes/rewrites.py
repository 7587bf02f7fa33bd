"""Table of rewrites: those that `simplify` tries for a call, by its callee and its arguments.

A *rewrite* sees one call whose arguments are already simple and returns an atom to put in its
place, or None.  It is a line, see `by_pattern`, or a function with a name that says what it
matches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from srcad.ir.core import Arg, Call, Const, Value

Rewrite = Callable[[Any, Call], Arg | None]  # of the walk, a `Rewriter`, and a call
# What an argument has to be: a literal number, the result of a call of one of some, or (None) any.
Wanted = str | tuple[Any, ...] | None

NUMBER = "number"
_SORTED_BY = 2  # so many arguments say which rewrites are tried


_REWRITES: dict[Any, list[tuple[Rewrite, tuple[Wanted, ...]]]] = {}
_MADE_BY: dict[int, Any] = {}  # what rewrites want arguments to be results of, by its id
_WORTH_TRYING: dict[tuple[Any, ...], tuple[Rewrite, ...]] = {}  # as was found out so far


def rewrites(*targets: Any) -> Callable[[Rewrite], Rewrite]:
    """Register a rewrite for calls of some targets."""

    def register(function: Rewrite) -> Rewrite:
        add_rewrite(function, targets, ())
        return function

    return register


def add_rewrite(rewrite: Rewrite, targets: tuple[Any, ...], wanted: tuple[Wanted, ...]) -> None:
    """Register a rewrite for calls of some targets on some kinds of arguments."""
    wanted = wanted[:_SORTED_BY]
    for target in targets:
        _REWRITES.setdefault(target, []).append((rewrite, wanted))
    for one in wanted:
        if isinstance(one, tuple):
            _MADE_BY.update((id(target), target) for target in one)
    _WORTH_TRYING.clear()


def rewrites_of(call: Call, definitions: Mapping[Value, Call]) -> tuple[Rewrite, ...]:
    """Return the rewrites that are worth trying for a call."""
    target = call.target
    try:
        if target not in _REWRITES:
            return ()
    except TypeError:  # it cannot be hashed
        return ()
    key = (target, *[_kind(arg, definitions) for arg in call.args[:_SORTED_BY]])
    found = _WORTH_TRYING.get(key)
    if found is None:
        found = _WORTH_TRYING[key] = tuple(
            rewrite for rewrite, wanted in _REWRITES[target] if _are(key[1:], wanted)
        )
    return found


def _kind(arg: Arg, definitions: Mapping[Value, Call]) -> Any:
    """Return the sort key of a rewrite: a number, or the maker of an argument it asks for."""
    if isinstance(arg, Value):
        made = definitions.get(arg)
        return None if made is None else _MADE_BY.get(id(made.target))
    return NUMBER if number(arg) is not None else None


def _are(kinds: tuple[Any, ...], wanted: tuple[Wanted, ...]) -> bool:
    """Return True if the arguments may match a rewrite."""
    return len(wanted) <= len(kinds) and all(
        want is None or (kind is want if want is NUMBER else any(kind is one for one in want))
        for kind, want in zip(kinds, wanted, strict=False)
    )


def number(arg: Arg) -> float | int | None:
    """Return the literal number that an argument is (bools are none)."""
    if isinstance(arg, Const) and type(arg.value) in (int, float):
        value: float | int = arg.value
        return value
    return None
