"""Inlining of helpers called in the rules of the user.

The derivative that a rule writes calls a helper as it stands.  Where that is differentiated again,
or transposed for forward mode, the helper is read like a function that the user's function calls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import FunctionType
from typing import Any

from srcad.analysis.activity import Facts, activity
from srcad.analysis.activity_trees import Activity
from srcad.analysis.arguments import rule_of
from srcad.errors import SrcadError
from srcad.frontend.store.lookup import is_library
from srcad.ir.core import Atom, Block, Call, Const, Function, Op, Value, walk
from srcad.ir.inference.builder import Builder
from srcad.ir.substitute import substituted_block
from srcad.rules.row import AlwaysRaisesError
from srcad.startup.identifiers import module_of
from srcad.startup.records import replace
from srcad.transforms.sweep import Inline

_DEEPEST = 20  # helpers that call helpers


def with_helpers_inlined(
    function: Function,
    varied: Mapping[Value, Activity],
    wanted: Sequence[Activity],
    inline: Inline,
) -> Function:
    """Return a function with the helpers of rules in place, where a derivative flows through them.

    What cannot be read stays, and is refused as a function without a rule.
    """
    for _ in range(_DEEPEST):
        if not any(map(_is_helper, walk(function.block))):
            break
        facts = activity(function, dict(varied), wanted)
        block = _inlined(function.block, facts, inline)
        if block is function.block:
            break
        function = replace(function, block=block)
    return function


def _is_helper(op: Op) -> bool:
    """Return True for a call of a function of the user's that has no rule."""
    if not isinstance(op, Call) or not isinstance(op.target, FunctionType):
        return False
    target = op.target
    is_own = module_of(target).partition(".")[0] == "srcad" or is_library(target)
    return not is_own and rule_of(target) is None


def _inlined(block: Block, facts: Facts, inline: Inline) -> Block:
    ops: list[Op] = []
    results: dict[Value, Atom] = {}
    for op in block.ops:
        found = None
        if isinstance(op, Call) and _is_helper(op) and facts.active(op.result) is not False:
            builder = Builder(where=op.where, half=op.half)
            found = _read(builder, op, inline)
        if found is None:
            ops.append(op.mapped(lambda inner: _inlined(inner, facts, inline)))
            continue
        ops += builder.ops
        results[op.results[0]] = found
    if all(a is b for a, b in zip(ops, block.ops, strict=False)) and not results:
        return block
    return substituted_block(Block(block.params, tuple(ops), block.results), results)


def _read(builder: Builder, op: Call, inline: Inline) -> Atom | None:
    """Return the result of a helper, written into a builder; None if it cannot be read."""
    try:
        found = inline(builder, op.target, list(op.args), dict(op.kwargs))
    except (SrcadError, AlwaysRaisesError):
        return None
    return _atom(builder, found)


def _atom(builder: Builder, found: Any) -> Atom | None:
    if isinstance(found, tuple):
        items = [_atom(builder, item) for item in found]
        return builder.build_tuple(*(Const(None) if item is None else item for item in items))
    return found if isinstance(found, Value | Const) else None
