"""Compiled functions, kept for as long as the code that they come from.

There is one `Record` per code object (by identity: code objects of different files may compare
equal), held weakly and bounded in number.  For every request it has a `Family`: the patterns that
were compiled, newest first.  Each function object (each closure) gets a dispatcher of its own over
the shared patterns.  A lock per record makes sure that threads compile a pattern once.
"""

from __future__ import annotations

import inspect
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from types import CodeType
from typing import Any

from srcad.arguments.options import setting_of_helpers
from srcad.arguments.request import Parameter, Request, anchor_of, name_of
from srcad.calling.causes import Cause, Recompilations
from srcad.calling.inspection import CacheInfo
from srcad.calling.patterns import Bind, Failure, Pattern, binder, current_default
from srcad.calling.quiet import current_form, run_with_retry, silent_form_of
from srcad.errors import SrcadError
from srcad.modes.calm import numpy_raises
from srcad.modes.mode import Run
from srcad.rules import registry
from srcad.startup.locks import COMPILING, lock
from srcad.startup.records import dataclass, field
from srcad.startup.short_tracebacks import on_purpose, short_traceback
from srcad.types.sources import read
from srcad.types.structures import Opaque

MOST_PATTERNS = 8
MOST_ENTRIES = 16
MOST_RECORDS = 1024

_PLAIN = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


@dataclass(eq=False)
class Entry:
    """One compiled pattern.

    `run` takes the arguments in order, then the captures.  `artifact` is everything else that the
    compiler made, for inspection; `why` says what made the compilation necessary, and `cause` is
    the value that earlier compilations do not serve.
    """

    pattern: Pattern
    run: Run
    artifact: Any
    parameters: tuple[Parameter, ...]
    why: str = "the first call"
    cause: Cause | None = None
    rules: int = field(default_factory=registry.version)
    _binds: dict[bool, Bind] = field(default_factory=dict)

    @property
    def asks(self) -> bool:
        """True if each call asks whether NumPy raises: the function must not run twice."""
        quiet = silent_form_of(self.run)
        return quiet is not None and not quiet.repeats

    def bind(self, function: Any, run: Run, next_: Run, *, head: bool) -> Run:
        """Return the dispatcher of a function object for this pattern, with another to go on to."""
        bind = self._binds.get(head)
        if bind is None:
            bind = self._binds[head] = binder(
                self.pattern, self.parameters, function, self.rules, head=head, asks=self.asks,
                tested=getattr(self.run, "tested", None),
            )  # fmt: skip
        return bind(function, run, next_)

    def bare(self, function: Any) -> Run:
        """Return the compiled function alone; captures and defaults are still read at each call.

        Where NumPy is told to raise now, it is the form whose reverse half is silent.
        """
        run = current_form(self.run) if numpy_raises() else self.run
        plain = all(p.default is p.empty and p.kind in _PLAIN for p in self.parameters)
        if plain and not self.pattern.captures:
            return run
        anything = tuple(Opaque() for _ in self.parameters)
        captures = tuple((path, Opaque()) for path, _ in self.pattern.captures)
        pattern = Pattern(anything, captures=captures)
        return binder(pattern, self.parameters, function, head=True)(function, run, _nothing)

    def ready(self, function: Any, arguments: Sequence[Any]) -> Run | None:
        """Return the call for these arguments, ready to be made; None if they do not fit."""
        found: Run | None = self.bind(function, self.run, _nothing, head=False)(*arguments)
        return found

    def prepared(self, function: Any, arguments: Sequence[Any]) -> Run:
        """Return the call, ready to be made; captures are read now and nothing is checked."""
        named = dict(zip((p.name for p in self.parameters), arguments, strict=True))
        captures = [read(path, function, named) for path, _ in self.pattern.captures]
        run = current_form(self.run) if self.asks else self.run
        return partial(run, *arguments, *captures)


def _nothing(*_: Any) -> None:
    return None


Compile = Callable[["Family", Any, Sequence[Any]], Entry]


