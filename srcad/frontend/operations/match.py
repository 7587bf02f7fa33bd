"""``match``: every case is a condition over the subject's parts, followed by its bindings.

A `match` statement is read as the chain of conditionals that it abbreviates.  A pattern becomes a
list of questions, each asked only if those before it hold, and a list of captures; what is known
of the subject's structure answers most questions now.
"""

from __future__ import annotations

import ast
import collections.abc
import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from srcad import errors
from srcad.frontend.branches.choices import choose
from srcad.frontend.domain.values import (
    AbstractValue,
    Constant,
    DictValue,
    ListValue,
    RecordValue,
    SliceValue,
    TupleValue,
)
from srcad.frontend.machine.constants import known, spread, truth
from srcad.frontend.machine.deferred import Deferred
from srcad.frontend.machine.dispatch import abbreviates, apply, attribute, evaluate
from srcad.frontend.machine.machine import Machine
from srcad.frontend.operations.comparisons import compare
from srcad.frontend.operations.indexing import getitem
from srcad.frontend.operations.sequences import length
from srcad.frontend.store.binding import bind
from srcad.ir.core import Value
from srcad.startup.identifiers import label
from srcad.startup.records import dataclass, field
from srcad.types.numeric import BOOL, Numeric
from srcad.types.structures import ListOf, Opaque

Part = Callable[[], AbstractValue]
WHOLE = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)


@dataclass(eq=False)
class Reading:
    """One pattern as conditions in order, and the bindings if all of them hold."""

    questions: list[Part] = field(default_factory=list)
    captures: dict[str, Part] = field(default_factory=dict)


@abbreviates(ast.Match)
def conditionals(state: Machine, node: ast.Match) -> list[ast.stmt]:
    """Return the conditionals that a ``match`` stands for; the subject is read here, once."""
    subject = evaluate(state, node.subject)
    if isinstance(subject, Value):
        subject = state.box(subject)
    chain: list[ast.stmt] = []
    for case in reversed(node.cases):
        chain = [_conditional(case, subject, chain)]
    return chain


def _conditional(case: ast.match_case, subject: AbstractValue, orelse: list[ast.stmt]) -> ast.If:
    found = Reading()

    def holds(state: Machine) -> AbstractValue:
        take_apart(state, found, case.pattern, lambda: subject)
        if case.guard is None:
            return _all(state, found.questions)
        return _all(state, [*found.questions, lambda: guard(state)])

    def guard(state: Machine) -> AbstractValue:
        bind_captures(state)
        assert case.guard is not None
        return evaluate(state, case.guard)

    def bind_captures(state: Machine) -> AbstractValue:
        for name, part in found.captures.items():
            bind(state, name, part())
        return Constant(None)

    body = case.body
    if case.guard is None:
        body = [ast.Expr(Deferred(bind_captures)), *body]
    made = ast.If(Deferred(holds), body, orelse)
    for part in (made, made.test, body[0], getattr(body[0], "value", body[0])):
        if not hasattr(part, "lineno"):
            ast.copy_location(part, case.pattern)
    return made


def _all(state: Machine, questions: list[Part]) -> AbstractValue:
    """Return the answers in order, each asked only if the one before was yes."""
    if not questions:
        return Constant(True)
    first = questions[0]()
    known_truth = truth(state, first)
    if len(questions) == 1 or known_truth is False:
        return first if known_truth is None else Constant(known_truth)
    if known_truth is True:
        return _all(state, questions[1:])
    return choose(
        state, state.atom(first), lambda: _all(state, questions[1:]), lambda: Constant(False)
    )


