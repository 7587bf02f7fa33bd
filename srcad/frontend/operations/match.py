"""``match``: every case is a condition over the subject's parts, followed by its bindings.

A `match` statement is read as the chain of conditionals that it abbreviates.  A pattern becomes a
list of questions, each asked only if those before it hold, and a list of captures; what is known
of the subject's structure answers most questions now.
"""

from __future__ import annotations

import ast
import collections.abc
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
def conditionals(s: Machine, node: ast.Match) -> list[ast.stmt]:
    """Return the conditionals that a ``match`` stands for; the subject is read here, once."""
    subject = evaluate(s, node.subject)
    if isinstance(subject, Value):
        subject = s.box(subject)
    chain: list[ast.stmt] = []
    for case in reversed(node.cases):
        chain = [_conditional(case, subject, chain)]
    return chain


def _conditional(case: ast.match_case, subject: AbstractValue, orelse: list[ast.stmt]) -> ast.If:
    found = Reading()

    def holds(s: Machine) -> AbstractValue:
        take_apart(s, found, case.pattern, lambda: subject)
        if case.guard is None:
            return _all(s, found.questions)
        return _all(s, [*found.questions, lambda: guard(s)])

    def guard(s: Machine) -> AbstractValue:
        bind_captures(s)
        assert case.guard is not None
        return evaluate(s, case.guard)

    def bind_captures(s: Machine) -> AbstractValue:
        for name, part in found.captures.items():
            bind(s, name, part())
        return Constant(None)

    body = case.body
    if case.guard is None:
        body = [ast.Expr(Deferred(bind_captures)), *body]
    made = ast.If(Deferred(holds), body, orelse)
    for part in (made, made.test, body[0], getattr(body[0], "value", body[0])):
        if not hasattr(part, "lineno"):
            ast.copy_location(part, case.pattern)
    return made


def _all(s: Machine, questions: list[Part]) -> AbstractValue:
    """Return the answers in order, each asked only if the one before was yes."""
    if not questions:
        return Constant(True)
    first = questions[0]()
    known_truth = truth(s, first)
    if len(questions) == 1 or known_truth is False:
        return first if known_truth is None else Constant(known_truth)
    if known_truth is True:
        return _all(s, questions[1:])
    return choose(s, s.atom(first), lambda: _all(s, questions[1:]), lambda: Constant(False))


# ------------------------------------------------------------------------------ patterns
def take_apart(s: Machine, found: Reading, pattern: ast.pattern, part: Part) -> None:
    """Take one pattern apart; `part` reads what it is matched against."""
    match pattern:
        case ast.MatchValue(value=value):
            found.questions.append(lambda: compare(s, ast.Eq(), part(), evaluate(s, value)))
        case ast.MatchSingleton(value=constant):
            found.questions.append(lambda: compare(s, ast.Is(), part(), Constant(constant)))
        case ast.MatchAs(pattern=inner, name=name):
            if inner is not None:
                take_apart(s, found, inner, part)
            if name is not None:
                found.captures[name] = part
        case ast.MatchOr():
            _either(s, found, pattern, part)
        case ast.MatchSequence():
            _sequence(s, found, pattern, part)
        case ast.MatchMapping():
            _mapping(s, found, pattern, part)
        case ast.MatchClass():
            _instance(s, found, pattern, part)


def _either(s: Machine, found: Reading, pattern: ast.MatchOr, part: Part) -> None:
    """Match ``a | b``; the names of the alternative are bound when all of it has matched."""
    readings = [Reading() for _ in pattern.patterns]
    names: dict[str, None] = {}
    for reading, inner in zip(readings, pattern.patterns, strict=True):
        take_apart(s, reading, inner, part)
        names.update(dict.fromkeys(reading.captures))

    def matched(reading: Reading) -> AbstractValue:
        for name, read in reading.captures.items():
            s.frame.env[_aside(name)] = read()
        return Constant(True)

    def attempt(index: int) -> AbstractValue:
        reading = readings[index]
        answer = _all(s, [*reading.questions, lambda: matched(reading)])
        known_truth = truth(s, answer)
        if known_truth is True or index + 1 == len(readings):
            return answer
        if known_truth is False:
            return attempt(index + 1)
        return choose(s, s.atom(answer), lambda: Constant(True), lambda: attempt(index + 1))

    found.questions.append(lambda: attempt(0))
    for name in names:
        found.captures[name] = lambda name=name: s.frame.env.pop(_aside(name))  # type: ignore[misc]


def _aside(name: str) -> str:
    return f"%match {name}"


