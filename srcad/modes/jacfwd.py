"""``jacfwd``: the Jacobian, of the tangents in all directions at once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from srcad.analysis.activity import activity
from srcad.analysis.activity_trees import Activity, activity_of_parts, either_active, fully_active
from srcad.analysis.arguments import has_float
from srcad.arguments.request import Request
from srcad.frontend.lower import lower_inline
from srcad.ir.core import Atom, Function, Value
from srcad.ir.inference.builder import Builder, atom_type
from srcad.ir.substitute import substituted_atom, substituted_block
from srcad.modes.basis import (
    Basis,
    Leaf,
    Tree,
    basis_of,
    blocks,
    differentiated,
    leaves_of,
    unpacked,
)
from srcad.modes.blocks import block_of_columns, empty_block
from srcad.modes.chunks import Sweep, refuse_effects, split_by_dependence
from srcad.modes.holomorphic import checked_blocks, is_undecided, refuse_undecided
from srcad.modes.mode import Mode
from srcad.modes.results import with_known_lists, with_results
from srcad.modes.reverse import in_one_function
from srcad.passes.copies import copied_block
from srcad.passes.dce import dce
from srcad.passes.simplify import simplify
from srcad.startup.records import replace
from srcad.transforms.batched import batched
from srcad.transforms.jvp import jvp
from srcad.types.structures import TupleOf, Type


def with_columns(function: Function, request: Request, wrt: Sequence[int]) -> Function:
    """Return the function of the result and of its Jacobian by each of `wrt`, column by column."""
    function = with_known_lists(function)
    output = 0
    if request.has_aux:
        (y,) = function.block.results
        builder = Builder(ops=list(function.block.ops), where=function.where)
        first = differentiated(builder, y, has_aux=True)
        function, output = replace(function, block=builder.finish(y, first)), 1
    made, found = columns(function, wrt, (output,), request)
    return simplify(dce(with_results(made, (made.block.results[0], *found[0]))))


def columns(
    function: Function, wrt: Sequence[int], outputs: Sequence[int], request: Request
) -> tuple[Function, list[list[Atom]]]:
    """Return the function of the first result, and a Jacobian for each of `outputs` and `wrt`.

    These stand among the results, too, in the same order.
    """
    made = jvp(function, wrt, lower_inline, values=(0, *outputs), tangents=outputs)
    count, width = len(function.params), 1 + len(outputs)
    params = made.params[:count]
    builder = Builder(where=made.where, half="reverse")
    carried = _carried(function, wrt, outputs)
    basis = basis_of(
        builder,
        [(params[k], carried[k]) for k in wrt],
        "the arguments",
        twice=not request.holomorphic,
    )
    if not basis.is_one_number:
        dots = range(count, count + len(wrt))
        made = batched(made, dots, lower_inline, results=range(width, 2 * width - 1))
    block = made.block
    values, ops = block.results[:width], block.ops
    if request.chunk_size is not None:
        refuse_effects(function)
        primal = substituted_block(function.block, dict(zip(function.params, params, strict=True)))
        values = tuple(primal.results[k] for k in (0, *outputs))
        block = copied_block(block, {})  # what runs for each chunk stands beside the primal
        early, late = split_by_dependence(block.ops, made.params[count:])
        builder.ops.extend((*primal.ops, *early))
        ops = tuple(late)
    y_dots = block.results[width:]
    trees: list[Tree] = []

    def flat(within: Builder, mapping: dict[Value, Atom]) -> list[Atom]:
        if not trees:
            parts = [[(y, fully_active(atom_type(y)))] for y in values[1:]]
            trees.extend(basis_of(builder, part, "the result").trees[0] for part in parts)
        given = [substituted_atom(y_dot, mapping) for y_dot in y_dots]
        pairs = zip(trees, given, strict=True)
        return [atom for tree, y_dot in pairs for _, atom in unpacked(within, tree, y_dot)]

    sweep = Sweep(ops, made.params[count:], basis, "dot", request.chunk_size)
    left, found = iter(sweep.results(builder, flat)), []
    for tree in trees:
        of_leaf = {leaf: next(left) for leaf in leaves_of(tree)}
        open_ = is_undecided(function, [*of_leaf])
        if open_ and (request.holomorphic or not basis.is_real):
            refuse_undecided(function)
        checked_blocks(function, [*of_leaf], basis.leaves, holomorphic=request.holomorphic)
        block_of = partial(_block, builder, basis, of_leaf, not open_)
        found.append([blocks(builder, tree, inputs, block_of) for inputs in basis.trees])
    results = (values[0], *(one for row in found for one in row))
    return replace(made, params=params, block=builder.finish(*results)), found


def _block(
    builder: Builder, basis: Basis, y_dots: dict[Leaf, Atom], cast: bool, y: Leaf, x: Leaf
) -> Atom:
    """Return the block of a part of the result and a part of an argument."""
    if basis.is_one_number:
        return y_dots[y]
    if basis.is_empty:
        return empty_block(builder, y, x)
    return block_of_columns(builder, y, x, y_dots[y], alone=basis.alone, cast=cast)


def _carried(function: Function, wrt: Sequence[int], outputs: Sequence[int]) -> dict[int, Activity]:
    """Return the parts of arguments that have a derivative: floats, and integers that flow."""
    params = {k: function.params[k] for k in wrt}
    varied = {param: fully_active(param.type) for param in params.values()}
    wanted = [
        fully_active(atom_type(y)) if k in outputs else False
        for k, y in enumerate(function.block.results)
    ]
    facts = activity(function, varied, wanted)
    return {k: either_active(facts.active(p), _floats(p.type)) for k, p in params.items()}


def _floats(type_: Type) -> Activity:
    """Return the parts of a value that are, or hold, floats."""
    if isinstance(type_, TupleOf):
        return activity_of_parts(tuple(map(_floats, type_.items)))
    return has_float(type_)


MODE = Mode(
    "jacfwd",
    "Jacobian",
    with_columns,
    partial(in_one_function, gives_value=False, laid_out=False),
    nests=True,
)
