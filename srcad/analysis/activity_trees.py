"""Activities: of a number a bool, of a structure a tuple with that of each part.

`False` stands for "nothing in it", whatever the structure; a list has the activity of its items,
joined.
"""

from __future__ import annotations

from srcad.types.numeric import Numeric
from srcad.types.structures import ListOf, Opaque, PlacesOf, TupleOf, Type

Activity = bool | tuple["Activity", ...]


def fully_active(type_: Type, *, with_flags: bool = False) -> Activity:
    """Return the activity of a value of which every part that can carry a derivative does.

    A flag carries none, and counts for what asks where values differ.
    """
    match type_:
        case Numeric():
            return with_flags or type_.kind != "b"
        case TupleOf(items):
            return activity_of_parts(tuple(fully_active(t, with_flags=with_flags) for t in items))
        case PlacesOf():
            return False
        case ListOf(item):
            return fully_active(item, with_flags=with_flags)
        case Opaque(cls):
            return cls is None
    return False


def activity_of_parts(parts: tuple[Activity, ...]) -> Activity:
    """Return the activity of a structure with these of its parts."""
    return parts if any(parts) else False


def depth(activity: Activity) -> int:
    """How many structures lie in each other."""
    return 1 + max(map(depth, activity)) if isinstance(activity, tuple) else 0


def either_active(a: Activity, b: Activity) -> Activity:
    """Active where one of two is."""
    if a is False or b is False or a is b:
        return a or b
    if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
        return activity_of_parts(tuple(either_active(x, y) for x, y in zip(a, b, strict=True)))
    return a if isinstance(a, tuple) else b


def both(a: Activity, b: Activity) -> Activity:
    """Active where both are."""
    if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
        return activity_of_parts(tuple(both(x, y) for x, y in zip(a, b, strict=True)))
    if a is False or b is False:
        return False
    return a if isinstance(a, tuple) else b


def part(activity: Activity, index: int) -> Activity:
    return activity[index] if isinstance(activity, tuple) else activity


def position(type_: Type, key: object) -> int | None:
    """Where the part with a key or position stands in a structure, if that is known."""
    if not isinstance(type_, TupleOf):
        return None
    if type_.keys is not None and key in type_.keys:
        return type_.keys.index(key)
    if isinstance(key, int) and -len(type_.items) <= key < len(type_.items):
        return key % len(type_.items)
    return None
