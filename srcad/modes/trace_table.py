"""``trace_table``: the values and gradients of everything that one call computes."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from typing import Any

from srcad.arguments.request import Request, name_of
from srcad.ir.core import (
    Arg,
    Atom,
    Block,
    Call,
    Const,
    For,
    Function,
    If,
    InlinedCall,
    Op,
    Routine,
    Value,
    While,
    walk,
)
from srcad.ir.inference.builder import Builder
from srcad.ir.substitute import substituted_block, with_blocks
from srcad.ir.text import Printer, target_name
from srcad.ir.traits import is_checkpoint, is_known_part, is_same
from srcad.modes.mode import Mode, Part, Problem, Results, Run
from srcad.modes.reverse import derived, requested_gradients
from srcad.modes.rows import Operand, Recorder, Row, Template, TraceTable, later
from srcad.startup.records import dataclass, replace
from srcad.types.numeric import Numeric
from srcad.types.structures import OPAQUE

# Instrumentation: report every number when it is computed, its cotangent when that is complete.


def noted_ops(function: Function) -> list[tuple[Call, Call]]:
    """Return the calls that are recorded, in order: the user's calls that make numbers.

    With each comes the call that it is shown as: of a recursive function, for a part of its result.
    """
    routines: dict[Value, Call] = {}
    counts: set[Value] = set()
    for op in walk(function.block):
        if isinstance(op, For | While):
            counts.update(op.outputs[:2])
        elif isinstance(op, Call) and isinstance(op.target, Routine):
            routines[op.result] = op
    calls = (op for op in _calls(function.block) if counts.isdisjoint(op.operands))
    return [
        (op, routines.get(op.operands[0], op) if op.operands else op)
        for op in calls
        if _is_noted(op, routines)
    ]


def _calls(block: Block) -> Iterator[Call]:
    """Yield the calls of a block and of those inside it, but for the tests of loops."""
    for op in block.ops:
        if isinstance(op, Call):
            yield op
        for inner in _bodies(op):
            yield from _calls(inner)


def _bodies(op: Op) -> tuple[Block, ...]:
    return (op.body,) if isinstance(op, While) else op.blocks


def inlined_calls(function: Function) -> list[InlinedCall]:
    """Return the calls of functions of the user that stand in the function, outer before inner."""
    found: dict[InlinedCall, None] = {}
    for op in walk(function.block):
        found.update(dict.fromkeys(_around(op)))
    return list(found)


def returned_outputs(function: Function) -> dict[Value, Op]:
    """Return the numbers that conditionals and loops make and that helpers return, with the op."""
    return {
        value: op
        for op in walk(function.block)
        if not isinstance(op, Call)
        for value in op.results
        if is_number(value) and any(value in call.results for call in _around(op))
    }


def _around(op: Op) -> tuple[InlinedCall, ...]:
    """Return the calls that an op stands in, the outermost first."""
    call = None if op.where is None else op.where.call
    return () if call is None else call.around


def with_notes(function: Function, note: Value) -> Function:
    """Return the function that calls ``note(k, value, *operands)`` for each noted value.

    The object that `note` returns is called with the cotangent of the value.  Where the body of a
    helper begins, ``note(k, None, *arguments)`` is called.  `note` is the last parameter of the new
    function.

    >>> function = parse('''
    ... f(x: float):
    ...     y = sin(x)
    ...     return y
    ... ''')
    >>> print(text(with_notes(function, Value(OPAQUE, "note"))))
    f(x, note):
        t1 = apply(note, 0, x)
        y = sin(x)
        t2 = apply(note, 1, y, x)
        y_3 = hooked(y, t2)
        return y_3
    """
    start = Builder(where=function.where)
    for k, param in enumerate(function.params):
        start.apply(note, Const(k), param, effect=True, type=OPAQUE)
    first = len(function.params)
    ops = noted_ops(function)
    rows = {op: (first + k, made) for k, (op, made) in enumerate(ops)}
    calls = {call: k for k, call in enumerate(inlined_calls(function), first + len(rows))}
    last = first + len(rows) + len(calls)
    returned = {value: k for k, value in enumerate(returned_outputs(function), last)}
    notes = _Notes(note, rows, calls, returned)
    block = notes.block(function.block, frozenset(), set(function.params))
    block = replace(block, ops=(*start.ops, *block.ops))
    return replace(function, params=(*function.params, note), block=block)


@dataclass(frozen=True)
class _Notes:
    """Inserts the calls of `note`; `rows`, `calls` and `returned` have the number of each row."""

    note: Value
    rows: Mapping[Call, tuple[int, Call]]
    calls: Mapping[InlinedCall, int]
    returned: Mapping[Value, int]

    def block(self, block: Block, begun: Set[InlinedCall], defined: Set[Value]) -> Block:
        """Return a block with notes; `begun` are the calls that it stands in."""
        ops: list[Op] = []
        begun, defined = set(begun), {*defined, *block.params}
        for op in block.ops:
            builder = Builder(ops, op.where)
            for call in _around(op):
                if call not in begun:
                    begun.add(call)
                    given = [value for _, value in call.arguments if value is not None]
                    known = [value if value in defined else Const(None) for value in given]
                    self._add(builder, self.calls[call], Const(None), known)
            if isinstance(op, Call) and op in self.rows:
                k, shown = self.rows[op]
                made = Value(op.result.type, op.result.hint)
                ops.append(replace(op, result=made))
                row = self._add(builder, k, made, filter(is_number, operands_of(shown)))
                builder.hooked(made, row, result=op.result)
            else:
                inside = _bodies(op)
                blocks = (self.block(b, begun, defined) if b in inside else b for b in op.blocks)
                ops.append(with_blocks(op, blocks))
                self._add_returned(builder)
            defined.update(op.results)
        return replace(block, ops=tuple(ops))

    def _add_returned(self, builder: Builder) -> None:
        """Note the results of the last op that a function of the user returns."""
        op = builder.ops[-1]
        if not isinstance(op, If | For | While) or self.returned.keys().isdisjoint(op.outputs):
            return
        made = {v: Value(v.type, v.hint) for v in op.outputs if v in self.returned}
        builder.ops[-1] = replace(op, outputs=tuple(made.get(v, v) for v in op.outputs))
        for value, new in made.items():
            row = self._add(builder, self.returned[value], new, ())
            builder.hooked(new, row, result=value)

    def _add(self, builder: Builder, k: int, made: Atom, operands: Iterable[Any]) -> Value:
        return builder.apply(self.note, Const(k), made, *operands, effect=True, type=OPAQUE)


def operands_of(op: Call) -> list[Arg]:
    """Return the operands of a call in order, those by keyword last."""
    return [*op.args, *(arg for _, arg in op.kwargs)]


def is_number(arg: Any) -> bool:
    """Return True if an operand is a number or an array that is computed."""
    return isinstance(arg, Value) and isinstance(arg.type, Numeric)


def _is_noted(op: Call, routines: Container[Value]) -> bool:
    if op.half != "primal" or not is_number(op.result) or is_same(op.target):
        return False
    return not is_known_part(op.target) or op.args[0] in routines


def with_rows(function: Function, request: Request, wrt: Sequence[int]) -> Function:
    """Return the function that records its intermediate values.

    The last parameter is who takes the notes.
    """
    function = replace(function, block=_without_checkpoints(function.block))
    return derived(with_notes(function, Value(OPAQUE, "note")), request, wrt)


def _without_checkpoints(block: Block) -> Block:
    """Save what checkpoints would compute again: the table holds every value anyway."""
    ops: list[Op] = []
    results: dict[Value, Atom] = {}
    for op in block.ops:
        inside = with_blocks(op, map(_without_checkpoints, op.blocks))
        if isinstance(inside, If) and is_checkpoint(inside):
            ops.extend(inside.then.ops)
            for output, atom in zip(inside.outputs, inside.then.results, strict=True):
                results[output] = results.get(atom, atom) if isinstance(atom, Value) else atom
        else:
            ops.append(replace(inside, segments=()) if isinstance(inside, For) else inside)
    return substituted_block(replace(block, ops=tuple(ops)), results)


def in_a_table(made: Function, problem: Problem) -> Results:
    """One function that records its values; they become a table."""
    made = requested_gradients(made, problem)
    name, lowered = problem.written_name, problem.lowered
    part = Part(f"trace_table_{name}", made, own=range(len(made.block.results)))
    templates = _templates(lowered)
    places = [place.parameter for place in problem.distinct if place.item is None]
    run = partial(_recorded, templates, len(problem.parameters), places, name_of(problem.function))
    return Results((part,), run=run)


def _templates(function: Function) -> list[Template]:
    """Return the static part of all rows.

    The parameters come first, then `noted_ops`, `inlined_calls` and `returned_outputs`.
    """
    printer = _UsersNames()
    ssa = Printer()
    for each in (printer, ssa):
        each.function(function)
    noted, calls = noted_ops(function), inlined_calls(function)
    params = [Row(printer.name(p), None, where=function.where) for p in function.params]
    first = len(params) + len(noted)
    numbers = {call: k for k, call in enumerate(calls, first)}

    def template(row: Row, around: Sequence[InlinedCall], value: Value | None = None) -> Template:
        returned = tuple(
            (numbers[call], place)
            for call in around
            for place, result in enumerate(call.results)
            if result is value
        )
        return Template(row, numbers[around[-1]] if around else None, returned)

    templates = list(map(Template, params))
    for op, shown in noted:
        row = Row(
            printer.name(op.result),
            None,
            None,
            target_name(shown.target),
            _operands(printer, shown),
            where=shown.where,
            ssa=ssa.name(op.result),
        )
        templates.append(template(row, _around(op), op.result))
    for call in calls:
        names = ", ".join(map(printer.name, call.results))
        operands = tuple(
            later(name) if v is not None else Operand(name) for name, v in call.arguments
        )
        row = Row(
            names, None, None, call.name, operands, where=call.where, definition=call.definition
        )
        templates.append(replace(template(row, call.around[:-1]), is_call=True))
    for value, made_by in returned_outputs(function).items():
        templates.append(template(Row("", None), _around(made_by), value))
    return templates


class _UsersNames(Printer):
    """Prints every version of a variable under the name that the user gave it."""

    def _fresh(self, hint: str | None) -> str:
        is_own = hint is not None and hint.startswith("%")  # a name of the compiler
        return hint if hint and not is_own else super()._fresh(None)


def _operands(printer: Printer, op: Call) -> tuple[Operand, ...]:
    keywords = ["" for _ in op.args] + [f"{key}=" for key, _ in op.kwargs]
    found = []
    for keyword, arg in zip(keywords, operands_of(op), strict=True):
        text = keyword + printer.arg(arg)
        found.append(later(text) if is_number(arg) else Operand(text))
    return tuple(found)


def _recorded(
    templates: Sequence[Template], count: int, places: Sequence[int], name: str, loaded: Run
) -> Callable[..., TraceTable]:
    """Return a function of the arguments and captured values; the latter have no row."""

    def run(*arguments: Any) -> TraceTable:
        recorder = Recorder(templates)
        result, *gradients = loaded(*arguments, recorder.note)
        leaves = list(recorder.leaves())
        for parameter, gradient in zip(places, gradients, strict=False):
            leaves[parameter].gradient = gradient
        rows = [*leaves[:count], *(row for row in recorder.rows if row.op is not None)]
        recorder.finish()
        return TraceTable(name, rows, result)

    return run


MODE = Mode("trace_table", "Trace", with_rows, in_a_table, gives_value=True)
