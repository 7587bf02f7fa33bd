"""Functions that call themselves: each becomes a `Routine`, lowered once per kind of arguments."""

from __future__ import annotations

from typing import Any

from srcad import errors
from srcad.frontend.boxes import Box, Structure
from srcad.frontend.headers import box_type, covers, header, widened
from srcad.frontend.scope import Diverges, Frame, Session
from srcad.frontend.syntax import calls_itself
from srcad.ir.core import Atom, Block, Call, Const, Function, Routine, Value, free_values, walk
from srcad.ir.primitives import item
from srcad.ir.rewrite import substitute
from srcad.types import TupleOf

MOST_READINGS = 8


def is_recursive(s: Session, callee: Any) -> bool:
    """Whether a function calls itself, directly or through others."""
    return callee.key in s.routines or callee.key in s.inlining or calls_itself(callee.node)


def call_routine(s: Session, callee: Any, bound: dict[str, Box]) -> Box:
    """Call a recursive function by reference."""
    variants: list[dict[str, Any]] = s.routines.setdefault(callee.key, [])
    for variant in variants:
        if _fits(s, variant["headers"], bound):
            return _call(s, variant, bound)
    if len(variants) >= MOST_READINGS:
        s.refuse(
            errors.UnsupportedTypeError,
            f"the arguments of the recursive {callee.frame.name!r} do not settle",
            why="every call of it has another kind of arguments.",
            help=("give them one kind",),
        )
    running = next((v for v in variants if v["running"]), None)
    headers = {name: header(s, box) for name, box in bound.items()}
    if running is not None:
        running["headers"] = {
            name: box if covers(s, box, bound[name]) else widened(s, box, bound[name])
            for name, box in running["headers"].items()
        }
        running["changed"] = True
        raise Diverges
    variant = {
        "headers": headers,
        "routine": Routine(callee.frame.name),
        "result": None,
        "running": True,
        "changed": False,
        "extra": [],
    }
    variants.append(variant)
    try:
        _settle(s, callee, variant)
    except BaseException:
        variants.remove(variant)
        raise
    return _call(s, variant, bound)


def _fits(s: Session, headers: dict[str, Box], bound: dict[str, Box]) -> bool:
    return headers.keys() == bound.keys() and all(covers(s, headers[n], bound[n]) for n in headers)


def _settle(s: Session, callee: Any, variant: dict[str, Any]) -> None:
    for _ in range(MOST_READINGS):
        variant["changed"] = False
        frame = Frame(
            **{
                f: getattr(callee.frame, f)
                for f in (
                    "name",
                    "file",
                    "globals",
                    "cells",
                    "local",
                    "path",
                    "outer",
                    "trusted",
                    "node",
                )
            }
        )
        frame.env = dict(variant["headers"])
        before = s.snapshot()
        with s.block() as builder:
            result = s.read_body(s, callee.node, frame)
            known = variant["result"]
            if known is None:
                known = variant["result"] = header(s, result)
                variant["changed"] = True
            elif not covers(s, known, result):
                variant["result"] = widened(s, known, result)
                variant["changed"] = True
            atom = s.atom(result)
        s.restore(before)
        if not variant["changed"]:
            break
    variant["running"] = False
    params = tuple(v for box in variant["headers"].values() for v in _leaves(box))
    body = Block((), tuple(builder.ops), (atom,))
    free = [v for v in free_values(body) if v not in params]
    copies = {v: Value(v.type, v.hint) for v in free}
    for value, copy in copies.items():
        if value in s.active:
            s.active.add(copy)
    body = substitute(body, copies)
    routine: Routine = variant["routine"]
    _pass_on(body, routine, tuple(copies.values()))
    variant["extra"] = free
    routine.function = Function(routine.name, (*params, *copies.values()), body, s.builder.where)


def _pass_on(body: Block, routine: Routine, extra: tuple[Atom, ...]) -> None:
    """Recursive calls hand on what the function reads from outside."""
    if not extra:
        return
    for op in walk(body):
        if isinstance(op, Call) and op.target is routine:
            object.__setattr__(op, "args", (*op.args, *extra))


def _leaves(box: Box) -> list[Value]:
    if isinstance(box, Value):
        return [box]
    if isinstance(box, Structure):
        return [v for part in box.items for v in _leaves(part)]
    return []


def _arguments(s: Session, known: Box, given: Box) -> list[Atom]:
    if isinstance(known, Value):
        return [s.atom(given)]
    if isinstance(known, Structure) and isinstance(given, Structure):
        pairs = zip(known.items, given.items, strict=True)
        return [a for x, y in pairs for a in _arguments(s, x, y)]
    return []


def _call(s: Session, variant: dict[str, Any], bound: dict[str, Box]) -> Box:
    result: Box | None = variant["result"]
    if result is None:
        raise Diverges
    args = [
        a for name, known in variant["headers"].items() for a in _arguments(s, known, bound[name])
    ]
    shape = box_type(result)
    value = s.emit(variant["routine"], *args, *variant["extra"], type=TupleOf((shape,)))
    active = any(v in s.active for v in _leaves(result)) or value in s.active
    if active:
        s.active.add(value)
    out = s.emit(item, value, Const(0), type=shape)
    return s.box(out)
