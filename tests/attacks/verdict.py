"""What became of an attack."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import srcad
from srcad import errors

RIGHT, REFUSED, RAISED = "right", "refused", "raises as the plain call"
_STEP = 1e-6


def verdict(attack: Callable[[], Any]) -> str:
    """How the gradient call ended; anything but the three good ends says what is wrong."""
    f, args, seen = _world(attack)
    try:
        want: Any = f(*args)
        failure = None
    except Exception as error:
        want, failure = None, error
    state = seen()
    g, given, seen = _world(attack, used=True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wrt = tuple(k for k, a in enumerate(given) if any(True for _ in _entries(a)))
            value, gradient = srcad.value_and_grad(g, wrt=wrt)(*given)
    except errors.SrcadError as error:
        return _judged_refusal(error, failure)
    except Exception as error:
        same = failure is not None and type(error) is type(failure)
        return RAISED if same else f"crash: {type(error).__name__}: {error}"
    if failure is not None:
        return f"wrong: the plain call raises {type(failure).__name__}"
    if not _same(value, want):
        return f"wrong value: {value!r} instead of {want!r}"
    if not _same(seen(), state):
        return f"wrong world: {seen()!r} instead of {state!r}"
    return _judged_gradient(attack, dict(zip(wrt, gradient, strict=True)))


def _judged_refusal(error: errors.SrcadError, failure: Exception | None) -> str:
    is_same = failure is not None and type(error) is type(failure)
    return (
        f"crash: {error}"
        if isinstance(error, errors.InvalidIRError)
        else RAISED
        if is_same
        else REFUSED
    )


def _judged_gradient(attack: Callable[[], Any], gradient: Any) -> str:
    _, args, _ = _world(attack)
    for path, _ in _entries(args):
        want = _difference(attack, path)
        got = _at(gradient, path)
        if not np.allclose(got, want, rtol=2e-4, atol=2e-5, equal_nan=True):
            return f"wrong gradient at {path}: {got} instead of {want}"
    return RIGHT


def _world(
    attack: Callable[[], Any], *, used: bool = False
) -> tuple[Any, tuple[Any, ...], Callable[[], Any]]:
    """A world made anew, after the change that the attack asks for, if it does.

    With `used`, a gradient was taken before that.
    """
    f, args, *more = attack()
    seen, change = [*more, *(lambda: None, lambda: None)[len(more) :]]
    if used and len(more) == 2:
        with contextlib.suppress(Exception):
            srcad.gradient(f, *attack()[1])
    change()
    return f, args, seen


def _difference(attack: Callable[[], Any], path: tuple[Any, ...]) -> float:
    sides = []
    for step in (_STEP, -_STEP):
        f, args, _ = _world(attack)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sides.append(float(f(*_moved(args, path, step))))
    return (sides[0] - sides[1]) / (2 * _STEP)


def _entries(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """The places of all floats inside a structure."""
    if isinstance(value, tuple | list):
        for k, item in enumerate(value):
            yield from _entries(item, (*path, k))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _entries(item, (*path, key))
    elif isinstance(value, np.ndarray) and value.dtype == float:
        for index in np.ndindex(value.shape):
            yield (*path, ("entry", index)), value[index]
    elif isinstance(value, float):
        yield path, value


def _at(value: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        if value is None:
            return 0.0
        is_entry = isinstance(step, tuple) and step[:1] == ("entry",)
        value = value[step[1]] if is_entry else value[step]
    return 0.0 if value is None else value


def _moved(value: Any, path: tuple[Any, ...], step: float) -> Any:
    if not path:
        return type(value)(value + step)
    first, rest = path[0], path[1:]
    if isinstance(value, np.ndarray):
        value = value if value.flags.writeable else value.copy()
        value[first[1]] += step
        return value
    if isinstance(value, tuple):
        return tuple(_moved(v, rest, step) if k == first else v for k, v in enumerate(value))
    value[first] = _moved(value[first], rest, step)
    return value


def _same(a: Any, b: Any) -> bool:
    """Whether two results are the same to the bit, and of one kind."""
    if isinstance(a, tuple | list):
        return type(a) is type(b) and len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, dict):
        return isinstance(b, dict) and list(a) == list(b) and all(_same(a[k], b[k]) for k in a)
    if isinstance(a, np.ndarray | np.generic | float | int | complex):
        if type(a) is not type(b) and not (isinstance(a, float) and isinstance(b, float)):
            return False
        return np.shape(a) == np.shape(b) and bool(np.array_equal(a, b, equal_nan=True))
    return bool(a == b)
