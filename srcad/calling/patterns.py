"""Finding the compiled function that fits a call: a generated function per pattern.

Each pattern becomes one ``if`` over what it takes for granted, written as Python text with the
user's own parameter list, so that Python itself binds the arguments.  A call that fits costs about
a microsecond; one that does not goes on to the next pattern, and at the end to the compiler.  The
text of two float arguments reads ::

    def bind(_function, _run, _next):
        def loss(x, y):
            _found = _failure
            try:
                if _type(x) is _float and _type(y) is _float:
                    return _run(x, y)
                _found = None
                _found = _next(x, y)
                if _type(_found) is not _failure:
                    return _found()
            except _floating as _error:
                _found = _again(_bound(_run, x, y) if _found is _failure else _found)
                if _found is None:
                    _note(_error)
                    raise
            except _any as _error:
                _note(_error)
                raise
            if _type(_found) is _failure:
                raise _found.error from None
            try:
                return _found()
            except _any as _error:
                _note(_error)
                raise
        loss.__qualname__ = "loss"
        return loss

so that one frame stands between the user and an error, and errors of generated code get a note.
What NumPy raises is left to `srcad.calling.quiet`.

A kernel compares dtypes, memory orders and lengths of its arrays in less time than Python does.
Then only classes, captures and arguments that are not arrays are checked before it is called::

    if _type(x) is _ndarray and _type(y) is _ndarray:
        _result = _tested(x, y)
        if _result is not _misfit:
            return _result
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import CodeType, FunctionType
from typing import Any

from srcad.arguments.aliasing import Pairs, overlapping, shared
from srcad.backends.interface import MISFIT, Tested
from srcad.backends.interface.tracebacks import add_note
from srcad.calling.conditions import Conditions, guarded_code
from srcad.calling.quiet import FLOATING, again, current_form
from srcad.calling.type_guards import assume, check, guard, own_code
from srcad.frontend.domain.guards import Guard
from srcad.ir.memory import type_has_storage
from srcad.rules import registry
from srcad.startup.identifiers import is_name, quoted
from srcad.startup.records import dataclass
from srcad.types.reading import looked_up, signature
from srcad.types.sizes import Assumption
from srcad.types.sources import Path, is_besides_arguments
from srcad.types.structures import Type

Bind = Callable[..., Callable[..., Any]]


class _Missing:
    """The marker of a default value that is read at the call."""

    def __repr__(self) -> str:
        return "<default>"


MISSING = _Missing()


@dataclass(frozen=True, eq=False)
class Failure:
    """An error that is returned, to be raised in the frame next to the user's."""

    error: Exception


@dataclass(frozen=True, eq=False)
class Pattern:
    """The assumptions of one compiled function.

    `types` are those of the parameters in order; `captures` are the values that are read besides
    the arguments and passed after them; `ordered` are the parameters all of whose arrays lie in
    memory in C order; `written` are the positions of those that the function writes into, and
    `overlaps` the pairs of arguments that share memory with them.
    """

    types: tuple[Type, ...]
    assumptions: tuple[Assumption, ...] = ()
    captures: tuple[tuple[Path, Type], ...] = ()
    guards: tuple[Guard, ...] = ()
    ordered: tuple[str, ...] = ()
    written: tuple[int, ...] = ()
    overlaps: Pairs = ()


def binder(
    pattern: Pattern,
    parameters: Sequence[inspect.Parameter],
    function: Any,
    rules: int | None = None,
    *,
    head: bool,
    asks: bool = False,
    tested: Tested | None = None,
) -> Bind:
    """Generate the function that binds a pattern to a function object.

    Parameters
    ----------
    pattern : Pattern
        What to check.
    parameters : sequence of inspect.Parameter
        The parameters of the function.
    function : callable
        The function whose call caused the compilation (helpers are found through it).
    rules : int, optional
        The version of the rule table that the pattern was compiled with.
    head : bool
        Whether to bind arguments as a call of the function does; else all arguments come in order.
    asks : bool
        Whether to ask for the surroundings before the call: the function must not run twice.
    tested : Tested, optional
        The form of the function that checks its arrays itself; the head calls it first.

    Returns
    -------
    callable
        ``bind(function, run, next)``: the dispatcher of one function object.  `run` is called
        with all arguments and captures; if the pattern does not fit, `next` is called with all
        arguments and returns what is to be called instead, or a `Failure`.  The head returns the
        result; the others what is to be called.
    """
    names = [p.name for p in parameters]
    name = _name_of(function)
    arrays = _tested_arrays(pattern, names, tested) if head and not asks else {}
    c = _conditions(pattern, names, function, name, rules, arrays)
    inputs = ", ".join([*names, *(c.names[path] for path, _ in pattern.captures)])
    precheck = c.condition_outside_kernel()
    if tested is None or (precheck is not None and not tested.require(c.kernel_checks)):
        precheck = None
    text = _text(c, parameters, inputs, name, head=head, asks=asks, precheck=precheck)
    own = {f"{c.prefix}{key}": value for key, value in _BOUND.items()}
    own[f"{c.prefix}tested"] = tested and tested.run
    space: dict[str, Any] = {**c.constants, **own, "__name__": "srcad"}
    exec(compile(text, f"<srcad dispatch {name}>", "exec"), space)
    bind: Bind = space["bind"]
    return bind


