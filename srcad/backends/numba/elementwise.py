"""Lowerings of elementwise calls: operators, ufuncs, conversions, ``np.where``."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from srcad import runtime
from srcad.backends.interface import NotCovered
from srcad.backends.numba.builder import Builder, converted, covered_dtype, zero_of
from srcad.backends.numba.loops import Affine, Apply, Constant, Expr, Integer, whole
from srcad.backends.numba.representations import (
    BOOL,
    FLOAT32,
    FLOAT64,
    INT64,
    Array,
    Known,
    Number,
    Parts,
    Rep,
)
from srcad.ir import primitives
from srcad.ir.core import Call
from srcad.ir.library_operations import is_elementwise
from srcad.ir.memory import module_of
from srcad.ir.traits import law_of, law_of_operator
from srcad.rules.registry import row_of
from srcad.types.numeric import DType, Numeric

Lowering = Callable[[Builder, Call, list[Rep]], Rep]

# What `lowers` and `calls` have registered: lowerings, and names of functions of floats in compiled
# code.
_LOWERINGS: dict[Any, Lowering] = {}
_NAMES: dict[Any, str] = {}
_OWN_DOMAIN = frozenset({"tanh", "erf", "math.atan", "math.asinh", "math.atan2", "math.hypot",
                         "math.copysign", "sign"})  # fmt: skip
# One number at a time, the library's functions take less time than those that vectorise.
_SCALAR_FORMS = {"sin": "math.sin", "cos": "math.cos", "tan": "math.tan", "power": "math.pow"}


def lowers(*targets: Any) -> Callable[[Lowering], Lowering]:
    """Register the lowering of callees that is not derived from their rows."""

    def register(lowering: Lowering) -> Lowering:
        _LOWERINGS.update(dict.fromkeys(targets, lowering))
        return lowering

    return register


def symbol_of(op: Call) -> str:
    """Return the text of the operator that a call computes."""
    sign = row_of(op.target).sign
    assert sign is not None
    return sign.text


def dtype_of(rep: Rep) -> DType:
    """Return the dtype of a number or an array."""
    if isinstance(rep, Number | Array):
        return rep.dtype
    raise NotCovered("an operand that is no number")


def result_dtype(op: Call, reps: list[Rep]) -> DType:
    """Return the dtype of a result from its type, else by NumPy's promotion of the operands."""
    type_ = op.result.type
    numbers = [r for r in reps if isinstance(r, Number | Array)]
    if len(numbers) != len(reps):
        raise NotCovered("an operand that is no number", op.where)
    if isinstance(type_, Numeric) and type_.dtype is not None:
        return covered_dtype(type_.dtype)
    strong = [r.dtype for r in numbers if not _is_weak(r)]
    weak = [r.dtype for r in numbers if _is_weak(r)]
    if not strong:
        return np.result_type(*weak)
    kinds = "biufc"
    top = max(strong, key=lambda d: kinds.index(d.kind))
    strong += [d for d in weak if kinds.index(d.kind) > kinds.index(top.kind)]
    return covered_dtype(np.result_type(*strong))


def _is_weak(rep: Rep) -> bool:
    return isinstance(rep, Number) and rep.may_be_python


def may_be_python(op: Call, reps: list[Rep]) -> bool:
    """Return True if the result may be a Python number, with arithmetic that may raise."""
    type_ = op.result.type
    if isinstance(type_, Numeric) and type_.form in ("numpy", "array"):
        return False
    return all(isinstance(r, Number) and r.may_be_python for r in reps)


def in_dtype(rep: Rep, expr: Expr, dtype: DType) -> Expr:
    """Return an entry of an operand, converted to the dtype of the operation."""
    mine = dtype_of(rep)
    if mine == dtype:
        return expr
    if dtype == FLOAT64 and isinstance(expr, Integer) and not expr.value.terms:
        return Constant(repr(float(expr.value.constant)))
    return converted(expr, mine, dtype)


def result_extent(op: Call) -> Any:
    """Return the value of a Python integer as an extent of the types; None if unknown."""
    type_ = op.result.type
    return type_.value if isinstance(type_, Numeric) else None


