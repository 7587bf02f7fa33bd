"""``for`` and ``while``: unrolled over what is known, read as loops over the rest (`readings`)."""

from __future__ import annotations

import ast
import operator
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn

from srcad import errors
from srcad.frontend.branches.conditional import (
    after_break,
    choice,
    on_tag,
    outward_tags,
    read_either,
    without_continue,
)
from srcad.frontend.branches.try_regions import refuse_in_steps, visible_objects
from srcad.frontend.control.fixpoint import LoopReader
from srcad.frontend.control.loop_end import finish
from srcad.frontend.domain.frames import DEAD, NotConstant, Unreachable
from srcad.frontend.domain.predicates import is_list
from srcad.frontend.domain.structure import components, mapped, view_of
from srcad.frontend.domain.values import (
    UNBOUND,
    AbstractValue,
    Choice,
    Conflict,
    Constant,
    DictValue,
    FunctionValue,
    GeneratorValue,
    IteratorValue,
    ListValue,
    TupleValue,
    ViewValue,
)
from srcad.frontend.functions.generators import consume
from srcad.frontend.functions.lazy_iterables import is_lazy, one_shot, refuse_listing
from srcad.frontend.machine.constants import (
    MOST_ENTRIES,
    few_entries,
    of_constant,
    static_items,
    truth,
)
from srcad.frontend.machine.dispatch import evaluate, executes, iterate
from srcad.frontend.machine.machine import Machine, fixpoint_seeds
from srcad.frontend.operations.assignment import assign
from srcad.frontend.operations.beside_arrays import items_beside_arrays, known_length
from srcad.frontend.operations.definite_assignment import has_items
from srcad.frontend.operations.indexing import getitem
from srcad.frontend.operations.sequences import sequences
from srcad.frontend.operations.statements import lower_statements
from srcad.frontend.source.syntax import bound_in
from srcad.frontend.store.object_writes import of_family, resizes
from srcad.frontend.store.origins import may_be_array, origin
from srcad.ir import primitives
from srcad.ir.core import BREAK, NONE, Arg, Call, Const, For, Value, collected_outputs

# Loops over few things that are known one by one: the body is read once per item.

UNROLL_LIMIT = 16
FEW = 8  # a comprehension over a range of so few items is written out


def unrolled_items(state: Machine, box: AbstractValue) -> tuple[AbstractValue, ...] | None:
    """Return the items of a sequence of few things that are known one by one."""
    if isinstance(box, TupleValue | ListValue | DictValue):
        items = (
            box.items if not isinstance(box, DictValue) else tuple(Constant(k) for k in box.keys)
        )
        alike = bool(items) and all(
            isinstance(i, Value) and i.type == getattr(items[0], "type", None) for i in items
        )
        return None if alike and len(items) > UNROLL_LIMIT else items
    if isinstance(box, IteratorValue):
        return _unrolled_iterator(state, box)
    if isinstance(box, Constant) and not isinstance(box.value, range):
        return of_constant(state, box)
    if isinstance(box, Value) and state.environment.arrays_known:
        return few_entries(state, box)
    return None


def _unrolled_iterator(state: Machine, box: IteratorValue) -> tuple[AbstractValue, ...] | None:
    only_range = all(isinstance(p, IteratorValue) and p.kind == "range" for p in box.parts)
    if box.kind != "range" and not only_range:
        return static_items(state, box)
    is_rule = state.root is None  # its loops go over arguments, one by one
    arrays_known = state.environment.arrays_known
    if not state.in_comprehension and not is_rule and not arrays_known:
        return () if _is_empty_range(box) else None
    items = static_items(state, box)
    most = MOST_ENTRIES if arrays_known else FEW
    return items if items is not None and len(items) <= most else None


def _is_empty_range(box: IteratorValue) -> bool:
    """Return True if there certainly is no iteration: nothing of the body is read then."""
    bounds = [p.value for p in box.parts if isinstance(p, Constant)]
    ints = all(isinstance(b, int) for b in bounds)
    return box.kind == "range" and len(bounds) == 3 and ints and not range(*bounds)


