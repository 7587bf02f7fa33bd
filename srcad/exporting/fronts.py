"""The function of an exported module that is called: it checks its arguments, as a call does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from srcad.arguments.request import Parameter
from srcad.errors import ExportError
from srcad.exporting import plain
from srcad.exporting.checks import Checks
from srcad.exporting.derivative import Derivative, Draft
from srcad.exporting.literals import literal
from srcad.exporting.written_out import WIDTH, call_lines
from srcad.modes import hvp, jvp, reverse, seeds
from srcad.startup.identifiers import identifier, quoted
from srcad.types.sources import Path, Unreadable, spelled
from srcad.types.structures import Type

_STARS: dict[Any, str] = {Parameter.VAR_POSITIONAL: "*", Parameter.VAR_KEYWORD: "**"}


def public_function(draft: Draft) -> str:
    """Return the text of the function that is called."""
    derivative = draft.derivative
    if derivative.request.check_finite:
        raise ExportError(
            f"the derivative of {derivative.name!r} asks what is finite, which a file cannot do",
            help="export it without check_finite=True",
        )
    checks = Checks(draft.definitions, derivative, frozenset(derivative.ordered))
    names = [p.name for p in derivative.parameters]
    for name, type_ in zip(names, derivative.types, strict=True):
        checks.type(type_, name, (("param", name),))
    checks.memory(names, derivative.written, derivative.overlaps)
    for k, (path, type_) in enumerate(derivative.captures, len(names)):
        draft.captured.append(_captured(draft, checks, path, type_, read_there=draft.reads(k)))
    for guard in derivative.guards:
        checks.guard(guard)
    for assumption in derivative.assumptions:
        checks.assumption(assumption)
    inputs = [*names, *draft.captured]
    front = _FRONTS.get(_made(derivative)[0])
    if front is not None:
        head, body = front(draft, inputs, checks)
    else:
        head = _header(draft.name, _parameters(draft))
        body = [*checks.lines, *call_lines(f"return {_run(draft)}", inputs, 4)]
    lines = [f'"""{sentence(derivative)}"""', *body]
    return "\n".join([head, *(f"    {line}" for line in lines)]) + "\n"


def sentence(derivative: Derivative) -> str:
    """Return the docstring of the exported function."""
    of = derivative.name
    names = [derivative.parameters[p.parameter].name for p in derivative.places]
    by = f" by {', '.join(dict.fromkeys(names))}" if names else ""
    return {
        "grad": f"Return the gradient of {of}{by}.",
        "value_and_grad": f"Return the value of {of} and its gradient{by}.",
        "elementwise_grad": f"Return the gradient of the sum of {of}{by}.",
        "pullback": f"Return the value of {of} and the map from its cotangent to that{by}.",
        "hvp": f"Return the product of the Hessian of {of}{by} with a direction.",
        "jvp": f"Return the value of {of} and its tangent, for tangents{by}.",
    }.get(derivative.request.mode, f"Return the {derivative.request.mode} of {of}{by}.")


# ------------------------------------------------------------------------------- what is captured
def _captured(draft: Draft, checks: Checks, path: Path, type_: Type, *, read_there: bool) -> str:
    """How what the function reads besides its arguments is written."""
    d, derivative = draft.definitions, draft.derivative
    found = checks.in_class(path)
    if path[0][0] == "param" and found is None:
        shown = checks.read(path)
        if path not in checks.at:
            checks.type(type_, shown, path)
        return shown
    try:
        value = checks.held[path] = derivative.outside(path)
    except Unreadable:
        raise ExportError(
            f"{spelled(path)!r}, which {derivative.name!r} reads, is not there any more",
            why="what a function reads besides its arguments is written to the file.",
            help="define it",
        ) from None
    if not read_there:
        return "None"
    full = path if found is None else (("param", found.cls.__name__), *found.steps)
    wanted, text = identifier(spelled(full)), literal(value)
    if text is not None:
        return d.constant(text, d.fresh_outside(wanted))
    try:
        return d.importable(value, wanted)
    except ExportError:
        name = d.fresh_outside(wanted)
    del checks.held[path]
    checks.type(type_, name, path)
    draft.keywords.append(name)
    return name


# ------------------------------------------------------------------------------- the header
def _parameters(draft: Draft) -> list[str]:
    pieces: list[str] = []
    parameters = draft.derivative.parameters
    defaults = _defaults(draft)
    starred = False
    for k, parameter in enumerate(parameters):
        kind = parameter.kind
        if kind is Parameter.KEYWORD_ONLY and not starred:
            pieces.append("*")
        starred = starred or kind in (Parameter.KEYWORD_ONLY, Parameter.VAR_POSITIONAL)
        pieces.append(f"{_STARS.get(kind, '')}{parameter.name}{defaults[k]}")
        last = k + 1 == len(parameters) or parameters[k + 1].kind is not kind
        if kind is Parameter.POSITIONAL_ONLY and last:
            pieces.append("/")
    if draft.keywords:
        rest = [pieces.pop()] if pieces and pieces[-1].startswith("**") else []
        pieces += [*([] if starred else ["*"]), *draft.keywords, *rest]
    return pieces


def _defaults(draft: Draft) -> list[str]:
    """Return the defaults that can be written.

    In front of one that cannot, the caller gives all.
    """
    derivative, found = draft.derivative, []
    gives_all = False
    for parameter in reversed(derivative.parameters):
        known = parameter.name in derivative.defaults
        text = literal(derivative.defaults[parameter.name]) if known else None
        if parameter.kind is not Parameter.KEYWORD_ONLY and known:
            gives_all = gives_all or text is None
        if text is None or (gives_all and parameter.kind is not Parameter.KEYWORD_ONLY):
            found.append("")
            continue
        if text[0] in "[{(" or "np." in text:
            d = draft.definitions
            text = d.constant(text, d.fresh_outside(f"default_{parameter.name}"))
        found.append(f"={text}")
    return found[::-1]


def _header(name: str, pieces: Sequence[str]) -> str:
    line = f"def {name}({', '.join(pieces)}):"
    if len(line) <= WIDTH:
        return line
    return f"def {name}(\n" + "".join(f"    {piece},\n" for piece in pieces) + "):"


# ------------------------------------------------------------------------------- what runs
def _made(derivative: Derivative) -> tuple[Callable[..., Any], Mapping[str, Any]]:
    """Return the function that joins the parts to what a call runs, and its options."""
    join = derivative.join
    return (join.func, join.keywords) if isinstance(join, partial) else (join, {})


def _run(draft: Draft) -> str:
    """Return the name of what runs: the one part itself, or what is made of the parts."""
    d, derivative = draft.definitions, draft.derivative
    made, options = _made(derivative)
    if made is reverse._as_it_is or made.__module__ == "srcad.pipeline":
        return draft.inner[0]
    made = plain.pullback_of if made is seeds.pair else made
    written = {key: literal(value) for key, value in options.items()}
    if None in written.values() or getattr(made, "__closure__", None):
        raise refused(derivative)
    texts = [f"{key}={text}" for key, text in written.items()]
    call = f"{d.name_of(made, made.__name__)}({', '.join([*draft.inner[:-1], *texts])})"
    name = d.fresh("run")
    draft.after.append(f"# fmt: off\n{name} = {call}\n# fmt: on\n")
    return name


def refused(derivative: Derivative) -> ExportError:
    """Return the refusal of a mode that does not run plain functions."""
    return ExportError(
        f"a derivative of the mode {derivative.request.mode!r} cannot be written to a file",
        why="how a call of it runs is not plain Python.",
        help="write the gradient instead:  srcad.grad(f).export(path)",
    )


# ------------------------------------------------------------------------------- directions
def _along(draft: Draft, inputs: Sequence[str], checks: Checks) -> tuple[str, list[str]]:
    """Return the header and the body of a tangent, with arguments and tangents in tuples."""
    derivative, d = draft.derivative, draft.definitions
    names = [p.name for p in derivative.parameters]
    if _has_parts(derivative) or draft.keywords:
        raise refused(derivative)
    primals, tangents = d.fresh("primals"), d.fresh("tangents")
    split = f"{', '.join(names)}{',' * (len(names) == 1)} = {primals}"
    places = [p.parameter for p in derivative.places]
    absent = tuple(k for k in range(len(names)) if k not in places)
    check = d.name_of(plain.check_tangents, "check_tangents")
    lines = [split, *checks.lines, f"{check}({tangents}, {len(names)}, {absent})"]
    dots = _dots(draft, lines, [f"{tangents}[{k}]" for k in places])
    head = _header(draft.name, [primals, tangents])
    return head, [*lines, *call_lines(f"return {draft.inner[0]}", [*inputs, *dots], 4)]


def _in_direction(draft: Draft, inputs: Sequence[str], checks: Checks) -> tuple[str, list[str]]:
    """Return header and body of a product: ``h(x, *rest, v)``, or ``h(x, *rest, v=v)``."""
    derivative, d = draft.derivative, draft.definitions
    if _has_parts(derivative):
        raise refused(derivative)
    v = d.fresh_outside("v")
    pieces, lines = _parameters(draft), list(checks.lines)
    if any(piece[0] in "*/" or "=" in piece for piece in pieces):
        rest = [pieces.pop()] if pieces[-1].startswith("**") else []
        starred = any(p.startswith("*") for p in pieces)
        pieces += [*([] if starred else ["*"]), v, *rest]
    else:
        pieces.append(v)
    given = [v]
    if not derivative.request.single:
        lines.append(
            f"{d.name_of(plain.check_tangents, 'check_tangents')}"
            f"({v}, {len(derivative.places)}, ())"
        )
        given = [f"{v}[{k}]" for k in range(len(derivative.places))]
    dots = _dots(draft, lines, given)
    call = call_lines(f"return {draft.inner[0]}", [*inputs, *dots], 4)
    return _header(draft.name, pieces), [*lines, *call]


def _has_parts(derivative: Derivative) -> bool:
    return any(p.keys for p in derivative.places)


def _dots(draft: Draft, lines: list[str], given: Sequence[str]) -> list[str]:
    """Return the names of the tangents, in the structures and shapes of their arguments."""
    derivative, d = draft.derivative, draft.definitions
    check, dots = d.name_of(plain.tangent_of, "tangent_of"), []
    for place, text in zip(derivative.places, given, strict=True):
        name = derivative.parameters[place.parameter].name
        dots.append(d.fresh_outside(f"{name}_dot"))
        lines.append(f"{dots[-1]} = {check}({text}, {name}, {quoted_name(f'{name}_dot')})")
    return dots


def quoted_name(name: str) -> str:
    """Return the literal of a name as ruff sets it."""
    return literal(name) or quoted(name)


_FRONTS = {jvp._with_tangents_last: _along, hvp._with_direction_last: _in_direction}
