"""From values to types: the signature of the arguments of one call.

A *path* (see `srcad.types.sources`) says where a value is found again at the next call.

>>> import numpy as np
>>> environment = ShapeEnvironment()
>>> print(describe((1.0, np.ones((3, 4))), (("param", "p"),), environment))
(float, float64[p1_0, p1_1])
"""

from __future__ import annotations

import enum
import inspect
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from srcad.errors import UnsupportedTypeError
from srcad.startup.identifiers import is_instance, key_text, module_of, plain
from srcad.startup.records import dataclass, field, is_record, replace
from srcad.types import objects
from srcad.types.join import join
from srcad.types.numeric import (
    ARRAY_CLASSES,
    COMPLEX,
    FLOAT,
    Numeric,
    array_type,
    int_type,
    number_base,
)
from srcad.types.sizes import ShapeEnvironment, Symbol, symbol_extent
from srcad.types.sources import EACH, Path, spelled
from srcad.types.structures import OPAQUE, UNDEFINED, Fixed, ListOf, Opaque, TupleOf, Type

_LONGEST_STATIC = 64
LARGEST_DICT = 256
_DEEPEST = 16
_NUMBERS = frozenset("biufc")
_PLAIN_MODULES = ("builtins", "numpy")  # whose objects are data, not code that may be read
_DEEPEST_OPEN = 64
_SIMPLE = (bool, str, bytes, type(None), type, np.dtype, enum.Enum, type(Ellipsis))


def describe(
    value: Any,
    source: Path,
    environment: ShapeEnvironment,
    opens: bool | Collection[Any] = False,
    *,
    numbers: bool = False,
) -> Type:
    """Describe a value as it is known before the call.

    Parameters
    ----------
    value : object
        The value in the call that causes the compilation.
    source : tuple
        The path at which it is found.
    environment : ShapeEnvironment
        Where assumptions about its lengths will be recorded.
    opens : bool or collection
        Whether objects of the user's classes in it are taken apart; or the items of which they are.
    numbers : bool
        Whether there a number of a subclass of `int`, `float` or `complex` is its base class's.

    Returns
    -------
    Type
        A type that holds for every value of the same pattern: lengths and integers are symbols.

    Raises
    ------
    UnsupportedTypeError
        An object that holds numbers and is taken apart holds itself.
    """
    if not isinstance(opens, bool):
        return _items(value, source, environment, opens, numbers)
    return _Describer(environment, opens, numbers and opens).one(value, source, 0)


def _items(
    value: Any, source: Path, environment: ShapeEnvironment, opens: Collection[Any], numbers: bool
) -> TupleOf:
    """Return the type of ``*args`` or ``**kw``, in some items of which objects are taken apart."""
    parts = described_parts(value)
    assert parts is not None
    keys, items, cls, step = parts
    names = range(len(items)) if keys is None else keys
    types = (
        describe(item, (*source, (step, key)), environment, key in opens, numbers=numbers)
        for key, item in zip(names, items, strict=True)
    )
    return TupleOf(tuple(types), keys, cls)


