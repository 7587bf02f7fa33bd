"""Refusals of calls without a rule, or without an entry for an argument."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NoReturn

import numpy as np

from srcad import runtime
from srcad.analysis.activity import Facts, activity
from srcad.analysis.activity_trees import Activity, fully_active, part
from srcad.analysis.arguments import arguments, differentiable_arguments, has_float, is_of_integers
from srcad.errors import MissingRuleError, NotDifferentiableError, SrcadError, UnsupportedTypeError
from srcad.ir import primitives, text
from srcad.ir.argument_types import argument_type
from srcad.ir.core import (
    Arg,
    Atom,
    Block,
    Call,
    Const,
    Display,
    Function,
    If,
    Op,
    Routine,
    Value,
    walk,
)
from srcad.ir.inference.builder import Builder, atom_type
from srcad.ir.traits import (
    answers,
    calls_operand,
    is_part,
    is_store,
    is_structure,
    joins_keys,
    keeps_structure,
)
from srcad.ir.written_calls import text_of_call, text_with_constant
from srcad.rules import stubs
from srcad.rules.conjugates import REAL_ONLY
from srcad.rules.registry import qualified_name, row_of
from srcad.rules.row import NoPartial, Rule
from srcad.startup.identifiers import dotted
from srcad.startup.records import replace
from srcad.transforms.cotangents import ReverseScope
from srcad.types.numeric import Numeric
from srcad.types.structures import (
    OPAQUE,
    ListOf,
    Opaque,
    PlacesOf,
    TupleOf,
    Type,
    is_text,
    numbers_in,
)

# Numbers that are read from a text which was made of numbers: ``float(str(x))``.
#
# No derivative flows through a text, but what is read from it depends on what it was made of. So
# texts are followed like derivatives, also into the objects that are made of them, up to a number
# that reaches the result. A text that is only shown, raised, compared or measured is no harm.


def read_from_text(
    function: Function,
    varied: dict[Value, Activity],
    wanted: Sequence[Activity],
    known: frozenset[Routine] = frozenset(),
) -> Call | None:
    """Return the first call on the way to a result that reads a text which depends on the input.

    `known` are the routines that are looked into.
    """
    calls = [op for op in walk(function.block) if isinstance(op, Call)]
    made = any(is_text(op.result.type) or isinstance(op.target, Routine) for op in calls)
    if not made and not any(_contains_dependent(p.type, tree) for p, tree in varied.items()):
        return None
    facts = activity(
        function, varied, wanted, told=lambda op, found: depends_through_string(op, found) or None
    )
    for op in calls:
        if isinstance(op.target, Routine):
            found = _read_in_routine(op, op.target, facts, known)
            if found is not None:
                return found
        elif facts.active(op.result) and _reads(op, facts):
            return op
    return None


def depends_through_string(op: Call, facts: Facts) -> Activity:
    """Return the parts of the result of a call that depend on the input through a string."""
    args = arguments(op).values()
    if isinstance(op.target, Routine):
        depends = any(facts.of(arg) is not False for arg in args)
        return _texts_and_numbers(op.result.type) if depends else False
    if isinstance(op.result.type, PlacesOf):
        return any(_contains_dependent(argument_type(arg), facts.of(arg)) for arg in op.args)
    if is_text(op.result.type) and not _passes_on(op.target) and not is_part(op.target):
        return any(facts.of(arg) is not False for arg in args)
    return _reads(op, facts)


def _reads(op: Call, facts: Facts) -> bool:
    """Return True if a call makes anything but a text of a text that depends on the input."""
    if not _is_hashable(op.target) or _passes_on(op.target):
        return False
    if answers(op.target) or row_of(op.target).gives == "measure":
        return False
    type_ = op.result.type
    if is_text(type_) or (isinstance(type_, Numeric) and type_.kind in "biu"):
        return False
    args = list(op.args[:1]) if is_part(op.target) else list(arguments(op).values())
    if is_part(op.target):  # parts of a structure are followed one by one
        args = [arg for arg in args if isinstance(argument_type(arg), Opaque)]
    return any(_contains_dependent(argument_type(arg), facts.of(arg)) for arg in args)


def _passes_on(target: Any) -> bool:
    """Return True if texts lie in the result as they do in the operands."""
    return is_structure(target) or is_store(target) or keeps_structure(target)


def _contains_dependent(type_: Type, tree: Activity) -> bool:
    """Return True if an object in an argument depends on the input."""
    match type_:
        case TupleOf(items):
            return any(_contains_dependent(t, part(tree, k)) for k, t in enumerate(items))
        case PlacesOf():
            return tree is not False  # a text among its keys is
        case ListOf(item):
            return _contains_dependent(item, tree)
        case Opaque(cls):
            return cls is not None and tree is not False
    return False


def _texts_and_numbers(type_: Type) -> Activity:
    """Return the activity of a value if all of its numbers and strings depend on the input."""
    match type_:
        case TupleOf(items):
            parts = tuple(_texts_and_numbers(t) for t in items)
            return parts if any(parts) else False
        case ListOf(item):
            return _texts_and_numbers(item)
    return is_text(type_) or fully_active(type_)


def _is_hashable(target: object) -> bool:
    try:
        hash(target)
    except TypeError:
        return False
    return True


def _read_in_routine(
    op: Call, routine: Routine, facts: Facts, known: frozenset[Routine]
) -> Call | None:
    """Return the numbers that a routine reads from its string arguments."""
    inner = routine.function
    trees = [facts.of(arg) for arg in op.args]
    is_told = any(
        _contains_dependent(argument_type(a), tree) for a, tree in zip(op.args, trees, strict=True)
    )
    if inner is None or routine in known or not is_told:
        return None
    varied = dict(zip(inner.params, trees, strict=True))
    wanted = [_texts_and_numbers(atom_type(atom)) for atom in inner.block.results]
    return read_from_text(inner, varied, wanted, known | {routine})


def refuse_unknown_field(op: Call) -> None:
    """Refuse to differentiate by an attribute of an object that is known only at run time.

    A rule reads it in a derivative of its derivative: ``y.T`` of a result of any type.
    """
    if op.target is primitives.field and argument_type(op.args[0]) == OPAQUE:
        name = op.args[1].value if isinstance(op.args[1], Const) else "..."
        raise UnsupportedTypeError(
            f"cannot differentiate through the attribute {name!r} of a value of unknown type",
            where=op.where,
            why="it may be that of an array, or a field of any object.",
            help=("write the function:  np.transpose(y), np.shape(y), np.real(y)",),
        )


def refuse_texts(
    function: Function, varied: dict[Value, Activity], wanted: Sequence[Activity]
) -> None:
    """Refuse a number that is read from a text made of a differentiated argument."""
    op = read_from_text(function, varied, wanted)
    if op is not None:
        place = op.where.function if op.where else ""
        raise NotDifferentiableError(
            "cannot differentiate through a text" + (f" in {place!r}" if place else ""),
            where=op.where,
            why="the text is made of a differentiated argument, and what is read from it depends "
            "on that.",
            help=(
                "use the number itself",
                "or, if it is to be a constant, make the text of one:  str(srcad.stop_gradient(x))",
            ),
        )


def refuse_missing_cotangents(scope: ReverseScope, op: Call, rule: Rule) -> None:
    """Refuse a rule that leaves out an argument of a call."""
    _refuse_unknown_arguments(op, rule)
    _refuse_options(scope, op, rule)
    _refuse_axes(scope, op, rule)
    _refuse_missing_entries(scope, op, rule)
    _refuse_perhaps_steps(scope, op, rule)
    _refuse_complex(scope, op, rule)


def _refuse_unknown_arguments(op: Call, rule: Rule) -> None:
    for name, arg in op.kwargs:
        known = name in rule.parameters or name in rule.keywords
        if not known and not _is_default(op.target, name, arg):
            raise MissingRuleError(
                f"the rule of {qualified_name(op.target)} says nothing of the keyword {name!r}",
                where=op.where,
                help=("leave the keyword out, or write a rule that has it:  @srcad.rules.adjoint",),
            )
    if len(op.args) > len(rule.parameters) and not rule.has_rest:
        raise MissingRuleError(
            f"the rule of {qualified_name(op.target)} says nothing of argument {len(op.args)}",
            where=op.where,
            help=("leave the argument out, or write a rule that has it:  @srcad.rules.adjoint",),
        )


def _refuse_options(scope: ReverseScope, op: Call, rule: Rule) -> None:
    """Refuse a call with an option that the rule is not for; perhaps only when it runs."""
    if not rule.refuses:
        return
    assert rule.function is not None
    known = inspect.signature(rule.function).parameters
    for place, arg in arguments(op).items():
        name = rule.parameters[place] if isinstance(place, int) else place
        if name not in rule.refuses:
            continue
        default, problem = known[name].default, f"with the option {name!r}"
        if not isinstance(arg, Const):
            differs = operator.is_not if default is None else operator.ne
            test = scope.builder.call(differs, arg, Const(default))
            _refuse_when_it_runs(scope, op, test, f"{problem}: {rule.refuses[name]}")
        elif arg.value != default:
            raise NotDifferentiableError(
                f"{qualified_name(op.target)} is not differentiable {problem}",
                where=op.where,
                why=rule.refuses[name],
                help=(f"treat the result as a constant:  {_as_constant(op)}",),
            )


def _refuse_axes(scope: ReverseScope, op: Call, rule: Rule) -> None:
    """Refuse a call with an operand of more axes than the rule is for; perhaps when it runs."""
    if rule.max_rank is None:
        return
    reason = f"its rule is for operands of at most {rule.max_rank} axes, not for stacks of them"
    for place, arg in arguments(op).items():
        name = rule.parameters[place] if isinstance(place, int) else place
        for operand in _leaves([arg]):
            type_ = argument_type(operand)
            shapes = [leaf.shape for leaf in numbers_in(type_)]
            known = [len(shape) for shape in shapes if shape is not None]
            if max(known, default=0) > rule.max_rank:
                raise NotDifferentiableError(
                    f"{qualified_name(op.target)} is not differentiable at an operand of "
                    f"{max(known)} axes",
                    where=op.where,
                    why=f"{reason}.",
                    help=(
                        "call the function for each item of the stack:  "
                        "np.stack([f(item) for item in stack])",
                    ),
                )
            if len(known) < len(shapes) or isinstance(type_, Opaque):
                array = operand
                if not isinstance(type_, Numeric) and operand is arg and name in rule.lists:
                    array = scope.builder.item(operand, 0)  # of ``[lu, piv]``, or the like
                rank = scope.builder.call(np.ndim, array)
                test = scope.builder.call(operator.gt, rank, Const(rule.max_rank))
                _refuse_when_it_runs(scope, op, test, f"here: {reason}")


def _leaves(args: Iterable[Arg]) -> Iterator[Arg]:
    """Yield arguments, of a tuple or list that the call makes its items."""
    for arg in args:
        if isinstance(arg, Display):
            yield from _leaves(arg.items)
        else:
            yield arg


def _refuse_when_it_runs(scope: ReverseScope, op: Call, test: Atom, problem: str) -> None:
    """Raise when the derivative is computed, if a test holds."""
    raising = Builder(where=op.where, half=scope.builder.half)
    sentence = f"{qualified_name(op.target)} is not differentiable {problem}"
    raising.call(runtime.raise_undecided, Const(sentence), effect=True, type=OPAQUE)
    scope.builder.if_(test, raising.finish(), Block((), (), ()))


def _refuse_complex(scope: ReverseScope, op: Call, rule: Rule) -> None:
    """Refuse complex operands or results where the rule is for real numbers."""
    if not rule.real_only or scope.sweep.all_real:
        return
    given = {p: arg for p, arg in arguments(op).items() if rule.entry(p) is not None}
    is_complex = any(leaf.kind == "c" for leaf in numbers_in(op.result.type))
    if is_complex or any(scope.sweep.holds_complex(argument_type(a)) for a in given.values()):
        for place, arg in given.items():
            if scope.sweep.facts.of(arg) is not False:
                refuse_no_partial(op, place, REAL_ONLY)


def _is_default(target: Any, name: str, arg: Arg) -> bool:
    """Return True if an argument asks for nothing: None, or what the parameter is without it."""
    if not isinstance(arg, Const):
        return False
    try:
        default = inspect.signature(target).parameters[name].default
    except (TypeError, ValueError, KeyError):
        default = None
    return arg.value is None or (type(arg.value) is type(default) and arg.value == default)


def _refuse_missing_entries(scope: ReverseScope, op: Call, rule: Rule) -> None:
    """Refuse a rule that leaves out an argument through which a derivative may flow."""
    for place, arg in arguments(op).items():
        if rule.entry(place) is not None or scope.sweep.facts.of(arg) is False:
            continue
        if has_float(argument_type(arg)):
            name = repr(place) if isinstance(place, str) else f"{place + 1}"
            raise MissingRuleError(
                f"the rule of {qualified_name(op.target)} has no derivative for argument {name}",
                where=op.where,
                why="it depends on a differentiated argument.",
                help=(
                    f"treat it as a constant:  {_with_constant(op, place)}",
                    "or write a rule that has it:  @srcad.rules.adjoint(..., override=True)",
                ),
            )


def _refuse_perhaps_steps(scope: ReverseScope, op: Call, rule: Rule) -> None:
    """``np.sum(x, dtype=int)`` is linear in integers and constant between steps in floats."""
    if not rule.shipped or not is_of_integers(op.result.type):
        return
    for arg in differentiable_arguments(op).values():
        if scope.sweep.facts.of(arg) is not False and has_float(argument_type(arg)):
            raise UnsupportedTypeError(
                f"{qualified_name(op.target)} makes integers of what may be floats or integers",
                where=op.where,
                why="floats are cut off there, and integers are not: the derivatives differ.",
                help=("convert the argument first, with float(x) or x.astype(float)",),
            )


def refuse_no_partial(op: Call, place: int | str, partial: Any) -> None:
    """Raise an error for a needed partial derivative that no formula is known for."""
    marker = partial.value if isinstance(partial, Const) else partial
    if isinstance(marker, NoPartial):
        raise NotDifferentiableError(
            f"{qualified_name(op.target)} is not differentiable wrt argument {place}",
            where=op.where,
            why=marker.reason or "no formula is known for this partial derivative.",
            help=(f"treat the argument as a constant:  {_with_constant(op, place)}",),
        )


def _with_constant(op: Call, place: int | str) -> str:
    """Return the remedy: the user's call with `stop_gradient` around one argument."""
    name = text.target_name(op.target)
    return text_with_constant(op, name, place) or "srcad.stop_gradient(...)"


