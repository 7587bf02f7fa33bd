"""Which values may stand for nothing: names that no path, or not every path, has bound.

A residual of a branch that was not taken is such a value too: it is None there.  A list counts if
its items may be nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from srcad.ir.core import (
    CHECKPOINT,
    UNDEF,
    Arg,
    Atom,
    Block,
    Call,
    Const,
    For,
    If,
    Loop,
    Value,
    While,
    carried_outputs,
    collected_outputs,
)
from srcad.ir.traits import is_part, is_same
from srcad.types.numeric import Numeric


def possibly_undefined(block: Block, given: Iterable[Value] = ()) -> set[Value]:
    """Values that a path leaves unbound, or None in the place of a number.

    `given` are parameters that hold such values.
    """
    found = set(given)
    _block(block, found)
    return found


def _block(block: Block, found: set[Value]) -> None:
    def perhaps_unbound(atom: Arg) -> bool:
        if isinstance(atom, Const):
            return atom.value is None or atom == UNDEF
        return isinstance(atom, Value) and atom in found

    for op in block.ops:
        match op:
            case Call():
                if _is_perhaps_unbound(op, perhaps_unbound):
                    found.add(op.result)
            case If():
                _block(op.then, found)
                _block(op.orelse, found)
                other = op.then if op.test == CHECKPOINT else op.orelse
                pairs = zip(op.outputs, op.then.results, other.results, strict=True)
                found.update(out for out, a, b in pairs if perhaps_unbound(a) or perhaps_unbound(b))
            case For() | While():
                _loop(op, found, perhaps_unbound)


def _is_perhaps_unbound(op: Call, perhaps_unbound: Callable[[Arg], bool]) -> bool:
    if is_same(op.target):
        return perhaps_unbound(op.args[0])
    whole = op.args[0] if is_part(op.target) else None
    return isinstance(whole, Value) and perhaps_unbound(whole) and not _is_array(whole)


def _is_array(value: Value) -> bool:
    """Return True for a value whose read raises where it is not bound: an array."""
    return isinstance(value.type, Numeric)


def _loop(op: Loop, found: set[Value], perhaps_unbound: Callable[[Arg], bool]) -> None:
    found.update(p for p, init in zip(op.carried, op.inits, strict=True) if perhaps_unbound(init))
    if isinstance(op, For):
        pairs = zip(op.items, op.seqs, strict=True)
        found.update(
            item
            for item, seq in pairs
            if isinstance(seq, Value) and seq in found and not _is_array(seq)
        )
    width = len(op.inits)
    results: tuple[Atom, ...] = op.body.results[1:]
    size = -1
    while size != len(found):
        size = len(found)
        _block(op.body, found)
        carried = zip(op.carried, results[:width], strict=True)
        found.update(p for p, r in carried if perhaps_unbound(r))
    carried = zip(carried_outputs(op), op.carried, strict=True)
    found.update(out for out, p in carried if p in found)
    lists = zip(collected_outputs(op), results[width:], strict=True)
    found.update(out for out, r in lists if perhaps_unbound(r))
