"""The few helpers that generated code may call.

They are used only where types do not decide before the call what they decide at run time.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from itertools import zip_longest
from numbers import Number
from types import FunctionType
from typing import Any, Literal

import numpy as np

from srcad.errors import (
    MissingRuleError,
    MutationError,
    NonScalarOutputError,
    RuleError,
    SeedError,
    UnsupportedTypeError,
    WrtError,
    no_result,
    one_number,
    real_number,
)
from srcad.startup.identifiers import dotted, label
from srcad.types import objects
from srcad.types.numeric import ARRAY_CLASSES
from srcad.types.reading import looked_up
from srcad.types.sources import is_installed


def unbroadcast(g: Any, x: Any) -> Any:
    """Sum a cotangent over the axes along which `x` was broadcast, so that it has `x`'s shape.

    `x` may be the shape itself, a tuple.  An axis of length 1 that met a longer one of `x` in a sum
    is repeated along that.
    """
    shape = x if isinstance(x, tuple) else np.shape(x)
    extra = np.ndim(g) - len(shape)
    if extra > 0:
        g = np.sum(g, axis=tuple(range(extra)))
    axes = tuple(
        k for k, (n, m) in enumerate(zip(np.shape(g), shape, strict=False)) if m == 1 and n != 1
    )
    g = np.sum(g, axis=axes, keepdims=True) if axes else g
    return g if np.shape(g) == shape else np.broadcast_to(g, shape).copy()


def zero_cotangent(x: Any) -> Any:
    """Return the zero cotangent of a number or an array (of a list or tuple: of its items)."""
    if isinstance(x, list):
        return [zero_cotangent(item) for item in x]
    if isinstance(x, tuple):
        return tuple(zero_cotangent(item) for item in x)
    if isinstance(x, np.ndarray):
        return np.zeros(x.shape, float if x.dtype.kind in "iub" else x.dtype)
    if isinstance(x, np.inexact):
        return type(x)(0)
    return 0j if isinstance(x, complex) else 0.0


def or_zeros(g: Any, x: Any) -> Any:
    """Return the cotangent of `x`, with zeros where there is none yet; a tuple may end early.

    A number in the place of a structure is the zero of one that no branch has saved.
    """
    if g is None or (isinstance(g, float) and isinstance(x, list | tuple | dict)):
        return zero_cotangent(x)
    if isinstance(g, list):
        beside = x if isinstance(x, list) else [None] * len(g)  # no branch has saved it
        return [or_zeros(item, y) for item, y in zip(g, beside, strict=True)]
    if isinstance(g, tuple):
        others = x if isinstance(x, tuple) else ()
        parts = [or_zeros(item, y) for item, y in zip_longest(g, others)]
        return tuple.__new__(type(g), parts)
    if isinstance(g, dict):
        return {key: or_zeros(item, x and x[key]) for key, item in g.items()}
    return g


def for_directions(x: Any, k: int) -> Any:
    """Return a value for each of `k` directions: its numbers and arrays have an axis in front."""
    if isinstance(x, list | tuple):
        parts = [for_directions(item, k) for item in x]
        return parts if isinstance(x, list) else tuple.__new__(type(x), parts)
    if isinstance(x, dict):
        return {key: for_directions(item, k) for key, item in x.items()}
    is_number = isinstance(x, np.ndarray | np.generic | int | float | complex)
    return np.broadcast_to(x, (k, *np.shape(x))) if is_number else x


def rows_of_directions(x: Any) -> Any:
    """Return the rows of a batched array with directions first; a list holds such rows already."""
    return np.swapaxes(x, 0, 1) if isinstance(x, np.ndarray) else x


def as_float(n: int) -> float:
    """Return a Python integer as a float, infinite where no float is as large."""
    try:
        return float(n)
    except OverflowError:
        return np.inf if n > 0 else -np.inf


def sign(x: float) -> float:
    """Return the sign of a Python number: 1.0, -1.0, 0.0 at 0, and nan at nan."""
    if x > 0.0:
        return 1.0
    return -1.0 if x < 0.0 else x - x


def logistic(x: Any) -> Any:
    """Return ``1 / (1 + exp(-x))`` of a number or an array, without overflow."""
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, e) / (1.0 + e)


def zero_at_pole(bar: Any, elsewhere: Any) -> Any:
    """Return a cotangent where a condition is True, and 0 at the poles, where it is False.

    Unlike that of `np.where` its derivative there is that of `bar`, which is not finite: the limits
    of higher derivatives need not be 0.
    """
    return np.where(elsewhere, bar, 0.0)[()]


def zero_if_still(bar: Any, moves: Any) -> Any:
    """Return a derivative, 0 where a condition is False: there a factor is 0 and does not move.

    The transforms know if the factor moves in a higher derivative, which is that of `bar` then.
    """
    return np.where(moves, bar, 0.0)[()]


def sorted_positions(keys: Any, reverse: Any = False) -> list[int]:
    """Return the positions of keys in the order that ``sorted`` gives them."""
    return sorted(range(len(keys)), key=keys.__getitem__, reverse=reverse)


def check_distinct_objects(written: Any, *arguments: Any) -> None:
    """Refuse arguments in which an object that is written into, or one inside it, stands twice."""
    inside = {id(item) for item in _parts(written) if not isinstance(item, np.ndarray)}
    seen: set[int] = set()
    for argument in arguments:
        for item in _parts(argument):
            if id(item) in inside and id(item) in seen:
                raise MutationError(
                    "an object that the function writes into is passed to it twice",
                    why="both names would have to see the write.",
                    help="pass a copy of it at one of the places:  copy.deepcopy(x)",
                )
            seen.add(id(item))


def check_separate_memory(written: Any, *others: Any) -> None:
    """Refuse arrays that a differentiated call writes into, if others share their memory."""
    own = [x for x in _parts(written) if isinstance(x, np.ndarray)]
    more = [x for x in _parts(others) if isinstance(x, np.ndarray)]
    for k, array in enumerate(own):
        for other in (*own[:k], *more):
            if np.may_share_memory(array, other) and _share(array, other):
                raise MutationError(
                    "an array that a differentiated call writes into shares memory with another",
                    why="the write would have to be seen there, too.",
                    help="pass a copy of it:  x.copy()",
                )


def check_array(x: Any) -> None:
    """Refuse a write into an array that was made of a number, which NumPy does not write into."""
    if not isinstance(x, np.ndarray):
        raise MutationError(
            "an array is written into that was made of a number",
            why="before the call it was not known that it is no view of an array.",
            help="make it an array of its own:  np.array(x)",
        )


def _share(a: Any, b: Any) -> bool:
    most: Any = 10_000  # steps of the search; NumPy's types admit two special numbers only
    try:
        return bool(np.shares_memory(a, b, most))
    except np.exceptions.TooHardError:
        return True


def _parts(value: Any) -> Iterator[Any]:
    """Yield the arrays, lists, dicts and objects in a value."""
    todo = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, dict):
            todo += item.values()
        elif isinstance(item, list | tuple):
            todo += [x for x in item if not isinstance(x, float)]
        elif isinstance(item, str | np.generic | int | float | complex | type(None)):
            continue
        elif not isinstance(item, np.ndarray):
            held = objects.attributes(item)
            if held is None:
                continue
            todo += held[1]
        if not isinstance(item, tuple):
            yield item


def raise_undecided(sentence: str) -> Any:
    """Raise: a derivative would be needed that the types did not allow to take before the call."""
    raise UnsupportedTypeError(sentence)


def add_cotangents(a: Any, b: Any) -> Any:
    """Return the sum of two cotangents of which either may not be there yet."""
    if a is None or b is None:
        return b if a is None else a
    for kind in (tuple, list, dict):
        if isinstance(a, kind) is not isinstance(b, kind):  # a zero: no branch has saved it
            return a if isinstance(a, kind) else b
    if isinstance(a, list) or isinstance(b, list):
        return [add_cotangents(x, y) for x, y in zip(a, b, strict=True)]
    if isinstance(a, tuple):
        return tuple(add_cotangents(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict):
        return {key: add_cotangents(item, b[key]) for key, item in a.items()}
    return a + b


def converted_like(g: Any, x: Any) -> Any:
    """Return a gradient in the kind of the argument that it belongs to.

    A Python number gives ``float`` (or ``complex``), a NumPy scalar the same scalar type, an array
    a fresh array of its shape and dtype; integers give float64.
    """
    if np.iscomplexobj(g) and not np.iscomplexobj(x):
        raise_undecided("a complex number comes from a call that srcad does not read")
    if isinstance(x, np.ndarray):
        dtype = np.float64 if x.dtype.kind in "iub" else x.dtype
        order: Literal["C", "F"] = "C"
        if x.flags.f_contiguous and not x.flags.c_contiguous:
            order = "F"
        result = np.empty(x.shape, dtype, order=order)
        result[...] = g
        return result
    if isinstance(x, np.inexact):
        return type(x)(g)
    if isinstance(x, np.generic):
        return np.float64(g)
    return complex(g) if isinstance(x, complex) else float(g)


def as_kept_in(y: Any, place: Any) -> Any:
    """Return the result `y` of ``place op= value`` as `place` keeps it: an array for an array."""
    if not isinstance(place, np.ndarray):
        return y
    result = np.empty_like(place)
    np.copyto(result, y, casting="same_kind")
    return result


def checked_cotangent(g: Any, x: Any, name: str, *, partial: bool = False) -> Any:
    """Return a cotangent that a user's rule made for `x`, if it has the shape and kind of `x`.

    A `partial` derivative may be a mask, and may have to be broadcast.

    Raises
    ------
    RuleError
        It has another shape, is complex where `x` is real, or is no number.
    """
    if (
        type(g) is np.ndarray
        and type(x) is np.ndarray
        and g.shape == x.shape
        and g.dtype is x.dtype
    ):
        return g
    if type(g) is tuple and len(g) == 1:
        (g,) = g
    if g is None:  # on this path
        return zero_cotangent(x)
    array = np.asarray(g)
    shape, wanted = array.shape, np.shape(x)
    problem = ""
    if array.dtype.kind not in ("biufc" if partial else "iufc") or isinstance(g, list | tuple):
        problem = f"is a {type(g).__name__} of {array.dtype}"
    elif shape != wanted and not (partial and _is_broadcast(shape, wanted)):
        problem = f"has shape {shape} where shape {wanted} is needed"
    elif array.dtype.kind == "c" and not np.iscomplexobj(x):
        problem = "is complex, where everything else is real"
    if problem:
        kind = "partial derivative" if partial else "cotangent"
        raise RuleError(
            f"a rule returns a {kind} for {name} that {problem}",
            help=f"check it by itself:  srcad.testing.check_rule({name.rpartition(' ')[2]}, ...)",
        )
    return array.astype(np.float64)[()] if array.dtype.kind in "iu" else g


def _is_broadcast(shape: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    """Return True if an array of a shape is broadcast to the wanted one."""
    pairs = zip(reversed(shape), reversed(wanted), strict=False)
    return len(shape) <= len(wanted) and all(m in (1, n) for m, n in pairs)


def deep_copy(x: Any) -> Any:
    """Return a copy of an array, also inside lists, tuples and dicts.

    Numbers are returned as they are.
    """
    if isinstance(x, list):
        return [deep_copy(item) for item in x]
    if isinstance(x, dict):
        return {key: deep_copy(item) for key, item in x.items()}
    if isinstance(x, tuple):
        made = tuple.__new__(type(x), [deep_copy(item) for item in x])
        if getattr(x, "__dict__", None):  # what SciPy's results have beside their items
            vars(made).update(vars(x))
        return made
    return x.copy() if isinstance(x, np.ndarray) else x


def unpacking_message(length: int, count: int, has_star: bool = False) -> str:
    """Return the message of Python's ValueError for a wrong number of values to unpack."""
    if length < count:
        least = "at least " if has_star else ""
        return f"not enough values to unpack (expected {least}{count}, got {length})"
    return f"too many values to unpack (expected {count})"