def _as_constant(op: Call) -> str:
    """Return the remedy: `stop_gradient` around the user's call."""
    written = text_of_call(op.where) or f"{dotted(text.target_name(op.target))}(...)"
    return f"srcad.stop_gradient({written})"


def refuse_saved(op: Call, rule: Rule) -> NoReturn:
    """Refuse a derivative of values that a function saves for its rule."""
    raise UnsupportedTypeError(
        f"a second derivative needs that of what {qualified_name(rule.about)} saves for its rule",
        where=op.where,
        why="the rule has the derivative of the result, not that of the saved values.",
        help="register a rule that saves nothing:  @srcad.rules.adjoint(f)",
    )


def unwritten(op: Call, rule: Rule, problem: SrcadError) -> SrcadError:
    """Return the error for a rule that cannot be written for these arguments."""
    if not rule.shipped or isinstance(problem, MissingRuleError | NotDifferentiableError):
        return problem
    if problem.where is not None and op.where is not None and problem.where != op.where:
        return problem  # in a function that the rule is given, such as a right-hand side
    function = f" in {op.where.function!r}" if op.where and op.where.function else ""
    types = [arg.type for arg in op.args if isinstance(arg, Value)]
    has_shapes = all(isinstance(t, Numeric) and t.shape is not None for t in types)
    of_sums = ("begin a sum with an array, not with 0 or None:  total = np.zeros(n)",)
    return type(problem)(
        f"cannot write the derivative of {qualified_name(op.target)} before the call{function}",
        where=op.where,
        why="the types of its arguments are not known well enough there.",
        help=(
            *(() if has_shapes else of_sums),
            "write its options out, or pass them as arguments of the function",
            f"or treat the result as a constant:  {_as_constant(op)}",
        ),
    )


