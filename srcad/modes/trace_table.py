"""``trace_table``: the values and gradients of everything that one call computes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from srcad.arguments.request import Request, name_of
from srcad.ir.core import Call, Function, Value
from srcad.ir.text import Printer, target_name
from srcad.modes.asked import asked_gradients
from srcad.modes.mode import Mode, Part, Problem, Results, Run
from srcad.modes.reverse import derived
from srcad.modes.rows import Operand, Recorder, Row, TraceTable, later
from srcad.transforms.traced import is_number, noted_ops, operands_of, with_notes
from srcad.types.structures import OPAQUE


def with_rows(function: Function, request: Request, wrt: Sequence[int]) -> Function:
    """Return the function that records its intermediate values.

    The last parameter is who takes the notes.
    """
    return derived(with_notes(function, Value(OPAQUE, "note")), request, wrt)


def in_a_table(made: Function, problem: Problem) -> Results:
    """One function that records its values; they become a table."""
    made = asked_gradients(made, problem)
    name, lowered = problem.written_name, problem.lowered
    part = Part(f"trace_table_{name}", made, own=range(len(made.block.results)))
    templates = _templates(lowered)
    places = [place.parameter for place in problem.distinct if place.item is None]
    run = partial(_recorded, templates, len(problem.parameters), places, name_of(problem.function))
    return Results((part,), run=run)


def _templates(function: Function) -> list[Row]:
    """Return the static part of the rows: the parameters, then `noted_ops`."""
    printer = _UsersNames()
    ssa = Printer()
    for each in (printer, ssa):
        each.function(function)
    rows = [Row(printer.name(p), None, where=function.where) for p in function.params]
    for op, made in noted_ops(function):
        operands = _operands(printer, made)
        rows.append(Row(printer.name(op.result), None, None, target_name(made.target), operands,
                        where=made.where, ssa=ssa.name(op.result)))  # fmt: skip
    return rows


class _UsersNames(Printer):
    """Prints every version of a variable under the name that the user gave it."""

    def _fresh(self, hint: str | None) -> str:
        return hint or super()._fresh(hint)


def _operands(printer: Printer, op: Call) -> tuple[Operand, ...]:
    keywords = ["" for _ in op.args] + [f"{key}=" for key, _ in op.kwargs]
    found = []
    for keyword, arg in zip(keywords, operands_of(op), strict=True):
        text = keyword + printer.arg(arg)
        found.append(later(text) if is_number(arg) else Operand(text))
    return tuple(found)


def _recorded(
    templates: Sequence[Row], count: int, places: Sequence[int], name: str, loaded: Run
) -> Callable[..., TraceTable]:
    """Return a function of the arguments and captured values; the latter have no row."""

    def run(*arguments: Any) -> TraceTable:
        recorder = Recorder(templates)
        result, *gradients = loaded(*arguments, recorder.note)
        leaves = list(recorder.leaves())
        for parameter, gradient in zip(places, gradients, strict=False):
            leaves[parameter].gradient = gradient
        rows = [*leaves[:count], *(row for row in recorder.rows if row.op is not None)]
        return TraceTable(name, rows, result)

    return run


MODE = Mode("trace_table", "Trace", with_rows, in_a_table, gives_value=True)
