"""How a call is written: operators, subscripts, attributes and methods where Python has them.

One small function per form; what is not registered is written as a call.
"""

from __future__ import annotations

import ast
import builtins
import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from srcad.backends.python.naming.names import Globals, attribute
from srcad.ir.core import UNDEF, Arg, Call, Const, Display, Value
from srcad.ir.operations import ALL_BUT_LAST, operation_of
from srcad.rules.registry import row_of_operator
from srcad.rules.row import Sign
from srcad.startup.identifiers import is_name, plain
from srcad.types.numeric import Numeric
from srcad.types.structures import PlacesOf

# Filling operands into the form that an operation's row says Python writes it in.

_OPERANDS = "abc"


def filled_expression(form: str, operands: Sequence[ast.expr], space: Globals) -> ast.expr:
    """Return the expression with the operands in the places of ``a``, ``b`` and ``c``.

    >>> import ast
    >>> from srcad.backends.python.naming.names import Globals
    >>> operands = [ast.Name("items"), ast.Constant(2.0)]
    >>> ast.unparse(filled_expression("[*a, b]", operands, Globals({})))
    '[*items, 2.0]'
    """
    statement = _parsed(form)
    assert isinstance(statement, ast.Expr), form
    found = _filled(statement.value, operands, space)
    assert isinstance(found, ast.expr)
    return found


def filled_statement(form: str, operands: Sequence[ast.expr], space: Globals) -> ast.stmt:
    """Return the statement with the operands in the places of ``a``, ``b`` and ``c``."""
    found = _filled(_parsed(form), operands, space)
    assert isinstance(found, ast.stmt)
    return found


@functools.cache
def _parsed(form: str) -> ast.stmt:
    (statement,) = ast.parse(form).body
    return statement


def _filled(node: Any, operands: Sequence[ast.expr], space: Globals) -> Any:
    if isinstance(node, list):
        return [_filled(part, operands, space) for part in node]
    if isinstance(node, ast.Name):
        return _named(node.id, operands, space)
    if not isinstance(node, ast.AST):
        return node
    parts = {name: _filled(part, operands, space) for name, part in ast.iter_fields(node)}
    return type(node)(**parts)


def _named(name: str, operands: Sequence[ast.expr], space: Globals) -> ast.expr:
    """Return the meaning of a name in a form: an operand, NumPy, or one of Python's functions."""
    if name in _OPERANDS:
        return operands[_OPERANDS.index(name)]
    return space.numpy() if name == "np" else space.expression(getattr(builtins, name))


# Constants as expressions.
#
# Only values of exact builtin type become literals. Everything else (arrays, functions, dtypes)
# is an object that the generated module refers to by name.

_LARGE = 10**300


def constant(const: Const, space: Globals) -> ast.expr:
    if const is UNDEF:
        return ast.Constant(None)
    node = space.spelled(const.value, const.spelling) if const.spelling else None
    node = node or literal(const.value, space)
    return node if node is not None else space.expression(const.value, const.spelling)


def literal(value: Any, space: Globals) -> ast.expr | None:
    """Return the literal for a value of exact builtin type, or None."""
    kind = type(value)
    if value is None or value is Ellipsis or kind in (bool, str, bytes):
        return ast.Constant(value)
    if kind is int:
        return _signed(value, value < 0) if abs(value) < _LARGE else None
    if kind is float:
        return _float(value, space)
    if kind is complex:
        return _complex(value)
    if kind is tuple:
        items = [constant(Const(item), space) for item in value]
        return ast.Tuple(items, ast.Load())
    if kind in (slice, range):
        parts = (value.start, value.stop, value.step)
        name = space.expression(kind)
        return ast.Call(name, [constant(Const(part), space) for part in parts], [])
    return None


def _signed(value: Any, negative: bool) -> ast.expr:
    """Negative numbers are a minus and a number: ``(-2.0)**2`` must not become ``-2.0 ** 2``."""
    if negative:
        return ast.UnaryOp(ast.USub(), ast.Constant(-value))
    return ast.Constant(value)


