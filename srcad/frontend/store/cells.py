"""The free variables of a local function.

While such a function is being read, its names are looked up when the local one is called.  When it
returns, the local function takes with it what they hold (`returned`): from then on that is a part
of the function as an item is of a tuple, which a write replaces and which meets another where paths
do.  Functions that hold each other keep the frame that has made them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager

from srcad.frontend.domain.structure import Done, components, is_mutable, mapped, same_structure
from srcad.frontend.domain.values import (
    AbstractValue,
    BoundValue,
    Choice,
    Code,
    Constant,
    Env,
    Frame,
    FunctionValue,
    Holder,
    MethodValue,
)
from srcad.frontend.machine.constants import is_one_constant
from srcad.frontend.machine.machine import Machine
from srcad.frontend.source.syntax import read_counts
from srcad.startup.records import replace

Read = list[tuple[str, AbstractValue]]


def _is_live(state: Machine, frame: Frame) -> bool:
    return any(frame is other for other in state.frames)


def enclosing_frame(state: Machine, box: FunctionValue) -> Frame:
    """Return the frame in which a local function looks for its free names."""
    if box.names is None:
        return box.frame
    env: Env = dict(zip(box.names, box.held, strict=True))
    env.update(dict.fromkeys(box.itself, box))
    return replace(_emptied(state, box.frame), env=env)


def _emptied(state: Machine, frame: Frame) -> Frame:
    """Empty a frame that has returned, and those around it: the function holds their names."""
    outer = frame.outer
    if outer is not None and not _is_live(state, outer):
        outer = _emptied(state, outer)
    return replace(frame, env={}, outer=outer, functions=[])


@contextmanager
def surrounded(state: Machine, frame: Frame | None) -> Iterator[None]:
    """Read a function among the names that it holds: what is written there is seen."""
    if frame is None or _is_live(state, frame):
        yield
        return
    state.frames.append(frame)
    try:
        yield
    finally:
        state.frames.remove(frame)
        returned(state, frame)


def returned(state: Machine, frame: Frame) -> None:
    """Note that a function has returned, with the functions made in it and what they read."""
    if not frame.functions:
        return
    taken = {id(box): _captured_from(state, box) for box in frame.functions}
    made = [box for box in frame.functions if not _leads_back(box, taken)]
    for box in made:
        own, others = _own_and_free(box, taken[id(box)])
        for field, value in (
            ("names", tuple(others)),
            ("held", tuple(others.values())),
            ("itself", own),
        ):
            object.__setattr__(box, field, value)
    outer = frame.outer
    while outer is not None and not _is_live(state, outer):
        outer = outer.outer
    if outer is not None:
        outer.functions += made


def returning(state: Machine, result: AbstractValue) -> AbstractValue:
    """On return, copy free variables into the closures created in this frame."""
    frame, done = state.frame, Done()
    if not frame.functions:
        return result
    taken = {id(box): _captured_from(state, box, frame) for box in frame.functions}

    def change(box: AbstractValue) -> AbstractValue | None:
        if is_mutable(box):
            return box
        if not isinstance(box, FunctionValue):
            return None
        if id(box) not in taken or _leads_back(box, taken):
            return box
        own, others = _own_and_free(box, taken[id(box)])
        held = tuple(mapped(part, change, done) for part in others.values())
        new = replace(box, names=tuple(others), held=held, itself=own)
        frame.functions.append(new)
        return new

    return mapped(result, change, done)


def _own_and_free(box: FunctionValue, names: Env) -> tuple[tuple[str, ...], Env]:
    """Return the names that are a function's own, and the others."""
    own = tuple(name for name, held in names.items() if held is box)
    return own, {name: held for name, held in names.items() if held is not box}


def _captured_from(state: Machine, box: FunctionValue, leaving: Frame | None = None) -> Env:
    """Return the free variables of a function from frames that have returned, or are `leaving`."""
    found: Env = dict(zip(box.names or (), box.held, strict=True))
    found.update(dict.fromkeys(box.itself, box))
    hidden: set[str] = set()
    frame: Frame | None = box.frame
    while frame is not None and (frame is leaving or not _is_live(state, frame)):
        for name in read_counts(box.node):
            if name not in found and name not in hidden and name in frame.env:
                found[name] = frame.env[name]
        hidden |= frame.local
        frame = frame.outer
    return found


