"""Replacing values by other atoms throughout a block."""

from __future__ import annotations

from collections.abc import Mapping

from srcad.ir.core import Arg, Atom, Block, Call, Display, For, If, Op, Value, While
from srcad.startup.records import replace

Names = Mapping[Value, Atom]


def substitute(block: Block, names: Names) -> Block:
    """The block with every use of these values replaced (definitions stay)."""
    if not names:
        return block
    ops = tuple(substitute_op(op, names) for op in block.ops)
    return Block(block.params, ops, tuple(_atom(r, names) for r in block.results))


def substitute_op(op: Op, names: Names) -> Op:
    """The op with every use replaced, in its blocks too."""
    match op:
        case Call():
            args = tuple(substitute_arg(a, names) for a in op.args)
            kwargs = tuple((k, substitute_arg(a, names)) for k, a in op.kwargs)
            return replace(op, args=args, kwargs=kwargs)
        case If():
            return replace(op, test=_atom(op.test, names), then=substitute(op.then, names),
                           orelse=substitute(op.orelse, names))  # fmt: skip
        case For():
            return replace(
                op,
                seqs=tuple(substitute_arg(a, names) for a in op.seqs),
                inits=tuple(_atom(a, names) for a in op.inits),
                body=substitute(op.body, names),
                count=None if op.count is None else _atom(op.count, names),
                segments=tuple(_atom(a, names) for a in op.segments),
            )
        case While():
            return replace(
                op,
                inits=tuple(_atom(a, names) for a in op.inits),
                test=substitute(op.test, names),
                body=substitute(op.body, names),
            )
    raise TypeError(type(op).__name__)


def substitute_arg(arg: Arg, names: Names) -> Arg:
    """The argument with every use replaced."""
    if isinstance(arg, Display):
        return Display(arg.kind, tuple(substitute_arg(a, names) for a in arg.items))
    return _atom(arg, names)


def _atom(atom: Atom, names: Names) -> Atom:
    return names.get(atom, atom) if isinstance(atom, Value) else atom
