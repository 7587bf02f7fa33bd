"""Random loops with every way out of them."""

from __future__ import annotations

from tests.generator.names import Text, Var
from tests.generator.statements import Statements


class Loops(Statements):
    """Adds ``for`` and ``while``."""

    parameters: tuple[str, ...] = ()  # of the main function

    def loop(self) -> None:
        """One loop of a random form."""
        if self.loops >= 3:
            return self.assignment()
        forms = [
            (3.0, self.range_loop),
            (1.5, self.array_loop),
            (1.0, self.zip_loop),
            (1.0, self.enumerate_loop),
            (0.8, self.reversed_loop),
            (0.7, self.container_loop),
            (1.0, self.collecting_loop),
            (1.6, self.counted_while),
            (0.0 if self.module.analytic else 1.0, self.halving_while),
            (1.2, self.exit_nest),
        ]
        return self.random.choices([f for _, f in forms], [w for w, _ in forms])[0]()

    # ---------------------------------------------------------------------------- bodies
    def body(self, header: str, *items: Var, before_exit: tuple[str, ...] = ()) -> None:
        """A loop with some statements and perhaps exits."""
        self.ensure_carried()
        self.loops += 1
        with self.block(header):
            for var in items:
                self.bind(var)
            self.statements(self.random.choice((1, 1, 2)))
            if self.chance(0.35):
                self.exit(before_exit)
                self.statements(1)
            if self.chance(0.1):
                self.reassign(items)
            self.carry()
        self.loops -= 1
        if self.chance(0.12):
            with self.block("else:"):
                self.carry()

    def ensure_carried(self) -> None:
        """Something that the trips can change."""
        if not self.named("float", ()):
            name = self.new_name()
            self.emit(f"{name} = {self.value().code}")
            self.bind(Var(name, bound=3.0))

    def carry(self) -> None:
        """Assign to a name from outside, so that the trips depend on each other."""
        var = self.named("float", ())
        if var:
            value = self.value((), 1.0).code
            form = self.random.choice(
                ("{0} = 0.6 * {0} + 0.4 * ({1})", "{0} = np.tanh({0} + 0.5 * ({1}))", "{0} = {1}")
            )
            self.emit(form.format(var.name, value))

    def reassign(self, items: tuple[Var, ...]) -> None:
        """The loop variable, changed inside the loop."""
        for var in items:
            if var.kind == "float" and not var.shape:
                self.emit(f"{var.name} = {var.name} * 0.5")

    def exit(self, before: tuple[str, ...] = ()) -> None:
        """A guarded way out of the trip."""
        ways = ["break", "continue"] + (["return"] if self.exits else [])
        way = self.random.choice(ways)
        self.open_budget(4)
        with self.block(f"if {self.condition()}:"):
            if self.chance(0.3):
                self.carry()
            if way == "return":
                self.exits -= 1
                self.emit(f"return {self.result()}")
            else:
                self.emit(way)

    # ------------------------------------------------------------------------------- for
    def bounds(self) -> str:
        """The arguments of ``range``; sometimes of no trip at all."""
        count = self.named("count")
        if self.chance(0.18):
            self.module.marks.add("zero-trip loop")
            return self.random.choice(("0", "3, 1", "2, 2"))
        if count and self.chance(0.45):
            if count.bound == 0:
                self.module.marks.add("zero-trip loop")
            return self.random.choice((count.name, f"{count.name}", f"1, {count.name} + 1"))
        most = (4, 3, 2)[min(self.loops, 2)]
        k = self.random.randrange(1, most + 1)
        return self.random.choice((f"{k}", f"{k}", f"1, {k + 1}", f"{k}, 0, -1", f"0, {2 * k}, 2"))

    def range_loop(self) -> None:
        i = self.fresh("i")
        bounds = self.bounds()
        self.body(f"for {i} in range({bounds}):", Var(i, "int"))
        if bounds in ("1", "2", "3") and self.chance(0.4):
            self.bind(Var(i, "int"))
            self.emit(f"{self.ensured()} += 0.1 * {i}")

    def ensured(self) -> str:
        """The name of a number."""
        self.ensure_carried()
        var = self.named("float", ())
        assert var
        self.vars[var.name] = Var(var.name, bound=var.bound + 0.5)
        return var.name

    def array_loop(self) -> None:
        """Over the entries of a vector or the rows of a matrix."""
        n, m = self.module.length, self.module.rows
        matrix = self.named("float", (m, n))
        e = self.fresh("e")
        if matrix and self.chance(0.5):
            self.body(f"for {e} in {matrix.name}:", Var(e, shape=(n,), bound=matrix.bound))
            return
        vector = self.named("float", (n,))
        if vector is None:
            return self.range_loop()
        if self.chance(0.18):
            self.module.marks.add("zero-trip loop")
            self.body(f"for {e} in {vector.name}[:0]:", Var(e, bound=vector.bound))
        elif self.chance(0.35):
            i = self.fresh("i")
            self.body(f"for {i} in range(len({vector.name})):", Var(i, "int"))
        else:
            self.body(f"for {e} in {vector.name}:", Var(e, bound=vector.bound))

    def zip_loop(self) -> None:
        n, m = self.module.length, self.module.rows
        vector, matrix = self.named("float", (n,)), self.named("float", (m, n))
        e, k = self.fresh("e"), self.fresh("k")
        if vector is None:
            return self.range_loop()
        if matrix and self.chance(0.5):
            row = Var(k, shape=(n,), bound=matrix.bound)
            self.body(
                f"for {e}, {k} in zip({vector.name}, {matrix.name}):",
                Var(e, bound=vector.bound),
                row,
            )
        elif self.chance(0.5):
            self.body(
                f"for {e}, {k} in zip({vector.name}, range(3)):",
                Var(e, bound=vector.bound),
                Var(k, "int"),
            )
        else:
            self.body(
                f"for {e}, {k} in zip({vector.name}[1:], {vector.name}[:-1]):",
                Var(e, bound=vector.bound),
                Var(k, bound=vector.bound),
            )
        return None

    def enumerate_loop(self) -> None:
        items = (
            self.named("float", (self.module.length,))
            or self.named("tuple")
            or self.named("floats")
        )
        i, e = self.fresh("i"), self.fresh("e")
        if items is None:
            return self.range_loop()
        start = self.random.choice(("", "", ", 1", ", start=2"))
        self.body(
            f"for {i}, {e} in enumerate({items.name}{start}):",
            Var(i, "int"),
            Var(e, bound=items.bound),
        )
        return None

    def reversed_loop(self) -> None:
        items = self.named("float", (self.module.length,))
        e = self.fresh("e")
        if items is None or self.chance(0.4):
            self.body(f"for {e} in reversed(range({self.bounds()})):", Var(e, "int"))
        else:
            self.body(f"for {e} in reversed({items.name}):", Var(e, bound=items.bound))

    def container_loop(self) -> None:
        """Over the parts of a tuple, a dict, a list or a display."""
        e, k = self.fresh("e"), self.fresh("k")
        table, items = self.named("dict"), self.named("tuple") or self.named("floats")
        if table and self.chance(0.6):
            form = self.random.choice(
                (
                    f"for {k}, {e} in {table.name}.items():",
                    f"for {e} in {table.name}.values():",
                )
            )
            self.body(form, Var(e, bound=table.bound))
        elif items:
            self.body(f"for {e} in {items.name}:", Var(e, bound=items.bound))
        else:
            self.body(f"for {e} in ({self.value().code}, {self.value().code}):", Var(e, bound=3.0))

    def collecting_loop(self) -> None:
        """A list that grows trip by trip, then is put together."""
        items, i = self.new_name(), self.fresh("i")
        shape = self.random.choice(((), (), (self.module.length,)))
        self.ensure_carried()
        state = self.named("float", ())
        assert state
        self.emit(f"{items} = []")
        self.loops += 1
        count = self.random.randrange(1, 4)
        with self.block(f"for {i} in range({count}):"):
            self.bind(Var(i, "int"))
            self.emit(f"{state.name} = 0.5 * {state.name} + {self.value((), 1.0).code}")
            self.emit(f"{state.name} = {self.tame(Text(state.name, 9), state.bound).code}")
            self.emit(f"{items}.append({self.value(shape).code})")
            if self.chance(0.4):
                self.exit()
            self.statements(1)
        self.loops -= 1
        result = self.new_name()
        if shape:
            form = self.random.choice(
                (
                    "np.sum(np.stack({}), axis=0)",
                    "sum({})",
                    "np.mean(np.array({}), axis=0)",
                    "{}[-1]",
                )
            )
        else:
            form = self.random.choice(
                ("sum({})", "np.sum(np.array({}))", "{}[-1]", "np.mean(np.stack({}))")
            )
        self.emit(f"{result} = {form.format(items)}")
        self.bind(Var(result, shape=shape, bound=9.0))
        self.bind(Var(items, "arrays" if shape else "floats", shape, 3.0))

    # ----------------------------------------------------------------------------- while
    def counted_while(self) -> None:
        """At most three trips; the test may depend on the numbers too."""
        k = self.fresh("k")
        self.open_budget(4)
        extra = f" and ({self.condition()})" if self.chance(0.5) else ""
        self.emit(f"{k} = 0")
        self.ensure_carried()
        self.loops += 1
        with self.block(f"while {k} < {self.random.randrange(1, 4)}{extra}:"):
            self.bind(Var(k, "int"))
            self.emit(f"{k} += 1")
            self.statements(self.random.choice((1, 2)))
            if self.chance(0.45):
                self.exit()
            self.carry()
        self.loops -= 1
        self.bind(Var(k, "int"))
        if self.chance(0.1):
            with self.block("else:"):
                self.carry()

    def halving_while(self) -> None:
        """The number of trips depends on an active value."""
        var = self.target()
        if var.name not in self.vars:
            self.emit(f"{var.name} = {self.value((), 2.0).code}")
            self.bind(var)
        reading = self.fresh("e")
        self.loops += 1
        with self.block(f"while abs({var.name}) > {self.positive()}:"):
            self.emit(f"{reading} = {var.name}")
            self.emit(f"{var.name} = {self.random.choice(('0.5', '0.6', '-0.5'))} * {var.name}")
            del self.vars[var.name]
            self.bind(Var(reading, bound=var.bound))
            self.ensure_carried()
            self.statements(1)
            if self.chance(0.3):
                self.exit()
            self.carry()
            self.bind(var)
        self.loops -= 1

    def exit_nest(self) -> None:
        """Two loops with an early return, a break and a swap inside the inner one."""
        i, j = self.fresh("i"), self.fresh("j")
        self.exits = max(self.exits, self.random.choice((0, 1, 1)))
        self.ensure_carried()
        self.loops += 2
        with self.block(f"for {i} in range({self.random.randrange(1, 4)}):"):
            self.bind(Var(i, "int"))
            with self.block(f"for {j} in range({self.random.randrange(1, 4)}):"):
                self.bind(Var(j, "int"))
                self.carry()
                self.exit()
                self.swap()
                if self.exits:
                    self.early_return()
                self.carry()
            if self.chance(0.5):
                self.exit()
            self.carry()
        self.loops -= 2
