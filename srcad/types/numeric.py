"""Numbers and arrays: dtype, shape and form."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from srcad.startup.records import dataclass
from srcad.types.sizes import Extent, constant_extent

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


FLOAT = Numeric(np.dtype(np.float64), (), "python")


INT = Numeric(np.dtype(np.int64), (), "python")


BOOL = Numeric(np.dtype(np.bool_), (), "python")


COMPLEX = Numeric(np.dtype(np.complex128), (), "python")


NUMBER = Numeric()


def int_type(value: Extent | int | None) -> Numeric:
    """The type of a Python integer, with its value where that is known."""
    extent = constant_extent(value) if isinstance(value, int) else value
    return Numeric(INT.dtype, (), "python", extent)


def array_type(dtype: Any, shape: Shape | None) -> Numeric:
    """The type of an ndarray."""
    return Numeric(None if dtype is None else np.dtype(dtype), shape, "array")


def form_subsumes(known: Form, form: Form) -> bool:
    """Whether what has a form has the known one too."""
    return known in ("any", form) or (known == "number" and form in ("python", "numpy"))


def joined_form(a: Form, b: Form) -> Form:
    """The least form that subsumes both."""
    if form_subsumes(a, b) or form_subsumes(b, a):
        return a if form_subsumes(a, b) else b
    return "any" if "array" in (a, b) else "number"
