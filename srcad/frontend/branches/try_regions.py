"""Try regions: code that may fail is read into a region with a failure exit.

Names that a ``try`` body binds before it fails keep their values.  Where nobody could tell, the
whole body is one region; otherwise every statement is one of its own, and a failure that a clause
catches leaves it with a tag of its own (`RAISED` and more, by the depth of the ``try``), as
``break`` and ``return`` leave with theirs.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from srcad import errors
from srcad.frontend.branches.branch import Branch, read_branch
from srcad.frontend.branches.conditional import Statements, on_tag
from srcad.frontend.branches.phi import Raised, join_branches
from srcad.frontend.domain.frames import DEAD, RETURN_NAME, Unreachable
from srcad.frontend.domain.structure import components
from srcad.frontend.domain.values import UNBOUND, AbstractValue, Constant, Env, Frame, Stale
from srcad.frontend.machine.machine import Machine
from srcad.frontend.source.syntax import bound_in, read_counts, read_outside
from srcad.frontend.store.origins import origin
from srcad.ir.core import RAISED, Call, Const, Op, Value, walk
from srcad.ir.inference.builder import Builder
from srcad.ir.inference.raising import may_raise
from srcad.ir.operations import Classes
from srcad.ir.traits import never_returns
from srcad.types.numeric import BOOL
from srcad.types.structures import OPAQUE

ERROR = "%error"
STEP = "%step"  # what one step of a statement leaves to the next


# ------------------------------------------------------------------------------ regions
def read_region(state: Machine, build: Callable[[], None]) -> Branch:
    """Interpret a body that may raise as one region, without handlers inside."""
    frame = state.frame
    handlers, frame.handlers = frame.handlers, ()
    frame.attempts += 1
    try:
        return read_branch(state, build)
    finally:
        frame.handlers = handlers
        frame.attempts -= 1


def settle_region(
    state: Machine, branch: Branch, catches: Classes, handle: Callable[[AbstractValue], None]
) -> None:
    """Join the body of a ``try`` with its handler."""
    frame = state.frame
    if not any(may_raise(op, catches) for op in branch.builder.ops):
        state.builder.ops += branch.builder.ops
        state.restore(branch.envs)
        frame.exit, frame.tags = branch.exit, branch.tags
    else:
        error = Value(OPAQUE, "error")
        if _raises_active(state, branch.builder.ops):
            state.active.add(error)
        other = read_branch(state, lambda: handle(error))
        join_branches(state, Const(None), branch, other, Raised(catches, error))
    if frame.exit == DEAD:
        raise Unreachable


def _raises_active(state: Machine, ops: list[Op]) -> bool:
    """Return True if an exception made here holds something that carries a derivative."""
    inner = (o for op in ops for o in (op, *(i for b in op.blocks for i in walk(b))))
    raised = (o for o in inner if isinstance(o, Call) and never_returns(o.target))
    return any(v in state.active for o in raised for v in o.operands)


def in_region(state: Machine, build: Callable[[], None]) -> None:
    """Read a statement under the clauses around it: a failure leaves to the innermost."""
    catches = tuple(dict.fromkeys(c for classes in state.frame.handlers for c in classes))
    before, count, bound = state.snapshot(), len(state.writes), len(state.bindings)
    branch = read_region(state, build)
    _refuse_partial_write(state, before, state.writes[count:], branch, catches)
    doubtful = [
        name
        for frame, name, builder, position in state.bindings[bound:]
        if frame is state.frame and _may_fail_after(state, branch, builder, position, catches)
    ]

    def handle(error: AbstractValue) -> None:
        _forget_steps(state.frame)
        for name in doubtful:
            old = before[-1].get(name, UNBOUND)
            state.frame.env[name] = Stale(old, state.builder.where, name)
        leave(state, error)

    settle_region(state, branch, catches, handle)


def _forget_steps(frame: Frame) -> None:
    for name in [name for name in frame.env if name.startswith(STEP)]:
        del frame.env[name]


def _may_fail_after(
    state: Machine, branch: Branch, builder: Builder, position: int, catches: Classes
) -> bool:
    """Return True if the code after a position in a try region may raise.

    Inside a loop, anything does.
    """
    rest = branch.builder.ops[position:] if builder is branch.builder else branch.builder.ops
    others = (op for op in rest if op.half != "repeated" and id(op) not in state.sure)
    return any(may_raise(op, catches) for op in others)


def surely(state: Machine, build: Callable[[], None]) -> None:
    """Read writes of which NumPy has checked before the first that none will fail."""
    builder, position, count = state.builder, len(state.builder.ops), len(state.writes)
    build()
    state.sure.update((id(op), op) for op in builder.ops[position:])
    state.writes[count:] = [(what, builder, position) for what, _, _ in state.writes[count:]]


def _refuse_partial_write(
    state: Machine,
    before: list[Env],
    writes: list[tuple[AbstractValue, Builder, int]],
    branch: Branch,
    catches: Classes,
) -> None:
    """Refuse a statement that may fail after it has written into something that others see."""
    seen: set[int] = set()
    for env in before:
        for box in env.values():
            _note_visible(state, box, seen)
    for what, builder, position in writes:
        if id(what) in seen and _may_fail_after(state, branch, builder, position, catches):
            state.refuse(
                errors.MutationError,
                "cannot tell how much is written when this fails",
                why="it writes into something that is seen after the failure, and may fail later.",
                help=("write into a copy, and bind that at the end",),
            )


def visible_objects(state: Machine) -> set[int]:
    """Return the identities of all objects and arrays that names show."""
    seen: set[int] = set()
    for _, box in state.reachable():
        _note_visible(state, box, seen)
    return seen


def _note_visible(state: Machine, box: AbstractValue, seen: set[int]) -> None:
    seen.add(id(box))
    if isinstance(box, Value):
        seen.update(map(id, origin(state, box).everything))
    for part in components(box):
        _note_visible(state, part, seen)


def leave(state: Machine, error: AbstractValue) -> None:
    """Go on to the clauses of the innermost ``try`` of this function, or out of it."""
    frame = state.frame
    if not frame.handlers:
        state.raise_(error)
        raise Unreachable
    tag = RAISED + len(frame.handlers) - 1
    frame.env[f"{ERROR}{tag}"] = error
    frame.ends(tag)


def in_regions(
    state: Machine, catches: Classes, read: Callable[[], None]
) -> tuple[int, Callable[[], AbstractValue]]:
    """Read statements as regions of their own; the tag of a failure, and the exception."""
    frame = state.frame
    frame.handlers = (*frame.handlers, catches)
    tag = RAISED + len(frame.handlers) - 1
    try:
        read()
    finally:
        frame.handlers = frame.handlers[:-1]
        _forget_steps(frame)  # a statement that failed has left some
    return tag, lambda: frame.env.pop(f"{ERROR}{tag}", Constant(None))


def on_exit(state: Machine, tag: int, build: Callable[[], None]) -> None:
    """Read further statements on the paths that leave with a tag."""
    frame = state.frame
    if tag not in frame.tags:
        return
    if isinstance(frame.exit, Value):
        on_tag(state, frame.exit, tag, build)
        return
    frame.ends(0)
    build()


# ------------------------------------------------------------------------------ who can tell
def fails_as_one(
    state: Machine, body: Statements, before: list[Env], branch: Branch, readers: Statements | None
) -> bool:
    """Return True if it is unknown how far the body came when it failed.

    `readers` are the statements that run after a failure, if these are known and all.
    """
    tree = state.frame.node
    if readers == []:
        return True
    if tree is None:
        return False
    changed = set(bound_in(body))
    last = body[-1]
    if isinstance(last, ast.Assign) and all(isinstance(t, ast.Name) for t in last.targets):
        changed -= {t.id for t in last.targets if isinstance(t, ast.Name)} - set(
            bound_in(body[:-1])
        )
    rebound = set(bound_in(body)) | {RETURN_NAME}
    for level, (old, new) in enumerate(zip(before, branch.envs, strict=True)):
        innermost = level == len(before) - 1
        for name in {*old, *new}:
            if old.get(name) is new.get(name) or (innermost and name in rebound):
                continue
            if not innermost or name.startswith("%"):
                return False
            changed.add(name)
    if readers is not None:
        return not any(name in read_counts(part) for part in readers for name in changed)
    return not read_outside(tree, body, changed)


def refuse_in_steps(state: Machine, node: ast.AST) -> None:
    """Refuse statements that a ``try`` cannot run step by step."""
    state.refuse(
        errors.UnsupportedSyntaxError,
        "cannot differentiate this inside a 'try' whose variables are used after a failure",
        node=node,
        why="the statement that fails decides which values the variables have afterwards.",
        help=("put it into a function of its own, and call that in the 'try'",),
    )


def flag(state: Machine, name: str) -> AbstractValue:
    """Return a hidden flag that branches have set differently, and its end."""
    box = state.frame.env.pop(name, Constant(False))
    if isinstance(box, Value):
        box.type = BOOL
    return box


def may_pass_on(body: Statements) -> bool:
    """Return True if a statement inside hands on failures that the clauses do not name."""
    return any(isinstance(n, ast.Try | ast.With) for part in body for n in ast.walk(part))
