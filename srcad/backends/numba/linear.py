"""Lowerings of linear algebra to LAPACK, with triangular solves for Cholesky factors."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcad import runtime
from srcad.backends.interface import NotCovered
from srcad.backends.numba import indexing, reductions
from srcad.backends.numba.builder import Builder, converted
from srcad.backends.numba.calls import lowers
from srcad.backends.numba.loops import (
    ZERO,
    Access,
    Affine,
    Apply,
    Assign,
    Constant,
    Expr,
    Integer,
    Lines,
    Load,
    Node,
)
from srcad.backends.numba.representations import (
    BOOL,
    FLOAT64,
    INT64,
    Array,
    Number,
    Parts,
    Rep,
    at,
    axes,
    of_storage,
)
from srcad.ir.core import Call
from srcad.rules import linalg as rules


def _matrix(b: Builder, rep: Rep, op: Call) -> Array:
    if not isinstance(rep, Array) or len(rep.dims) != 2 or rep.dtype != FLOAT64:
        raise NotCovered("linear algebra of other than matrices of float64", op.where)
    return rep


def _square(b: Builder, rep: Rep, op: Call) -> Array:
    matrix = _matrix(b, rep, op)
    b.same(matrix.dims[0], matrix.dims[1])
    return matrix


def _whole(b: Builder, array: Array) -> tuple[str, str]:
    """Return an array as a contiguous operand of LAPACK: its expression and its storage."""
    text, names = reductions.contiguous(b, array)
    if text.endswith(".T"):
        copy = b.copied(array)
        assert copy.storage is not None
        return f"{{{copy.storage}}}", copy.storage
    return text, names


def _called(
    b: Builder, op: Call, template: str, arrays: list[Array], dims: Any, hint: str
) -> Array:
    texts, reads = [], []
    for array in arrays:
        text, names = _whole(b, array)
        texts.append(text)
        reads += names.split()
    made = b.storage(op.result.hint or hint, dims, FLOAT64)
    made.given = True
    line = f"{{{made.name}}} = {template.format(*texts)}"
    b.call(line, reads, made, defines=(made.name,))
    return of_storage(made.name, tuple(dims), FLOAT64)


@lowers(np.linalg.cholesky)
def cholesky(low: Any, op: Call) -> Rep:
    """Lower ``np.linalg.cholesky(a)``."""
    b: Builder = low.builder
    a = _square(b, low.rep(op.args[0]), op)
    made = _called(b, op, "cholesky({})", [a], a.dims, "lower")
    b.storages[made.storage or ""].is_lower_triangle = True
    return made


def _triangle(b: Builder, array: Array) -> str | None:
    """Return ``lower`` or ``upper`` for a Cholesky factor, or its transpose."""
    entry = array.entry
    is_factor = array.storage is not None and b.storages[array.storage].is_lower_triangle
    if not is_factor or not isinstance(entry, Load):
        return None
    if entry.index == axes(2):
        return "lower"
    return "upper" if entry.index == tuple(reversed(axes(2))) else None


@lowers(np.linalg.solve)
def solve(low: Any, op: Call) -> Rep:
    """Lower ``np.linalg.solve(a, b)``; by substitution where `a` is a Cholesky factor."""
    b: Builder = low.builder
    a, right = _square(b, low.rep(op.args[0]), op), low.rep(op.args[1])
    if not isinstance(right, Array) or len(right.dims) not in (1, 2) or right.dtype != FLOAT64:
        raise NotCovered("a solution for stacks", op.where)
    b.same(a.dims[0], right.dims[0])
    triangle = _triangle(b, a)
    if triangle == "lower":
        return _called(b, op, "solve_lower({}, {}, False)", [a, right], right.dims, "solution")
    if triangle == "upper":
        lower = indexing.transposed(a, (1, 0))
        return _called(b, op, "solve_lower({}, {}, True)", [lower, right], right.dims, "solution")
    return _called(b, op, "solve({}, {})", [a, right], right.dims, "solution")


@lowers(np.linalg.inv, rules.inverse_or_nan)
def inverse(low: Any, op: Call) -> Rep:
    """Lower ``np.linalg.inv(a)``; of a singular matrix the code for NumPy runs."""
    b: Builder = low.builder
    a = _square(b, low.rep(op.args[0]), op)
    return _called(b, op, "inverse({})", [a], a.dims, "inverse")


@lowers(rules.lower_inverse)
def lower_inverse(low: Any, op: Call) -> Rep:
    """Lower the inverse of a lower triangle."""
    b: Builder = low.builder
    a = _square(b, low.rep(op.args[0]), op)
    return _called(b, op, "lower_inverse({})", [a], a.dims, "inverse")


@lowers(rules.half_triangle)
def half_triangle(low: Any, op: Call) -> Rep:
    """Lower the lower triangle with half of its diagonal."""
    b: Builder = low.builder
    a = _square(b, low.rep(op.args[0]), op)

    def entry(i: tuple[Affine, ...]) -> Expr:
        here = at(a.entry, i)
        below = Apply("<", (Integer(i[1]), Integer(i[0])))
        half = Apply(
            "if",
            (
                Apply("==", (Integer(i[0]), Integer(i[1]))),
                Apply("/", (here, Constant("2.0"))),
                Constant("0.0"),
            ),
        )
        return Apply("if", (below, here, half))

    return b.filled(a.dims, entry, a.dtype, op.result.hint or "triangle")


@lowers(np.linalg.det, np.linalg.slogdet)
def log_determinant(low: Any, op: Call) -> Rep:
    """Lower ``np.linalg.slogdet(a)`` and ``np.linalg.det(a)``."""
    b: Builder = low.builder
    a = _square(b, low.rep(op.args[0]), op)
    text, names = _whole(b, a)
    sign, logarithm = b.fresh("sign"), b.fresh("logdet")
    for name in (sign, logarithm):
        b.level[name] = len(b.bodies) - 1
    touched = [Access(n, "read", None) for n in names.split()]
    touched += [Access(sign, "write", ()), Access(logarithm, "write", ())]
    b.emit(
        Lines(
            (f"{sign}, {logarithm} = determinant({text})",),
            tuple(touched),
            (sign, logarithm),
            op.where,
        )
    )
    one, two = Number(Load(sign), FLOAT64, False), Number(Load(logarithm), FLOAT64, False)
    if op.target is np.linalg.slogdet:
        return Parts((one, two))
    value = Apply("*", (Load(sign), Apply("math.exp", (Load(logarithm),))))
    return b.assign(value, FLOAT64, op.result.hint or "determinant")


@lowers(runtime.last_writes)
def last_writes(low: Any, op: Call) -> Rep:
    """Lower the mask of the entries of an index array that no later equal one overwrites."""
    b: Builder = low.builder
    array = low.rep(op.args[0])
    if not isinstance(array, Array):
        raise NotCovered("the places of an object", op.where)
    chosen = indexing.selection(b, array.dims, indexing.items_of(low, op.args[1]))
    last = b.storage("last", array.dims, INT64)
    made = b.storage(op.result.hint or "stays", chosen.dims, BOOL)

    def order(i: tuple[Affine, ...]) -> Expr:
        result: Expr = Integer(i[0]) if i else Integer(ZERO)
        for place, dim in zip(i[1:], chosen.dims[1:], strict=True):
            result = Apply("+", (Apply("*", (result, Integer(dim.size))), Integer(place)))
        return result

    def placed(i: tuple[Affine, ...]) -> tuple[list[Node], tuple[Affine, ...]]:
        statements, names = indexing.gathers(b, chosen, i)
        by = {**names, **{f"@{k}": one for k, one in enumerate(i)}}
        return statements, tuple(place.replaced(by) for place in chosen.index)

    def write(i: tuple[Affine, ...]) -> list[Node]:
        statements, place = placed(i)
        return [*statements, Assign(last.name, place, order(i), "=", b.where)]

    def read(i: tuple[Affine, ...]) -> list[Node]:
        statements, place = placed(i)
        test = Apply("==", (Load(last.name, place), order(i)))
        return [*statements, Assign(made.name, i, test, "=", b.where)]

    b.nest(chosen.dims, write)
    b.nest(chosen.dims, read)
    return of_storage(made.name, chosen.dims, BOOL)


@lowers(runtime.check_real_scalar)
def real_scalar(low: Any, op: Call) -> Rep:
    """Lower the check that a result is one real number, known from its type."""
    rep = low.rep(op.args[0])
    if isinstance(rep, Number) and rep.dtype.kind in "fi":
        return rep
    raise NotCovered("a result that is no real number", op.where)


@lowers(runtime.converted_like)
def like(low: Any, op: Call) -> Rep:
    """Return a cotangent in the class and dtype of its primal."""
    rep, other = low.rep(op.args[0]), low.rep(op.args[1])
    if isinstance(rep, Number) and isinstance(other, Number) and other.dtype.kind == "f":
        return Number(converted(rep.expr, rep.dtype, other.dtype), other.dtype, other.may_be_python)
    if isinstance(rep, Array) and isinstance(other, Array) and rep.dtype == other.dtype:
        return rep
    raise NotCovered("a conversion that is not known before the call", op.where)
