"""Writing into arrays: ``y[i] = v``, ``y[i] += v``, ``y *= v``, ``np.add(a, b, out=y)``.

Every write becomes a new version of the array whose memory it goes to (`storage`): a write through
a view is composed with the view's index where that is plain, or put back view by view.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, Literal, NoReturn

import numpy as np

from srcad import errors, runtime
from srcad.frontend.branches import guarded_stores
from srcad.frontend.domain.access_paths import Step, is_number_index
from srcad.frontend.domain.frames import Unreachable
from srcad.frontend.domain.layout import c_order, shape_of
from srcad.frontend.domain.structure import mutable_parts
from srcad.frontend.domain.values import AbstractValue, Constant, RecordValue, Structure
from srcad.frontend.machine.constants import box_of_arg, raises
from srcad.frontend.machine.dispatch import apply
from srcad.frontend.machine.machine import Machine
from srcad.frontend.operations.operators import operate
from srcad.frontend.store.array_versions import (
    overwritten,
    perhaps_written,
    refuse_hidden,
    rewritten,
    written_in_part,
)
from srcad.frontend.store.known_layout import layout
from srcad.frontend.store.origins import (
    bases,
    current,
    inner_values,
    may_be_array,
    origin,
    realised,
    view_path,
)
from srcad.frontend.store.written_arguments import before_write
from srcad.ir.core import Arg, Const, Display, Value
from srcad.ir.disjoint import index_parts, may_repeat
from srcad.ir.memory import reads_a_copy
from srcad.ir.traits import (
    is_indexed,
    is_read_only,
    law_of_operator,
)
from srcad.rules.registry import lookup
from srcad.startup.identifiers import label
from srcad.startup.records import dataclass
from srcad.types.numeric import Numeric, same_dtype
from srcad.types.sizes import same
from srcad.types.structures import Opaque, Type

# Checks of stores into arrays: errors of Python, and refusals.


def check_writable(state: Machine, steps: Sequence[Step]) -> None:
    """Refuse to write through a view that is read-only in NumPy."""
    for step in steps:
        if is_read_only(step.target):
            state.refuse(
                errors.MutationError,
                "cannot write into this array",
                why=f"what {label(step.target)!r} returns is read-only.",
                help=("write into a copy:  y = y.copy()",),
            )


def check_fits(state: Machine, array: Value, new: AbstractValue) -> AbstractValue:
    """Return the value that ``op=`` and ``out=`` write; too many axes raise as in NumPy."""
    if not isinstance(new, Value) or not isinstance(new.type, Numeric):
        return new
    there = array.type.shape if isinstance(array.type, Numeric) else None
    if there is None or new.type.is_scalar:
        return new
    if new.type.shape is not None and len(new.type.shape) > len(there):
        axes = f"{len(there)} axes doesn't match a broadcast shape of {len(new.type.shape)}"
        raises(state, ValueError, f"non-broadcastable output operand of {axes}")
    if new.type.shape is None and not there:
        return state.box(state.emit(np.broadcast_to, new, Display("tuple", ())))
    return new


def check_cast(
    state: Machine, array: Value, new: AbstractValue, write: Any, *operands: AbstractValue
) -> None:
    """Raise as ``op=`` and ``out=`` do if the result does not fit into the array.

    ``write(array, *operands)`` is the call that writes, for an array that nobody else has.
    """
    if not isinstance(array.type, Numeric) or not isinstance(new, Value):
        return
    dtype = new.type.dtype if isinstance(new.type, Numeric) else None
    if dtype is not None and not np.can_cast(dtype, array.type.dtype or dtype, "same_kind"):
        raised = state.emit(
            runtime.error_of, Const(write), array, *map(state.atom, operands), type=Opaque()
        )
        state.raise_(raised)
        raise Unreachable


def _in_place(operation: Any) -> Any:
    """Return ``op=`` of an operator, as a function."""
    return getattr(operator, f"i{operation.__name__.strip('_')}")


def check_kind(state: Machine, array: Value, value: AbstractValue) -> None:
    """Refuse to cut a value that carries a derivative down to an integer."""
    if not isinstance(array.type, Numeric) or not state.is_active(value):
        return
    kinds = [v.type.kind for v in (value,) if isinstance(v, Value) and isinstance(v.type, Numeric)]
    whole = array.type.dtype is not None and array.type.kind in "iub"
    if whole and any(kind in "fc" for kind in kinds):
        state.refuse(
            errors.MutationError,
            f"cannot store a float into an array of {array.type.dtype}",
            why="NumPy would cut off its fraction, and the derivative with it.",
            help=("make the array float first:  y = y.astype(float)",),
        )


# What is done at the places: an index may name one twice, to which is added each time.
Write = Literal["set", "add", "add each"]
EVERYTHING = Const(Ellipsis)
_MOST_SEARCHED = 40  # operations before a write, for the views that it goes through


_WHOLE = Display("slice", (Const(None), Const(None), Const(None)))


# ------------------------------------------------------------------------------ the write
def store(
    state: Machine, array: Value, index: Arg, value: AbstractValue, how: Write = "set"
) -> Value:
    """Write ``array[index] = value`` (or add it there) and return the array's new version."""
    if array in state.entries and not is_number_index(index):
        written_in_part(state, array)  # NumPy writes entry by entry here
    if state.is_active(value) and not (
        isinstance(value, Value) and isinstance(value.type, Numeric)
    ):
        value = state.emit(np.array, value)  # a list of numbers, whose cotangent is an array
    check_kind(state, array, value)
    if isinstance(array.type, Numeric) and array.type.kind == "O":
        _check_entry(state, value)
    return _written(state, array, index, value, how)


