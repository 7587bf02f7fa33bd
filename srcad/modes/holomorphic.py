"""The complex derivative of a function that is holomorphic.

A gradient is the conjugate of the derivative there, so that the derivative is the conjugate of what
the cotangent 1 gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

import numpy as np

from srcad.analysis.kinds import may_be_complex
from srcad.errors import NonScalarOutputError, UnsupportedTypeError
from srcad.ir.core import Atom, Block, Const, Function
from srcad.ir.inference.builder import Builder, atom_type
from srcad.modes.basis import Leaf
from srcad.modes.results import describe_result, first_part
from srcad.passes.simplify import simplify
from srcad.startup.records import replace
from srcad.types.numeric import Numeric
from srcad.types.structures import ListOf, TupleOf, Type, numbers_in


def refuse_real(function: Function, wrt: Sequence[int], *, has_aux: bool) -> None:
    """Refuse a complex derivative of a real result, or by real arguments.

    Raises
    ------
    NonScalarOutputError, UnsupportedTypeError
        The result is something else, or an argument that is differentiated by is real.
    """
    y = first_part(function) if has_aux else function.block.results[0]
    type_ = atom_type(y)
    if not isinstance(type_, Numeric) or type_.shape != () or type_.kind != "c":
        raise NonScalarOutputError(
            f"holomorphic=True needs one complex number, and {function.name!r} returns "
            f"{describe_result(type_, y)}",
            where=function.where,
            why="it asks for the derivative of a complex number by complex numbers.",
            help="leave it out for the gradient of a real number, or return complex(y)",
        )
    for k in wrt:
        param = function.params[k]
        if any(leaf.kind in "fiu" for leaf in numbers_in(param.type)):
            raise UnsupportedTypeError(
                f"holomorphic=True needs complex arguments, and {param.hint!r} of "
                f"{function.name!r} is real",
                where=function.where,
                why="a derivative by a real argument sees one direction only.",
                help="pass complex numbers:  complex(x), x.astype(complex)",
            )


def is_undecided(function: Function, leaves: Sequence[Leaf]) -> bool:
    """Return True if it is known only at run time which numbers are complex."""
    undecided = any(leaf.type.kind == "?" and leaf.type.may_be_complex for leaf in leaves)
    return undecided and may_be_complex(function)


def refuse_undecided(function: Function) -> NoReturn:
    """Which directions there are depends on it."""
    raise UnsupportedTypeError(
        f"it is not known which numbers of {function.name!r} are complex",
        where=function.where,
        why="an array of derivatives is made for real or for complex ones.",
        help="make the dtype known:  np.real(y), y.astype(complex)",
    )


def checked_blocks(
    function: Function, y: Sequence[Leaf], x: Sequence[Leaf], *, holomorphic: bool
) -> None:
    """Refuse complex results and arguments that do not fit `holomorphic`.

    Raises
    ------
    UnsupportedTypeError
        Results and arguments are complex, and not said to be holomorphic; or they are said to be,
        and one is real.
    """
    leaves = (*y, *x)
    complex_ones = [any(leaf.type.kind == "c" for leaf in part) for part in (y, x)]
    if holomorphic and not all(leaf.type.kind == "c" for leaf in leaves):
        raise UnsupportedTypeError(
            f"holomorphic=True needs complex arguments and complex results, and {function.name!r} "
            "has real ones",
            where=function.where,
            why="it asks for the derivatives of complex numbers by complex numbers.",
            help="leave it out, or pass and return complex numbers:  x.astype(complex)",
        )
    if all(complex_ones) and not holomorphic:
        raise UnsupportedTypeError(
            f"{function.name!r} makes complex numbers of complex numbers, and what one does to the "
            "other is more than one complex number",
            where=function.where,
            why="they have two directions each; for a real function this is so of its gradient.",
            help=(
                "if the function is holomorphic:  holomorphic=True",
                "or return real numbers, np.stack((y.real, y.imag)), or pass such",
            ),
        )


def conjugated(made: Function) -> Function:
    """Return the derived function with the conjugates of its gradients."""
    y, *gradients = made.block.results
    builder = Builder(ops=list(made.block.ops), where=made.where, half="reverse")
    found = [_conjugate(builder, g, atom_type(g)) for g in gradients]
    return simplify(replace(made, block=Block((), tuple(builder.ops), (y, *found))))


def _conjugate(builder: Builder, gradient: Atom, type_: Type) -> Atom:
    if isinstance(type_, TupleOf):
        count = range(len(type_.items))
        parts = [
            _conjugate(builder, builder.part(gradient, type_, k), type_.items[k]) for k in count
        ]
        return builder.build_like(type_, parts)
    if isinstance(type_, ListOf):
        raise UnsupportedTypeError(
            "holomorphic=True does not go through lists",
            where=builder.where,
            help="pass an array in the place of the list:  np.stack(items)",
        )
    if isinstance(gradient, Const):
        value = gradient.value
        return Const(value.conjugate()) if isinstance(value, complex) else gradient
    hint, gradient.hint = gradient.hint, None
    conjugate = builder.call(np.conjugate, gradient, hint=hint)
    is_python = isinstance(type_, Numeric) and type_.is_python
    return builder.call(complex, conjugate, hint=hint) if is_python else conjugate