def _tested_arrays(
    pattern: Pattern, names: Sequence[str], tested: Tested | None
) -> dict[Path, str]:
    """Map the paths of the arrays that the kernel checks to the names of its parameters."""
    paths: list[Path] = [(("param", name),) for name in names]
    paths += [path for path, _ in pattern.captures]
    if tested is None or tested.count != len(paths):
        return {}
    return {paths[k]: name for k, name in tested.arrays.items()}


def _conditions(
    pattern: Pattern,
    names: list[str],
    function: Any,
    name: str,
    rules: int | None,
    tested: Mapping[Path, str],
) -> Conditions:
    """Everything that a pattern takes for granted, the quickest to fail first."""
    codes = {
        g.path: None if g.expected is None else guarded_code(g.expected)
        for g in pattern.guards
        if g.kind == "code"
    }
    c = Conditions(names, function, codes, name)
    c.assumptions = list(pattern.assumptions)
    c.ordered = frozenset(("param", name) for name in pattern.ordered)
    c.quick = [] if len(pattern.assumptions) > 1 else None
    c.outside_kernel, c.kernel_arrays = [] if tested else None, tested
    for parameter, type_ in zip(names, pattern.types, strict=True):
        check(c, type_, parameter, (("param", parameter),))
    if pattern.written and len(names) > 1:
        found = f"{c.constant(overlapping)}(({', '.join(names)}), {c.constant(pattern.written)})"
        c.add(f"{found} == {c.constant(pattern.overlaps)}")
    if rules is not None:
        c.constants[f"{c.prefix}rules"] = registry
        c.add(f"{c.prefix}rules._version == {rules}")
    if isinstance(function, FunctionType):
        c.add(f"{c.prefix}function.__code__ is {own_code(c)}")
    for path, type_ in pattern.captures:
        check(c, type_, c.expression(path), path)
    held = [
        c.expression(path)
        for path, type_ in pattern.captures
        if pattern.written and type_has_storage(type_) and is_besides_arguments(path)
    ]
    if held:
        written = ", ".join(names[k] for k in pattern.written)
        c.add(f"{c.constant(shared)}(({written},), ({', '.join(held)},)) is None")
    for one in pattern.guards:
        guard(c, one.path, one.kind, one.expected)
    for assumption in c.assumptions:
        assume(c, assumption)
    return c


def _text(
    c: Conditions,
    parameters: Sequence[inspect.Parameter],
    inputs: str,
    name: str,
    *,
    head: bool,
    asks: bool,
    precheck: str | None,
) -> str:
    p = c.prefix
    names = ", ".join(parameter.name for parameter in parameters)
    test = " and ".join(c.conditions) or "True"
    before: list[str] = []
    if precheck is not None:
        precheck = _safe(c, precheck, before)
        before += [
            f"if {precheck}:",
            f"    {p}result = {p}tested({inputs})",
            f"    if {p}result is not {p}misfit:",
            f"        return {p}result",
        ]
    if c.shapes:
        test = f"{' and '.join(c.quick or ())} or {test} and {_note_shapes(c, before)}"
    test = _safe(c, test, before)
    run = f"{p}form({p}run)" if asks else f"{p}run"
    bound = f"{p}bound({run}, {inputs})" if inputs else run
    if head:
        header = _header(parameters, p)
        body = [
            *_defaults(parameters, p),
            *_head_body(p, before, test, (run, bound), inputs, names),
        ]
    else:
        header = names
        body = [*before, f"if {test}:", f"    return {bound}", f"return {p}next({names})"]
    lines = [
        *c.functions,
        f"def bind({p}function, {p}run, {p}next):",
        *(f"    {line}" for line in c.setup),
        f"    def {name}({header}):",
        *(f"        {line}" for line in body),
        f"    {name}.__qualname__ = {quoted(name)}",
        f"    return {name}",
    ]
    return "\n".join(lines)