def _check_entry(state: Machine, value: AbstractValue) -> None:
    """Refuse to store an array, list, dict or object that has a name in an array of objects."""

    def objects(box: AbstractValue) -> set[Any]:
        arrays = (
            o for v in filter(may_be_array, inner_values(box)) for o in origin(state, v).everything
        )
        return {*map(id, mutable_parts(box)), *map(id, arrays)}

    stored = objects(value)
    if stored and any(not stored.isdisjoint(objects(box)) for _, box in state.reachable()):
        state.refuse(
            errors.MutationError,
            "cannot store an array, list, dict or object that has a name in an array of objects",
            why="srcad would not see when one of them is changed by the other.",
            help=("store a copy:  c[0] = w.copy()", "or keep the arrays in a list"),
        )


def set_shape(state: Machine, array: Value, shape: AbstractValue) -> None:
    """``array.shape = shape`` of a contiguous array that was made in the function.

    Every name of the array is bound to a view of its memory; views of it are as they were.
    """
    where = origin(state, array)
    (object_,) = where.objects if where.is_exact else (None,)
    also = [
        value
        for _, box in state.reachable()
        for value in inner_values(box)
        if value is not array and origin(state, value) == where
    ]
    if object_ is None or state.paths.get(object_) or also or not _is_in_order(state, array):
        state.refuse(
            errors.MutationError,
            "cannot set the shape of this array",
            why="it is an argument, or it is not known to be contiguous and to have one name.",
            help=("bind an array of the new shape:  x = np.reshape(x, shape)",),
        )
    refuse_hidden(state, where.objects)
    state.replace_everywhere(array, state.emit(np.reshape, array, shape, hint=array.hint))


def replace_all(state: Machine, array: Value, value: Value) -> Value:
    """Write a value of the array's own shape and dtype over the whole array."""
    return _written(state, array, None, value, "set")


def _written(
    state: Machine, array: Value, index: Arg | None, value: AbstractValue, how: Write
) -> Value:
    if guarded_stores.is_either(state, array):
        new = guarded_stores.in_each(
            state, array, lambda one: _written(state, one, index, value, how)
        )
        assert isinstance(new, Value)
        return new
    if isinstance(array.type, Numeric) and array.type.form in ("python", "numpy", "number"):
        raises(state, TypeError, "a number does not support item assignment")
    before_write(state, array)
    where = origin(state, array)
    root = None
    if where.is_exact:
        (object_,) = where.objects
        root = array if where.steps == () else current(state, object_)
    if root is None:
        base, steps = _written_through(state, array)
        _check_viewed(state, base, steps)
        check_writable(state, steps)
        way = _composed_steps(steps)
        new = _put(state, _Views.of(state, array, base, way), way, index, value, how)
        overwritten(state, base, new)
        return realised(state, new, steps, array.hint) if steps else new
    steps = where.steps or ()
    _check_viewed(state, root, steps)
    check_writable(state, steps)
    way = _composed_steps(steps)
    new_root = _put(state, _Views.of(state, array, root, way), way, index, value, how)
    place = steps if index is None else (*steps, Step(operator.getitem, (index,)))
    rewritten(state, root, new_root, place)
    return new_root if not steps else realised(state, new_root, steps, array.hint)


