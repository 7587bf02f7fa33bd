r"""Guess the types of arguments without an example, from how the code uses them.

A parameter that is subscripted with texts is a dict, one that is unpacked a tuple, one that a loop
unpacks a list of tuples, one that counts (``range(n)``) an integer; everything else is a float64
array of unknown rank.  The text that is written from this is for reading only.

>>> import ast
>>> tree = ast.parse("def f(p, layers, n, x):\n"
...                  "    for W, b in layers: x = W @ x + b\n"
...                  "    return p['a'] * x ** p['b'] * range(n)").body[0]
>>> for name, type_ in sorted(guessed(tree).items()):
...     print(name, type_)
layers list[(float64[...], float64[...])]
n int
p dict(a: float64[...], b: float64[...])
"""

from __future__ import annotations

import ast

import numpy as np

from srcad.types.numeric import array_type, int_type
from srcad.types.structures import ListOf, TupleOf, Type

ARRAY = array_type(np.float64, None)


def guessed(tree: ast.AST) -> dict[str, Type]:
    """Return the types of the names of which the code says more than that they are arrays."""
    found: dict[str, Type] = {}
    keys: dict[str, list[str]] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(key))):
                keys.setdefault(name, []).append(key)
            case ast.Call(func=ast.Name(id="range"), args=arguments):
                found.update({a.id: int_type(None) for a in arguments if isinstance(a, ast.Name)})
            case ast.Assign(targets=[ast.Tuple(elts=parts)], value=ast.Name(id=name)):
                found[name] = _tuple(parts)
            case ast.For(target=ast.Tuple(elts=parts), iter=ast.Name(id=name)):
                found[name] = ListOf(_tuple(parts))
    for name, used in keys.items():
        names = tuple(dict.fromkeys(used))
        found[name] = TupleOf(tuple(ARRAY for _ in names), names, dict)
    return found


def _tuple(parts: list[ast.expr]) -> TupleOf:
    return TupleOf(tuple(ARRAY for _ in parts))