def _float(value: float, space: Globals) -> ast.expr | None:
    negative = math.copysign(1.0, value) < 0
    if math.isfinite(value):
        return _signed(value, negative)
    if math.isnan(value):
        return None if negative else attribute(space.numpy(), "nan")
    node = attribute(space.numpy(), "inf")
    return ast.UnaryOp(ast.USub(), node) if negative else node


def _complex(value: complex) -> ast.expr | None:
    """``1.5 + 2j``; what a sum of two literals would not give back exactly is not a literal."""
    below = math.copysign(1.0, value.imag) < 0
    negative = math.copysign(1.0, value.real) < 0
    if below and value.real == 0 and negative:  # -1j has the real part -0.0
        return ast.UnaryOp(ast.USub(), ast.Constant(complex(0.0, -value.imag)))
    negative = negative or below
    if negative or not (math.isfinite(value.real) and math.isfinite(value.imag)):
        return None
    imaginary = ast.Constant(complex(0.0, value.imag))
    if value.real == 0:
        return imaginary
    return ast.BinOp(ast.Constant(value.real), ast.Add(), imaginary)


def is_dtype(value: Any) -> bool:
    """Return True if a value is a dtype that its scalar type names as well."""
    return isinstance(value, np.dtype) and np.dtype(value.type) == value


class Scope(Protocol):
    """The part of the writer that a spelling needs."""

    space: Globals

    def expr(self, arg: Arg) -> ast.expr:
        """Return the expression for an argument."""


Spelling = Callable[[Scope, Call], ast.expr | None]
# What `spells` has registered.
_SPELLINGS: dict[Any, Spelling] = {}


def spells(target: Any) -> Callable[[Spelling], Spelling]:
    """Register the form in which calls of a function are written, unless it returns None."""

    def register(spelling: Spelling) -> Spelling:
        _SPELLINGS[target] = spelling
        return spelling

    return register


def call_expression(scope: Scope, op: Call) -> ast.expr:
    found = _special(scope, op)
    if found is not None:
        return found
    args = [scope.expr(arg) for arg in op.args]
    keywords = [keyword(name, _keyword(scope, name, arg)) for name, arg in op.kwargs]
    return ast.Call(scope.space.expression(op.target), args, keywords)


def keyword(name: str, value: ast.expr) -> ast.keyword:
    """``name=value``; a name that cannot be written so goes into a dict: ``**{"a b": value}``."""
    if is_name(name):
        return ast.keyword(name, value)
    return ast.keyword(None, ast.Dict([ast.Constant(plain(name))], [value]))


def _special(scope: Scope, op: Call) -> ast.expr | None:
    """Return the expression for a call that Python has a form for."""
    try:
        spelling = _SPELLINGS.get(op.target)
    except TypeError:
        return None
    if spelling is not None:
        return spelling(scope, op)
    operator_row = row_of_operator(op.target)
    if operator_row is not None and operator_row.sign is not None:
        return _operator(scope, op, operator_row.sign)
    row = operation_of(op.target)
    if row is None or row.written is None:
        return None
    special = FORMS.get(row.written)
    if special is not None:
        return special(scope, op)
    return filled_expression(row.written, [scope.expr(arg) for arg in op.args], scope.space)


def _keyword(scope: Scope, name: str, arg: Arg) -> ast.expr:
    """``dtype=np.float32`` rather than a dtype object by name."""
    if name == "dtype" and isinstance(arg, Const) and is_dtype(arg.value):
        return scope.space.expression(arg.value.type)
    return scope.expr(arg)


# -------------------------------------------------------------------------------- operators
def _operator(scope: Scope, op: Call, sign: Sign) -> ast.expr | None:
    if op.kwargs:
        return None
    node = sign.node()
    match node, op.args:
        case ast.operator(), (left, right):
            return ast.BinOp(scope.expr(left), node, scope.expr(right))
        case ast.unaryop(), (operand,):
            return ast.UnaryOp(node, scope.expr(operand))
        case ast.cmpop(), (left, right):
            return _compare(scope.expr(left), node, scope.expr(right))
    return None