def looped_over(box: AbstractValue) -> list[AbstractValue]:
    """Return the sequences behind an iterable."""
    if isinstance(box, IteratorValue):
        return [inner for part in box.parts for inner in looped_over(part)]
    if isinstance(box, ViewValue):
        return [box.of]
    return [box]


def refuse_growing(state: Machine, node: ast.For) -> NoReturn:
    """Refuse a loop over a list that its own body makes longer or shorter."""
    state.refuse(
        errors.MutationError,
        "cannot write into a list while looping over it",
        node=node.iter,
        why="the number of trips would change under way.",
        help=("loop over a copy:  for item in list(items):",),
    )


def _current_item(
    state: Machine, node: ast.For, held: AbstractValue, iterable: AbstractValue, index: int
) -> AbstractValue:
    """Return the item of an iteration: what the loop runs over may have other items by now."""
    assert isinstance(held, TupleValue)
    over, *items = held.items
    if isinstance(iterable, ViewValue):
        if (
            isinstance(over, DictValue)
            and over is not iterable.of
            and over.keys == iterable.of.keys
        ):
            return view_of(over, pairs=iterable.pairs).items[index]
        iterable = iterable.of
    if over is iterable:
        return items[index]
    now = unrolled_items(state, over)
    if now is None and isinstance(over, IteratorValue):
        now = _few_items(state, over)
    if now is None and isinstance(over, Value):
        return getitem(state, over, Constant(index))
    keys, keys_before = getattr(over, "keys", None), getattr(iterable, "keys", None)
    if now is None or len(now) != len(items) or keys != keys_before:
        refuse_growing(state, node)
    return now[index]


def unroll(
    state: Machine, node: ast.For, iterable: AbstractValue, items: tuple[AbstractValue, ...]
) -> None:
    """Read the body once per item."""
    frame = state.frame
    name = f"%unrolled {id(node)}"
    # A trip may write into an item of a later one, or put another one in its place.
    over = iterable.of if isinstance(iterable, ViewValue) else iterable
    frame.env[name] = TupleValue((over, *items))

    def trips(index: int) -> None:
        if index == len(items):
            lower_statements(state, node.orelse)
            return
        assign(state, node.target, _current_item(state, node, frame.env[name], iterable, index))
        lower_statements(state, node.body)
        if isinstance(frame.exit, int):
            if frame.exit <= 1 and frame.exit != DEAD:
                frame.ends(NONE)
                trips(index + 1)
            return
        if 1 in frame.tags:
            frame.exit = without_continue(state, frame.exit)
            frame.tags = (frame.tags - {1}) | {NONE}
        if NONE in frame.tags:
            on_tag(state, frame.exit, NONE, lambda: trips(index + 1))

    resized = len(state.objects.resized)
    trips(0)
    if resizes(state, looped_over(iterable), resized):
        refuse_growing(state, node)
    frame.env.pop(name, None)
    after_break(state)


# Generators that a ``zip`` runs in step.
#
# Only one of them is read where its values are used; of the others a list is made before the
# loop. Nobody can tell unless the loop changes what they read.


@contextmanager
def checked_interleaving(state: Machine, node: ast.For, iterable: AbstractValue) -> Iterator[None]:
    """Read a loop over an iterable; refuse it if it changes what a list was made of before it."""
    parts = iterable.parts if isinstance(iterable, IteratorValue) and iterable.kind == "zip" else ()
    lazy = [part for part in parts if is_lazy(part)]
    others = [*lazy[1:], *(p for p in parts if isinstance(p, IteratorValue) and p.kind != "range")]
    if not others or others == lazy:
        yield
        return
    read = _names_read(state, others)
    count, seen = len(state.writes), visible_objects(state)
    yield
    written = any(id(what) in seen for what, _, _ in state.writes[count:])
    if written or not read.isdisjoint(bound_in([node])):
        refuse_listing(state)


def _names_read(state: Machine, boxes: Iterable[AbstractValue]) -> set[str]:
    """Return the names that generators, and the functions that they call, may read."""
    found: set[str] = set()
    done: set[int] = set()
    todo: list[AbstractValue] = list(boxes)
    while todo:
        box = todo.pop()
        if id(box) in done:
            continue
        done.add(id(box))
        todo += components(box)
        node = (
            box.callee.node
            if isinstance(box, GeneratorValue)
            else box.node
            if isinstance(box, FunctionValue)
            else None
        )
        if node is not None:
            names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
            found |= names
            todo += [held for name, held in state.reachable() if name in names]
    return found


