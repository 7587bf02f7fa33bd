"""Random exceptions: what is raised and caught, what was written before."""

from __future__ import annotations

from tests.generator.containers import Containers
from tests.generator.names import Text, Var


class Raising(Containers):
    """Adds ``try``."""

    def attempt(self) -> None:
        """``try`` with an exception that may come, and state written before it."""
        self.ensure_carried()
        state = self.named("float", ())
        assert state
        name, cause = self.random.choice(self.causes(state))
        with self.block("try:"):
            if self.chance(0.6):
                self.write()
            self.carry()
            for line in cause:
                self.emit(line)
            if self.chance(0.4):
                self.statements(1)
            self.carry()
        self.handlers(name)
        if self.chance(0.25):
            with self.block("else:"):
                self.carry()
        if self.chance(0.3):
            with self.block("finally:"):
                self.after()
        self.reading(Text(f"{state.name} * 0.7", 3.0))

    def after(self) -> None:
        """What happens in any case."""
        if self.chance(0.5):
            self.write()
        else:
            self.carry()

    def handlers(self, name: str) -> None:
        """The handlers; one of them is right."""
        caught = self.random.choice((name, name, f"({name}, OSError)", self.wider(name)))
        if self.chance(0.2):
            with self.block("except OSError:"):
                self.carry()
        note = self.fresh("error")
        with self.block(f"except {caught}{f' as {note}' if self.chance(0.25) else ''}:"):
            if self.chance(0.3):
                self.write()
            self.carry()
            if self.loops and not self.captured and self.chance(0.2):
                self.emit(self.random.choice(("continue", "break")))

    def wider(self, name: str) -> str:
        """A class that catches it too."""
        above = {
            "ZeroDivisionError": "ArithmeticError", "IndexError": "LookupError",
            "KeyError": "LookupError", "Unsuitable": "ValueError",
        }  # fmt: skip
        return above.get(name, name)

    def causes(self, state: Var) -> list[tuple[str, list[str]]]:
        """The class of an exception and the lines that may raise it."""
        self.open_budget(4)
        test, u = self.condition(), state.name
        own = self.random.choice(("ValueError", "Unsuitable", "Unsuitable", "RuntimeError"))
        if self.module.analytic or self.chance(0.3):
            test = self.discrete()
        raised = f"    raise {own}('no')"
        ints = [v.name for v in self.vars.values() if v.kind in ("int", "count")]
        k = self.random.choice(ints) if ints else str(self.random.randrange(3))
        pairs = self.named("tuple")
        found = [
            (own, [f"if {test}:", raised]),
            (own, [f"if {test}:", raised]),
            (own, [f"if {test}:", f"    {u} = 0.5 * {u}", raised]),
            ("ZeroDivisionError", [f"{u} = {u} * 0.5 + 0.1 * (2 // {k})"]),
            ("ZeroDivisionError", [f"{u} = {u} * (1.0 / (1 - {k}))", f"{u} = np.tanh({u})"]),
            ("IndexError", [f"{u} = 0.5 * {u} + (0.3, {self.constant()})[{k} + 1]"]),
            ("KeyError", [f"{u} = 0.5 * {u} * {{0: 0.4, 1: 0.9}}[{k}]"]),
            ("Unsuitable", [f"{u} = strict({u})"]),
            ("Unsuitable", [f"{u} = strict({self.stored()}, {self.positive()})"]),
        ]
        if pairs:
            found.append(("IndexError", [f"{u} = 0.5 * {pairs.name}[{k} + 1]"]))
        vector = self.named("float", (self.module.length,))
        if vector:
            found.append(("IndexError", [f"{u} = 0.5 * {vector.name}[{k} + 1]"]))
        table = self.named("dict")
        if table:
            missing = self.random.choice(("'s'", "'p'"))
            found.append(("KeyError", [f"{u} = 0.5 * {table.name}[{missing}]"]))
        return found
