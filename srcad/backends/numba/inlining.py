"""Forward substitution of numbers that are read once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from srcad.backends.numba.loops import (
    Access,
    Apply,
    Assign,
    Expr,
    Guard,
    Lines,
    Load,
    Nest,
    Node,
    Region,
    bodies,
    loads,
    names_of,
    walk,
    with_loads,
)

_LARGEST = 10  # operations in one expression: more are hard to read


def inline(body: list[Node], results: Iterable[Expr]) -> None:
    """Substitute numbers that are bound once and read once, in the same body.

    Parameters
    ----------
    body : list of Node
        Statements after fusion and contraction; they are changed.
    results : iterable of Expr
        What the function returns: its names stay.
    """
    bound: Counter[str] = Counter()
    read: Counter[str] = Counter()
    fixed: set[str] = set()
    for expr in results:
        fixed.update(load.storage for load in loads(expr))
        fixed.update(names_of(expr))
    for node in walk(body):
        _count(node, bound, read, fixed)
    once = {n for n in bound if bound[n] == 1 == read[n] and n not in fixed}
    _inline(body, once)


def _count(node: Node, bound: Counter[str], read: Counter[str], fixed: set[str]) -> None:
    if isinstance(node, Assign):
        if not node.index:
            bound[node.storage] += 1 if node.how == "=" else 2
        fixed.update(name for index in node.index for name in index.names)
        _count_expr(node.value, read, fixed)
    elif isinstance(node, Guard):
        _count_expr(node.test, read, fixed)
    elif isinstance(node, Nest):
        fixed.update(node.dim.size.names)
    elif isinstance(node, Lines):
        fixed.update(access.storage for access in node.touched)
        fixed.update(node.defines)
    elif isinstance(node, Region):
        fixed.update(node.reads)


def _count_expr(expr: Expr, read: Counter[str], fixed: set[str]) -> None:
    for load in loads(expr):
        if not load.index:
            read[load.storage] += 1
    fixed.update(names_of(expr))


def _inline(body: list[Node], once: set[str]) -> None:
    for node in body:
        for inner in bodies(node):
            _inline(inner, once)
    k = 0
    while k < len(body):
        node = body[k]
        is_candidate = isinstance(node, Assign) and not node.index and node.storage in once
        if is_candidate and _moved(body, k):
            del body[k]
        else:
            k += 1


def _moved(body: list[Node], k: int) -> bool:
    """Substitute the number at `position` at its only use; return True if it was possible."""
    node = body[k]
    assert isinstance(node, Assign)
    touched = {load.storage for load in loads(node.value)} | set(names_of(node.value))
    for other in body[k + 1 :]:
        if isinstance(other, Assign | Guard):
            value = other.value if isinstance(other, Assign) else other.test
            if any(load.storage == node.storage and not load.index for load in loads(value)):
                if _size(value) + _size(node.value) > _LARGEST:
                    return False
                _substitute(other, node)
                return True
        elif any(access.storage == node.storage for access in other.accesses()):
            return False
        if _writes(other.accesses(), touched):
            return False
    return False


def _writes(accesses: Iterable[Access], storages: set[str]) -> bool:
    return any(a.kind != "read" and a.storage in storages for a in accesses)


def _size(expr: Expr) -> int:
    return 1 + sum(map(_size, expr.args)) if isinstance(expr, Apply) else 0


def _substitute(user: Assign | Guard, node: Assign) -> None:
    def load(one: Load) -> Expr:
        return node.value if one.storage == node.storage and not one.index else one

    if isinstance(user, Assign):
        user.value = with_loads(user.value, load)
    else:
        user.test = with_loads(user.test, load)