# ------------------------------------------------------------------------------ patterns
def take_apart(state: Machine, found: Reading, pattern: ast.pattern, part: Part) -> None:
    """Take one pattern apart; `part` reads what it is matched against."""
    match pattern:
        case ast.MatchValue(value=value):
            found.questions.append(lambda: compare(state, ast.Eq(), part(), evaluate(state, value)))
        case ast.MatchSingleton(value=constant):
            found.questions.append(lambda: compare(state, ast.Is(), part(), Constant(constant)))
        case ast.MatchAs(pattern=inner, name=name):
            if inner is not None:
                take_apart(state, found, inner, part)
            if name is not None:
                found.captures[name] = part
        case ast.MatchOr():
            _either(state, found, pattern, part)
        case ast.MatchSequence():
            _sequence(state, found, pattern, part)
        case ast.MatchMapping():
            _mapping(state, found, pattern, part)
        case ast.MatchClass():
            _instance(state, found, pattern, part)


def _either(state: Machine, found: Reading, pattern: ast.MatchOr, part: Part) -> None:
    """Match ``a | b``; the names of the alternative are bound when all of it has matched."""
    readings = [Reading() for _ in pattern.patterns]
    names: dict[str, None] = {}
    for reading, inner in zip(readings, pattern.patterns, strict=True):
        take_apart(state, reading, inner, part)
        names.update(dict.fromkeys(reading.captures))

    def matched(reading: Reading) -> AbstractValue:
        for name, read in reading.captures.items():
            state.frame.env[_aside(name)] = read()
        return Constant(True)

    def attempt(index: int) -> AbstractValue:
        reading = readings[index]
        answer = _all(state, [*reading.questions, lambda: matched(reading)])
        known_truth = truth(state, answer)
        if known_truth is True or index + 1 == len(readings):
            return answer
        if known_truth is False:
            return attempt(index + 1)
        return choose(state, state.atom(answer), lambda: Constant(True), lambda: attempt(index + 1))

    found.questions.append(lambda: attempt(0))
    for name in names:
        found.captures[name] = lambda name=name: state.frame.env.pop(_aside(name))  # type: ignore[misc]


def _aside(name: str) -> str:
    return f"%match {name}"


def _sequence(state: Machine, found: Reading, pattern: ast.MatchSequence, part: Part) -> None:
    """Match ``[a, *rest, b]``."""
    parts = pattern.patterns
    star = next((k for k, p in enumerate(parts) if isinstance(p, ast.MatchStar)), None)
    fixed = len(parts) - (star is not None)
    wanted = ast.Eq() if star is None else ast.GtE()
    found.questions.append(lambda: _is_a(state, part(), _is_sequence))
    found.questions.append(lambda: compare(state, wanted, length(state, part()), Constant(fixed)))
    for k, inner in enumerate(parts):
        if isinstance(inner, ast.MatchStar):
            after = len(parts) - k - 1
            if inner.name is not None:
                found.captures[inner.name] = lambda k=k, n=after: _middle(state, part(), k, n)  # type: ignore[misc]
            continue
        position = k if star is None or k < star else k - len(parts)
        item: Part = functools.partial(_item_at, state, part, position)
        take_apart(state, found, inner, item)


def _plain(box: AbstractValue) -> AbstractValue:
    """Return a named tuple as the tuple that it is."""
    return TupleValue(box.items) if isinstance(box, RecordValue) else box


def _middle(state: Machine, box: AbstractValue, before: int, after: int) -> AbstractValue:
    """Return the list that a star captures."""
    stop = Constant(-after if after else None)
    if isinstance(box, Value):
        items = getitem(state, box, SliceValue(Constant(before), stop, Constant(None)))
        return state.emit(list, items, type=Opaque(list)) if _is_opaque(items) else items
    items_ = spread(state, box)
    return ListValue(items_[before : len(items_) - after])


def _is_opaque(box: AbstractValue) -> bool:
    return isinstance(box, Value) and isinstance(box.type, Opaque)


def _item_at(state: Machine, part: Part, position: int) -> AbstractValue:
    return getitem(state, _plain(part()), Constant(position))


def _item_of(state: Machine, part: Part, key: ast.expr) -> AbstractValue:
    return getitem(state, part(), evaluate(state, key))