def _check_viewed(state: Machine, base: Value, steps: Sequence[Step]) -> None:
    """Check that a view that is written into is one of an array.

    ``r.reshape(1)`` of a number is a new array.  Where the lengths of lists decide what `r` is, it
    is known if the function is interpreted with their items.
    """
    type_ = base.type
    if not steps or not isinstance(type_, Numeric) or type_.form != "any" or type_.shape:
        return
    if state.environment.has_lists and not state.environment.items_known:
        state.refuse(
            errors.MutationError,
            "cannot write into what is a view of an array, or was made of a number",
            why="only the call knows which of the two it is.",
            help=("make it an array of its own:  np.array(x)",),
        )
    state.emit(runtime.check_array, base, effect=True)


def _written_through(state: Machine, array: Value) -> tuple[Value, tuple[Step, ...]]:
    """Return the array that a write to a part goes to, and the steps from there.

    A view that does not lie in C order stays one, also where nothing else shows the memory: NumPy
    may add in another order where the entries lie otherwise, and round otherwise.
    """
    base, steps = named = view_path(state, array)
    if _is_in_order(state, base):
        return named
    further = ((one, way) for one, way in bases(state, array) if len(way) >= len(steps))
    return next((found for found in further if _is_in_order(state, found[0])), named)


def _is_in_order(state: Machine, array: Value) -> bool:
    shape = shape_of(array)
    return shape is not None and layout(state, array) == c_order(shape)


def _new_version(
    state: Machine, array: Value, index: Arg | None, value: AbstractValue, how: Write
) -> Value:
    if index is None:
        assert isinstance(value, Value)
        return value
    if how == "set":
        return state.updated(array, index, value, hint=array.hint)
    return state.add_at(array, index, value, repeated=how == "add each", hint=array.hint)


@dataclass(eq=False)
class _Views:
    """The chain of views between an array and a part of it, each lowered once."""

    read: dict[int, Value]  # by the number of steps; the array itself is at 0

    @classmethod
    def of(cls, state: Machine, array: Value, root: Value, steps: Sequence[Step]) -> _Views:
        """Return the views of `root` from which `array`, the part, was read.

        Only those that this branch or iteration has read itself: its adjoint adds up what it does
        to the cotangent of such a view, and would have to hand on all of one from further out.
        """
        latest = state.builder.ops[-_MOST_SEARCHED:]
        here = {result for op in latest for result in op.results}
        passed: dict[int, Value] = {}
        for view, way in [(array, ()), *bases(state, array)]:
            if view is root and way == tuple(steps):
                return cls({**passed, 0: root})
            if view in here:
                passed.setdefault(len(steps) - len(way), view)
        return cls({0: root})

    def at(self, state: Machine, steps: Sequence[Step]) -> Value:
        """Return the view after the first steps of the chain."""
        count = len(steps)
        if count not in self.read:
            self.read[count] = realised(state, self.at(state, steps[:-1]), steps[-1:])
        return self.read[count]


def _put(
    state: Machine,
    views: _Views,
    steps: Sequence[Step],
    index: Arg | None,
    value: AbstractValue,
    how: Write,
) -> Value:
    """Return the new version of an array after a write through a chain of views."""
    if not steps:
        return _new_version(state, views.at(state, ()), index, value, how)
    outer, last = steps[:-1], steps[-1]
    if is_indexed(last.target):
        joined = last.args[0] if index is None else composed(last.args[0], index)
        if joined is not None:
            return _put(state, views, outer, joined, value, how)
        new = _new_version(state, views.at(state, steps), index, value, how)
        return _put(state, views, outer, last.args[0], new, "set")
    # What is turned back must have the view's own shape: a broadcast value is stored first.
    place = EVERYTHING if index is None else index
    new = _new_version(state, views.at(state, steps), place, value, how)
    turned = turned_back(state, last, new, views.at(state, outer))
    return _put(state, views, outer, None if not outer else EVERYTHING, turned, "set")


