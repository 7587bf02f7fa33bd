"""A stand-in for the front end: rules are run on objects that write what is done to them."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from srcad.ir import primitives
from srcad.ir.core import Const, Display, Value
from srcad.ir.inference.builder import Builder
from srcad.ir.primitives import shape
from srcad.types.numeric import Numeric
from srcad.types.sizes import static_value
from srcad.types.structures import ListOf, TupleOf

BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul",
          "lt", "le", "gt", "ge", "eq", "ne", "and_", "or_")  # fmt: skip


class Traced:
    """A value of the IR that Python code can compute with."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, builder: Builder, value: Value) -> None:
        self.builder = builder
        self.value = value

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name == "ndim":
            return len(self.value.type.shape)
        if name == "T":
            return call(self.builder, np.transpose, self)
        if name == "size":
            return call(self.builder, np.size, self)
        if name == "dtype":
            return self.value.type.dtype
        if name == "shape":
            type_ = self.value.type
            whole = call(self.builder, shape, self)
            if isinstance(type_, Numeric) and type_.shape is not None:
                known = [static_value(e) for e in type_.shape]
                return tuple(
                    n if n is not None else call(self.builder, primitives.item, whole, k)
                    for k, n in enumerate(known)
                )
            return whole
        functions = {"reshape": np.reshape, "sum": np.sum, "copy": np.copy, "astype": np.astype}
        return lambda *a, **k: call(self.builder, functions[name], self, *a, **k)

    def __getitem__(self, index: Any) -> Any:
        type_ = self.value.type
        if isinstance(type_, TupleOf) and isinstance(index, int):
            return call(self.builder, primitives.item, self, index)
        return call(self.builder, operator.getitem, self, index)

    def __iter__(self) -> Any:
        type_ = self.value.type
        if isinstance(type_, ListOf):
            raise TypeError("a list of unknown length")
        return iter([self[k] for k in range(len(type_.items))])

    def __neg__(self) -> Any:
        return call(self.builder, operator.neg, self)

    def __abs__(self) -> Any:
        return call(self.builder, operator.abs, self)

    def __invert__(self) -> Any:
        return call(self.builder, operator.invert, self)

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        return call(self.builder, ufunc, *args, **kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function is np.ndim and isinstance(args[0], Traced):
            return args[0].ndim
        if function is np.shape and isinstance(args[0], Traced):
            return args[0].shape
        return call(self.builder, function, *args, **kwargs)


def _install() -> None:
    for name in BINARY:
        function = getattr(operator, name)
        plain = name.rstrip("_")

        def forward(self: Any, other: Any, function: Any = function) -> Any:
            return call(self.builder, function, self, other)

        def swapped(self: Any, other: Any, function: Any = function) -> Any:
            return call(self.builder, function, other, self)

        setattr(Traced, f"__{plain}__", forward)
        if plain not in ("lt", "le", "gt", "ge", "eq", "ne"):
            setattr(Traced, f"__r{plain}__", swapped)


_install()


def call(builder: Builder, target: Any, *args: Any, **kwargs: Any) -> Any:
    """Write a call."""
    found = builder.call(
        target, *[as_arg(a) for a in args], kwargs=[(k, as_arg(a)) for k, a in kwargs.items()]
    )
    return Traced(builder, found)


def as_arg(x: Any) -> Any:
    """What Python code passes, as an argument of the IR."""
    if isinstance(x, Traced):
        return x.value
    if isinstance(x, Value | Const | Display):
        return x
    if isinstance(x, slice):
        return Display("slice", tuple(as_arg(a) for a in (x.start, x.stop, x.step)))
    if isinstance(x, tuple | list):
        kind = "tuple" if isinstance(x, tuple) else "list"
        return Display(kind, tuple(as_arg(a) for a in x))
    return Const(x)


def wrapped(builder: Builder, arg: Any) -> Any:
    """An argument of the IR as Python code sees it."""
    if isinstance(arg, Value):
        return Traced(builder, arg)
    if isinstance(arg, Const):
        return arg.value
    if isinstance(arg, Display):
        items = [wrapped(builder, a) for a in arg.items]
        return {"tuple": tuple, "list": list, "slice": lambda p: slice(*p)}[arg.kind](items)
    return arg


def unwrapped(found: Any) -> Any:
    """What a rule returned, as atoms."""
    if isinstance(found, tuple | list):
        return tuple(unwrapped(a) for a in found)
    if found is None:
        return None
    return found.value if isinstance(found, Traced) else Const(found)


def inline(builder: Builder, rule: Any, args: list[Any], keywords: dict[str, Any]) -> Any:
    """Write a rule's formula."""
    found = rule(
        *[wrapped(builder, a) for a in args],
        **{k: wrapped(builder, a) for k, a in keywords.items()},
    )
    return unwrapped(found)


def traced(function: Any, *types: Any, hints: tuple[str, ...] = ()) -> Any:
    """A straight-line Python function as IR."""
    from srcad.ir.core import Function

    builder = Builder()
    names = hints or function.__code__.co_varnames
    params = tuple(Value(t, n) for t, n in zip(types, names, strict=False))
    result = function(*[Traced(builder, p) for p in params])
    atom = as_arg(result)
    if isinstance(atom, Display):
        atom = builder.call(primitives.build_tuple, *atom.items)
    return Function(function.__name__, params, builder.finish(atom))
