"""The meaning of the IR, run directly: the oracle of the tests.

*user function = evaluate(IR) = emitted code* on every test program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from srcad.ir.core import (
    BREAK,
    Arg,
    Block,
    Call,
    Const,
    Display,
    For,
    Function,
    If,
    Routine,
    Try,
    Value,
    While,
)
from srcad.ir.primitives import identity

Env = dict[Value, Any]
RunCall = Callable[[Call, Env], Any]


def evaluate(function: Function, *args: Any) -> Any:
    """Run a function on arguments; a tuple comes back when it has several results."""
    return evaluate_by(run_call, function, *args)


def evaluate_by(call: RunCall, function: Function, *args: Any) -> Any:
    """Return the same, with another way to run a call; it is given `run_call` to do that."""
    env: Env = dict(zip(function.params, args, strict=True))
    results = run_block(function.block, env, call)
    return results[0] if len(results) == 1 else tuple(results)


def run_block(block: Block, env: Env, call: RunCall | None = None) -> list[Any]:
    """Run a block with its parameters already in `env`; return its results."""
    call = call or run_call
    for op in block.ops:
        match op:
            case Call():
                env[op.result] = call(op, env)
            case Try():
                env.update(zip(op.outputs, _try(op, env, call), strict=True))
            case If():
                chosen = op.then if argument_value(op.test, env) else op.orelse
                env.update(zip(op.outputs, run_block(chosen, env, call), strict=True))
            case For():
                env.update(zip(op.outputs, _for(op, env, call), strict=True))
            case While():
                env.update(zip(op.outputs, _while(op, env, call), strict=True))
            case _:
                raise TypeError(f"no meaning for {type(op).__name__}")
    return [argument_value(atom, env) for atom in block.results]


def argument_value(arg: Arg, env: Env) -> Any:
    """Return the run-time value of an argument."""
    if isinstance(arg, Const):
        return arg.value
    if isinstance(arg, Value):
        return env[arg]
    items = [argument_value(item, env) for item in arg.items]
    return _display(arg, items)


def _display(display: Display, items: list[Any]) -> Any:
    match display.kind:
        case "tuple":
            return tuple(items)
        case "list":
            return items
        case "slice":
            return slice(*items)
        case "range":
            return range(*items)
        case "dict":
            return dict(zip(items[::2], items[1::2], strict=True))


def run_call(op: Call, env: Env, call: RunCall | None = None) -> Any:
    """Run a call; those inside a routine are run by `call`."""
    args = [argument_value(a, env) for a in op.args]
    if isinstance(op.target, Routine):
        assert op.target.function is not None
        inner: Env = dict(zip(op.target.function.params, args, strict=True))
        return tuple(run_block(op.target.function.block, inner, call))
    if op.target is identity:
        return args[0]
    return op.target(*args, **{name: argument_value(a, env) for name, a in op.kwargs})


def _try(op: Try, env: Env, call: RunCall) -> list[Any]:
    try:
        return run_block(op.then, env, call)
    except op.catches as error:
        env[op.error] = error
    return run_block(op.orelse, env, call)


def _items(op: For, env: Env) -> list[tuple[Any, ...]]:
    if not op.seqs:
        assert op.count is not None
        return [()] * argument_value(op.count, env)
    seqs: list[Sequence[Any]] = [argument_value(s, env) for s in op.seqs]
    rows = list(zip(*seqs, strict=False))
    if op.count is not None:
        rows = rows[: argument_value(op.count, env)]
    return rows[::-1] if op.backward else rows


def _for(op: For, env: Env, call: RunCall) -> list[Any]:
    carried = [argument_value(a, env) for a in op.inits]
    collected: list[list[Any]] = [[] for _ in op.body.results[1 + len(carried) :]]
    tag = trips = 0
    for row in _items(op, env):
        tag, carried = _iteration(op.body, (*row, *carried), len(carried), collected, env, call)
        trips += 1
        if tag >= BREAK:
            break
    if op.backward:
        collected = [items[::-1] for items in collected]
    return [tag, trips, *carried, *collected]


def _while(op: While, env: Env, call: RunCall) -> list[Any]:
    carried = [argument_value(a, env) for a in op.inits]
    collected: list[list[Any]] = [[] for _ in op.body.results[1 + len(carried) :]]
    tag = trips = 0
    while True:
        env.update(zip(op.test.params, carried, strict=True))
        if not run_block(op.test, env, call)[0]:
            break
        tag, carried = _iteration(op.body, tuple(carried), len(carried), collected, env, call)
        trips += 1
        if tag >= BREAK:
            break
    return [tag, trips, *carried, *collected]


def _iteration(
    body: Block,
    params: Sequence[Any],
    width: int,
    collected: list[list[Any]],
    env: Env,
    call: RunCall,
) -> tuple[int, list[Any]]:
    env.update(zip(body.params, params, strict=True))
    tag, *rest = run_block(body, env, call)
    for items, value in zip(collected, rest[width:], strict=True):
        items.append(value)
    return tag, rest[:width]