@dataclass(eq=False)
class _Describer:
    """Describes one value; `group` describes the items of a list together."""

    environment: ShapeEnvironment
    opens: bool = False
    numbers: bool = False
    around: dict[int, Path] = field(default_factory=dict)

    def one(self, value: Any, source: Path, depth: int) -> Type:
        number = self._number(value, source)
        if number is not None:
            return number
        parts = described_parts(value, opens=self.opens)
        if self._is_too_deep(value, source, depth):
            return OPAQUE
        if parts is not None:
            if self._goes_round([value], source):
                return Opaque(type(value))
            keys, items, cls, step = parts
            names = range(len(items)) if keys is None else keys
            pairs = zip(names, items, strict=True)
            types = [self.one(item, (*source, (step, key)), depth + 1) for key, item in pairs]
            self.around.pop(id(value), None)
            return TupleOf(tuple(types), keys, cls)
        if type(value) is list:
            return self._list(value, source, depth)
        is_dynamic = type(value) is str or not is_fixed(value)
        return Opaque(type(value)) if is_dynamic else Fixed(value, source)

    def _is_too_deep(self, value: Any, source: Path, depth: int) -> bool:
        """Return True if nothing is known of what lies so deep; no number may be lost there."""
        if depth <= (_DEEPEST_OPEN if self.opens else _DEEPEST):
            return False
        if self.opens and objects.holds_floats(value):
            raise UnsupportedTypeError(
                f"{spelled(source[:1])!r} holds more than {_DEEPEST_OPEN} structures in each other",
                why="each of the numbers inside would be a variable of its own.",
                help="keep them in a list or an array",
            )
        return True

    def _goes_round(self, values: list[Any], source: Path) -> bool:
        """Return True if a structure holds itself, without any number; others are noted."""
        if not self.opens:
            return False
        for value in values:
            first = self.around.get(id(value))
            if first is not None and not objects.holds_itself(value):
                first = None
            if first is not None and objects.holds_floats(value):
                raise UnsupportedTypeError(
                    f"{spelled(source)!r} is {spelled(first)!r} again: an object that holds itself",
                    why="a gradient has the structure of its argument, which would have no end.",
                    help="differentiate by the part that holds the numbers, or by an array",
                )
            if first is not None:
                return True
        self.around |= {id(value): source for value in values}
        return False

    def _number(self, value: Any, source: Path) -> Type | None:
        cls = type(value)
        if cls is float:
            return FLOAT
        if cls is int:
            return int_type(symbol_extent(self._symbol(value, source)))
        if cls is complex:
            return COMPLEX
        if cls in ARRAY_CLASSES:
            return self._array(value.dtype, [value.shape], source)
        if is_instance(value, np.generic) and value.dtype.kind in _NUMBERS:
            return Numeric(value.dtype, (), "numpy")
        base = number_base(value) if self.numbers else None
        if base is None:
            return None
        number = self._number(base(value), source)
        assert isinstance(number, Numeric)
        return replace(number, cls=cls)

    def _array(self, dtype: Any, shapes: Sequence[tuple[int, ...]], source: Path) -> Type:
        if dtype.kind not in _NUMBERS:
            return Opaque(np.ndarray)
        axes = []
        for axis in range(len(shapes[0])):
            lengths = tuple(shape[axis] for shape in shapes)
            example = lengths if EACH in source else lengths[0]
            axes.append(symbol_extent(self._symbol(example, (*source, ("shape", axis)))))
        return array_type(dtype, tuple(axes))

    def _symbol(self, example: int | tuple[int, ...], source: Path) -> Symbol:
        return Symbol(_symbol_name(source), example, source, self.environment)

    # ------------------------------------------------------------------------- lists
    def _list(self, values: list[Any], source: Path, depth: int) -> Type:
        if not values:
            return ListOf(UNDEFINED)
        self.environment.has_lists = True
        if self.environment.items_known and len(values) <= _LONGEST_STATIC:
            return self._item_by_item(values, source, depth)
        item = self.group(values, (*source, EACH), depth + 1)
        if item is not None:
            return ListOf(item)
        if len(values) > _LONGEST_STATIC:
            alike = all(type(v) is type(values[0]) for v in values) and not is_fixed(values[0])
            return ListOf(Opaque(type(values[0])) if alike else OPAQUE)
        return self._item_by_item(values, source, depth)

    def _item_by_item(self, values: list[Any], source: Path, depth: int) -> Type:
        items = (self.one(v, (*source, ("item", k)), depth + 1) for k, v in enumerate(values))
        return TupleOf(tuple(items), None, list)

    def group(self, values: list[Any], source: Path, depth: int) -> Type | None:
        """Return the one type of all items, or None if a part must be known item by item."""
        cls = type(values[0])
        base = number_base(values[0]) if self.numbers else None
        if base is not None and all(type(value) is cls for value in values):
            number = self.group([base(value) for value in values], source, depth)
            return replace(number, cls=cls) if isinstance(number, Numeric) else number
        return self._group_of_plain(values, source, depth)

    def _group_of_plain(self, values: list[Any], source: Path, depth: int) -> Type | None:
        cls = type(values[0])
        if any(self._is_too_deep(value, source, depth) for value in values):
            return OPAQUE
        if any(type(v) is not cls for v in values):
            return self._mixed(values)
        if cls is int:
            return int_type(symbol_extent(self._symbol(tuple(values), source)))
        if cls in ARRAY_CLASSES:
            return self._arrays(values, source)
        if is_number(values[0]):
            return self._mixed(values)
        if cls is list:
            inner = [item for value in values for item in value]
            if not inner:
                return ListOf(UNDEFINED)
            found = self.group(inner, (*source, EACH), depth + 1)
            return None if found is None else ListOf(found)
        if described_parts(values[0], opens=self.opens) is not None:
            return self._structures(values, source, depth)
        if is_fixed(values[0]):
            fixed = Fixed(values[0], tuple(("item", 0) if s == EACH else s for s in source))
            return fixed if all(fixed == Fixed(v) for v in values) else None
        return Opaque(cls) if module_of(cls) in _PLAIN_MODULES else None

    def _mixed(self, values: list[Any]) -> Type | None:
        """Return the common type of numbers of several kinds."""
        if not all(is_number(v) for v in values):
            return None
        loose: list[Type] = [_unknown_shape(v) for v in values]
        result = loose[0]
        for type_ in loose[1:]:
            result = join(result, type_)
        return result

    def _arrays(self, values: list[Any], source: Path) -> Type | None:
        if any(v.dtype.kind not in _NUMBERS for v in values):
            return Opaque(np.ndarray)
        alike = all(v.ndim == values[0].ndim and v.dtype == values[0].dtype for v in values)
        if not alike:
            return self._mixed(values)
        return self._array(values[0].dtype, [v.shape for v in values], source)

    def _structures(self, values: list[Any], source: Path, depth: int) -> Type | None:
        split = [described_parts(v, opens=self.opens) for v in values]
        if split[0] is None or self._goes_round(values, source):
            return None
        keys, first, cls, step = split[0]
        if any(s is None or s[0] != keys or len(s[1]) != len(first) for s in split):
            return None
        columns = zip(*(s[1] for s in split if s is not None), strict=True)
        items = []
        for key, column in zip(range(len(first)) if keys is None else keys, columns, strict=True):
            found = self.group(list(column), (*source, (step, key)), depth + 1)
            if found is None:
                break
            items.append(found)
        for value in values:
            self.around.pop(id(value), None)
        return None if len(items) < len(first) else TupleOf(tuple(items), keys, cls)