def _made(
    b: Builder,
    op: Call,
    form: str,
    reps: list[Rep],
    dtype: DType,
    inner: DType | None = None,
    into: Array | None = None,
) -> Number | Array:
    work = dtype if inner is None else inner
    if form in _SCALAR_FORMS and not any(isinstance(r, Array) for r in reps):
        form = _SCALAR_FORMS[form]

    def make(exprs: list[Expr]) -> Expr:
        args = tuple(in_dtype(r, e, work) for r, e in zip(reps, exprs, strict=True))
        if work == FLOAT32 and form.isidentifier():  # functions are of doubles
            wide = tuple(Apply("np.float64", (a,)) for a in args)
            return converted(Apply(form, wide), FLOAT64, dtype)
        result = Apply(form, args)
        return result if inner is None or inner == dtype else converted(result, inner, dtype)

    return b.elementwise(
        make, reps, dtype, op.result.hint, may_be_python=may_be_python(op, reps), into=into
    )


# ------------------------------------------------------------------------------ arithmetic
def arithmetic(b: Builder, op: Call, reps: list[Rep]) -> Rep:
    """Lower ``a + b``, ``a - b``, ``a * b``."""
    return arithmetic_of(b, symbol_of(op), reps, op)


def arithmetic_of(b: Builder, symbol: str, reps: list[Rep], op: Call) -> Rep:
    """Return a sum, a difference or a product."""
    dtype = result_dtype(op, reps)
    if all(isinstance(r, Number) and r.dtype.kind in "iub" for r in reps):
        return _integers(b, op, symbol, reps, dtype)
    if dtype == BOOL:
        raise NotCovered("arithmetic of flags", op.where)
    into = _in_place_target(b, op, reps)
    return _made(b, op, symbol, reps, dtype, into=into)


def _in_place_target(b: Builder, op: Call, reps: list[Rep]) -> Array | None:
    """Return the first operand if the result has its shape and may overwrite it."""
    first = reps[0] if reps else None
    if not op.in_place or not isinstance(first, Array) or not b.is_whole(first):
        return None
    storage = b.storages.get(first.storage or "")
    if storage is None or first.dtype != result_dtype(op, reps):
        return None
    rank = max(len(r.dims) for r in reps if isinstance(r, Array))
    if rank != len(first.dims):
        return None
    for r in reps[1:]:
        if isinstance(r, Array):
            for mine, other in zip(first.dims[-len(r.dims) :], r.dims, strict=False):
                if b.is_one(mine) and not b.is_one(other):
                    return None
    return first


def _integers(b: Builder, op: Call, symbol: str, reps: list[Rep], dtype: DType) -> Rep:
    """Lower integer arithmetic: affine where possible, else guarded against overflow."""
    left, right = reps
    assert isinstance(left, Number)
    assert isinstance(right, Number)
    if dtype.kind != "i" or BOOL in (left.dtype, right.dtype):
        dtype = INT64
        left, right = _as_integer(left), _as_integer(right)
    python, extent = may_be_python(op, reps), result_extent(op)
    one, two = left.affine, right.affine
    if one is not None and two is not None:
        linear: Affine | None = None
        if symbol in "+-":
            linear = one + two if symbol == "+" else one - two
        elif not one.terms or not two.terms:
            linear = two.scaled(one.constant) if not one.terms else one.scaled(two.constant)
        if linear is not None and (extent is not None or not linear.terms):
            return Number(Integer(linear), INT64, python, extent)
    exprs = (left.expr, right.expr)
    if python and extent is None and symbol == "*":
        product = Apply("*", tuple(Apply("float", (e,)) for e in exprs))
        b.guard(Apply(">", (Apply("abs", (product,)), Constant("2.0**62"))))
    made = b.assign(
        Apply(symbol, exprs), INT64, op.result.hint, may_be_python=python, extent=extent
    )
    if python and extent is None:
        b.guard(Apply(">", (Apply("abs", (made.expr,)), Integer(whole(2**61)))))
    return made


def _as_integer(number: Number) -> Number:
    if number.dtype.kind == "i":
        return number
    return Number(Apply("int", (number.expr,)), INT64, number.may_be_python)


def division(b: Builder, op: Call, reps: list[Rep]) -> Rep:
    """Lower ``a / b``, with a guard against zero for Python numbers."""
    dtype = result_dtype(op, reps)
    if dtype.kind != "f":
        dtype = FLOAT64
    if may_be_python(op, reps):
        _nonzero(b, reps[1])
    return _made(b, op, "/", reps, dtype, into=_in_place_target(b, op, reps))


