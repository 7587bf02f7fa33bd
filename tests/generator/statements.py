"""Random statements: assignments of every form, branches, containers, calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random

from tests.generator.arrays import Arrays
from tests.generator.names import Module, Shape, Text, Var

NAMES = ["u", "v", "w", "s", "t", "h", "z", "q", "acc", "total", "y", "r"]
TRICKY = ["x_bar", "y_bar", "seed", "saved", "t1", "d", "g", "x_saved", "srcad", "operator", "loss"]


class Statements(Arrays):
    """Writes the statements of one function."""

    def __init__(self, random: Random, module: Module) -> None:
        super().__init__(random, module)
        self.lines: list[str] = []
        self.level = 1
        self.loops = 0
        self.exits = 0
        self.straight = False
        self.limit = 30

    # --------------------------------------------------------------------------- writing
    def emit(self, line: str) -> None:
        """One line at the current indentation."""
        self.lines.append("    " * self.level + line)

    @contextmanager
    def block(self, header: str) -> Iterator[None]:
        """A compound statement; names first bound inside are forgotten after it."""
        self.emit(header)
        before, start = dict(self.vars), len(self.lines)
        self.level += 1
        yield
        if len(self.lines) == start:
            self.emit("pass")
        self.level -= 1
        self.vars = {n: v for n, v in before.items() if n in self.vars}

    def open_budget(self, size: int = 9) -> None:
        """Allow one statement so many subexpressions."""
        self.budget = size

    def value(self, shape: Shape = (), limit: float = 3.0) -> Text:
        """A tame expression of a shape, with a budget of its own."""
        self.open_budget((5, 8, 9)[self.module.size - 1])
        depth = min(self.module.size, 2)
        made = self.array(shape, depth) if shape else self.scalar(depth + 1)
        made = self.tame(made, limit)
        if self.loops and self.chance(0.7):
            return Text(f"({made.code}) * {round(self.random.uniform(0.2, 0.7), 2)}", made.bound)
        return made

    def new_name(self) -> str:
        """A name for a new variable, sometimes one that generated code would like."""
        pool = [n for n in NAMES if n not in self.module.used] or [self.fresh("v")]
        if self.chance(0.12):
            pool = [n for n in TRICKY if n not in self.module.used] or pool
        name = self.random.choice(pool)
        self.module.used.add(name)
        return name

    def target(self, shape: Shape = ()) -> Var:
        """An existing name of this shape, or a new one."""
        existing = [v for v in self.vars.values() if v.kind == "float" and v.shape == shape]
        if existing and self.chance(0.7 if self.loops else 0.4):
            return self.random.choice(existing)
        return Var(self.new_name(), shape=shape, bound=3.0)

    def shapes(self) -> Shape:
        """A random shape; numbers are the most frequent."""
        n, m = self.module.length, self.module.rows
        return self.random.choice(((), (), (), (), (n,), (n,), (m, n), (m,)))

    # ------------------------------------------------------------------------ statements
    def statements(self, count: int) -> None:
        """Several statements."""
        for _ in range(count):
            if len(self.lines) > self.limit:
                return
            self.statement()

    def statement(self) -> None:
        """One statement of a random form."""
        deep = self.level >= 4 or self.straight
        forms: list[tuple[float, Callable[[], None]]] = [
            (4.0, self.assignment),
            (1.0, self.unpacking),
            (1.0, self.swap),
            (1.4, self.augmented),
            (0.0 if deep else 2.2, self.branch),
            (0.9, self.make_tuple),
            (0.9, self.make_dict),
            (0.8, self.make_list),
            (0.7, self.make_closure),
            (0.7, self.helper_results),
            (0.5, self.noise),
            (0.0 if self.straight else 0.4, self.mixed),
            (0.5 if self.exits and not self.straight else 0.0, self.early_return),
            (0.0 if deep else 3.0, self.loop),
        ]
        self.random.choices([f for _, f in forms], [w for w, _ in forms])[0]()

    def loop(self) -> None:
        """A loop; provided by `tests.generator.loops`."""
        raise NotImplementedError

    def bind(self, var: Var) -> None:
        self.vars[var.name] = var

    def assignment(self) -> None:
        """``u = ...``, chained, annotated."""
        var = self.target(self.shapes())
        value = self.value(var.shape, var.bound)
        form = self.random.randrange(8)
        if form == 0 and not var.shape:
            other = Var(self.new_name(), bound=var.bound)
            self.emit(f"{other.name} = {var.name} = {value.code}")
            self.bind(other)
        elif form == 1 and var.name not in self.vars:
            note = "np.ndarray" if var.shape else "float"
            self.emit(f"{var.name}: {note} = {value.code}")
        elif form == 2 and var.name in self.vars:
            self.emit(f"{var.name} = ({value.code}) * 0.5 + {var.name} * 0.5")
        else:
            self.emit(f"{var.name} = {value.code}")
        self.bind(var)

    def unpacking(self) -> None:
        """Tuple, nested and starred targets."""
        a, b = Var(self.new_name(), bound=3.0), self.target()
        if a.name == b.name:
            return
        first, second, third = self.value(), self.value(), self.value()
        form = self.random.randrange(5)
        if form == 0:
            c = Var(self.new_name(), bound=3.0)
            self.emit(
                f"({a.name}, {b.name}), {c.name} = ({first.code}, {second.code}), {third.code}"
            )
            self.bind(c)
        elif form == 1:
            rest = Var(self.new_name(), "floats", bound=3.0)
            self.emit(f"{a.name}, *{rest.name} = {first.code}, {second.code}, {third.code}")
            self.bind(rest)
            self.bind(a)
            return
        elif form == 2 and (row := self.named("float", (self.module.length,))):
            extra = ["_"] * (self.module.length - 2)
            self.emit(f"{', '.join([a.name, b.name, *extra])} = {row.name}")
            a, b = Var(a.name, bound=row.bound), Var(b.name, bound=max(row.bound, b.bound))
        else:
            self.emit(f"{a.name}, {b.name} = {first.code}, {second.code}")
        self.bind(a)
        self.bind(b)

    def swap(self) -> None:
        """``u, v = v, u`` and rotations, most telling inside loops."""
        numbers = [v for v in self.vars.values() if v.kind == "float" and not v.shape]
        if len(numbers) < 2:
            return
        a, b = self.random.sample(numbers, 2)
        bound = max(a.bound, b.bound)
        others = [v for v in numbers if v not in (a, b)]
        if others and self.chance(0.3):
            c = self.random.choice(others)
            bound = max(bound, c.bound)
            self.emit(f"{a.name}, {b.name}, {c.name} = {b.name}, {c.name}, {a.name}")
            self.bind(Var(c.name, bound=bound))
        elif self.chance(0.25):
            self.emit(f"{a.name}, {b.name} = {b.name}, {self.tame(self.value(), bound).code}")
        else:
            self.emit(f"{a.name}, {b.name} = {b.name}, {a.name}")
        self.bind(Var(a.name, bound=bound))
        self.bind(Var(b.name, bound=bound))

    def augmented(self) -> None:
        """``u += ...`` of a number, or of an array that has no other name."""
        owned = self.named("owned")
        if owned and self.chance(0.7):
            value = self.value(self.random.choice((owned.shape, ())), 1.0)
            self.emit(f"{owned.name} {self.random.choice(('+=', '-='))} ({value.code}) * 0.5")
            return
        if self.chance(0.25):
            shape = (self.module.length,)
            name = self.new_name()
            fresh = self.random.choice(
                (f"np.zeros({self.module.length})", f"{self.value(shape).code} * 1.5")
            )
            self.emit(f"{name} = {fresh}")
            self.vars[name] = Var(name, "owned", shape, 3.0)
            return
        var = self.named("float", ())
        if var is None:
            return
        form = self.random.choice(
            ("{} += 0.5 * {}", "{} -= 0.3 * {}", "{} *= np.sin({})", "{} /= 2.0 + np.cos({})")
        )
        self.emit(form.format(var.name, f"({self.value((), 1.0).code})"))
        self.emit(f"{var.name} = {self.tame(Text(var.name, 9.0), var.bound).code}")

    def branch(self) -> None:
        """``if`` with any number of arms."""
        self.open_budget(5)
        outer = set(self.vars)
        joined = [Var(self.new_name(), shape=self.shapes(), bound=3.0)] if self.chance(0.5) else []
        arms = [f"if {self.condition()}:"]
        if self.chance(0.3):
            arms.append(f"elif {self.condition()}:")
        closed = bool(joined) or self.chance(0.4)
        if closed:
            arms.append("else:")
        for header in arms:
            with self.block(header):
                self.statements(self.random.choice((1, 1, 2)))
                for var in joined:
                    self.emit(f"{var.name} = {self.value(var.shape, var.bound).code}")
        for var in joined:
            self.bind(var)
        assert outer <= set(self.vars)

    def early_return(self) -> None:
        """A guarded return."""
        self.exits -= 1
        self.open_budget(4)
        with self.block(f"if {self.condition()}:"):
            self.emit(f"return {self.result()}")

    def result(self) -> str:
        """What the function returns."""
        return self.value((), 3.0).code

    # ------------------------------------------------------------------------ containers
    def make_tuple(self) -> None:
        name = self.new_name()
        count = self.random.choice((2, 2, 3))
        parts = [self.value().code for _ in range(count)]
        if self.chance(0.25):
            self.emit(f"{name} = ({', '.join(parts)}) + ({self.value().code},)")
            count += 1
        else:
            self.emit(f"{name} = ({', '.join(parts)})")
        self.bind(Var(name, "tuple", bound=3.0, keys=tuple(str(k) for k in range(count))))

    def make_dict(self) -> None:
        name = self.new_name()
        a, b = self.value(), self.value()
        form = self.random.randrange(4)
        if form == 0:
            self.emit(f"{name} = dict(p={a.code}, q={b.code})")
        elif form == 1 and (table := self.named("dict")):
            e, k = self.fresh("e"), self.fresh("k")
            self.emit(f"{name} = {{{k}: {e} * 0.7 for {k}, {e} in {table.name}.items()}}")
            self.bind(Var(name, "dict", bound=table.bound, keys=table.keys))
            return
        elif form == 2 and (table := self.named("dict")):
            self.emit(f"{name} = {{**{table.name}, 'p': {a.code}}}")
            keys = tuple(dict.fromkeys((*table.keys, "p")))
            self.bind(Var(name, "dict", bound=max(3.0, table.bound), keys=keys))
            return
        else:
            self.emit(f"{name} = {{'p': {a.code}, 'q': {b.code}}}")
        self.bind(Var(name, "dict", bound=3.0, keys=("p", "q")))

    def make_list(self) -> None:
        name = self.new_name()
        i = self.fresh("i")
        outer = self.named("float", ())
        scale = outer.name if outer else "0.7"
        form = self.random.randrange(4)
        if form == 0:
            self.emit(f"{name} = [{self.value().code}, {self.value().code}]")
        elif form == 1:
            self.emit(f"{name} = [np.sin({scale} * {i}) for {i} in range(3)]")
        elif form == 2:
            shape: Shape = (self.module.length,)
            self.emit(f"{name} = [{self.value(shape).code}, {self.value(shape).code}]")
            self.bind(Var(name, "arrays", shape, 3.0))
            return
        else:
            self.emit(f"{name} = []")
            for _ in range(2):
                self.emit(f"{name}.append({self.value().code})")
        self.bind(Var(name, "floats", bound=3.0))

    def make_closure(self) -> None:
        """A nested ``def`` or lambda over local names, or a partial application."""
        name, s = self.fresh("fn"), self.fresh("s")
        outer = self.named("float", ())
        number = outer.name if outer else "0.7"
        bound = max(outer.bound if outer else 1.0, 1.0)
        found = [
            h for h in self.module.helpers if h.results == 1 and not h.shape and len(h.params) == 2
        ]
        plain = [h for h in found if all(p.kind == "float" and not p.shape for p in h.params)]
        form = self.random.randrange(4)
        if form == 0 and plain:
            helper = self.random.choice(plain)
            last = helper.params[1].name
            self.emit(
                f"{name} = functools.partial({helper.name}, {last}={self.value((), 2.0).code})"
            )
            self.bind(Var(name, "function", bound=helper.bound))
            return
        if form == 1:
            self.emit(f"{name} = lambda {s}: np.tanh({s}) * {number}")
        else:
            with self.block(f"def {name}({s}, scale={self.constant()}):"):
                if self.chance(0.5):
                    with self.block(
                        f"if {s} > 0.2:" if not self.module.analytic else "if scale > 0.0:"
                    ):
                        self.emit(f"return np.sin({s}) * {number}")
                self.emit(f"return scale * np.tanh({s} + {number})")
            bound = max(bound, 1.5)
        self.bind(Var(name, "function", bound=bound))
        if outer and self.chance(0.3):
            self.emit(f"{number} = {self.value((), outer.bound).code}")

    def helper_results(self) -> None:
        """Unpack the results of a helper that returns a tuple."""
        found = [h for h in self.module.helpers if h.results == 2]
        if not found:
            return self.assignment()
        helper = self.random.choice(found)
        a, b = Var(self.new_name(), bound=helper.bound), Var(self.new_name(), bound=helper.bound)
        self.open_budget(4)
        self.emit(f"{a.name}, {b.name} = {self.call(helper, 1)}")
        self.bind(a)
        self.bind(b)
        return None

    def mixed(self) -> None:
        """A name that is a number on one path and an array on another."""
        name = self.new_name()
        self.open_budget(4)
        test = self.condition()
        with self.block(f"if {test}:"):
            self.emit(f"{name} = {self.value(()).code}")
        with self.block("else:"):
            self.emit(f"{name} = {self.value((self.module.length,)).code}")
        self.bind(Var(name, "mixed", bound=3.0))

    def noise(self) -> None:
        """Statements without a derivative."""
        var = self.named("float", ())
        form = self.random.randrange(6)
        if form == 0:
            with self.block("with np.errstate(all='ignore'):"):
                self.statements(1)
        elif form == 1 and var and not self.module.analytic:
            self.emit(f"assert {var.name} < 1e6, f'too large: {{{var.name}}}'")
        elif form == 2 and var and not self.module.analytic:
            with self.block(f"if {var.name} > 1e9:"):
                self.emit(f"raise ValueError(f'too large: {{{var.name}}}')")
        elif form == 3:
            self.emit("'''A note, with \"quotes\" and {braces}.'''")
        elif form == 4 and var:
            unused = self.new_name()
            self.emit(f"{unused} = {var.name} * 3.0")
            self.bind(Var(unused, bound=var.bound * 3.0))
        else:
            self.emit("pass")
