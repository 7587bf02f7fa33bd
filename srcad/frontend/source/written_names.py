"""Syntactic facts about writes to state outside a function, and the names it mentions."""

from __future__ import annotations

import ast
import dis
import functools
import inspect
import re
import types
from typing import Any

import numpy as np

from srcad.frontend.source.code import nested_codes
from srcad.frontend.source.syntax import declared_names, nodes_of, per_node
from srcad.startup.records import dataclass

# Syntactic facts about writes: if a function may write into an array argument.

_WRITERS = frozenset(
    ["fill", "sort", "put", "partition", "resize", "shuffle", "setfield", "itemset", "byteswap",
     "copyto", "at", "place", "putmask", "put_along_axis", "fill_diagonal", "nan_to_num"]
)  # fmt: skip


def may_write(node: ast.FunctionDef | ast.Lambda) -> bool:
    """Return True if a function may write into an array that it is given."""
    arguments = node.args
    named = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    more = [a for a in (arguments.vararg, arguments.kwarg) if a is not None]
    given = {a.arg for a in (*named, *more)}
    return any(_may_write(inner, given) for inner in nodes_of(node))


def _may_write(node: ast.AST, given: set[str]) -> bool:
    if isinstance(node, ast.Subscript | ast.Attribute):
        return not isinstance(node.ctx, ast.Load)
    if isinstance(node, ast.AugAssign):
        return isinstance(node.target, ast.Name) and node.target.id in given
    if not isinstance(node, ast.Call):
        return False
    if any(k.arg in ("out", None) for k in node.keywords):
        return True
    if isinstance(node.func, ast.Attribute):
        owner = node.func.value
        of_array = not (isinstance(owner, ast.Name) and owner.id in ("np", "numpy"))
        if node.func.attr in _WRITERS or may_ask(node.func.attr, len(node.args), of_array=of_array):
            return True
    passed = {n.id for a in node.args for n in nodes_of(a) if isinstance(n, ast.Name)}
    return isinstance(node.func, ast.Name) and not passed.isdisjoint(given)