def binary_sign(target: Any) -> type[ast.operator] | None:
    """Return the class of nodes for ``a + b`` and ``a += b``, but not for ``a < b``; or None."""
    row = row_of_operator(target)
    node = None if row is None or row.sign is None else row.sign.node
    return node if node is not None and issubclass(node, ast.operator) else None


def _compare(left: ast.expr, sign: ast.cmpop, right: ast.expr) -> ast.expr:
    return ast.Compare(left, [sign], [right])


@spells(operator.contains)
def _contains(scope: Scope, op: Call) -> ast.expr | None:
    container, member = op.args
    return _compare(scope.expr(member), ast.In(), scope.expr(container))


def _apply(scope: Scope, op: Call) -> ast.expr | None:
    function, *args = op.args
    keywords = [keyword(name, scope.expr(arg)) for name, arg in op.kwargs]
    return ast.Call(scope.expr(function), [scope.expr(a) for a in args], keywords)


@spells(operator.abs)
def _absolute(scope: Scope, op: Call) -> ast.expr | None:
    return ast.Call(scope.space.expression(abs), [scope.expr(op.args[0])], [])


# ------------------------------------------------------------------------------- subscripts
def subscript(scope: Scope, container: Arg, index: Arg) -> ast.expr:
    whole = scope.expr(container)
    if isinstance(whole, ast.Constant) and not isinstance(whole.value, str | bytes):
        # Python warns of ``(1.0)[0]`` when it compiles, even where nobody gets there.
        whole = ast.Call(attribute(scope.space.numpy(), "asarray"), [whole], [])
    return ast.Subscript(whole, index_expression(scope, index), ast.Load())


def index_expression(scope: Scope, index: Arg) -> ast.expr:
    """Return the expression between the brackets."""
    if isinstance(index, Const) and type(index.value) is tuple and index.value:
        return _index_tuple(scope, [Const(part) for part in index.value])
    if isinstance(index, Display) and index.kind == "tuple" and index.items:
        return _index_tuple(scope, index.items)
    return _index_part(scope, index)


def _index_tuple(scope: Scope, parts: Sequence[Arg]) -> ast.expr:
    return ast.Tuple([_index_part(scope, part) for part in parts], ast.Load())


def _index_part(scope: Scope, part: Arg) -> ast.expr:
    if isinstance(part, Display) and part.kind == "slice":
        return ast.Slice(*[_bound(scope, bound) for bound in part.items])
    if isinstance(part, Const) and type(part.value) is slice:
        bounds = (part.value.start, part.value.stop, part.value.step)
        return ast.Slice(*[_bound(scope, Const(bound)) for bound in bounds])
    return scope.expr(part)


def _bound(scope: Scope, bound: Arg) -> ast.expr | None:
    return None if bound == Const(None) else scope.expr(bound)


def _getitem(scope: Scope, op: Call) -> ast.expr | None:
    return subscript(scope, op.args[0], op.args[1])


def _field(scope: Scope, op: Call) -> ast.expr | None:
    name = op.args[1]
    key = name.value if isinstance(name, Const) else None
    if is_name(key) and not key.startswith("__"):
        return attribute(scope.expr(op.args[0]), key)
    return ast.Call(scope.space.expression(getattr), [scope.expr(a) for a in op.args], [])


# -------------------------------------------------------------------- methods and attributes
def _is_array(arg: Arg) -> bool:
    return isinstance(arg, Value) and isinstance(arg.type, Numeric) and arg.type.form == "array"


def _attribute_of_array(name: str) -> Spelling:
    def spell(scope: Scope, op: Call) -> ast.expr | None:
        if len(op.args) != 1 or op.kwargs or not _is_array(op.args[0]):
            return None
        return attribute(scope.expr(op.args[0]), name)

    return spell


