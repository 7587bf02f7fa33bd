"""Statements become Python syntax, with names.

Every node is made afresh where it stands: the printer keeps precedence on the nodes.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from srcad.backends.python.naming.coalesce import Webs
from srcad.backends.python.naming.liveness import is_nested
from srcad.backends.python.naming.names import Globals, name_node
from srcad.backends.python.plan.expressions import Nesting, branch_source, writes_in_place
from srcad.backends.python.plan.statements import (
    Append,
    Attempt,
    Conditional,
    Copy,
    Do,
    Exit,
    Increment,
    Loop,
    Pattern,
    Return,
    Reverse,
    Statement,
    errstate_of,
    users_place_of,
)
from srcad.backends.python.plan.uses import Uses
from srcad.backends.python.writing import loop_headers
from srcad.backends.python.writing.assignments import augmented_assignment, copies
from srcad.backends.python.writing.mutation import mutation, stored_outside
from srcad.backends.python.writing.spelling import call_expression, constant
from srcad.backends.python.writing.text import Comment
from srcad.ir.core import Arg, Const, Display, For, Location, Value, values_in
from srcad.ir.memory import keeps_last
from srcad.ir.traits import is_builder, is_item, is_same, never_returns
from srcad.rules.registry import row_of
from srcad.startup.identifiers import shown
from srcad.startup.records import dataclass, field
from srcad.types.structures import TupleOf

# Parts of one container that are taken one after the other are taken in one line.

_WIDTH = 84


def grouped(statements: list[Statement], nesting: Nesting, webs: Webs) -> list[list[Statement]]:
    """Return the visible statements, one by one, but parts of the same container together."""
    groups: list[list[Statement]] = []
    last: tuple[str, object] | None = None
    width = 0
    for statement in statements:
        if is_nested(statement, nesting):
            continue
        key = _container(statement, nesting, webs)
        more = 0 if key is None else _part_width(statement, key[0], webs)
        if key is not None and key == last and width + more < _WIDTH:
            groups[-1].append(statement)
            width += more
        else:
            groups.append([statement])
            last, width = key, more
        if key is not None and _is_rebound(statement, key[0], webs):
            last = None
    return groups


def _is_rebound(statement: Statement, container: str, webs: Webs) -> bool:
    """Return True if the part takes over the variable of the container: ``node = node["left"]``."""
    assert isinstance(statement, Do)
    assert statement.result is not None
    return webs.names[statement.result] == container


def _container(statement: Statement, nesting: Nesting, webs: Webs) -> tuple[str, object] | None:
    """Return the variable of which a statement takes one part, and the shown line of the user."""
    if not isinstance(statement, Do) or statement.result is None or statement.parts:
        return None
    op = statement.op
    container = op.args[0] if is_item(op.target) else None
    atom = nesting.resolve(container) if isinstance(container, Value) else None
    if not isinstance(atom, Value) or atom in nesting.nested:
        return None
    shown = op.where.line if op.where is not None and op.half != "primal" else None
    return webs.names[atom], shown


def _part_width(statement: Statement, container: str, webs: Webs) -> int:
    """Return the characters that ``W`` and ``params["W"]`` take on both sides of an assignment."""
    assert isinstance(statement, Do)
    assert statement.result is not None
    key = statement.op.args[1]
    written = shown(key.value) if isinstance(key, Const) else ""
    return len(webs.names[statement.result]) + len(container) + len(written) + 6


def whole_container(calls: list[Do]) -> Value | None:
    """Return the tuple of which these calls take all parts, in order."""
    container = calls[0].op.args[0]
    if not isinstance(container, Value) or not isinstance(container.type, TupleOf):
        return None
    keys = [call.op.args[1] for call in calls]
    all_keys = [Const(k) for k in range(len(container.type.items))]
    return container if container.type.keys is None and keys == all_keys else None


_OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}


def _keeps_entries(target: Any) -> bool:
    """Return True if the result has the entries of an operand in the same order, cast perhaps."""
    row = row_of(target)
    return row.law == "cast" or (row.entries == "moved" and row.order == "follows")


ErrState = tuple[tuple[str, str], ...]
CommentOf = Callable[[Location], tuple[str, str] | None]


@dataclass(eq=False)
class Writer:
    """Writes one function."""

    webs: Webs
    nesting: Nesting
    space: Globals
    uses: Uses
    comment_of: CommentOf
    weak: set[str] = field(default_factory=set)
    places: dict[ast.AST, Location] = field(default_factory=dict)
    errstate: ErrState = ()

    # ------------------------------------------------------------------------- expressions
    def expr(self, arg: Arg) -> ast.expr:
        """Return the expression for an argument."""
        if isinstance(arg, Display):
            return self._display(arg)
        atom = self.nesting.resolve(arg)
        if isinstance(atom, Const):
            return constant(atom, self.space)
        origin = self.nesting.nested.get(atom)
        if origin is None:
            return name_node(self.webs.names[atom])
        if isinstance(origin, Conditional):
            return self.choice(origin)
        return call_expression(self, origin.op)

    def _display(self, display: Display) -> ast.expr:
        items = display.items
        match display.kind:
            case "tuple":
                return ast.Tuple([self.expr(i) for i in items], ast.Load())
            case "list":
                return ast.List([self.expr(i) for i in items], ast.Load())
            case "dict":
                keys: list[ast.expr | None] = [self.expr(i) for i in items[::2]]
                return ast.Dict(keys, [self.expr(i) for i in items[1::2]])
            case "range":
                return self.range(items)
            case "slice":
                name = self.space.expression(slice)
                return ast.Call(name, [self.expr(i) for i in items], [])

    def range(self, items: Sequence[Arg]) -> ast.expr:
        """Return a ``range`` without the arguments that are as by default."""
        start, stop, step = items
        shown = [start, stop, step]
        if step in (Const(1), Const(None)):
            shown = [start, stop]
            if start in (Const(0), Const(None)):
                shown = [stop]
        return ast.Call(self.space.expression(range), [self.expr(i) for i in shown], [])

    def choice(self, conditional: Conditional) -> ast.expr:
        """Write ``a if test else b``, or ``and``/``or`` where a branch is the test itself."""
        then, orelse = branch_source(conditional.then), branch_source(conditional.orelse)
        test = self.nesting.resolve(conditional.test)
        if isinstance(test, Value) and self.nesting.resolve(orelse) is test:
            return ast.BoolOp(ast.And(), [self.expr(test), self.expr(then)])
        if isinstance(test, Value) and self.nesting.resolve(then) is test:
            return ast.BoolOp(ast.Or(), [self.expr(test), self.expr(orelse)])
        return ast.IfExp(self.expr(test), self.expr(then), self.expr(orelse))

    # -------------------------------------------------------------------------- statements
    def block(self, statements: list[Statement]) -> list[ast.stmt]:
        """Return a list of statements, with comments; never empty."""
        written: list[ast.stmt] = []
        target, state = written, self.errstate
        line: tuple[str, int] | None = None
        for group in grouped(statements, self.nesting, self.webs):
            wanted = errstate_of(group[0])
            nodes = self._written(group, state if wanted is None else wanted)
            if not nodes:
                continue
            if wanted is not None and wanted != state:
                target, state = written, wanted
                if state != self.errstate:
                    target = []
                    written.append(self._with_errstate(state, target))
            line = self._place(group[0], nodes, target, line)
            target += nodes
            if isinstance(nodes[-1], ast.Raise):
                break
        return written if _has_code(written) else [*written, ast.Pass()]

    def _written(self, group: list[Statement], state: ErrState) -> list[ast.stmt]:
        outer, self.errstate = self.errstate, state
        nodes = self._unpacking(group) if len(group) > 1 else self.statement(group[0])
        self.errstate = outer
        return nodes

    def _with_errstate(self, state: ErrState, body: list[ast.stmt]) -> ast.stmt:
        settings = [ast.keyword(name, ast.Constant(value)) for name, value in state]
        context = ast.Call(self.space.expression(np.errstate), [], settings)
        return ast.With([ast.withitem(context)], body)

    def _place(
        self,
        statement: Statement,
        nodes: list[ast.stmt],
        target: list[ast.stmt],
        line: tuple[str, int] | None,
    ) -> tuple[str, int] | None:
        """Note the user's line, and write it above the reverse statements that undo it."""
        origin = self._origin(statement)
        where = users_place_of(origin) if origin is not None else None
        if where is None:
            return line
        self.places.update(dict.fromkeys(nodes, where))
        if not _is_reverse(origin):
            return line
        here = (where.file, where.line)
        comment = self.comment_of(where) if here != line else None
        if comment is not None:
            target.append(Comment(*comment))
        return here

    def _unpacking(self, group: list[Statement]) -> list[ast.stmt]:
        """``W, b = params["W"], params["b"]``, or ``W, b = layer`` where these are all parts."""
        calls = [s for s in group if isinstance(s, Do)]
        targets = ast.Tuple([self.store(s.result) for s in calls], ast.Store())
        whole = whole_container(calls)
        if whole is not None:
            return [ast.Assign([targets], self.expr(whole))]
        parts = [call_expression(self, s.op) for s in calls]
        return [ast.Assign([targets], ast.Tuple(parts, ast.Load()))]

    def _origin(self, statement: Statement) -> Statement | None:
        """Return the statement itself, or the first of those that moved into it."""
        if isinstance(statement, Return):
            return self._computed(statement.values)
        if not isinstance(statement, Copy):
            return statement
        atoms = [self.nesting.resolve(s) for s in statement.sources]
        nested = self.nesting.nested
        return next((nested[a] for a in atoms if isinstance(a, Value) and a in nested), None)

    def _computed(self, values: Iterable[Arg]) -> Do | None:
        """Return the first computation that moved into a ``return``, below what only packs it."""
        for arg in values:
            for value in values_in(arg):
                atom = self.nesting.resolve(value)
                inner = self.nesting.nested.get(atom) if isinstance(atom, Value) else None
                if isinstance(inner, Do):
                    target = inner.op.target
                    packs = is_builder(target) or is_same(target) or _keeps_entries(target)
                    found = self._computed(inner.op.args) if packs else inner
                    if found is not None:
                        return found
        return None

    def statement(self, statement: Statement) -> list[ast.stmt]:
        match statement:
            case Do():
                return self._do(statement)
            case Copy():
                return copies(self, statement)
            case Append(target=target, items=items):
                shown = [self.expr(i) for i in items]
                value = shown[0] if len(shown) == 1 else ast.Tuple(shown, ast.Load())
                return [self._method(target, "append", [value])]
            case Increment(target=target):
                name = ast.Name(self.webs.names[target], ast.Store())
                return [ast.AugAssign(name, ast.Add(), ast.Constant(1))]
            case Reverse(target=target):
                return [self._method(target, "reverse", [])]
            case Conditional():
                return self._conditional(statement)
            case Attempt():
                return self._attempt(statement)
            case Loop():
                return self._loop(statement)
            case Exit() | Return():
                return [self._jump(statement)]

    def _jump(self, statement: Exit | Return) -> ast.stmt:
        if isinstance(statement, Exit):
            return ast.Break() if statement.kind == "break" else ast.Continue()
        shown = [self.expr(v) for v in statement.values]
        return ast.Return(shown[0] if len(shown) == 1 else ast.Tuple(shown, ast.Load()))

    def _method(self, target: Value, name: str, args: list[ast.expr]) -> ast.stmt:
        function = ast.Attribute(self.expr(target), name, ast.Load())
        return ast.Expr(ast.Call(function, args, []))

    def store(self, pattern: Pattern | None) -> ast.expr:
        """Return the target of an assignment or a ``for``."""
        if pattern is None:
            return ast.Name("_", ast.Store())
        if isinstance(pattern, tuple):
            return ast.Tuple([self.store(p) for p in pattern], ast.Store())
        return self.name(pattern)

    def name(self, value: Value) -> ast.Name:
        """Return a variable that is written."""
        return ast.Name(self.webs.names[value], ast.Store())

    def assign(self, value: Value, node: ast.expr) -> ast.stmt:
        return ast.Assign([self.store(value)], node)

    # ------------------------------------------------------------------------------- calls
    def _do(self, do: Do) -> list[ast.stmt]:
        op = do.op
        if never_returns(op.target):
            parts = [self.expr(arg) for arg in op.args]
            return [ast.Raise(parts[0], parts[1] if len(parts) > 1 else None)]
        if do.result is None:
            is_kept = keeps_last(op.target)
            return [stored_outside(self, op) if is_kept else ast.Expr(call_expression(self, op))]
        if do.parts:
            return [ast.Assign([self.store(do.parts)], call_expression(self, op))]
        if writes_in_place(do):
            return mutation(self, op, do.result)
        augmented = augmented_assignment(self, op, do.result)
        return augmented or [self.assign(do.result, call_expression(self, op))]

    # ------------------------------------------------------------------------ control flow
    def _conditional(self, conditional: Conditional) -> list[ast.stmt]:
        if conditional.choice is not None:
            return [self.assign(conditional.choice, self.choice(conditional))]
        test = self.expr(conditional.test)
        then, orelse = self.block(conditional.then), self.block(conditional.orelse)
        has_then, has_else = not _is_empty(then), not _is_empty(orelse)
        if not has_then and not has_else:
            return []
        if not has_then:
            return [ast.If(_negated(test), orelse, [])]
        return [ast.If(test, then, orelse if has_else else [])]

    def _attempt(self, attempt: Attempt) -> list[ast.stmt]:
        body, handler = self.block(attempt.body), self.block(attempt.handler)
        classes = [self.expr(Const(c)) for c in attempt.op.catches]
        caught = classes[0] if len(classes) == 1 else ast.Tuple(classes, ast.Load())
        used = self.uses.is_read(attempt.error)
        name = self.webs.names[attempt.error] if used else None
        return [ast.Try(body, [ast.ExceptHandler(caught, name, handler)], [], [])]

    def _loop(self, loop: Loop) -> list[ast.stmt]:
        body = self.block(loop.body)
        if isinstance(loop.op, For):
            return [loop_headers.for_statement(self, loop, body)]
        prelude = self.block(loop.prelude)
        test = self.expr(loop.test)
        if _is_empty(prelude):
            return [ast.While(test, body, [])]
        leave = ast.If(_negated(test), [ast.Break()], [])
        body = [] if _is_empty(body) else body
        return [ast.While(ast.Constant(True), [*prelude, leave, *body], [])]


def _negated(test: ast.expr) -> ast.expr:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return test.operand
    if isinstance(test, ast.Compare):
        opposite = _OPPOSITE.get(type(test.ops[0]))
        if opposite is not None:
            return ast.Compare(test.left, [opposite()], test.comparators)
    return ast.UnaryOp(ast.Not(), test)


def _has_code(statements: list[ast.stmt]) -> bool:
    return any(not isinstance(s, Comment) for s in statements)


def _is_empty(statements: list[ast.stmt]) -> bool:
    return all(isinstance(s, Comment | ast.Pass) for s in statements)


def _is_reverse(origin: Statement | None) -> bool:
    return isinstance(origin, Do) and origin.op.half != "primal"
