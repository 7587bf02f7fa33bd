"""The dispatch: reading a program is recursive here, and nowhere else.

`evaluate` reads an expression, `execute` a statement, `apply` a call, `attribute` an attribute;
`iterate` says what a loop goes through, `reify` makes a value of what is not one.  Who is asked is
a *handler*, registered by the form of syntax, by the kind of abstract value, or by the function
that is called.  A handler imports what is below it and comes back here for everything else;
`srcad.frontend.interpreter` imports all modules that register one.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from operator import attrgetter
from typing import Any

from srcad import errors
from srcad.frontend.domain.predicates import is_hashable
from srcad.frontend.domain.values import AbstractValue, Constant
from srcad.frontend.machine import unsupported
from srcad.frontend.machine.machine import Machine
from srcad.ir.core import Value

Args = tuple[AbstractValue, ...]
Kwargs = dict[str, AbstractValue]
ExpressionHandler = Callable[[Machine, Any], AbstractValue]
StatementHandler = Callable[[Machine, Any], None]
CallHandler = Callable[[Machine, Any, Args, Kwargs], AbstractValue]
AttributeHandler = Callable[[Machine, Any, str], AbstractValue]
IterationHandler = Callable[[Machine, Any], AbstractValue]
ReifyHandler = Callable[[Machine, Any], Value]
ManagerHandler = Callable[[Machine, ast.With, int], bool]
Abbreviation = Callable[[Machine, Any], list[ast.stmt]]
Meaning = Callable[[Machine, Args, Kwargs], AbstractValue | None]
ObjectMeaning = Callable[[Machine, Any, Args, Kwargs], AbstractValue | None]
StandIn = Callable[[Machine, Any], AbstractValue]
EXPRESSIONS: dict[type[ast.AST], ExpressionHandler] = {}
STATEMENTS: dict[type[ast.AST], StatementHandler] = {}
ABBREVIATIONS: dict[type[ast.AST], Abbreviation] = {}
CALLS: dict[type, CallHandler] = {}
ATTRIBUTES: dict[type, AttributeHandler] = {}
ITERATED: dict[type, IterationHandler] = {}
REIFIED: dict[type, ReifyHandler] = {}
MANAGERS: dict[Any, ManagerHandler] = {}
MEANINGS: dict[Any, Meaning] = {}
OBJECTS: list[ObjectMeaning] = []
STAND_INS: dict[tuple[str, str], StandIn] = {}
_OF_MODULES: dict[str, dict[str, Meaning]] = {}  # which the user's code may have loaded


# ---------------------------------------------------------------------------- registration
def evaluates(*kinds: type[ast.AST]) -> Callable[[ExpressionHandler], ExpressionHandler]:
    """Register the handler of forms of expressions."""
    return _registers(EXPRESSIONS, kinds)


def executes(*kinds: type[ast.stmt]) -> Callable[[StatementHandler], StatementHandler]:
    """Register the handler of forms of statements."""
    return _registers(STATEMENTS, kinds)


def abbreviates(*kinds: type[ast.stmt]) -> Callable[[Abbreviation], Abbreviation]:
    """Register what forms of statements stand for: statements, which are read in their place."""
    return _registers(ABBREVIATIONS, kinds)


def applies(*kinds: type) -> Callable[[CallHandler], CallHandler]:
    """Register the handler of calls of a kind of abstract value."""
    return _registers(CALLS, kinds)


def attributes_of(*kinds: type) -> Callable[[AttributeHandler], AttributeHandler]:
    """Register the handler of attributes of a kind of abstract value."""
    return _registers(ATTRIBUTES, kinds)


def iterates(*kinds: type) -> Callable[[IterationHandler], IterationHandler]:
    """Register what a loop goes through for a kind of abstract value that is not itself that."""
    return _registers(ITERATED, kinds)


def reifies(*kinds: type) -> Callable[[ReifyHandler], ReifyHandler]:
    """Register the handler that makes a value of a kind of abstract value."""
    return _registers(REIFIED, kinds)


def manages(*targets: Any) -> Callable[[ManagerHandler], ManagerHandler]:
    """Register who reads a ``with`` from an item on that is a call of a function.

    It is given the statement and the place of the item; False from it says: go on as usual.
    """
    return _registers(MANAGERS, targets)


def means(*targets: Any) -> Callable[[Meaning], Meaning]:
    """Register a handler of calls of a function; if it returns None, the default follows."""
    return _registers(MEANINGS, targets)


def means_object(meaning: ObjectMeaning) -> ObjectMeaning:
    """Register who is asked what a call of an object means; None from it says: go on as usual."""
    if meaning not in OBJECTS:
        OBJECTS.append(meaning)
    return meaning


def stands_in(module: str, name: str) -> Callable[[StandIn], StandIn]:
    """Register the stand-in of the objects of a class, without importing its module."""
    return _registers(STAND_INS, ((module, name),))


def has_stand_in(cls: type) -> bool:
    """Return True if objects of a class have a stand-in."""
    return (cls.__module__, cls.__name__) in STAND_INS


def stand_in(state: Machine, box: Constant) -> AbstractValue:
    """Return the stand-in of a captured object."""
    cls = type(box.value)
    return STAND_INS[cls.__module__, cls.__name__](state, box)


def means_in(module: str, *names: str) -> Callable[[Meaning], Meaning]:
    """Register handlers of calls of a module's functions, without importing the module."""

    def register(meaning: Meaning) -> Meaning:
        known = _OF_MODULES.setdefault(module, {})
        twice = [name for name in names if name in known]
        assert not twice, f"{twice} of {module} have a meaning already"
        known.update(dict.fromkeys(names, meaning))
        return meaning

    return register