def _method_of_array(name: str, count: int) -> Spelling:
    def spell(scope: Scope, op: Call) -> ast.expr | None:
        if len(op.args) != count or op.kwargs or not _is_array(op.args[0]):
            return None
        args = [scope.expr(a) for a in op.args[1:]]
        return ast.Call(attribute(scope.expr(op.args[0]), name), args, [])

    return spell


spells(np.transpose)(_attribute_of_array("T"))
spells(np.size)(_attribute_of_array("size"))
spells(np.ndim)(_attribute_of_array("ndim"))
spells(np.reshape)(_method_of_array("reshape", 2))


@spells(np.copy)
def _copy(scope: Scope, op: Call) -> ast.expr | None:
    """``x.copy()``: where it matters (in the primal) it tells C order from the order of `x`."""
    array = op.args[0]
    type_ = array.type if isinstance(array, Value) else None
    if not isinstance(type_, Numeric) or type_.form != "array":
        return None
    order = dict(op.kwargs).get("order", Const("K"))
    flat = type_.shape is not None and len(type_.shape) < 2
    if order != Const("C") and not flat and op.half == "primal":
        return None
    return ast.Call(attribute(scope.expr(array), "copy"), [], [])


@spells(np.astype)
def _astype(scope: Scope, op: Call) -> ast.expr | None:
    if len(op.args) != 2 or not _is_array(op.args[0]):
        return None
    dtype = _keyword(scope, "dtype", op.args[1])
    keywords = [keyword(name, scope.expr(arg)) for name, arg in op.kwargs]
    return ast.Call(attribute(scope.expr(op.args[0]), "astype"), [dtype], keywords)


def _shape(scope: Scope, op: Call) -> ast.expr | None:
    if _is_array(op.args[0]):
        return attribute(scope.expr(op.args[0]), "shape")
    return ast.Call(scope.space.expression(np.shape), [scope.expr(op.args[0])], [])


# ------------------------------------------------------------------------------- structures
def _tuple(scope: Scope, op: Call) -> ast.expr | None:
    return ast.Tuple([scope.expr(a) for a in op.args], ast.Load())


def _list(scope: Scope, op: Call) -> ast.expr | None:
    return ast.List([scope.expr(a) for a in op.args], ast.Load())


def _dict(scope: Scope, op: Call) -> ast.expr | None:
    keys, *items = op.args
    if not isinstance(keys, Const):
        return None
    written: list[ast.expr | None] = [constant(Const(key), scope.space) for key in keys.value]
    return ast.Dict(written, [scope.expr(a) for a in items])


def _places(scope: Scope, op: Call) -> ast.expr | None:
    keys: list[ast.expr | None] = [scope.expr(key) for key in op.args]
    return ast.Dict(keys, [ast.Constant(k) for k in range(len(keys))])


def _record(scope: Scope, op: Call) -> ast.expr | None:
    if op.args[0] != Const(list):
        return None
    return ast.List([scope.expr(a) for a in op.args[2:]], ast.Load())


def _without(scope: Scope, op: Call) -> ast.expr | None:
    items = op.args[0]
    if op.args[1] != Const(-1) or not isinstance(items, Value) or isinstance(items.type, PlacesOf):
        return None
    last = ast.Slice(None, ast.UnaryOp(ast.USub(), ast.Constant(1)), None)
    return ast.Subscript(scope.expr(op.args[0]), last, ast.Load())


# The forms of our operations that need more care than to put the operands in.
FORMS: dict[str, Spelling] = {
    "a[b]": _getitem,
    "a.b": _field,
    "a.shape": _shape,
    "a(*b)": _apply,
    "(*a,)": _tuple,
    "[*a]": _list,
    "[*c]": _record,
    "{a: b}": _dict,
    "{a: 0}": _places,
    ALL_BUT_LAST: _without,
}
