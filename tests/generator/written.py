"""Which of the features beyond the spine a program has."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.generator.features import features
from tests.generator.program import Program

WRITTEN = (
    "store",
    "store op=",
    "store at an integer",
    "store at a slice",
    "store with a negative step",
    "store at a mask",
    "store at integer arrays",
    "store reading the same array",
    "in-place name",
    "out=",
    "ufunc.at",
    "copyto, fill, put",
    "view written",
    "alias written",
    "row written",
    "array filled in a loop",
    "helper writes",
    "argument written",
    "same array twice",
    "list changed",
    "dict changed",
    "array in a container written",
    "attribute changed",
    "try",
    "else or finally",
    "class with operators",
    "draws",
    "state outside",
)

_COPYING = {"copyto", "fill", "put", "putmask", "fill_diagonal"}


def all_features(program: Program) -> set[str]:
    """The features of a program, those of the spine and what it writes and raises."""
    found = features(program)
    if program.features == "spine":
        return found
    for function in ast.parse(program.text).body:
        if isinstance(function, ast.FunctionDef):
            held = _containers(function)
            for node in ast.walk(function):
                found.update(_of_node(node, held))
    if "overlapping arguments" in found:
        found.add("same array twice")
    return found


def _containers(function: ast.FunctionDef) -> set[str]:
    """The names of lists and dicts."""
    kinds = ast.List | ast.Dict | ast.ListComp | ast.DictComp
    found = {"values", "params"}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and (
            isinstance(node.value, kinds) or ast.unparse(node.value).startswith("dict(")
        ):
            found |= {t.id for t in node.targets if isinstance(t, ast.Name)}
    return found


def _of_node(node: ast.AST, held: set[str]) -> Iterator[str]:
    match node:
        case ast.Subscript(value=value, ctx=ast.Store()) if not _is_held(value, held):
            yield "store"
            yield from _of_index(node.slice)
        case ast.AugAssign(target=ast.Subscript(value=value)) if not _is_held(value, held):
            yield "store op="
        case ast.Try():
            yield "try"
            if node.orelse or node.finalbody:
                yield "else or finally"
            if any(isinstance(n, ast.For | ast.While) for n in ast.walk(node)):
                yield "loop in try"
        case ast.Call(func=ast.Attribute(attr="at")):
            yield "ufunc.at"
        case ast.Call(func=ast.Attribute(attr=name)) if name in _COPYING:
            yield "copyto, fill, put"
        case ast.Call(keywords=keywords) if any(k.arg == "out" for k in keywords):
            yield "out="


def _is_held(value: ast.expr, held: set[str]) -> bool:
    return isinstance(value, ast.Name) and value.id in held


def _of_index(index: ast.expr) -> Iterator[str]:
    for part in index.elts if isinstance(index, ast.Tuple) else [index]:
        text = ast.unparse(part)
        if isinstance(part, ast.Slice):
            yield "store at a slice"
            if part.step is not None and ast.unparse(part.step).startswith("-"):
                yield "store with a negative step"
        elif isinstance(part, ast.Compare) or text.startswith("mask") or "True" in text:
            yield "store at a mask"
        elif isinstance(part, ast.List) or text.startswith("np.array"):
            yield "store at integer arrays"
        elif not isinstance(part, ast.Constant) or isinstance(part.value, int):
            yield "store at an integer"