@executes(ast.For)
def for_(state: Machine, node: ast.For) -> None:
    """``for target in iterable: ... else: ...``."""
    _loop_over(state, node, evaluate(state, node.iter))


def _loop_over(state: Machine, node: ast.For, iterable: AbstractValue) -> None:
    if isinstance(iterable, Choice):
        read_either(state, iterable, lambda part: _loop_over(state, node, part))
        return
    iterable = iterate(state, iterable)
    if isinstance(iterable, Value):
        iterable = state.box(iterable)
    generator = one_shot(state, iterable)
    if generator is not None:
        with checked_interleaving(state, node, iterable):
            generated_for(state, node, generator)
        return
    items = unrolled_items(state, iterable)
    if items is not None:
        unroll(state, node, iterable, items)
        return
    _at_run_time(state, node, iterable)


def _at_run_time(state: Machine, node: ast.For, iterable: AbstractValue) -> None:
    """Read a loop at run time, and read it again in another way where the first fails."""
    arrays = [b for b in looped_over(iterable) if isinstance(b, Value | ListValue)]
    start, earlier = _Start(state), fixpoint_seeds(state, node.iter, "rows")
    if earlier:
        _row_by_row(state, node, iterable, start)
        return
    try:
        is_lost = dynamic_for(state, node, iterable)
    except (NotConstant, errors.SrcadError) as problem:
        if isinstance(problem, errors.MutationError) and start.has_written(arrays):
            earlier["written"] = True
            _row_by_row(state, node, iterable, start)
        else:
            _unrolled(state, node, iterable, start, problem)
    else:
        if start.has_written(arrays):
            earlier["written"] = True
            _row_by_row(state, node, iterable, start)
        elif is_lost and _few_items(state, iterable) is not None:
            start.again()
            items = _few_items(state, iterable)  # those of arrays are read anew
            assert items is not None
            unroll(state, node, iterable, items)


def _few_items(state: Machine, iterable: AbstractValue) -> tuple[AbstractValue, ...] | None:
    """Return the items of a loop of few iterations that could be written out."""
    if not isinstance(iterable, IteratorValue) or _is_checkpointed(iterable):
        return None
    items = static_items(state, iterable)
    if items is None:
        return items_beside_arrays(state, iterable, UNROLL_LIMIT)
    return items if len(items) <= UNROLL_LIMIT else None


def _is_checkpointed(box: AbstractValue) -> bool:
    """Return True if a checkpointed range is part of an iterable."""
    return isinstance(box, IteratorValue) and (
        bool(box.segments) or any(map(_is_checkpointed, box.parts))
    )


def _unrolled(
    state: Machine,
    node: ast.For,
    iterable: AbstractValue,
    start: _Start,
    problem: NotConstant | errors.SrcadError,
) -> None:
    """Unroll a short loop if its carried values have no one type or must be constants."""
    if not isinstance(iterable, IteratorValue) or len(state.frames) != len(start.names):
        raise problem
    refused = problem.error if isinstance(problem, NotConstant) else problem
    start.again()  # before the items of arrays are read
    is_of_keys = any(error is refused for error, _ in state.dicts.asked)
    if is_of_keys and static_items(state, iterable) is None:
        raise refused  # a dict may get any key instead: another one is no other program then
    items = _few_items(state, iterable)
    if items is None:
        raise _with_remedy(state, iterable, refused) from None
    unroll(state, node, iterable, items)


def _with_remedy(
    state: Machine, iterable: IteratorValue, refused: errors.SrcadError
) -> errors.SrcadError:
    """Return the error of a loop; beside arrays, a loop over the objects alone may be unrolled."""
    count = known_length(state, iterable)
    is_of_objects = isinstance(refused, errors.UnsupportedTypeError | errors.MissingRuleError)
    if not is_of_objects or count is None or static_items(state, iterable) is not None:
        return refused
    return type(refused)(
        refused.sentence,
        where=refused.where,
        second=refused.second,
        why=refused.why,
        help=(
            "loop over the objects alone, and index the array:"
            "  for k, item in enumerate(items): ... x[k]",
            *refused.help,
        ),
    )


