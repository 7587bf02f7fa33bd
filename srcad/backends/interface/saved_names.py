"""Names of residuals: the adjoint's parameters are named after the primal's variables.

The names are taken from the generated code of the primal: only there it is known which values share
a variable, and which names have a number appended.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Sequence

from srcad.backends.python.naming.names import fresh
from srcad.frontend.source.text import parse
from srcad.ir.core import Function, Value
from srcad.ir.substitute import substituted_block
from srcad.startup.identifiers import identifier
from srcad.startup.records import replace


def returned_items(text: str, count: int, among: int | None = None) -> list[ast.expr] | None:
    r"""Return the last `count` expressions that the first function of generated code returns.

    Where it returns in several places, a variable goes before another expression, and a constant
    is last: it stands for a value that another path saves.  None if it returns no more than
    `count` items, or not `among` items, or if the text of a backend is no Python.

    >>> text = "def f(x, n):\n    if n: return x, None, x\n    return x, tanh, np.sin(x)\n"
    >>> [ast.unparse(item) for item in returned_items(text, 2)]
    ['tanh', 'x']
    """
    tree = parse(text)
    if tree is None or not tree.body:
        return None
    definition = tree.body[0]
    returned = [node.value for node in ast.walk(definition) if isinstance(node, ast.Return)]
    whole = [
        one.elts[-count:]
        for one in returned[::-1]
        if isinstance(one, ast.Tuple) and len(one.elts) > count
        if among in (None, len(one.elts))
    ]
    if not whole:
        return None
    return [min(items, key=_rank) for items in zip(*whole, strict=True)]


def _rank(item: ast.expr) -> int:
    return 0 if isinstance(item, ast.Name) else 2 if isinstance(item, ast.Constant) else 1


def names_of_saved(text: str, count: int, among: int) -> list[str] | None:
    r"""Return distinct names for the last `count` of `among` expressions that a function returns.

    They differ from each other.  An item that is no variable has a name from its operation.  None
    if the function returns another number of items.

    >>> names_of_saved("def f(x):\n    return x * x, x, tanh, np.sin(x), x[0], x\n", 5, 6)
    ['x', 'tanh', 'sin', 'part', 'x_1']
    """
    items = returned_items(text, count, among)
    if items is None:
        return None
    variables = {item.id for item in items if isinstance(item, ast.Name)}
    names: list[str] = []
    for item in items:
        wanted = _wanted(item)
        is_first = isinstance(item, ast.Name) and wanted not in names
        names.append(wanted if is_first else fresh(wanted, {*variables, *names}))
    return names


def _wanted(item: ast.expr) -> str:
    match item:
        case ast.Name(id=name):
            return name
        case ast.Attribute(attr=name) | ast.Call(func=ast.Attribute(attr=name)):
            return identifier(name)
        case ast.Call(func=ast.Name(id=name)):
            return f"{name}_value" if hasattr(builtins, name) else name
        case ast.Compare() | ast.BoolOp():
            return "test"
        case ast.Subscript():
            return "part"
    return "value"


def named_alike(adjoint: Function, primal: Function, text: str, count: int) -> Function:
    """Rename the first `count` parameters of an adjoint after the variables of the primal.

    Parameters
    ----------
    adjoint : Function
        Its first parameters are the last results of the primal.
    primal, text
        The primal, and what a backend has written for it.  If that does not return one item for
        each result, the adjoint is returned as it is.
    """
    names = names_of_saved(text, count, len(primal.block.results))
    return adjoint if names is None else with_parameter_names(adjoint, names)


def with_parameter_names(function: Function, names: Sequence[str]) -> Function:
    """Rename the first parameters of a function."""
    old = function.params[: len(names)]
    new = [Value(value.type, name) for value, name in zip(old, names, strict=True)]
    block = substituted_block(function.block, dict(zip(old, new, strict=True)))
    return replace(function, params=(*new, *function.params[len(names) :]), block=block)