def _nonzero(b: Builder, divisor: Rep) -> None:
    assert isinstance(divisor, Number)
    known = divisor.constant
    is_literal = isinstance(divisor.expr, Constant)
    if known or (is_literal and divisor.expr.text not in ("0.0", "-0.0")):  # type: ignore[union-attr]
        return
    b.guard(Apply("==", (divisor.expr, zero_of(divisor.dtype))))


def whole_division(b: Builder, op: Call, reps: list[Rep]) -> Rep:
    """Lower ``a // b`` and ``a % b``."""
    symbol = symbol_of(op)
    dtype = result_dtype(op, reps)
    if dtype not in (INT64, FLOAT64):
        raise NotCovered(f"{symbol} of {dtype}", op.where)
    divisor = reps[1]
    if not isinstance(divisor, Number) and dtype == INT64:
        raise NotCovered(f"{symbol} of integers by an array", op.where)
    if isinstance(divisor, Number) and (dtype == INT64 or may_be_python(op, reps)):
        _nonzero(b, divisor)
    return _made(b, op, symbol, reps, dtype)


def negative(b: Builder, op: Call, reps: list[Rep]) -> Rep:
    """Lower ``-a``."""
    (a,) = reps
    if isinstance(a, Number) and a.affine is not None:
        return Number(Integer(a.affine.scaled(-1)), INT64, a.may_be_python, result_extent(op))
    dtype = result_dtype(op, reps)
    if dtype == BOOL:
        raise NotCovered("the negative of flags", op.where)
    return _made(b, op, "neg", reps, dtype, into=_in_place_target(b, op, reps))


def positive(b: Builder, op: Call, reps: list[Rep]) -> Rep:
    """Lower ``+a``."""
    return reps[0]


@lowers(np.square)
def squared(b: Builder, op: Call, reps: list[Rep]) -> Rep:
    """Lower ``np.square(a)``."""
    return _product(b, op, reps[0], 2, result_dtype(op, reps))


@lowers(np.reciprocal)
def reciprocal(b: Builder, op: Call, reps: list[Rep]) -> Rep:
    """Lower ``np.reciprocal(a)``."""
    dtype = result_dtype(op, reps)
    if dtype.kind != "f":
        raise NotCovered("a reciprocal of integers", op.where)
    one = Constant("1.0") if dtype == FLOAT64 else Constant("np.float32(1.0)")
    return b.elementwise(
        lambda e: Apply("/", (one, in_dtype(reps[0], e[0], dtype))), reps, dtype, op.result.hint
    )


@lowers(operator.abs, abs, np.abs, np.fabs, math.fabs)
def absolute(b: Builder, op: Call, reps: list[Rep]) -> Rep:
    """Lower ``abs(a)``."""
    return _made(b, op, "abs", reps, result_dtype(op, reps))


def power(b: Builder, op: Call, reps: list[Rep]) -> Rep:
    """Lower ``a ** b``: a product for small whole exponents."""
    base, exponent = reps
    dtype = result_dtype(op, reps)
    n = _whole_number(exponent)
    if dtype.kind != "f":
        if n is None or not 0 <= n <= 3 or not isinstance(base, Array):
            raise NotCovered("a power of integers", op.where)
        return _product(b, op, base, n, dtype)
    if n is not None and 1 <= n <= 4:
        result = _product(b, op, base, n, dtype)
        if may_be_python(op, reps):
            _finite(b, result)
        return result
    if n == 0:
        return _product(b, op, base, 0, dtype)
    is_root = (
        isinstance(exponent, Number)
        and isinstance(exponent.expr, Constant)
        and (exponent.expr.text == "0.5")
    )
    if is_root and isinstance(base, Array) and law_of_operator(op.target) == "power":
        return _made(b, op, "np.sqrt", [base], dtype)
    result = _made(b, op, "power", reps, dtype)
    if may_be_python(op, reps):
        _finite(b, result)
    return result


def _whole_number(rep: Rep) -> int | None:
    if not isinstance(rep, Number):
        return None
    if rep.constant is not None:
        return rep.constant
    if isinstance(rep.expr, Constant):
        try:
            value = float(rep.expr.text)
        except ValueError:
            return None
        return int(value) if value.is_integer() else None
    return None


