"""Numbers and arrays: dtype, shape and form."""

from __future__ import annotations

import inspect
from typing import Any, Literal

import numpy as np

from srcad.startup.identifiers import is_instance
from srcad.startup.records import dataclass
from srcad.types.sizes import Extent, constant_extent

Form = Literal["python", "numpy", "array", "number", "any"]


DType = np.dtype[Any]


Shape = tuple[Extent, ...]


ARRAY_CLASSES = (np.ndarray, np.memmap)  # their subclasses do arithmetic in ways of their own


def same_dtype(a: DType | None, b: DType | None) -> bool:
    """Return True if two dtypes are both unknown or the same (to NumPy, None means float64)."""
    return a is b or (a is not None and b is not None and a == b)


def complex_ones(dtypes: frozenset[DType]) -> frozenset[DType]:
    """Return the complex ones among some dtypes."""
    return frozenset(dtype for dtype in dtypes if dtype.kind == "c")


@dataclass(frozen=True, eq=False)
class Numeric:
    """A number or an array of numbers.

    `form` is ``"python"`` (float, int, bool, complex), ``"numpy"`` (a NumPy scalar), ``"array"``
    (an ndarray, 0-d too), ``"number"`` (one of the first two) or ``"any"`` (one of these).
    `dtype` and `shape` are None when unknown.
    `joined` are the dtypes that it may have where several paths meet, instead of one `dtype`; empty
    if nothing is known.  Complex ones among them need not be all: any other may occur beside them.
    `value` is the value of a Python integer as an extent, where it is known.
    `cls` is the class of a Python number of a subclass of `int`, `float` or `complex`.
    """

    dtype: DType | None = None
    shape: Shape | None = None
    form: Form = "any"
    value: Extent | None = None
    cls: type | None = None
    joined: frozenset[DType] = frozenset()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Numeric):
            return NotImplemented
        mine, yours = (self.shape, self.form, self.value), (other.shape, other.form, other.value)
        alike = mine == yours and self.cls is other.cls and self.joined == other.joined
        return alike and same_dtype(self.dtype, other.dtype)

    def __hash__(self) -> int:
        return hash((self.shape, self.form, self.value))

    @property
    def is_scalar(self) -> bool:
        """True if it certainly has no axes."""
        return self.shape == ()

    @property
    def is_python(self) -> bool:
        """True if it is certainly a Python number."""
        return self.form == "python"

    @property
    def kind(self) -> str:
        """The NumPy kind character (``f i u b c``), or ``?`` when the dtype is unknown."""
        return self.dtype.kind if self.dtype is not None else "?"

    @property
    def dtypes(self) -> frozenset[DType]:
        """The dtypes that it is known to have on some path."""
        return self.joined if self.dtype is None else frozenset((self.dtype,))

    def of_shape(self, shape: Shape | None, form: Form) -> Numeric:
        """Return the type of numbers of the same kind in another shape."""
        return Numeric(self.dtype, shape, form, joined=self.joined)

    @property
    def dtype_key(self) -> Any:
        """The dtype, or those that meet: all that rules and NumPy's answers depend on."""
        return self.joined if self.dtype is None else self.dtype

    @property
    def has_complex(self) -> bool:
        """True if it is complex on some path."""
        if self.dtype is not None:
            return self.dtype.kind == "c"
        return bool(complex_ones(self.joined))

    @property
    def may_be_complex(self) -> bool:
        """True if it is complex, or nothing says that it is not."""
        return self.kind == "c" or (self.dtype is None and not self.is_real)

    @property
    def is_real(self) -> bool:
        """True if it is certainly a real number."""
        return self.dtypes != frozenset() and all(d.kind in "fiub" for d in self.dtypes)

    def __str__(self) -> str:
        names = {"f": "float", "i": "int", "b": "bool", "c": "complex"}
        is_python = self.form == "python"
        dtypes = {names.get(d.kind, d.name) if is_python else d.name for d in self.dtypes}
        is_open = self.dtype is None and len(dtypes) < 2
        dtype = "?" if is_open else "|".join(sorted(dtypes))
        if is_python:
            return dtype
        shape = "[...]" if self.shape is None else f"[{', '.join(map(str, self.shape))}]"
        return dtype if self.form == "numpy" else f"{dtype}{shape}"


FLOAT = Numeric(np.dtype(np.float64), (), "python")


INT = Numeric(np.dtype(np.int64), (), "python")


BOOL = Numeric(np.dtype(np.bool_), (), "python")


COMPLEX = Numeric(np.dtype(np.complex128), (), "python")


NUMBER = Numeric()


def int_type(value: Extent | int | None) -> Numeric:
    """Return the type of a Python integer, with its value where that is known."""
    extent = constant_extent(value) if isinstance(value, int) else value
    return Numeric(INT.dtype, (), "python", extent)


def array_type(dtype: Any, shape: Shape | None) -> Numeric:
    """Return the type of an ndarray."""
    return Numeric(None if dtype is None else np.dtype(dtype), shape, "array")


_OWN_NAMES = frozenset(
    {"__new__", "__init__", "__doc__", "__dir__", "__repr__", "__str__", "__format__",
     "__reduce__", "__reduce_ex__", "__getnewargs__", "__init_subclass__", "__class__",
     "__and__", "__or__", "__xor__", "__rand__", "__ror__", "__rxor__", "__invert__"}
)  # fmt: skip
_ASKED = ("__getattr__", "__array_ufunc__", "__array__", "__array_function__")


def number_base(value: Any) -> type | None:
    """Return `int`, `float` or `complex` for a number of a subclass that leaves arithmetic alone.

    None for a flag, for numbers of Python's and NumPy's own, and for what does arithmetic in a way
    of its own.
    """
    cls = type(value)
    if cls in (int, float, complex, bool) or is_instance(value, np.generic):
        return None
    base = next((b for b in (int, float, complex) if is_instance(value, b)), None)
    if base is None or any(name in vars(kind) for kind in cls.__mro__ for name in _ASKED):
        return None
    names = (name for name in dir(base) if name not in _OWN_NAMES)
    static = inspect.getattr_static
    return base if all(static(cls, n) is static(base, n) for n in names) else None


def form_subsumes(known: Form, form: Form) -> bool:
    """Return True if what has a form has the known one too."""
    return known in ("any", form) or (known == "number" and form in ("python", "numpy"))


def joined_form(a: Form, b: Form) -> Form:
    """Return the least form that subsumes both."""
    if form_subsumes(a, b) or form_subsumes(b, a):
        return a if form_subsumes(a, b) else b
    return "any" if "array" in (a, b) else "number"
