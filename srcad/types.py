"""What is known of a value before the call: numbers, arrays, containers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np

from srcad.extents import (
    Assumption as Assumption,
)
from srcad.extents import (
    Extent as Extent,
)
from srcad.extents import (
    Facts as Facts,
)
from srcad.extents import (
    Symbol as Symbol,
)
from srcad.extents import (
    at_least as at_least,
)
from srcad.extents import (
    constant_extent as constant_extent,
)
from srcad.extents import (
    differ as differ,
)
from srcad.extents import (
    fresh_extent as fresh_extent,
)
from srcad.extents import (
    is_one as is_one,
)
from srcad.extents import (
    resolved as resolved,
)
from srcad.extents import (
    same as same,
)
from srcad.extents import (
    settled as settled,
)
from srcad.extents import (
    static_value as static_value,
)
from srcad.extents import (
    symbol_extent as symbol_extent,
)
from srcad.identifiers import label, word
from srcad.paths import Path
from srcad.records import dataclass

Form = Literal["python", "numpy", "array", "number", "any"]


DType = np.dtype[Any]


Shape = tuple[Extent, ...]
ARRAY_CLASSES = (np.ndarray, np.memmap)  # their subclasses do arithmetic in ways of their own


def same_dtype(a: DType | None, b: DType | None) -> bool:
    """Whether two dtypes are both unknown or the same (to NumPy, None means float64)."""
    return a is b or (a is not None and b is not None and a == b)


@dataclass(frozen=True, eq=False)
class Numeric:
    """A number or an array of numbers.

    `form` is ``"python"`` (float, int, bool, complex), ``"numpy"`` (a NumPy scalar), ``"array"``
    (an ndarray, 0-d too), ``"number"`` (one of the first two) or ``"any"`` (one of these).
    `dtype` and `shape` are None when unknown.
    `value` is the value of a Python integer as an extent, where it is known.
    """

    dtype: DType | None = None
    shape: Shape | None = None
    form: Form = "any"
    value: Extent | None = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Numeric):
            return NotImplemented
        mine, yours = (self.shape, self.form, self.value), (other.shape, other.form, other.value)
        return mine == yours and same_dtype(self.dtype, other.dtype)

    def __hash__(self) -> int:
        return hash((self.shape, self.form, self.value))

    @property
    def is_scalar(self) -> bool:
        """Whether it certainly has no axes."""
        return self.shape == ()

    @property
    def is_python(self) -> bool:
        """Whether it is certainly a Python number."""
        return self.form == "python"

    @property
    def kind(self) -> str:
        """The NumPy kind character (``f i u b c``), or ``?`` when the dtype is unknown."""
        return self.dtype.kind if self.dtype is not None else "?"

    def __str__(self) -> str:
        dtype = self.dtype.name if self.dtype is not None else "?"
        if self.form == "python":
            return {"f": "float", "i": "int", "b": "bool", "c": "complex"}.get(self.kind, dtype)
        shape = "[...]" if self.shape is None else f"[{', '.join(map(str, self.shape))}]"
        return dtype if self.form == "numpy" else f"{dtype}{shape}"


@dataclass(frozen=True)
class TupleOf:
    """A structure of known parts: a tuple, or, with `keys`, a dict, named tuple or dataclass.

    `keys` are the dict's keys in order, or the names of the fields; None for a plain tuple.
    """

    items: tuple[Type, ...]
    keys: tuple[Any, ...] | None = None
    cls: type = tuple

    def __str__(self) -> str:
        if self.keys is None:
            return f"({', '.join(map(str, self.items))})"
        pairs = zip(self.keys, self.items, strict=True)
        return f"{label(self.cls)}({', '.join(f'{word(k)}: {t}' for k, t in pairs)})"

    def of(self, items: tuple[Type, ...]) -> TupleOf:
        """The same structure around other parts."""
        return TupleOf(items, self.keys, self.cls)


@dataclass(frozen=True)
class Fixed:
    """A part that is known before the call (None, a flag, a string, a callable): see `guards`.

    `path` is where one like it is found at the call.
    """

    value: Any
    path: Path | None = None

    def __str__(self) -> str:
        if isinstance(self.value, np.dtype):
            return f"={self.value}"
        return f"={label(self.value) if callable(self.value) else word(self.value)}"

    def __hash__(self) -> int:
        return hash(type(self.value))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Fixed):
            return NotImplemented
        if self.value is other.value:
            return True
        simple = isinstance(self.value, bool | str | bytes)
        return simple and type(self.value) is type(other.value) and self.value == other.value


@dataclass(frozen=True)
class ListOf:
    """A list whose items all have one type; its length is not part of the type."""

    item: Type

    def __str__(self) -> str:
        return f"list[{self.item}]"


@dataclass(frozen=True)
class PlacesOf(ListOf):
    """A dict from keys, all of one type, to places in a list."""

    key: Type

    def __str__(self) -> str:
        return f"dict[{self.key}, int]"


@dataclass(frozen=True)
class Opaque:
    """An object of which only the class, at best, is known."""

    cls: type | None = None

    def __str__(self) -> str:
        return label(self.cls) if self.cls else "object"


@dataclass(frozen=True)
class Undefined:
    """No value at all: a name that no path has bound."""

    def __str__(self) -> str:
        return "undefined"


Type = Numeric | TupleOf | ListOf | Opaque | Fixed | Undefined


FLOAT = Numeric(np.dtype(np.float64), (), "python")


INT = Numeric(np.dtype(np.int64), (), "python")


BOOL = Numeric(np.dtype(np.bool_), (), "python")


COMPLEX = Numeric(np.dtype(np.complex128), (), "python")


NUMBER = Numeric()


OPAQUE = Opaque()


UNDEFINED = Undefined()


def int_type(value: Extent | int | None) -> Numeric:
    """The type of a Python integer, with its value where that is known."""
    extent = constant_extent(value) if isinstance(value, int) else value
    return Numeric(INT.dtype, (), "python", extent)


def array_type(dtype: Any, shape: Shape | None) -> Numeric:
    """The type of an ndarray."""
    return Numeric(None if dtype is None else np.dtype(dtype), shape, "array")


def type_of_constant(value: object) -> Type:
    """The type of a constant that is known now."""
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, int):
        return int_type(value)
    if isinstance(value, float):
        return FLOAT if type(value) is float else Numeric(np.dtype(type(value)), (), "numpy")
    if isinstance(value, complex):
        return COMPLEX
    if isinstance(value, np.generic):
        return Numeric(value.dtype, (), "numpy")
    if isinstance(value, np.ndarray) and type(value) in ARRAY_CLASSES:
        return array_type(value.dtype, tuple(constant_extent(n) for n in value.shape))
    if isinstance(value, tuple):
        return TupleOf(tuple(type_of_constant(v) for v in value))
    if isinstance(value, list):
        item: Type = UNDEFINED
        for v in value:
            item = join(item, type_of_constant(v))
        return ListOf(item)
    return Opaque(type(value))


def field_type(type_: Type, value: object) -> Type:
    """The type of an object's field that holds a constant: which one, if it is code or nothing."""
    return Fixed(value) if value is None or callable(value) else type_