def error_of(write: Any, array: Any, *operands: Any) -> Exception:
    """Return the error that a call raises, which writes into a copy of an array."""
    try:
        write(np.array(array), *operands)
    except TypeError as error:
        return error
    return TypeError("cannot cast the result to the dtype of the array")


def write_out(array: Any, function: Any, *operands: Any) -> None:
    """Call a function with ``out=``."""
    function(*operands, out=array)


def check_part(items: Any, k: int, wanted: str) -> None:
    """Refuse a part of a list that is shorter; `wanted` is how the user named the part."""
    if -len(items) <= k < len(items):
        return
    raise WrtError(
        f"wrt={wanted!r}: {wanted.rpartition('[')[0]!r} has no such part",
        why=f"it is a list of {len(items)}.",
        help="name parts as the function reads them:  wrt='params.W', wrt='layers[0].b'",
    )


def copy_in_order_of(g: Any, x: Any) -> Any:
    """Return a copy of a gradient in C order, or in Fortran order where the argument has that."""
    if isinstance(g, np.ndarray) and isinstance(x, np.ndarray):
        fortran = x.flags.f_contiguous and not x.flags.c_contiguous
        return np.array(g, order="F" if fortran else "C")
    if isinstance(g, dict):
        return {key: copy_in_order_of(g[key], x[key]) for key in g}
    if isinstance(g, list):
        return [copy_in_order_of(a, b) for a, b in zip(g, x, strict=True)]
    if isinstance(g, tuple):
        return tuple.__new__(type(g), [copy_in_order_of(a, b) for a, b in zip(g, x, strict=True)])
    held = None if g is None or isinstance(g, float | np.generic) else objects.attributes(g)
    if held is not None:
        for name, part in zip(*held, strict=True):
            object.__setattr__(g, name, copy_in_order_of(part, getattr(x, name)))
    return g