def _product(b: Builder, op: Call, base: Rep, n: int, dtype: DType) -> Number | Array:
    def make(exprs: list[Expr]) -> Expr:
        (x,) = (in_dtype(base, e, dtype) for e in exprs)
        if n == 0:
            return Constant("1.0") if dtype.kind == "f" else Integer(whole(1))
        square = Apply("*", (x, x))
        return {1: x, 2: square, 3: Apply("*", (square, x)), 4: Apply("*", (square, square))}[n]

    if isinstance(base, Number) and not _is_simple(base.expr):
        base = b.assign(base.expr, base.dtype, "t", may_be_python=base.may_be_python)
    return b.elementwise(
        make, [base], dtype, op.result.hint, may_be_python=may_be_python(op, [base])
    )


def _is_simple(expr: Expr) -> bool:
    return not isinstance(expr, Apply)


def _finite(b: Builder, result: Rep) -> None:
    """Add a guard against a result that is not finite: functions of `math` raise there."""
    assert isinstance(result, Number)
    b.guard(Apply("not", (Apply("np.isfinite", (result.expr,)),)))


# -------------------------------------------------------------------------------- functions
def function(b: Builder, op: Call, reps: list[Rep]) -> Rep:
    """Lower a function of one float operand."""
    if len(reps) != 1:
        raise NotCovered(f"{getattr(op.target, '__name__', 'a call')} with options", op.where)
    name = _NAMES[op.target]
    dtype = result_dtype(op, reps)
    if dtype.kind != "f":
        if name == "sign" and dtype == INT64:
            return _made(b, op, name, reps, INT64, inner=FLOAT64)
        raise NotCovered(f"{name} of integers", op.where)
    result = _made(b, op, name, reps, dtype)
    if getattr(op.target, "__module__", None) == "math" and name not in _OWN_DOMAIN:
        _finite(b, result)
    return result


def pair(b: Builder, op: Call, reps: list[Rep]) -> Rep:
    """Lower a function of two floats."""
    if len(reps) != 2:
        raise NotCovered(f"{getattr(op.target, '__name__', 'a call')} with options", op.where)
    dtype, name = result_dtype(op, reps), _NAMES[op.target]
    if dtype.kind != "f":
        if name not in ("maximum", "minimum", "fmax", "fmin") or dtype != INT64:
            raise NotCovered(f"{name} of integers", op.where)
        return _made(
            b, op, "max" if name.endswith("max") or name == "maximum" else "min", reps, INT64
        )
    return _made(b, op, name, reps, dtype)


def calls(name: str, lowering: Lowering, *targets: Any) -> None:
    """Register functions of floats, which compiled code calls by a name."""
    lowers(*targets)(lowering)
    _NAMES.update(dict.fromkeys(targets, name))


calls("exp", function, np.exp, math.exp)
calls("expm1", function, np.expm1, math.expm1)
calls("log", function, np.log, math.log)
calls("log1p", function, np.log1p, math.log1p)
calls("log2", function, np.log2, math.log2)
calls("log10", function, np.log10, math.log10)
calls("tanh", function, np.tanh, math.tanh)
calls("sin", function, np.sin, math.sin)
calls("cos", function, np.cos, math.cos)
calls("tan", function, np.tan, math.tan)
calls("sinh", function, np.sinh, math.sinh)
calls("cosh", function, np.cosh, math.cosh)
calls("math.asin", function, np.arcsin, math.asin)
calls("math.acos", function, np.arccos, math.acos)
calls("math.atan", function, np.arctan, math.atan)
calls("math.asinh", function, np.arcsinh, math.asinh)
calls("math.acosh", function, np.arccosh, math.acosh)
calls("math.atanh", function, np.arctanh, math.atanh)
calls("np.sqrt", function, np.sqrt, math.sqrt)
calls("erf", function, math.erf)
calls("np.floor", function, np.floor)
calls("np.ceil", function, np.ceil)
calls("np.trunc", function, np.trunc)
calls("np.rint", function, np.rint)
calls("sign", function, np.sign, runtime.sign)
calls("expit", function, runtime.logistic)
calls("maximum", pair, np.maximum)
calls("minimum", pair, np.minimum)
calls("fmax", pair, np.fmax)
calls("fmin", pair, np.fmin)
calls("logaddexp", pair, np.logaddexp)
calls("math.atan2", pair, np.arctan2, math.atan2)
calls("math.hypot", pair, np.hypot, math.hypot)
calls("math.copysign", pair, np.copysign, math.copysign)


