"""Partitioning of a derived function: the primal, which saves, and the adjoint, which reads it.

The cut is where the reverse half begins.  What is saved are the free values of the reverse half
after all simplification: nothing else is kept alive by a pullback.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np

from srcad.analysis.binding import possibly_undefined
from srcad.ir.core import (
    UNDEF,
    Atom,
    Block,
    Call,
    Const,
    Function,
    If,
    Op,
    Value,
    free_values,
    walk,
)
from srcad.ir.inference.builder import Builder
from srcad.ir.substitute import substituted_block
from srcad.ir.traits import (
    is_shape,
    is_zeros_like,
)
from srcad.passes.dce import dce
from srcad.startup.records import dataclass, replace
from srcad.transforms.recompute import Plan
from srcad.types.numeric import Numeric, int_type
from srcad.types.structures import ListOf, TupleOf


@dataclass(frozen=True)
class PullbackParts:
    """The two functions of a pullback.

    `primal` returns its ``count`` results, then the saved values; `adjoint` takes the saved values,
    then the seeds.
    """

    primal: Function
    adjoint: Function
    saved: tuple[Value, ...]


def split(function: Function, seeds: int = 1) -> PullbackParts:
    """Cut a function that `vjp` made into its primal and its adjoint.

    Parameters
    ----------
    function : Function
        Its last `seeds` parameters are the cotangents of its first `seeds` results, at least one;
        the other results are the gradients.
    seeds : int
        The number of seeds.

    Returns
    -------
    Halves
        ``primal(*params) -> (y, *saved)`` and ``adjoint(*saved, *seeds) -> gradients``.

    Examples
    --------
    >>> parts = split(parse('''
    ... f(x: float, a: float, seed: float):
    ...     t = exp(x)
    ...     y = mul(t, a)
    ...     # reverse half
    ...     y_bar = mul(seed, a)
    ...     x_bar = mul(y_bar, t)
    ...     return y, x_bar
    ... '''))
    >>> print(text(parts.primal))
    f_primal(x, a):
        t = exp(x)
        y = mul(t, a)
        return y, a, t
    >>> print(text(parts.adjoint))
    f_adjoint(a, t, seed):
        y_bar = mul(seed, a)
        x_bar = mul(y_bar, t)
        return x_bar
    """
    cut = len(function.params) - seeds
    return split_pullback(function, function.params[:cut], function.params[cut:], 1)


def split_pullback(
    function: Function,
    params: tuple[Value, ...],
    seeds: tuple[Value, ...],
    count: int,
    hollow: Iterable[Value] = (),
) -> PullbackParts:
    """Cut a function; its first `count` results are the primal's.

    `hollow` are the parameters that may hold nothing in the place of an array.
    """
    results, gradients = function.block.results[:count], function.block.results[count:]
    before = [op for op in function.block.ops if op.half != "reverse"]
    after = [op for op in function.block.ops if op.half == "reverse"]
    reverse = _shapes_only(Block((), tuple(after), gradients), before, params, hollow)
    reverse = dce(Function(function.name, (), reverse)).block
    saved = tuple(value for value in free_values(reverse) if value not in seeds)
    forward = Block((), tuple(_bound(before, set(saved))), (*results, *saved))
    primal = dce(Function(f"{function.name}_primal", params, forward, function.where))
    adjoint = Function(f"{function.name}_adjoint", (*saved, *seeds), reverse, function.where)
    return PullbackParts(primal, adjoint, saved)


def with_cheap_recomputed(
    function: Function, params: Iterable[Value], seeds: Collection[Value], count: int
) -> Function:
    """Recompute views and cheap arithmetic in the reverse half instead of saving them.

    Three rows of an array are saved as the array.
    """
    before = [op for op in function.block.ops if op.half != "reverse"]
    after = tuple(op for op in function.block.ops if op.half == "reverse")
    results, gradients = function.block.results[:count], function.block.results[count:]
    reverse = Block((), after, gradients)
    given = frozenset(params)
    local: dict[Value, Call | None] = dict.fromkeys(given)
    for op in before:
        local.update(dict.fromkeys(op.results, op if isinstance(op, Call) else None))
    plan = Plan(local, frozenset(), given=given)
    plan.decide([value for value in free_values(reverse) if value not in seeds])
    mapping: dict[Value, Atom] = {}
    again = plan.copies(mapping)
    reverse = substituted_block(reverse, mapping)
    block = Block((), (*before, *again, *reverse.ops), (*results, *reverse.results))
    return replace(function, block=block)


def _bound(ops: Iterable[Op], saved: set[Value]) -> list[Op]:
    """Return the ops with None, or an empty list, for saved values that a path does not bind."""
    done: list[Op] = []
    for op in reversed(list(ops)):
        if isinstance(op, If) and not saved.isdisjoint(op.outputs):
            op = _bound_if(op, saved)
        done.append(op)
    return done[::-1]


def _bound_if(op: If, saved: set[Value]) -> If:
    blocks = []
    for block in op.blocks:
        results: list[Atom] = []
        inner: set[Value] = set()
        ops = list(block.ops)
        for output, atom in zip(op.outputs, block.results, strict=True):
            if output in saved and atom == UNDEF and isinstance(output.type, ListOf):
                atom = Builder(ops, op.where).build_list(type=output.type)
            elif output in saved and atom == UNDEF:
                atom = Const(None)
            elif output in saved and isinstance(atom, Value):
                inner.add(atom)
            results.append(atom)
        saved.update(inner)
        blocks.append(Block(block.params, tuple(_bound(ops, inner)), tuple(results)))
    return replace(op, then=blocks[0], orelse=blocks[1])


# ------------------------------------------------------------------------------- shapes
def _shapes_only(
    reverse: Block, before: list[Op], params: tuple[Value, ...], hollow: Iterable[Value]
) -> Block:
    """Keep the shape of an array that is needed for nothing else, not the array.

    Values that may be unbound have no shape to read.
    """
    readers: dict[Value, list[Call]] = {}
    others: set[Value] = {atom for atom in reverse.results if isinstance(atom, Value)}
    for op in walk(reverse):
        value = shape_reader_of(op)
        others.update(v for v in op.operands if v is not value)
        for block in op.blocks:
            others.update(atom for atom in block.results if isinstance(atom, Value))
        if value is not None:
            assert isinstance(op, Call)
            readers.setdefault(value, []).append(op)
    made = {result for op in before for result in op.results} | set(params)
    unbound = possibly_undefined(Block((), tuple(before)), hollow) if readers else set()
    chosen = [v for v in readers if v in made and v not in others and v not in unbound]
    mapping: dict[Value, Atom] = {}
    ops: list[Op] = []
    for value in chosen:
        _save_shape(value, readers[value], before, ops, mapping)
    if mapping:
        block = Block((), (*ops, *reverse.ops), reverse.results)
        reverse = substituted_block(block, mapping)
    return reverse


def shape_reader_of(op: Op) -> Value | None:
    """Return the array of which an op reads nothing but shape and dtype."""
    if not isinstance(op, Call) or not op.args or not isinstance(op.args[0], Value):
        return None
    value = op.args[0]
    type_ = value.type
    if not isinstance(type_, Numeric) or type_.form != "array" or type_.shape is None:
        return None
    if is_shape(op.target) or op.target is np.size:
        return value if len(op.args) == 1 else None
    floats = type_.dtype is not None and type_.kind in "fc"
    return value if is_zeros_like(op.target) and floats and not op.kwargs else None


def _save_shape(
    value: Value, readers: list[Call], before: list[Op], ops: list[Op], mapping: dict[Value, Atom]
) -> None:
    type_ = value.type
    assert isinstance(type_, Numeric)
    assert type_.shape is not None
    shape = Value(TupleOf(tuple(int_type(e) for e in type_.shape)), _hint(value, "shape"))
    first = readers[0]
    Builder(before, first.where).shape(value, result=shape)
    sizes: list[Value] = []
    for op in readers:
        result = Value(op.result.type, op.result.hint)
        if is_shape(op.target):
            mapping[op.result] = shape
        elif op.target is np.size:
            if not sizes:
                sizes.append(Value(op.result.type, _hint(value, "size")))
                before.append(replace(op, result=sizes[0], half="primal"))
            mapping[op.result] = sizes[0]
        else:
            kwargs = () if type_.dtype == np.float64 else (("dtype", Const(type_.dtype)),)
            ops.append(replace(op, target=np.zeros, args=(shape,), kwargs=kwargs, result=result))
            mapping[op.result] = result


def _hint(value: Value, what: str) -> str | None:
    return f"{value.hint}_{what}" if value.hint else None
