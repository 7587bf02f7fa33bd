"""Random views, aliases, rows as loop variables and helpers that write into their arguments."""

from __future__ import annotations

import numpy as np

from tests.generator.names import Mutator, Shape, Text, Var
from tests.generator.writes import LARGEST, Writes

VIEWS = (
    "{}[1:]", "{}[:-1]", "{}[::-1]", "{}[::2]", "{}[...]", "{}[:]", "{}[None]", "{}[-2:]",
    "{}.T", "{}.reshape(-1)", "{}.ravel()", "np.asarray({})", "np.ravel({})", "np.transpose({})",
    "{}.view()", "np.flip({})", "{}[1:][::-1]", "{}[::-1][1:]",
)  # fmt: skip
MATRIX_VIEWS = (
    "{}[0]", "{}[-1]", "{}[:, 0]", "{}[:, -1]", "{}[1:, 1:]", "{}[:, ::-1]", "{}.T[0]",
    "{}.swapaxes(0, 1)", "np.swapaxes({}, 0, 1)", "{}.T.reshape(-1)", "{}[0][1:]", "{}[::2, 1]",
    "{}.reshape({}.shape[1], -1)", "({}.T * 1.0).reshape(-1)", "{}[:, 1:].ravel()", "{}[..., 0]",
)  # fmt: skip
ROW_VIEWS = (
    "{}.reshape(1, -1)", "{}[:, None]", "np.expand_dims({}, 0)", "{}[None].squeeze()",
    "np.atleast_1d({})", "{}.reshape(-1, 1)[:, 0]",
)  # fmt: skip