def _leads_back(box: FunctionValue, taken: dict[int, Env]) -> bool:
    """Return True if a function holds another one that holds it."""
    seen: set[int] = set()
    todo = [held for held in taken[id(box)].values() if held is not box]
    while todo:
        held = todo.pop()
        if held is box:
            return True
        if id(held) in seen:
            continue
        seen.add(id(held))
        todo += components(held)
        if id(held) in taken:
            todo += [part for part in taken[id(held)].values() if part is not held]
    return False


# ------------------------------------------------------------------------ which is which
def are_identical(state: Machine, a: AbstractValue, b: AbstractValue) -> bool:
    """Return True if two boxes certainly are one thing."""
    if a is b:
        return True
    if isinstance(a, Constant) and isinstance(b, Constant):
        return is_one_constant(state, a, b)
    if isinstance(a, Holder) and isinstance(b, Holder):
        return a.value is b.value
    if not are_equivalent_functions(state, a, b):
        return False
    parts = zip(components(a), components(b), strict=True)
    return all(are_identical(state, x, y) for x, y in parts)


def same_parts(a: AbstractValue, b: AbstractValue) -> bool:
    """Return True if two boxes are made of parts that stand for each other."""
    match a, b:
        case FunctionValue(), FunctionValue():
            own = (a.names, a.itself, repr(a.attributes))
            alike = a.node is b.node and own == (b.names, b.itself, repr(b.attributes))
            return alike and len(components(a)) == len(components(b))
        case BoundValue(), BoundValue():
            alike = len(a.args) == len(b.args) and a.is_partial == b.is_partial
            return alike and list(a.kwargs) == list(b.kwargs)
        case MethodValue(), MethodValue():
            return a.name == b.name
        case _:
            return (isinstance(a, Choice) and isinstance(b, Choice)) or same_structure(a, b)


def are_equivalent_functions(state: Machine, a: AbstractValue, b: AbstractValue) -> bool:
    """Return True if two functions differ in nothing but the values that they hold."""
    if not isinstance(a, Code) or not same_parts(a, b):
        return False
    if isinstance(a, Choice) and isinstance(b, Choice) and a.test is b.test:
        return True
    if isinstance(a, FunctionValue) and isinstance(b, FunctionValue):
        if a.borrowed != b.borrowed:
            return False
        return (
            a.frame is b.frame
            if a.names is None
            else _have_same_enclosing_frames(state, a.frame, b.frame)
        )
    functions = {BoundValue: components(a)[:1], Choice: components(a)[1:]}.get(type(a), ())
    others = components(b)[-len(functions) :] if isinstance(a, Choice) else components(b)
    return all(
        are_identical(state, x, y) or are_equivalent_functions(state, x, y)
        for x, y in zip(functions, others, strict=False)
    )


def _have_same_enclosing_frames(state: Machine, a: Frame | None, b: Frame | None) -> bool:
    """Return True if two frames that have returned had the same around them."""
    while a is not b:
        if a is None or b is None or _is_live(state, a) or _is_live(state, b):
            return False
        cells = a.cells.keys() == b.cells.keys() and all(
            a.cells[name] is b.cells[name] for name in a.cells
        )
        if not cells or a.path != b.path or a.globals is not b.globals:
            return False
        a, b = a.outer, b.outer
    return True


# ------------------------------------------------------------------------- what was read
def free_variables_of(node: ast.AST, frame: Frame | None) -> Read:
    """Return the free variables of a function and of the local functions that it calls."""
    found: Read = []
    seen: set[tuple[int, int]] = set()
    todo: list[tuple[ast.AST, Frame | None]] = [(node, frame)]
    while todo:
        node, frame = todo.pop()
        if (id(node), id(frame)) in seen:
            continue
        seen.add((id(node), id(frame)))
        for name in sorted(read_counts(node)):
            box = _found(frame, name)
            if box is None:
                continue
            found.append((name, box))
            todo += [(f.node, f.frame) for f in _functions(box) if f.names is None]
    return found


def _found(frame: Frame | None, name: str) -> AbstractValue | None:
    while frame is not None:
        if name in frame.env:
            return frame.env[name]
        frame = frame.outer
    return None


def _functions(box: AbstractValue) -> Iterator[FunctionValue]:
    if isinstance(box, FunctionValue):
        yield box
    for part in components(box):
        yield from _functions(part)
