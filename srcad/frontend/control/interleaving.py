"""Generators that a ``zip`` runs in step.

Only one of them is read where its values are used; of the others a list is made before the loop.
Nobody can tell unless the loop changes what they read.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from srcad.frontend.branches.try_regions import seen_now
from srcad.frontend.domain.structure import components
from srcad.frontend.domain.values import AbstractValue, FunctionValue, GeneratorValue, IteratorValue
from srcad.frontend.functions.lazy_iterables import is_lazy, refuse_listing
from srcad.frontend.machine.machine import Machine
from srcad.frontend.source.syntax import bound_in


@contextmanager
def checked_interleaving(s: Machine, node: ast.For, iterable: AbstractValue) -> Iterator[None]:
    """Read a loop over an iterable; refuse it if it changes what a list was made of before it."""
    parts = iterable.parts if isinstance(iterable, IteratorValue) and iterable.kind == "zip" else ()
    lazy = [part for part in parts if is_lazy(part)]
    others = [*lazy[1:], *(p for p in parts if isinstance(p, IteratorValue) and p.kind != "range")]
    if not others or others == lazy:
        yield
        return
    read = _names_read(s, others)
    count, seen = len(s.writes), seen_now(s)
    yield
    written = any(id(what) in seen for what, _, _ in s.writes[count:])
    if written or not read.isdisjoint(bound_in([node])):
        refuse_listing(s)


def _names_read(s: Machine, boxes: Iterable[AbstractValue]) -> set[str]:
    """Return the names that generators, and the functions that they call, may read."""
    found: set[str] = set()
    done: set[int] = set()
    todo: list[AbstractValue] = list(boxes)
    while todo:
        box = todo.pop()
        if id(box) in done:
            continue
        done.add(id(box))
        todo += components(box)
        node = (
            box.callee.node if isinstance(box, GeneratorValue)
            else box.node if isinstance(box, FunctionValue) else None
        )  # fmt: skip
        if node is not None:
            names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
            found |= names
            todo += [held for name, held in s.reachable() if name in names]
    return found
