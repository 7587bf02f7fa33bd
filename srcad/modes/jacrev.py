"""``jacrev``: the Jacobian, of the cotangents for all entries of the result at once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from srcad import runtime
from srcad.analysis.activity_trees import Activity, activity_of_parts, fully_active
from srcad.arguments.request import Request
from srcad.frontend.lower import lower_inline
from srcad.ir.core import Atom, Const, Function, Value
from srcad.ir.inference.builder import Builder, atom_type
from srcad.ir.substitute import substituted_atom
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
from srcad.modes.blocks import block_of_rows, empty_block
from srcad.modes.chunks import Sweep, refuse_effects, split_by_dependence
from srcad.modes.holomorphic import checked_blocks, is_undecided, refuse_undecided
from srcad.modes.mode import Mode
from srcad.modes.results import with_known_lists
from srcad.modes.reverse import in_one_function
from srcad.passes.dce import dce
from srcad.passes.simplify import simplify
from srcad.startup.records import replace
from srcad.transforms.batched import batched
from srcad.transforms.vjp import vjp
from srcad.types.numeric import Numeric
from srcad.types.structures import ListOf, Opaque, TupleOf, Type


def with_rows(function: Function, request: Request, wrt: Sequence[int]) -> Function:
    """Return the function of the result and of its Jacobian by each of `wrt`, row by row."""
    function = with_known_lists(function)
    made = vjp(function, wrt, lower_inline, has_aux=request.has_aux)
    params = made.params[:-1]
    if not _is_one_number(made, request):
        gradients = range(1, len(made.block.results))
        made = batched(made, (len(params),), lower_inline, results=gradients)
    if request.chunk_size is not None:
        refuse_effects(function)
    early, late = split_by_dependence(made.block.ops, made.params[len(params) :])
    builder = Builder(ops=early, where=made.where, half="reverse")
    y, *bars = made.block.results
    result = differentiated(builder, y, has_aux=request.has_aux)
    basis = _basis(builder, result, request)
    if is_undecided(function, basis.leaves):
        if request.holomorphic or not basis.is_one_number:
            refuse_undecided(function)
        builder.call(
            runtime.check_real_scalar,
            result,
            Const(function.name),
            effect=True,
            type=Opaque(type(None)),
        )
    trees: list[Tree] = []

    def flat(within: Builder, mapping: dict[Value, Atom]) -> list[Atom]:
        given = [substituted_atom(bar, mapping) for bar in bars]
        if not trees:
            parts = [[(params[k], _carried(atom_type(b)))] for k, b in zip(wrt, given, strict=True)]
            trees.extend(basis_of(builder, part, "the arguments").trees[0] for part in parts)
        pairs = zip(trees, given, strict=True)
        return [atom for tree, bar in pairs for _, atom in unpacked(within, tree, bar)]

    sweep = Sweep(late, made.params[len(params) :], basis, "bar", request.chunk_size)
    left, found = iter(sweep.results(builder, flat)), []
    for tree in trees:
        of_leaf = {leaf: next(left) for leaf in leaves_of(tree)}
        checked_blocks(function, basis.leaves, [*of_leaf], holomorphic=request.holomorphic)
        block_of = partial(_block, builder, basis, of_leaf, request.holomorphic)
        found.append(blocks(builder, basis.trees[0], tree, block_of))
    made = replace(made, params=params, block=builder.finish(y, *found))
    return simplify(dce(made))


def _block(
    builder: Builder, basis: Basis, x_bars: dict[Leaf, Atom], holomorphic: bool, y: Leaf, x: Leaf
) -> Atom:
    """Return the block of a part of the result and a part of an argument."""
    if basis.is_one_number:
        block = x_bars[x]
    elif basis.is_empty:
        return empty_block(builder, y, x)
    else:
        block = block_of_rows(builder, y, x, x_bars[x], alone=basis.alone)
    return builder.call(np.conjugate, block) if holomorphic else block


def _is_one_number(made: Function, request: Request) -> bool:
    """Return True if the differentiated part of the result has one direction and no axes.

    The sweep decides it by the same basis; a tuple of one number, as a gradient by ``wrt=(0,)`` is,
    has one direction, too.
    """
    aside = Builder(where=made.where)
    result = differentiated(aside, made.block.results[0], has_aux=request.has_aux)
    return _basis(aside, result, request).is_one_number


def _basis(builder: Builder, result: Atom, request: Request) -> Basis:
    """Return the directions of the result."""
    tree = fully_active(atom_type(result))
    return basis_of(builder, [(result, tree)], "the result", twice=not request.holomorphic)


def _carried(type_: Type) -> Activity:
    """Return the parts of a gradient that are there."""
    if isinstance(type_, TupleOf):
        return activity_of_parts(tuple(map(_carried, type_.items)))
    return isinstance(type_, Numeric | ListOf) or (isinstance(type_, Opaque) and not type_.cls)


MODE = Mode(
    "jacrev",
    "Jacobian",
    with_rows,
    partial(in_one_function, gives_value=False, laid_out=False),
    nests=True,
)