def updated_in_view(array: Any, path: Any, value: Any) -> Any:
    """Return the array after ``array[i][j] = value`` for a path of two or more indices."""
    result, view = _copy_and_view(array, path)
    view[path[-1]] = value
    return result


def added_in_view(array: Any, path: Any, value: Any) -> Any:
    """Return the array after ``array[i][j] += value`` where no place is named twice."""
    result, view = _copy_and_view(array, path)
    view[path[-1]] += value
    return result


def _copy_and_view(array: Any, path: Any) -> tuple[Any, Any]:
    """Return a copy of an array, and the view of it at all but the last index of a path."""
    view = result = np.copy(array)
    for index in path[:-1]:
        view = view[index]
    return result, view


def last_writes(array: Any, index: Any) -> Any:
    """Which values of ``array[index] = values`` stay: not those that a later one overwrites."""
    places = np.arange(array.size).reshape(array.shape)[index]
    order = np.arange(places.size)
    last = np.empty(array.size, dtype=int)
    last[places.ravel()] = order
    return (last[places.ravel()] == order).reshape(places.shape)


def rounded_as_in_place(y: Any, function: Any, place: Any, a: Any, b: Any = None) -> Any:
    """Return the result `y` of a ufunc of `a` (and `b`), rounded to the dtype of `place`.

    NumPy's loops over entries that lie in order round the last digit of some functions in another
    way than those that step backwards.
    """
    turned = tuple(slice(None, None, -1 if stride < 0 else 1) for stride in place.strides)
    if np.shape(y) != place.shape or all(part.step == 1 for part in turned):
        return y
    out = np.empty_like(place[turned])[turned]
    return function(a, out=out) if b is None else function(a, b, out=out)