def _registers(table: dict[Any, Any], keys: tuple[Any, ...]) -> Callable[[Any], Any]:
    def register(handler: Any) -> Any:
        twice = [key for key in keys if key in table]
        assert not twice, f"{twice} have a handler already"
        table.update(dict.fromkeys(keys, handler))
        return handler

    return register


# ---------------------------------------------------------------------------- entry points
_ALONE = (ast.Name, ast.Constant)  # nothing inside them is read, or placed


def evaluate(state: Machine, node: ast.expr) -> AbstractValue:
    """Read an expression."""
    handler = EXPRESSIONS.get(type(node))
    if handler is None:
        unsupported.refuse_form(state, node)
    if isinstance(node, _ALONE):
        return handler(state, node)
    builder, before = state.builder, state.builder.where
    builder.where = state.location(node)
    try:
        return handler(state, node)
    finally:
        builder.where = before


def execute(state: Machine, node: ast.stmt) -> None:
    """Read a statement."""
    handler = STATEMENTS.get(type(node))
    if handler is None:
        unsupported.refuse_form(state, node)
    with state.at(node):
        handler(state, node)


def spelled_out(state: Machine, node: ast.stmt) -> list[ast.stmt]:
    """Return the statements that an abbreviation stands for, in its place."""
    with state.at(node):
        meant = ABBREVIATIONS[type(node)](state, node)
    return [one if hasattr(one, "lineno") else ast.copy_location(one, node) for one in meant]


def apply(state: Machine, callee: AbstractValue, args: Args, kwargs: Kwargs) -> AbstractValue:
    """Read a call."""
    handler = CALLS.get(type(callee), CALLS[object])
    return handler(state, callee, args, kwargs)


def attribute(state: Machine, box: AbstractValue, name: str) -> AbstractValue:
    handler = ATTRIBUTES.get(type(box), ATTRIBUTES[object])
    return handler(state, box, name)


def iterate(state: Machine, box: AbstractValue) -> AbstractValue:
    """Return the iterable of a loop over this value."""
    handler = ITERATED.get(type(box))
    return box if handler is None else handler(state, box)


def reify(state: Machine, box: AbstractValue) -> Value:
    """Return a value that stands for what is not one: a local function, a container outside."""
    return REIFIED[type(box)](state, box)


def meaning_of(function: Any) -> Meaning | None:
    """Return the handler of calls of a function; None for the default."""
    for module in [name for name in _OF_MODULES if name in sys.modules]:
        for name, meaning in _OF_MODULES.pop(module).items():
            try:
                target = attrgetter(name)(sys.modules[module])
            except AttributeError:  # a version of the module without this function
                continue
            MEANINGS[target] = meaning
    return MEANINGS.get(function) if is_hashable(function) else None


def manager_of(function: Any) -> ManagerHandler | None:
    """Return the handler of a ``with`` over a call of a function; None for the default."""
    return MANAGERS.get(function) if is_hashable(function) else None


def meaning_of_object(
    state: Machine, callee: Any, args: Args, kwargs: Kwargs
) -> AbstractValue | None:
    """Return the result of a call of an object by the handler of its class.

    None for the default.
    """
    for meaning in OBJECTS:
        found = meaning(state, callee, args, kwargs)
        if found is not None:
            return found
    return None


# Speculative interpretation: the state is restored if the code is refused.


def unless_refused(
    state: Machine, build: Callable[[], AbstractValue]
) -> AbstractValue | errors.SrcadError:
    """Try to interpret; on a refusal roll back names and operations, and return the error."""
    builder, before, count = state.builder, state.snapshot(), len(state.builder.ops)
    objects, used = state.objects.copy(), set(state.inactive.used)
    written, where = len(state.written_objects), builder.where
    try:
        return build()
    except errors.SrcadError as error:
        state.builder = builder
        del builder.ops[count:]
        state.restore(before)
        state.objects, state.inactive.used = objects, used
        del state.written_objects[written:]
        builder.where = where
        return error