class _Start:
    """The state before a loop, to read it in another way."""

    def __init__(self, state: Machine) -> None:
        self.state = state
        self.names, self.count, self.where = (
            state.snapshot(),
            len(state.builder.ops),
            state.builder.where,
        )
        self.builder, self.depth = state.builder, len(state.frames)
        self.written, self.wanted = len(state.written_objects), len(state.objects.wanted)
        self.objects = state.objects.copy()

    def again(self) -> None:
        """Forget what was read since."""
        state = self.state
        del state.frames[self.depth :]
        state.builder = self.builder
        state.restore(self.names)
        state.objects = self.objects.copy()
        del state.builder.ops[self.count :]
        state.builder.where = self.where
        state.frame.ends(NONE)

    def has_written(self, arrays: Sequence[AbstractValue]) -> bool:
        """Return True if any of these arrays, or an item of these lists, was written into since."""
        state = self.state
        objects = frozenset(state.written_objects[self.written :])
        wanted = state.objects.wanted[self.wanted :]
        return any(
            a in wanted
            or (isinstance(a, Value) and bool(origin(state, a).objects & objects))
            or (isinstance(a, Value) and any(of_family(state, a, box) for box in wanted))
            for a in arrays
        )


def _row_by_row(state: Machine, node: ast.For, iterable: AbstractValue, start: _Start) -> None:
    """Read a loop over an array that its body writes into: rows are read as iterations start."""
    start.again()
    names: list[str] = []

    def by_index(box: AbstractValue) -> AbstractValue | None:
        if not may_be_array(box) and not is_list(box):
            return None
        name = f"%rows {id(node)} {len(names)}"
        names.append(name)
        state.frame.env[name] = box
        return IteratorValue("rows", (box, Constant(name)))

    dynamic_for(state, node, mapped(iterable, by_index))
    for name in names:
        state.frame.env.pop(name, None)


def generated_for(state: Machine, node: ast.For, generator: GeneratorValue) -> None:
    """Read a loop over a generator: its body, with the loop's at every ``yield``."""
    if state.frame.handlers:
        refuse_in_steps(state, node.iter)
    left, tags, endless = consume(state, node, generator)
    if isinstance(left, Value):
        after_loop(state, node.orelse, left, tags, endless=endless)
        return
    assert isinstance(left, Constant)
    state.frame.ends(left.value)
    if left.value != NONE:
        after_break(state)
    elif endless:
        raise Unreachable
    else:
        lower_statements(state, node.orelse)


def _refuse_written(
    state: Machine, node: ast.For, reader: LoopReader, over: list[AbstractValue], resized: int
) -> None:
    """Refuse a loop over a list that its body makes longer or shorter.

    A list that is written into, but stays as long, can be read item by item.
    """
    by_index = any(isinstance(box, Constant) for box in over)
    starts = {key: reader.before[key[0]].get(key[1], UNBOUND) for key in reader.headers}
    headers = [reader.headers[key] for key, box in starts.items() if box in over]
    if resizes(state, [*over, *headers], resized):
        refuse_growing(state, node)
    if not by_index and any(header in state.written for header in headers):
        state.objects.wanted += over
        refuse_growing(state, node)


def dynamic_for(state: Machine, node: ast.For, iterable: AbstractValue) -> bool:
    """Return a loop with a run-time number of iterations; True if it leaves unknown functions."""
    seqs = sequences(state, iterable, node.iter)

    def read() -> None:
        assign(state, node.target, seqs.target(state, node.target))
        lower_statements(state, node.body)

    reader, resized = LoopReader(state, node, read), len(state.objects.resized)
    reader.has_iterations = lambda: all(_has_items(state, arg) for arg in seqs.args)
    iteration = reader.settle()
    _refuse_written(state, node, reader, looped_over(iterable), resized)
    outputs = finish(state, reader, iteration, seqs)
    after_loop(state, node.orelse, outputs[0], iteration.tags, endless=False)
    return any(isinstance(box, Conflict) for box in reader.headers.values())


