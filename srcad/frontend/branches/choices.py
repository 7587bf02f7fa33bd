"""Operations on guarded choices: one value where a test holds, another where it does not.

A function that a test has chosen has no value; it is called where the same test holds, and the
other one where it does not.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from srcad.frontend.branches import phi
from srcad.frontend.branches.branch import read_branch_value
from srcad.frontend.domain.frames import DEAD, Unreachable
from srcad.frontend.domain.predicates import is_of_users
from srcad.frontend.domain.values import AbstractValue, Choice, Constant
from srcad.frontend.machine.constants import truth
from srcad.frontend.machine.dispatch import Args, Kwargs
from srcad.frontend.machine.machine import Machine
from srcad.frontend.store import runtime_keys
from srcad.ir.core import UNDEF, Atom, Value
from srcad.types.numeric import BOOL, Numeric

Use = Callable[[AbstractValue], AbstractValue]


Call = Callable[[Args, Kwargs], AbstractValue]


def choose(
    state: Machine,
    test: Atom,
    then: Callable[[], AbstractValue],
    orelse: Callable[[], AbstractValue],
) -> AbstractValue:
    """``then() if test else orelse()``, each read in a branch of its own."""
    with assuming(state, test, holds=True):
        left, a = read_branch_value(state, then)
    with assuming(state, test, holds=False):
        right, b = read_branch_value(state, orelse)
    for branch, box in ((left, a), (right, b)):
        if branch.exit != DEAD:
            branch.envs[-1]["%choice"] = box
    phi.join_branches(state, test, left, right)
    if left.exit == DEAD and right.exit == DEAD:
        raise Unreachable
    return state.frame.env.pop("%choice")


@contextmanager
def assuming(state: Machine, test: Atom, *, holds: bool) -> Iterator[None]:
    """Read a branch of a conditional: there its test holds, or does not."""
    before = state.assumed
    while isinstance(test, Value):
        state.assumed = {**state.assumed, test: holds}
        test, holds = state.negated.get(test, UNDEF), not holds
    try:
        yield
    finally:
        state.assumed = before


def by_case(state: Machine, box: Choice, use: Use) -> AbstractValue:
    """``use(left) if test else use(right)``."""
    known = state.assumed.get(box.test)
    if known is not None:
        return use(box.left if known else box.right)
    return choose(state, box.test, lambda: use(box.left), lambda: use(box.right))


def on_each_side(state: Machine, box: AbstractValue, ask: Use) -> AbstractValue:
    """Return the answer to a question about a box: where the two sides differ it is the test."""
    if not isinstance(box, Choice):
        return ask(box)
    if box.test in state.assumed:
        return by_case(state, box, lambda part: on_each_side(state, part, ask))
    before, answers = state.snapshot(), list[AbstractValue]()
    with state.block() as builder, contextlib.suppress(Unreachable):
        answers = [on_each_side(state, part, ask) for part in (box.left, box.right)]
    state.restore(before)
    flags = [a.value for a in answers if isinstance(a, Constant) and isinstance(a.value, bool)]
    if builder.ops or len(flags) != 2:
        return by_case(state, box, lambda part: on_each_side(state, part, ask))
    if flags[0] == flags[1]:
        return answers[0]
    type_ = box.test.type
    flag = isinstance(type_, Numeric) and type_.is_python and type_.kind == "b"
    if flags[0] and flag:
        return box.test
    differs = negation(state, box.test)
    return negation(state, differs) if flags[0] else differs


def by_argument(state: Machine, args: Args, kwargs: Kwargs, use: Call) -> AbstractValue | None:
    """Call once for each side of the first argument that is a choice, if there is one."""
    for k, box in enumerate(args):
        if isinstance(box, Choice):
            return by_case(state, box, _at(use, args, kwargs, k))
    for name, box in kwargs.items():
        if isinstance(box, Choice):
            return by_case(state, box, _named(use, args, kwargs, name))
    return None


def _at(use: Call, args: Args, kwargs: Kwargs, k: int) -> Use:
    return lambda part: use((*args[:k], part, *args[k + 1 :]), kwargs)


def _named(use: Call, args: Args, kwargs: Kwargs, name: str) -> Use:
    return lambda part: use(args, {**kwargs, name: part})


def negation(state: Machine, operand: AbstractValue) -> Value:
    result = state.not_(runtime_keys.tested(state, operand))
    if isinstance(operand, Value):
        state.negated[result] = operand
    return result


def condition(state: Machine, box: AbstractValue) -> Atom:
    """Return a box as the test of a conditional."""

    def true(part: AbstractValue) -> AbstractValue:
        known = truth(state, part)
        return part if known is None else Constant(known)

    if isinstance(box, Constant) and box.path is None and is_of_users(box):
        return state.emit(bool, box, effect=True, type=BOOL)
    return state.atom(
        on_each_side(state, box, true)
        if isinstance(box, Choice)
        else runtime_keys.tested(state, box)
    )
