"""Syntactic facts about a function or a loop: the names it binds and reads."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import TypeVar

Answer = TypeVar("Answer")


_MOST_NODES = 4096


def per_node(question: Callable[[ast.AST], Answer]) -> Callable[[ast.AST], Answer]:
    """Remember the answer for a node (by identity; the oldest are forgotten)."""
    known: dict[int, tuple[ast.AST, Answer]] = {}

    @wraps(question)
    def answer(node: ast.AST) -> Answer:
        found = known.get(id(node))
        if found is None or found[0] is not node:
            if len(known) >= _MOST_NODES:
                known.clear()
            found = known[id(node)] = (node, question(node))
        return found[1]

    return answer


@per_node
def nodes_of(node: ast.AST) -> tuple[ast.AST, ...]:
    """Return a node with all nodes inside, in the order of `ast.walk`, at a quarter of its cost."""
    found = [node]
    for inner in found:
        found += _children(inner)
    return tuple(found)


def _children(node: ast.AST) -> list[ast.AST]:
    found: list[ast.AST] = []
    for name in node._fields:
        child = getattr(node, name, None)
        if isinstance(child, ast.AST):
            found.append(child)
        elif type(child) is list:
            found += [part for part in child if isinstance(part, ast.AST)]
    return found


_HIDING = frozenset({ast.FunctionDef, ast.Lambda, ast.AsyncFunctionDef, ast.ClassDef})


@per_node
def own_nodes(node: ast.AST) -> tuple[ast.AST, ...]:
    """Return the nodes of a function's body that are not inside another function."""
    found: list[ast.AST] = []
    stack = _children(node)
    while stack:
        inner = stack.pop()
        found.append(inner)
        if type(inner) not in _HIDING:
            stack += _children(inner)
    return tuple(found)


@per_node
def is_generator(node: ast.AST) -> bool:
    """Return True if a function's own body yields."""
    return any(isinstance(n, ast.Yield | ast.YieldFrom) for n in own_nodes(node))


@per_node
def statement_yields(node: ast.AST) -> frozenset[int]:
    """Return the yields (by identity) of a generator that are statements, so never read."""
    statements = [n.value for n in own_nodes(node) if isinstance(n, ast.Expr)]
    return frozenset(id(v) for v in statements if isinstance(v, ast.Yield | ast.YieldFrom))


@per_node
def calls_itself(node: ast.AST) -> bool:
    """Return True if a function calls a function of its own name."""
    name = getattr(node, "name", None)
    return any(
        isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == name
        for n in nodes_of(node)
    )


@per_node
def bound_names(node: ast.AST) -> frozenset[str]:
    """Return the names that a function binds: parameters, targets, imports, inner functions."""
    names: set[str] = set()
    outside: set[str] = set()
    arguments: ast.arguments = node.args  # type: ignore[attr-defined]
    names.update(a.arg for a in _parameters(arguments))
    in_comprehensions = {
        id(n)
        for inner in own_nodes(node)
        if isinstance(inner, ast.comprehension)
        for n in nodes_of(inner.target)
    }
    for inner in own_nodes(node):
        match inner:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                if id(inner) not in in_comprehensions:
                    names.add(name)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.alias():
                names.add((inner.asname or inner.name).partition(".")[0])
            case ast.Global(names=given) | ast.Nonlocal(names=given):
                outside.update(given)
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                names.add(name)
            case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                names.add(name)
    return frozenset(names - outside)


@per_node
def declared_names(node: ast.AST) -> dict[str, str]:
    """Return the names that a function declares ``global`` or ``nonlocal``."""
    found: dict[str, str] = {}
    for inner in own_nodes(node):
        if isinstance(inner, ast.Global | ast.Nonlocal):
            kind = "global" if isinstance(inner, ast.Global) else "nonlocal"
            found.update(dict.fromkeys(inner.names, kind))
    return found


def binding_of(node: ast.AST, names: list[str]) -> tuple[str, ast.AST] | None:
    """Return the first place that binds one of these names otherwise than by an assignment."""
    for inner in own_nodes(node):
        found = [inner.name] if isinstance(inner, ast.FunctionDef | ast.ClassDef) else []
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Del):
            found = [inner.id]
        elif isinstance(inner, ast.alias):
            found = [(inner.asname or inner.name).partition(".")[0]]
        elif isinstance(inner, ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
            found = [inner.name or ""]
        for name in found:
            if name in names:
                return name, inner
    return None


def _parameters(arguments: ast.arguments) -> list[ast.arg]:
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return every + [a for a in (arguments.vararg, arguments.kwarg) if a is not None]


@per_node
def read_counts(node: ast.AST) -> Counter[str]:
    """How often each name is read."""
    return Counter(name for inner in nodes_of(node) if (name := _read(inner)) is not None)


def _read(node: ast.AST) -> str | None:
    if isinstance(node, ast.AugAssign):
        return node.target.id if isinstance(node.target, ast.Name) else None
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store):
        return node.id
    return None


