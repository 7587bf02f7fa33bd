"""Type inference, again: types in a reverse loop once those of its carried values are known."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from srcad.ir.argument_types import argument_type
from srcad.ir.core import (
    Atom,
    Call,
    For,
    If,
    Loop,
    Op,
    Routine,
    Value,
    While,
    carried_outputs,
    collected_outputs,
)
from srcad.ir.inference.builder import atom_type, result_type
from srcad.types.join import join
from srcad.types.numeric import Numeric
from srcad.types.structures import ListOf, Opaque, Type


def settle(
    params: Sequence[Value],
    inits: Sequence[Atom],
    results: Sequence[Atom | None],
    ops: Sequence[Op],
    fixed: Collection[Value],
) -> None:
    """Widen the types of carried values until they hold for every iteration.

    >>> loop = parse('''
    ... f(x: float, n: int):
    ...     # reverse half
    ...     for k in range(0, n, 1) [s, t = 0, 0] -> tag, count, s_n, t_n:
    ...         t_1 = add(s, x)
    ...         s_1 = mul(t, 2)
    ...         yield 0, s_1, t_1
    ...     return s_n
    ... ''').block.ops[0]
    >>> print(*(value.type for value in loop.carried))
    int int
    >>> settle(loop.carried, loop.inits, loop.body.results[1:], loop.body.ops, ())
    >>> print(*(value.type for value in loop.carried))
    float64|int64[] float64|int64[]
    """
    for _ in range(4):
        changed = False
        for param, init, result in zip(params, inits, results, strict=True):
            if param in fixed:
                continue
            assert result is not None
            wanted = join(join(atom_type(init), param.type), atom_type(result))
            if wanted != param.type:
                param.type = wanted
                changed = True
        if not changed:
            return
        retype(ops)


def retype(ops: Sequence[Op]) -> None:
    """Infer the types of the results of calls of the reverse half again, in order.

    >>> from srcad.types.numeric import array_type
    >>> function = parse('''
    ... f(g: float, x: float):
    ...     # reverse half
    ...     t = mul(2.0, g)
    ...     x_bar = mul(t, x)
    ...     return x_bar
    ... ''')
    >>> [(op.result.hint, str(op.result.type)) for op in function.block.ops]
    [('t', 'float'), ('x_bar', 'float')]
    >>> g, _ = function.params
    >>> g.type = array_type(float, ())
    >>> retype(function.block.ops)
    >>> [(op.result.hint, str(op.result.type)) for op in function.block.ops]
    [('t', 'float64'), ('x_bar', 'float64')]
    """
    for op in ops:
        match op:
            case Call():
                if op.half == "reverse" and not isinstance(op.target, Routine):
                    _narrow(op.result, result_type(op.target, op.args, op.kwargs))
            case If():
                retype(op.then.ops)
                retype(op.orelse.ops)
                pairs = zip(op.outputs, op.then.results, op.orelse.results, strict=True)
                for output, a, b in pairs:
                    found = join(atom_type(a), atom_type(b))
                    if op.half == "reverse" or _is_other_form(found, output.type):
                        _narrow(output, found)
            case For() | While():
                _retype_loop(op)


def _is_other_form(found: Type, type_: Type) -> bool:
    """Return True if a tangent that a conditional of the primal returns is no Python number now."""
    if not isinstance(found, Numeric) or not isinstance(type_, Numeric):
        return False
    return type_.form == "python" and found.form != "python"


def _narrow(value: Value, found: Type) -> None:
    """Take a new type unless it says nothing at all."""
    if not isinstance(found, Opaque):
        value.type = found


def _retype_tangents(op: Loop) -> None:
    """Infer the types of the tangents in a loop of the primal again."""
    width, changed = len(op.inits), True
    results = op.body.results[1:]
    while changed:
        retype(op.body.ops)
        changed = False
        for param, result in zip(op.carried, results[:width], strict=True):
            if _is_other_form(atom_type(result), param.type):
                param.type, changed = join(param.type, atom_type(result)), True
    for output, param in zip(carried_outputs(op), op.carried, strict=True):
        if _is_other_form(param.type, output.type):
            output.type = param.type
    for output, result in zip(collected_outputs(op), results[width:], strict=True):
        if isinstance(output.type, ListOf) and _is_other_form(atom_type(result), output.type.item):
            output.type = ListOf(atom_type(result))


def _retype_loop(op: Loop) -> None:
    if op.half != "reverse":
        _retype_tangents(op)
        return
    width = len(op.inits)
    if isinstance(op, For):
        for item, seq in zip(op.items, op.seqs, strict=True):
            type_ = argument_type(seq)
            if isinstance(type_, ListOf):
                item.type = type_.item
    results = op.body.results[1:]
    retype(op.body.ops)
    settle(op.carried, op.inits, results[:width], op.body.ops, ())
    for output, param in zip(carried_outputs(op), op.carried, strict=True):
        output.type = param.type
    for output, result in zip(collected_outputs(op), results[width:], strict=True):
        output.type = ListOf(atom_type(result))
