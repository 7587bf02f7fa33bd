"""The writers of functions: one for the spine, one for everything."""

from __future__ import annotations

from tests.generator.changing import Changing
from tests.generator.loops import Loops
from tests.generator.names import Shape, Text


class Writer(Loops):
    """Writes one function; remembers whether it has returned early."""

    returned = False
    result_shape: Shape = ()

    def result(self) -> str:
        self.returned = True
        return super().result()

    def main_body(self, count: int) -> None:
        """The statements of the main function."""
        self.statements(count)


class AnyWriter(Changing, Writer):
    """Writes a function that also changes arrays and containers, and raises.

    A program draws a few families of these; each occurs at least once in its main function.
    """

    busy = 0

    def family(self, name: str) -> None:
        """One statement of a family, or a few lines."""
        ways = {
            "store": self.store,
            "inplace": self.inplace,
            "out": self.out,
            "at": self.at,
            "copied": self.copied,
            "view": self.view,
            "alias": self.alias,
            "rows": self.rows,
            "sweep": self.sweep,
            "helper": self.helper,
            "list": self.listed,
            "dict": self.keyed,
            "nested": self.nested,
            "object": self.attribute,
            "exception": self.attempt,
            "argument": self.argument_write,
            "twice": self.argument_write,
            "operators": self.graded,
            "draws": self.drawn,
            "outside": self.outside,
        }
        self.busy += 1
        ways[name]()
        self.busy -= 1

    def statement(self) -> None:
        """A statement of the spine or of one of the program's families."""
        if self.busy <= 1 and self.level < 4 and self.families and self.chance(0.35):
            return self.family(self.random.choice(self.families))
        return super().statement()

    @property
    def families(self) -> tuple[str, ...]:
        """What this function may do."""
        return self.module.families

    def main_body(self, count: int) -> None:
        """Plain statements, and between them every family once."""
        names = list(self.families)
        self.random.shuffle(names)
        for k in range(max(count, len(names))):
            if k < count:
                self.statements(1)
            if k < len(names):
                self.family(names[k])

    def result(self) -> str:
        """What the function returns early."""
        self.returned = True
        return self.value(self.result_shape).code

    def array_result(self) -> str:
        """An array to return: perhaps one that was written into, or a view of it."""
        name = self.buffer(self.result_shape).name
        return self.random.choice(
            (name, name, f"{name}[::-1]", f"{name} * {self.value().code}", f"np.sin({name})")
        )

    def argument_write(self) -> None:
        """A write into what the caller handed over."""
        found = [v for v in self.vars.values() if v.name in self.parameters and v.shape]
        if not found:
            return self.store()
        first = self.random.choice(found)
        if self.chance(0.3):
            self.reading(Text(f"{first.name}[{self.index(first.shape[0])}].sum() * 0.5", 2.0))
        return self.write(first)