def join(a: Type, b: Type) -> Type:
    """The least that is known of a value that is an `a` on one path and a `b` on another."""
    if a == b:
        return a
    if isinstance(a, Undefined):
        return b
    if isinstance(b, Undefined):
        return a
    if isinstance(a, Numeric) and isinstance(b, Numeric):
        return _join_numeric(a, b)
    if isinstance(a, TupleOf) and isinstance(b, TupleOf):
        if (len(a.items), a.keys, a.cls) != (len(b.items), b.keys, b.cls):
            return OPAQUE
        return a.of(tuple(join(x, y) for x, y in zip(a.items, b.items, strict=True)))
    if isinstance(a, PlacesOf) and isinstance(b, PlacesOf):
        return PlacesOf(INT, join(a.key, b.key))
    if isinstance(a, ListOf) and isinstance(b, ListOf):
        return ListOf(join(a.item, b.item)) if type(a) is type(b) else OPAQUE
    if isinstance(a, Opaque) and isinstance(b, Opaque):
        return OPAQUE
    return OPAQUE


def is_lost(type_: Type, within: Type) -> bool:
    """Whether a type that covers this one no longer tells that there is a structure.

    No derivative can be followed into what may be a structure or not.
    """
    if isinstance(within, Opaque):
        return isinstance(type_, ListOf | TupleOf)
    if isinstance(type_, ListOf) and isinstance(within, ListOf):
        return is_lost(type_.item, within.item)
    if isinstance(type_, TupleOf) and isinstance(within, TupleOf):
        return any(is_lost(a, b) for a, b in zip(type_.items, within.items, strict=False))
    return False