@dataclass(eq=False)
class Family:
    """The patterns of one request, newest first; `version` changes whenever they do."""

    request: Request
    parameters: tuple[Parameter, ...]
    compile: Compile
    lock: Any
    entries: list[Entry] = field(default_factory=list)
    version: int = 0
    compilations: int = 0
    recompilations: Recompilations = field(default_factory=Recompilations)
    has_warned_of_backend: bool = False

    def __post_init__(self) -> None:
        self.is_plain = all(p.kind in _PLAIN for p in self.parameters)

    @property
    def is_full(self) -> bool:
        """True if further patterns are compiled for lengths of any kind."""
        return len(self.entries) >= MOST_PATTERNS

    def dispatcher(
        self, function: Any, now: Callable[[], Family], rebind: Callable[[], None]
    ) -> Run:
        """Return a function that is called as `function` is, and finds or compiles the pattern.

        `now` tells the family of the code that the function has now: it may have been replaced.
        """
        entries, seen = self.entries, self.version

        def missed(*arguments: Any) -> Run | Failure:
            family = now()
            if family is not self:
                args, kwargs = self._as_given(arguments)
                arguments = tuple(family.bound(function, args, kwargs))
            found = family.found(function, arguments, seen if family is self else -1)
            rebind()
            return found

        if not entries:
            return self._first(function, now, rebind)
        next_: Run = missed
        for entry in reversed(entries[1:]):
            next_ = entry.bind(function, entry.run, next_, head=False)
        return entries[0].bind(function, entries[0].run, next_, head=True)

    def _as_given(self, arguments: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments of a call, one per parameter, as they would be given again."""
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for parameter, value in zip(self.parameters, arguments, strict=True):
            if parameter.kind is Parameter.VAR_POSITIONAL:
                args += value
            elif parameter.kind is Parameter.VAR_KEYWORD:
                kwargs.update(value)
            elif parameter.kind is Parameter.KEYWORD_ONLY:
                kwargs[parameter.name] = value
            else:
                args.append(value)
        return tuple(args), kwargs

    def _first(self, function: Any, now: Callable[[], Family], rebind: Callable[[], None]) -> Run:
        """Before there is any pattern, `inspect` binds the arguments."""

        def first(*args: Any, **kwargs: Any) -> Any:
            with short_traceback():
                family = now()
                found = family.found(function, family.bound(function, args, kwargs))
                rebind()
                if isinstance(found, Failure):
                    raise found.error from None
                return run_with_retry(found)

        return first

    def bound(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Sequence[Any]:
        """Return the arguments of a call, one per parameter, with defaults as they are now."""
        if not kwargs and self.is_plain and len(args) == len(self.parameters):
            return args
        try:
            given = inspect.Signature(self.parameters).bind(*args, **kwargs).arguments
        except TypeError as error:
            raise on_purpose(TypeError(f"{name_of(function)}() {error}")) from None
        return [
            given[p.name] if p.name in given else _omitted(function, p) for p in self.parameters
        ]

    def found(self, function: Any, arguments: Sequence[Any], seen: int = -1) -> Run | Failure:
        """Return the call for these arguments, ready to be made, or why it cannot be."""
        try:
            entry, ready = self._fitting(function, arguments, seen)
        except SrcadError as error:
            return Failure(error.with_traceback(None))
        return ready or entry.prepared(function, arguments)

    def entry_for(self, function: Any, arguments: Sequence[Any]) -> Entry:
        """Return the entry that fits these arguments, compiled if need be."""
        return self._fitting(function, arguments, -1)[0]

    def _fitting(
        self, function: Any, arguments: Sequence[Any], seen: int
    ) -> tuple[Entry, Run | None]:
        """Return the entry that fits and its call, where known.

        `seen` is the version at which no entry fitted.
        """
        with self.lock:
            self._drop_stale()
            if self.version != seen:
                for entry in self.entries:
                    ready = entry.ready(function, arguments)
                    if ready is not None:
                        return entry, ready
            with COMPILING:
                entry = self.compile(self, function, arguments)
            if self.entries:
                self.recompilations.add(entry.cause)
            self.entries = [entry, *self.entries][:MOST_ENTRIES]
            self.version += 1
            self.compilations += 1
            self.recompilations.warn(function)
            return entry, None

    def _drop_stale(self) -> None:
        """Rules registered since then are used from now on."""
        if any(entry.rules != registry.version() for entry in self.entries):
            self.clear()

    def clear(self) -> None:
        """Forget every pattern."""
        with self.lock:
            self.entries = []
            self.version += 1

    def info(self) -> CacheInfo:
        """Return the compiled patterns, and why each was compiled."""
        entries = self.entries[::-1]
        names = [p.name for p in self.parameters]
        return CacheInfo(
            self.compilations,
            tuple(
                ", ".join(f"{n}: {t}" for n, t in zip(names, e.pattern.types, strict=True))
                for e in entries
            ),
            tuple(e.why for e in entries),
        )


def _omitted(function: Any, parameter: Parameter) -> Any:
    if parameter.kind is Parameter.VAR_POSITIONAL:
        return ()
    if parameter.kind is Parameter.VAR_KEYWORD:
        return {}
    return current_default(function, parameter.name)


@dataclass(eq=False)
class Record:
    """Everything that was compiled for one code object."""

    lock: Any = field(default_factory=lock)
    families: dict[Any, Family] = field(default_factory=dict)
    _recent: dict[Any, Family] = field(default_factory=dict)

    def family(
        self,
        function: Any,
        request: Request,
        how: Any,
        parameters: tuple[Parameter, ...],
        compile_: Compile,
    ) -> Family:
        """Return the patterns of a request.

        Raises
        ------
        WrtError
            The request names no parameter.
        """
        helpers = setting_of_helpers()
        short = (request, how, id(parameters), helpers)
        family = self._recent.get(short)
        if family is not None and family.parameters is parameters:
            return family
        request.places(function, parameters)
        key = (request, how, parameters, helpers)
        with self.lock:
            family = self.families.get(key)
            if family is None:
                family = Family(request, parameters, compile_, self.lock)
                self.families[key] = self._recent[short] = family
        return family


_RECORDS: OrderedDict[int, tuple[Callable[[], Any], Record]] = OrderedDict()
_LOCK = lock(1)


def record_of(function: Any) -> tuple[Record, Any]:
    """Return the record of a callable, and how the callable wraps the recorded code."""
    anchor, how = anchor_of(function)
    key = id(anchor)
    with _LOCK:
        known = _RECORDS.get(key)
        if known is not None and known[0]() is anchor:
            _RECORDS.move_to_end(key)
            return known[1], how
        record = Record()
        _RECORDS[key] = (_reference(anchor, key), record)
        while len(_RECORDS) > MOST_RECORDS:
            _RECORDS.popitem(last=False)
    return record, how


def _reference(anchor: Any, key: int) -> Callable[[], Any]:
    """Return a weak reference to code that forgets the record; other callables are simply held."""
    if not isinstance(anchor, CodeType):
        return lambda: anchor

    def forget(dead: weakref.ref[CodeType], records: Any = _RECORDS) -> None:
        known = records.get(key)
        if known is not None and known[0] is dead:
            del records[key]

    return weakref.ref(anchor, forget)