@lowers(max, min)
def python_extreme(b: Builder, op: Call, reps: list[Rep]) -> Rep:
    """Lower Python's ``max(a, b)``: the first operand unless a later one is greater."""
    if len(reps) < 2 or not all(isinstance(r, Number) for r in reps):
        raise NotCovered("max or min of a sequence", op.where)
    dtypes = {dtype_of(r) for r in reps}
    if len(dtypes) != 1:
        raise NotCovered("max or min of integers and floats", op.where)
    (dtype,) = dtypes
    symbol = ">" if law_of(op.target) == "largest" else "<"
    best = reps[0]
    for other in reps[1:]:
        assert isinstance(best, Number)
        assert isinstance(other, Number)
        choice = Apply("if", (Apply(symbol, (other.expr, best.expr)), other.expr, best.expr))
        best = b.assign(choice, dtype, op.result.hint, may_be_python=may_be_python(op, reps))
    return best


def question(b: Builder, op: Call, reps: list[Rep]) -> Rep:
    """Lower ``np.isnan(a)`` and similar."""
    (a,) = reps
    name = f"np.{op.target.__name__}"
    work = dtype_of(a) if dtype_of(a).kind == "f" else FLOAT64
    return (
        _made(b, op, name, reps, BOOL, inner=work)
        if work == FLOAT64
        else b.elementwise(lambda e: Apply(name, tuple(e)), reps, BOOL, op.result.hint)
    )


def comparison(b: Builder, op: Call, reps: list[Rep]) -> Rep:
    """Lower ``a < b`` and similar."""
    if any(isinstance(r, Known | Parts) for r in reps):
        raise NotCovered("a comparison of structures", op.where)
    symbol = symbol_of(op)
    left, right = reps
    for one, other in ((left, right), (right, left)):
        is_zero = isinstance(other, Number) and other.constant == 0
        if symbol == "==" and is_zero and dtype_of(one) == BOOL:
            return b.elementwise(lambda e: Apply("not", tuple(e)), [one], BOOL, op.result.hint)
    if BOOL in (dtype_of(left), dtype_of(right)) and dtype_of(left) != dtype_of(right):
        raise NotCovered("a comparison of flags and numbers", op.where)

    def make(exprs: list[Expr]) -> Expr:
        args = list(exprs)
        for k, (mine, other) in enumerate(((left, right), (right, left))):
            if dtype_of(other) == FLOAT32 and _is_weak(mine) and dtype_of(mine).kind == "f":
                args[k] = converted(args[k], FLOAT64, FLOAT32)
        return Apply(symbol, tuple(args))

    return b.elementwise(make, reps, BOOL, op.result.hint)


def logical(b: Builder, op: Call, reps: list[Rep]) -> Rep:
    """Lower ``a & b`` and similar, for booleans."""
    dtype = result_dtype(op, reps)
    if dtype != BOOL:
        raise NotCovered("bits of integers", op.where)

    def make(exprs: list[Expr]) -> Expr:
        args = tuple(converted(e, dtype_of(r), BOOL) for r, e in zip(reps, exprs, strict=True))
        return Apply(symbol_of(op), args)

    return b.elementwise(make, reps, BOOL, op.result.hint)


@lowers(primitives.not_, operator.not_, np.logical_not, operator.invert, np.invert)
def negation(b: Builder, op: Call, reps: list[Rep]) -> Rep:
    """Lower ``not a``, ``np.logical_not(a)``, and ``~a`` of booleans."""
    if op.target in (operator.invert, np.invert) and dtype_of(reps[0]) != BOOL:
        raise NotCovered("bits of integers", op.where)
    if op.target is primitives.not_ and isinstance(reps[0], Array):
        raise NotCovered("the truth of an array", op.where)
    dtype = dtype_of(reps[0])
    return b.elementwise(
        lambda e: Apply("not", (converted(e[0], dtype, BOOL),)), reps, BOOL, op.result.hint
    )


