"""The kinds of numbers in a function: whether some are complex, whether one is certainly real."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from srcad.analysis.activity import Facts
from srcad.ir.core import (
    Atom,
    Call,
    Const,
    For,
    Function,
    If,
    Op,
    Routine,
    Value,
    While,
    carried_outputs,
    walk,
)
from srcad.ir.library_operations import is_elementwise
from srcad.ir.traits import law_of_operator
from srcad.rules.registry import declared_result, lookup, row_of
from srcad.types.numeric import Numeric
from srcad.types.structures import Opaque, Type, numbers_in


def may_be_complex(function: Function, facts: Facts | None = None) -> bool:
    """Return True if a function, or one that it calls, has complex numbers in it.

    Where it has none, a number without a known dtype is real: what NumPy and Python make of real
    numbers is real.  What comes from a call that srcad does not read is looked at when it runs.

    Parameters
    ----------
    function : Function
        The function.
    facts : Facts, optional
        What depends on its input; with it only that counts, and what it is made of.
    """

    def counts(value: Value) -> bool:
        return facts is None or facts.of(value) is not False

    if any(counts(param) and _has_complex(param.type) for param in function.params):
        return True
    for op in walk(function.block):
        if _hides_complex(op):
            return True
        if not any(map(counts, op.results)):
            continue
        if any(_has_complex(value.type) for value in op.operands) or _makes_complex(op):
            return True
        if isinstance(op, Call):
            called = op.target.function if isinstance(op.target, Routine) else None
            if called is not None and called is not function and _is_complex_inside(called):
                return True
            if row_of(op.target).of_real == "zero" and not _is_known(op.args[0]):
                return True
    return False


_ARITHMETIC = ("sum", "difference", "product", "quotient", "negative", "positive")


def is_real_number(function: Function, atom: Atom) -> bool:
    """Return True if an atom is certainly one real number, whose dtype may be unknown.

    ``total = 0`` before a loop is an integer, and a float after an iteration: all values that it
    may be are looked at.

    >>> function = parse('''
    ... f(x: float64[n]):
    ...     for x_k in x [total = 0] -> tag, count, total_n:
    ...         total_1 = add(total, x_k)
    ...         yield 0, total_1
    ...     return total_n
    ... ''')
    >>> is_real_number(function, function.block.results[0])
    True
    """
    if not isinstance(atom.type, Numeric) or atom.type.shape != ():
        return False
    if atom.type.kind != "?":
        return atom.type.kind in "fiu"
    is_real = not may_be_complex(function) and not has_unknown_numbers(function)
    return is_real and not _may_be_flag(function, atom)


def has_unknown_numbers(function: Function) -> bool:
    """Return True if objects of which nothing is known take part in calls: they may be complex."""
    return any(
        isinstance(op, Call)
        and any(isinstance(v.type, Opaque) and v.type.cls is None for v in op.operands)
        for op in walk(function.block)
    )


def _may_be_flag(function: Function, atom: Atom) -> bool:
    """Return True if a number may be a bool: it is no result of arithmetic on some path."""
    sources: dict[Value, Sequence[Atom]] = {}
    for op in walk(function.block):
        if isinstance(op, Call):
            sources.update({op.result: ()} if _makes_no_flags(op.target) else {})
        elif isinstance(op, If):
            pairs = zip(op.then.results, op.orelse.results, strict=True)
            sources.update(zip(op.outputs, pairs, strict=True))
        elif isinstance(op, For | While):
            rows = zip(op.inits, op.body.results[1:], strict=False)
            for param, output, row in zip(op.carried, carried_outputs(op), rows, strict=True):
                sources[param] = sources[output] = row
    pending, seen = [atom], set()
    while pending:
        one = pending.pop()
        if (isinstance(one.type, Numeric) and one.type.kind in "fiu") or one in seen:
            continue
        if not isinstance(one, Value) or one not in sources:
            return True
        seen.add(one)
        pending += sources[one]
    return False


def _makes_no_flags(target: Any) -> bool:
    if law_of_operator(target) in _ARITHMETIC:
        return True
    rule = lookup(target) if is_elementwise(target) else None
    return rule is not None and rule.kind == "derivative"


def _is_complex_inside(called: Function) -> bool:
    """Return the same of a function that is called, and of those that it calls in turn."""
    reached = {called: None}
    pending = [called]
    while pending:
        is_complex, inner = _looked_at(pending.pop())
        if is_complex:
            return True
        pending += (one for one in inner if one not in reached)
        reached.update(dict.fromkeys(inner))
    return False


# For each called function: whether it has complex numbers, and the functions that it calls.
_LOOKED_AT: WeakKeyDictionary[Function, tuple[bool, tuple[Function, ...]]] = WeakKeyDictionary()


def _looked_at(function: Function) -> tuple[bool, tuple[Function, ...]]:
    """Return whether a function has complex numbers, and its callees; cached for each function."""
    found = _LOOKED_AT.get(function)
    if found is None:
        ops = list(walk(function.block))
        is_complex = any(_has_complex(param.type) for param in function.params) or any(
            _makes_complex(op) or _hides_complex(op) for op in ops
        )
        called = (getattr(op.target, "function", None) for op in ops if isinstance(op, Call))
        inner = dict.fromkeys(one for one in called if isinstance(one, Function))
        found = is_complex, tuple(inner)
        _LOOKED_AT[function] = found
    return found


def _makes_complex(op: Op) -> bool:
    """Return True if the results of an op, or the literals in it, are complex, or may be."""
    if isinstance(op, Call) and declared_result(op.target).dtype == "real or complex":
        return True
    if any(_has_complex(value.type) for value in op.results):
        return True
    return isinstance(op, Call) and any(
        isinstance(arg, Const) and isinstance(arg.value, complex | np.complexfloating)
        for arg in op.args
    )


def _hides_complex(op: Op) -> bool:
    """Return True if an op may return a complex number in a value of which nothing is known."""
    if not any(isinstance(v.type, Opaque) and v.type.cls is None for v in op.results):
        return False
    yielded = (atom for block in op.blocks for atom in block.results)
    return _makes_complex(op) or any(_has_complex(v.type) for v in (*op.operands, *yielded))


def _has_complex(type_: Type) -> bool:
    if isinstance(type_, Numeric):  # nearly all of them
        return type_.has_complex
    return any(leaf.has_complex for leaf in numbers_in(type_))


def _is_known(arg: object) -> bool:
    """Return True if the dtype of an argument is known."""
    if isinstance(arg, Value):
        return isinstance(arg.type, Numeric) and arg.type.dtype is not None
    return isinstance(arg, Const)