def _sequence(s: Machine, found: Reading, pattern: ast.MatchSequence, part: Part) -> None:
    """Match ``[a, *rest, b]``."""
    parts = pattern.patterns
    star = next((k for k, p in enumerate(parts) if isinstance(p, ast.MatchStar)), None)
    fixed = len(parts) - (star is not None)
    wanted = ast.Eq() if star is None else ast.GtE()
    found.questions.append(lambda: _is_a(s, part(), _is_sequence))
    found.questions.append(lambda: compare(s, wanted, length(s, part()), Constant(fixed)))
    for k, inner in enumerate(parts):
        if isinstance(inner, ast.MatchStar):
            after = len(parts) - k - 1
            if inner.name is not None:
                found.captures[inner.name] = lambda k=k, n=after: _middle(s, part(), k, n)  # type: ignore[misc]
            continue
        position = k if star is None or k < star else k - len(parts)
        take_apart(s, found, inner, lambda p=position: getitem(s, _plain(part()), Constant(p)))  # type: ignore[misc]


def _plain(box: AbstractValue) -> AbstractValue:
    """Return a named tuple as the tuple that it is."""
    return TupleValue(box.items) if isinstance(box, RecordValue) else box


def _middle(s: Machine, box: AbstractValue, before: int, after: int) -> AbstractValue:
    """Return the list that a star captures."""
    stop = Constant(-after if after else None)
    if isinstance(box, Value):
        items = getitem(s, box, SliceValue(Constant(before), stop, Constant(None)))
        return s.emit(list, items, type=Opaque(list)) if _is_opaque(items) else items
    items_ = spread(s, box)
    return ListValue(items_[before : len(items_) - after])


def _is_opaque(box: AbstractValue) -> bool:
    return isinstance(box, Value) and isinstance(box.type, Opaque)


def _mapping(s: Machine, found: Reading, pattern: ast.MatchMapping, part: Part) -> None:
    """``{key: pattern, **rest}``."""
    found.questions.append(lambda: _is_a(s, part(), _is_mapping))
    for key, inner in zip(pattern.keys, pattern.patterns, strict=True):
        found.questions.append(
            lambda key=key: compare(s, ast.In(), evaluate(s, key), part())  # type: ignore[misc]
        )
        take_apart(s, found, inner, lambda key=key: getitem(s, part(), evaluate(s, key)))  # type: ignore[misc]
    if pattern.rest is not None:
        found.captures[pattern.rest] = lambda: _remaining(s, pattern, part())


def _remaining(s: Machine, pattern: ast.MatchMapping, box: AbstractValue) -> AbstractValue:
    """Return the entries of a mapping that the pattern does not name."""
    named = [known(s, evaluate(s, key), "a key", key) for key in pattern.keys]
    if isinstance(box, DictValue):
        pairs = [p for p in zip(box.keys, box.items, strict=True) if p[0] not in named]
        return DictValue(tuple(k for k, _ in pairs), tuple(b for _, b in pairs))
    return s.refuse(
        errors.UnsupportedSyntaxError,
        "cannot capture the rest of this mapping",
        node=pattern,
        why="its keys are not known before the call.",
        help=("read the entries by their keys",),
    )


def _instance(s: Machine, found: Reading, pattern: ast.MatchClass, part: Part) -> None:
    """``Class(a, b, name=c)``."""
    cls = known(s, evaluate(s, pattern.cls), "a class", pattern.cls)
    found.questions.append(lambda: apply(s, Constant(isinstance), (part(), Constant(cls)), {}))
    positional = list(pattern.patterns)
    if positional and cls in WHOLE:
        take_apart(s, found, positional.pop(0), part)
    names = [*getattr(cls, "__match_args__", ())[: len(positional)], *pattern.kwd_attrs]
    if len(names) != len(positional) + len(pattern.kwd_attrs):
        s.refuse(
            errors.UnsupportedSyntaxError,
            f"cannot match {label(cls)!r} with {len(pattern.patterns)} positions",
            node=pattern,
            why="its __match_args__ names fewer; the plain call raises here.",
            help=("match by name:  Class(name=pattern)",),
        )
    for name, inner in zip(names, [*positional, *pattern.kwd_patterns], strict=True):
        read = _attribute(s, name, part)
        found.questions.append(
            lambda name=name: apply(s, Constant(hasattr), (part(), Constant(name)), {})  # type: ignore[misc]
        )
        take_apart(s, found, inner, read)


def _attribute(s: Machine, name: str, part: Part) -> Part:
    return lambda: attribute(s, part(), name)


# ------------------------------------------------------------------------------ questions
def _is_a(s: Machine, box: AbstractValue, test: Callable[[Any], bool]) -> AbstractValue:
    """Return True if the subject is a sequence, or a mapping, in the sense of ``match``."""
    for example in _examples(box):
        return Constant(test(example))
    return s.emit(test, box, type=BOOL)


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