def _unknown_shape(value: Any) -> Type:
    """Return a number of which only kind and dtype are known."""
    if isinstance(value, ARRAY_CLASSES):
        return array_type(value.dtype, None)
    if isinstance(value, np.generic):
        return Numeric(value.dtype, (), "numpy")
    kinds: dict[type, Type] = {float: FLOAT, int: int_type(None), complex: COMPLEX}
    return kinds[type(value)]


def _symbol_name(source: Path) -> str:
    words = [key_text(step[-1]) for step in source if step != EACH]
    name = words[0]
    for part, step in zip(words[1:], [s for s in source[1:] if s != EACH], strict=True):
        name += f"_{part}" if step[0] == "shape" else part
    return name


# ----------------------------------------------------------------------------- kinds of values
_NOT_OPENED = (np.ndarray, np.generic, dict, list, type, FunctionType)


def is_number(value: Any) -> bool:
    """Return True if a value is a number or an array of numbers (a flag is none)."""
    if isinstance(value, np.ndarray | np.generic):
        plain = isinstance(value, np.generic) or type(value) in ARRAY_CLASSES
        return plain and value.dtype.kind in _NUMBERS
    return type(value) in (int, float, complex)


def is_fixed(value: Any) -> bool:
    """Return True if a value is part of the pattern: a flag, text, callable, dtype or class."""
    if is_instance(value, _SIMPLE) or type(value).__name__ == "module":
        return True
    return is_instance(value, FunctionType) or (callable(value) and not holds_its_code(value))


def holds_its_code(value: Any) -> bool:
    """Return True if a call of an object runs Python code that other objects may share with it."""
    if is_instance(value, MethodType | partial):
        return True
    call = inspect.getattr_static(type(value), "__call__", None)
    return isinstance(call, FunctionType) and not is_instance(value, FunctionType | type)


Parts = tuple[tuple[Any, ...] | None, tuple[Any, ...], type, str]


def described_parts(value: Any, *, opens: bool = False) -> Parts | None:
    """Return the keys, parts, class and kind of step of a tuple, dict, named tuple or dataclass.

    Also those of any other object that is its attributes, if it `opens`.
    """
    cls = type(value)
    if cls is tuple:
        return None, value, tuple, "item"
    if cls is dict:
        if len(value) > LARGEST_DICT:
            return None
        return tuple(value), tuple(value.values()), dict, "item"
    if issubclass(cls, tuple):
        fields = fields_of(cls)
        return None if fields is None else (fields, tuple(value), cls, "attr")
    if not (opens or is_record(cls)) or isinstance(value, _NOT_OPENED):
        return None
    found = objects.attributes(value)
    return None if found is None else (*found, cls, "attr")


def fields_of(cls: type) -> tuple[str, ...] | None:
    """Return the names of the fields of a named tuple, else None."""
    fields = getattr(cls, "_fields", None)
    if not isinstance(fields, tuple) or not all(isinstance(name, str) for name in fields):
        return None
    names = tuple(plain(name) for name in fields)
    return names if all(hasattr(cls, name) for name in names) else None


def arrays_in(value: Any) -> Iterator[np.ndarray[Any, Any]]:
    """Yield the arrays inside a value that is differentiated by."""
    if is_instance(value, np.ndarray):
        yield value
    elif type(value) not in (float, int):
        yield from (one for one in objects.inside(value) if is_instance(one, np.ndarray))


def is_in_c_order(value: Any) -> bool:
    """Return True if all arrays inside a value lie in memory in C order."""
    return all(a.ndim < 2 or a.flags.c_contiguous for a in arrays_in(value))


# --------------------------------------------------------------------------------- generic form
def generic(type_: Type) -> Type:
    """Return the same pattern with nothing known of lengths: the form that serves all the rest."""
    if isinstance(type_, Numeric):
        if type_.form == "array":
            return type_.of_shape(None, "array")
        return Numeric(type_.dtype, type_.shape, type_.form, cls=type_.cls, joined=type_.joined)
    if isinstance(type_, TupleOf):
        return type_.of(tuple(generic(item) for item in type_.items))
    return ListOf(generic(type_.item)) if isinstance(type_, ListOf) else type_
