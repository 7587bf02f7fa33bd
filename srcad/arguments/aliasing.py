"""Arguments that share memory, where the function writes into one of them.

``f(x, x[:-1])`` is another program than ``f(x, y)`` if `f` writes into its arguments: a write into
one is seen through the other.  Which arguments overlap is part of what a compiled function takes
for granted; where some do, the function is read with all of them as views of one copy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, NoReturn

import numpy as np

from srcad.errors import MutationError
from srcad.startup.identifiers import is_instance
from srcad.startup.records import is_record
from srcad.types import objects

Pairs = tuple[tuple[int, int], ...]
Memory = Literal["own", "read-only", "repeated"]
_MOST_WORK: Any = (
    10_000  # of deciding whether two arrays whose bounds overlap have an entry in common
)
_MOST_ENTRIES = 100_000  # of an array whose entries are compared place by place


def overlapping(arguments: Sequence[Any], written: Sequence[int]) -> Pairs:
    """Return the pairs of arguments that share memory, of which the first is written into.

    Parameters
    ----------
    arguments : sequence
        All arguments.
    written : sequence of int
        The positions of those that the function writes into.

    Returns
    -------
    tuple of pairs of int
        Positions; a pair of equal ones is a container two of whose arrays share memory.
    """
    opens = any(_holds_objects(arguments[k]) for k in written)
    leaves = [tuple(_arrays(argument, opens=opens)) for argument in arguments]
    found = []
    for k in written:
        if len(leaves[k]) > 1 and any(
            np.may_share_memory(a, b) for i, a in enumerate(leaves[k]) for b in leaves[k][:i]
        ):
            found.append((k, k))
        for other, arrays in enumerate(leaves):
            if other != k and any(np.may_share_memory(a, b) for a in leaves[k] for b in arrays):
                found.append((k, other))
    return tuple(found)


def _holds_objects(argument: Any) -> bool:
    """Return True if objects may stand in an argument that is written into."""
    return not isinstance(argument, np.ndarray | np.generic | float | int)


def _is_object(argument: Any) -> bool:
    """Return True if an argument is neither a number nor a container of Python's."""
    return not isinstance(argument, float | int | str | np.generic | list | dict | tuple)


def _arrays(
    argument: Any, *, opens: bool = True, around: tuple[int, ...] = ()
) -> Iterator[np.ndarray]:
    """Yield the arrays in an argument: in data classes, and in other objects if it `opens`."""
    if is_instance(argument, np.ndarray):
        yield argument
    elif is_instance(argument, dict):
        for value in argument.values():
            yield from _arrays(value, opens=opens, around=around)
    elif is_instance(argument, list | tuple):
        for value in argument:
            yield from _arrays(value, opens=opens, around=around)
    elif is_record(type(argument)) or (opens and _is_object(argument)):
        held = None if id(argument) in around else objects.attributes(argument)
        for value in () if held is None else held[1]:
            yield from _arrays(value, opens=opens, around=(*around, id(argument)))


def shared(written: Iterable[Any], others: Iterable[Any]) -> tuple[int, int] | None:
    """Return the first argument and the first other object that share memory, as positions."""
    held = [(k, array) for k, other in enumerate(others) for array in _arrays(other, opens=False)]
    for place, argument in enumerate(written) if held else ():
        for array in _arrays(argument):
            for k, other in held:
                if np.may_share_memory(array, other) and _share(array, other):
                    return place, k
    return None


def _share(a: np.ndarray, b: np.ndarray) -> bool:
    try:
        return bool(np.shares_memory(a, b, max_work=_MOST_WORK))
    except np.exceptions.TooHardError:
        return True


def refuse_shared(name: str, argument: str, other: str) -> NoReturn:
    """Refuse to write into an argument that the function also reads in another way.

    Raises
    ------
    MutationError
        Always.
    """
    raise MutationError(
        f"{name!r} writes into the argument {argument!r}, which shares memory with {other!r}",
        why="the write would be seen there, too; srcad reads the two as arrays of their own.",
        help=f"pass a copy:  {argument}.copy()",
    )


