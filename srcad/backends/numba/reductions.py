"""Lowerings of sums, extremes and products along axes, running sums, and matrix products."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from srcad.backends.interface import NotCovered
from srcad.backends.numba.builder import Builder, converted, zero_of
from srcad.backends.numba.elementwise import in_dtype, result_dtype
from srcad.backends.numba.indexing import transposed
from srcad.backends.numba.loops import (
    ONE,
    ZERO,
    Affine,
    Apply,
    Assign,
    Constant,
    Dim,
    Expr,
    Integer,
    Load,
    Nest,
    Node,
    named,
    same_dim,
)
from srcad.backends.numba.representations import (
    BOOL,
    FLOAT32,
    FLOAT64,
    INT64,
    Array,
    Number,
    Rep,
    at,
    axes,
    of_storage,
)
from srcad.ir.core import Call
from srcad.ir.traits import law_of
from srcad.types.numeric import DType, Numeric
from srcad.types.sizes import constant_extent

_ONE_DIM = Dim(ONE, constant_extent(1))


def axes_of(rank: int, axis: Any) -> tuple[int, ...]:
    """Return axes as positions; all of them for None."""
    if axis is None:
        return tuple(range(rank))
    found = axis if isinstance(axis, tuple) else (axis,)
    if not all(isinstance(a, int | np.integer) for a in found):
        raise NotCovered("an axis that is not known before the call")
    return tuple(sorted(int(a) % rank for a in found))


def reduced(
    b: Builder,
    dims: Sequence[Dim],
    entry: Callable[[tuple[Affine, ...]], Expr],
    over: Sequence[int],
    how: str,
    start: Expr,
    dtype: DType,
    hint: object,
    *,
    keepdims: bool = False,
) -> Number | Array:
    """Reduce entries over some axes.

    `how` combines what there is with an entry (see `Assign`); `start` is what there is at first.
    """
    rank = len(dims)
    kept = [k for k in range(rank) if k not in over]
    variables = [b.variable() for _ in dims]
    i = tuple(map(named, variables))
    trailing = kept == list(range(len(kept)))
    if not kept or trailing:
        name = b.fresh(hint)
        body: list[Node] = [Assign(name, (), entry(i), how, b.where)]
        for k in reversed(over):
            body = [Nest(variables[k], dims[k], body)]
        first: list[Node] = [Assign(name, (), start, "=", b.where)]
        if not kept:
            for node in (*first, *body):
                b.emit(node)
            number = Number(Load(name), dtype, False)
            if keepdims:
                return Array(number.expr, (_ONE_DIM,) * rank, dtype)
            return number
        made, place = _result(b, dims, over, dtype, hint, i, keepdims=keepdims)
        body = [*first, *body, Assign(made.storage or "", place, Load(name), "=", b.where)]
        for k in reversed(kept):
            body = [Nest(variables[k], dims[k], body)]
        for node in body:
            b.emit(node)
        return made
    made, place = _result(b, dims, over, dtype, hint, i, keepdims=keepdims)
    b.nest(made.dims, lambda j: [Assign(made.storage or "", j, start, "=", b.where)])
    body = [Assign(made.storage or "", place, entry(i), how, b.where)]
    for k in reversed(range(rank)):
        body = [Nest(variables[k], dims[k], body)]
    for node in body:
        b.emit(node)
    return made


def _result(
    b: Builder,
    dims: Sequence[Dim],
    over: Sequence[int],
    dtype: DType,
    hint: object,
    i: tuple[Affine, ...],
    *,
    keepdims: bool,
) -> tuple[Array, tuple[Affine, ...]]:
    left = [k for k in range(len(dims)) if keepdims or k not in over]
    shape = tuple(_ONE_DIM if k in over else dims[k] for k in left)
    made = b.storage(hint, shape, dtype)
    return of_storage(made.name, shape, dtype), tuple(ZERO if k in over else i[k] for k in left)


def added(dtype: DType) -> str:
    """Return the assignment operator of a sum in any order."""
    return "add_any_order" if dtype.kind == "f" else "+="


# --------------------------------------------------------------------------------- calls
def total(b: Builder, op: Call, reps: list[Rep], options: dict[str, Any]) -> Rep:
    """Lower ``np.sum(x, axis, keepdims=...)``."""
    (x,) = reps
    _only(op, options, "axis", "keepdims")
    if isinstance(x, Number):
        return x if x.dtype.kind != "b" else Number(Apply("int", (x.expr,)), INT64, False)
    assert isinstance(x, Array)
    dtype = result_dtype(op, reps) if x.dtype != BOOL else _sum_dtype(op)
    over = axes_of(len(x.dims), options.get("axis"))
    return reduced(
        b,
        x.dims,
        lambda i: in_dtype(x, at(x.entry, i), dtype),
        over,
        added(dtype),
        zero_of(dtype),
        dtype,
        op.result.hint or "total",
        keepdims=bool(options.get("keepdims", False)),
    )


def _sum_dtype(op: Call) -> DType:
    dtype = getattr(op.result.type, "dtype", None)
    return FLOAT64 if dtype is not None and dtype.kind == "f" else INT64


def count(b: Builder, op: Call, reps: list[Rep], options: dict[str, Any]) -> Rep:
    """Lower ``np.count_nonzero(x, axis)``."""
    (x,) = reps
    _only(op, options, "axis", "keepdims")
    if not isinstance(x, Array):
        raise NotCovered("np.count_nonzero of a number", op.where)

    def entry(i: tuple[Affine, ...]) -> Expr:
        return Apply("int", (converted(at(x.entry, i), x.dtype, BOOL),))

    return reduced(
        b,
        x.dims,
        entry,
        axes_of(len(x.dims), options.get("axis")),
        "+=",
        Integer(ZERO),
        INT64,
        op.result.hint or "count",
        keepdims=bool(options.get("keepdims", False)),
    )


def average(b: Builder, op: Call, reps: list[Rep], options: dict[str, Any]) -> Rep:
    """Lower ``np.mean(x, axis, keepdims=...)``."""
    (x,) = reps
    _only(op, options, "axis", "keepdims")
    if not isinstance(x, Array):
        return x
    dtype = FLOAT32 if x.dtype == FLOAT32 else FLOAT64
    over = axes_of(len(x.dims), options.get("axis"))
    sums = reduced(
        b,
        x.dims,
        lambda i: in_dtype(x, at(x.entry, i), dtype),
        over,
        added(dtype),
        zero_of(dtype),
        dtype,
        op.result.hint or "total",
        keepdims=bool(options.get("keepdims", False)),
    )
    size = b.size_of([x.dims[k] for k in over])
    divisor: Expr = Integer(size)
    if dtype == FLOAT32:
        divisor = Apply("np.float32", (divisor,))
    return b.elementwise(lambda e: Apply("/", (e[0], divisor)), [sums], dtype, op.result.hint)


def product(b: Builder, op: Call, reps: list[Rep], options: dict[str, Any]) -> Rep:
    """Lower ``np.prod(x, axis, keepdims=...)``."""
    (x,) = reps
    _only(op, options, "axis", "keepdims")
    if isinstance(x, Number):
        return x
    if not isinstance(x, Array) or x.dtype not in (FLOAT64, FLOAT32, INT64):
        raise NotCovered("a product of these numbers", op.where)
    one: Expr = Integer(ONE) if x.dtype == INT64 else Constant("1.0")
    if x.dtype == FLOAT32:
        one = Constant("np.float32(1.0)")
    return reduced(
        b,
        x.dims,
        lambda i: at(x.entry, i),
        axes_of(len(x.dims), options.get("axis")),
        "*=",
        one,
        x.dtype,
        op.result.hint or "product",
        keepdims=bool(options.get("keepdims", False)),
    )


def extreme(b: Builder, op: Call, reps: list[Rep], options: dict[str, Any]) -> Rep:
    """Lower ``np.max(x, axis, keepdims=...)`` and ``np.min``, which propagate nan."""
    (x,) = reps
    _only(op, options, "axis", "keepdims")
    if isinstance(x, Number):
        return x
    assert isinstance(x, Array)
    is_max = law_of(op.target) == "largest"
    over = axes_of(len(x.dims), options.get("axis"))
    for k in over:
        not_empty(b, x.dims[k])
    if x.dtype.kind == "f":
        start: Expr = Constant("-np.inf" if is_max else "np.inf")
        if x.dtype == FLOAT32:
            start = Apply("np.float32", (start,))
        how = "maximum" if is_max else "minimum"
    elif x.dtype == INT64:
        start = Constant(str(-(2**63) if is_max else 2**63 - 1))
        how = "max" if is_max else "min"
    else:
        raise NotCovered(f"an extreme of {x.dtype}", op.where)
    return reduced(
        b,
        x.dims,
        lambda i: at(x.entry, i),
        over,
        how,
        start,
        x.dtype,
        op.result.hint or ("largest" if is_max else "least"),
        keepdims=bool(options.get("keepdims", False)),
    )


def not_empty(b: Builder, dim: Dim) -> None:
    """Add a guard against empty axes, for which NumPy raises or warns."""
    if not dim.size.terms:
        if dim.size.constant == 0:
            raise NotCovered("an extreme of no entries", b.where)
        return
    b.guard(Apply("==", (Integer(dim.size), Integer(ZERO))))


def truth(b: Builder, op: Call, reps: list[Rep], options: dict[str, Any]) -> Rep:
    """Lower ``np.any(x, axis)`` and ``np.all(x, axis)``."""
    (x,) = reps
    _only(op, options, "axis", "keepdims")
    if not isinstance(x, Array):
        raise NotCovered("the truth of a number", op.where)
    is_any = op.target is np.any
    return reduced(
        b,
        x.dims,
        lambda i: converted(at(x.entry, i), x.dtype, BOOL),
        axes_of(len(x.dims), options.get("axis")),
        "|=" if is_any else "&=",
        Constant("False" if is_any else "True"),
        BOOL,
        op.result.hint or "test",
        keepdims=bool(options.get("keepdims", False)),
    )


def running(b: Builder, op: Call, reps: list[Rep], options: dict[str, Any]) -> Rep:
    """Lower ``np.cumsum(x, axis)`` and ``np.cumprod``."""
    (x,) = reps
    _only(op, options, "axis")
    is_sum = op.target is np.cumsum
    if not isinstance(x, Array) or x.dtype not in ((FLOAT64, INT64) if is_sum else (FLOAT64,)):
        raise NotCovered("a running sum of these numbers", op.where)
    start: Expr = zero_of(x.dtype) if is_sum else Constant("1.0")
    symbol = "+" if is_sum else "*"
    axis = options.get("axis")
    if axis is None and len(x.dims) != 1:
        return _running_over_all(b, op, x, symbol, start)
    k = 0 if axis is None else axes_of(len(x.dims), axis)[0]
    made = b.storage(op.result.hint or "sums", x.dims, x.dtype)
    variables = [b.variable() for _ in x.dims]
    i = tuple(map(named, variables))
    name = b.fresh("total")
    body: list[Node] = [
        Assign(name, (), Apply(symbol, (Load(name), at(x.entry, i))), "=", b.where),
        Assign(made.name, i, Load(name), "=", b.where),
    ]
    body = [Assign(name, (), start, "=", b.where), Nest(variables[k], x.dims[k], body)]
    for other in reversed([j for j in range(len(x.dims)) if j != k]):
        body = [Nest(variables[other], x.dims[other], body)]
    for node in body:
        b.emit(node)
    return of_storage(made.name, x.dims, x.dtype)


def _running_over_all(b: Builder, op: Call, x: Array, symbol: str, start: Expr) -> Rep:
    """Return the running sum of the entries in C order, as a vector."""
    size = b.size_of(x.dims)
    shape = op.result.type.shape if isinstance(op.result.type, Numeric) else None
    extent = shape[0] if shape else None
    b.note(extent, size)
    dims = (Dim(size, extent),)
    made = b.storage(op.result.hint or "sums", dims, x.dtype)
    name, place = b.fresh("total"), b.fresh("place")
    b.emit(Assign(name, (), start, "=", b.where))
    b.emit(Assign(place, (), Integer(ZERO), "=", b.where))

    def inside(i: tuple[Affine, ...]) -> list[Node]:
        return [
            Assign(name, (), Apply(symbol, (Load(name), at(x.entry, i))), "=", b.where),
            Assign(made.name, (named(place),), Load(name), "=", b.where),
            Assign(place, (), Apply("+", (Load(place), Integer(ONE))), "=", b.where),
        ]

    b.nest(x.dims, inside)
    return of_storage(made.name, dims, x.dtype)


def spread(b: Builder, op: Call, reps: list[Rep], options: dict[str, Any]) -> Rep:
    """Lower ``np.var(x, axis, ddof, keepdims)`` and ``np.std``."""
    (x,) = reps
    _only(op, options, "axis", "keepdims", "ddof")
    if not isinstance(x, Array) or x.dtype != FLOAT64:
        raise NotCovered("a variance of these numbers", op.where)
    over = axes_of(len(x.dims), options.get("axis"))
    ddof = options.get("ddof", 0)
    if not isinstance(ddof, int):
        raise NotCovered("a ddof that is no constant integer", op.where)
    sums = reduced(
        b,
        x.dims,
        lambda i: at(x.entry, i),
        over,
        "add_any_order",
        zero_of(FLOAT64),
        FLOAT64,
        "total",
        keepdims=True,
    )
    size = b.size_of([x.dims[k] for k in over])
    mean = b.elementwise(lambda e: Apply("/", (e[0], Integer(size))), [sums], FLOAT64, "mean")
    assert isinstance(mean, Array)

    def entry(i: tuple[Affine, ...]) -> Expr:
        centre = at(mean.entry, tuple(ZERO if k in over else j for k, j in enumerate(i)))
        difference = Apply("-", (at(x.entry, i), centre))
        return Apply("square", (difference,))

    squares = reduced(
        b,
        x.dims,
        entry,
        over,
        "add_any_order",
        zero_of(FLOAT64),
        FLOAT64,
        "total",
        keepdims=bool(options.get("keepdims", False)),
    )
    if ddof:
        b.guard(Apply("<=", (Integer(size), Integer(ZERO + _whole(ddof)))))
    divisor = Integer(size - _whole(ddof))
    result = b.elementwise(
        lambda e: Apply("/", (e[0], divisor)), [squares], FLOAT64, op.result.hint
    )
    if op.target is np.std:
        return b.elementwise(
            lambda e: Apply("np.sqrt", tuple(e)), [result], FLOAT64, op.result.hint
        )
    return result


def _whole(value: int) -> Affine:
    return Affine((), value)


def position(b: Builder, op: Call, reps: list[Rep], options: dict[str, Any]) -> Rep:
    """Lower ``np.argmax(x)`` and ``np.argmin(x)`` of a vector, or along one axis."""
    (x,) = reps
    _only(op, options, "axis")
    if not isinstance(x, Array) or x.dtype.kind not in "fi":
        raise NotCovered("the position of an extreme of these numbers", op.where)
    axis = options.get("axis")
    if axis is None and len(x.dims) != 1:
        raise NotCovered("the position of an extreme of a matrix", op.where)
    k = 0 if axis is None else axes_of(len(x.dims), axis)[0]
    not_empty(b, x.dims[k])
    variables = [b.variable() for _ in x.dims]
    i = tuple(map(named, variables))
    best, place = b.fresh("best"), b.fresh("place")
    symbol = ">" if op.target is np.argmax else "<"
    here = at(x.entry, i)
    better: Expr = Apply(symbol, (here, Load(best)))
    if x.dtype.kind == "f":  # the first nan is the extreme
        is_nan = Apply("&", (Apply("!=", (here, here)), Apply("==", (Load(best), Load(best)))))
        better = Apply("|", (better, is_nan))
    test = b.fresh("test")
    step: list[Node] = [
        Assign(test, (), better, "=", b.where),
        Assign(best, (), Apply("if", (Load(test), here, Load(best))), "=", b.where),
        Assign(place, (), Apply("if", (Load(test), Integer(i[k]), Load(place))), "=", b.where),
    ]
    first = at(x.entry, tuple(ZERO if j == k else one for j, one in enumerate(i)))
    body: list[Node] = [
        Assign(best, (), first, "=", b.where),
        Assign(place, (), Integer(ZERO), "=", b.where),
        Nest(variables[k], x.dims[k], step),
    ]
    kept = [j for j in range(len(x.dims)) if j != k]
    if not kept:
        for node in body:
            b.emit(node)
        return Number(Load(place), INT64, False)
    dims = tuple(x.dims[j] for j in kept)
    made = b.storage(op.result.hint or "places", dims, INT64)
    body.append(Assign(made.name, tuple(i[j] for j in kept), Load(place), "=", b.where))
    for j in reversed(kept):
        body = [Nest(variables[j], x.dims[j], body)]
    for node in body:
        b.emit(node)
    return of_storage(made.name, dims, INT64)


# ------------------------------------------------------------------------------ products
def matrix_product(b: Builder, op: Call, reps: list[Rep], options: dict[str, Any]) -> Rep:
    """Lower ``a @ b``, ``np.dot(a, b)``."""
    left, right = reps
    _only(op, options)
    if isinstance(left, Number) or isinstance(right, Number):
        if op.target is not np.dot:
            raise NotCovered("a matrix product with a number", op.where)
        dtype = result_dtype(op, reps)
        return b.elementwise(
            lambda e: Apply(
                "*", tuple(in_dtype(r, x, dtype) for r, x in zip(reps, e, strict=True))
            ),
            reps,
            dtype,
            op.result.hint,
        )
    assert isinstance(left, Array)
    assert isinstance(right, Array)
    dtype = result_dtype(op, reps)
    if dtype.kind != "f" or left.dtype != right.dtype:
        raise NotCovered("a matrix product of these dtypes", op.where)
    m, n = len(left.dims), len(right.dims)
    b.same(left.dims[-1], right.dims[-2] if n > 1 else right.dims[-1])
    if m == n == 1:
        return summed_products(b, [left, right], left.dims, [(0,), (0,)], [], dtype, op.result.hint)
    if m <= 2 and n <= 2:
        return _plain_product(b, left, right, dtype, op.result.hint)
    if op.target is np.dot and n > 2:
        raise NotCovered("np.dot of stacks", op.where)
    if n == 1:
        dims = (*left.dims[:-1], left.dims[-1])
        rank = len(dims)
        return summed_products(
            b,
            [left, right],
            dims,
            [tuple(range(rank)), (rank - 1,)],
            list(range(rank - 1)),
            dtype,
            op.result.hint,
        )
    if n == 2 and dtype == FLOAT64:
        return _rows_of_stack(b, left, right, op.result.hint)
    return _stacked(b, left, right, dtype, op.result.hint)


def _rows_of_stack(b: Builder, left: Array, right: Array, hint: object) -> Rep:
    """Return the product of a stack and one matrix: the rows of the stack are those of a matrix."""
    rows = Dim(b.size_of(left.dims[:-1]))
    flat = in_shape(b, left, (rows, left.dims[-1]), None)
    made = _plain_product(b, flat, right, FLOAT64, hint)
    assert isinstance(made, Array)
    return in_shape(b, made, (*left.dims[:-1], right.dims[-1]), hint)


def in_shape(b: Builder, rep: Array, dims: tuple[Dim, ...], hint: object) -> Array:
    """Return a storage in another shape, under another name."""
    source = b.whole(rep)
    assert source.storage is not None
    storage = b.storages[source.storage]
    made = b.storage(hint or "reshaped", dims, rep.dtype)
    made.given, made.is_argument = True, storage.is_argument
    b.share(source.storage, made.name)
    sizes = ", ".join(str(d.size) for d in dims) + ("," if len(dims) == 1 else "")
    names = [n for d in dims for n in d.size.names]
    line = f"{{{made.name}}} = {{{source.storage}}}.reshape(({sizes}))"
    b.call(line, [source.storage, *names], made, defines=(made.name,))
    return of_storage(made.name, dims, rep.dtype)


def _stacked(b: Builder, left: Array, right: Array, dtype: DType, hint: object) -> Rep:
    """Return a product of stacks of matrices (or of one matrix on the right), entry by entry."""
    if len(left.dims) == 1:
        raise NotCovered("a product of a vector and a stack", b.where)
    front = b.broadcast(
        [
            Array(Constant("0.0"), left.dims[:-2], dtype),
            Array(Constant("0.0"), right.dims[:-2], dtype),
        ]
    )
    rank = len(front)
    dims = (*front, left.dims[-2], left.dims[-1], right.dims[-1])
    i, k, j = rank, rank + 1, rank + 2
    result = (*front, left.dims[-2], right.dims[-1])
    made = b.zeros(result, dtype, hint)
    assert made.storage is not None

    def inside(v: tuple[Affine, ...]) -> list[Node]:
        a = b.entry(left, (*v[:rank], v[i], v[k]), (*front, *left.dims[-2:]))
        c = b.entry(right, (*v[:rank], v[k], v[j]), (*front, *right.dims[-2:]))
        value = Apply("*", (a, c))
        return [Assign(made.storage or "", (*v[:rank], v[i], v[j]), value, "+=", b.where)]

    b.nest(dims, inside)
    return made


def summed_products(
    b: Builder,
    arrays: list[Array],
    dims: Sequence[Dim],
    places: list[tuple[int, ...]],
    kept: list[int],
    dtype: DType,
    hint: object,
) -> Rep:
    """Return sums of products: each array is indexed by some of the loops."""

    def entry(i: tuple[Affine, ...]) -> Expr:
        factors = [
            at(a.entry, tuple(i[k] for k in at_)) for a, at_ in zip(arrays, places, strict=True)
        ]
        return _product_of(factors)

    over = [k for k in range(len(dims)) if k not in kept]
    return reduced(b, dims, entry, over, "add_any_order", zero_of(dtype), dtype, hint or "product")


def _product_of(factors: list[Expr]) -> Expr:
    return reduce(lambda x, y: Apply("*", (x, y)), factors)


def _plain_product(b: Builder, left: Array, right: Array, dtype: DType, hint: object) -> Rep:
    """Return a product of matrices and vectors: a call of BLAS."""
    shape = (*left.dims[:-1], *(right.dims[-1:] if len(right.dims) > 1 else ()))
    constant = [not isinstance(a.entry, Load) and not _varies(a) for a in (left, right)]
    if constant[0] and len(left.dims) == 1:  # ones @ b: sums of its columns
        return summed_products(
            b, [left, right], (right.dims[0], right.dims[1]), [(0,), (0, 1)], [1], dtype, hint
        )
    if constant[1] and len(right.dims) == 1:
        if left.storage is not None and left.entry.index == tuple(reversed(axes(2))):  # type: ignore[union-attr]
            back = transposed(left, (1, 0))
            return summed_products(b, [back, right], back.dims, [(0, 1), (0,)], [1], dtype, hint)
        return summed_products(b, [left, right], left.dims, [(0, 1), (1,)], [0], dtype, hint)
    texts, reads, letters = [], [], ""
    for array in (left, right):
        text, name = contiguous(b, array)
        letters += "t" if text.endswith(".T") else "n"
        texts.append(text)
        reads.append(name)
    made = b.storage(hint or "product", shape, dtype)
    made.given = True
    call = f"np.dot({texts[0]}, {texts[1]})"
    if dtype == FLOAT64:
        plain = [text.removesuffix(".T") for text in texts]
        if len(left.dims) == len(right.dims):
            call = f"gemm_{letters}({plain[0]}, {plain[1]})"
        elif len(left.dims) == 2:
            call = f"gemv_{letters[0]}({plain[0]}, {plain[1]})"
        else:
            call = f"gemv_{'n' if letters[1] == 't' else 't'}({plain[1]}, {plain[0]})"
    names = " ".join(reads)
    b.call(f"{{{made.name}}} = {call}", names.split(), made, defines=(made.name,))
    return of_storage(made.name, shape, dtype)


def _varies(array: Array) -> bool:
    from_axes = {f"@{k}" for k in range(len(array.dims))}
    names: set[str] = set()
    todo: list[Expr] = [array.entry]
    while todo:
        one = todo.pop()
        if isinstance(one, Load):
            for index in one.index:
                names.update(index.names)
        elif isinstance(one, Integer):
            names.update(one.value.names)
        elif isinstance(one, Apply):
            todo += one.args
    return bool(names & from_axes)


def contiguous(b: Builder, array: Array) -> tuple[str, str]:
    """Return an array as an operand of BLAS, plain or transposed, and its storage.

    Rows of a storage are handed on as they lie; what lies otherwise is copied.
    """
    entry, rank = array.entry, len(array.dims)
    if isinstance(entry, Load) and entry.index:
        storage = b.storages[entry.storage]
        front, back = entry.index[: len(entry.index) - rank], entry.index[len(entry.index) - rank :]
        fixed = all(not n.startswith("@") for i in front for n in i.names)
        lengths = storage.dims[len(front) :]
        for order in (axes(rank), tuple(reversed(axes(rank)))):
            if fixed and back == order and len(lengths) == rank:
                shape = array.dims if order == axes(rank) else tuple(reversed(array.dims))
                if all(same_dim(x, y) for x, y in zip(lengths, shape, strict=True)):
                    text = f"{{{entry.storage}}}"
                    if front:
                        text += f"[{', '.join(map(str, front))}]"
                    if order != axes(rank):
                        text += ".T"
                    return text, " ".join([entry.storage, *(n for i in front for n in i.names)])
    copy = b.copied(array)
    assert copy.storage is not None
    return f"{{{copy.storage}}}", copy.storage


def outer(b: Builder, op: Call, reps: list[Rep], options: dict[str, Any]) -> Rep:
    """Lower ``np.outer(a, b)`` of vectors."""
    _only(op, options)
    left, right = _two_vectors(op, reps)
    dtype = result_dtype(op, reps)

    def entry(i: tuple[Affine, ...]) -> Expr:
        return Apply(
            "*",
            (
                in_dtype(left, at(left.entry, i[:1]), dtype),
                in_dtype(right, at(right.entry, i[1:]), dtype),
            ),
        )

    return b.filled((*left.dims, *right.dims), entry, dtype, op.result.hint or "product")


def tensor_product(b: Builder, op: Call, reps: list[Rep], options: dict[str, Any]) -> Rep:
    """Lower ``np.tensordot(a, b, axes)``."""
    left, right = reps[:2]
    pairs = options.get("axes", 2)
    if not isinstance(left, Array) or not isinstance(right, Array):
        raise NotCovered("np.tensordot of numbers", op.where)
    m, n = len(left.dims), len(right.dims)
    if isinstance(pairs, int):
        over_left, over_right = list(range(m - pairs, m)), list(range(pairs))
    else:
        over_left, over_right = (
            [k % r for k in (p if isinstance(p, tuple | list) else (p,))]
            for p, r in zip(pairs, (m, n), strict=True)
        )
    dtype = result_dtype(op, reps[:2])
    if dtype.kind != "f":
        raise NotCovered("np.tensordot of integers", op.where)
    for x, y in zip(over_left, over_right, strict=True):
        b.same(left.dims[x], right.dims[y])
    free_left = [k for k in range(m) if k not in over_left]
    free_right = [k for k in range(n) if k not in over_right]
    dims = [
        *(left.dims[k] for k in free_left),
        *(left.dims[k] for k in over_left),
        *(right.dims[k] for k in free_right),
    ]
    p, q = len(free_left), len(over_left)
    where_left = {k: j for j, k in enumerate(free_left)}
    where_left |= {k: p + j for j, k in enumerate(over_left)}
    where_right = {k: p + q + j for j, k in enumerate(free_right)}
    where_right |= {k: p + j for j, k in enumerate(over_right)}
    places = [tuple(where_left[k] for k in range(m)), tuple(where_right[k] for k in range(n))]
    kept = [*range(p), *range(p + q, len(dims))]
    return summed_products(b, [left, right], dims, places, kept, dtype, op.result.hint)


def einstein_sum(b: Builder, op: Call, reps: list[Rep], subscripts: str) -> Rep:
    """Lower ``np.einsum(subscripts, *arrays)`` without an ellipsis."""
    front, arrow, back = subscripts.replace(" ", "").partition("->")
    terms = front.split(",")
    reps = [Array(r.expr, (), FLOAT64) if isinstance(r, Number) else r for r in reps]
    arrays = [r for r in reps if isinstance(r, Array)]
    if result_dtype(op, reps) != FLOAT64:
        raise NotCovered("np.einsum of other numbers than float64", op.where)
    ranks = [len(a.dims) for a in arrays]
    if "." in subscripts or len(arrays) != len(reps) or ranks != [len(t) for t in terms]:
        raise NotCovered("np.einsum with an ellipsis", op.where)
    if not arrow:
        back = "".join(c for c in sorted(set(front) - {","}) if front.count(c) == 1)
    lengths = _lengths_of_letters(b, terms, arrays)
    letters = [*back, *(c for c in dict.fromkeys(front) if c not in back and c != ",")]
    dims = [lengths[c] for c in letters]
    if not dims:
        raise NotCovered("np.einsum of numbers", op.where)

    def entry(i: tuple[Affine, ...]) -> Expr:
        where = dict(zip(letters, i, strict=True))
        factors = [_factor(b, t, a, where, lengths) for t, a in zip(terms, arrays, strict=True)]
        return _product_of(factors)

    over, hint = list(range(len(back), len(dims))), op.result.hint or "product"
    if not over:
        return b.filled(dims, entry, FLOAT64, hint)
    return reduced(b, dims, entry, over, "add_any_order", zero_of(FLOAT64), FLOAT64, hint)


def _lengths_of_letters(b: Builder, terms: list[str], arrays: list[Array]) -> dict[str, Dim]:
    lengths: dict[str, Dim] = {}
    for term, array in zip(terms, arrays, strict=True):
        for letter, dim in zip(term, array.dims, strict=True):
            if letter not in lengths or b.is_one(lengths[letter]):
                lengths[letter] = dim
            elif not b.is_one(dim):
                b.same(lengths[letter], dim)
    return lengths


def _factor(
    b: Builder, term: str, array: Array, where: dict[str, Affine], lengths: dict[str, Dim]
) -> Expr:
    index = []
    for letter, dim in zip(term, array.dims, strict=True):
        is_repeated = b.is_one(dim) and not b.is_one(lengths[letter])
        index.append(ZERO if is_repeated else where[letter])
    return in_dtype(array, at(array.entry, tuple(index)), FLOAT64)


def inner(b: Builder, op: Call, reps: list[Rep], options: dict[str, Any]) -> Rep:
    """Lower ``np.inner(a, b)`` and ``np.vdot(a, b)`` of real vectors."""
    _only(op, options)
    left, right = _two_vectors(op, reps)
    dtype = result_dtype(op, reps)
    b.same(left.dims[0], right.dims[0])
    return summed_products(b, [left, right], left.dims, [(0,), (0,)], [], dtype, op.result.hint)


def _two_vectors(op: Call, reps: list[Rep]) -> tuple[Array, Array]:
    left, right = reps
    for rep in (left, right):
        if not isinstance(rep, Array) or len(rep.dims) != 1:
            name = getattr(op.target, "__name__", "a product")
            raise NotCovered(f"np.{name} of other than vectors", op.where)
    assert isinstance(left, Array)
    assert isinstance(right, Array)
    return left, right


def _only(op: Call, options: dict[str, Any], *names: str) -> None:
    """Raise `NotCovered` for options other than `names`, unless they are None."""
    for name, value in options.items():
        if name not in names and value is not None:
            called = getattr(op.target, "__name__", "a call")
            raise NotCovered(f"np.{called} with {name}=", op.where)


OPTIONS: dict[Any, tuple[Callable[..., Rep], tuple[str, ...]]] = {}
for _targets, _lowering, _names in (
    ((np.sum,), total, ("axis", "dtype", "out", "keepdims", "initial", "where")),
    ((np.count_nonzero,), count, ("axis",)),
    ((np.mean,), average, ("axis", "dtype", "out", "keepdims")),
    ((np.prod,), product, ("axis", "dtype", "out", "keepdims")),
    ((np.max, np.amax, np.min, np.amin), extreme, ("axis", "out", "keepdims")),
    ((np.any, np.all), truth, ("axis", "out", "keepdims")),
    ((np.cumsum, np.cumprod), running, ("axis", "dtype", "out")),
    ((np.var, np.std), spread, ("axis", "dtype", "out", "ddof", "keepdims")),
    ((np.argmax, np.argmin), position, ("axis", "out")),
    ((np.outer,), outer, ("out",)),
    ((np.inner, np.vdot), inner, ()),
):
    for _target in _targets:
        OPTIONS[_target] = (_lowering, _names)
for _target in (operator.matmul, np.matmul, np.dot):
    OPTIONS[_target] = (matrix_product, ("out",))
OPTIONS[np.tensordot] = (tensor_product, ())