def form_covers(known: Form, form: Form) -> bool:
    """Whether what has a form has the known one too."""
    return known in ("any", form) or (known == "number" and form in ("python", "numpy"))


def joined_form(a: Form, b: Form) -> Form:
    """The least form that covers both."""
    if form_covers(a, b) or form_covers(b, a):
        return a if form_covers(a, b) else b
    return "any" if "array" in (a, b) else "number"


def _join_numeric(a: Numeric, b: Numeric) -> Numeric:
    dtype = a.dtype if same_dtype(a.dtype, b.dtype) else None
    form = joined_form(a.form, b.form)
    value = a.value if a.value is not None and a.value == b.value else None
    if a.shape is None or b.shape is None or len(a.shape) != len(b.shape):
        return Numeric(dtype, None, form, value)
    shape = tuple(
        m if resolved(m) == resolved(n) else fresh_extent()
        for m, n in zip(a.shape, b.shape, strict=True)
    )
    return Numeric(dtype, shape, form, value)


def take_lengths_for_equal(a: Type, b: Type) -> None:
    """Assume equal lengths where two numbers that meet have them in the example.

    A length that is a plain number stays out of it: no size is compiled in.
    """
    shapes = [t.shape for t in (a, b) if isinstance(t, Numeric) and t.shape is not None]
    if len(shapes) == 2 and len(shapes[0]) == len(shapes[1]):
        for m, n in zip(*shapes, strict=True):
            if resolved(m).terms and resolved(n).terms:
                same(m, n)


def leaves(type_: Type) -> Iterator[Numeric]:
    """The numbers inside a type."""
    if isinstance(type_, Numeric):
        yield type_
    elif isinstance(type_, TupleOf):
        for item in type_.items:
            yield from leaves(item)
    elif isinstance(type_, ListOf):
        yield from leaves(type_.item)


def freshened(type_: Type, *, keep_examples: bool = False) -> Type:
    """The type with its local lengths renamed: those of one item of a list are not another's.

    With `keep_examples`, lengths that are known for every item of an argument keep their example
    (for items of one list that are taken in step with it).
    """
    names: dict[Symbol, Symbol] = {}

    def extent(old: Extent) -> Extent:
        old = resolved(old)
        result = Extent((), old.constant)
        for symbol, k in old.terms:
            result = result + Extent(((_renamed(symbol, names, keep_examples), k),), 0)
        return result

    def visit(t: Type) -> Type:
        match t:
            case Numeric():
                shape = None if t.shape is None else tuple(extent(e) for e in t.shape)
                value = None if t.value is None or t.value.terms else t.value
                return Numeric(t.dtype, shape, t.form, value)
            case TupleOf():
                return t.of(tuple(visit(item) for item in t.items))
            case PlacesOf(item, key):
                return PlacesOf(item, visit(key))
            case ListOf(item):
                return ListOf(visit(item))
            case _:
                return t

    return visit(type_)


def _renamed(symbol: Symbol, names: dict[Symbol, Symbol], keep_examples: bool) -> Symbol:
    per_item = isinstance(symbol.example, tuple)
    if symbol.example is not None and not per_item:
        return symbol
    if symbol not in names:
        names[symbol] = symbol if per_item and keep_examples else Symbol(symbol.name)
    return names[symbol]


def is_text(type_: Type) -> bool:
    """Whether a value certainly is a text or a row of bytes."""
    return isinstance(type_, Opaque) and type_.cls in (str, bytes, bytearray)