def _has_items(state: Machine, arg: Arg) -> bool:
    """Return True if a sequence certainly has items, also if it is a list made just before."""
    if has_items(arg):
        return True
    made = next((op for op in reversed(state.builder.ops) if arg in op.results), None)
    if isinstance(made, Call):
        return made.target is primitives.build_list and bool(made.args)
    if isinstance(made, For) and arg in collected_outputs(made):
        return all(_has_items(state, seq) for seq in made.seqs)
    return False


@executes(ast.While)
def while_(state: Machine, node: ast.While) -> None:
    """``while test: ... else: ...``."""
    walrus = any(isinstance(n, ast.NamedExpr) for n in ast.walk(node.test))
    if walrus or (state.frame.handlers and not isinstance(node.test, ast.Constant)):
        node = _without_walrus(state, node)
    reader = LoopReader(state, node, lambda: lower_statements(state, node.body), node.test)
    is_endless = isinstance(node.test, ast.Constant) and bool(node.test.value)
    reader.has_iterations = lambda: is_endless
    first = truth(state, lower_quietly(state, node.test))
    if first is False:
        lower_statements(state, node.orelse)
        return
    iteration = reader.settle()
    assert iteration.test is not None
    condition = iteration.test.results[0]
    endless = isinstance(condition, Const) and bool(condition.value)
    outputs = finish(state, reader, iteration, None)
    after_loop(state, node.orelse, outputs[0], iteration.tags, endless=endless)


def lower_quietly(state: Machine, node: ast.expr) -> AbstractValue:
    """Read an expression into nowhere, to see whether its value is known at compile time."""
    if not isinstance(node, ast.Constant):
        return UNBOUND if not isinstance(node, ast.Name) else evaluate(state, node)
    return evaluate(state, node)


def _without_walrus(state: Machine, node: ast.While) -> ast.While:
    """``while (x := f()) > 0: body`` as ``while True: if not test: break; body``.

    What stands behind ``else`` runs before that ``break``.
    """
    if any(map(_leaves_loop_around, node.orelse)):
        state.refuse(
            errors.UnsupportedSyntaxError,
            "cannot read 'while ... else' whose test binds a name and whose 'else' leaves a loop",
            why="the test runs once more than the body.",
            node=node.test,
            help=("write 'while True:' with 'break'",),
        )
    leave = ast.If(ast.UnaryOp(ast.Not(), node.test), [*node.orelse, ast.Break()], [])
    new = ast.While(ast.Constant(True), [leave, *node.body], [])
    for part in (leave.test, leave, leave.body[-1], new.test, new):
        ast.copy_location(part, node.test)
    return new


def _leaves_loop_around(node: ast.AST) -> bool:
    """Return True if a statement holds a ``break`` or ``continue`` of a loop around it."""
    if isinstance(node, ast.Break | ast.Continue):
        return True
    if isinstance(node, ast.For | ast.While):
        return any(map(_leaves_loop_around, node.orelse))
    if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.expr):
        return False
    return any(map(_leaves_loop_around, ast.iter_child_nodes(node)))


def after_loop(
    state: Machine, orelse: list[ast.stmt], tag: Value, tags: frozenset[int], *, endless: bool
) -> None:
    """``else`` runs unless the loop was left; an inner ``return`` goes on outward."""
    frame = state.frame
    leaving = outward_tags(tags) | (tags & {BREAK})
    if endless and not leaving:
        raise Unreachable
    if endless and len(leaving) == 1 and BREAK not in leaving:
        frame.ends(next(iter(leaving)))
        return
    if not leaving:
        frame.ends(NONE)
        lower_statements(state, orelse)
        return
    frame.exit, frame.tags = tag, frozenset(leaving | ({NONE} if not endless else frozenset()))
    if orelse and not endless:
        stays = state.emit(operator.lt, tag, Const(BREAK))
        frame.exit = choice(state, stays, Const(NONE), tag)
        on_tag(state, frame.exit, NONE, lambda: lower_statements(state, orelse))
    after_break(state)