@per_node
def holds_functions(node: ast.AST) -> bool:
    """Return True if a function holds functions, which may read its names at any time."""
    return any(
        isinstance(inner, ast.FunctionDef | ast.Lambda)
        for inner in nodes_of(node)
        if inner is not node
    )


@per_node
def stored_names(node: ast.AST) -> tuple[str, ...]:
    """Return the names that a loop binds, in order."""
    names = dict.fromkeys(_targets(node))
    for part in node.body:  # type: ignore[attr-defined]
        names.update(dict.fromkeys(_targets(part)))
    return tuple(names)


def _targets(node: ast.AST) -> Iterator[str]:
    within = node.target if isinstance(node, ast.For) else node
    for inner in nodes_of(within):
        match inner:
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name
            case ast.MatchMapping(rest=str(name)) | ast.ExceptHandler(name=str(name)):
                yield name
            case ast.FunctionDef(name=name):
                yield name
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                yield from (a.asname or a.name.partition(".")[0] for a in names)
    if isinstance(node, ast.For):
        for part in (*node.body, *node.orelse):
            yield from _targets(part)


def bound_in(statements: list[ast.stmt]) -> dict[str, None]:
    """Return the names that statements bind, in order."""
    return dict.fromkeys(name for part in statements for name in _targets(part))


def read_outside(node: ast.AST, statements: list[ast.stmt], names: Iterable[str]) -> set[str]:
    """Return the names that a function reads elsewhere than in some of its statements.

    In a loop, what these read before they bind it comes from an earlier iteration.
    """
    everywhere, here = read_counts(node), Counter[str]()
    for statement in statements:
        here.update(read_counts(statement))
    found = {name for name in names if everywhere[name] != here[name]}
    if statements and _is_in_loop(node, statements[0]):
        bound: set[str] = set()
        for statement in statements:
            found.update(set(read_counts(statement)) & set(names) - bound)
            bound |= _surely_bound(statement)
    return found


def _is_in_loop(node: ast.AST, statement: ast.stmt) -> bool:
    loops = (n for n in own_nodes(node) if isinstance(n, ast.For | ast.While))
    return any(inner is statement for loop in loops for inner in nodes_of(loop))


@per_node
def names_bound_in_iteration(node: ast.AST) -> frozenset[str]:
    """Return the names that every iteration binds before the loop, or later code, reads them."""
    assert isinstance(node, ast.For | ast.While)
    found = set(_targets_of(node)) if isinstance(node, ast.For) else set()
    seen: set[str] = set(found)
    for statement in node.body:
        bound = _surely_bound(statement)
        mentioned = {n.id for n in nodes_of(statement) if isinstance(n, ast.Name)}
        found.update((bound & mentioned) - seen)
        seen.update(mentioned)
    outside = [*node.orelse, *([node.test] if isinstance(node, ast.While) else [])]
    return frozenset(found - {name for part in outside for name in read_counts(part)})


def _targets_of(node: ast.For) -> set[str]:
    return {n.id for n in nodes_of(node.target) if isinstance(n, ast.Name)}


def _surely_bound(statement: ast.stmt) -> set[str]:
    """Return the names that a plain assignment binds without reading them."""
    if not isinstance(statement, ast.Assign | ast.AnnAssign) or statement.value is None:
        return set()
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    names = [n for t in targets for n in nodes_of(t) if isinstance(n, ast.Name)]
    bound = {n.id for n in names if isinstance(n.ctx, ast.Store)}
    read = {n.id for n in names if not isinstance(n.ctx, ast.Store)}
    return bound - read - set(read_counts(statement.value))


@per_node
def are_locals_unread(node: ast.AST) -> bool:
    """Return True if a function calls ``locals()`` only to bind names that nothing reads."""
    every = nodes_of(node)
    read = {n.id for n in every if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    declared = {name for n in every if isinstance(n, ast.Global | ast.Nonlocal) for name in n.names}
    unread = 0
    for inner in every:
        match inner:
            case ast.Expr(value=ast.Call(func=ast.Name(id="locals"))):
                unread += 1
            case ast.Assign(
                targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id="locals"))
            ) if name not in read | declared:
                unread += 1
    return unread == sum(isinstance(n, ast.Name) and n.id == "locals" for n in every)
