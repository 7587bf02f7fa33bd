"""Phi functions: one box for the values of a name on two paths."""

from __future__ import annotations

from srcad.frontend.branches.branch import Branch
from srcad.frontend.branches.join import Join
from srcad.frontend.domain.frames import (
    DEAD,
    RETURN_NAME,
)
from srcad.frontend.domain.values import UNBOUND, AbstractValue, Env, Stale, Unbound
from srcad.frontend.machine.machine import Machine
from srcad.frontend.outside.places import begins_empty, is_place
from srcad.ir.core import NONE, RETURN, Atom, Block, Const, If, Try, Value
from srcad.startup.records import dataclass


@dataclass(eq=False)
class Raised:
    """The failures that lead to the other branch of a try region: classes and the exception."""

    catches: tuple[type[BaseException], ...]
    error: Value


def join_branches(
    s: Machine, test: Atom, left: Branch, right: Branch, failure: Raised | None = None
) -> None:
    """Append the conditional that joins two branches, and rebind every name."""
    joined = Join(s, test, left, right)
    if failure is not None:
        joined.test = joined.atom(Const(True), Const(False), "done")
    frame = s.frame
    if DEAD in (left.exit, right.exit) and left.exit != right.exit:
        exit_, tags = (right.exit, right.tags) if left.exit == DEAD else (left.exit, left.tags)
    else:
        exit_, tags = left.exit, left.tags | right.tags
    both = isinstance(left.exit, int) and isinstance(right.exit, int)
    differs = (left.exit != right.exit) if both else (left.exit is not right.exit)
    merged: Atom | int = exit_
    if (differs and DEAD not in (left.exit, right.exit)) or (differs and isinstance(exit_, Value)):
        merged = joined.atom(_tag(left.exit), _tag(right.exit), "tag")
    rows = [
        _pairs(joined, a, b, ends=index == len(left.envs) - 1 and not frame.awaited)
        for index, (a, b) in enumerate(zip(left.envs, right.envs, strict=True))
    ]
    joined.pairs = [pair for row in rows for pair in row.values()]
    envs = [_names(joined, row, outside=k < len(rows) - 1) for k, row in enumerate(rows)]
    joined.keep_aliases()
    then = _block(left, [a for a, _ in joined.yields])
    orelse = _block(right, [b for _, b in joined.yields])
    outputs, builder = tuple(joined.outputs), s.builder
    if failure is not None:
        orelse = Block((failure.error,), orelse.ops, orelse.results)
        builder.ops.append(Try(test=test, then=then, orelse=orelse, outputs=outputs,
                               catches=failure.catches, where=builder.where,
                               half=builder.half))  # fmt: skip
    elif then.ops or orelse.ops or outputs:
        builder.ops.append(If(test=test, then=then, orelse=orelse, outputs=outputs,
                              where=builder.where, half=builder.half))  # fmt: skip
    builder.ops += joined.after.ops
    s.restore(envs)
    assert not isinstance(merged, Const)
    frame.exit, frame.tags = merged, tags


def _tag(exit_: int | Value) -> Atom:
    return Const(max(exit_, NONE)) if isinstance(exit_, int) else exit_


def _block(branch: Branch, results: list[Atom]) -> Block:
    return Block((), tuple(branch.builder.ops), tuple(results))


def _pairs(
    joined: Join, a: Env, b: Env, *, ends: bool
) -> dict[str, tuple[AbstractValue, AbstractValue]]:
    """Return the value of every name on either path."""
    found: dict[str, tuple[AbstractValue, AbstractValue]] = {}
    for name in dict.fromkeys([*a, *b]):
        left, right = a.get(name, UNBOUND), b.get(name, UNBOUND)
        if left is not right:
            left = _if_alive(left, joined.left.exit, name, ends=ends)
            right = _if_alive(right, joined.right.exit, name, ends=ends)
        found[name] = left, right
    return found


def _names(
    joined: Join, row: dict[str, tuple[AbstractValue, AbstractValue]], *, outside: bool
) -> Env:
    joined.outside = outside
    merged: Env = {}
    for name, (left, right) in row.items():
        if is_place(name) and _is_written_on_one_path(joined, name):
            there = right if isinstance(left, Unbound) else left
            merged[name] = Stale(there, joined.s.builder.where)
            continue
        box = joined.box(left, right, None if name.startswith("%") else name)
        if not isinstance(box, Unbound):
            merged[name] = box
    return merged


def _is_written_on_one_path(joined: Join, name: str) -> bool:
    """Return True if one of two paths has written a place of which no more is known."""
    envs = [branch.envs[0] for branch in (joined.left, joined.right) if branch.exit != DEAD]
    if len({name in env for env in envs}) == 1:
        return False
    there = next(env[name] for env in envs if name in env)
    return not begins_empty(joined.s, name) or not isinstance(there, Value)


def _if_alive(box: AbstractValue, exit_: int | Value, name: str, *, ends: bool) -> AbstractValue:
    """Return the value of a name on a path that raises or returns: none, except for the result."""
    if exit_ == DEAD or (ends and exit_ == RETURN and name != RETURN_NAME):
        return UNBOUND
    return box
