"""``check_finite=True``: infinities and nan in a value or a gradient, traced to where they began.

The code that runs is the same as without the option; what it returns is looked at.  Only if that is
not finite the derivative is evaluated once more, op by op, and every number that is not finite is
followed from the op that made it.  A function with effects must not run twice: it is evaluated op
by op at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial, wraps
from typing import Any

import numpy as np

from srcad.arguments.request import Request
from srcad.arguments.signature import described_parts
from srcad.calling.quiet import current_form
from srcad.errors import NonFiniteError, short_place_of
from srcad.frontend.source.pickling import Pickled
from srcad.ir.core import Arg, Call, Const, Display, Function, Value
from srcad.ir.evaluate import Env, argument_value, evaluate_by, run_call
from srcad.ir.text import Printer, target_name
from srcad.modes.mode import Part, Run
from srcad.pipeline import Compiled
from srcad.runtime import deep_copy
from srcad.startup.records import dataclass
from srcad.startup.short_tracebacks import short_traceback

_CALLED = {
    "pullback": "cotangent",
    "jvp": "tangent",
    "hvp": "product with the Hessian",
    **dict.fromkeys(("jacobian", "jacfwd", "jacrev", "sparse_jacobian"), "Jacobian"),
    **dict.fromkeys(("hessian", "sparse_hessian"), "Hessian"),
}


def checked(run: Run, made: Compiled, request: Request, name: str) -> Run:
    """Return a compiled derivative that raises if its value or a derivative is not finite.

    `run` returns the value before the derivatives where both are numbers; it is dropped where
    nobody asked for it.  What waits for a direction or a seed is looked at when it has that.
    """
    return wraps(run, updated=())(partial(_looked_at, _Look(run, made, request, name)))


@dataclass(frozen=True, eq=False)
class _Look:
    """A compiled derivative, and how it is evaluated op by op."""

    run: Run
    made: Compiled
    request: Request
    name: str

    def evaluated(self, arguments: Sequence[Any]) -> tuple[_Origins, Any]:
        """Return the answer, op by op, and where everything in it comes from."""
        count = len(self.made.types)
        named = dict(zip(self.made.types, arguments, strict=False))
        origins = _Origins(self.name, named, arguments[count:])
        loaded = [partial(_evaluated, part, origins) for part in self.made.results.parts]
        return origins, self.made.results.run(*loaded)(*arguments)

    def judge(self, answer: Any, again: Callable[[], tuple[_Origins, Any]]) -> None:
        """Raise if an answer is not finite; `again` tells where it comes from."""
        if _is_finite(_value_and_gradients(answer, self.request)):
            return
        with np.errstate(all="ignore"):
            origins, found = again()
        origins.judge(*_value_and_gradients(found, self.request), self.request)
        origins.judge(*_value_and_gradients(answer, self.request), self.request)


def _looked_at(look: _Look, *arguments: Any) -> Any:
    """Return the answer of a derivative, which is finite."""
    with short_traceback():
        once: _Origins | None = None
        if look.made.results.repeats:
            answer = current_form(look.run)(*arguments)
        else:
            once, answer = look.evaluated(arguments)

        def again(step: Run, found: Any) -> Callable[[], tuple[_Origins, Any]]:
            """Return the result of a step on the evaluated answer; nothing runs twice."""

            def evaluated() -> tuple[_Origins, Any]:
                if once is not None:
                    return once, found
                origins, first = look.evaluated(arguments)
                return origins, step(first)

            return evaluated

        def along(*directions: Any) -> Any:
            with short_traceback():
                found = answer(*directions)
                look.judge(found, again(lambda first: first(*directions), found))
                return _requested(found, look.request)

        def judge(gradients: Any, seed: tuple[Any, ...]) -> None:
            found = whole(answer), gradients
            look.judge(found, again(lambda first: (whole(first), first[1](*seed)), found))

        def whole(found: Any) -> Any:
            """Return the whole result of the function."""
            return (found[0], found[2]) if look.request.has_aux else found[0]

        if callable(answer):  # it waits for directions
            return along
        if look.request.mode == "pullback":
            found = whole(answer), ()
            look.judge(found, again(lambda first: (whole(first), ()), found))
            back = CheckedBack(answer[1], look.request, look.name, judge)
            return (answer[0], back, *answer[2:])
        look.judge(answer, again(lambda first: first, answer))
        return _requested(answer, look.request)


class CheckedBack(Pickled):
    """A pullback that raises if a cotangent is not finite.

    `judge` names the line that made it.  It is not pickled: an unpickled one raises without a line.
    """

    __slots__ = ("__weakref__", "_back", "_judge", "_name", "_request")

    def __init__(
        self,
        back: Run,
        request: Request,
        name: str,
        judge: Callable[[Any, tuple[Any, ...]], None] | None = None,
    ) -> None:
        self._back, self._request, self._name, self._judge = back, request, name, judge

    def __call__(self, *seed: Any) -> Any:
        """Return the cotangents of the arguments for a cotangent of the value."""
        with short_traceback():
            gradients = self._back(*seed)
            if self._judge is None:
                _Origins(self._name, {}, ()).judge((), gradients, self._request)
            else:
                self._judge(gradients, seed)
            return gradients

    def _constructor_arguments(self) -> tuple[Any, ...]:
        return self._back, self._request, self._name


def _value_and_gradients(answer: Any, request: Request) -> tuple[Any, Any]:
    """Return the differentiated value, and its derivatives."""
    if request.mode.startswith("sparse"):
        return (), answer
    if request.mode == "jvp":
        return answer[0], answer[1]
    value, gradients = answer
    return value[0] if request.has_aux else value, gradients


def _requested(answer: Any, request: Request) -> Any:
    """Return the part of an answer that was requested."""
    if request.mode in ("value_and_grad", "jvp") or request.mode.startswith("sparse"):
        return answer
    value, gradients = answer
    return (gradients, value[1]) if request.has_aux else gradients


def _evaluated(part: Part, origins: _Origins, *arguments: Any) -> Any:
    """Run a part op by op; its results share memory with nothing else, as those of the text."""
    for param, given in zip(part.function.params, arguments, strict=True):
        origins.note_given(param.hint or "seed", given)
    found = evaluate_by(partial(_watched, origins, part.function), part.function, *arguments)
    results = (found,) if len(part.function.block.results) == 1 else found
    own = tuple(deep_copy(r) if k in part.own else r for k, r in enumerate(results))
    for result, copy in zip(results, own, strict=True):
        origins.note_copy(result, copy)
    return own[0] if results is not found else own


def _watched(origins: _Origins, function: Function, op: Call, env: Env) -> Any:
    """Run a call, and note the origin of entries of its result that are not finite."""
    states: dict[str, Any] = dict(op.where.errstate) if op.where is not None else {}
    again = partial(_watched, origins, function)
    if states or op.half != "primal":
        with np.errstate(**(states if op.half == "primal" else {"all": "ignore"})):
            result = run_call(op, env, again)
    else:
        result = run_call(op, env, again)
    if isinstance(result, _NUMBERS) and not _is_finite(result):
        origins.note(result, op, env, function)
    return result


_NUMBERS = (float, complex, np.ndarray, np.inexact)


def _is_finite(value: Any) -> bool:
    """Return True if all numbers in a value are finite."""
    return all(bool(np.isfinite(leaf).all()) for leaf in _leaves(value))


def _leaves(value: Any) -> Iterator[Any]:
    """Yield the floats, and the arrays of floats, in a value; an object counts once."""
    seen: set[int] = set()
    todo = [value]
    while todo:
        one = todo.pop()
        if isinstance(one, _NUMBERS):
            if not isinstance(one, np.ndarray) or one.dtype.kind in "fc":
                yield one
        elif isinstance(one, list):
            todo += one
        elif hasattr(one, "tocsr"):
            todo.append(one.data)
        elif id(one) not in seen and (parts := described_parts(one, opens=True)) is not None:
            seen.add(id(one))
            todo += parts[1]


# ------------------------------------------------------------------------------- origins
@dataclass(eq=False)
class _Origin:
    """The op that made something that is not finite, of operands that were."""

    order: int
    op: Call
    operands: str
    made: str


class _Origins:
    """From where everything comes that is not finite, in one evaluation.

    Whatever is not finite is held here, so that its identity stays its own.
    """

    def __init__(self, name: str, arguments: dict[str, Any], captured: Sequence[Any]) -> None:
        self.name = name
        self.found: dict[int, tuple[Any, _Origin | str]] = {}
        self.first: _Origin | None = None
        self.count = 0
        self.given: dict[int, str] = {}
        self.arguments: dict[str, Any] = {}
        self.held: list[Any] = []
        self.named = frozenset(arguments)
        self.captured = {id(leaf) for leaf in _leaves(list(captured))}
        for arg, value in arguments.items():
            self.note_given(arg, value)

    def note_given(self, name: str, value: Any) -> None:
        """Note under which name came what was not made here: an argument, a direction, a seed.

        What is captured is shown with the line that reads it.
        """
        self.arguments.setdefault(name, value)
        self.held.append(value)
        for leaf in _leaves(value):
            if id(leaf) not in self.found and id(leaf) not in self.captured:
                self.given.setdefault(id(leaf), name)

    def note_copy(self, value: Any, copy: Any) -> None:
        """Give the non-finite numbers of a copy the origins of those of the value."""
        for leaf, same in zip(_leaves(value), _leaves(copy), strict=True):
            origin = self.of(leaf)
            if origin is not None and leaf is not same:
                self.found[id(same)] = same, origin

    def note(self, result: Any, op: Call, env: Env, function: Function) -> None:
        """Note where a result comes from: from an operand, or from here."""
        operands = [argument_value(arg, env) for arg in (*op.args, *(a for _, a in op.kwargs))]
        leaves = [leaf for value in operands for leaf in _leaves(value)]
        bad = [leaf for leaf in leaves if not _is_finite(leaf)]
        known = [self.of(leaf) for leaf in bad]
        self.count += 1
        origin = _earliest([one for one in known if one is not None])
        if origin is None:
            origin = _Origin(self.count, op, _spelled(op, env, function), _kind(result))
            self.first = self.first or origin
        self.found[id(result)] = (result, origin)

    def of(self, leaf: Any) -> _Origin | str | None:
        """Return the op, or the argument, that something comes from."""
        held = self.found.get(id(leaf))
        if held is not None and held[0] is leaf:
            return held[1]
        name = self.given.get(id(leaf))
        if name is None and isinstance(leaf, np.ndarray) and leaf.base is not None:
            return self.of(leaf.base)
        return name

    def judge(self, value: Any, gradients: Any, request: Request) -> None:
        """Raise if the value, or else a gradient, is not finite."""
        called = _CALLED.get(request.mode, "gradient")
        if not _is_finite(value):
            loss = "Loss" if called == "gradient" else "the value"
            what = f"{loss} is {_kind(value)}: {self.name!r} returns {_described(value)}"
            raise self.error(what, value)
        if not _is_finite(gradients):
            wrt = ", ".join(map(repr, request.wrt or ()))
            by = f" by {wrt}" if wrt and request.mode != "jvp" else ""
            what = f"the {called} of {self.name!r}{by} is {_kind(gradients)}"
            raise self.error(what, gradients)

    def error(self, sentence: str, value: Any) -> NonFiniteError:
        """Return the error that names the place where it began."""
        bad = [leaf for leaf in _leaves(value) if not _is_finite(leaf)]
        origin = _earliest([one for one in map(self.of, bad) if one is not None]) or self.first
        if origin is None:
            return NonFiniteError(sentence)
        if isinstance(origin, str):
            given = _described(self.arguments[origin])
            what = "argument " * (origin in self.named) + repr(origin)
            return NonFiniteError(
                sentence,
                why=f"{what} is not finite: {given}.",
                help="look for where it was made before the call",
            )
        half = "" if origin.op.half == "primal" else "the derivative of "
        why = f"{half}this line is the first that makes {origin.made.lower()}:"
        return NonFiniteError(
            sentence,
            where=origin.op.where,
            why=f"{why}\n{origin.operands}{_called_in(origin.op)}",
            help="keep its operands away from there:  np.maximum(x, 1e-12), np.clip, np.where",
        )


def _earliest(origins: Sequence[_Origin | str]) -> _Origin | str | None:
    """Return an argument if there is one, else the op that ran first."""
    names = [one for one in origins if isinstance(one, str)]
    if names:
        return names[0]
    made = [one for one in origins if isinstance(one, _Origin)]
    return min(made, key=lambda one: one.order, default=None)


# ------------------------------------------------------------------------------- as text
def _kind(value: Any) -> str:
    """Describe the non-finite number in a value: nan before infinity."""
    return "NaN" if any(np.isnan(leaf).any() for leaf in _leaves(value)) else "Inf"


def _called_in(op: Call) -> str:
    """Return a line with the places of the calls that an op stands in, the innermost first."""
    call = None if op.where is None else op.where.call
    if call is None:
        return ""
    places = (one.where for one in reversed(call.around))
    return "\ncalled " + ", ".join(
        f"in {where.function!r} ({short_place_of(where.file, where.line)})" for where in places
    )


def _spelled(op: Call, env: Env, function: Function) -> str:
    """Return the call with its operands: ``log(x = 0.0)``, arrays by shape and range."""
    printer = Printer()
    printer.function(function)
    given = [*(("", arg) for arg in op.args), *((f"{name}=", arg) for name, arg in op.kwargs)]
    operands = ", ".join(name + _operand(printer, arg, env) for name, arg in given)
    return f"{target_name(op.target)}({operands})"


def _operand(printer: Printer, arg: Arg, env: Env) -> str:
    if isinstance(arg, Const | Display):
        return printer.arg(arg)
    assert isinstance(arg, Value)
    text = _described(env[arg])
    return f"{arg.hint} = {text}" if arg.hint else text


def _described(value: Any) -> str:
    """Return a number; an array by its dtype, shape and range; anything else by its class."""
    if isinstance(value, np.ndarray):
        kind = f"{value.dtype}{list(value.shape)}"
        if value.size == 0 or value.dtype.kind not in "biuf":
            return kind
        with np.errstate(all="ignore"):
            return f"{kind} in {float(np.min(value)):.6g} .. {float(np.max(value)):.6g}"
    if isinstance(value, np.generic):
        return repr(value.item())
    return repr(value) if isinstance(value, int | float | complex) else type(value).__name__