@functools.cache
def positional_names(function: Any, *, or_by_name: bool = False) -> tuple[str, ...]:
    """Return the parameters that can be given by position, and if asked also by name."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return _documented_names(function)
    return tuple(
        p.name
        for p in parameters
        if p.kind is p.POSITIONAL_OR_KEYWORD or (p.kind is p.POSITIONAL_ONLY and not or_by_name)
    )


def _documented_names(function: Any) -> tuple[str, ...]:
    """Return the same for a compiled function without a signature, from its docstring.

    Before version 2.4 most compiled functions of NumPy have none.

    >>> def dot(): "dot(a, b, out=None)"
    >>> _documented_names(dot)
    ('a', 'b', 'out')
    """
    if isinstance(function, np.ufunc):
        return (
            (*(f"x{k}" for k in range(1, function.nin + 1)), "out")
            if function.nin > 1
            else ("x", "out")
        )
    name, text = getattr(function, "__name__", ""), getattr(function, "__doc__", None) or ""
    is_method = isinstance(function, types.MethodDescriptorType)
    if is_method and not text:
        return positional_names(getattr(np, name, None))
    pattern = rf"\s*(?:\w+\.)?{re.escape(name)}\((.*?)\)[ \t]*(?:->[^\n]*)?(?:\n|$)"
    found = re.match(pattern, text, re.DOTALL)
    if not name or found is None:
        return ()
    listed = re.sub(r"\([^()]*\.\.\.[^()]*\)", "arrays", found[1])  # "(a1, a2, ...)"
    listed = re.sub(r"<[^<>]*>", "None", listed)  # "<no value>"
    try:
        node = ast.parse(f"def f({listed}): pass").body[0]
    except SyntaxError:
        return ()
    assert isinstance(node, ast.FunctionDef)
    names = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
    return tuple(["self"] * is_method + names)


def may_ask(name: str, count: int, *, of_array: bool) -> bool:
    """Return True if so many arguments of ``np.name``, or of a method, end in an ``out``."""
    function = getattr(np, name, None)
    if isinstance(function, np.ufunc):
        return count > function.nin
    if function is None or isinstance(function, type) or not callable(function):
        return False
    names = positional_names(function)
    return "out" in names and count + of_array > names.index("out")


ITEMS = "[]"
ANYTHING = "*"
_CHANGING = frozenset(
    ["append", "extend", "insert", "pop", "remove", "clear", "update", "setdefault", "sort",
     "reverse", "popitem", "add", "discard", "appendleft", "popleft", "fill", "put", "itemset",
     "copyto", "place", "putmask", "put_along_axis", "fill_diagonal", "shuffle", "heappush",
     "heappop", "heapify", "setitem", "delitem", "insort"]
)  # fmt: skip
_BY_ANY_NAME = frozenset(
    ["setattr", "delattr", "vars", "globals", "locals", "exec", "eval", "__dict__", "__setattr__",
     "__delattr__", "cell_contents", "__globals__", "_getframe"]
)  # fmt: skip
_MAKERS = frozenset({"__init__", "__post_init__", "__new__"})
_HANDING_OUT = frozenset({"get", "getattr", "next", "setdefault", "pop", "vars", "asarray"})
_NEW = (
    *(ast.Constant, ast.BinOp, ast.UnaryOp, ast.Compare, ast.List, ast.Dict, ast.Tuple, ast.Set),
    *(ast.ListComp, ast.DictComp, ast.SetComp, ast.JoinedStr, ast.GeneratorExp),
)


@dataclass(frozen=True)
class WrittenNames:
    """The names that a text writes outside, and those that it mentions.

    `others` are those that are no attributes of the first parameter.
    """

    names: frozenset[str]
    others: frozenset[str]
    mentioned: frozenset[str]


@per_node
def written_outside(node: ast.AST) -> WrittenNames:
    """Return the writes of a function to state outside: attributes, globals, items."""
    own, declared = _own_names(node), declared_names(node)
    itself = _first_parameter(node)
    makes = getattr(node, "name", "") in _MAKERS
    names: set[str] = set()
    others: set[str] = set()
    mentioned: set[str] = set()
    for inner in nodes_of(node):
        found = _written(inner, own, declared)
        is_own = isinstance(inner, ast.Attribute) and _is_named(inner.value, itself)
        if not is_own:
            others |= found
        if not (is_own and makes):
            names |= found
        if isinstance(inner, ast.Name):
            mentioned.add(inner.id)
        elif isinstance(inner, ast.Attribute):
            mentioned.add(inner.attr)
    return WrittenNames(frozenset(names), frozenset(others), frozenset(mentioned))


def written_by_code(code: types.CodeType) -> WrittenNames:
    """Return the names that a function without source may write outside, from its bytecode.

    Writes into objects that the function itself makes count, too.
    """
    codes = (code, *nested_codes(code))
    makes = code.co_name in _MAKERS
    names: set[str] = set()
    mentioned: set[str] = set()
    for one in codes:
        mentioned.update(one.co_names)
        for instruction in dis.get_instructions(one):
            operation, _, place = instruction.opname.partition("_")
            if operation not in ("STORE", "DELETE"):
                continue
            free = place == "DEREF" and instruction.argval in code.co_freevars
            if free or place == "GLOBAL" or (place == "ATTR" and not makes):
                names.add(instruction.argval)
            elif place in ("SUBSCR", "SLICE"):
                names.add(ITEMS)
    if not mentioned.isdisjoint(_BY_ANY_NAME):
        names.add(ANYTHING)
    if not mentioned.isdisjoint(_CHANGING):
        names.add(ITEMS)
    return WrittenNames(frozenset(names), frozenset(names), frozenset(mentioned))


def _first_parameter(node: ast.AST) -> str | None:
    arguments = getattr(node, "args", None)
    named = [*arguments.posonlyargs, *arguments.args] if arguments is not None else []
    return named[0].arg if named else None


def _own_names(node: ast.AST) -> frozenset[str]:
    """Return the names that hold nothing but what the function has made."""
    stored = [n for n in nodes_of(node) if isinstance(n, ast.Name) and _is_bound(n)]
    new = {id(t) for n in nodes_of(node) if isinstance(n, ast.Assign) for t in _made(n)}
    new |= {id(n.target) for n in nodes_of(node) if isinstance(n, ast.AugAssign)}
    others = {n.id for n in stored if id(n) not in new}
    return frozenset({n.id for n in stored} - others - declared_names(node).keys())


def _is_bound(node: ast.Name) -> bool:
    return not isinstance(node.ctx, ast.Load)


def _made(node: ast.Assign) -> list[ast.expr]:
    """Return the targets of ``a = b = value`` if the value is something new."""
    value = node.value
    called = None
    if isinstance(value, ast.Call):
        called = value.func.attr if isinstance(value.func, ast.Attribute) else value.func
        called = called.id if isinstance(called, ast.Name) else called
    is_new = isinstance(value, _NEW) or (isinstance(called, str) and called not in _HANDING_OUT)
    return node.targets if is_new else []


def _is_named(node: ast.expr, name: str | None) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _written(node: ast.AST, own: frozenset[str], declared: dict[str, str]) -> set[str]:
    """Return the names that one part of a text writes outside."""
    match node:
        case ast.Name(id=name):
            if name in _BY_ANY_NAME:
                return {ANYTHING}
            return {name} if name in declared and _is_bound(node) else set()
        case ast.Attribute(attr=name):
            if name in _BY_ANY_NAME:
                return {ANYTHING}
            return set() if isinstance(node.ctx, ast.Load) else {name}
        case ast.Subscript(value=owner) if not isinstance(node.ctx, ast.Load):
            return set() if _root(owner) in own else {ITEMS}
        case ast.Call(func=ast.Attribute(value=owner, attr=name)) if name in _CHANGING:
            root = _root(owner)
            given = [_root(a) for a in node.args] if root in ("np", "numpy", "heapq") else [root]
            return {ITEMS} if any(r not in own for r in given[:1]) else set()
        case ast.Call(keywords=keywords):
            outs = [_root(k.value) for k in keywords if k.arg == "out"]
            return {ITEMS} if any(root not in own for root in outs) else set()
    return set()


def _root(node: ast.expr) -> str | None:
    """Return the name that ``name.attribute[index]`` starts from, if it is one."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None