def shuffled(generator: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
    """Return a shuffled copy of an array: one draw of the user's generator."""
    result = x.copy()
    generator.shuffle(result, *args, **kwargs)
    return result


def check_real_scalar(y: Any, name: str) -> None:
    """Refuse a result that is not one real number."""
    if y is None:
        sentence, reason, remedy = no_result(name)
        raise NonScalarOutputError(sentence, why=reason, help=remedy)
    if isinstance(y, bool | np.bool_) or not isinstance(y, int | float | np.generic | np.ndarray):
        kind = f"a {label(type(y))}"
    elif isinstance(y, np.ndarray) and y.shape != ():
        kind = f"an array of shape {y.shape}"
    elif isinstance(y, np.generic | np.ndarray) and y.dtype.kind not in "fiu":
        kind = f"a {y.dtype}"
    else:
        return
    one_entry = isinstance(y, np.ndarray) and y.size == 1 and y.ndim > 0
    why, remedies = one_number(dotted(name), one_entry=one_entry)
    if np.iscomplexobj(y) and np.ndim(y) == 0:
        why, remedies = real_number(dotted(name))
    raise NonScalarOutputError(
        f"the gradient needs one real number, and {name!r} returns {kind}", why=why, help=remedies
    )


def fits(seed: Any, x: Any, what: str) -> None:
    """Refuse a seed, or a direction, that does not have the structure and shape of `x`."""
    if isinstance(x, list | tuple | dict):
        if type(seed) is type(x) and len(seed) == len(x):
            for key in x if isinstance(x, dict) else range(len(x)):
                fits(seed[key], x[key], what)
            return
        problem = f"needs the structure of the value: a {label(type(x))} of {len(x)}"
    else:
        shape, wanted = np.shape(seed), np.shape(x)
        is_number = isinstance(
            x, int | float | complex | np.number | np.ndarray
        ) and not isinstance(x, bool)
        if not is_number or shape == wanted:
            return
        problem = f"has shape {shape}, and the value has shape {wanted}"
    raise SeedError(
        f"{what} {problem}",
        why="it has the structure and the shape of the value that it belongs to.",
        help="pass one of that shape",
    )


def real_part_like(bar: Any, x: Any) -> Any:
    """Return a cotangent or a tangent of `x`: its real part where `x` is real."""
    if isinstance(x, list) and isinstance(bar, list | np.ndarray):
        parts = [real_part_like(one, y) for one, y in zip(bar, x, strict=True)]
        return [
            float(part) if type(y) is float and isinstance(part, np.floating) else part
            for part, y in zip(parts, x, strict=True)
        ]
    if isinstance(x, tuple | list) and isinstance(bar, tuple):
        return tuple(real_part_like(one, y) for one, y in zip(bar, x, strict=True))
    if isinstance(bar, complex | np.ndarray) and np.iscomplexobj(bar) and not np.iscomplexobj(x):
        return np.real(bar)
    return bar


def checked_phase(bar: Any, change: Any) -> Any:
    """Return a cotangent of complex vectors of which only directions are known, if it is one.

    `change` is how fast the result changes when the phases of the vectors do.
    """
    largest = np.max(np.abs(change), initial=0.0)
    if largest > np.sqrt(np.finfo(change.dtype).eps) * max(1.0, np.max(np.abs(bar), initial=0.0)):
        raise UnsupportedTypeError(
            "the result depends on the phases of complex eigenvectors or singular vectors",
            why="a matrix does not determine them: NumPy returns one choice of many.",
            help="use a function independent of the phases:  np.abs(v) ** 2, v @ v.conj().T",
        )
    return bar


def checked_basis(bar: Any, change: Any) -> Any:
    """Return a cotangent of a basis of which only the space is known, if it is one.

    `change` is how fast the result changes when the basis is rotated.
    """
    largest = np.max(np.abs(change), initial=0.0)
    if largest > np.sqrt(np.finfo(change.dtype).eps) * max(1.0, np.max(np.abs(bar), initial=0.0)):
        raise UnsupportedTypeError(
            "the result depends on which basis of the null space was chosen",
            why="a matrix does not determine it: SciPy returns one choice of many.",
            help="use a function of the space alone, such as the projection  n @ n.T",
        )
    return bar


def checked_rows(bar: Any, a: Any, b: Any) -> Any:
    """Return the cotangent of the matrix of a system, if the right-hand side has as many rows.

    SciPy divides by a matrix of shape (1, 1) where the right-hand side has more.
    """
    if np.shape(a)[-1] != np.shape(b)[-1 if np.ndim(b) == 1 else -2]:
        raise UnsupportedTypeError(
            f"a matrix of shape {np.shape(a)} meets a right-hand side of shape {np.shape(b)}",
            why="SciPy divides by the only entry; the rule is for systems of as many rows.",
            help="write the division:  b / a[0, 0]",
        )
    return bar


def check_numeric(value: Any, *, sparse: bool = False) -> None:
    """Refuse an operand that does arithmetic in a way of its own; a `sparse` matrix has a ``@``."""
    cls = type(value)
    if isinstance(value, Number | np.generic | list | tuple | range) or cls in ARRAY_CLASSES:
        return
    if sparse and cls.__module__.startswith("scipy.sparse"):
        return
    raise UnsupportedTypeError(
        f"cannot differentiate through an operation with a {label(cls)!r}",
        why="its class defines the operation.",
        help=(
            "make it an array first:  np.asarray(...)",
            "or make the object in the differentiated function itself",
        ),
    )


def checked_numeric(value: Any) -> Any:
    """Return a result of which its rule does not tell what it is: a number or an array."""
    check_numeric(value)
    if isinstance(value, list | tuple | range):
        raise UnsupportedTypeError(
            f"cannot unpack or read an attribute of a {type(value).__name__} that a function with "
            "a rule returned",
            why="it is read as a number or an array.",
            help="make it an array first:  np.asarray(...)",
        )
    return value


def check_not_array(value: Any) -> None:
    """Refuse to change an array in place that may have unknown owners."""
    if isinstance(value, np.ndarray):
        raise MutationError(
            "cannot tell which array is changed in place",
            why="it comes from a call that srcad does not read, and may go by other names, too.",
            help=("take a copy of it first:  y = np.array(y)", "or write it out:  y = y + other"),
        )


# Calls of functions without a rule, where no derivative flows through their results.


def call_on_copies(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call a function on copies of its array, list and dict arguments.

    Raises
    ------
    MutationError
        It has written into one of them.
    MissingRuleError
        It is a function of the user's that was unknown at compile time.
    """
    if _is_of_user(function):
        raise MissingRuleError(
            f"cannot tell at compile time that {label(function)!r} is called here",
            why="it is known at the call only, and the derivative needs its source.",
            help=("pass the function as an argument of its own",),
        )
    given = _copied(args), _copied(kwargs)
    result = function(*given[0], **given[1])
    if not _is_unchanged(given[0], args) or not _is_unchanged(given[1], kwargs):
        raise MutationError(
            f"{label(function)!r} has written into an array, list or dict that it was given",
            why="a value that depends on the differentiated arguments flows into the call, and "
            "srcad does not read it.",
            help=("give it a copy, if what it writes is not used:  f(x.copy())",),
        )
    return result


def call_method_on_copies(holder: Any, name: str, /, *args: Any, **kwargs: Any) -> Any:
    """Call a method of a number or array as `call_on_copies` calls a function."""
    kept = holder.copy(order="K") if isinstance(holder, np.ndarray) else holder
    result = call_on_copies(getattr(kept, name), *args, **kwargs)
    if not _is_unchanged(kept, holder):
        raise MutationError(
            f"the method {name!r} has written into its array",
            why="it depends on the differentiated arguments, and srcad does not read the method.",
            help=(f"call it on a copy, if what it writes is not used:  x.copy().{name}(...)",),
        )
    return result


def _is_of_user(function: Any) -> bool:
    """Return True if a call runs Python code of the user, which may have side effects."""
    if isinstance(function, functools.partial):
        return _is_of_user(function.func)
    function = getattr(function, "__func__", function)
    if not isinstance(function, FunctionType):
        function = looked_up(type(function), "__call__")
    return isinstance(function, FunctionType) and not is_installed(function.__code__.co_filename)


def _copied(value: Any) -> Any:
    if type(value) in (list, tuple):
        return type(value)(map(_copied, value))
    if type(value) is dict:
        return {key: _copied(item) for key, item in value.items()}
    return value.copy(order="K") if type(value) is np.ndarray else value


def _is_unchanged(copy: Any, value: Any) -> bool:
    """Return True if a copy is unchanged."""
    if type(value) in (list, tuple):
        return len(copy) == len(value) and all(map(_is_unchanged, copy, value))
    if type(value) is dict:
        return [*copy] == [*value] and all(map(_is_unchanged, copy.values(), value.values()))
    if type(value) is not np.ndarray:
        return copy is value
    alike = copy.shape == value.shape and copy.dtype == value.dtype
    return bool(alike and copy.tobytes() == value.tobytes())


# What only looks, and raises: nothing flows through it, and what it returns nobody reads.
CHECKS = frozenset(
    {
        check_distinct_objects,
        check_separate_memory,
        check_array,
        raise_undecided,
        check_real_scalar,
        check_numeric,
        check_not_array,
        check_part,
        fits,
    }
)