def settle_branches(scope: ReverseScope, op: Call, start: int) -> None:
    """Let a rule raise at run time where it has no formula for run-time options.

    A branch without a cotangent, where another branch has one, stands for zeros.
    """
    ops = scope.builder.ops
    for k in range(start, len(ops)):
        _note_perhaps_none(scope, ops[k])
        if any(_without_formula(atom) for block in ops[k].blocks for atom in _yielded(block)):
            ops[k] = _settled_op(scope, op, ops[k])


def _yielded(block: Block) -> Iterator[Atom]:
    """Yield the atoms that a block and its inner blocks yield."""
    yield from block.results
    for op in block.ops:
        for inner in op.blocks:
            yield from _yielded(inner)


def _note_perhaps_none(scope: ReverseScope, op: Op) -> None:
    """Note the outputs of conditionals that some branch leaves without a cotangent."""
    for block in op.blocks:
        for inner in block.ops:
            _note_perhaps_none(scope, inner)
    if not isinstance(op, If):
        return
    lazy = scope.sweep.lazy
    for output, *branches in zip(op.outputs, op.then.results, op.orelse.results, strict=True):
        are_none = [isinstance(atom, Const) and atom.value is None for atom in branches]
        if not all(are_none) and (any(are_none) or any(atom in lazy for atom in branches)):
            lazy.add(output)