def _mapping(state: Machine, found: Reading, pattern: ast.MatchMapping, part: Part) -> None:
    """``{key: pattern, **rest}``."""
    found.questions.append(lambda: _is_a(state, part(), _is_mapping))
    for key, inner in zip(pattern.keys, pattern.patterns, strict=True):
        found.questions.append(
            lambda key=key: compare(state, ast.In(), evaluate(state, key), part())  # type: ignore[misc]
        )
        item: Part = functools.partial(_item_of, state, part, key)
        take_apart(state, found, inner, item)
    if pattern.rest is not None:
        found.captures[pattern.rest] = lambda: _remaining(state, pattern, part())


def _remaining(state: Machine, pattern: ast.MatchMapping, box: AbstractValue) -> AbstractValue:
    """Return the entries of a mapping that the pattern does not name."""
    named = [known(state, evaluate(state, key), "a key", key) for key in pattern.keys]
    if isinstance(box, DictValue):
        pairs = [p for p in zip(box.keys, box.items, strict=True) if p[0] not in named]
        return DictValue(tuple(k for k, _ in pairs), tuple(b for _, b in pairs))
    return state.refuse(
        errors.UnsupportedSyntaxError,
        "cannot capture the rest of this mapping",
        node=pattern,
        why="its keys are not known before the call.",
        help=("read the entries by their keys",),
    )


def _instance(state: Machine, found: Reading, pattern: ast.MatchClass, part: Part) -> None:
    """``Class(a, b, name=c)``."""
    cls = known(state, evaluate(state, pattern.cls), "a class", pattern.cls)
    found.questions.append(lambda: apply(state, Constant(isinstance), (part(), Constant(cls)), {}))
    positional = list(pattern.patterns)
    if positional and cls in WHOLE:
        take_apart(state, found, positional.pop(0), part)
    names = [*getattr(cls, "__match_args__", ())[: len(positional)], *pattern.kwd_attrs]
    if len(names) != len(positional) + len(pattern.kwd_attrs):
        state.refuse(
            errors.UnsupportedSyntaxError,
            f"cannot match {label(cls)!r} with {len(pattern.patterns)} positions",
            node=pattern,
            why="its __match_args__ has fewer names; the original function raises here.",
            help=("match by name:  Class(name=pattern)",),
        )
    for name, inner in zip(names, [*positional, *pattern.kwd_patterns], strict=True):
        read = _attribute(state, name, part)
        found.questions.append(
            lambda name=name: apply(state, Constant(hasattr), (part(), Constant(name)), {})  # type: ignore[misc]
        )
        take_apart(state, found, inner, read)


def _attribute(state: Machine, name: str, part: Part) -> Part:
    return lambda: attribute(state, part(), name)


# ------------------------------------------------------------------------------ questions
def _is_a(state: Machine, box: AbstractValue, test: Callable[[Any], bool]) -> AbstractValue:
    """Return True if the subject is a sequence, or a mapping, in the sense of ``match``."""
    for example in _examples(box):
        return Constant(test(example))
    return state.emit(test, box, type=BOOL)


def _examples(box: AbstractValue) -> Iterator[Any]:
    """Something of the kind that a box is, where that is known."""
    match box:
        case Constant(atom=None):
            yield box.value
        case TupleValue():
            yield ()
        case ListValue() | Value(type=ListOf()):
            yield []
        case DictValue():
            yield {}
        case RecordValue():
            yield () if issubclass(box.cls, tuple) else None
        case Value(type=Numeric(form="array")):
            yield np.zeros(1)  # a sequence since NumPy 2.5
        case Value(type=Numeric()):
            yield 0


_SEQUENCE = 1 << 5  # the flag of a type that ``match`` itself looks at


def _is_sequence(value: Any) -> bool:
    return bool(type(value).__flags__ & _SEQUENCE)


def _is_mapping(value: Any) -> bool:
    return isinstance(value, collections.abc.Mapping)
