"""Random loops over the entries of arrays, as people write solvers: recurrences and stencils."""

from __future__ import annotations

from tests.generator.names import Text, Var
from tests.generator.views import Views


class Sweeps(Views):
    """Adds loops that fill or relax an array."""

    def sweep(self) -> None:
        """One loop nest of a random form."""
        forms = (self.recurrence, self.recurrence, self.table, self.relaxed, self.exchanged)
        self.module.marks.add("array filled in a loop")
        self.loops += 1
        self.random.choice(forms)()
        self.loops -= 1

    def source(self, shape: tuple[int, ...]) -> str:
        """An array that is read entry by entry."""
        var = self.named("float", shape) or self.new_buffer(shape)
        return var.name

    def recurrence(self) -> None:
        """``y[i]`` from ``y[i - 1]``, forwards or backwards, perhaps with a way out."""
        n = self.module.length
        y, x, i = self.buffer((n,)).name, self.source((n,)), self.fresh("i")
        header, before = self.random.choice(
            (
                (f"for {i} in range(1, {n}):", f"{i} - 1"),
                (f"for {i} in range(1, len({y})):", f"{i} - 1"),
                (f"for {i} in range({n}):", f"{i} - 1"),
                (f"for {i} in range({n - 2}, -1, -1):", f"{i} + 1"),
                (f"for {i} in reversed(range({n - 1})):", f"{i} + 1"),
            )
        )
        half, number = self.positive_below_one(), self.stored()
        lines = [
            f"{y}[{i}] = {half} * {y}[{before}] + 0.3 * {x}[{i}]",
            f"{y}[{i}] = np.tanh({x}[{i}] - {half} * {y}[{before}] * {number})",
            f"{y}[{i}] += 0.4 * np.sin({y}[{before}] * {x}[{before}])",
            f"{y}[{i}] -= {half} * {y}[{before}]",
            f"{y}[{i}], {y}[{before}] = {y}[{before}] * {half}, {y}[{i}]",
            f"{y}[{i}:] *= {half}",
            f"{y}[{i}] = np.cos(np.sum({y}[:{i}])) * {number}",
        ]
        if self.chance(0.2):
            self.emit(f"{i} = 0")
            header, before = f"while {i} < {n - 1}:", ""
            lines = [f"{i} += 1\n{line}" for line in (lines[0], lines[1], lines[2])]
            lines = [line.replace(f"{i} + 1]", f"{i} - 1]") for line in lines]
        with self.block(header):
            self.bind(Var(i, "int"))
            for line in self.random.choice(lines).split("\n"):
                self.emit(line)
            if self.chance(0.3):
                self.open_budget(3)
                exits = "break" if header.startswith("while") else "continue"
                with self.block(f"if {self.condition()}:"):
                    self.emit(self.random.choice(("break", exits)))
            if self.chance(0.3):
                self.emit(f"{y}[{i}] *= {self.positive_below_one()}")

    def table(self) -> None:
        """A matrix, entry by entry: whole or below the diagonal."""
        n, m = self.module.length, self.module.rows
        a, x, i, j = self.buffer((m, n)).name, self.source((n,)), self.fresh("i"), self.fresh("j")
        half, number = self.positive_below_one(), self.stored()
        inner = self.random.choice((f"range({n})", f"range(1, {n})", f"range({i} + 1)"))
        if n < m:
            inner = f"range({n})"
        with self.block(f"for {i} in range({m}):"):
            self.bind(Var(i, "int"))
            if self.chance(0.3):
                self.emit(f"{a}[{i}] *= {half}")
            with self.block(f"for {j} in {inner}:"):
                self.bind(Var(j, "int"))
                lines = [
                    f"{a}[{i}, {j}] = {half} * {a}[{i} - 1, {j}] + 0.3 * np.sin({x}[{j}])",
                    f"{a}[{i}, {j}] += 0.3 * {a}[{i}, {j} - 1] * {number}",
                    f"{a}[{i}][{j}] = np.tanh({a}[{i} - 1][{j} - 1] + {x}[{j}])",
                    f"{a}[{i}, {j}] -= 0.2 * np.sin({a}[{i}, :{j}] @ {x}[:{j}])",
                    f"{a}[{i}, {j}] *= np.cos({x}[{j}])",
                ]
                self.emit(self.random.choice(lines))

    def relaxed(self) -> None:
        """Time steps of a stencil, in place or from a copy."""
        n, m = self.module.length, self.module.rows
        flat = self.chance(0.6)
        u = self.buffer((n,) if flat else (m, n)).name
        t, dt = self.fresh("t"), self.random.choice(("0.2", f"0.1 * {self.stored()}"))
        lines = [
            f"{u}[1:] -= {dt} * ({u}[1:] - {u}[:-1])",
            f"{u}[:-1] += {dt} * ({u}[1:] - {u}[:-1])",
            f"{u}[1:-1] += {dt} * ({u}[2:] - 2.0 * {u}[1:-1] + {u}[:-2])",
            f"{u}[1:-1] = {u}[1:-1] + {dt} * ({u}[2:] - 2.0 * {u}[1:-1] + {u}[:-2])",
        ]
        if not flat:
            inside = f"{u}[1:, 1:]"
            lines += [f"{inside} = 0.4 * ({u}[:-1, 1:] + {inside}) + 0.1 * {u}[1:, :-1]"] * 2
        if (n if flat else m) < 3:
            lines = lines[:2] + lines[4:]
        with self.block(f"for {t} in range({self.random.randrange(1, 4)}):"):
            self.bind(Var(t, "int"))
            if self.chance(0.3):
                old = self.new_name()
                self.emit(f"{old} = {u}.copy()")
                self.emit(f"{u}[1:] += 0.2 * {old}[:-1]")
            self.emit(self.random.choice(lines))
            edge = self.random.choice((f"{u}[0] = 0.0", f"{u}[-1] = {u}[-2]", f"{u}[0] *= 0.5"))
            if self.chance(0.5):
                self.emit(edge)
            if self.chance(0.25):
                self.exit()

    def exchanged(self) -> None:
        """Two buffers that change places in every trip."""
        n = self.module.length
        a, b = self.new_buffer((n,)).name, self.new_buffer((n,)).name
        k = self.fresh("k")
        self.module.marks.add("buffers exchanged")
        with self.block(f"for {k} in range({self.random.randrange(1, 4)}):"):
            self.bind(Var(k, "int"))
            lines = [
                f"{b}[1:] = {self.positive_below_one()} * {a}[:-1] + {self.stored()}",
                f"{b}[:] = np.sin({a}) + 0.3 * {b}",
                f"np.multiply({a}, {self.positive_below_one()}, out={b})",
                f"{b} += 0.5 * np.cos({a})",
            ]
            self.emit(self.random.choice(lines))
            self.emit(f"{a}, {b} = {b}, {a}")
            if self.chance(0.3):
                self.exit()
        self.reading(Text(f"{a}[0] - 0.5 * {b}[-1]", 6.0))
