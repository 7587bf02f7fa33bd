"""Which values carry a derivative: those that depend on the input *and* reach the result.

Activity is told leaf by leaf.  For a number it is a bool; for a tuple, dict or record a tuple
with the activity of each part; for a list the activity of its items, joined.  `False` stands for
"nothing in it", whatever the structure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from srcad.analysis.activity_trees import (
    Activity,
    activity_of_parts,
    both,
    depth,
    either_active,
    fully_active,
    part,
    position,
)
from srcad.analysis.arguments import differentiable_arguments
from srcad.analysis.shifts import cancelled
from srcad.ir.argument_types import argument_type
from srcad.ir.core import (
    Arg,
    Block,
    Call,
    Const,
    Display,
    For,
    Function,
    If,
    Loop,
    Routine,
    Value,
    While,
    carried_outputs,
    collected_outputs,
)
from srcad.ir.traits import (
    built_parts,
    is_indexed,
    is_known_part,
    is_structure,
    keeps_structure,
)
from srcad.startup.records import dataclass, field
from srcad.types.structures import ListOf, Opaque, TupleOf, Type

_DEEP = 8  # structures of unknown type that are looked into


# ------------------------------------------------------------------------------- the analysis
Told = Callable[[Call, "Facts"], Activity | None]


@dataclass(eq=False)
class Facts:
    """The facts found so far; they only ever grow.

    `told` says of a call what of its result depends on the input, where that is known in another
    way than by a derivative.  The values that are `still` have no derivative, although their
    operands have one.
    """

    varied: dict[Value, Activity] = field(default_factory=dict)
    useful: dict[Value, Activity] = field(default_factory=dict)
    changed: bool = False
    again: bool = False
    told: Told | None = None
    still: frozenset[Value] = frozenset()

    def vary(self, value: Value, activity: Activity) -> None:
        """Note that a value depends on the input."""
        self._grow(self.varied, value, activity)

    def use(self, arg: Arg, activity: Activity) -> None:
        """Note that an argument reaches the result."""
        if activity is False:
            return
        if isinstance(arg, Value):
            self._grow(self.useful, arg, activity)
        elif isinstance(arg, Display):
            for k, item in enumerate(arg.items):
                self.use(item, part(activity, k) if arg.kind == "tuple" else activity)

    def follow(self, new: Arg, old: Arg) -> None:
        """Give a list a cotangent for each part of its items that an earlier version has one for.

        The cotangent of the one becomes that of the other; a part must not be missing there.
        """
        if isinstance(new, Value) and isinstance(old, Value) and isinstance(new.type, ListOf):
            tree = self.active(old)
            if isinstance(tree, tuple) and both(tree, self.active(new)) != tree:
                before = self.active(new)
                self.use(new, tree)
                self.again = self.again or self.active(new) != before

    def _grow(self, known: dict[Value, Activity], value: Value, activity: Activity) -> None:
        if activity is False:
            return
        before = known.get(value, False)
        after = either_active(before, activity)
        if isinstance(value.type, Opaque) and depth(after) > _DEEP:
            after = True  # what grows from trip to trip: ``y = (y, x)``
        if after != before:
            known[value] = after
            self.changed = True

    def of(self, arg: Arg) -> Activity:
        """Return whether, and where, an argument depends on the input."""
        if isinstance(arg, Value):
            return self.varied.get(arg, False)
        if isinstance(arg, Display):
            parts = tuple(self.of(item) for item in arg.items)
            if arg.kind == "tuple":
                return activity_of_parts(parts)
            result: Activity = False
            for activity in parts:
                result = either_active(result, activity)
            return result
        return False

    def active(self, value: Value) -> Activity:
        """Return the activity of a value: it depends on the input and reaches the result."""
        return both(self.varied.get(value, False), self.useful.get(value, False))


def activity(
    function: Function,
    varied: dict[Value, Activity],
    wanted: Iterable[Activity],
    *,
    told: Told | None = None,
    still: frozenset[Value] = frozenset(),
    whole: bool = False,
) -> Facts:
    """Find values that depend on the `varied` parameters and reach the `wanted` results.

    Parameters that are lists are taken to reach them, too, if cotangents are wanted for `whole`
    lists: their caller reads items, and does not know of which function their cotangents are.
    """
    start = Facts(told=told, still=still)
    facts = _found(function, varied, wanted := tuple(wanted), start, whole=whole)
    still = frozenset() if told is not None else cancelled(function, facts.active)
    return _found(function, varied, wanted, Facts(still=still), whole=whole) if still else facts


def _found(
    function: Function,
    varied: dict[Value, Activity],
    wanted: Iterable[Activity],
    facts: Facts,
    *,
    whole: bool,
) -> Facts:
    for param, tree in varied.items():
        facts.vary(param, tree)
        if whole:
            facts.use(param, _with_whole_lists(param.type, tree, False))
    _vary_block(function.block, facts)
    for atom, tree in zip(function.block.results, wanted, strict=True):
        facts.use(atom, tree)
    facts.again = True
    while facts.again:
        facts.again = False
        _use_block(function.block, facts)
    return facts


# ------------------------------------------------------------------------------- helpers
_FACTS = "activity"


def pattern_of_call(op: Call, facts: Facts) -> tuple[Activity, ...]:
    """Return the parts of the parameters of a routine through which a derivative may flow."""
    assert isinstance(op.target, Routine)
    assert op.target.function is not None
    pairs = zip(op.args, op.target.function.params, strict=True)
    return tuple(both(facts.of(a), fully_active(p.type)) for a, p in pairs)


def facts_of_helper(
    routine: Routine, pattern: tuple[Activity, ...], wanted: Activity | None
) -> Facts:
    """Compute the activity inside a helper; `wanted` selects results, None all of them."""
    function = routine.function
    assert function is not None
    noted = routine.derived.get(_FACTS)
    if noted is None or noted[0] is not function:
        noted = routine.derived[_FACTS] = function, dict[Any, Facts]()
    known: dict[Any, Facts] = noted[1]
    if (pattern, wanted) not in known:
        trees = [
            fully_active(argument_type(atom)) if wanted is None else part(wanted, k)
            for k, atom in enumerate(function.block.results)
        ]
        varied = dict(zip(function.params, pattern, strict=True))
        known[pattern, wanted] = activity(function, varied, trees)
    return known[pattern, wanted]


# ------------------------------------------------------------------------------- forward
def _vary_block(block: Block, facts: Facts) -> None:
    for op in block.ops:
        match op:
            case Call():
                facts.vary(op.result, _varied_result(op, facts))
            case If():
                _vary_block(op.then, facts)
                _vary_block(op.orelse, facts)
                yields = zip(op.outputs, op.then.results, op.orelse.results, strict=True)
                for output, a, b in yields:
                    facts.vary(output, either_active(facts.of(a), facts.of(b)))
            case For() | While():
                _vary_loop(op, facts)


def _vary_loop(op: Loop, facts: Facts) -> None:
    _vary_items(op, facts)
    width = len(op.inits)
    for param, init in zip(op.carried, op.inits, strict=True):
        facts.vary(param, facts.of(init))
    while True:
        before, facts.changed = facts.changed, False
        if isinstance(op, While):
            _vary_block(op.test, facts)
        _vary_block(op.body, facts)
        for param, result in zip(op.carried, op.body.results[1 : 1 + width], strict=True):
            facts.vary(param, facts.of(result))
        stable, facts.changed = not facts.changed, facts.changed or before
        if stable:
            break
    results = op.body.results[1:]
    for output, init, result in zip(carried_outputs(op), op.inits, results[:width], strict=True):
        facts.vary(output, either_active(facts.of(init), facts.of(result)))
    for output, result in zip(collected_outputs(op), results[width:], strict=True):
        facts.vary(output, facts.of(result))


def asked_of_helper(op: Call, facts: Facts) -> tuple[Activity, ...]:
    """Return the activity of a helper's cotangents; that of lists includes the caller's."""
    assert isinstance(op.target, Routine)
    assert op.target.function is not None
    pattern = pattern_of_call(op, facts)
    inner = facts_of_helper(op.target, pattern, facts.active(op.result))
    rows = zip(op.args, op.target.function.params, strict=True)
    asked = ((p.type, _asked(a, facts), inner.active(p)) for a, p in rows)
    return tuple(_with_whole_lists(*one) if one[2] is not False else False for one in asked)


def _asked(arg: Arg, facts: Facts) -> Activity:
    if isinstance(arg, Value):
        return facts.active(arg)
    if isinstance(arg, Display) and arg.kind == "tuple":
        return activity_of_parts(tuple(_asked(item, facts) for item in arg.items))
    return facts.of(arg)


def _with_whole_lists(type_: Type, outer: Activity, inner: Activity) -> Activity:
    match type_:
        case ListOf():
            return either_active(outer, inner)
        case TupleOf(items):
            parts = enumerate(items)
            return activity_of_parts(
                tuple(_with_whole_lists(t, part(outer, k), part(inner, k)) for k, t in parts)
            )
    return inner


def _vary_items(op: Loop, facts: Facts) -> None:
    if not isinstance(op, For):
        return
    for param, seq in zip(op.items, op.seqs, strict=True):
        if not (isinstance(seq, Display) and seq.kind == "range"):
            facts.vary(param, items_activity(argument_type(seq), facts.of(seq)))


def items_activity(type_: Type, tree: Activity) -> Activity:
    if isinstance(type_, TupleOf) and isinstance(tree, tuple):
        result: Activity = False
        for one in tree:
            result = either_active(result, one)
        return result
    return tree


def _varied_result(op: Call, facts: Facts) -> Activity:
    target, args = op.target, op.args
    if op.result in facts.still:
        return False
    if is_known_part(target):
        return False if _is_dtype(op) else _varied_item(op, facts.of(args[0]))
    if is_indexed(target) and isinstance(argument_type(args[0]), TupleOf | ListOf):
        return _varied_item(op, facts.of(args[0]))
    if is_structure(target):
        return activity_of_parts(tuple(map(facts.of, built_parts(op))))
    if facts.told is not None and (told := facts.told(op, facts)) is not None:
        return told
    if isinstance(target, Routine) and target.helper:
        inner = facts_of_helper(target, pattern_of_call(op, facts), None)
        assert target.function is not None
        return activity_of_parts(tuple(map(inner.of, target.function.block.results)))
    found: Activity = False
    for arg in differentiable_arguments(op).values():
        found = (
            either_active(found, facts.of(arg))
            if keeps_structure(target)
            else found or facts.of(arg)
        )
    if keeps_structure(target):
        return found
    return fully_active(op.result.type) if found else False


def _is_dtype(op: Call) -> bool:
    """``x.dtype`` says nothing of the values of an array, even one of unknown type."""
    is_record = isinstance(argument_type(op.args[0]), TupleOf)
    return not is_record and isinstance(op.args[1], Const) and op.args[1].value == "dtype"


def _varied_item(op: Call, tree: Activity) -> Activity:
    container, key = argument_type(op.args[0]), op.args[1]
    if isinstance(container, TupleOf):
        index = position(container, key.value) if isinstance(key, Const) else None
        return part(tree, index) if index is not None else items_activity(container, tree)
    if isinstance(container, Opaque) and tree is not False:
        return True  # the parts of its tree need not be those of the value
    return tree


# ------------------------------------------------------------------------------- backward
def _use_block(block: Block, facts: Facts) -> None:
    for op in reversed(block.ops):
        match op:
            case Call():
                tree = facts.active(op.result)
                if tree is not False:
                    _use_call(op, tree, facts)
                    _follow_versions(op, facts)
            case If():
                yields = zip(op.outputs, op.then.results, op.orelse.results, strict=True)
                for output, a, b in yields:
                    tree = facts.active(output)
                    facts.use(a, tree)
                    facts.use(b, tree)
                    facts.follow(output, a)
                    facts.follow(output, b)
                _use_block(op.then, facts)
                _use_block(op.orelse, facts)
            case For() | While():
                _use_loop(op, facts)


def _follow_versions(op: Call, facts: Facts) -> None:
    if keeps_structure(op.target) or is_indexed(op.target):
        for arg in op.args:
            if isinstance(argument_type(arg), ListOf):
                facts.follow(op.result, arg)


def _use_loop(op: Loop, facts: Facts) -> None:
    width = len(op.inits)
    results = op.body.results[1:]
    for output, result in zip(op.outputs[2:], results, strict=True):
        facts.use(result, facts.active(output))
    for output, init in zip(carried_outputs(op), op.inits, strict=True):
        facts.use(init, both(facts.active(output), facts.of(init)))
    while True:
        before, facts.changed = facts.changed, False
        _use_block(op.body, facts)
        for param, result in zip(op.carried, results[:width], strict=True):
            facts.use(result, facts.active(param))
        stable, facts.changed = not facts.changed, facts.changed or before
        if stable:
            break
    columns = zip(op.carried, op.inits, results[:width], carried_outputs(op), strict=True)
    for param, init, result, output in columns:
        facts.use(init, facts.active(param))
        for new, old in ((param, init), (param, result), (output, result), (output, init)):
            facts.follow(new, old)
    if isinstance(op, For):
        for param, seq in zip(op.items, op.seqs, strict=True):
            tree = facts.active(param)
            facts.use(seq, _spread(argument_type(seq), tree))


def _spread(type_: Type, tree: Activity) -> Activity:
    """Return the activity of a sequence of which an item has activity `tree`."""
    if isinstance(type_, TupleOf) and tree is not False:
        return tuple(tree for _ in type_.items)
    return tree


def _use_call(op: Call, tree: Activity, facts: Facts) -> None:
    target, args = op.target, op.args
    if is_known_part(target) or (
        is_indexed(target) and isinstance(argument_type(args[0]), TupleOf | ListOf)
    ):
        facts.use(args[0], _used_container(op, tree))
    elif is_structure(target):
        for k, arg in enumerate(built_parts(op)):
            facts.use(arg, part(tree, k))
    elif keeps_structure(target):
        for arg in differentiable_arguments(op).values():
            facts.use(arg, tree)
    elif isinstance(target, Routine) and target.helper:
        inner = facts_of_helper(target, pattern_of_call(op, facts), tree)
        assert target.function is not None
        for arg, param in zip(args, target.function.params, strict=True):
            facts.use(arg, inner.active(param))
    else:
        for arg in differentiable_arguments(op).values():
            facts.use(arg, both(facts.of(arg), fully_active(argument_type(arg))))


def _used_container(op: Call, tree: Activity) -> Activity:
    container, key = argument_type(op.args[0]), op.args[1]
    if isinstance(container, TupleOf):
        index = position(container, key.value) if isinstance(key, Const) else None
        return tuple(tree if index in (None, k) else False for k in range(len(container.items)))
    return True if isinstance(container, Opaque) else tree
