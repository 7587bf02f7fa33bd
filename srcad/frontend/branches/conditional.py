"""Conditionals and early exits: branches are joined; code after an early exit is guarded.

A statement list ends with an *exit tag* (`Frame.exit`): 0 falls through, 1 continue, 2 break,
3 return; `DEAD` raises.  If one branch of an ``if`` surely leaves and the other falls through, the
statements that follow are read inside the other branch; if a branch only may leave, they are read
under ``if tag == 0``.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable

from srcad.frontend.branches import phi
from srcad.frontend.branches.branch import Branch, continued, read_branch
from srcad.frontend.branches.choices import assuming, choose, condition
from srcad.frontend.domain.frames import DEAD, Unreachable
from srcad.frontend.domain.values import AbstractValue, Choice
from srcad.frontend.machine.constants import truth
from srcad.frontend.machine.dispatch import evaluate, evaluates
from srcad.frontend.machine.machine import Machine
from srcad.ir.core import BREAK, CONTINUE, NONE, RETURN, Atom, Block, Const, If, Value
from srcad.types.numeric import INT

Statements = list[ast.stmt]


Reader = Callable[[Machine, Statements], None]


def lower_if(state: Machine, node: ast.If, rest: Statements, read: Reader) -> bool:
    """Read a conditional; True if it took the statements that follow with it."""
    test = evaluate(state, node.test)
    known = truth(state, test)
    if known is not None:
        read(state, node.body if known else node.orelse)
        return False
    atom = condition(state, test)
    with assuming(state, atom, holds=True):
        left = read_branch(state, lambda: read(state, node.body))
    with assuming(state, atom, holds=False):
        right = read_branch(state, lambda: read(state, node.orelse))
    taken = bool(rest) and _leaves(left) != _leaves(right) and NONE in (left.exit, right.exit)
    if taken and left.exit == NONE:
        with assuming(state, atom, holds=True):
            left = continued(state, left, lambda: read(state, rest))
    elif taken:
        with assuming(state, atom, holds=False):
            right = continued(state, right, lambda: read(state, rest))
    with state.at(node):
        phi.join_branches(state, atom, left, right)
    if state.frame.exit == DEAD:
        raise Unreachable
    return taken


def read_either(state: Machine, box: Choice, read: Callable[[AbstractValue], None]) -> None:
    """Interpret statements on a value that depends on a test, once for each outcome."""
    known = state.assumed.get(box.test)
    if known is not None:
        read(box.left if known else box.right)
        return
    with assuming(state, box.test, holds=True):
        left = read_branch(state, lambda: read(box.left))
    with assuming(state, box.test, holds=False):
        right = read_branch(state, lambda: read(box.right))
    phi.join_branches(state, box.test, left, right)
    if state.frame.exit == DEAD:
        raise Unreachable


def _leaves(branch: Branch) -> bool:
    return isinstance(branch.exit, int) and branch.exit > NONE


def on_tag(state: Machine, tag: Value, wanted: int, build: Callable[[], None]) -> None:
    """Read further statements where the exit tag has one value; elsewhere nothing changes."""
    frame = state.frame
    leaves = state.returns.get(tag) if wanted == NONE else None
    test = leaves if leaves is not None else state.emit(operator.eq, tag, Const(wanted))
    tags = frame.tags
    taken = read_branch(state, build)
    other = read_branch(state, lambda: None)
    left = tags - {wanted}
    other.exit, other.tags = (next(iter(left)) if len(left) == 1 else tag), left
    if leaves is not None:
        taken, other = other, taken
    phi.join_branches(state, test, taken, other)
    if frame.exit == DEAD:
        raise Unreachable


def guarded(state: Machine, statements: Statements, read: Reader) -> None:
    """Read the statements after a possible exit."""
    tag = state.frame.exit
    assert isinstance(tag, Value)
    on_tag(state, tag, NONE, lambda: read(state, statements))


def settle_continue(state: Machine) -> Atom:
    """Return the tag of a finished iteration: ``continue`` is as good as the end of the body."""
    exit_ = state.frame.exit
    if isinstance(exit_, int):
        return Const(NONE if exit_ == CONTINUE else max(exit_, NONE))
    return exit_


def without_continue(state: Machine, tag: Value) -> Value:
    """Return the tag with ``continue`` taken for the end of the iteration that it is."""
    return choice(state, state.emit(operator.eq, tag, Const(1)), Const(NONE), tag)


def choice(state: Machine, test: Atom, then: Atom, orelse: Atom) -> Value:
    """Return a tag chosen by a test."""
    op = If(
        test=test,
        then=Block((), (), (then,)),
        orelse=Block((), (), (orelse,)),
        outputs=(Value(INT, "tag"),),
        where=state.builder.where,
        half=state.builder.half,
    )
    state.builder.ops.append(op)
    return op.outputs[0]


def after_break(state: Machine) -> None:
    """End the loop: ``break`` has done its work, ``return`` goes on outward."""
    frame = state.frame
    if isinstance(frame.exit, int):
        if frame.exit in (BREAK, 1):
            frame.ends(NONE)
        return
    outward = outward_tags(frame.tags)
    if not outward:
        frame.ends(NONE)
        return
    if frame.tags == outward:
        if len(outward) == 1:
            frame.ends(next(iter(outward)))
        return
    only = next(iter(outward)) if len(outward) == 1 else None
    compared = operator.ge if only is None else operator.eq
    test = state.emit(compared, frame.exit, Const(RETURN if only is None else only))
    frame.exit = choice(state, test, frame.exit if only is None else Const(only), Const(NONE))
    state.returns[frame.exit] = test
    frame.tags = outward | {NONE}


def outward_tags(tags: frozenset[int]) -> frozenset[int]:
    """Return the tags that leave a loop and what is around it."""
    return frozenset(tag for tag in tags if tag >= RETURN)


# Conditional expressions and short circuits: the branches are read apart.

_LONG = 12  # operands that stand in one another's branches


@evaluates(ast.IfExp)
def conditional(state: Machine, node: ast.IfExp) -> AbstractValue:
    """``then if test else orelse``."""
    test = evaluate(state, node.test)
    known = truth(state, test)
    if known is not None:
        return evaluate(state, node.body if known else node.orelse)
    test_ = condition(state, test)
    return choose(
        state, test_, lambda: evaluate(state, node.body), lambda: evaluate(state, node.orelse)
    )


@evaluates(ast.BoolOp)
def boolean(state: Machine, node: ast.BoolOp) -> AbstractValue:
    """Evaluate ``a and b``, ``a or b``: the second operand is read in a branch."""
    return _short_circuit(state, isinstance(node.op, ast.And), node.values)


def _short_circuit(state: Machine, is_and: bool, values: list[ast.expr]) -> AbstractValue:
    """Evaluate a long one as ``(a and b) and (c and d)``, so that branches nest less deeply."""
    if len(values) == 1:
        return evaluate(state, values[0])
    middle = len(values) // 2 if len(values) > _LONG else 1
    first = _short_circuit(state, is_and, values[:middle])
    known = truth(state, first)
    if known is not None:
        return _short_circuit(state, is_and, values[middle:]) if known == is_and else first

    def rest() -> AbstractValue:
        return _short_circuit(state, is_and, values[middle:])

    test = condition(state, first)
    if is_and:
        return choose(state, test, rest, lambda: first)
    return choose(state, test, lambda: first, rest)
