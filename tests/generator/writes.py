"""Random writes into arrays: stores of every index, ``op=``, ``out=``, ``ufunc.at`` and the rest.

What is written stays small: inside loops every stored value passes a bounded function, and what is
added is at most one half.  So all arrays keep values of a few units, whatever shares their memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.generator.loops import Loops
from tests.generator.names import Shape, Text, Var

LARGEST = 4.0  # of any entry of an array, as far as expressions reckon


class Writes(Loops):
    """Adds writes into arrays."""

    def bind(self, var: Var) -> None:
        """A name; an array may be written into through other names, so its bound is common."""
        if var.shape:
            var = Var(var.name, var.kind, var.shape, max(var.bound, LARGEST), var.keys)
        super().bind(var)

    # --------------------------------------------------------------------------- buffers
    def buffer(self, shape: Shape | None = None) -> Var:
        """An array in scope, or a new one."""
        found = [v for v in self.arrays_in_scope() if shape is None or v.shape == shape]
        if found and self.chance(0.75):
            return self.random.choice(found)
        return self.new_buffer(shape)

    def arrays_in_scope(self) -> list[Var]:
        """The names of arrays of at least two entries."""
        return [v for v in self.vars.values() if v.kind == "float" and int(np.prod(v.shape)) > 1]

    def new_buffer(self, shape: Shape | None = None) -> Var:
        """An array made for being written into."""
        n, m = self.module.length, self.module.rows
        shape = shape or self.random.choice(((n,), (n,), (m, n)))
        like = self.named("float", shape)
        size = str(shape[0] if len(shape) == 1 else shape)
        forms = [
            f"np.zeros({size})",
            f"np.ones({size})",
            f"np.full({size}, 1.0 * {self.value().code})",
        ]
        forms += [f"np.empty({size})", f"({self.value(shape).code}) * 0.5"]
        if like:
            forms += [f"np.zeros_like({like.name})", f"{like.name} * 0.0", f"{like.name} * 0.7"]
            forms += [f"{like.name}.copy()", f"np.array({like.name})", f"0.2 + {like.name}"]
        if like and self.module.analytic:
            forms = forms[5:]
        var = Var(self.new_name(), shape=shape, bound=LARGEST)
        form = self.random.choice(forms)
        self.emit(f"{var.name} = {form}")
        if "empty" in form:
            self.emit(f"{var.name}[...] = {self.value(shape).code}")
        self.bind(var)
        return var

    # ---------------------------------------------------------------------------- values
    def stored(self, shape: Shape = (), limit: float = 2.0) -> str:
        """A value to store: bounded truly where it may be stored again and again."""
        if len(shape) > 2 or 0 in shape or 1 in shape:
            shape = ()
        if len(shape) and self.chance(0.35):
            shape = self.random.choice(((), shape[1:]))
        value = self.value(shape, limit)
        if self.loops or self.repeated:
            form = self.random.choice(("np.tanh({})", "np.sin({})", "(np.cos({}) * 0.8)"))
            return form.format(value.code)
        return f"({value.code})"

    repeated = False  # whether the lines may run again: in a helper
    captured = False  # whether the names belong to a function around this one

    # --------------------------------------------------------------------------- indices
    def place(self, shape: Shape) -> tuple[str, Shape]:
        """A static index and the shape of what it selects (never empty)."""
        while True:
            text = self.subscript(shape)
            ints = {v.name: 0 for v in self.vars.values() if v.kind in ("int", "count")}
            selected = self.dummy(f"A[{text}]", {"A": np.zeros(shape), **ints})
            if selected is not None and np.size(selected):
                return text, np.shape(selected)

    def dummy(self, text: str, names: dict[str, Any]) -> Any:
        """The value of an expression over stand-ins; None where it has none."""
        try:
            return eval(text, {"np": np, **names})
        except (IndexError, ValueError):
            return None

    def subscript(self, shape: Shape) -> str:
        """The text of an index, perhaps of several axes."""
        n = shape[0]
        if len(shape) == 1:
            extra = ["...", "None", f"np.arange({n}) > {self.random.randrange(n)}", "None, 1:"]
            return self.axis(n) if self.chance(0.85) else self.random.choice(extra)
        form = self.random.randrange(10)
        if form <= 2:
            return self.axis(n)
        if form <= 5:
            return f"{self.axis(n)}, {self.plain_axis(shape[1])}"
        if form == 6:
            return f"..., {self.plain_axis(shape[1])}"
        if form == 7:
            return f"{self.plain_axis(n)}, {self.axis(shape[1])}"
        if form == 8:
            return f"{self.picks(n, 2)}, {self.picks(shape[1], 2)}"
        return self.random.choice((f"np.eye{shape} > 0.5", "...", ":, None, 0", "::-1, ::-1"))

    def axis(self, n: int) -> str:
        """The index of one axis: also integer arrays and masks."""
        form = self.random.randrange(8)
        if form == 0:
            return self.picks(n, self.random.choice((2, 3)))
        if form == 1:
            mask = [self.chance(0.6) for _ in range(n - 1)] + [True]
            return self.random.choice((f"np.array({mask})", f"np.arange({n}) >= {n // 2}"))
        return self.plain_axis(n)

    def plain_axis(self, n: int) -> str:
        """The index of one axis: an integer or a slice."""
        if self.chance(0.4):
            return self.index(n)
        slices = [":", "1:", ":-1", "::2", "::-1", "-2:", "::-2", f"{n - 1}:0:-1", ":1", "-1:"]
        return self.random.choice(slices)

    def picks(self, n: int, count: int) -> str:
        """Integer positions, often with repeats."""
        picks = [self.random.randrange(-n, n) for _ in range(count)]
        if self.chance(0.4):
            picks[-1] = picks[0]
        return self.random.choice((f"np.array({picks})", f"{picks}"))

    # ---------------------------------------------------------------------------- stores
    def store(self, var: Var | None = None) -> None:
        """``y[i] = v``, ``y[i] op= v``."""
        var = var or self.buffer()
        form = self.random.random()
        if form < 0.14 and not self.module.analytic:
            return self.masked(var)
        if form < 0.28:
            return self.overlapping(var)
        index, shape = self.place(var.shape)
        target = f"{var.name}[{index}]"
        self.emit(self.changed(target, shape, assign=0.5))
        return None

    def changed(self, target: str, shape: Shape, assign: float = 0.0) -> str:
        """One statement that sets or changes a target in place."""
        if self.chance(assign):
            if len(shape) == 1 and 1 < shape[0] < 5 and self.chance(0.2):
                items = ", ".join(self.stored() for _ in range(shape[0]))
                return f"{target} = [{items}]"
            return f"{target} = {self.stored(shape)}"
        return self.random.choice(
            (
                f"{target} += 0.5 * np.sin({self.stored(shape)})",
                f"{target} -= 0.4 * np.tanh({self.stored(shape)})",
                f"{target} *= {self.positive_below_one()}",
                f"{target} *= np.cos({self.stored(shape)})",
                f"{target} /= 2.0 + np.cos({self.stored(shape)})",
            )
        )

    def positive_below_one(self) -> str:
        return str(round(self.random.uniform(0.3, 0.95), 2))

    def masked(self, var: Var) -> None:
        """A store where the entries themselves say where."""
        like = self.named("float", var.shape) or var
        test = f"{like.name} {self.random.choice(('>', '<'))} {self.constant()}"
        if self.chance(0.5):
            name = self.fresh("mask")
            self.emit(f"{name} = {test}")
            test = name
        other = self.named("float", var.shape) or var
        target = f"{var.name}[{test}]"
        same = f"{target} = 0.6 * {other.name}[{test}]"
        self.emit(same if self.chance(0.3) else self.changed(target, (), assign=0.4))

    def overlapping(self, var: Var) -> None:
        """A store that reads the same array: stencils, shifts, swaps."""
        self.module.marks.add("store reading the same array")
        y, i, j = var.name, self.index(var.shape[0]), self.index(var.shape[0])
        half = self.positive_below_one()
        forms = [
            f"{y}[1:] = {half} * {y}[:-1] + 0.3 * {self.stored()}",
            f"{y}[:-1] += 0.3 * np.sin({y}[1:])",
            f"{y}[::-1] = {y}",
            f"{y}[:] = {half} * {y}[::-1]",
            f"{y}[1:] = {y}[:-1]",
            f"{y}[{i}], {y}[{j}] = {y}[{j}], {y}[{i}]",
            f"{y}[{i}] = {half} * {y}[{j}] + 0.2 * {self.stored()}",
            f"{y}[{i}] += 0.4 * np.sin({y}[{j}])",
            f"{y}[...] = np.roll({y}, 1)",
        ]
        if var.shape[0] > 2:
            forms += [f"{y}[1:-1] += 0.2 * ({y}[2:] - 2.0 * {y}[1:-1] + {y}[:-2])"] * 3
        if len(var.shape) == 2 and var.shape[0] == var.shape[1]:
            forms.append(f"{y}[...] = {y}.T")
        self.emit(self.random.choice(forms))

    # -------------------------------------------------------------------- whole arrays
    def inplace(self, var: Var | None = None) -> None:
        """``y op= v``: a change of the array, whoever else holds it."""
        self.module.marks.add("in-place name")
        var = var or self.buffer()
        y = var.name
        if self.chance(0.1):
            self.emit(f"{y} **= 2")
            self.emit(f"{y} *= 0.2")
        elif len(var.shape) == 2 and var.shape[0] == var.shape[1] and self.chance(0.3):
            self.emit(f"{y} @= {self.tame(self.value(var.shape), 1.0).code}")
            self.emit(f"{y} *= 0.3")
        else:
            self.emit(self.changed(y, var.shape))

    def out(self, var: Var | None = None) -> None:
        """Ufuncs and reductions with ``out=`` and ``where=``."""
        var = var or self.buffer()
        target, shape = var.name, var.shape
        if self.chance(0.35):
            plain = [p for p in ("1:", ":-1", "::-1", "::2", "...") if self.chance(0.7)] or [":"]
            index = self.random.choice(plain)
            target, shape = f"{var.name}[{index}]", np.zeros(var.shape)[self.slices(index)].shape
        a, b = self.stored(shape), self.stored(shape)
        where = f", where=np.arange({shape[-1]}) > 0" if self.chance(0.2) else ""
        forms = [
            f"np.add({a}, {b}, out={target}{where})",
            f"np.multiply({a}, {b}, out={target}{where})",
            f"np.subtract({target}, np.sin({a}), {target})",
            f"np.multiply({target}, {self.positive_below_one()}, out={target}{where})",
            f"np.sin({target}, out={target}{where})",
            f"np.tanh({a}, out={target})",
            f"np.exp(-np.square({a}), out={target})",
            f"np.divide({a}, 2.0 + np.cos({b}), out={target})",
        ]
        if not self.module.analytic:
            forms += [f"np.maximum({target}, {a}, out={target})"]
            forms += [f"np.clip({target}, -0.8, 0.9, out={target})"]
        matrix = self.named("float", (self.module.rows, self.module.length))
        if target == var.name and var.shape == (self.module.length,) and matrix:
            rows = f"{self.positive_below_one()} * {matrix.name}"
            forms += [f"np.mean({rows}, axis=0, out={target})"] * 2
        line = self.random.choice(forms)
        if target == var.name and self.chance(0.2):
            name = self.new_name()
            line = f"{name} = {line}"
            self.bind(Var(name, shape=var.shape, bound=LARGEST))
        self.emit(line)

    def slices(self, text: str) -> Any:
        """The index that a text means."""
        return eval(f"np.s_[{text}]", {"np": np})

    def at(self, var: Var | None = None) -> None:
        """``np.add.at``: unlike ``y[i] += v``, repeats count."""
        var = var or self.buffer()
        index = self.picks(var.shape[0], self.random.choice((2, 3)))
        if len(var.shape) == 2 and self.chance(0.4):
            index = f"({index}, {self.index(var.shape[1])})"
        value = self.stored()
        forms = (
            f"np.add.at({var.name}, {index}, 0.4 * np.sin({value}))",
            f"np.subtract.at({var.name}, {index}, 0.4 * np.cos({value}))",
            f"np.multiply.at({var.name}, {index}, {self.positive_below_one()})",
        )
        self.emit(self.random.choices(forms, (3, 1, 1))[0])

    def copied(self, var: Var | None = None) -> None:
        """``copyto``, ``fill``, ``put`` and their relatives."""
        var = var or self.buffer()
        y, n = var.name, var.shape[0]
        forms = [
            f"np.copyto({y}, {self.stored(var.shape)})",
            f"np.copyto({y}, {self.stored(var.shape)}, where=np.arange({var.shape[-1]}) > 0)",
            f"{y}.fill({self.stored()})",
            f"np.putmask({y}, np.arange({np.prod(var.shape)}).reshape({y}.shape) > 0, {y} * 0.5)",
            f"{y}.flat[1:] = {self.stored()}",
            f"{y}.T[...] = {self.stored()}",
            f"np.put({y}, {self.picks(n, 2)}, {self.stored()})",
        ]
        if len(var.shape) == 2:
            forms += [f"np.fill_diagonal({y}, {self.stored()})"] * 2
        weights = [4, 2, 4, *[1] * (len(forms) - 3)]
        self.emit(self.random.choices(forms, weights)[0])

    # --------------------------------------------------------------------- any of these
    def write(self, var: Var | None = None) -> None:
        """A write of any form that this program uses."""
        var = var or self.buffer()
        if var.name in self.parameters:
            self.module.marks.add("argument written")
        ways: dict[str, tuple[float, Callable[[Var | None], None]]] = {
            "store": (2.0, self.store),
            "inplace": (2.0, self.inplace),
            "out": (2.0, self.out),
            "at": (1.5, self.at),
            "copied": (1.5, self.copied),
        }
        found = [w for name, w in ways.items() if name in self.module.families]
        found.append((1.0, self.store))
        found.append((0.6, self.inplace))
        if self.captured:
            found = [(w, f) for w, f in found if f != self.inplace]
        self.random.choices([f for _, f in found], [w for w, _ in found])[0](var)

    def reading(self, text: Text) -> None:
        """A number read off something, bound to a name of its own."""
        var = Var(self.new_name(), bound=min(text.bound, 6.0))
        self.emit(f"{var.name} = {self.tame(text, 6.0).code}")
        self.bind(var)