def _without_formula(atom: Atom) -> bool:
    return isinstance(atom, Const) and isinstance(atom.value, NoPartial)


def _settled_op(scope: ReverseScope, call: Call, op: Op) -> Op:
    if not isinstance(op, If):
        return op
    then, orelse = (_settled(scope, call, branch) for branch in op.blocks)
    return replace(op, then=then, orelse=orelse)


def _settled(scope: ReverseScope, call: Call, block: Block) -> Block:
    """Return the branch, raising where it yields a partial that no formula is known for."""
    ops = [_settled_op(scope, call, op) for op in block.ops]
    missing = [atom for atom in block.results if _without_formula(atom)]
    if not missing:
        return Block(block.params, tuple(ops), block.results)
    raising = Builder(where=call.where, half=scope.builder.half)
    reason = getattr(missing[0], "value").reason  # noqa: B009 - a constant, as was asked
    sentence = f"{qualified_name(call.target)} is not differentiable here: {reason}"
    error = raising.call(runtime.raise_undecided, Const(sentence), effect=True, type=OPAQUE)
    results = tuple(error if _without_formula(atom) else atom for atom in block.results)
    return Block(block.params, (*ops, *raising.ops), results)


def missing_rule(scope: ReverseScope, op: Call) -> SrcadError:
    """Return the error for an active call to a function that has neither a rule nor a source."""
    if joins_keys(op.target):
        where = op.where or scope.sweep.primal.where
        return UnsupportedTypeError(
            "cannot differentiate through a dict whose keys are known only at run time"
            + (f" in {where.function!r}" if where else ""),
            where=where,
            why="it is returned, or given to what srcad does not read.",
            help=("return, or give, its values:  [d[k] for k in keys]",),
        )
    if calls_operand(op.target) and op.target is not primitives.apply:
        return NotDifferentiableError(
            "cannot differentiate a gradient that passes through a hook",
            where=op.where or scope.sweep.primal.where,
            why="nothing tells the derivative of what a hook's function, or what stands under "
            "'cotangent', does to it.",
            help="take the second derivative of the function without it",
        )
    name = qualified_name(op.target)
    active = [a for a in op.operands if scope.sweep.facts.active(a) is not False]
    through = next((a.hint for a in active if a.hint), None)
    function = op.where.function if op.where else ""
    depends = f" through {through!r}" if through else ""
    result = f"{op.result.hint!r}" if op.result.hint else "its result"
    given = arguments(op).items()
    quantities = [place for place, arg in given if not is_of_integers(argument_type(arg))]
    constant = f"or treat it as a constant:  {_as_constant(op)}"
    own = (
        ()
        if isinstance(op.target, type)
        else (
            "write one, with a cotangent in the place of each '...':\n"
            + stubs.stub(op.target, len(op.args), [key for key, _ in op.kwargs], quantities),
        )
    )
    return MissingRuleError(
        f"no derivative rule for {name}" + (f", called in {function!r}" if function else ""),
        where=op.where,
        why=f"{result} depends on a differentiated argument{depends}.",
        help=(*own, constant) if own else constant.removeprefix("or "),
    )