def composed(first: Arg, second: Arg) -> Arg | None:
    """Return the one index that reads ``x[first][second]``, where numbers and ``:`` tell it."""
    rest = list(index_parts(second))
    if reads_a_copy(second) or any(isinstance(part, Const) and part.value is None for part in rest):
        return None
    result: list[Arg] = []
    for part in index_parts(first):
        if part == _WHOLE:
            if any(_is_ellipsis(p) for p in rest):
                return None
            result.append(rest.pop(0) if rest else _WHOLE)
        elif is_number_index(part):
            result.append(part)
        else:
            return None
    return (
        Display("tuple", (*result, *rest)) if len(result) + len(rest) > 1 else (*result, *rest)[0]
    )


def _composed_steps(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Compose consecutive indices of a chain of views."""
    found: list[Step] = []
    for step in steps:
        joined = None
        if found and found[-1].target is step.target and is_indexed(step.target):
            joined = composed(found[-1].args[0], step.args[0])
        if joined is None:
            found.append(step)
        else:
            found[-1] = Step(operator.getitem, (joined,))
    return tuple(found)


def _is_ellipsis(part: Arg) -> bool:
    return isinstance(part, Const) and part.value is Ellipsis


_VIEWS = ("view", "view or copy")


def turned_back(state: Machine, step: Step, new: Value, parent: Value) -> Value:
    """Return the new version of `parent` from a new version of its view.

    A view has every entry of its array, in another order or shape, so the transpose of taking it,
    which is its rule, is also its inverse.
    """
    rule = lookup(step.target)
    if step.target is np.real:
        return _as_real_part(state, new, parent)
    if rule is None or not rule.shipped or rule.kind != "linear" or rule.memory not in _VIEWS:
        _refuse_view(state, step)
    args = tuple(box_of_arg(state, arg) for arg in step.args)
    kwargs = {key: box_of_arg(state, arg) for key, arg in step.kwargs}
    found = apply(state, Constant(rule.function), (new, parent, *args), kwargs)
    if isinstance(found, Structure):
        found = found.items[0]
    if not isinstance(found, Value):
        _refuse_view(state, step)
    if found.hint is None:
        found.hint = parent.hint
    is_flat = rule.memory == "view or copy" and len(shape_of(parent) or ()) > 1
    if not is_flat or _is_in_order(state, parent):
        return found
    # Written through `flat`: another memory order than that of `parent` would round otherwise.
    return state.updated(parent, EVERYTHING, found, hint=parent.hint)


def _refuse_view(state: Machine, step: Step) -> NoReturn:
    state.refuse(
        errors.MutationError,
        f"cannot write into a view that {label(step.target)} has taken",
        why="it is not known which entries of the array are written.",
        help=("write into a copy, and make the array of it:  z = z.copy()",),
    )


def _as_real_part(state: Machine, new: Value, parent: Value) -> Value:
    """Return the array with `new` as its real part: `new` itself for real numbers."""
    kind = parent.type.kind if isinstance(parent.type, Numeric) else "?"
    if kind not in "biuf":
        state.refuse(
            errors.MutationError,
            "cannot write into the real part of complex numbers",
            why="the write would change one half of each complex number.",
            help=("write the whole number:  z[i] = x + 1j * z[i].imag",),
        )
    return new


# ------------------------------------------------------------------------------ in place
def augment_item(
    state: Machine, array: Value, index: Arg, operation: Any, value: AbstractValue
) -> Value:
    _check_operand(state, value)
    before_arithmetic(state, array)
    once = not reads_a_copy(index) and not may_repeat(index)
    if once and _is_sum(array, operation):
        return _add(state, array, index, operation, value)
    old = state.emit(operator.getitem, array, index)
    new = operate(state, operation, old, value)
    is_array = isinstance(old.type, Numeric) and old.type.form == "array"
    new = check_fits(state, old, new) if is_array else new
    if is_array or reads_a_copy(index):  # a number may be cut off
        check_cast(state, old, new, _in_place(operation), value)
    return store(state, array, index, new)


def _is_sum(array: Value, operation: Any) -> bool:
    """Return True if ``array op= value`` adds a float, or takes one away."""
    floating = isinstance(array.type, Numeric) and array.type.kind in "fc"
    return floating and law_of_operator(operation) in ("sum", "difference")


def _add(state: Machine, array: Value, index: Arg, operation: Any, value: AbstractValue) -> Value:
    added = value if law_of_operator(operation) == "sum" else negated(state, value)
    return store(state, array, index, added, "add")


def before_arithmetic(state: Machine, array: Value) -> None:
    """Note that arithmetic in place may raise after it has written: ``np.errstate`` asks for it."""
    where = state.builder.where
    if where is not None and any(setting in ("raise", "call") for _, setting in where.errstate):
        written_in_part(state, array)


def negated(state: Machine, value: AbstractValue) -> AbstractValue:
    if isinstance(value, Constant) and isinstance(value.value, int | float):
        return Constant(-value.value)
    return state.box(state.emit(operator.neg, value))


def augment_name(state: Machine, array: Value, operation: Any, value: AbstractValue) -> Value:
    """``array op= value`` of an array: dtype and shape stay, every name of it sees the change."""
    _check_operand(state, value)
    before_arithmetic(state, array)
    assert isinstance(array.type, Numeric)
    is_point = array.type.form == "array" and array.type.is_scalar
    if is_point and _is_sum(array, operation):
        return _add(state, array, EVERYTHING, operation, value)
    new = operate(state, operation, array, value)
    if array.type.form != "array":  # a number perhaps, which others keep as it was
        return _rebound(state, array, new)
    new = check_fits(state, array, new)
    if is_point:  # arithmetic makes a number of it, which the array takes in
        check_cast(state, array, new, _in_place(operation), value)
        return store(state, array, EVERYTHING, new)
    if not isinstance(new, Value) or not isinstance(new.type, Numeric):
        return store(state, array, EVERYTHING, new)
    if array.type.dtype is None or not have_same_shape(array.type, new.type):
        return store(state, array, EVERYTHING, new)
    if not same_dtype(array.type.dtype, new.type.dtype):
        check_cast(state, array, new, _in_place(operation), value)
        new = state.emit(np.astype, new, Const(array.type.dtype))
    assert isinstance(new, Value)
    if new.hint is None:
        new.hint = array.hint
    return replace_all(state, array, new)


def _check_operand(state: Machine, value: AbstractValue) -> None:
    """Refuse ``array op= object``: NumPy asks no class how to write into an array."""
    if isinstance(value, RecordValue) and not issubclass(value.cls, tuple):
        state.refuse(
            errors.UnsupportedTypeError,
            f"cannot write a {label(value.cls)!r} into an array in place",
            why="NumPy, which is asked first, takes the object for an entry.",
            help=("write it out:  y = y + other",),
        )


def _rebound(state: Machine, array: Value, new: AbstractValue) -> Value:
    value = state.atom(new)
    assert isinstance(value, Value)
    if _may_stay_array(array.type, value.type):
        kind = Numeric(None, (), "any")
        value = state.emit(runtime.as_kept_in, value, array, type=kind, hint=array.hint)
    before_write(state, array)
    perhaps_written(state, array)
    return value


def _may_stay_array(old: Type, new: Type) -> bool:
    """Return True if an array without axes may be what a number was computed for."""
    if not isinstance(old, Numeric) or not isinstance(new, Numeric):
        return False
    return old.form == "any" and not old.shape and new.form in ("numpy", "python", "number")


def have_same_shape(a: Type, b: Type) -> bool:
    """Return True if two arrays certainly have the same shape."""
    if not isinstance(a, Numeric) or not isinstance(b, Numeric):
        return False
    if a.shape is None or b.shape is None or len(a.shape) != len(b.shape):
        return False
    return all(same(m, n) is True for m, n in zip(a.shape, b.shape, strict=True))