@lowers(np.where)
def where(b: Builder, op: Call, reps: list[Rep]) -> Rep:
    """Lower ``np.where(condition, a, b)``."""
    if len(reps) != 3:
        raise NotCovered("np.where of a condition alone", op.where)
    dtype = result_dtype(op, reps[1:])
    test = dtype_of(reps[0])

    def make(exprs: list[Expr]) -> Expr:
        values = tuple(in_dtype(r, e, dtype) for r, e in zip(reps[1:], exprs[1:], strict=True))
        return Apply("if", (converted(exprs[0], test, BOOL), *values))

    return b.elementwise(make, reps, dtype, op.result.hint)


@lowers(runtime.zero_at_pole, runtime.zero_if_still)
def zero_unless(b: Builder, op: Call, reps: list[Rep]) -> Rep:
    """Lower the helpers that return a derivative, and 0 where a condition is False."""
    bar, condition = reps
    dtype, test = result_dtype(op, [bar]), dtype_of(condition)

    def make(exprs: list[Expr]) -> Expr:
        value = in_dtype(bar, exprs[0], dtype)
        return Apply("if", (converted(exprs[1], test, BOOL), value, zero_of(dtype)))

    return b.elementwise(make, reps, dtype, op.result.hint)


@lowers(np.clip)
def clip(b: Builder, op: Call, reps: list[Rep]) -> Rep:
    """Lower ``np.clip(x, low, high)``."""
    if len(reps) != 3:
        raise NotCovered("np.clip with options", op.where)
    dtype = result_dtype(op, reps)
    if dtype.kind != "f":
        raise NotCovered("np.clip of integers", op.where)
    bounds = [not (isinstance(r, Known) and r.value is None) for r in reps[1:]]
    used = [reps[0], *(r for r, has in zip(reps[1:], bounds, strict=True) if has)]

    def make(exprs: list[Expr]) -> Expr:
        args = [in_dtype(r, e, dtype) for r, e in zip(used, exprs, strict=True)]
        result = args.pop(0)
        for name, has in zip(("maximum", "minimum"), bounds, strict=True):
            if has:
                result = Apply(name, (result, args.pop(0)))
        return result

    return b.elementwise(make, used, dtype, op.result.hint)


@lowers(float, int, bool, np.float64, np.int64)
def conversion(b: Builder, op: Call, reps: list[Rep]) -> Rep:
    """Lower ``float(x)``, ``np.float64(x)``, ``int(x)``, ``bool(x)``."""
    (x,) = reps
    if isinstance(x, Array) and not x.dims:
        x = b.number(x)
    if not isinstance(x, Number):
        raise NotCovered("a conversion of an array to a number", op.where)
    name = op.target.__name__
    to = {"float": FLOAT64, "float64": FLOAT64, "int": INT64, "int64": INT64, "bool": BOOL}[name]
    python = op.target in (float, int, bool)
    if to == INT64 and x.dtype.kind == "f":
        b.guard(Apply("not", (Apply("<", (Apply("abs", (x.expr,)), Constant("2.0**53"))),)))
    if x.dtype == to:
        return Number(x.expr, to, python, x.extent)
    return b.assign(converted(x.expr, x.dtype, to), to, op.result.hint, may_be_python=python)


# The lowerings of operators, and of functions that compute the same.
_OPERATORS: dict[type[ast.AST], Lowering] = {
    ast.Add: arithmetic, ast.Sub: arithmetic, ast.Mult: arithmetic, ast.Div: division,
    ast.FloorDiv: whole_division, ast.Mod: whole_division, ast.Pow: power, ast.USub: negative,
    ast.UAdd: positive, ast.BitAnd: logical, ast.BitOr: logical, ast.BitXor: logical,
}  # fmt: skip


def lowering_by_row(target: Any) -> Lowering | None:
    """Return the lowering of an operator, comparison or test, as the row of the callee tells."""
    row = row_of(target)
    if row.answers == "nan":
        return question if is_elementwise(target) or module_of(target) == "math" else None
    if row.sign is None:
        return None
    is_comparison = row.answers in ("order", "equality")
    return comparison if is_comparison else _OPERATORS.get(row.sign.node)


def table() -> dict[Any, Lowering]:
    """Return the lowerings of elementwise calls that no row tells."""
    return dict(_LOWERINGS)
