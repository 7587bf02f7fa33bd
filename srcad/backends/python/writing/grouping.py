"""Parts of one container that are taken one after the other are taken in one line."""

from __future__ import annotations

from srcad.backends.python.naming.coalesce import Webs
from srcad.backends.python.naming.liveness import is_nested
from srcad.backends.python.plan.expressions import Nesting
from srcad.backends.python.plan.statements import Do, Statement
from srcad.ir.core import Const, Value
from srcad.ir.traits import is_item
from srcad.startup.identifiers import shown
from srcad.types.structures import TupleOf

_WIDTH = 84


def grouped(statements: list[Statement], nesting: Nesting, webs: Webs) -> list[list[Statement]]:
    """Return the visible statements, one by one, but parts of the same container together."""
    groups: list[list[Statement]] = []
    last: tuple[str, object] | None = None
    width = 0
    for statement in statements:
        if is_nested(statement, nesting):
            continue
        key = _container(statement, nesting, webs)
        more = 0 if key is None else _part_width(statement, key[0], webs)
        if key is not None and key == last and width + more < _WIDTH:
            groups[-1].append(statement)
            width += more
        else:
            groups.append([statement])
            last, width = key, more
        if key is not None and _is_rebound(statement, key[0], webs):
            last = None
    return groups


def _is_rebound(statement: Statement, container: str, webs: Webs) -> bool:
    """Return True if the part takes over the variable of the container: ``node = node["left"]``."""
    assert isinstance(statement, Do)
    assert statement.result is not None
    return webs.names[statement.result] == container


def _container(statement: Statement, nesting: Nesting, webs: Webs) -> tuple[str, object] | None:
    """Return the variable of which a statement takes one part, and the shown line of the user."""
    if not isinstance(statement, Do) or statement.result is None or statement.parts:
        return None
    op = statement.op
    container = op.args[0] if is_item(op.target) else None
    atom = nesting.resolve(container) if isinstance(container, Value) else None
    if not isinstance(atom, Value) or atom in nesting.nested:
        return None
    shown = op.where.line if op.where is not None and op.half != "primal" else None
    return webs.names[atom], shown


def _part_width(statement: Statement, container: str, webs: Webs) -> int:
    """Return the characters that ``W`` and ``params["W"]`` take on both sides of an assignment."""
    assert isinstance(statement, Do)
    assert statement.result is not None
    key = statement.op.args[1]
    written = shown(key.value) if isinstance(key, Const) else ""
    return len(webs.names[statement.result]) + len(container) + len(written) + 6


def whole_container(calls: list[Do]) -> Value | None:
    """Return the tuple of which these calls take all parts, in order."""
    container = calls[0].op.args[0]
    if not isinstance(container, Value) or not isinstance(container.type, TupleOf):
        return None
    keys = [call.op.args[1] for call in calls]
    all_keys = [Const(k) for k in range(len(container.type.items))]
    return container if container.type.keys is None and keys == all_keys else None
