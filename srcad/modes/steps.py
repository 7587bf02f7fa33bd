"""A warning where a gradient is zero because all that is made of an argument are steps.

``int``, ``round`` and comparisons are constant between jumps, and text is no number: what passes
through them carries no derivative.  The zero is right, and seldom what was meant.
"""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Iterable, Sequence
from types import CodeType
from typing import Any

from srcad import runtime
from srcad.analysis.activity import activity
from srcad.analysis.activity_trees import fully_active
from srcad.analysis.arguments import differentiable_arguments, has_float, is_of_integers, rule_of
from srcad.arguments.request import Parameter, code_of
from srcad.errors import NoDerivativeWarning
from srcad.ir.core import (
    Arg,
    Atom,
    Block,
    Call,
    Const,
    Display,
    For,
    Function,
    If,
    Op,
    Routine,
    Value,
    While,
    carried_outputs,
    collected_outputs,
    values_in,
    walk,
)
from srcad.ir.inference.builder import atom_type
from srcad.ir.text import target_name
from srcad.ir.traits import built_parts, compares, is_builder, is_stop, never_returns
from srcad.rules.registry import row_of
from srcad.transforms.vjp import wanted_part

_ASKS = frozenset(
    {"shape", "size", "ndim", "len", "isinstance", "issubclass", "callable", "hasattr", "id",
     "hash", "type", "isscalar", "zeros_like", "ones_like", "empty_like", "full_like", "is_",
     "is_not", "iscomplexobj", "isrealobj", "result_type"}
)  # fmt: skip
_ENDS = (runtime.check_real_scalar, runtime.check_distinct_objects)
_told: weakref.WeakKeyDictionary[CodeType, set[str]] = weakref.WeakKeyDictionary()


def warn_of_steps(
    function: Any,
    lowered: Function,
    made: Function,
    parameters: Sequence[Parameter],
    wrt: Sequence[int],
    has_aux: bool,
) -> None:
    """Warn, once per function and argument, of a gradient that is zero whatever the argument is."""
    for position, gradient in zip(wrt, made.block.results[1:], strict=True):
        param, name = lowered.params[position], parameters[position].name
        if not has_float(param.type) or not _is_zero(gradient, made.block):
            continue
        steps = _only_steps(lowered, param, has_aux=has_aux)
        code = code_of(function)
        told = set() if code is None else _told.setdefault(code, set())
        if not steps or name in told:
            continue
        told.add(name)
        where = steps[0].where or lowered.where
        warnings.warn_explicit(
            f"the gradient of {lowered.name!r} by {name!r} is zero: "
            f"{name!r} reaches the result only through {_spelled(steps)}",
            NoDerivativeWarning,
            where.file if where is not None else "",
            where.line if where is not None else 0,
        )


def _is_zero(gradient: Atom, block: Block) -> bool:
    """Return True if a gradient is zeros that nothing has contributed to."""
    if isinstance(gradient, Const):
        return gradient.value is None or gradient.value == 0
    maker = next((op for op in block.ops if gradient in op.results), None)
    if not isinstance(maker, Call):
        return False
    if is_builder(maker.target) and built_parts(maker) == maker.args:
        return all(isinstance(a, Value | Const) and _is_zero(a, block) for a in maker.args)
    if target_name(maker.target) == "zeros_like":
        return True
    return isinstance(maker.target, type) and maker.args == (Const(0.0),)


def _only_steps(function: Function, param: Value, *, has_aux: bool) -> list[Call]:
    """Return the steps on the way from a parameter to the result; none if there is another way."""
    (y,) = function.block.results
    steps: list[Call] = []
    if not _any_of((y,), _reached(function, param, steps)):
        return []
    tree = wanted_part(atom_type(y), has_aux=has_aux)
    facts = activity(function, {param: fully_active(param.type)}, [tree])
    return steps if facts.active(param) is False else []


def _spelled(steps: Sequence[Call]) -> str:
    """Return the kinds of steps, each once: ``comparisons and 'int'``."""
    names = ["comparisons" if compares(op.target) else repr(target_name(op.target)) for op in steps]
    *first, last = dict.fromkeys(names)
    return f"{', '.join(first)} and {last}" if first else last


def _reached(function: Function, param: Value, steps: list[Call]) -> set[Value]:
    """Return the values that depend on a parameter; steps on the way are added to `steps`."""
    reached = {param}
    before = 0
    while len(reached) > before:
        before = len(reached)
        for op in walk(function.block):
            _pass_on(op, reached, steps)
    return reached


def _pass_on(op: Op, reached: set[Value], steps: list[Call]) -> None:
    """Add the results of an op, and its blocks' parameters, that depend on its operands."""
    match op:
        case Call():
            given = reached.intersection(op.operands)
            if given and not _is_question(op):
                if op not in steps and _is_step(op, given):
                    steps.append(op)
                reached.add(op.result)
        case If():
            branches = zip(op.outputs, op.then.results, op.orelse.results, strict=True)
            for output, a, b in branches:
                if _any_of((op.test, a, b), reached):
                    reached.add(output)
        case For() | While():
            _pass_through_loop(op, reached)


def _pass_through_loop(op: For | While, reached: set[Value]) -> None:
    width = len(op.inits)
    results = op.body.results
    for param, init, result in zip(op.carried, op.inits, results[1 : 1 + width], strict=True):
        if _any_of((init, result), reached):
            reached.add(param)
    if isinstance(op, For):
        pairs = zip(op.items, op.seqs, strict=True)
        reached.update(item for item, seq in pairs if _any_of((seq,), reached))
    counts = (op.test.results[0],) if isinstance(op, While) else _counts(op)
    if _any_of((results[0], *counts), reached):
        reached.update(op.outputs)  # it is told by them how many trips there are
    outputs = (*carried_outputs(op), *collected_outputs(op))
    for output, source in zip(outputs, (*op.carried, *results[1 + width :]), strict=True):
        if _any_of((source,), reached):
            reached.add(output)


def _counts(op: For) -> list[Arg]:
    """Return the value that tells the number of iterations, other than the length of a sequence."""
    ranges = [seq for seq in op.seqs if isinstance(seq, Display)]
    return [*ranges, *(() if op.count is None else (op.count,))]


def _any_of(atoms: Iterable[Any], reached: set[Value]) -> bool:
    return any(not reached.isdisjoint(values_in(atom)) for atom in atoms)


def _is_question(op: Call) -> bool:
    """Return True if a call asks for a shape or a kind only, or ends a derivative on purpose."""
    if is_stop(op.target) or never_returns(op.target):
        return True
    return op.target in _ENDS or target_name(op.target) in _ASKS


def _is_step(op: Call, given: set[Value]) -> bool:
    """Return True if an op turns a dependent value into steps or text."""
    if isinstance(op.target, Routine):
        return False
    if row_of(op.target).gives == "text":
        return True
    flows = {v for arg in differentiable_arguments(op).values() for v in values_in(arg)}
    rule = rule_of(op.target)
    if rule is None or not flows.isdisjoint(given):
        return False
    return rule.kind == "nondifferentiable" or rule.steps or is_of_integers(op.result.type)
