"""Reverse mode: derive the function of the result and the gradients."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from srcad.analysis.activity import activity
from srcad.analysis.activity_trees import Activity, fully_active, part
from srcad.analysis.binding import possibly_undefined
from srcad.ir.core import Atom, Block, For, Function, Half, Op, Value, walk
from srcad.ir.inference.builder import Builder, atom_type
from srcad.passes.dce import dce
from srcad.passes.forward_stores import with_fewer_stores
from srcad.passes.hoist import hoisted
from srcad.passes.safe_division import safe_division
from srcad.passes.shape_reads import steady_shapes
from srcad.passes.simplify import simplify
from srcad.startup.records import changed, dataclass, replace
from srcad.transforms import checkpoints
from srcad.transforms.blocks import undo_block
from srcad.transforms.cotangents import ReverseScope
from srcad.transforms.functions_of_rules import with_helpers_inlined
from srcad.transforms.gradients import gradient, gradient_leaves
from srcad.transforms.mirror import Mirrors, with_old_reads, worth_mirroring
from srcad.transforms.refusals import refuse_texts
from srcad.transforms.residuals import close
from srcad.transforms.routines import undo_routine_call, with_primal_calls
from srcad.transforms.sweep import (
    HelpersInPlaceError,
    Inline,
    Sweep,
    cotangent_type,
    homes_of,
)
from srcad.types.structures import TupleOf, Type


def vjp(
    function: Function,
    wrt: Sequence[int],
    inline: Inline,
    *,
    seed: Atom | None = None,
    has_aux: bool = False,
) -> Function:
    """Derive the function that computes the result and the gradients.

    Parameters
    ----------
    function : Function
        The primal, with one result.
    wrt : sequence of int
        Positions of the parameters to differentiate with respect to.
    inline : callable
        ``inline(builder, rule, args, keywords)`` writes a rule's formula; it returns what the rule
        returns.
    seed : atom, optional
        The cotangent of the result; without it the new function has a last parameter ``seed``.
    has_aux : bool
        The result is a pair, of which only the first part is differentiated.

    Returns
    -------
    Function
        Results are the primal's result, then one gradient per position in `wrt`: ``None`` for
        leaves through which no derivative flows, zeros for floats that are not used.

    Examples
    --------
    The loop saves the value of `y` before each iteration for the loop that reverses it.

    >>> from srcad.frontend.lower import lower_inline
    >>> function = parse('''
    ... f(x: float, n: int):
    ...     for k in range(0, n, 1) [y = x] -> tag, count, y_n:
    ...         y_1 = sin(y)
    ...         yield 0, y_1
    ...     return y_n
    ... ''')
    >>> print(text(vjp(function, [0], lower_inline)))
    f(x, n, seed):
        for k in range(0, n, 1) [y = x] -> tag, count, y_n, y_saved:
            y_1 = sin(y)
            yield 0, y_1, y
        for backward y_2 in y_saved [y_n_bar_3 = seed] -> tag_1, trips, y_n_bar:
            t4 = cos(y_2)
            y_bar = mul(y_n_bar_3, t4)
            yield 0, y_bar
        x_bar = float(y_n_bar)
        return y_n, x_bar
    """
    function = hoisted(reversible(function), wrt)
    function = _with_helpers(function, wrt, inline, has_aux=has_aux)
    made = _swept(function, wrt, inline, seed, None, has_aux=has_aux)
    mirrors = worth_mirroring(function, made.function)
    if mirrors is not None:
        again, mirrors = with_old_reads(function, mirrors)
        made = _swept(again, wrt, inline, seed, mirrors, has_aux=has_aux)
    derived, scope = dce(close(made.function)), made.scope
    params = [function.params[k] for k in wrt]
    y, *bars = derived.block.results
    scope.builder = Builder(ops=list(derived.block.ops), half="reverse", where=function.where)
    found = dict(zip(made.leaves, bars, strict=True))
    gradients = {param: gradient(scope, param, found) for param in dict.fromkeys(params)}
    results = (y, *(gradients[p] for p in params))
    return with_fewer_stores(simplify(replace(derived, block=scope.builder.finish(*results))))


def _with_helpers(
    function: Function, wrt: Sequence[int], inline: Inline, *, has_aux: bool
) -> Function:
    """Inline the active helpers of rules."""
    varied = {function.params[k]: fully_active(function.params[k].type) for k in wrt}
    wanted = wanted_part(atom_type(function.block.results[0]), has_aux=has_aux)
    return with_helpers_inlined(function, varied, [wanted], inline)


@dataclass(frozen=True, eq=False)
class _Swept:
    """A function with its reverse half, written as if all values of the primal were in scope."""

    function: Function
    scope: ReverseScope
    leaves: list[Any]


def _swept(
    function: Function,
    wrt: Sequence[int],
    inline: Inline,
    seed: Atom | None,
    mirrors: Mirrors | None,
    *,
    has_aux: bool,
) -> _Swept:
    (y,) = function.block.results
    wanted = wanted_part(atom_type(y), has_aux=has_aux)
    params = [function.params[k] for k in wrt]
    varied = {p: fully_active(p.type) for p in params}
    refuse_texts(function, varied, [wanted])
    facts = activity(function, varied, [wanted])
    sweep = Sweep(
        facts,
        homes_of(function),
        possibly_undefined(function.block),
        inline,
        function,
        undo_block,
        undo_routine_call,
        reversible,
        simplified,
        mirrors=mirrors,
    )
    scope = ReverseScope(sweep, function.block, Builder(half="reverse", where=function.where))
    params_out = function.params
    if seed is None:
        seed = Value(_seed_type(atom_type(y), wanted, has_aux=has_aux), "seed")
        params_out = (*params_out, seed)
    scope.contribute(y, (0,) if has_aux else (), seed)
    undo_block(scope)
    if sweep.helpers.in_place:
        raise HelpersInPlaceError(sweep.helpers.in_place)
    leaves = gradient_leaves(scope, params)
    block = Block((), (*function.block.ops, *scope.builder.ops), (y, *leaves.values()))
    derived = simplified(Function(function.name, params_out, block, function.where), sweep)
    return _Swept(derived, scope, list(leaves))


def reversible(function: Function) -> Function:
    """Return a function whose checkpointed loops are cut into segments."""
    function = prepared(function)
    if any(isinstance(op, For) and op.segments for op in walk(function.block)):
        return checkpoints.in_segments(function)
    return function


def prepared(function: Function) -> Function:
    """Return a function as the sweep expects it: without dead code, all of it primal."""
    return dce(steady_shapes(as_primal(function)))


def simplified(derived: Function, sweep: Sweep) -> Function:
    """Return the derived function, simplified and without dead code."""
    return safe_division(simplify(dce(with_primal_calls(derived, sweep))))


def wanted_part(type_: Type, *, has_aux: bool) -> Activity:
    """Return the parts of a result that are differentiated: all but those beside it (`has_aux`)."""
    tree = fully_active(type_)
    if has_aux and isinstance(type_, TupleOf):
        return (part(tree, 0), *(False for _ in type_.items[1:]))
    return tree


def _seed_type(type_: Type, wanted: Activity, *, has_aux: bool) -> Type:
    """Return the type of the cotangent of a result; of its first part, with aux."""
    if not isinstance(type_, TupleOf) or not isinstance(wanted, tuple):
        return cotangent_type(type_)
    return cotangent_type(type_.items[0], wanted[0]) if has_aux else cotangent_type(type_, wanted)


# ------------------------------------------------------------------------------- half marks
def as_primal(function: Function) -> Function:
    """Return the function with the reverse half of an earlier transform marked as derived.

    >>> function = parse('''
    ... f(x: float):
    ...     y = sin(x)
    ...     # reverse half
    ...     x_bar = cos(x)
    ...     return y, x_bar
    ... ''')
    >>> [op.half for op in function.block.ops]
    ['primal', 'reverse']
    >>> [op.half for op in as_primal(function).block.ops]
    ['primal', 'derived']
    """
    if not any(op.half == "reverse" for op in function.block.ops):
        return function
    return replace(function, block=_marked(function.block))


def _marked(block: Block) -> Block:
    return replace(block, ops=tuple(_marked_op(op) for op in block.ops))


def _marked_op(op: Op) -> Op:
    half: Any = "derived" if op.half == "reverse" else op.half
    return changed(op.mapped(_marked), half=half)


def stamped_ops(ops: Iterable[Op], half: Half) -> tuple[Op, ...]:
    """Return ops, and those in their blocks, stamped with a half."""

    def stamped(block: Block) -> Block:
        return replace(block, ops=stamped_ops(block.ops, half))

    return tuple(changed(op.mapped(stamped), half=half) for op in ops)