def groups(
    pairs: Pairs, arguments: Sequence[Any], written: Iterable[int], name: str
) -> tuple[tuple[int, ...], ...]:
    """Return the sets of arguments that are read as views of one copy.

    Raises
    ------
    MutationError
        Arrays inside containers, or of different dtypes, share memory, or one that is written into
        is read-only or has entries that do.
    """
    found: list[set[int]] = []
    for pair in pairs:
        joined = set(pair).union(*(group for group in found if group & set(pair)))
        found = [group for group in found if not group & joined] + [joined]
    for pair in pairs:
        arrays = [arguments[k] for k in pair]
        plain = all(isinstance(a, np.ndarray) for a in arrays) and pair[0] != pair[1]
        odd = any(k in written and argument_memory(arguments[k]) != "own" for k in pair)
        if not plain or odd or len({a.dtype for a in arrays}) > 1:
            raise MutationError(
                f"{name!r} writes into an argument that shares memory with another array",
                why="one of them is read-only, or has entries that share memory."
                if plain and odd
                else "srcad cannot tell how the two overlap inside a container.",
                help="pass a copy of one of them",
            )
    return tuple(tuple(sorted(group)) for group in found)


def argument_memory(argument: Any) -> Memory:
    """Return the memory of the arrays in an argument: "read-only", "repeated" or "own".

    "own" is said only if every array may be written into and repeats no entry.
    """
    arrays = list(_arrays(argument))
    if not all(array.flags.writeable for array in arrays):
        return "read-only"
    return "repeated" if any(map(_repeats, arrays)) else "own"


def _repeats(array: np.ndarray) -> bool:
    """Return True if two entries of an array share memory (``as_strided``, a sliding window)."""
    if array.flags.forc or array.size < 2:
        return False
    reach = array.itemsize
    for stride, length in sorted(zip(map(abs, array.strides), array.shape, strict=True)):
        if length > 1 and stride < reach:
            break
        reach += stride * (length - 1)
    else:
        return False
    if array.size > _MOST_ENTRIES:
        return True
    first = np.lib.array_utils.byte_bounds(array)[0]
    return bool(np.any(np.diff(np.sort(_bytes(first, array), axis=None)) < array.itemsize))


def _places(base: int, array: np.ndarray) -> np.ndarray:
    """Return the place of every entry of an array in memory, counted in items from an address."""
    return _bytes(base, array) // array.itemsize


def _bytes(base: int, array: np.ndarray) -> np.ndarray:
    """Return the place of every entry of an array in memory, counted in bytes from an address."""
    place = np.full(array.shape, array.__array_interface__["data"][0] - base)
    for axis, (length, stride) in enumerate(zip(array.shape, array.strides, strict=True)):
        shape = [1] * array.ndim
        shape[axis] = length
        place = place + np.reshape(np.arange(length) * stride, shape)
    laid_out = np.empty_like(array, dtype=place.dtype, subok=False)
    laid_out[...] = place  # what is gathered from these places lies in memory as they do
    return laid_out


def places(*arrays: np.ndarray) -> tuple[Any, ...]:
    """How many entries some overlapping arrays have together, and where each has its own."""
    first = min(np.lib.array_utils.byte_bounds(a)[0] for a in arrays)
    found = [_places(first, a) for a in arrays]
    count = max(int(p.max()) for p in found if p.size) + 1
    return (count, *found)


def backward_axes(array: np.ndarray) -> tuple[int, ...]:
    """Return the axes along which an array runs through memory backwards."""
    return tuple(axis for axis, stride in enumerate(array.strides) if stride < 0)


def names_of(indices: Iterable[Iterable[int]], names: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return the names of grouped positions."""
    return tuple(tuple(names[k] for k in group) for group in indices)
