"""Random numbers, and lists that tell in which order things happened."""

from __future__ import annotations

from tests.generator.classes import Classes
from tests.generator.names import Var


class Draws(Classes):
    """Adds draws, in all the places where the order of evaluation decides which one is which."""

    def drawn(self) -> None:
        """A few draws and what is made of them."""
        self.module.marks.add("draws")
        var = self.named("rng")
        if var is None or self.chance(0.2):
            var = Var(self.fresh("rng"), "rng")
            self.emit(f"{var.name} = np.random.default_rng({self.random.randrange(100)})")
            self.bind(var)
        for _ in range(self.random.choice((1, 2))):
            name = self.new_name()
            for line in self.drawing(var.name, name).split("\n"):
                self.emit(line)
            self.bind(Var(name, bound=6.0))

    def drawing(self, rng: str, name: str) -> str:
        """Lines that bind a number."""
        v, n = self.stored(), self.module.length
        i, k, y = self.fresh("i"), self.fresh("k"), self.buffer((n,)).name
        draw = self.random.choice((f"{rng}.uniform()", f"{rng}.uniform(-0.5, 0.5)",
                                   f"np.tanh({rng}.normal())"))  # fmt: skip
        place = f"{rng}.integers({n})"
        lines = (
            f"{name} = {draw} * {v} - {draw}",
            f"{name} = three(*({draw} for {i} in range(2)), {draw} * {v})",
            f"{name} = three({draw}, *[{draw} * {v}], last={draw})",
            f"{name} = three(last={draw}, first={draw} * {v}, second={draw})",
            f"{name} = three({draw}, {v}, **{{'last': {draw}}})",
            f"{name} = sum(({draw} * {i} for {i} in {y}), {draw}) * 0.3",
            f"{name} = sum([{draw} * {i} for {i} in {y} if {draw} > 0.2], {v}) * 0.3",
            f"{name} = [*({draw} * {i} for {i} in {y}), {draw}][-1] + {draw}",
            f"{name} = 0.0\nfor {i}, {k} in zip(({draw} for _ in range({n})), {y}):\n"
            f"    {name} += 0.2 * {i} * {k} + 0.1 * {draw}",
            f"{name} = sum(map(lambda {i}: {i} * {draw}, {y})) * 0.3 + {draw}",
            f"{name} = {{'p': {draw}, **{{'q': {draw} * {v}}}, 'p': {draw}}}['p'] * {v}",
            f"{y}[{place}] = {draw} * {v}\n{name} = {y}[{place}]",
            f"{y}[{place}] += 0.3 * {draw}\n{name} = {y}[{place}]",
            f"{y}[{rng}.permutation({n})] = np.tanh({y}) * {draw}\n{name} = {y}[{place}]",
            f"{y}[{place}], {name} = {draw}, {y}[{place}] * {draw}",
            f"{name} = {v} if {draw} < 0.4 else {draw}",
            f"{name} = {v}\nif {draw} > 0.3 and {draw} > 0.3 or {draw} > 0.5:\n"
            f"    {name} = {draw} * {name}",
            f"{name} = {v}\n{k} = 0\nwhile {draw} < 0.4 and {k} < 4:\n"
            f"    {k} += 1\n    {name} = np.sin({name} + {draw})",
            f"{name} = {v}\nfor {i} in range({rng}.integers(3)):\n"
            f"    {name} = 0.6 * {name} + {draw}",
            f"{name} = sample({rng}, {v}) + {draw}",
            f"{name} = np.mean({y} * {rng}.normal(size={n})) + {rng}.choice([0.2, 0.4])",
            f"{k} = np.arange({n}) * 0.1\n{rng}.shuffle({k})\n{name} = np.sum({k} * {y})",
            f"{k} = []\n{name} = tell({k}, 1, {v}) * tell({k}, 2, {draw}) - tell({k}, 3, {draw})\n"
            f"{name} += sum(0.1 * {i} * {k}[{i}] for {i} in range(3))",
            f"{k} = []\n{name} = three(*(tell({k}, {i}, {v}) for {i} in range(2)), "
            f"tell({k}, 5, 0.3))\n{name} += 0.1 * {k}[0] - 0.2 * {k}[-1] * {name}",
            f"{k} = []\n{y}[tell({k}, 0, 1)] = tell({k}, 4, {v})\n{name} = {y}[1] * ({k}[0] + 0.3)",
        )
        return self.random.choice(lines)
