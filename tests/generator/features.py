"""Which features a program has: read off its text, not off the generator's intentions."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.generator.program import Program

REQUIRED = (
    "straight-line",
    "nested control flow",
    "if",
    "elif",
    "for",
    "while",
    "break",
    "continue",
    "loop else",
    "early return",
    "early return in nested loops",
    "helper call",
    "keyword argument",
    "default argument",
    "recursion",
    "closure",
    "lambda",
    "tuple",
    "unpacking",
    "list",
    "append",
    "stack",
    "dict",
    "loop-carried swap",
    "zero-trip loop",
    "comprehension",
    "zip",
    "enumerate",
    "reversed",
    "augmented assignment",
    "ternary",
    "boolean operator",
    "comparison chain",
    "integer index",
    "slice",
    "negative step",
    "None index",
    "mask index",
    "integer-array index",
    "reduction",
    "where, maximum, clip",
    "product",
    "container argument",
)

_CALLS = {
    "zip": "zip",
    "enumerate": "enumerate",
    "reversed": "reversed",
    "append": "append",
    "stack": "stack",
    "where": "where, maximum, clip",
    "maximum": "where, maximum, clip",
    "minimum": "where, maximum, clip",
    "clip": "where, maximum, clip",
    "dot": "product",
    "outer": "product",
    "einsum": "product",
    "take": "integer-array index",
    "dict": "dict",
    **dict.fromkeys(("sum", "mean", "prod", "max", "min", "var", "std"), "reduction"),
}
_NODES: dict[type[ast.AST], str] = {
    ast.If: "if",
    ast.For: "for",
    ast.While: "while",
    ast.Break: "break",
    ast.Continue: "continue",
    ast.Lambda: "lambda",
    ast.Dict: "dict",
    ast.DictComp: "comprehension",
    ast.ListComp: "comprehension",
    ast.GeneratorExp: "comprehension",
    ast.AugAssign: "augmented assignment",
    ast.IfExp: "ternary",
    ast.BoolOp: "boolean operator",
    ast.NamedExpr: "walrus",
    ast.List: "list",
    ast.With: "with",
    ast.Assert: "assert",
    ast.JoinedStr: "f-string",
    ast.AnnAssign: "annotation",
    ast.MatMult: "product",
}


def features(program: Program) -> set[str]:
    """The names of the features that occur in the program's functions."""
    tree = ast.parse(program.text)
    own = ("make_arguments", "change")
    functions = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name not in own]
    helpers = {f.name: f for f in functions}
    found = set(program.marks)
    for function in functions:
        found.update(_of_function(function, helpers))
    main = helpers.get("field", helpers["f"])
    if not any(isinstance(n, ast.If | ast.For | ast.While) for n in ast.walk(main)):
        found.add("straight-line")
    return found


def _of_function(function: ast.FunctionDef, helpers: dict[str, ast.FunctionDef]) -> Iterator[str]:
    yield from _nesting(function.body, 0, 0, last=True)
    for node in ast.walk(function):
        if type(node) in _NODES:
            yield _NODES[type(node)]
        if isinstance(node, ast.FunctionDef) and node is not function:
            yield "closure"
        if isinstance(node, ast.Call):
            yield from _of_call(node, function, helpers)
        if isinstance(node, ast.Subscript):
            yield from _of_index(node.slice)
        if isinstance(node, ast.Compare) and len(node.ops) > 1:
            yield "comparison chain"
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple):
            yield "unpacking" if isinstance(node.targets[0], ast.Tuple) else "tuple"
        if (
            isinstance(node, ast.If)
            and len(node.orelse) == 1
            and isinstance(node.orelse[0], ast.If)
        ):
            yield "elif"
        if isinstance(node, ast.For | ast.While):
            yield from _of_loop(node)


def _nesting(body: list[ast.stmt], loops: int, depth: int, *, last: bool) -> Iterator[str]:
    """Early returns and nested control flow."""
    for k, node in enumerate(body):
        if isinstance(node, ast.Return) and (depth or k < len(body) - 1):
            yield "early return"
            if loops >= 2:
                yield "early return in nested loops"
        if isinstance(node, ast.If | ast.For | ast.While):
            if depth:
                yield "nested control flow"
            inside = loops + (not isinstance(node, ast.If))
            yield from _nesting(node.body, inside, depth + 1, last=False)
            yield from _nesting(node.orelse, loops, depth + 1, last=False)


def _of_loop(node: ast.For | ast.While) -> Iterator[str]:
    if node.orelse:
        yield "loop else"
    for inner in ast.walk(node):
        if isinstance(inner, ast.Assign) and isinstance(inner.targets[0], ast.Tuple):
            stored = [ast.unparse(t) for t in inner.targets[0].elts]
            read = [ast.unparse(t) for t in getattr(inner.value, "elts", ())]
            if stored != read and set(stored) & set(read):
                yield "loop-carried swap"


def _of_call(
    node: ast.Call, function: ast.FunctionDef, helpers: dict[str, ast.FunctionDef]
) -> Iterator[str]:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name in _CALLS:
        yield _CALLS[name]
    if name not in helpers:
        return
    yield "recursion" if name == function.name else "helper call"
    arguments = helpers[name].args
    if node.keywords:
        yield "keyword argument"
    given = len(node.args) + len(node.keywords)
    if given < len(arguments.args) + len(arguments.kwonlyargs):
        yield "default argument"


def _of_index(index: ast.expr) -> Iterator[str]:
    for part in index.elts if isinstance(index, ast.Tuple) else [index]:
        if isinstance(part, ast.Slice):
            yield "slice"
            if part.step is not None and ast.unparse(part.step).startswith("-"):
                yield "negative step"
        elif isinstance(part, ast.Constant) and part.value is None:
            yield "None index"
        elif isinstance(part, ast.Compare):
            yield "mask index"
        elif isinstance(part, ast.List) or ast.unparse(part).startswith(("np.array", "np.arange")):
            yield "integer-array index"
        elif isinstance(part, ast.Constant) and part.value is Ellipsis:
            yield "ellipsis"
        else:
            yield "integer index"
