"""Pullbacks: the value, and the map from its cotangent to those of the arguments."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from srcad.arguments.signature import described_parts
from srcad.backends.interface.tracebacks import add_note
from srcad.backends.python.backend import generated_parts, reloaded
from srcad.errors import SeedError
from srcad.frontend.source.pickling import Made, Pickled
from srcad.ir.primitives import rebuilt
from srcad.modes.calm import errors_are_ignored
from srcad.modes.mode import Run
from srcad.runtime import deep_copy
from srcad.types import objects

_SEED = "the seed of the pullback"
_WHY = "a cotangent has the shape of the value that it belongs to."


def pair(
    primal: Run,
    adjoint: Run,
    has_saved: bool,
    count: int,
    order: Sequence[int],
    name: str,
    has_aux: bool = False,
) -> Run:
    """Join the halves: a function of the arguments that returns ``(y, back)``.

    Parameters
    ----------
    primal, adjoint : callable
        The halves; `primal` returns ``(y, *saved)``, or only `y` if it saves nothing.
    has_saved : bool
        Whether it saves anything.
    count : int
        How many gradients `adjoint` returns: one by itself, several in a tuple.
    order : sequence of int
        For each entry of what `back` returns, which gradient it is.
    name : str
        The function's name, for errors.
    has_aux : bool
        Whether the first thing that `primal` returns is ``(y, aux)``; then ``(y, back, aux)``
        comes back.
    """

    def run(*arguments: Any) -> tuple[Any, ...]:
        y, *saved = primal(*arguments) if has_saved else (primal(*arguments),)
        y, *aux = y if has_aux else (y,)
        return y, Back(adjoint, saved, mold_of(y), count, order, name), *aux

    return run


class Back(Pickled):
    """A pullback: the adjoint with the values that the primal saved.

    Pickled, it takes the text of the adjoint along.
    """

    __slots__ = ("__weakref__", "_adjoint", "_count", "_mold", "_name", "_order", "_saved")

    def __init__(
        self,
        adjoint: Run,
        saved: Sequence[Any],
        mold: Any,
        count: int,
        order: Sequence[int],
        name: str,
    ) -> None:
        self._adjoint, self._saved, self._mold = adjoint, saved, mold
        self._count, self._order, self._name = count, order, name

    def __call__(self, y_bar: Any = 1.0) -> tuple[Any, ...]:
        """Return the cotangents of the arguments for a cotangent of the value."""
        adjoint, saved = self._adjoint, self._saved
        try:
            seed = seed_like(y_bar, self._mold, self._name)
            if errors_are_ignored():
                found = adjoint(*saved, seed)
            else:
                with np.errstate(all="ignore"):
                    found = adjoint(*saved, seed)
        except SeedError as error:
            raise error.with_traceback(None) from None
        except BaseException as error:  # an interrupt, too, says where it was
            add_note(error)
            raise
        count = self._count
        gradients = (found,) if count == 1 else found if count else ()
        if count == len(self._order):
            return tuple(gradients)
        first = [self._order.index(k) == place for place, k in enumerate(self._order)]
        pairs = zip(first, self._order, strict=True)
        return tuple(gradients[k] if is_first else deep_copy(gradients[k]) for is_first, k in pairs)

    def __repr__(self) -> str:
        return f"<srcad.pullback of {self._name!r}>"

    def _constructor_arguments(self) -> tuple[Any, ...]:
        *named, objects, lines = generated_parts(self._adjoint)
        generated = *named, {name: Made.of(value) for name, value in objects.items()}, lines
        saved = [Made.of(value) for value in self._saved]
        return generated, saved, self._mold, self._count, self._order, self._name

    def _construct(self, generated: tuple[Any, ...], saved: Sequence[Any], *rest: Any) -> None:
        name, text, file, modules, objects, lines = generated
        made = {name: Made.found(value) for name, value in objects.items()}
        self.__init__(  # type: ignore[misc]
            reloaded(name, text, file, modules, made, lines),
            [Made.found(value) for value in saved],
            *rest,
        )


class Mold:
    """Shape and dtype of one number or array of a result."""

    __slots__ = ("dtype", "python", "scalar", "shape")

    def __init__(self, y: Any) -> None:
        array = isinstance(y, np.ndarray)
        self.shape = np.shape(y)
        self.scalar = not array
        self.python = type(y) if isinstance(y, int | float | complex) and not _is_numpy(y) else None
        dtype = y.dtype if array or _is_numpy(y) else np.dtype(type(y))
        self.dtype = np.dtype(float) if dtype.kind in "iub" else dtype

    def fill(self, y_bar: Any, name: str, *, what: str, broadcast: bool) -> Any:
        """Return the seed for this part."""
        shape = np.shape(y_bar)
        if shape != self.shape and not (broadcast and shape == ()):
            raise SeedError(
                f"{what} of {name!r} has shape {shape}, and the value has shape {self.shape}",
                why=_WHY if broadcast else _WHY.replace("cotangent", "tangent"),
                help=f"pass an array of that shape{', or one number for all entries' * broadcast}",
            )
        kind = np.asarray(y_bar).dtype.kind
        if kind not in "iufcb":
            given = f"a {type(y_bar).__name__}"
            if isinstance(y_bar, np.ndarray):
                given = f"an array of dtype {y_bar.dtype}"
            raise SeedError(
                f"a seed is a number or an array of numbers, not {given}",
                help="pass numbers:  np.asarray(y_bar, float)",
            )
        if kind == "c" and self.dtype.kind != "c":
            raise SeedError(
                f"{what} of {name!r} is complex, and the value is real",
                why="a cotangent, like a tangent, is real where the value is.",
                help="pass its real part, or make the value complex:  x.astype(complex)",
            )
        if self.python is not None:
            return self.python(y_bar) if self.python is complex else float(y_bar)
        if self.scalar:
            return self.dtype.type(y_bar)
        seed = np.empty(self.shape, self.dtype)
        seed[...] = y_bar
        return seed


def _is_numpy(value: Any) -> bool:
    return isinstance(value, np.generic)


def mold_of(y: Any) -> Any:
    """Return the molds of all parts of a value, in its structure; None for other objects."""
    if isinstance(y, bool | np.bool_) or y is None:
        return None
    if isinstance(y, int | float | complex | np.number | np.ndarray):
        return Mold(y)
    if type(y) is list:
        return [mold_of(item) for item in y]
    parts = described_parts(y, opens=True)
    if parts is None or (parts[3] == "attr" and objects.holds_itself(y)):
        return None
    keys, items, cls, _ = parts
    return keys, cls, tuple(mold_of(item) for item in items)


def seed_like(
    y_bar: Any, mold: Any, name: str, *, what: str = _SEED, broadcast: bool = True
) -> Any:
    """Return the seed in the structure, shapes and dtypes of the value.

    Raises
    ------
    SeedError
        It does not fit; the message names both shapes.
    """
    if isinstance(mold, Mold):
        return mold.fill(y_bar, name, what=what, broadcast=broadcast)
    if mold is None:
        return None
    one_number = broadcast and isinstance(y_bar, int | float | complex | np.number)
    again = partial(_part_like, name=name, what=what, broadcast=broadcast)
    if isinstance(mold, list):
        given = [y_bar] * len(mold) if one_number else y_bar
        if type(given) is not list or len(given) != len(mold):
            raise _other_structure(what, name, f"a list of {len(mold)}")
        return [again(g, m) for g, m in zip(given, mold, strict=True)]
    keys, cls, molds = mold
    if one_number:
        return rebuilt(cls, keys, tuple(again(y_bar, m) for m in molds))
    parts = described_parts(y_bar, opens=True)
    if parts is None or parts[2] is not cls or parts[0] != keys or len(parts[1]) != len(molds):
        raise _other_structure(what, name, f"a {cls.__name__} of {len(molds)}")
    seeds = tuple(again(g, m) for g, m in zip(parts[1], molds, strict=True))
    return rebuilt(cls, keys, seeds)


def _part_like(part: Any, mold: Any, **how: Any) -> Any:
    """Return the seed of one part of a structure; None, as gradients have it, is zero."""
    return zeros_of(mold) if part is None else seed_like(part, mold, **how)


def zeros_of(mold: Any) -> Any:
    """Zeros in the structure, shapes and dtypes of a value."""
    if isinstance(mold, Mold):
        return mold.fill(np.zeros(mold.shape), "", what="", broadcast=False)
    if mold is None or isinstance(mold, list):
        return None if mold is None else [zeros_of(m) for m in mold]
    keys, cls, molds = mold
    return rebuilt(cls, keys, tuple(map(zeros_of, molds)))


def _other_structure(what: str, name: str, expected: str) -> SeedError:
    return SeedError(
        f"{what} of {name!r} needs the structure of the value: {expected}",
        why="there is one cotangent for each part of the value.",
        help="pass the same structure, or one number for all parts",
    )