def _safe(c: Conditions, test: str, before: list[str]) -> str:
    """Return an expression that is False where a condition raises.

    `before` gets the statements that evaluate a condition which may raise.
    """
    if not c.risky:
        return test
    p = c.prefix
    before += ["try:", f"    {p}fits = {test}", f"except {p}errors:", f"    {p}fits = False"]
    return f"{p}fits"


def _head_body(
    p: str, before: list[str], test: str, call: tuple[str, str], inputs: str, names: str
) -> list[str]:
    """Return the statements of the function that the user calls."""
    run, bound = call
    noted = [f"except {p}any as {p}error:", f"    {p}note({p}error)", "    raise"]
    return [
        f"{p}found = {p}failure",
        "try:",
        *(f"    {line}" for line in before),
        f"    if {test}:",
        f"        return {run}({inputs})",
        f"    {p}found = None",
        f"    {p}found = {p}next({names})",
        f"    if {p}type({p}found) is not {p}failure:",
        f"        return {p}found()",
        f"except {p}floating as {p}error:",
        f"    {p}found = {p}again({bound} if {p}found is {p}failure else {p}found)",
        f"    if {p}found is None:",
        f"        {p}note({p}error)",
        "        raise",
        *noted,
        f"if {p}type({p}found) is {p}failure:",
        f"    raise {p}found.error from None",
        "try:",
        f"    return {p}found()",
        *noted,
    ]


def _note_shapes(c: Conditions, before: list[str]) -> str:
    """Return the condition that notes the shapes of a call that fits.

    `before` gets how they are read.
    """
    p = c.prefix
    before += [f"nonlocal {p}seen", f"{', '.join(c.shapes.values())}, = {p}seen"]
    c.setup.append(f"{p}seen = {(None,) * len(c.shapes)}")
    return f"({p}seen := ({', '.join(c.shapes)},))"


_STARS: dict[Any, str] = {
    inspect.Parameter.VAR_POSITIONAL: "*",
    inspect.Parameter.VAR_KEYWORD: "**",
}


def _header(parameters: Iterable[inspect.Parameter], prefix: str) -> str:
    parts: list[str] = []
    positional_only = starred = False
    for parameter in parameters:
        kind = parameter.kind
        if positional_only and kind is not parameter.POSITIONAL_ONLY:
            parts.append("/")
        positional_only = kind is parameter.POSITIONAL_ONLY
        if kind is parameter.KEYWORD_ONLY and not starred:
            parts.append("*")
            starred = True
        starred = starred or kind is parameter.VAR_POSITIONAL
        star = _STARS.get(kind, "")
        default = "" if parameter.default is parameter.empty else f"={prefix}missing"
        parts.append(f"{star}{parameter.name}{default}")
    return ", ".join([*parts, "/"] if positional_only else parts)


def _defaults(parameters: Iterable[inspect.Parameter], prefix: str) -> list[str]:
    lines = []
    for parameter in parameters:
        if parameter.default is not parameter.empty:
            name = parameter.name
            default = f"{prefix}default({prefix}function, {quoted(name)})"
            lines += [f"if {name} is {prefix}missing:", f"    {name} = {default}"]
    return lines


def current_default(function: Any, name: str) -> Any:
    """Return the present default of a parameter, which may have changed since the ``def``."""
    plain = looked_up(function, "__func__", function)
    code = looked_up(plain, "__code__")
    if not isinstance(code, CodeType):
        return signature(function).parameters[name].default
    keywords = plain.__kwdefaults__ or {}
    if name in keywords:
        return keywords[name]
    position = code.co_varnames.index(name) - code.co_argcount
    return plain.__defaults__[position]


def _name_of(function: Any) -> str:
    name = looked_up(function, "__name__", "")
    usable = is_name(name) and name.isascii() and not name.startswith("__")
    return str(name) if usable else "f"


_BOUND: dict[str, Any] = {
    "missing": MISSING,
    "default": current_default,
    "failure": Failure,
    "bound": partial,
    "any": BaseException,
    "floating": FLOATING,
    "again": again,
    "form": current_form,
    "note": add_note,
    "misfit": MISFIT,
}
