"""Local functions that leave the reader: they become functions of Python again.

A lambda that is handed to code which runs as it stands (a key for ``sorted``) is compiled from the
user's own syntax tree, inside a factory whose parameters are the names that it reads of its
surroundings, and its defaults; the call of the factory is an op like any other.
"""

from __future__ import annotations

import ast
import copy
import itertools
from typing import Any

from srcad import errors
from srcad.frontend.domain.structure import components
from srcad.frontend.domain.values import (
    AbstractValue,
    Constant,
    Frame,
    FunctionValue,
    Unbound,
)
from srcad.frontend.machine.dispatch import reifies
from srcad.frontend.machine.machine import Machine
from srcad.frontend.outside.unseen_reads import function_may_read, object_may_read
from srcad.frontend.source.definition import made_of
from srcad.frontend.source.syntax import bound_names, read_counts
from srcad.frontend.store.cells import enclosing_frame
from srcad.frontend.store.lookup import value_of_name
from srcad.frontend.store.stopped import constant_of
from srcad.ir.core import Atom, Const, Value
from srcad.types.structures import Opaque


@reifies(FunctionValue)
def runtime_function(state: Machine, box: FunctionValue) -> Value:
    """Return the value of a local function that nothing differentiates."""
    surroundings = free_variables(state, box)
    if reads_active(state, box):
        state.refuse(
            errors.UnsupportedTypeError,
            f"cannot hand the local function {box.name!r} to code that srcad does not read",
            why="it depends on the differentiated arguments, and what calls it (a solver, an "
            "integrator) has no rule yet.",
            help=(
                "give the whole step a rule: put it into a function of its own,\n"
                "    def solve(p): ...   # calls the solver\n"
                "    @srcad.rules.adjoint(solve)\n"
                "    def solve_rule(y_bar, y, p): ...   # returns the cotangent of p",
                "or write the steps of the solver out, as a loop in Python",
            ),
        )
    return _made(state, box, surroundings, _defaults(box))


def reads_active(state: Machine, box: AbstractValue) -> bool:
    """Return True if a derivative flows through what a function reads.

    That are the variables of a closure, what other functions among these read, the object of a
    bound method, and places outside; of a list or tuple, what its items read.
    """
    return _holds_active(state, box, set()) or reads_outside(state, box)


def _holds_active(state: Machine, box: AbstractValue, seen: set[int]) -> bool:
    if isinstance(box, Value | Constant) or id(box) in seen:
        return False
    seen.add(id(box))
    parts = components(box)
    if isinstance(box, FunctionValue):
        parts = (*free_variables(state, box).values(), *_defaults(box))
    return any(state.is_active(part) or _holds_active(state, part, seen) for part in parts)


def reads_outside(state: Machine, box: AbstractValue, seen: set[int] | None = None) -> bool:
    """Return True if a function may read a place outside in which the program stores a value."""
    if isinstance(box, Constant):
        return object_may_read(state, box.value)
    seen = set() if seen is None else seen
    if isinstance(box, Value) or id(box) in seen:
        return False
    seen.add(id(box))
    if not isinstance(box, FunctionValue):
        return any(reads_outside(state, part, seen) for part in components(box))
    around = [*free_variables(state, box).values(), *_defaults(box)]
    return function_may_read(state, box, around) or any(
        reads_outside(state, part, seen) for part in around
    )


def stopped_function(state: Machine, box: FunctionValue) -> Atom:
    """Return the same of one that takes what it reads for constant.

    Made once if it reads nothing.
    """
    surroundings, defaults = free_variables(state, box), _defaults(box)
    if not surroundings and not defaults:
        function = factory_of(box, ())()
        if isinstance(box.node, ast.FunctionDef):
            made_of(function, box.node)
        return Const(function)
    return _made(
        state,
        box,
        {name: constant_of(state, read) for name, read in surroundings.items()},
        [constant_of(state, default) for default in defaults],
    )


def _made(
    state: Machine,
    box: FunctionValue,
    surroundings: dict[str, AbstractValue],
    defaults: list[AbstractValue],
) -> Value:
    factory = factory_of(box, tuple(surroundings))
    values = [state.atom(b) for b in (*surroundings.values(), *defaults)]
    return state.apply(Const(factory), *values, effect=True, type=Opaque())


def _defaults(box: FunctionValue) -> list[AbstractValue]:
    """Return the defaults of a local function, values from when it was defined."""
    return [*box.defaults, *(default for default in box.kw_defaults if default is not None)]


def free_variables(state: Machine, box: FunctionValue) -> dict[str, AbstractValue]:
    """Return the free variables of a local function."""
    outer = enclosing_frame(state, box)
    names = _free_names(box, outer)
    return {name: read for name in names if (read := _read(state, outer, name))}


def _free_names(box: FunctionValue, frame: Frame | None) -> list[str]:
    """Return the names of enclosing functions that a local function reads."""
    own = bound_names(box.node)
    bound: set[str] = set()
    while frame is not None:
        bound |= frame.local | set(frame.cells) | set(frame.env)
        frame = frame.outer
    return [name for name in read_counts(box.node) if name in bound and name not in own]


def _read(state: Machine, outer: Frame, name: str) -> AbstractValue | None:
    state.frames.append(outer)
    try:
        found = value_of_name(state, name)
    finally:
        state.frames.pop()
    return None if isinstance(found, Unbound) else found


def factory_of(box: FunctionValue, names: tuple[str, ...]) -> Any:
    """Return a function of the surroundings and of the defaults that returns the local function."""
    node = copy.copy(box.node)
    node.args, defaults = _with_named_defaults(node.args, {*names, *bound_names(node)})
    parameters = [ast.arg(n) for n in (*names, *defaults)]
    arguments = ast.arguments([], parameters, None, [], [], None, [])
    if isinstance(node, ast.Lambda):
        name = f"function{max(map(len, (*names, *defaults)), default=0) * '_'}"
        body: list[ast.stmt] = [ast.Assign([ast.Name(name, ast.Store())], node)]
    else:
        name, body = node.name, [node]
    body += [
        ast.Assign([ast.Attribute(ast.Name(name, ast.Load()), key, ast.Store())], ast.Constant(v))
        for key, v in box.attributes
    ]
    body.append(ast.Return(ast.Name(name, ast.Load())))
    made = ast.FunctionDef("factory", arguments, body, [])
    if "type_params" in made._fields:
        setattr(made, "type_params", [])  # noqa: B010 - a field since Python 3.12
    tree = ast.fix_missing_locations(ast.Module([made], []))
    space: dict[str, Any] = {}
    file = (box.frame.file or "<srcad>").replace("\0", " ")
    exec(compile(tree, file, "exec"), box.frame.globals, space)
    made_of(space["factory"], made)
    return space["factory"]


def _with_named_defaults(
    given: ast.arguments, taken: set[str]
) -> tuple[ast.arguments, tuple[str, ...]]:
    """Return the parameters with a free name in the place of each default, and these names."""
    made = copy.copy(given)
    count = len(given.defaults) + sum(default is not None for default in given.kw_defaults)
    free = (name for k in itertools.count() if (name := f"default_{k}") not in taken)
    names = tuple(itertools.islice(free, count))
    reads = iter([ast.Name(name, ast.Load()) for name in names])
    made.defaults = [next(reads) for _ in given.defaults]
    made.kw_defaults = [None if default is None else next(reads) for default in given.kw_defaults]
    return made, names