class Views(Writes):
    """Adds names that share memory."""

    # ----------------------------------------------------------------------------- views
    def view(self) -> None:
        """A view gets a name; the view or what it looks at is written into."""
        base = self.buffer()
        made = self.view_of(base)
        if self.chance(0.3):
            made = self.view_of(made)
        if self.chance(0.2):
            self.statement()
        for _ in range(self.random.choice((1, 1, 2))):
            if made.name in self.vars and base.name in self.vars:
                self.write(made if self.chance(0.6) else base)
                self.module.marks.add("view written")

    def view_of(self, base: Var) -> Var:
        """A named view of an array."""
        while True:
            form = self.random.choice(
                VIEWS + (MATRIX_VIEWS if len(base.shape) == 2 else ROW_VIEWS) * 2
            )
            seen = self.dummy(form.replace("{}", "A"), {"A": np.zeros(base.shape)})
            if seen is not None and 0 < seen.ndim <= 2 and seen.size > 1:
                break
        var = Var(self.new_name(), shape=seen.shape, bound=LARGEST)
        self.emit(f"{var.name} = {form.replace('{}', base.name)}")
        self.bind(var)
        return var

    # --------------------------------------------------------------------------- aliases
    def alias(self) -> None:
        """A second name for an array; one is written into, the other one read."""
        base = self.buffer()
        name = self.new_name()
        other = self.named("float", base.shape)
        form = self.random.random()
        if form < 0.12 and other and other.name != base.name:
            self.module.marks.add("alias chosen by a condition")
            self.open_budget(3)
            self.emit(f"{name} = {base.name} if {self.condition()} else {other.name}")
        elif form < 0.25:
            second = self.new_name()
            self.emit(f"{name} = {second} = {base.name}")
            self.bind(Var(second, shape=base.shape))
        elif form < 0.4:
            second = self.new_name()
            self.emit(f"{name}, {second} = {base.name}, {base.name}[::-1]")
            self.bind(Var(second, shape=base.shape))
        elif form < 0.5 and other and other.name != base.name:
            self.emit(f"{name} = {base.name}")
            self.emit(f"{base.name}, {other.name} = {other.name}, {base.name}")
        else:
            self.emit(f"{name} = {base.name}")
        made = Var(name, shape=base.shape)
        self.bind(made)
        if self.chance(0.25):
            self.emit(f"{base.name} = {base.name} * 0.9")
        self.module.marks.add("alias written")
        first, second_ = self.random.sample((base, made), 2)
        self.write(first)
        self.reading(Text(f"np.sum({second_.name}) * 0.3", 3.0))
        if self.chance(0.3):
            self.write(second_)

    # ------------------------------------------------------------------------------ rows
    def rows(self) -> None:
        """Rows of a matrix, as loop variables or unpacked, written into."""
        n, m = self.module.length, self.module.rows
        matrix = self.buffer((m, n))
        self.module.marks.add("row written")
        if self.chance(0.35):
            return self.unpacked_rows(matrix)
        row, k = self.fresh("row"), self.fresh("k")
        other = self.named("float", (m,))
        headers = [
            (f"for {row} in {matrix.name}:", ()),
            (f"for {row} in {matrix.name}:", ()),
            (f"for {row} in {matrix.name}[::-1]:", ()),
            (f"for {row} in {matrix.name}[:, 1:]:", ()),
            (f"for {k}, {row} in enumerate({matrix.name}):", (Var(k, "int"),)),
            (f"for {row} in reversed({matrix.name}):", ()),
        ]
        if other:
            headers.append((f"for {k}, {row} in zip({other.name}, {matrix.name}):", (Var(k),)))
        header, items = self.random.choice(headers)
        shape = (n - 1,) if ", 1:]" in header else (n,)
        self.ensure_carried()
        self.loops += 1
        with self.block(header):
            made = Var(row, shape=shape)
            for var in (*items, made):
                self.bind(var)
            if self.chance(0.25):
                self.exit()
            if n > 2 or shape == (n,):
                self.write(made)
            else:
                self.emit(f"{row} += 0.3 * np.sin({self.stored()})")
            if self.chance(0.3):
                self.statements(1)
            if self.chance(0.25):
                self.exit()
        self.loops -= 1
        return None

    def unpacked_rows(self, matrix: Var) -> None:
        """``p, q = A``."""
        names = [self.new_name() for _ in range(matrix.shape[0])]
        if len(names) == 3 and self.chance(0.4):
            text = f"{names[0]}, *{names[1]} = {matrix.name}"
            names = names[:1]
        else:
            text = f"{', '.join(names)} = {matrix.name}"
        self.emit(text)
        made = [Var(name, shape=matrix.shape[1:]) for name in names]
        for var in made:
            self.bind(var)
        self.write(self.random.choice(made))
        self.write(self.random.choice((*made, matrix)))

    # --------------------------------------------------------------------------- helpers
    def helper(self) -> None:
        """A call of a function that writes into its argument."""
        if not self.module.mutators or self.chance(0.15):
            return self.writing_closure()
        self.module.marks.add("helper writes")
        mutator = self.random.choice(self.module.mutators)
        call = f"{mutator.name}({self.handed(mutator.shape)}, {self.given(mutator)})"
        if mutator.returns is not None and self.chance(0.75):
            var = Var(self.new_name(), shape=mutator.returns, bound=LARGEST)
            self.emit(f"{var.name} = {call}")
            self.bind(var)
            if var.shape and self.chance(0.5):
                self.write(var)
        else:
            self.emit(call)
        return None

    def given(self, mutator: Mutator) -> str:
        """The other arguments: a number, perhaps a second array that may be the same one."""
        number = self.stored()
        if mutator.second:
            return f"{self.handed(mutator.shape)}, {number}"
        return f"{mutator.keyword}={number}" if self.chance(0.3) else number

    def handed(self, shape: Shape) -> str:
        """An array of a shape to write into: a name, a view of one, or something fresh."""
        name = self.buffer(shape).name
        forms = [name, name, name, f"{name}[::-1]", f"{name}[...]", f"{name} * 0.5"]
        matrix = self.named("float", (self.module.rows, self.module.length))
        if matrix and shape == (self.module.length,):
            row = self.index(self.module.rows)
            forms += [f"{matrix.name}[{row}]", f"{matrix.name}.T[:, {row}]"]
        return self.random.choice(forms)

    def writing_closure(self) -> None:
        """A nested function that writes into an array of the function around it."""
        self.module.marks.add("helper writes")
        var, name, s = self.buffer(), self.fresh("fn"), self.fresh("s")
        outer, self.captured = dict(self.vars), True
        with self.block(f"def {name}({s}):"):
            self.bind(Var(s, bound=2.0))
            self.write(var)
            if self.chance(0.4):
                self.emit(f"return {s} * 0.5 + {var.name}[0].sum() * 0.2")
        self.vars, self.captured = outer, False
        self.emit(f"{name}({self.stored()})")
        if self.chance(0.5):
            self.emit(f"{name}({self.constant()})")
